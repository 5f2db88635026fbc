//! A hole that is being filled: its text so far, what the lexer knows of it, and whether it has ended.
//!
//! A model that was not trained to infill has no token for the end of a hole. The end is structural: the hole ends
//! where the generated text goes on with what follows the hole, that is, where a generated line equals the suffix's
//! first line (or the first after its comments) while the same brackets are open as where the suffix begins. That line
//! is not part of the fill. A hole that ends within a line ends where the rest of that line follows.
//!
//! Refused without asking anybody, as no repair of its own: text that does not begin with a newline where the hole
//! does, a comment (it changes no behaviour), a second blank line, a closing bracket that fits no open one, a literal
//! over the end of its line.

use crate::cloze::Cloze;
use crate::java::lexer::{Before, LexState, Mark, Word};

/// What every partial fill of one hole is measured against.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of one hole")]
pub struct Frame {
    start: LexState,
    /// Brackets open where the suffix begins; `None` if those of the buggy file do not fit themselves.
    end_brackets: Option<Vec<u8>>,
    leads_with_newline: bool,
    /// Lines that may follow the hole, trimmed: the suffix's first, and the first that is no comment. None if the hole
    /// ends within a line.
    next_lines: Vec<String>,
    /// What follows a hole that ends within a line, up to that line's end.
    rest: Option<Rest>,
    /// Whether the hole ends within a word. One that it begins in is none of its own.
    cuts_word: bool,
    /// Whether the buggy text ends outside comments and literals.
    ends_in_code: bool,
    structural_end: bool,
}

/// The rest of the line in which a hole ends.
#[derive(Debug, Clone)]
struct Rest {
    text: String,
    /// Brackets open at the line's end.
    brackets: Vec<u8>,
}

impl Frame {
    /// The frame of a hole; `structural_end` if the model has no token for its end.
    pub fn new(cloze: &Cloze, structural_end: bool) -> Self {
        let start = LexState::after(&cloze.prefix);
        let rest = Rest::of(&start, cloze);
        let mut end = start.clone();
        for &byte in cloze.original.as_bytes() {
            end.step(0, byte);
        }
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        Self {
            end_brackets: end_brackets(&start, cloze),
            leads_with_newline: cloze.leads_with_newline(),
            next_lines: if rest.is_none() { next_lines(&cloze.suffix) } else { Vec::new() },
            rest,
            cuts_word: cloze.suffix.starts_with(is_part),
            ends_in_code: end.is_code(),
            start,
            structural_end,
        }
    }

    /// What a structural end has to go on with: the rest of the line in which the hole ends, or the suffix's first line
    /// of code.
    pub fn next_code_line(&self) -> Option<&str> {
        match &self.rest {
            Some(rest) => Some(&rest.text),
            None => self.next_lines.last().map(String::as_str),
        }
    }

    /// The hole before its first token.
    pub fn empty(&self) -> Partial {
        Partial {
            text: Vec::new(),
            lex: self.start.clone(),
            line_start: 0,
            at_end: true,
            leads_out: false,
            pending: None,
            blank_lines: 0,
        }
    }

    fn brackets_fit(&self, lex: &LexState) -> bool {
        self.end_brackets.as_ref().is_none_or(|brackets| brackets == lex.brackets())
    }

    /// Whether a fill that is declared complete closes what it opens.
    pub fn may_end(&self, partial: &Partial) -> bool {
        partial.lex.is_code() == self.ends_in_code && self.brackets_fit(&partial.lex)
    }

    /// Whether a word does not go on after the hole that ends at `end`.
    fn is_whole(&self, word: Word, end: usize) -> bool {
        !self.cuts_word || word.end < end
    }
}

impl Rest {
    fn of(start: &LexState, cloze: &Cloze) -> Option<Self> {
        let text = cloze.suffix.lines().next().map(str::trim_end).filter(|text| !text.is_empty())?;
        let mut state = start.clone();
        for byte in cloze.original.bytes().chain(text.bytes()) {
            state.step(0, byte);
        }
        Some(Self { text: text.to_owned(), brackets: state.brackets().to_vec() })
    }
}

fn end_brackets(start: &LexState, cloze: &Cloze) -> Option<Vec<u8>> {
    let mut state = start.clone();
    let mut fits = true;
    let mut run = |text: &str| {
        for &byte in text.as_bytes() {
            fits &= state.step(0, byte).mark != Mark::Mismatch;
        }
        state.brackets().to_vec()
    };
    let brackets = run(&cloze.original);
    let at_eof = run(&cloze.suffix);
    (fits && at_eof.is_empty()).then_some(brackets)
}

fn next_lines(suffix: &str) -> Vec<String> {
    let mut state = LexState::default();
    let mut lines = Vec::new();
    for line in suffix.lines() {
        let was_comment = state.in_comment();
        for &byte in line.as_bytes() {
            state.step(0, byte);
        }
        let is_comment =
            was_comment || line.trim_start().starts_with("//") || line.trim_start().starts_with("/*");
        state.step(0, b'\n');
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if !is_comment {
            lines.push(line.to_owned());
            break;
        }
        if lines.is_empty() {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// Why a token cannot go on here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// A control token that adds no text.
    Special,
    /// The hole begins with a newline, the token does not.
    NoNewline,
    /// A closing bracket that fits no open one.
    Mismatch,
    /// A literal that goes over the end of its line.
    BrokenLiteral,
    /// The start of a comment.
    Comment,
    /// A second blank line.
    BlankLine,
    /// A name that the engine knows not to be there.
    Name,
    /// A finished statement that does not compile.
    Statement,
    /// The fill is complete and does not compile.
    End,
    /// The fill is complete and its brackets are not those of the buggy text.
    Unbalanced,
    /// The fill is the buggy text, or differs from it in layout only.
    Unchanged,
    /// Another sample has the same lexemes.
    Duplicate,
    /// More tokens than a fill may have.
    OverLength,
    /// Characters that the file's encoding lacks, or bytes that are no text.
    Unmappable,
}

/// The hole's text so far.
#[derive(Debug, Clone)]
pub struct Partial {
    text: Vec<u8>,
    lex: LexState,
    /// Where the current line begins.
    line_start: usize,
    /// Whether the hole could have ended before the current line.
    at_end: bool,
    /// Whether the current line is, so far, one that may follow the hole: then it is not the fill's.
    leads_out: bool,
    /// A word at the beginning of a statement with only space after it. If a colon follows, it is a label.
    pending: Option<Word>,
    blank_lines: u32,
}

/// What a token does to a partial fill.
#[derive(Debug, Clone)]
pub enum Advance {
    /// It goes on. `closed`: the words that the token ended; `statement`: it ended a statement or block.
    Open {
        /// The longer text.
        partial: Partial,
        /// Words that ended within the token.
        closed: Vec<Word>,
        /// Whether a `;` or a bracket was among the token's bytes.
        statement: bool,
    },
    /// It reached what follows the hole.
    Ended {
        /// The fill.
        fill: String,
        /// Words that ended within the token, before the end of the fill.
        closed: Vec<Word>,
    },
    /// It cannot be.
    Refused(Refusal),
}

impl Partial {
    /// The text as bytes: its last character may be unfinished.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The lexer's state at the caret.
    pub fn lex(&self) -> &LexState {
        &self.lex
    }

    /// The fill's word that is still growing at the caret.
    pub fn open_word(&self) -> Option<Word> {
        self.lex.open_word(self.text.len()).filter(|_| !self.leads_out)
    }

    /// The word that a fill ends with when it is declared complete.
    pub fn last_word(&self, frame: &Frame) -> Option<Word> {
        self.open_word().filter(|word| frame.is_whole(*word, self.text.len()))
    }

    /// The text as a complete fill, without space at its end if the line ends there. `None` if the bytes are no UTF-8.
    pub fn fill(&self, frame: &Frame) -> Option<String> {
        if frame.rest.is_some() { String::from_utf8(self.text.clone()).ok() } else { trimmed(&self.text) }
    }

    fn line(&self) -> &[u8] {
        self.text[self.line_start..].trim_ascii()
    }

    /// Appends a token's bytes.
    pub fn advance(&self, frame: &Frame, token: &[u8]) -> Advance {
        if self.text.is_empty() && frame.leads_with_newline && token.first() != Some(&b'\n') {
            return Advance::Refused(Refusal::NoNewline);
        }
        let mut next = self.clone();
        let mut closed = Vec::new();
        let mut statement = false;
        for &byte in token {
            let step = next.lex.step(next.text.len(), byte);
            next.text.push(byte);
            next.leads_out = next.at_end && frame.structural_end && next.line_leads_out(frame);
            let in_fill = !next.leads_out;
            next.close_words(step.closed.filter(|_| in_fill), byte, &mut closed);
            match step.mark {
                Mark::Mismatch if in_fill => return Advance::Refused(Refusal::Mismatch),
                Mark::BrokenLiteral => return Advance::Refused(Refusal::BrokenLiteral),
                Mark::CommentStart if in_fill => return Advance::Refused(Refusal::Comment),
                Mark::Semicolon | Mark::Bracket => statement = true,
                _ => {}
            }
            if frame.structural_end && next.has_ended(frame, byte) {
                let end = next.line_start.saturating_sub(1);
                return match trimmed(&next.text[..end]) {
                    Some(fill) => Advance::Ended { fill, closed },
                    None => Advance::Refused(Refusal::Unmappable),
                };
            }
            if byte == b'\n'
                && frame.structural_end
                && let Some(fill) = next.before_rest(frame)
            {
                closed.retain(|word| word.end <= fill.len() && frame.is_whole(*word, fill.len()));
                return Advance::Ended { fill, closed };
            }
            if byte == b'\n' && !next.start_line(frame) {
                return Advance::Refused(Refusal::BlankLine);
            }
        }
        Advance::Open { partial: next, closed, statement }
    }

    /// Passes on the words that `byte` has ended. Whether one is a label is told by the first lexeme after it.
    fn close_words(&mut self, word: Option<Word>, byte: u8, closed: &mut Vec<Word>) {
        if !byte.is_ascii_whitespace() {
            closed.extend(self.pending.take());
            closed.extend(word);
        } else if let Some(word) = word {
            match word.before {
                Before::Start => self.pending = Some(word),
                _ => closed.push(word),
            }
        }
    }

    /// Whether the current line is, so far, one that may follow the hole.
    fn line_leads_out(&self, frame: &Frame) -> bool {
        let line = self.line();
        !line.is_empty() && frame.next_lines.iter().any(|next| next.as_bytes().starts_with(line))
    }

    fn has_ended(&self, frame: &Frame, byte: u8) -> bool {
        let line = self.line();
        self.at_end
            && frame
                .next_lines
                .iter()
                .any(|next| next.as_bytes() == line && (byte == b'\n' || ends_by_itself(next)))
    }

    /// What stands before the rest of the line in which the hole ends, if that is what the text has just come to.
    fn before_rest(&self, frame: &Frame) -> Option<String> {
        let rest = frame.rest.as_ref()?;
        let text = self.text.trim_ascii_end().strip_suffix(rest.text.as_bytes())?;
        let fits = self.lex.is_code() && self.lex.brackets() == rest.brackets;
        String::from_utf8(text.to_vec()).ok().filter(|_| fits)
    }

    /// Notes that a new line begins; false if it is one blank line too many.
    fn start_line(&mut self, frame: &Frame) -> bool {
        let is_blank = self.line().is_empty() && self.line_start > 0;
        self.blank_lines = if is_blank { self.blank_lines + 1 } else { 0 };
        self.line_start = self.text.len();
        self.at_end = self.lex.is_code() && frame.brackets_fit(&self.lex);
        self.blank_lines < 2
    }
}

/// Whether nothing that follows could still belong to the same line's last lexeme or statement.
fn ends_by_itself(line: &str) -> bool {
    line.ends_with([';', '{', '}']) || line.starts_with("/*") || line.starts_with('*')
}

fn trimmed(text: &[u8]) -> Option<String> {
    std::str::from_utf8(text).ok().map(|text| text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bug::Lines;
    use crate::text::Source;

    const FILE: &str = "class A {\n    int f(int a) {\n        int b = a;\n        if (a > 0) {\n            b++;\n        }\n        return b;\n    }\n}\n";

    /// Feeds `tokens` into a hole over `lines`; shows the end, the refusal, or the open text.
    fn check(lines: (usize, usize), tokens: &[&str], expected: &str) {
        let source = Source::new(FILE.into(), "UTF-8").unwrap();
        let cloze = Cloze::new(source, Lines::Replace { first: lines.0, last: lines.1 }).unwrap();
        let frame = Frame::new(&cloze, true);
        let mut partial = frame.empty();
        let mut result = String::new();
        for token in tokens {
            match partial.advance(&frame, token.as_bytes()) {
                Advance::Open { partial: next, .. } => {
                    partial = next;
                    result = format!("open {:?}", String::from_utf8_lossy(partial.text()));
                }
                Advance::Ended { fill, .. } => result = format!("fill {fill:?}"),
                Advance::Refused(refusal) => result = format!("{refusal:?}"),
            }
        }
        assert_eq!(result, expected);
    }

    #[test]
    fn the_hole_ends_where_the_text_goes_on_with_the_suffix() {
        check(
            (3, 3),
            &["\n       ", " int", " b", " =", " 0", ";", "\n", "  if (a > 0) {"],
            "fill \"\\n        int b = 0;\"",
        );
        check((7, 7), &["\n        return a;", "\n    }"], "fill \"\\n        return a;\"");
    }

    #[test]
    fn going_on_at_once_deletes_the_lines() {
        check((5, 5), &["\n        }"], "fill \"\"");
    }

    #[test]
    fn a_brace_inside_the_fill_is_not_the_end() {
        check(
            (5, 5),
            &["\n            if (b > 1) {", "\n                b--;", "\n            }"],
            "open \"\\n            if (b > 1) {\\n                b--;\\n            }\"",
        );
        check(
            (5, 5),
            &["\n            if (b > 1) {", "\n                b--;", "\n            }", "\n        }"],
            "fill \"\\n            if (b > 1) {\\n                b--;\\n            }\"",
        );
    }

    #[test]
    fn a_header_line_must_leave_its_brace_open() {
        check((4, 4), &["\n        if (a > 1) {", "\n            b++;"], "fill \"\\n        if (a > 1) {\"");
        check(
            (4, 4),
            &["\n        b = 2;", "\n            b++;"],
            "open \"\\n        b = 2;\\n            b++;\"",
        );
    }

    /// What tokens make of the hole between `before` and `after` in `f(a, b);`.
    fn check_part(before: &str, after: &str, original: &str, tokens: &[&str]) -> String {
        let file = "class A {\n    void g() {\n        f(a, b);\n    }\n}\n";
        let source = Source::new(file.into(), "UTF-8").unwrap();
        let cloze = Cloze::new(source, Lines::Replace { first: 3, last: 3 }).unwrap();
        let part = cloze.keeping(&format!("\n        {before}"), after, original);
        let frame = Frame::new(&part, true);
        let mut partial = frame.empty();
        for token in tokens {
            match partial.advance(&frame, token.as_bytes()) {
                Advance::Open { partial: next, .. } => partial = next,
                Advance::Ended { fill, closed } => return format!("{fill:?} {}", closed.len()),
                Advance::Refused(refusal) => return format!("{refusal:?}"),
            }
        }
        format!("open {:?}", String::from_utf8_lossy(partial.text()))
    }

    #[test]
    fn a_hole_within_a_line_ends_where_the_rest_of_the_line_follows() {
        assert_eq!(check_part("f(", ", b);", "a", &["x", ", b", ");", "\n"]), "\"x\" 0");
        assert_eq!(check_part("f(", ", b);", "a", &["g(x", ", b), b);\n"]), "\"g(x, b)\" 2");
        assert_eq!(check_part("f(", ");", "a, b", &["g(x", ");\n"]), "open \"g(x);\\n\"");
        assert_eq!(check_part("f(", ", b);", "a", &["\n  x, b);\n"]), "\"\\n  x\" 1");
    }

    #[test]
    fn a_word_that_the_hole_cuts_is_not_judged() {
        let source = Source::new(b"class A {\n  int ab = cd;\n}\n".to_vec(), "UTF-8").unwrap();
        let cloze = Cloze::new(source, Lines::Replace { first: 2, last: 2 }).unwrap();
        let frame = Frame::new(&cloze.keeping("\n  int a", "d;", "b = c"), false);
        let Advance::Open { partial, closed, .. } = frame.empty().advance(&frame, b"x = y + z") else {
            panic!()
        };
        assert_eq!(closed.iter().map(|word| word.start).collect::<Vec<_>>(), [4]);
        assert_eq!(partial.last_word(&frame), None);
        assert_eq!(partial.fill(&frame).unwrap(), "x = y + z");
    }

    #[test]
    fn what_is_no_repair_is_refused() {
        check((3, 3), &["int"], "NoNewline");
        check((3, 3), &["\n        // x"], "Comment");
        check((3, 3), &["\n        a)"], "Mismatch");
        check((3, 3), &["\n        String s = \"x\n"], "BrokenLiteral");
        check((3, 3), &["\n\n", "\n"], "BlankLine");
    }

    #[test]
    fn a_comment_that_follows_the_hole_ends_it() {
        let file = "class A {\n    int a;\n    // about b\n    int b;\n}\n";
        let source = Source::new(file.into(), "UTF-8").unwrap();
        let cloze = Cloze::new(source, Lines::Replace { first: 2, last: 2 }).unwrap();
        let frame = Frame::new(&cloze, true);
        for out in ["\n    // about b\n", "\n    int b;"] {
            let Advance::Open { partial, .. } = frame.empty().advance(&frame, b"\n    long a;") else {
                panic!()
            };
            let end = partial.advance(&frame, out.as_bytes());
            assert!(matches!(&end, Advance::Ended { fill, .. } if fill == "\n    long a;"), "{end:?}");
        }
    }
}
