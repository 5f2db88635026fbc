//! How a hole is shown to a model: each family in its own way, as its authors give it.

mod family;
mod infill;
mod suffix_first;

use super::error::{ModelError, WeightsError};
use super::tokenizer::Tokenizer;
use super::{HoleEnd, Prompt, PromptBudget, PromptParts};
use crate::token::TokenId;
pub(super) use family::{Traits, sentinels};
use infill::Infill;
use suffix_first::SuffixFirst;

/// Positions of the window that are left to the hole.
const HOLE_ROOM: usize = 256;

/// The layout of a family, its special tokens looked up.
pub(super) enum Layout {
    /// The family was trained to infill.
    Infill(Infill),
    /// It was not: suffix first, or left to right.
    SuffixFirst(SuffixFirst),
}

impl Layout {
    /// The layout that belongs to what is known of a model: its architecture and the special tokens it has.
    pub(super) fn of(traits: Traits, tokenizer: &Tokenizer) -> Result<Self, WeightsError> {
        match family::recognise(traits, tokenizer) {
            Some(family) => Infill::new(family, tokenizer).map(Self::Infill),
            None => Ok(Self::SuffixFirst(SuffixFirst::new(tokenizer))),
        }
    }

    /// Lays `parts` out within the window; `None` for the budget leaves it to the family.
    pub(super) fn lay_out(
        &self,
        tokenizer: &Tokenizer,
        parts: &PromptParts,
        budget: Option<PromptBudget>,
        window: usize,
    ) -> Result<Prompt, ModelError> {
        match self {
            Self::Infill(infill) => infill.lay_out(tokenizer, parts, budget, window),
            Self::SuffixFirst(layout) => layout.lay_out(tokenizer, parts, budget.unwrap_or_default(), window),
        }
    }

    pub(super) fn hole_end(&self) -> HoleEnd {
        match self {
            Self::Infill(infill) => HoleEnd::Tokens(infill.stops().to_vec()),
            Self::SuffixFirst(_) => HoleEnd::Structural,
        }
    }

    /// What a decoder that does not read the prompt itself begins with, after its start token.
    pub(super) fn decoder_start(&self) -> &[TokenId] {
        match self {
            Self::Infill(infill) => infill.decoder_start(),
            Self::SuffixFirst(_) => &[],
        }
    }
}

/// A chunk's path, without its lines.
fn path_of(citation: &str) -> &str {
    citation.rsplit_once(':').map_or(citation, |(path, _)| path)
}
