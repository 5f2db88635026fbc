//! The layout of a family that was trained to infill: cut around the hole, then put together.

use super::super::error::{ModelError, WeightsError};
use super::super::tokenizer::Tokenizer;
use super::super::{Prompt, PromptBudget, PromptParts};
use super::family::{Chunks, Family, Order};
use super::{HOLE_ROOM, path_of};
use crate::token::TokenId;

/// The part of a prompt that chunks may take where no budget says otherwise.
const CONTEXT_PART: usize = 4;

/// A family with the ids of its special tokens.
pub(in crate::model) struct Infill {
    family: &'static Family,
    start: Vec<TokenId>,
    ends: (Option<TokenId>, Option<TokenId>),
    head: Vec<TokenId>,
    between: TokenId,
    tail: Vec<TokenId>,
    stops: Vec<TokenId>,
    decoder_start: Vec<TokenId>,
    /// The token of [`Chunks::After`] or [`Chunks::Before`], if the tokenizer has it.
    chunk: Option<TokenId>,
}

/// Chunks as they stand in the prompt.
#[derive(Default)]
struct Context {
    /// Before everything but the start.
    before: Vec<TokenId>,
    /// Right before the prefix.
    inside: Vec<TokenId>,
    citations: Vec<String>,
}

impl Infill {
    pub(super) fn new(family: &'static Family, tokenizer: &Tokenizer) -> Result<Self, WeightsError> {
        let all = |tokens: &[&'static str]| {
            tokens.iter().map(|token| tokenizer.special(token)).collect::<Result<Vec<_>, _>>()
        };
        let one = |token: Option<&'static str>| token.map(|token| tokenizer.special(token)).transpose();
        let known = |token: &&'static str| tokenizer.special(token).ok();
        // The first must be there; a tokenizer may lack the others.
        tokenizer.special(family.stops[0])?;
        let chunk = match &family.chunks {
            Chunks::Text(_) => None,
            Chunks::After { token, .. } | Chunks::Before(token) => known(token),
        };
        Ok(Self {
            family,
            start: all(family.start)?,
            ends: (one(family.ends.0)?, one(family.ends.1)?),
            head: all(family.head)?,
            between: tokenizer.special(family.between)?,
            tail: all(family.tail)?,
            stops: family.stops.iter().filter_map(known).collect(),
            decoder_start: all(family.decoder_start)?,
            chunk,
        })
    }

    pub(super) fn stops(&self) -> &[TokenId] {
        &self.stops
    }

    pub(super) fn decoder_start(&self) -> &[TokenId] {
        &self.decoder_start
    }

    pub(super) fn lay_out(
        &self,
        tokenizer: &Tokenizer,
        parts: &PromptParts,
        budget: Option<PromptBudget>,
        window: usize,
    ) -> Result<Prompt, ModelError> {
        // An encoder's window is the prompt's alone.
        let hole = if self.decoder_start.is_empty() { HOLE_ROOM.min(window / 2) } else { 0 };
        let limit = self.family.limit.min(window - hole);
        let room = budget.map_or(limit / CONTEXT_PART, |budget| budget.context.min(limit / 2));
        let context = self.context(tokenizer, parts, room)?;
        let header = tokenizer.encode_loosely(self.family.header)?;
        let prefix = self.prefix(tokenizer, parts, context.inside.is_empty())?;
        let suffix = tokenizer.encode_loosely(parts.suffix)?;
        // Chunks stand after the start of the text, which is not cut then.
        let (open, lead) = if context.inside.is_empty() { (None, self.ends.0) } else { (self.ends.0, None) };
        // Where the suffix follows the hole, its sentinel counts with it.
        let (own, between) =
            if self.is_suffix_first() { (None, Some(self.between)) } else { (Some(self.between), None) };
        let fixed = [open, between].into_iter().flatten().count()
            + [&self.start, &self.head, &self.tail, &header, &context.before, &context.inside]
                .map(Vec::len)
                .iter()
                .sum::<usize>();
        let (n_prefix, n_suffix) = (prefix.len(), suffix.len());
        let mut left: Vec<TokenId> = lead.into_iter().chain(prefix).collect();
        let mut right: Vec<TokenId> = own.into_iter().chain(suffix).chain(self.ends.1).collect();
        let budget = budget.map(|b| PromptBudget { suffix: b.suffix + own.iter().len(), ..b });
        let (keep_left, keep_right) = shares(left.len(), right.len(), limit.saturating_sub(fixed), budget);
        left.drain(..left.len().saturating_sub(keep_left));
        right.truncate(keep_right.max(own.iter().len()));
        let prefix_cut = n_prefix - left.len().min(n_prefix);
        let suffix_cut = n_suffix - (right.len() - own.iter().len()).min(n_suffix);
        let before_hole = open.into_iter().chain(context.inside).chain(left);
        let file: Vec<TokenId> = if self.is_suffix_first() {
            right.into_iter().chain(between).chain(before_hole).collect()
        } else {
            before_hole.chain(right).collect()
        };
        let ids = [&self.start, &context.before, &self.head, &header, &file, &self.tail];
        let ids = ids.into_iter().flatten().copied().collect();
        Ok(Prompt { ids, prefix_cut, suffix_cut, context: context.citations })
    }

    fn is_suffix_first(&self) -> bool {
        self.family.order == Order::SuffixFirst
    }

    fn prefix(
        &self,
        tokenizer: &Tokenizer,
        parts: &PromptParts,
        is_first: bool,
    ) -> Result<Vec<TokenId>, ModelError> {
        let text = if self.family.swallows_space { parts.prefix.trim_end() } else { parts.prefix };
        if self.family.space_in_front && is_first {
            return tokenizer.encode_loosely(&format!(" {text}"));
        }
        tokenizer.encode_loosely(text)
    }

    /// The chunks that fit into `room` whole, best first.
    fn context(
        &self,
        tokenizer: &Tokenizer,
        parts: &PromptParts,
        room: usize,
    ) -> Result<Context, ModelError> {
        let mut context = Context::default();
        for (citation, chunk) in &parts.context {
            let path = path_of(citation);
            let ids = match (self.family.chunks, self.chunk) {
                (Chunks::After { .. }, Some(token)) => {
                    let text = tokenizer.encode_loosely(&format!("{path}\n{chunk}\n"))?;
                    std::iter::once(token).chain(text).collect::<Vec<_>>()
                }
                (Chunks::Before(_), Some(token)) => {
                    let text = tokenizer.encode_loosely(&format!("{path}\n{chunk}\n"))?;
                    text.into_iter().chain([token]).collect()
                }
                (Chunks::Text(mark), _) => {
                    let space =
                        if self.family.space_in_front && context.inside.is_empty() { " " } else { "" };
                    tokenizer.encode_loosely(&format!("{space}{mark}{path}\n{chunk}\n"))?
                }
                (_, None) => tokenizer.encode_loosely(&format!("// {path}\n{chunk}\n"))?,
            };
            let place = if self.chunk.is_some() { &mut context.before } else { &mut context.inside };
            if place.len() + ids.len() < room {
                place.extend(ids);
                context.citations.push((*citation).to_owned());
            }
        }
        if let (Chunks::After { again: true, .. }, Some(token), false) =
            (self.family.chunks, self.chunk, context.before.is_empty())
        {
            context.before.push(token);
        }
        Ok(context)
    }
}

/// How many tokens of the left and of the right part are kept: half of `room` each, what one does not need goes to the
/// other. A budget bounds each by itself.
fn shares(left: usize, right: usize, room: usize, budget: Option<PromptBudget>) -> (usize, usize) {
    let half = room / 2;
    if let Some(budget) = budget {
        return (budget.prefix.min(half), budget.suffix.min(half));
    }
    match (left < half, right < half) {
        (true, true) => (left, right),
        (true, false) => (left, (2 * half - left).min(right)),
        (false, true) => ((2 * half - right).min(left), right),
        (false, false) => (half, half),
    }
}

#[cfg(test)]
mod tests {
    use super::shares as shares_of;

    fn shares(left: usize, right: usize, room: usize) -> (usize, usize) {
        shares_of(left, right, room, None)
    }

    #[test]
    fn the_unused_half_of_one_side_goes_to_the_other() {
        assert_eq!(shares(300, 300, 512), (256, 256));
        assert_eq!(shares(100, 300, 512), (100, 300));
        assert_eq!(shares(100, 600, 512), (100, 412));
        assert_eq!(shares(600, 10, 512), (502, 10));
        assert_eq!(shares(10, 10, 512), (10, 10));
        assert_eq!(shares(256, 255, 512), (256, 255));
    }
}
