//! What every text of one hole is measured against: the frame, the vocabulary, the limits.

use crate::cloze::Cloze;
use crate::decode::partial::{Advance, Frame, Partial, Refusal};
use crate::decode::proposer::Proposer;
use crate::decode::{DecodeError, Settings};
use crate::java::lexer::Word;
use crate::model::{HoleEnd, Model};
use crate::retrieval::Prior;
use crate::token::{TokenId, Vocabulary};

/// Bytes before the hole that hold the prior's longest context, eight tokens, many times over.
const PRIOR_SIGHT: usize = 600;

/// The ground that all samples of a hole stand on.
pub(super) struct Ground<'a> {
    pub cloze: &'a Cloze,
    pub settings: Settings,
    pub frame: Frame,
    pub vocabulary: Vocabulary,
    /// Tokens that end a hole.
    pub end_tokens: Vec<TokenId>,
    /// Tokens that the line after the hole may take on top of a fill's own.
    room_for_end: usize,
}

/// What a token makes of a partial fill.
pub(super) enum Child {
    Open { partial: Partial, closed: Vec<Word>, statement: bool },
    Leaf { fill: String, closed: Vec<Word> },
}

impl<'a> Ground<'a> {
    /// Primes the model with the prompt: the ground, what makes distributions of logits, and the first of them.
    pub fn open(
        model: &mut dyn Model,
        cloze: &'a Cloze,
        prompt: &[TokenId],
        settings: Settings,
        prior: Option<Prior>,
    ) -> Result<(Self, Proposer, Vec<f32>), DecodeError> {
        let ground = Self::new(model, cloze, settings)?;
        let prefix = model.encode(tail(&cloze.prefix)).unwrap_or_default();
        let proposer = Proposer::new(settings.truncation, prior, prefix, ground.end_tokens.clone());
        let root = proposer.probabilities(&[], &model.prime(prompt)?);
        Ok((ground, proposer, root))
    }

    fn new(model: &dyn Model, cloze: &'a Cloze, settings: Settings) -> Result<Self, DecodeError> {
        let (structural, end_tokens) = match model.hole_end() {
            HoleEnd::Structural => (true, Vec::new()),
            HoleEnd::Tokens(tokens) => (false, tokens),
        };
        let frame = Frame::new(cloze, structural);
        let next_line = frame.next_code_line().filter(|_| structural).unwrap_or_default();
        // What the tokenizer cannot spell takes at most a token for each byte, and tells the prior nothing.
        let room_for_end = model.encode(next_line).map_or(next_line.len(), |tokens| tokens.len());
        if structural && next_line.is_empty() {
            return Err(DecodeError::NothingFollows);
        }
        let vocabulary = model.vocabulary().clone();
        Ok(Self { cloze, settings, frame, vocabulary, end_tokens, room_for_end })
    }

    /// Appends a token to a partial fill of `depth` tokens.
    pub fn advance(&self, parent: &Partial, depth: usize, token: TokenId) -> Result<Child, Refusal> {
        if self.end_tokens.contains(&token) {
            let fill = parent.fill(&self.frame).ok_or(Refusal::Unmappable)?;
            let closed = parent.last_word(&self.frame).into_iter().collect();
            let balanced = self.frame.may_end(parent);
            return if balanced { Ok(Child::Leaf { fill, closed }) } else { Err(Refusal::Unbalanced) };
        }
        let bytes = self.vocabulary.bytes(token).ok_or(Refusal::Special)?;
        if depth >= self.settings.max_tokens + self.room_for_end {
            return Err(Refusal::OverLength);
        }
        match parent.advance(&self.frame, bytes) {
            Advance::Refused(refusal) => Err(refusal),
            Advance::Open { partial, closed, statement } => Ok(Child::Open { partial, closed, statement }),
            Advance::Ended { fill, closed } => Ok(Child::Leaf { fill, closed }),
        }
    }

    /// A token's text, for people.
    pub fn text(&self, token: TokenId) -> String {
        let bytes = self.vocabulary.bytes(token).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    }
}

/// The end of a text, from a line's start: as much as the prior can look at.
fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(PRIOR_SIGHT);
    let line = text.as_bytes()[from..].iter().position(|&byte| byte == b'\n').map_or(from, |at| from + at);
    text.get(line..).unwrap_or(text)
}
