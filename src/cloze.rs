//! A source file with a hole in it.
//!
//! A whole-line hole starts *before* the newline that ends the previous line, because one token of most vocabularies
//! holds a newline together with the indentation after it: a fill is `"\n"` + lines, the suffix starts with `"\n"`,
//! and the empty fill deletes the lines. A hole at the first line of a file has no newline in front.

use std::ops::Range;

use crate::bug::Lines;
use crate::text::{LineEnd, Source, TextError};

pub mod template;

/// Lines that the file does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is out of range: the file has {n_lines} lines")]
pub struct OutOfRange {
    /// The line asked for.
    pub line: usize,
    /// Lines of the file.
    pub n_lines: usize,
}

/// Text around a hole and what stood in it. All text has `\n` line ends.
#[derive(Debug, Clone)]
pub struct Cloze {
    /// The file up to the hole.
    pub prefix: String,
    /// The buggy text, empty for an insertion.
    pub original: String,
    /// The file after the hole.
    pub suffix: String,
    source: Source,
    hole: Range<usize>,
    line_end: LineEnd,
    leads_with_newline: bool,
    /// Text of the hole's lines that stays, before and after what is filled in.
    kept: [String; 2],
}

impl Cloze {
    /// Cuts the hole out of a file.
    pub fn new(source: Source, lines: Lines) -> Result<Self, OutOfRange> {
        let n_lines = source.n_lines();
        let (first, end) = match lines {
            Lines::Replace { first, last } => (first, Some(last)),
            Lines::Insert { before } => (before, None),
        };
        // An insertion may come after the last line.
        let highest = end.unwrap_or(first - 1);
        if highest > n_lines {
            return Err(OutOfRange { line: highest, n_lines });
        }
        let start = if first == 1 { 0 } else { source.line(first - 1).end };
        let hole = start..end.map_or(start, |number| source.line(number).end);
        Ok(Self {
            prefix: source.text(0..hole.start),
            original: source.text(hole.clone()),
            suffix: source.text(hole.end..source.bytes().len()),
            line_end: source.line_end(first.max(2) - 1),
            source,
            hole,
            leads_with_newline: first > 1,
            kept: Default::default(),
        })
    }

    /// Cuts any part of a file out, which need not be lines. `hole` must not cut a character.
    ///
    /// # Panics
    /// If the file ends before the hole does.
    pub fn within(source: Source, hole: Range<usize>) -> Self {
        let number =
            (2..=source.n_lines()).take_while(|&number| source.line(number).start <= hole.start).count() + 1;
        Self {
            prefix: source.text(0..hole.start),
            original: source.text(hole.clone()),
            suffix: source.text(hole.end..source.bytes().len()),
            line_end: source.line_end(number),
            leads_with_newline: false,
            kept: Default::default(),
            source,
            hole,
        }
    }

    /// The same lines with less of them to fill in: `before` and `after` stay. `stand_in` is for the buggy text between them.
    #[must_use]
    pub fn keeping(&self, before: &str, after: &str, stand_in: &str) -> Self {
        Self {
            prefix: format!("{}{before}", self.prefix),
            original: stand_in.to_owned(),
            suffix: format!("{after}{}", self.suffix),
            leads_with_newline: false,
            kept: [before.to_owned(), after.to_owned()],
            ..self.clone()
        }
    }

    /// All of the hole's lines: a fill with what stays around it.
    pub fn whole(&self, fill: &str) -> String {
        let [before, after] = &self.kept;
        format!("{before}{fill}{after}")
    }

    /// Whether every fill that is not empty starts with a newline.
    pub fn leads_with_newline(&self) -> bool {
        self.leads_with_newline
    }

    /// The file that the hole was cut from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The whole file, as bytes, with the hole filled by `fill`.
    pub fn fill(&self, fill: &str) -> Result<Vec<u8>, TextError> {
        self.source.replace(self.hole.clone(), &self.whole(fill), self.line_end)
    }

    /// The first line after the hole that is not blank, without the space around it; `None` at the end of the file.
    pub fn next_line(&self) -> Option<&str> {
        self.suffix.lines().map(str::trim).find(|line| !line.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(file: &str, lines: Lines, parts: [&str; 3], text: &str, whole: &str) {
        let source = Source::new(file.as_bytes().to_vec(), "UTF-8").unwrap();
        let cloze = Cloze::new(source, lines).unwrap();
        assert_eq!([cloze.prefix.as_str(), &cloze.original, &cloze.suffix], parts);
        assert_eq!(String::from_utf8(cloze.fill(text).unwrap()).unwrap(), whole);
        assert_eq!(String::from_utf8(cloze.fill(&cloze.original).unwrap()).unwrap(), file);
    }

    #[test]
    fn a_replacement_takes_the_newline_before_its_lines() {
        check(
            "a\nb\nc\n",
            Lines::Replace { first: 2, last: 2 },
            ["a", "\nb", "\nc\n"],
            "\nx\ny",
            "a\nx\ny\nc\n",
        );
    }

    #[test]
    fn the_empty_fill_deletes_the_lines() {
        check("a\nb\nc\n", Lines::Replace { first: 2, last: 3 }, ["a", "\nb\nc", "\n"], "", "a\n");
    }

    #[test]
    fn an_insertion_goes_between_two_lines() {
        check("a\nb\n", Lines::Insert { before: 2 }, ["a", "", "\nb\n"], "\nx", "a\nx\nb\n");
    }

    #[test]
    fn an_insertion_may_come_after_the_last_line() {
        check("a\n", Lines::Insert { before: 2 }, ["a", "", "\n"], "\nx", "a\nx\n");
        let source = Source::new(b"a\n".to_vec(), "UTF-8").unwrap();
        assert!(Cloze::new(source, Lines::Insert { before: 3 }).is_err());
    }

    #[test]
    fn a_fill_takes_the_line_ends_of_its_neighbours() {
        check(
            "a\r\nb\r\nc\n",
            Lines::Replace { first: 2, last: 2 },
            ["a", "\nb", "\nc\n"],
            "\nx",
            "a\r\nx\r\nc\n",
        );
    }

    #[test]
    fn the_newline_of_an_empty_first_line_belongs_to_the_hole() {
        let file = "\nb\n";
        check(file, Lines::Replace { first: 2, last: 2 }, ["", "\nb", "\n"], "\nx", "\nx\n");
        let source = Source::new(file.into(), "UTF-8").unwrap();
        assert!(Cloze::new(source, Lines::Insert { before: 2 }).unwrap().leads_with_newline());
    }

    #[test]
    fn the_first_line_has_no_newline_in_front() {
        check("a\nb", Lines::Replace { first: 1, last: 1 }, ["", "a", "\nb"], "x", "x\nb");
    }

    #[test]
    fn a_part_of_a_line_is_cut_and_filled() {
        let cloze = Cloze::within(Source::new(b"a\r\nf(b);\r\n".to_vec(), "UTF-8").unwrap(), 5..6);
        let parts = [cloze.prefix.as_str(), &cloze.original, &cloze.suffix];
        assert_eq!(parts, ["a\nf(", "b", ");\n"]);
        assert_eq!(cloze.fill("c,\nd").unwrap(), b"a\r\nf(c,\r\nd);\r\n");
        assert!(!cloze.leads_with_newline());
    }

    #[test]
    fn what_is_kept_of_the_lines_surrounds_the_fill() {
        let source = Source::new(b"a\r\n  f(b);\r\nc\r\n".to_vec(), "UTF-8").unwrap();
        let cloze = Cloze::new(source, Lines::Replace { first: 2, last: 2 }).unwrap();
        let kept = cloze.keeping("\n  f(", ");", "b");
        let parts = [kept.prefix.as_str(), &kept.original, &kept.suffix];
        assert_eq!(parts, ["a\n  f(", "b", ");\nc\n"]);
        assert_eq!(kept.fill("x,\ny").unwrap(), b"a\r\n  f(x,\r\ny);\r\nc\r\n");
        assert_eq!(kept.whole("x"), "\n  f(x);");
        assert!(!kept.leads_with_newline());
    }

    #[test]
    fn lines_that_are_not_there_are_out_of_range() {
        let source = Source::new(b"a\n".to_vec(), "UTF-8").unwrap();
        let error = Cloze::new(source, Lines::Replace { first: 1, last: 2 }).unwrap_err();
        assert_eq!(error, OutOfRange { line: 2, n_lines: 1 });
    }
}
