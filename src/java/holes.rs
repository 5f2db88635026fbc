//! Cuts holes of the kinds that a repair has out of code that compiles.
//!
//! The cuts are a matter of syntax and chance alone: nothing is known of types. Chance is a hash of the salt and the
//! place, so that the same salt cuts the same holes. Deliberately absent: holes with comments and with two blank lines
//! in a row (no fill may have them), and holes outside of all types.

use std::ops::Range;

use tree_sitter::{Node, Parser, Tree};

use super::lexer::{LexState, Mark};

/// Longest hole in lines.
const MOST_LINES: usize = 5;
/// Syntax nodes that a repair replaces as an expression; a single name would make too small a hole.
const EXPRESSIONS: [&str; 14] = [
    "array_access",
    "array_creation_expression",
    "assignment_expression",
    "binary_expression",
    "cast_expression",
    "field_access",
    "instanceof_expression",
    "lambda_expression",
    "method_invocation",
    "method_reference",
    "object_creation_expression",
    "parenthesized_expression",
    "ternary_expression",
    "unary_expression",
];
/// Syntax nodes of types' bodies.
const TYPE_BODIES: [&str; 4] = ["class_body", "enum_body", "interface_body", "annotation_type_body"];

/// What a hole takes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HoleKind {
    /// One expression.
    Expression,
    /// One statement with its lines.
    Statement,
    /// One to five lines, wherever they begin and end.
    Lines,
    /// From one lexeme of a line to another one of the same line.
    Part,
}

/// A hole in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeHole {
    /// What it takes out.
    pub kind: HoleKind,
    /// Its bytes. Those of whole lines begin with the newline before them and end without one.
    pub range: Range<usize>,
}

/// All holes of a text (with `\n` line ends) that `salt` allows: every expression and statement, one stretch of lines
/// and one part for each line of code.
pub fn holes(text: &str, salt: u64) -> Vec<CodeHole> {
    let Some(tree) = parse(text) else { return Vec::new() };
    let mut holes = Vec::new();
    let mut bodies = Vec::new();
    walk(tree.root_node(), &mut |node| {
        if TYPE_BODIES.contains(&node.kind()) {
            bodies.push(node.start_byte() + 1..node.end_byte() - 1);
        } else if EXPRESSIONS.contains(&node.kind()) {
            holes.push(CodeHole { kind: HoleKind::Expression, range: node.byte_range() });
        } else if is_statement(node) {
            holes.extend(
                whole_lines(text, node.byte_range())
                    .map(|range| CodeHole { kind: HoleKind::Statement, range }),
            );
        }
    });
    holes.extend(stretches(text, salt));
    let inside = |hole: &CodeHole| {
        bodies.iter().any(|body| body.start <= hole.range.start && hole.range.end <= body.end)
    };
    let cuttable = Cuttable::of(text);
    holes.retain(|hole| inside(hole) && cuttable.allows(text, &hole.range));
    holes
}

fn parse(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_java::LANGUAGE.into()).expect("grammar and parser are of one version");
    parser.parse(text, None).filter(|tree| !tree.root_node().has_error())
}

fn walk(node: Node, visit: &mut dyn FnMut(Node)) {
    visit(node);
    let mut cursor = node.walk();
    let children: Vec<Node> = node.named_children(&mut cursor).collect();
    for child in children {
        walk(child, visit);
    }
}

fn is_statement(node: Node) -> bool {
    (node.kind().ends_with("_statement") || node.kind() == "local_variable_declaration")
        && node.parent().is_some_and(|parent| {
            matches!(parent.kind(), "block" | "constructor_body" | "switch_block_statement_group")
        })
}

/// The lines of a node that shares none of them with anything else.
fn whole_lines(text: &str, node: Range<usize>) -> Option<Range<usize>> {
    let newline = text[..node.start].rfind('\n')?;
    let end = text[node.end..].find('\n').map_or(text.len(), |at| node.end + at);
    let alone = text[newline..node.start].trim().is_empty() && text[node.end..end].trim().is_empty();
    let lines = text[node].matches('\n').count() + 1;
    (alone && lines <= MOST_LINES).then_some(newline..end)
}

/// For each line of code a stretch of lines that begins there, and a part of it.
fn stretches(text: &str, salt: u64) -> Vec<CodeHole> {
    let mut holes = Vec::new();
    let newlines: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    for (number, &newline) in newlines.iter().enumerate() {
        let chance = chance(salt, newline as u64);
        let Some(&line_end) = newlines.get(number + 1) else { break };
        let line = newline + 1..line_end;
        if !text[line.clone()].contains(|c: char| c.is_alphanumeric()) {
            continue;
        }
        let last = number + 1 + chance as usize % MOST_LINES;
        if let Some(&end) = newlines.get(last) {
            holes.push(CodeHole { kind: HoleKind::Lines, range: newline..end });
        }
        holes.extend(part(text, line, chance >> 8).map(|range| CodeHole { kind: HoleKind::Part, range }));
    }
    holes
}

/// From the start of one lexeme to the end of another, not the whole line.
fn part(text: &str, line: Range<usize>, chance: u64) -> Option<Range<usize>> {
    let lexemes = lexemes(&text[line.clone()]);
    let n = lexemes.len();
    if n < 3 {
        return None;
    }
    let first = chance as usize % n;
    let last = first + (chance >> 16) as usize % (n - first);
    (last - first + 1 < n).then(|| line.start + lexemes[first].start..line.start + lexemes[last].end)
}

/// Words, literals and single marks of a line.
fn lexemes(line: &str) -> Vec<Range<usize>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let mut lexemes: Vec<Range<usize>> = Vec::new();
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        let end = at + c.len_utf8();
        if let Some(open) = quote {
            lexemes.last_mut().expect("the quote opened one").end = end;
            if c == open && !escaped {
                quote = None;
            }
            escaped = c == '\\' && !escaped;
            continue;
        }
        let goes_on = is_word(c)
            && lexemes.last().is_some_and(|last| last.end == at && line[last.clone()].ends_with(is_word));
        match lexemes.last_mut() {
            Some(last) if goes_on => last.end = end,
            _ if c.is_whitespace() => {}
            _ => lexemes.push(at..end),
        }
        quote = matches!(c, '"' | '\'').then_some(c);
    }
    lexemes
}

/// Where in a text code can be cut.
struct Cuttable {
    /// For each byte, and the end, whether it stands outside comments and literals.
    code: Vec<bool>,
    /// Where comments begin, in order.
    comments: Vec<usize>,
}

impl Cuttable {
    fn of(text: &str) -> Self {
        let mut state = LexState::default();
        let (mut code, mut comments) = (vec![true], Vec::new());
        for (at, byte) in text.bytes().enumerate() {
            if state.step(at, byte).mark == Mark::CommentStart {
                comments.push(at);
            }
            code.push(state.is_code());
        }
        Self { code, comments }
    }

    /// Whether a hole begins and ends outside comments and literals and has neither comments nor two blank lines in a row.
    fn allows(&self, text: &str, hole: &Range<usize>) -> bool {
        let comment = self.comments.partition_point(|&at| at < hole.start);
        let has_comment = self.comments.get(comment).is_some_and(|&at| at <= hole.end);
        let mut blank = false;
        let spaced = text[hole.clone()].split('\n').skip(1).all(|line| {
            let was_blank = std::mem::replace(&mut blank, line.trim().is_empty());
            !(was_blank && blank)
        });
        let plain = self.code[hole.start] && self.code[hole.end] && !has_comment;
        plain && spaced && !text[hole.clone()].trim().is_empty()
    }
}

/// A number that depends on both arguments in every bit (the finaliser of `SplitMix64`, Steele et al. 2014).
pub fn chance(salt: u64, place: u64) -> u64 {
    let mut z = salt.wrapping_add(place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "import x.Y;\nclass A {\n    // not this\n    int f(int a) {\n        if (a > 0) {\n            g(a, 1);\n        }\n        return a + \"x y\".length();\n    }\n}\n";

    /// The texts of all holes of a kind.
    fn check(kind: HoleKind, expected: &[&str]) {
        let found = holes(CODE, 7);
        let texts: Vec<&str> =
            found.iter().filter(|hole| hole.kind == kind).map(|hole| &CODE[hole.range.clone()]).collect();
        assert_eq!(texts, expected);
    }

    #[test]
    fn every_expression_of_some_size_is_a_hole() {
        check(
            HoleKind::Expression,
            &["(a > 0)", "a > 0", "g(a, 1)", "a + \"x y\".length()", "\"x y\".length()"],
        );
    }

    #[test]
    fn a_statement_takes_its_lines_with_the_newline_before() {
        check(
            HoleKind::Statement,
            &[
                "\n        if (a > 0) {\n            g(a, 1);\n        }",
                "\n            g(a, 1);",
                "\n        return a + \"x y\".length();",
            ],
        );
    }

    #[test]
    fn no_hole_has_a_comment_or_lies_outside_of_types() {
        let found = holes(CODE, 7);
        assert!(found.iter().all(|hole| !CODE[hole.range.clone()].contains("//")));
        assert!(found.iter().all(|hole| hole.range.start > CODE.find('{').unwrap()));
        assert!(found.iter().any(|hole| hole.kind == HoleKind::Lines));
    }

    #[test]
    fn no_hole_has_two_blank_lines_in_a_row_or_ends_between_them() {
        let code = "class A {\n    int a;\n\n    int b;\n\n\n    int c;\n}\n";
        for salt in 0..50 {
            let found = holes(code, salt);
            assert!(found.iter().all(|hole| !code[hole.range.clone()].contains("\n\n\n")));
            assert!(found.iter().all(|hole| !code[hole.range.clone()].ends_with("\n\n")));
        }
    }

    #[test]
    fn a_part_is_cut_between_lexemes() {
        let texts: Vec<&str> = lexemes("x = \"a \\\" b\" + 'c';")
            .iter()
            .map(|range| &"x = \"a \\\" b\" + 'c';"[range.clone()])
            .collect();
        assert_eq!(texts, ["x", "=", "\"a \\\" b\"", "+", "'c'", ";"]);
    }

    #[test]
    fn code_that_does_not_parse_has_no_holes() {
        assert_eq!(holes("class A { int f( }", 0), []);
    }
}
