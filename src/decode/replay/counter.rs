//! Wrong fills: a hole's own text with one name replaced, and when the oracle noticed.

use std::ops::Range;
use std::path::PathBuf;

use serde::Serialize;

use super::Fed;
use crate::cloze::Cloze;
use crate::decode::partial::Refusal;
use crate::engine::{Answer, CompletionEngine, Scope};
use crate::java::holes::chance;
use crate::java::keyword::{is_keyword, is_keyword_prefix};
use crate::java::lexemes::Lexemes;
use crate::java::lexer::{Before, LexState, Word};

/// Lexemes before the hole that tell where in a statement it begins.
const TAIL: usize = 40;

/// How a name was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Swapped {
    /// By one that does not exist.
    Nonexistent,
    /// By another member of the same receiver.
    OtherMember,
}

/// A fill with one name replaced.
#[derive(Debug, Clone)]
pub struct Swap {
    /// How.
    pub how: Swapped,
    /// The wrong name.
    pub name: String,
    /// Its first byte in the fill.
    pub start: usize,
    /// Whether it begins a statement: it may be a label until something else than a colon follows it.
    pub may_be_label: bool,
    /// The whole fill.
    pub fill: String,
}

/// A wrong fill that was fed, and what became of it.
#[derive(Debug, Clone, Serialize)]
pub struct WrongFill {
    /// The file.
    pub file: PathBuf,
    /// Bytes of its text, with `\n` line ends, that the hole takes out.
    pub range: Range<usize>,
    /// What was written there instead.
    pub fill: String,
    /// How it was made wrong.
    pub how: Swapped,
    /// When it was refused.
    pub caught: Caught,
}

/// When a wrong fill was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Caught {
    /// At the first token with which no name began any more, or before.
    AtOnce,
    /// While it was being written, but later.
    Later,
    /// By the check of a finished statement.
    Statement,
    /// By the check of the whole fill.
    End,
    /// Never.
    Never,
}

/// Names of the hole that are neither keywords nor being declared nor labels.
fn names(cloze: &Cloze) -> Vec<Word> {
    let mut state = LexState::after(&cloze.prefix);
    let text = format!("{};", cloze.original);
    let words: Vec<Word> =
        text.bytes().enumerate().filter_map(|(at, byte)| state.step(at, byte).closed).collect();
    words
        .into_iter()
        .filter(|word| !is_keyword(&text.as_bytes()[word.start..word.end]))
        .filter(|word| !matches!(word.before, Before::Type | Before::At))
        .filter(|word| !text[word.end..].trim_start().starts_with("->"))
        .filter(|word| !is_label(&text, *word))
        .collect()
}

fn is_label(text: &str, word: Word) -> bool {
    word.before == Before::Start && text[word.end..].trim_start().starts_with(':')
        || ["break", "continue"].iter().any(|jump| text[..word.start].trim_end().ends_with(jump))
}

/// One name replaced by one that does not exist, and one member by another one of the same receiver.
pub(super) fn swaps(engine: &mut dyn CompletionEngine, cloze: &Cloze, order: u64) -> Vec<Swap> {
    let names = names(cloze);
    let pick =
        |names: &[Word], salt| (!names.is_empty()).then(|| names[chance(order, salt) as usize % names.len()]);
    let members: Vec<Word> = names.iter().copied().filter(|word| word.before == Before::Dot).collect();
    let wrong = pick(&names, 1).map(|word| {
        let old = &cloze.original[word.start..word.end];
        let begin = if old.starts_with(char::is_uppercase) { "Zq" } else { "zq" };
        let mut letters = old.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        swap(cloze, word, Swapped::Nonexistent, format!("{begin}{first}{}", letters.as_str()))
    });
    let other = pick(&members, 2).and_then(|word| {
        let old = &cloze.original[word.start..word.end];
        let Answer::List(list) = engine.complete(cloze.original[..word.start].trim_end(), Scope::Members)
        else {
            return None;
        };
        let others: Vec<&String> = list.iter().filter(|name| *name != old).collect();
        let other = others.get(chance(order, 3) as usize % others.len().max(1))?;
        Some(swap(cloze, word, Swapped::OtherMember, (*other).clone()))
    });
    wrong.into_iter().chain(other).collect()
}

fn swap(cloze: &Cloze, word: Word, how: Swapped, name: String) -> Swap {
    let fill = format!("{}{name}{}", &cloze.original[..word.start], &cloze.original[word.end..]);
    let before = Lexemes::of(&cloze.prefix).tail(TAIL);
    let may_be_label = Lexemes::of(&format!("{before}\n{}", &cloze.original[..word.end])).may_be_label();
    Swap { how, name, start: word.start, may_be_label, fill }
}

/// When `fed` was refused. `file` has names that exist; a beginning that only names elsewhere have counts as late, so
/// the share caught at once is a lower bound.
pub(super) fn judge(swap: &Swap, file: &str, tokens: &[Vec<u8>], fed: &Fed) -> Caught {
    match fed {
        Fed::Filled(_) => Caught::Never,
        Fed::Refused { refusal: Refusal::Statement, .. } => Caught::Statement,
        Fed::Refused { refusal: Refusal::End, .. } => Caught::End,
        Fed::Refused { token, .. } if *token <= first_impossible(swap, file, tokens) => Caught::AtOnce,
        Fed::Refused { .. } => Caught::Later,
    }
}

/// Index of the first token with which the wrong name begins like no other one.
fn first_impossible(swap: &Swap, file: &str, tokens: &[Vec<u8>]) -> usize {
    let mut end = 0;
    for (index, token) in tokens.iter().enumerate() {
        end += token.len();
        let written = end.saturating_sub(swap.start).min(swap.name.len());
        if swap.may_be_label && !follows(swap.fill.get(..end).unwrap_or_default(), swap) {
            continue;
        }
        let beginning = swap.name.get(..written).unwrap_or(&swap.name);
        let exists = is_keyword_prefix(beginning.as_bytes()) || begins_a_word(file, beginning);
        if written > 0 && (!exists || written == swap.name.len()) {
            return index;
        }
    }
    tokens.len()
}

/// Whether `text` goes on after the wrong name.
fn follows(text: &str, swap: &Swap) -> bool {
    text.get(swap.start + swap.name.len()..).is_some_and(|rest| !rest.trim().is_empty())
}

fn begins_a_word(text: &str, beginning: &str) -> bool {
    text.match_indices(beginning)
        .any(|(at, _)| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$'))
}
