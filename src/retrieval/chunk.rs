//! The cAST chunking algorithm: a syntax tree and its source in, spans that tile the source out.
//!
//! Recursive split, then greedy merge of neighbours at every level on the way up (Zhang et al. 2025, algorithm 1, with
//! its omissions mended: nothing is dropped, and pieces of a split node may join what precedes them).
//!
//! Invariants, for any bytes and any tree:
//! - spans are in order, none is empty, and together they are the source byte for byte;
//! - no span holds more than the budget of non-whitespace characters;
//! - cuts lie between characters when the source is valid UTF-8, and at line starts where the gap between two nodes
//!   has one.
//!
//! Deliberately absent: names of languages and of node kinds (`grammar` has them), overlap between chunks, and any
//! rebuilding or re-indenting of text.

use std::ops::Range;

use tree_sitter::{Node, Tree};

/// Nested nodes deeper than this are split like leaves: a chain of ten thousand `+` is a tree as deep, and the stack is
/// not. Real sources stay below 100.
const MAX_DEPTH: usize = 256;

/// A piece of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Where it lies.
    pub bytes: Range<usize>,
    /// Whether an end lies within a syntactic leaf (a long literal or comment) that was larger than the budget.
    pub torn: bool,
}

/// Splits along the syntax tree. `max` is the budget of a span in non-whitespace characters, at least 1.
pub fn split_tree(source: &[u8], tree: &Tree, max: usize) -> Vec<Span> {
    let mut splitter = Splitter::new(source, max);
    splitter.node(tree.root_node(), 0..source.len(), 0, 0);
    splitter.finish()
}

/// Splits at lines, for text without a grammar; longer lines are split between characters.
pub fn split_lines(source: &[u8], max: usize) -> Vec<Span> {
    let mut splitter = Splitter::new(source, max);
    splitter.lines(0..source.len(), false);
    splitter.finish()
}

/// Number of characters that are not ASCII whitespace, the algorithm's measure of size (paper, section 3).
pub fn size(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| counts(byte)).count()
}

/// Continuation bytes of UTF-8 do not count: their lead byte does.
fn counts(byte: u8) -> bool {
    !is_space(byte) && byte & 0xC0 != 0x80
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// To which neighbour a unit belongs before sizes decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Glue {
    Neither,
    /// A comment on lines of its own belongs to what follows.
    Next,
    /// A comment that starts on the line where its predecessor ends belongs to that.
    Previous,
}

#[derive(Debug, Clone)]
struct Unit {
    span: Span,
    glue: Glue,
}

struct Splitter<'a> {
    source: &'a [u8],
    /// `sums[i]`: characters that count before byte `i`, so that sizes of adjacent spans add up exactly.
    sums: Vec<u32>,
    max: usize,
    units: Vec<Unit>,
}

impl<'a> Splitter<'a> {
    fn new(source: &'a [u8], max: usize) -> Self {
        let mut sums = Vec::with_capacity(source.len() + 1);
        let mut sum = 0;
        sums.push(sum);
        sums.extend(source.iter().map(|&byte| {
            sum += u32::from(counts(byte));
            sum
        }));
        Self { source, sums, max: max.max(1), units: Vec::new() }
    }

    fn finish(self) -> Vec<Span> {
        self.units.into_iter().map(|unit| unit.span).collect()
    }

    fn fits(&self, bytes: &Range<usize>) -> bool {
        (self.sums[bytes.end] - self.sums[bytes.start]) as usize <= self.max
    }

    fn push(&mut self, bytes: Range<usize>, torn: bool, glue: Glue) {
        if !bytes.is_empty() {
            self.units.push(Unit { span: Span { bytes, torn }, glue });
        }
    }

    /// Appends the units of `node`, which was given the range `bytes` (its own and its share of the gaps around it), and
    /// merges them with each other and with the units from `base` on.
    fn node(&mut self, node: Node, bytes: Range<usize>, base: usize, depth: usize) {
        if self.fits(&bytes) {
            return self.push(bytes, false, Glue::Neither);
        }
        let children = if depth < MAX_DEPTH { children(node) } else { Vec::new() };
        if children.is_empty() {
            return self.lines(bytes, true);
        }
        let mut start = bytes.start;
        for (i, &child) in children.iter().enumerate() {
            let end = children.get(i + 1).map_or(bytes.end, |next| self.cut(child, *next));
            let first = self.units.len();
            self.node(child, start..end, self.lead(base), depth + 1);
            if child.is_extra() {
                self.glue(first, i.checked_sub(1).map(|before| children[before]), child);
            }
            start = end;
        }
        self.join_glued(base);
        self.merge(base);
    }

    /// The first of the units at the end, back to `base`, that lead up to what comes next: the head of a declaration on
    /// the line where its body begins, the comment above it. They fill the body's first chunk before the body does.
    fn lead(&self, base: usize) -> usize {
        let leads = |unit: &&Unit| unit.glue == Glue::Next || self.source[unit.span.bytes.end - 1] != b'\n';
        self.units.len() - self.units[base..].iter().rev().take_while(leads).count()
    }

    /// Where the gap between two siblings is cut: after its first newline if only blanks precede that, so that trailing
    /// blanks stay with the line they end and indentation with the line it begins.
    fn cut(&self, left: Node, right: Node) -> usize {
        let gap = left.end_byte()..right.start_byte();
        let blank = self.source[gap.clone()].iter().take_while(|&&byte| is_space(byte));
        blank
            .enumerate()
            .find(|&(_, &byte)| byte == b'\n')
            .map_or(gap.end, |(newline, _)| gap.start + newline + 1)
    }

    /// Says of the comment `extra`, whose units begin at `first`, where it belongs.
    fn glue(&mut self, first: usize, before: Option<Node>, extra: Node) {
        let same_line =
            before.is_some_and(|before| !self.source[before.end_byte()..extra.start_byte()].contains(&b'\n'));
        let (unit, glue) = if same_line {
            (self.units.get_mut(first), Glue::Previous)
        } else {
            (self.units.last_mut(), Glue::Next)
        };
        // A unit that its lead has swallowed already is where it belongs.
        if let Some(unit) = unit {
            unit.glue = glue;
        }
    }

    /// Joins comments to the neighbour they belong to where both fit together; right to left, so that a run of comments
    /// gathers at what it describes.
    fn join_glued(&mut self, base: usize) {
        let mut joined: Vec<Unit> = Vec::new();
        for left in self.units.split_off(base).into_iter().rev() {
            let next = joined.last();
            let belongs = next.is_some_and(|next| left.glue == Glue::Next || next.glue == Glue::Previous);
            match next {
                Some(next) if belongs && self.fits(&(left.span.bytes.start..next.span.bytes.end)) => {
                    let right = joined.pop().expect("`next` is the last unit");
                    // A comment behind its predecessor makes the pair as free as that was.
                    let glue = if right.glue == Glue::Previous { left.glue } else { right.glue };
                    joined.push(Unit { span: union(&left.span, &right.span), glue });
                }
                _ => joined.push(left),
            }
        }
        self.units.extend(joined.into_iter().rev().map(|unit| Unit { glue: Glue::Neither, ..unit }));
    }

    /// Greedy left-to-right merge of the units from `base` on.
    fn merge(&mut self, base: usize) {
        let units = self.units.split_off(base);
        for unit in units {
            match self.units[base..].last() {
                Some(last) if self.fits(&(last.span.bytes.start..unit.span.bytes.end)) => {
                    let last = self.units.pop().expect("there is a last unit");
                    self.units.push(Unit { span: union(&last.span, &unit.span), glue: Glue::Neither });
                }
                _ => self.units.push(unit),
            }
        }
    }

    /// Appends spans of as many whole lines as fit; a line that does not fit by itself is split between characters.
    fn lines(&mut self, bytes: Range<usize>, torn: bool) {
        let mut start = bytes.start;
        let mut end = start;
        // Whether what begins at `start` is the rest of a line that did not fit.
        let mut rest = false;
        while end < bytes.end {
            let newline = self.source[end..bytes.end].iter().position(|&byte| byte == b'\n');
            let line_end = newline.map_or(bytes.end, |newline| end + newline + 1);
            if self.fits(&(start..line_end)) {
                end = line_end;
                continue;
            }
            if start < end {
                self.push(start..end, torn || rest, Glue::Neither);
                rest = false;
            } else {
                end = self.longest(start..line_end);
                self.push(start..end, true, Glue::Neither);
                rest = end < line_end;
            }
            start = end;
        }
        self.push(start..end, torn || rest, Glue::Neither);
    }

    /// End of the longest part from the start of `bytes` that fits: at least one character, never inside one.
    fn longest(&self, bytes: Range<usize>) -> usize {
        let limit = self.sums[bytes.start] as usize + self.max;
        // The first byte that counts beyond the budget is a lead byte, hence a boundary.
        let over = self.sums[bytes.start..=bytes.end].partition_point(|&sum| sum as usize <= limit);
        bytes.start + over - 1
    }
}

fn union(left: &Span, right: &Span) -> Span {
    Span { bytes: left.bytes.start..right.bytes.end, torn: left.torn || right.torn }
}

/// Children that have text; the parser's missing tokens have none.
fn children(node: Node) -> Vec<Node> {
    let mut cursor = node.walk();
    node.children(&mut cursor).filter(|child| !child.byte_range().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieval::grammar;

    /// Chunks `source` as Java and compares with `expected`, where `|` stands between spans.
    fn check(max: usize, expected: &str) {
        let source = expected.replace('|', "");
        let spans = java(source.as_bytes(), max);
        let shown: Vec<&str> = spans.iter().map(|span| &source[span.bytes.clone()]).collect();
        assert_eq!(shown.join("|"), expected);
    }

    fn java(source: &[u8], max: usize) -> Vec<Span> {
        let java = grammar::for_path("A.java").unwrap();
        split_tree(source, &java.parse(source).unwrap(), max)
    }

    /// The promises of the module doc.
    fn check_tiling(source: &[u8], spans: &[Span], max: usize) {
        let mut end = 0;
        for span in spans {
            assert_eq!(span.bytes.start, end, "spans are adjacent");
            assert!(!span.bytes.is_empty() && size(&source[span.bytes.clone()]) <= max, "{span:?}");
            if let Ok(text) = std::str::from_utf8(source) {
                assert!(text.is_char_boundary(span.bytes.end), "{span:?}");
            }
            end = span.bytes.end;
        }
        assert_eq!(end, source.len());
    }

    #[test]
    fn members_are_cut_after_the_newline_that_ends_them() {
        check(
            32,
            "class A {\n  int first(){return 1;}\n|\n  int other(){return 2;}\n|  int third(){return 3;}\n}\n",
        );
    }

    #[test]
    fn small_siblings_share_a_chunk_with_the_head_of_their_parent() {
        check(18, "class A {\n  int a;\n  int b;\n|  int c;\n  int d;\n  int e;\n}\n|class B {}");
    }

    #[test]
    fn a_comment_stays_with_what_follows() {
        check(20, "class A {\n  int a = 1;\n|  // why b\n  int b = 2;\n}\n");
    }

    #[test]
    fn a_comment_stays_with_the_first_piece_of_what_is_too_large_for_it() {
        let head = "class A {\n  int a;\n|  // sums\n  int f(){\n    a=1;\n    b=2;\n    c=3;\n|";
        check(26, &format!("{head}    d=4;\n    e=5;\n    g=6;\n    h=7;\n  }}\n}}\n"));
    }

    #[test]
    fn a_comment_on_the_same_line_stays_with_what_precedes() {
        check(25, "class A {\n  int a = 1; // why a\n|  int b = 2;\n  int c = 3;\n}\n");
    }

    #[test]
    fn a_literal_over_the_budget_is_torn_and_flagged_not_dropped() {
        let source = format!("class A {{ String s = \"{}\"; }}", "é".repeat(100));
        let spans = java(source.as_bytes(), 30);
        check_tiling(source.as_bytes(), &spans, 30);
        assert!(spans.iter().any(|span| span.torn));
        assert!(
            !java(b"class A { int a; int b; int c; int d; int e; int f; }", 30).iter().any(|span| span.torn)
        );
    }

    #[test]
    fn carriage_returns_blank_ends_and_errors_survive() {
        for source in
            ["\r\n \r\nclass A {\r\n\tint a;\r\n\r\n}\r\n\t \n", "class { int ( ; } }} @@ # 1", "", " \n\n"]
        {
            for max in [1, 5, 1000] {
                check_tiling(source.as_bytes(), &java(source.as_bytes(), max), max);
            }
        }
    }

    #[test]
    fn a_deep_tree_does_not_end_the_stack() {
        let source = format!("class A {{ int a = {}1; }}", "b + ".repeat(20_000));
        check_tiling(source.as_bytes(), &java(source.as_bytes(), 50), 50);
    }

    /// Xorshift: the same inputs on every run.
    fn random(seed: u64) -> impl FnMut(usize) -> usize {
        let mut state = seed | 1;
        move |below| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as usize
        }
    }

    #[test]
    fn random_bytes_are_tiled() {
        for seed in 1..200 {
            let mut random = random(seed * 0x9E37_79B9);
            let source: Vec<u8> = (0..random(600)).map(|_| random(256) as u8).collect();
            let max = 1 + random(80);
            check_tiling(&source, &java(&source, max), max);
            check_tiling(&source, &split_lines(&source, max), max);
        }
    }

    #[test]
    fn random_java_like_text_is_tiled() {
        let words = [
            "class A {",
            "}",
            "int x = 1;",
            "// c\n",
            "/* d\n e */",
            "\n",
            "\r\n",
            "\t",
            "if (a) {",
            "f(b, \"é𝄞\");",
            "@O",
            "(",
            "\"open",
            ";",
            "  ",
            "void g() {",
            "return h -> 2;",
            "\u{a0}",
        ];
        for seed in 1..200 {
            let mut random = random(seed * 0x51_7CC1);
            let source: String = (0..random(150)).map(|_| words[random(words.len())]).collect();
            let max = 1 + random(60);
            check_tiling(source.as_bytes(), &java(source.as_bytes(), max), max);
            check_tiling(source.as_bytes(), &split_lines(source.as_bytes(), max), max);
        }
    }
}
