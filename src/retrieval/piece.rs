//! A file cut into pieces that know their place.

use std::ops::Range;

use tree_sitter::Tree;

use super::chunk::{self, Span};
use super::grammar::{self, Grammar};

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its bytes in the file.
    pub bytes: Range<usize>,
    /// First and last line, counted from 1.
    pub lines: (usize, usize),
    /// Names of the classes and methods around it, outermost first.
    pub scopes: Vec<String>,
    /// Its characters that are not ASCII whitespace.
    pub size: usize,
    /// Whether it ends within a literal or comment that was too large for one piece.
    pub torn: bool,
}

/// A file cut into pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// Pieces in order: none is empty, and together they are the file byte for byte.
    pub pieces: Vec<Piece>,
    /// Name of the language, `None` where lines decided.
    pub language: Option<&'static str>,
    /// Whether the file has syntax errors; it is cut along what the parser could read.
    pub has_errors: bool,
}

/// Cuts the file `source` into pieces of at most `max` non-whitespace characters (at least 1): along its syntax if there
/// is a grammar for the extension of `path`, at lines otherwise. Any bytes will do: what is not UTF-8 is kept, and counts
/// byte by byte.
///
/// ```
/// let cut = repair::retrieval::cut("A.java", b"class A {\n  int a;\n}\nclass B {\n  int b;\n}\n", 16);
/// let lines: Vec<_> = cut.pieces.iter().map(|piece| piece.lines).collect();
/// assert_eq!(lines, [(1, 3), (4, 6)]);
/// ```
pub fn cut(path: &str, source: &[u8], max: usize) -> Cut {
    let syntax = Syntax::of(path, source);
    Cut {
        pieces: syntax.spans(max).into_iter().map(|span| syntax.piece(span)).collect(),
        language: syntax.parsed.as_ref().map(|(grammar, _)| grammar.name),
        has_errors: syntax.parsed.as_ref().is_some_and(|(_, tree)| tree.root_node().has_error()),
    }
}

/// Comment lines that tell a reader of a piece where it comes from: its file, and the scopes around it.
pub fn header(path: &str, scopes: &[String]) -> String {
    let comment = grammar::for_path(path).map_or("#", |grammar| grammar.comment);
    let scopes = scopes.join(".");
    let scopes = if scopes.is_empty() { scopes } else { format!("{comment} {scopes}\n") };
    format!("{comment} {path}\n{scopes}")
}

/// The parts of `source` that overlap takes from the neighbours of a piece: `lines` lines before it and as many after it,
/// fewer at the ends of the file. A piece that begins or ends within a line gets the rest of that line as one of them.
pub fn overlap(source: &[u8], piece: &Range<usize>, lines: usize) -> (Range<usize>, Range<usize>) {
    let mut start = piece.start;
    for _ in 0..lines {
        let line = source[..start.saturating_sub(1)].iter().rposition(|&byte| byte == b'\n');
        start = line.map_or(0, |newline| newline + 1);
    }
    let mut end = piece.end;
    for _ in 0..lines {
        let line = source[end..].iter().position(|&byte| byte == b'\n');
        end = line.map_or(source.len(), |newline| end + newline + 1);
    }
    (start..piece.start, piece.end..end)
}

/// A file with its syntax tree, if there is a grammar for it.
pub(super) struct Syntax<'a> {
    source: &'a [u8],
    parsed: Option<(&'static Grammar, Tree)>,
    newlines: Vec<usize>,
}

impl<'a> Syntax<'a> {
    pub(super) fn of(path: &str, source: &'a [u8]) -> Self {
        let grammar = grammar::for_path(path);
        let newlines = source.iter().enumerate().filter(|&(_, &byte)| byte == b'\n').map(|(at, _)| at);
        Self {
            parsed: grammar.and_then(|grammar| Some((grammar, grammar.parse(source)?))),
            newlines: newlines.collect(),
            source,
        }
    }

    pub(super) fn spans(&self, max: usize) -> Vec<Span> {
        match &self.parsed {
            Some((_, tree)) => chunk::split_tree(self.source, tree, max),
            None => chunk::split_lines(self.source, max),
        }
    }

    pub(super) fn piece(&self, span: Span) -> Piece {
        let text = &self.source[span.bytes.clone()];
        let shown = trimmed(text, span.bytes.start);
        let scopes = self.parsed.as_ref().map(|(grammar, tree)| grammar.scopes(tree, self.source, &shown));
        Piece {
            lines: (self.line(span.bytes.start), self.line(span.bytes.end - 1)),
            scopes: scopes.unwrap_or_default(),
            size: chunk::size(text),
            torn: span.torn,
            bytes: span.bytes,
        }
    }

    fn line(&self, at: usize) -> usize {
        1 + self.newlines.partition_point(|&newline| newline < at)
    }
}

/// Range of a text that begins at `start`, without the blanks around it.
fn trimmed(text: &[u8], start: usize) -> Range<usize> {
    let from = start + text.len() - text.trim_ascii_start().len();
    from..(start + text.trim_ascii_end().len()).max(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_knows_its_place_in_any_language() {
        let source = b"import os\n\nclass A:\n    def f(self):\n        return os.name\n\n    def g(self):\n        return 2\n";
        let cut = cut("a.py", source, 30);
        let shown: Vec<_> =
            cut.pieces.iter().map(|piece| (piece.lines, piece.scopes.join("."), piece.size)).collect();
        assert_eq!(shown, [((1, 3), String::new(), 15), ((4, 5), "A".into(), 24), ((6, 8), "A".into(), 18)]);
        assert_eq!((cut.language, cut.has_errors), (Some("python"), false));
    }

    #[test]
    fn bytes_that_are_no_text_are_cut_too() {
        let source = b"one\n\xff\xfe\x00\ntwo\n";
        let cut = cut("notes", source, 6);
        assert_eq!(cut.pieces.iter().map(|piece| piece.lines).collect::<Vec<_>>(), [(1, 2), (3, 3)]);
        assert_eq!((cut.language, cut.has_errors), (None, false));
    }

    #[test]
    fn broken_syntax_is_told() {
        assert!(cut("A.java", b"class A { int ; } }", 100).has_errors);
    }

    #[test]
    fn a_header_names_file_and_scopes_as_a_comment() {
        assert_eq!(header("a/B.java", &["B".into(), "m".into()]), "// a/B.java\n// B.m\n");
        assert_eq!(header("a.py", &[]), "# a.py\n");
        assert_eq!(header("notes.txt", &[]), "# notes.txt\n");
    }

    /// The piece stands between the inner bars, what `lines` lines of overlap add between the outer ones.
    fn check_overlap(marked: &str, lines: usize) {
        let parts: Vec<&str> = marked.split('|').collect();
        let source = parts.concat();
        let start = parts[0].len() + parts[1].len();
        let (before, after) = overlap(source.as_bytes(), &(start..start + parts[2].len()), lines);
        assert_eq!((&source[before], &source[after]), (parts[1], parts[3]));
    }

    #[test]
    fn overlap_is_whole_lines_of_the_neighbours() {
        check_overlap("a\n|b\n|c\n|d\n|e\n", 1);
        check_overlap("|a\nb\n|c\n|d\ne|", 2);
        check_overlap("||a\n||", 3);
        check_overlap("a\n|b |c| d\n|e\n", 1);
        check_overlap("a\n||b\n||c\n", 0);
    }
}
