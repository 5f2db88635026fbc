//! The layouts of models that were not trained to infill: the suffix first where the tokenizer has tokens to say so, else
//! left to right, the suffix unseen.
//!
//! ```text
//! (<filename> path \n chunk)*  <file_sep> suffix  <filename> prefix  | hole
//! ```
//! Measured on `SmolLM2-135M`: showing the suffix before the prefix lowers the loss per token of the true fill from 1.383
//! to 1.263; prefix, suffix, middle raises it to 2.55. The parts are tokenised apart, and there is no start token.
//!
//! The prefix is cut at its start, at the start of a line; a licence header or other comment at the very start of the
//! file goes first of all. The suffix is cut at its end. What was cut is in the [`Prompt`].

use super::super::error::ModelError;
use super::super::tokenizer::Tokenizer;
use super::super::{Prompt, PromptBudget, PromptParts};
use super::{HOLE_ROOM, path_of};
use crate::token::TokenId;

/// The special tokens of the layout.
pub(in crate::model) struct SuffixFirst {
    /// Separator of files and mark of a file's name.
    marks: Option<(TokenId, TokenId)>,
    /// What a text begins with where there are no marks.
    start: Option<TokenId>,
}

/// Tokens that begin a text, one family each.
const STARTS: [&str; 3] = ["<|begin_of_text|>", "<s>", "<bos>"];

impl SuffixFirst {
    pub(super) fn new(tokenizer: &Tokenizer) -> Self {
        let known = |text| tokenizer.special(text).ok();
        let marks = known("<file_sep>").zip(known("<filename>"));
        let start = STARTS.into_iter().find_map(known).filter(|_| marks.is_none());
        Self { marks, start }
    }

    /// Lays `parts` out within `budget`, and within `window` less the room for the hole. Where the window is too small,
    /// the context gives way first, then the suffix.
    pub(super) fn lay_out(
        &self,
        tokenizer: &Tokenizer,
        parts: &PromptParts,
        budget: PromptBudget,
        window: usize,
    ) -> Result<Prompt, ModelError> {
        // A tiny window is shared half and half with the hole; two positions are the special tokens'.
        let room = (window - HOLE_ROOM.min(window / 2)).saturating_sub(2);
        let (prefix, prefix_cut) = prefix_tail(tokenizer, parts.prefix, budget.prefix.min(room))?;
        let (mut suffix, _) = tokenizer.encode_with_starts(parts.suffix)?;
        let shown = if self.marks.is_some() { budget.suffix.min(room - prefix.len()) } else { 0 };
        let suffix_cut = suffix.len().saturating_sub(shown);
        suffix.truncate(suffix.len() - suffix_cut);
        let room = budget.context.min(room - prefix.len() - suffix.len());
        let (chunks, context) = self.context(tokenizer, parts, room)?;
        let mut ids: Vec<TokenId> = self.start.into_iter().chain(chunks).collect();
        if let Some((separator, filename)) = self.marks {
            ids.push(separator);
            ids.extend(suffix);
            ids.push(filename);
        }
        ids.extend(prefix);
        Ok(Prompt { ids, prefix_cut, suffix_cut, context })
    }

    /// The chunks that fit into `room` whole, best first, with their citations.
    fn context(
        &self,
        tokenizer: &Tokenizer,
        parts: &PromptParts,
        mut room: usize,
    ) -> Result<(Vec<TokenId>, Vec<String>), ModelError> {
        let (mut ids, mut citations) = (Vec::new(), Vec::new());
        for (citation, chunk) in &parts.context {
            let path = path_of(citation);
            let shown = match self.marks {
                Some(_) => format!("{path}\n{chunk}"),
                None => format!("// {path}\n{chunk}\n"),
            };
            let (text, _) = tokenizer.encode_with_starts(&shown)?;
            if text.len() < room {
                room -= text.len() + 1;
                ids.extend(self.marks.map(|(_, filename)| filename));
                ids.extend(text);
                citations.push((*citation).to_owned());
            }
        }
        Ok((ids, citations))
    }
}

/// The last lines of `prefix` that fit into `budget` tokens, and how many tokens were cut before them. Only where not
/// even the last line fits is it cut in the middle.
fn prefix_tail(
    tokenizer: &Tokenizer,
    prefix: &str,
    budget: usize,
) -> Result<(Vec<TokenId>, usize), ModelError> {
    let total = tokenizer.encode_with_starts(prefix)?.0.len();
    let body = &prefix[header_len(prefix)..];
    let (ids, starts) = tokenizer.encode_with_starts(body)?;
    if ids.len() <= budget {
        let cut = total.saturating_sub(ids.len());
        return Ok((ids, cut));
    }
    // Tokens span line starts, so the tail is tokenised afresh and may come out a token longer than it was.
    let earliest = starts.get(ids.len() - budget).copied().unwrap_or(body.len());
    let line_starts = body.match_indices('\n').map(|(i, _)| i + 1).filter(|&start| start >= earliest);
    for start in line_starts.filter(|&start| start < body.len()) {
        let (tail, _) = tokenizer.encode_with_starts(&body[start..])?;
        if tail.len() <= budget {
            let cut = total.saturating_sub(tail.len());
            return Ok((tail, cut));
        }
    }
    Ok((ids[ids.len() - budget..].to_vec(), total.saturating_sub(budget)))
}

/// Length of the comments and blank lines at the very start of a file. A comment that the text does not close counts
/// as none: the hole lies in it.
fn header_len(text: &str) -> usize {
    let mut rest = text;
    loop {
        let at = rest.trim_start();
        let after = if at.starts_with("/*") {
            at.find("*/").map(|i| &at[i + 2..])
        } else if at.starts_with("//") {
            at.find('\n').map(|i| &at[i + 1..])
        } else {
            None
        };
        match after {
            Some(after) => rest = after,
            // The indentation of what follows belongs to it.
            None if rest.len() < text.len() => {
                return text.len() - rest.trim_start_matches(['\r', '\n']).len();
            }
            None => return 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, kept: &str) {
        assert_eq!(&text[header_len(text)..], kept);
    }

    #[test]
    fn a_licence_header_is_left_out() {
        check("/*\n * Licence\n */\n\npackage a;\n", "package a;\n");
        check("\u{feff}package a;\n", "\u{feff}package a;\n");
        check("// Licence\r\n// more\r\npackage a;", "package a;");
        check("/* one */ /* two */ class A {}", " class A {}");
    }

    #[test]
    fn a_comment_that_holds_the_hole_is_kept() {
        check("/*\n * Lice", "/*\n * Lice");
        check("// Lice", "// Lice");
        check("", "");
    }

    #[test]
    fn a_comment_further_down_is_kept() {
        check("package a;\n/** Doc. */\n", "package a;\n/** Doc. */\n");
    }
}
