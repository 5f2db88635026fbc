//! A streaming lexer over the text before the hole and the text generated so far.
//!
//! It knows what a byte means without seeing what follows: comments, literals, brackets, words and what stands before
//! a word. It is total: any bytes at all leave a state. A `\` outside a literal (a unicode escape) makes the rest
//! [odd](LexState::is_odd), so that nothing is concluded from it. `<` and `>` are operators here: telling generics from
//! comparisons takes a parser.

use super::keyword::is_keyword;

/// What stands before a word, as far as it decides what the word may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Before {
    /// `;`, `{`, `}` or the start of the file: a statement or declaration begins.
    Start,
    /// `.`: a member of the receiver.
    Dot,
    /// `::`: a method of the receiver.
    MethodRef,
    /// `@`: an annotation type.
    At,
    /// The keyword `new`: a type.
    New,
    /// A name, a primitive type, `var` or `]`: the word declares a name, or there is a syntax error.
    Type,
    /// Anything else: an expression, a type or a keyword may follow.
    Other,
}

/// One identifier or keyword; offsets count the bytes fed since the hole's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// Its first byte.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// What stands before it.
    pub before: Before,
}

/// What one byte did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Nothing of note.
    None,
    /// A line ended outside literals and comments, or a line comment ended.
    Newline,
    /// A bracket was opened or closed, well nested.
    Bracket,
    /// A closing bracket that does not fit the innermost open one.
    Mismatch,
    /// A statement's semicolon.
    Semicolon,
    /// The second byte of `//` or `/*`.
    CommentStart,
    /// A string or character literal met the end of its line.
    BrokenLiteral,
}

/// The effect of one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The word that this byte ended, if it began in the hole.
    pub closed: Option<Word>,
    /// What the byte itself was.
    pub mark: Mark,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Mode {
    Code,
    Word,
    Number,
    Slash,
    Colon,
    LineComment,
    BlockComment { star: bool },
    Char { escaped: bool },
    Str { escaped: bool, empty: bool },
    TwoQuotes,
    TextBlock { escaped: bool, quotes: u8 },
    Odd,
}

/// The lexer's whole state after some text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LexState {
    mode: Mode,
    before: Before,
    word: Vec<u8>,
    brackets: Vec<u8>,
}

impl Default for LexState {
    fn default() -> Self {
        Self { mode: Mode::Code, before: Before::Start, word: Vec::new(), brackets: Vec::new() }
    }
}

impl LexState {
    /// The state after `text` from the start of a file.
    pub fn after(text: &str) -> Self {
        let mut state = Self::default();
        for &byte in text.as_bytes() {
            state.step(0, byte);
        }
        state
    }

    /// Opening brackets that are not closed yet, outermost first.
    pub fn brackets(&self) -> &[u8] {
        &self.brackets
    }

    /// Outside comments and literals, so that a line's start is a lexeme's start.
    pub fn is_code(&self) -> bool {
        matches!(
            self.mode,
            Mode::Code | Mode::Word | Mode::Number | Mode::Slash | Mode::Colon | Mode::TwoQuotes
        )
    }

    /// Inside a comment, its opening `//` or `/*` included.
    pub fn in_comment(&self) -> bool {
        matches!(self.mode, Mode::LineComment | Mode::BlockComment { .. })
    }

    /// After a unicode escape outside literals: nothing can be said about what follows.
    pub fn is_odd(&self) -> bool {
        self.mode == Mode::Odd
    }

    /// The word that the text ends in, given that its last byte ended at `end`; none if it began before the hole.
    pub fn open_word(&self, end: usize) -> Option<Word> {
        if self.mode != Mode::Word {
            return None;
        }
        Some(Word { start: end.checked_sub(self.word.len())?, end, before: self.before })
    }

    /// Takes one more byte, the `at`-th since the hole's start.
    pub fn step(&mut self, at: usize, byte: u8) -> Step {
        let closed = self.close_word(at, byte);
        let mark = match self.mode {
            Mode::Code | Mode::Word | Mode::Number | Mode::Slash | Mode::Colon | Mode::TwoQuotes => {
                self.code(byte)
            }
            Mode::LineComment => self.line_comment(byte),
            Mode::BlockComment { star } => self.block_comment(byte, star),
            Mode::Char { escaped } => self.char_literal(byte, escaped),
            Mode::Str { escaped, empty } => self.string(byte, escaped, empty),
            Mode::TextBlock { escaped, quotes } => self.text_block(byte, escaped, quotes),
            Mode::Odd => Mark::None,
        };
        Step { closed, mark }
    }

    fn close_word(&mut self, at: usize, byte: u8) -> Option<Word> {
        if self.mode != Mode::Word || is_word_byte(byte) {
            return None;
        }
        // A word that began before the hole has no start in it.
        let start = at.checked_sub(self.word.len());
        let word = start.map(|start| Word { start, end: at, before: self.before });
        self.before = after_word(&self.word);
        self.word.clear();
        self.mode = Mode::Code;
        word
    }

    fn code(&mut self, byte: u8) -> Mark {
        let mode = std::mem::replace(&mut self.mode, Mode::Code);
        match (mode, byte) {
            (Mode::Word, _) => {
                self.mode = Mode::Word;
                self.word.push(byte);
                Mark::None
            }
            (Mode::Number, _) if is_word_byte(byte) || byte == b'.' => {
                self.mode = Mode::Number;
                Mark::None
            }
            (Mode::Slash, b'/') => self.comment(Mode::LineComment),
            (Mode::Slash, b'*') => self.comment(Mode::BlockComment { star: false }),
            (Mode::Colon, b':') => self.punctuation(Before::MethodRef),
            (Mode::TwoQuotes, b'"') => {
                self.mode = Mode::TextBlock { escaped: false, quotes: 0 };
                Mark::None
            }
            _ => self.fresh(byte),
        }
    }

    /// A byte that starts a lexeme of its own.
    fn fresh(&mut self, byte: u8) -> Mark {
        match byte {
            b'\n' => Mark::Newline,
            _ if byte.is_ascii_whitespace() => Mark::None,
            b'0'..=b'9' => self.literal(Mode::Number),
            b'"' => self.literal(Mode::Str { escaped: false, empty: true }),
            b'\'' => self.literal(Mode::Char { escaped: false }),
            b'\\' => {
                self.mode = Mode::Odd;
                Mark::None
            }
            _ if is_word_byte(byte) => {
                self.mode = Mode::Word;
                self.word.push(byte);
                Mark::None
            }
            b'/' => {
                self.mode = Mode::Slash;
                Mark::None
            }
            b':' => {
                self.mode = Mode::Colon;
                self.punctuation_in(Before::Other)
            }
            b'(' | b'[' | b'{' => {
                self.brackets.push(byte);
                self.before = if byte == b'{' { Before::Start } else { Before::Other };
                Mark::Bracket
            }
            b')' | b']' | b'}' => self.closer(byte),
            b';' => {
                self.before = Before::Start;
                Mark::Semicolon
            }
            b'.' => self.punctuation_in(Before::Dot),
            b'@' => self.punctuation_in(Before::At),
            _ => self.punctuation_in(Before::Other),
        }
    }

    fn punctuation_in(&mut self, before: Before) -> Mark {
        self.before = before;
        Mark::None
    }

    fn punctuation(&mut self, before: Before) -> Mark {
        self.mode = Mode::Code;
        self.punctuation_in(before)
    }

    fn literal(&mut self, mode: Mode) -> Mark {
        self.mode = mode;
        self.punctuation_in(Before::Other)
    }

    fn comment(&mut self, mode: Mode) -> Mark {
        self.mode = mode;
        Mark::CommentStart
    }

    fn closer(&mut self, byte: u8) -> Mark {
        self.before = match byte {
            b']' => Before::Type,
            b'}' => Before::Start,
            _ => Before::Other,
        };
        let opener = match byte {
            b')' => b'(',
            b']' => b'[',
            _ => b'{',
        };
        if self.brackets.last() == Some(&opener) {
            self.brackets.pop();
            Mark::Bracket
        } else {
            Mark::Mismatch
        }
    }

    fn line_comment(&mut self, byte: u8) -> Mark {
        if byte != b'\n' {
            return Mark::None;
        }
        self.mode = Mode::Code;
        Mark::Newline
    }

    fn block_comment(&mut self, byte: u8, star: bool) -> Mark {
        self.mode = if star && byte == b'/' { Mode::Code } else { Mode::BlockComment { star: byte == b'*' } };
        Mark::None
    }

    fn char_literal(&mut self, byte: u8, escaped: bool) -> Mark {
        match byte {
            b'\n' => self.broken(),
            b'\'' if !escaped => self.punctuation(Before::Other),
            _ => {
                self.mode = Mode::Char { escaped: byte == b'\\' && !escaped };
                Mark::None
            }
        }
    }

    fn string(&mut self, byte: u8, escaped: bool, empty: bool) -> Mark {
        match byte {
            b'\n' => self.broken(),
            b'"' if empty => {
                self.mode = Mode::TwoQuotes;
                Mark::None
            }
            b'"' if !escaped => self.punctuation(Before::Other),
            _ => {
                self.mode = Mode::Str { escaped: byte == b'\\' && !escaped, empty: false };
                Mark::None
            }
        }
    }

    fn broken(&mut self) -> Mark {
        self.mode = Mode::Code;
        Mark::BrokenLiteral
    }

    fn text_block(&mut self, byte: u8, escaped: bool, quotes: u8) -> Mark {
        let quotes = if byte == b'"' && !escaped { quotes + 1 } else { 0 };
        if quotes == 3 {
            return self.punctuation(Before::Other);
        }
        self.mode = Mode::TextBlock { escaped: byte == b'\\' && !escaped, quotes };
        Mark::None
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn after_word(word: &[u8]) -> Before {
    match word {
        b"new" => Before::New,
        b"int" | b"long" | b"boolean" | b"char" | b"byte" | b"short" | b"float" | b"double" | b"void"
        | b"var" => Before::Type,
        // `this`, `super`, `null` and the like cannot be followed by a name; `else`, `do`, `->` begin statements, in
        // which anything may stand.
        _ if is_keyword(word) => Before::Other,
        _ => Before::Type,
    }
}

/// `text` without comments and without the space that separates no words: equal for texts that differ in layout only.
pub fn normal_form(text: &str) -> Vec<u8> {
    let mut state = LexState::default();
    let mut out: Vec<u8> = Vec::new();
    let mut gap = false;
    for (at, &byte) in text.as_bytes().iter().enumerate() {
        let (was_code, was_comment) = (state.is_code(), state.in_comment());
        if state.step(at, byte).mark == Mark::CommentStart {
            out.pop();
            gap = true;
        }
        if was_comment || state.in_comment() || (was_code && byte.is_ascii_whitespace()) {
            gap = true;
            continue;
        }
        if gap && is_word_byte(byte) && out.last().is_some_and(|&last| is_word_byte(last)) {
            out.push(b' ');
        }
        gap = false;
        out.push(byte);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of `text` as `word/before`, an open one with `…`, and marks as symbols.
    fn check(text: &str, expected: &str) {
        let mut state = LexState::default();
        let mut out = Vec::new();
        let show =
            |word: Word, tail: &str| format!("{}{tail}/{:?}", &text[word.start..word.end], word.before);
        for (at, &byte) in text.as_bytes().iter().enumerate() {
            let step = state.step(at, byte);
            out.extend(step.closed.map(|word| show(word, "")));
            match step.mark {
                Mark::None | Mark::Newline | Mark::Bracket | Mark::Semicolon => {}
                mark => out.push(format!("{mark:?}")),
            }
        }
        out.extend(state.open_word(text.len()).map(|word| show(word, "…")));
        assert_eq!(out.join(" "), expected, "in {text:?}");
    }

    #[test]
    fn a_word_knows_what_stands_before_it() {
        check("foo.ba", "foo/Start ba…/Dot");
        check("x = new Foo( a", "x/Start new/Other Foo/New a…/Other");
        check("return Foo :: b", "return/Start Foo/Other b…/MethodRef");
        check("int a; List<A> b", "int/Start a/Type List/Start A/Other b…/Other");
        check("String s = x ? y : z", "String/Start s/Type x/Other y/Other z…/Other");
        check("int[] a; @Over", "int/Start a/Type Over…/At");
    }

    #[test]
    fn literals_and_comments_hold_no_words() {
        check(r#"a("x \" y", 'c', '\'', "") b"#, "a/Start b…/Other");
        check("a // b c\nd /* e */ f", "a/Start CommentStart d/Type CommentStart f…/Type");
        check("a(\"\"\" x \" \"\" y \n \\\"\"\" \"\"\") b", "a/Start b…/Other");
        check("1.5f + 0x1F + 1e5 + a", "a…/Other");
    }

    #[test]
    fn a_literal_does_not_span_lines() {
        check("\"a\nb", "BrokenLiteral b…/Other");
        check("'a\n", "BrokenLiteral");
    }

    #[test]
    fn brackets_must_fit() {
        check("a(b]", "a/Start b/Other Mismatch");
        check("{ a(); }", "a/Start");
        check("}", "Mismatch");
        assert_eq!(LexState::after("class A { void f() { if (a[0] == (").brackets(), b"{{((");
    }

    #[test]
    fn names_may_be_written_in_any_script() {
        check("größe.län", "größe/Start län…/Dot");
    }

    #[test]
    fn a_unicode_escape_makes_the_rest_odd() {
        assert!(LexState::after("int \\u0061").is_odd());
        assert!(!LexState::after("'\\u0061'").is_odd());
    }

    #[test]
    fn the_normal_form_keeps_lexemes_and_drops_layout() {
        let form = |text: &str| String::from_utf8(normal_form(text)).unwrap();
        assert_eq!(form("\n    return  a +b ; // c\n"), "return a+b;");
        assert_eq!(form("int/* x */a = \" b  c\";"), "int a=\" b  c\";");
        assert_eq!(form("a / b // c\nd"), "a/b d");
    }

    #[test]
    fn a_keyword_is_no_type() {
        check("return a", "return/Start a…/Other");
        check("else a", "else/Start a…/Other");
    }
}
