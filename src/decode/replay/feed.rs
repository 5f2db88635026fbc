//! A text as a model would write it, token by token, and what the oracle says to each.

use std::time::{Duration, Instant};

use crate::cloze::Cloze;
use crate::decode::oracle::Oracle;
use crate::decode::partial::{Advance, Frame, Refusal};

/// How texts become tokens.
pub struct Spelling<'a> {
    /// Texts of the tokens that spell a text; `None` if the tokenizer cannot spell it.
    pub spell: &'a dyn Fn(&str) -> Option<Vec<Vec<u8>>>,
    /// Whether whole lines end as they do for a model without an end token.
    pub structural_end: bool,
}

/// A fill in tokens, with the way in which it ends.
pub struct Written {
    frame: Frame,
    /// The fill's tokens; with a structural end, those of the line after it, too.
    pub tokens: Vec<Vec<u8>>,
    structural_end: bool,
}

/// What became of a fill that was fed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fed {
    /// It was accepted to its end.
    Filled(String),
    /// A token was refused.
    Refused {
        /// Why.
        refusal: Refusal,
        /// Index of the token; the number of tokens for the end.
        token: usize,
        /// What had been accepted.
        accepted: String,
    },
}

impl Written {
    /// `fill` as it is spelt. Its end is structural where the spelling wants it and it shows: only that of whole lines
    /// does, and not where the fill has the line after the hole itself. `None` if it cannot be spelt.
    pub fn new(spelling: &Spelling, cloze: &Cloze, fill: &str) -> Option<Self> {
        if spelling.structural_end && cloze.original.starts_with('\n') && cloze.suffix.starts_with('\n') {
            let frame = Frame::new(cloze, true);
            if let Some(next) = frame.next_code_line() {
                let tokens = (spelling.spell)(&format!("{fill}\n{next}\n"))?;
                if ends_with(&frame, &tokens, fill.trim_end()) {
                    return Some(Self { frame, tokens, structural_end: true });
                }
            }
        }
        let tokens = (spelling.spell)(fill)?;
        Some(Self { frame: Frame::new(cloze, false), tokens, structural_end: false })
    }
}

/// Whether the tokens come to their end with `fill`, or are refused on the way.
fn ends_with(frame: &Frame, tokens: &[Vec<u8>], fill: &str) -> bool {
    let mut partial = frame.empty();
    for token in tokens {
        match partial.advance(frame, token) {
            Advance::Open { partial: next, .. } => partial = next,
            Advance::Ended { fill: found, .. } => return found == fill,
            Advance::Refused(_) => return true,
        }
    }
    false
}

/// Feeds a fill. `watch` is told the time that each decision took. Without a structural end the hole ends after the last
/// token; with one, where the text goes on with what follows.
pub fn feed(oracle: &mut Oracle, written: &Written, watch: &mut dyn FnMut(&Oracle, Duration)) -> Fed {
    let frame = &written.frame;
    let mut partial = frame.empty();
    for (number, token) in written.tokens.iter().enumerate() {
        let started = Instant::now();
        let (verdict, next) = match partial.advance(frame, token) {
            Advance::Refused(refusal) => (Err(refusal), None),
            Advance::Ended { fill, closed } => (oracle.judge_end(&fill, &closed), Some(Err(fill))),
            Advance::Open { partial, closed, statement } => {
                (oracle.judge(&partial, &closed, statement), Some(Ok(partial)))
            }
        };
        watch(oracle, started.elapsed());
        match (verdict, next) {
            (Err(refusal), _) => {
                let accepted = String::from_utf8_lossy(partial.text()).into_owned();
                return Fed::Refused { refusal, token: number, accepted };
            }
            (Ok(()), Some(Ok(next))) => partial = next,
            (Ok(()), Some(Err(fill))) => return Fed::Filled(fill),
            (Ok(()), None) => unreachable!("what may go on has a continuation"),
        }
    }
    let accepted = String::from_utf8_lossy(partial.text()).into_owned();
    let closed: Vec<_> = partial.last_word(frame).into_iter().collect();
    let verdict = if written.structural_end || !frame.may_end(&partial) {
        Err(Refusal::Unbalanced)
    } else {
        oracle.judge_end(&accepted, &closed)
    };
    match verdict {
        Ok(()) => Fed::Filled(accepted),
        Err(refusal) => Fed::Refused { refusal, token: written.tokens.len(), accepted },
    }
}
