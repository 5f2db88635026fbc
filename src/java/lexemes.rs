//! The lexemes of a stretch of code, and what they tell about a caret at its end.
//!
//! Where the streaming lexer answers for every byte, this looks back from a caret: what expression stands before its
//! dot, what the text declares, whether a name must stand here that is there already. All answers err on the safe side:
//! what may be declared counts as declared, what may be a lambda's parameter counts as one.

use std::ops::Range;

use super::keyword::is_keyword;

/// Sort of a lexeme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Word,
    Literal,
    Mark,
}

#[derive(Debug, Clone)]
struct Lexeme {
    sort: Sort,
    range: Range<usize>,
}

/// Lexemes of a text; comments are left out. Literals that do not end go to the end of the text.
#[derive(Debug)]
pub struct Lexemes<'t> {
    text: &'t str,
    all: Vec<Lexeme>,
}

/// Marks of more than one character that matter here, longest first.
const MARKS: [&str; 22] = [
    ">>>=", "<<=", ">>=", "...", "->", "::", "++", "--", "&&", "||", "==", "!=", "<=", ">=", "+=", "-=",
    "*=", "/=", "%=", "&=", "|=", "^=",
];
/// Marks after which an expression follows that is no lambda, so that its first word is a name that exists.
const OPERATORS: [&str; 28] = [
    "+", "-", "*", "/", "%", "&", "|", "^", "!", "~", "++", "--", "&&", "||", "==", "!=", "<=", ">=", "[",
    "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=",
];
/// Keywords whose parentheses hold no lambda at their beginning.
const CONTROL: [&str; 7] = ["if", "while", "for", "switch", "catch", "synchronized", "try"];

impl<'t> Lexemes<'t> {
    /// The lexemes of `text`, which begins outside comments and literals.
    pub fn of(text: &'t str) -> Self {
        let mut all = Vec::new();
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let end = at + lexeme_len(&text[at..], c);
            let is_comment = text[at..end].starts_with("//") || text[at..end].starts_with("/*");
            if !c.is_whitespace() && !is_comment {
                let sort = match c {
                    _ if is_word_char(c) && !c.is_ascii_digit() => Sort::Word,
                    '"' | '\'' => Sort::Literal,
                    _ if c.is_ascii_digit() => Sort::Literal,
                    _ => Sort::Mark,
                };
                all.push(Lexeme { sort, range: at..end });
            }
            at = end;
        }
        Self { text, all }
    }

    /// The last `n` lexemes with a space between them: enough to go on from, without comments.
    pub fn tail(&self, n: usize) -> String {
        let texts: Vec<&str> = (self.len().saturating_sub(n)..self.len()).map(|i| self.at(i)).collect();
        texts.join(" ")
    }

    fn len(&self) -> usize {
        self.all.len()
    }

    fn at(&self, i: usize) -> &'t str {
        self.all.get(i).map_or("", |lexeme| &self.text[lexeme.range.clone()])
    }

    fn before(&self, i: usize) -> &'t str {
        i.checked_sub(1).map_or("", |i| self.at(i))
    }

    fn is_word(&self, i: usize) -> bool {
        self.all.get(i).is_some_and(|lexeme| lexeme.sort == Sort::Word)
    }

    fn is_name(&self, i: usize) -> bool {
        self.is_word(i) && !is_keyword(self.at(i).as_bytes())
    }

    /// The bracket that the one at `i` closes.
    fn opening(&self, i: usize) -> Option<usize> {
        let mut depth = 0_i32;
        for k in (0..=i).rev() {
            match self.at(k) {
                ")" | "]" | "}" => depth += 1,
                "(" | "[" | "{" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(k);
            }
        }
        None
    }

    /// The bracket that closes the one at `i`.
    fn closing(&self, i: usize) -> Option<usize> {
        let mut depth = 0_i32;
        for k in i..self.len() {
            match self.at(k) {
                ")" | "]" | "}" => depth -= 1,
                "(" | "[" | "{" => depth += 1,
                _ => {}
            }
            if depth == 0 {
                return Some(k);
            }
        }
        None
    }

    /// Names from byte `from` on that do not follow a dot or `new`, each where it ends.
    pub fn loose_names(&self, from: usize) -> impl Iterator<Item = &'t str> {
        (0..self.len())
            .filter(move |&i| self.all[i].range.start >= from && self.is_name(i))
            .filter(|&i| !matches!(self.before(i), "." | "::" | "new"))
            .map(|i| self.at(i))
    }

    /// Whether the text from byte `from` on closes more than `closable` brackets that it does not open, or has a brace
    /// open that may be the body of a type: then names may be visible that are not where it began.
    pub fn changes_scope(&self, from: usize, mut closable: usize) -> bool {
        let mut open = Vec::new();
        for i in (0..self.len()).filter(|&i| self.all[i].range.start >= from) {
            match self.at(i) {
                "(" | "[" | "{" => open.push(i),
                ")" | "]" | "}" if open.pop().is_none() => match closable.checked_sub(1) {
                    Some(left) => closable = left,
                    None => return true,
                },
                _ => {}
            }
        }
        open.into_iter().any(|i| self.at(i) == "{" && !self.is_block(i))
    }

    /// Whether a brace surely opens statements or the elements of an array.
    fn is_block(&self, brace: usize) -> bool {
        match self.before(brace) {
            "else" | "do" | "try" | "finally" | "->" | ";" | "{" | "}" | ":" | "=" | "]" | "," | "(" => true,
            ")" => self.opening(brace - 1).is_some_and(|opening| CONTROL.contains(&self.before(opening))),
            _ => false,
        }
    }

    /// Whether a brace may open the elements of an array.
    fn is_array(&self, brace: usize) -> bool {
        match self.before(brace) {
            "{" => self.is_array(brace - 1),
            before => matches!(before, "=" | "]" | "," | "("),
        }
    }

    /// Whether the word that ends the text must be the beginning of a name that exists: it is not being declared, and no
    /// lambda's parameter. `false`: it may be either. `next` is the byte after the word if the word is complete.
    pub fn demands_a_name(&self, next: Option<u8>) -> bool {
        let Some(word) = self.len().checked_sub(1) else { return false };
        let Some(previous) = word.checked_sub(1) else { return false };
        // An arrow may follow after a space, and a minus begins one.
        let no_arrow = next.is_some_and(|next| !next.is_ascii_whitespace() && !b"-:".contains(&next));
        match self.at(previous) {
            ";" | "}" | "throw" | "instanceof" | "new" | "assert" => true,
            "{" => !self.is_array(previous),
            "(" if CONTROL.contains(&self.before(previous)) => true,
            "return" | "=" | "?" | "->" => no_arrow,
            // An annotation's elements are names of their own.
            "(" | "," => no_arrow && next != Some(b'=') && self.is_argument(word),
            mark => OPERATORS.contains(&mark),
        }
    }

    /// Whether the word at `i` stands directly between the parentheses of a call.
    fn is_argument(&self, i: usize) -> bool {
        let mut at = i;
        while let Some(before) = at.checked_sub(1) {
            match self.at(before) {
                ")" | "]" | "}" => match self.opening(before) {
                    Some(opening) => at = opening,
                    None => return false,
                },
                "(" => return before.checked_sub(1).is_some_and(|callee| self.is_name(callee)),
                "[" | "{" | ";" => return false,
                _ => at = before,
            }
        }
        false
    }

    /// Whether the word that ends the text may be a label that is being declared: it begins a statement.
    pub fn may_be_label(&self) -> bool {
        let Some(previous) = self.len().checked_sub(2) else { return true };
        match self.at(previous) {
            ";" | "}" | "else" | "do" => true,
            "{" => !self.is_array(previous),
            ")" => self.opening(previous).is_none_or(|opening| CONTROL.contains(&self.before(opening))),
            ":" => !self.is_conditional(previous),
            _ => false,
        }
    }

    /// Whether a colon belongs to `? :`, not to a label, a `case` or a loop's header.
    fn is_conditional(&self, colon: usize) -> bool {
        let statement = (0..colon).rev().map(|i| self.at(i));
        statement.take_while(|mark| !matches!(*mark, ";" | "{" | "}")).any(|mark| mark == "?")
    }

    /// What the members after the dot that ends the text depend on; `from`: where the text in question begins, `closable`:
    /// how many brackets before it may be closed without leaving its scope. Equal keys, equal lists.
    pub fn receiver_key(&self, from: usize, closable: usize) -> Option<String> {
        let dot = self.len().checked_sub(1)?;
        let root = self.receiver_root(dot)?;
        let chain = root..dot;
        if self.changes_scope(from, closable)
            || chain.clone().any(|i| matches!(self.at(i), "{" | "->" | "<" | ">"))
        {
            return None;
        }
        let declared = chain
            .clone()
            .filter(|&i| self.is_name(i) && !matches!(self.before(i), "." | "::"))
            .filter_map(|i| self.declaration(from, root, self.at(i)))
            .max();
        // Types are looked for in one place, values in another one; so what stands before is a part of the key.
        let mut key = self.surroundings(root);
        for i in chain.start..=chain.end {
            key.push(' ');
            key.push_str(self.at(i));
        }
        if let Some(declared) = declared {
            let until = self.all[declared].range.end;
            // What ends before its block does needs the whole text to be told.
            if self.before(declared) == "var" || !self.is_plain_local(from, declared) {
                return None;
            }
            key.push('\n');
            key.push_str(&self.text[from..until]);
        }
        Some(key)
    }

    /// Whether the variable declared at `declared` is visible from there to the end of the text: its block is open, and it
    /// is no loop's, lambda's or pattern's variable.
    fn is_plain_local(&self, from: usize, declared: usize) -> bool {
        let first = self.all.partition_point(|lexeme| lexeme.range.start < from);
        let mut open = Vec::new();
        for i in first..declared {
            match self.at(i) {
                "(" | "[" | "{" => open.push(i),
                ")" | "]" | "}" => drop(open.pop()),
                "instanceof" | "->" => return false,
                _ => {}
            }
        }
        open.last().is_none_or(|&i| self.at(i) == "{")
            && self.at(declared + 1) != "->"
            && (declared..self.len())
                .try_fold(0_usize, |depth, i| match self.at(i) {
                    "(" | "[" | "{" => Some(depth + 1),
                    ")" | "]" | "}" => depth.checked_sub(1),
                    _ => Some(depth),
                })
                .is_some()
    }

    /// Where the expression before `dot` begins.
    fn receiver_root(&self, dot: usize) -> Option<usize> {
        let mut end = dot.checked_sub(1)?;
        loop {
            let mut start = end;
            while matches!(self.at(start), ")" | "]") {
                start = self.opening(start)?;
                // What is called or indexed stands before the bracket.
                let is_applied = start.checked_sub(1).is_some_and(|before| {
                    matches!(self.at(before), ")" | "]")
                        || self.is_word(before)
                            && (self.is_name(before) || matches!(self.at(before), "this" | "super"))
                });
                if !is_applied {
                    break;
                }
                start -= 1;
            }
            if self.before(start) == "new" {
                start -= 1;
            }
            match self.before(start) {
                "." | "::" => end = start.checked_sub(2)?,
                // Type arguments, or a comparison.
                ">" => return None,
                _ => return Some(start),
            }
        }
    }

    /// What stands before an expression, as far as it decides whether types or values are looked for.
    fn surroundings(&self, root: usize) -> String {
        let Some(previous) = root.checked_sub(1) else { return String::new() };
        let kind = |i: usize| if self.is_name(i) { "w" } else { self.at(i) };
        match self.at(previous) {
            "(" => format!("{} (", previous.checked_sub(1).map_or("", kind)),
            mark if OPERATORS.contains(&mark) => "+".to_owned(),
            ";" | "}" => ";".to_owned(),
            "{" if !self.is_array(previous) => ";".to_owned(),
            _ => kind(previous).to_owned(),
        }
    }

    /// The last place from byte `from` to lexeme `until` that may declare `name`.
    fn declaration(&self, from: usize, until: usize, name: &str) -> Option<usize> {
        (0..until).rev().find(|&i| {
            self.all[i].range.start >= from && self.at(i) == name && self.is_name(i) && self.may_declare(i)
        })
    }

    fn may_declare(&self, i: usize) -> bool {
        let (previous, next) = (self.before(i), self.at(i + 1));
        let after_type = i > 0 && self.is_word(i - 1) && !is_statement_keyword(previous);
        if after_type || matches!(previous, ">" | "]" | "..." | ">>" | ">>>" | ")") || next == "->" {
            return true;
        }
        match (previous, next) {
            // Further variables of one declaration.
            (",", "=" | ";" | ":") => true,
            ("(" | ",", "," | ")") => self.is_lambda_parameter(i),
            _ => false,
        }
    }

    /// Whether the parentheses around `i` are followed by an arrow, or not closed yet.
    fn is_lambda_parameter(&self, i: usize) -> bool {
        let mut open = i;
        while open > 0 && (self.is_name(open) || self.at(open) == ",") {
            open -= 1;
        }
        self.at(open) == "(" && self.closing(open).is_none_or(|closing| self.at(closing + 1) == "->")
    }
}

/// Keywords that no declared name follows directly.
fn is_statement_keyword(word: &str) -> bool {
    matches!(
        word,
        "return"
            | "throw"
            | "new"
            | "else"
            | "do"
            | "case"
            | "instanceof"
            | "assert"
            | "yield"
            | "break"
            | "continue"
    )
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Length of the lexeme, comment or white space that begins with `c`.
fn lexeme_len(rest: &str, c: char) -> usize {
    let run = |keep: &dyn Fn(char) -> bool| rest.find(|c| !keep(c)).unwrap_or(rest.len());
    if c.is_whitespace() {
        return run(&char::is_whitespace);
    }
    if c.is_ascii_digit() {
        return run(&|c| is_word_char(c) || c == '.');
    }
    if is_word_char(c) {
        return run(&is_word_char);
    }
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if let Some(comment) = rest.strip_prefix("/*") {
        return comment.find("*/").map_or(rest.len(), |at| at + 4);
    }
    if rest.starts_with("\"\"\"") {
        return literal_len(rest, "\"\"\"");
    }
    if c == '"' || c == '\'' {
        return literal_len(rest, if c == '"' { "\"" } else { "'" });
    }
    MARKS.iter().find(|mark| rest.starts_with(**mark)).map_or(c.len_utf8(), |mark| mark.len())
}

/// Length of the literal between two `quote`s.
fn literal_len(rest: &str, quote: &str) -> usize {
    let mut at = quote.len();
    while let Some(c) = rest[at..].chars().next() {
        if rest[at..].starts_with(quote) {
            return at + quote.len();
        }
        at += c.len_utf8();
        if c == '\\' {
            at += rest[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests;
