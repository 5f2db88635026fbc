//! The hole that is open: what a new server must be told of it, and which compile errors a fill has brought.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::wire::{OpenArgs, WireProblem};
use super::{HolePlace, Problem};
use crate::java::lexer::LexState;

#[derive(Debug)]
pub(super) struct OpenHole {
    pub args: OpenArgs,
    pub place: HolePlace,
    pub closable: usize,
    /// UTF-16 length of the text before the hole.
    start: usize,
    /// Errors of the buggy file outside the hole.
    baseline: HashMap<ProblemKey, usize>,
    /// Id and message of the errors inside it: if the buggy text names what is not to be found (generated code, a
    /// missing jar), the same message proves nothing against a fill.
    doubtful: HashSet<(u32, String)>,
}

/// What makes a problem the same one after the hole has changed: not its position.
type ProblemKey = (u32, String, String, Option<String>);

impl OpenHole {
    /// A hole that was opened with `args`; its baseline is not known yet.
    pub fn new(args: OpenArgs, place: HolePlace, closable: usize) -> Self {
        let start = utf16_len(&args.prefix);
        Self { args, place, closable, start, baseline: HashMap::new(), doubtful: HashSet::new() }
    }

    /// Notes the errors of the buggy file.
    pub fn set_baseline(&mut self, problems: &[WireProblem]) {
        let (inside, outside): (Vec<_>, Vec<_>) =
            problems.iter().partition(|problem| self.range_in(&self.args.original, problem).is_some());
        self.baseline = count(outside.into_iter());
        self.doubtful = inside.into_iter().map(|problem| (problem.id, problem.message.clone())).collect();
    }

    /// Byte range of a problem in the hole's text, or `None` if it is not wholly inside.
    fn range_in(&self, text: &str, problem: &WireProblem) -> Option<Range<usize>> {
        if problem.file.is_some() {
            return None;
        }
        let start = problem.start.checked_sub(self.start)?;
        let end = problem.end.checked_sub(self.start)?;
        Some(byte_offset(text, start)?..byte_offset(text, end)?)
    }

    /// The errors of the file filled with `text` that the buggy file does not have.
    pub fn subtract_baseline(&self, text: &str, problems: Vec<WireProblem>) -> Vec<Problem> {
        let mut known = self.baseline.clone();
        let mut news = Vec::new();
        for problem in problems {
            let in_hole = self.range_in(text, &problem);
            let left = known.get_mut(&key(&problem)).filter(|left| **left > 0);
            match (in_hole, left) {
                (None, Some(left)) => *left -= 1,
                (Some(_), _) if self.doubtful.contains(&(problem.id, problem.message.clone())) => {}
                (in_hole, _) => news.push(Problem {
                    id: problem.id,
                    syntax: problem.syntax,
                    in_hole,
                    message: problem.message,
                    file: problem.file,
                }),
            }
        }
        news
    }
}

/// How many of the braces before the hole the buggy text closes, and how many of its own it leaves open, so that an
/// unfinished fill can leave the rest of the file in its place. None where other brackets are concerned.
pub(super) fn braces(prefix: &str, original: &str) -> (usize, usize) {
    let mut state = LexState::after(prefix);
    let start = state.brackets().to_vec();
    // Brackets that the buggy text never closes; what it opens beyond them are others.
    let mut common = start.len();
    for byte in original.bytes() {
        state.step(0, byte);
        common = common.min(state.brackets().len());
    }
    let end = state.brackets();
    if start[common..].iter().chain(&end[common..]).any(|&bracket| bracket != b'{') {
        return (0, 0);
    }
    (start.len() - common, end.len() - common)
}

fn key(problem: &WireProblem) -> ProblemKey {
    (problem.id, problem.message.clone(), problem.line.clone(), problem.file.clone())
}

fn count<'a>(problems: impl Iterator<Item = &'a WireProblem>) -> HashMap<ProblemKey, usize> {
    let mut counts = HashMap::new();
    for problem in problems {
        *counts.entry(key(problem)).or_default() += 1;
    }
    counts
}

fn utf16_len(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The byte offset of the character at `units` UTF-16 units; `None` beyond the end or inside a character.
fn byte_offset(text: &str, units: usize) -> Option<usize> {
    let mut seen = 0;
    for (offset, character) in text.char_indices() {
        if seen >= units {
            return (seen == units).then_some(offset);
        }
        seen += character.len_utf16();
    }
    (seen == units).then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(id: u32, start: usize, end: usize, line: &str) -> WireProblem {
        WireProblem {
            id,
            syntax: false,
            start,
            end,
            line: line.to_owned(),
            message: format!("m{id}"),
            file: None,
        }
    }

    fn hole(prefix: &str, baseline: &[WireProblem]) -> OpenHole {
        let text = String::new;
        let prefix = prefix.to_owned();
        let args = OpenArgs {
            session: "",
            path: text(),
            prefix,
            original: text(),
            suffix: text(),
            closed: 0,
            opened: 0,
        };
        let mut open = OpenHole::new(args, HolePlace::Body, 0);
        open.baseline = count(baseline.iter());
        open
    }

    fn check(open: &OpenHole, text: &str, problems: Vec<WireProblem>) -> Vec<(u32, Option<Range<usize>>)> {
        open.subtract_baseline(text, problems).into_iter().map(|news| (news.id, news.in_hole)).collect()
    }

    #[test]
    fn an_error_that_the_buggy_text_has_too_proves_nothing() {
        let mut open = hole("01", &[]);
        open.doubtful.insert((50, "m50".to_owned()));
        assert_eq!(
            check(&open, "x();", vec![problem(50, 2, 3, "x();"), problem(51, 2, 3, "x();")]),
            [(51, Some(0..1))]
        );
    }

    #[test]
    fn braces_that_the_buggy_text_closes_or_leaves_open_are_counted() {
        assert_eq!(braces("{ if (a) {", " b(); "), (0, 0));
        assert_eq!(braces("{ if (a) {", " b(); } if (c) {"), (1, 1));
        assert_eq!(braces("{", " if (a) {"), (0, 1));
        assert_eq!(braces("{ f(", "a), g("), (0, 0));
    }

    #[test]
    fn offsets_count_astral_characters_twice() {
        assert_eq!(byte_offset("a𝒳b", 3), Some(5));
        assert_eq!(byte_offset("a𝒳b", 2), None);
        assert_eq!(byte_offset("a𝒳b", 4), Some(6));
        assert_eq!(byte_offset("a𝒳b", 5), None);
    }

    #[test]
    fn a_problem_in_the_hole_is_given_in_bytes_of_the_hole() {
        let open = hole("é𝒳", &[]);
        assert_eq!(check(&open, "ü zz;", vec![problem(50, 5, 7, "")]), [(50, Some(3..5))]);
    }

    #[test]
    fn a_known_problem_is_subtracted_once_for_each_time_it_was_there() {
        let known = problem(17, 0, 1, "int x = \"\";");
        let open = hole("0123456789", std::slice::from_ref(&known));
        let moved = problem(17, 90, 91, "int x = \"\";");
        assert_eq!(check(&open, "a", vec![moved.clone(), moved]), [(17, None)]);
    }

    #[test]
    fn a_problem_in_the_hole_is_new_though_one_outside_looks_alike() {
        let open = hole("01", &[problem(50, 0, 1, "x();")]);
        assert_eq!(check(&open, "x();", vec![problem(50, 2, 3, "x();")]), [(50, Some(0..1))]);
    }
}
