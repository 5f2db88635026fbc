//! Decides whether a token may follow a partial fill: lexer first, then lists at hand, then one question to the engine.
//!
//! A word is refused only where every list that could name it is known and none does: names before types, and keywords
//! without asking. A word that the token ends must be named exactly, one that still grows must be a prefix of a name.
//! What is visible at the hole is asked for once and serves all samples, whatever they have written so far; what they
//! declare themselves is read off their text. Only where a word fits nothing and might be declared there (a lambda's
//! parameter, say) is the very position asked about. At the beginning of a statement any word may be a label that is
//! being declared, until something else than a colon follows it; after `break` and `continue` only labels may stand.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use serde::Serialize;

use crate::cloze::Cloze;
use crate::decode::partial::{Partial, Refusal};
use crate::engine::{Answer, Check, CompletionEngine, HolePlace, Problem, Scope};
use crate::java::keyword::{AFTER_DOT, is_keyword, is_keyword_prefix};
use crate::java::lexemes::Lexemes;
use crate::java::lexer::{Before, Word};

mod lists;

use lists::Lists;

/// What the engine is asked for (the paper's variants, and the switches that are ours).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of an ablation")]
pub struct Guidance {
    /// Refuse names that are not there.
    pub names: bool,
    /// Keep the engine's answers.
    pub memo: bool,
    /// Refuse finished statements that do not compile.
    pub statements: bool,
    /// Refuse fills that do not compile.
    pub end: bool,
}

impl Guidance {
    /// Everything.
    pub const FULL: Self = Self { names: true, memo: true, statements: true, end: true };
    /// The model alone.
    pub const OFF: Self = Self { names: false, memo: false, statements: false, end: false };
}

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// The lexer: keywords, declaring positions, text without words.
    Lexer,
    /// A list that was at hand.
    List,
    /// A question to the engine.
    Engine,
    /// Nobody: the engine does not know.
    Unknown,
}

/// Three-valued feasibility of a continuation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feasibility {
    /// It can still become a program that compiles, as far as is known.
    Feasible,
    /// It cannot; there is positive evidence.
    Infeasible,
    /// Nothing may be concluded; treated as feasible.
    Unknown,
}

/// Problem ids that no text after a finished statement can mend (`IProblem` constants without category bits), measured
/// case by case against JDT 3.46: undefined, invisible or mistyped things, wrong arguments, final assignments and
/// declarations that clash. Syntax errors, unreachable code and unhandled exceptions are mendable and not here.
const DEAD: [u32; 31] = [
    2, 16, 17, 19, 50, 52, 55, 58, 70, 71, 80, 83, 100, 101, 105, 114, 115, 127, 130, 150, 154, 156, 157,
    160, 175, 201, 390, 581, 622, 1503, 1504,
];
/// Lexemes before the hole that a look back from the caret may need.
const TAIL: usize = 40;

/// Decisions on words that are neither keywords nor being declared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct WordCounts {
    /// By who took them.
    pub decided: BTreeMap<DecidedBy, u64>,
    /// Those that nobody took, by reason.
    pub unknown: BTreeMap<String, u64>,
}

/// What the last refusal rested on, in words; kept only where somebody wants to read it.
#[derive(Debug, Default)]
struct Explanation {
    is_wanted: bool,
    text: String,
}

impl Explanation {
    fn set(&mut self, text: impl FnOnce() -> String) {
        if self.is_wanted {
            self.text = text();
        }
    }
}

/// The oracle of one hole.
pub struct Oracle<'e> {
    engine: &'e mut dyn CompletionEngine,
    guidance: Guidance,
    lists: Lists,
    /// What stands before the hole, as far as it matters.
    tail: String,
    /// Words before the hole that are followed by a colon: all labels are among them.
    labels: HashSet<String>,
    explanation: Explanation,
    /// Decisions on tokens by who took them.
    pub decided: BTreeMap<DecidedBy, u64>,
    /// Decisions on identifiers.
    pub words: WordCounts,
}

impl<'e> Oracle<'e> {
    /// An oracle over the engine's open hole, which is that of `cloze`.
    pub fn new(engine: &'e mut dyn CompletionEngine, guidance: Guidance, cloze: &Cloze) -> Self {
        Self {
            engine,
            guidance,
            lists: Lists::default(),
            tail: Lexemes::of(&cloze.prefix).tail(TAIL),
            labels: labels(&cloze.prefix),
            explanation: Explanation::default(),
            decided: BTreeMap::new(),
            words: WordCounts::default(),
        }
    }

    /// Keeps what refusals rest on, for [`why`](Self::why).
    #[must_use]
    pub fn explaining(mut self) -> Self {
        self.explanation.is_wanted = true;
        self
    }

    /// What the last refusal by a list or a compile rested on.
    pub fn why(&self) -> &str {
        &self.explanation.text
    }

    /// Judges an open fill after a token: `closed` are the words that it ended, `statement` whether it may have ended
    /// a statement.
    pub fn judge(&mut self, partial: &Partial, closed: &[Word], statement: bool) -> Result<(), Refusal> {
        self.judge_words(partial.text(), closed, partial.open_word())?;
        if statement && self.guidance.statements && self.engine.place() == HolePlace::Body {
            self.judge_statements(partial)?;
        }
        Ok(())
    }

    /// Judges a complete fill whose last token ended `closed`.
    pub fn judge_end(&mut self, fill: &str, closed: &[Word]) -> Result<(), Refusal> {
        self.judge_words(fill.as_bytes(), closed, None)?;
        if !self.guidance.end {
            return Ok(());
        }
        match self.check(fill, false) {
            Check::Problems(problems) if !problems.is_empty() => {
                let told = told(problems);
                self.explanation.set(|| told);
                Err(Refusal::End)
            }
            Check::Problems(_) | Check::Unknown(_) => Ok(()),
        }
    }

    fn check(&mut self, text: &str, recover: bool) -> &Check {
        if !self.guidance.memo {
            self.lists.forget();
        }
        self.lists.check(self.engine, text, recover)
    }

    fn judge_words(&mut self, text: &[u8], closed: &[Word], open: Option<Word>) -> Result<(), Refusal> {
        let mut decided = DecidedBy::Lexer;
        let words = closed.iter().map(|&word| (word, true)).chain(open.map(|word| (word, false)));
        for (word, is_closed) in words {
            if !self.guidance.names || word.end > text.len() || self.lexer_accepts(text, word, is_closed) {
                continue;
            }
            let (feasibility, by) = self.judge_word(text, word, is_closed);
            *self.words.decided.entry(by).or_default() += 1;
            decided = decided.max(by);
            if feasibility == Feasibility::Infeasible {
                *self.decided.entry(by).or_default() += 1;
                return Err(Refusal::Name);
            }
        }
        *self.decided.entry(decided).or_default() += 1;
        Ok(())
    }

    fn judge_word(&mut self, text: &[u8], word: Word, closed: bool) -> (Feasibility, DecidedBy) {
        let (Ok(before), Some(name)) =
            (std::str::from_utf8(&text[..word.start]), valid(&text[word.start..word.end]))
        else {
            return self.unknown("not_utf8");
        };
        let next = if closed { text.get(word.end).copied() } else { None };
        let wanted = Wanted { name, closed, next };
        if !self.guidance.memo {
            self.lists.forget();
        }
        let asked = self.lists.n_asked();
        let verdict = match word.before {
            Before::Dot | Before::MethodRef => self.member(before, wanted),
            Before::New => self.created(before, wanted),
            Before::Start | Before::Type | Before::At | Before::Other => self.name(before, wanted),
        };
        let n_asked = self.lists.n_asked() - asked;
        let by = if n_asked > 0 { DecidedBy::Engine } else { DecidedBy::List };
        match verdict {
            Verdict::There => (Feasibility::Feasible, by),
            Verdict::Absent if self.engine.place() == HolePlace::Body => {
                let lists = &self.lists;
                self.explanation
                    .set(|| format!("`{name}` ({:?}) is not in {}", word.before, lists.last_asked()));
                (Feasibility::Infeasible, by)
            }
            Verdict::Absent => self.unknown("outside_body"),
            Verdict::Unknown(reason) => self.unknown(&reason),
        }
    }

    fn unknown(&mut self, reason: &str) -> (Feasibility, DecidedBy) {
        *self.words.unknown.entry(reason.to_owned()).or_default() += 1;
        (Feasibility::Unknown, DecidedBy::Unknown)
    }

    /// A member of the receiver before the dot that ends `before`.
    fn member(&mut self, before: &str, wanted: Wanted) -> Verdict {
        let hole = before.trim_end();
        let text = format!("{}\n{hole}", self.tail);
        let key = Lexemes::of(&text).receiver_key(self.tail.len() + 1, self.engine.closable());
        wanted.in_answer(self.lists.members(self.engine, hole, key))
    }

    /// The class after `new`.
    fn created(&mut self, before: &str, wanted: Wanted) -> Verdict {
        let is_inner =
            before.trim_end().strip_suffix("new").is_some_and(|rest| rest.trim_end().ends_with('.'));
        if is_inner {
            return Verdict::Unknown("qualified_new".to_owned());
        }
        if is_written(before, wanted) {
            return Verdict::There;
        }
        match wanted.in_answer(self.lists.types(self.engine, wanted.first())) {
            Verdict::Absent if self.changes_scope(before) => self.at_position(before, wanted, Scope::Types),
            verdict => verdict,
        }
    }

    /// A word that stands for a variable, method, type or package, or is being declared.
    fn name(&mut self, before: &str, wanted: Wanted) -> Verdict {
        if follows_jump(before) {
            return self.label(before, wanted);
        }
        let named = wanted.in_answer(self.lists.names(self.engine, wanted.first()));
        if named == Verdict::There || is_written(before, wanted) {
            return Verdict::There;
        }
        let typed = wanted.in_answer(self.lists.types(self.engine, wanted.first()));
        if typed != Verdict::Absent || named != Verdict::Absent {
            return if typed == Verdict::Absent { named } else { typed };
        }
        if !wanted.closed && self.may_be_label(before, wanted.name) {
            return Verdict::Unknown("label".to_owned());
        }
        if self.demands_a_name(before, wanted) {
            return Verdict::Absent;
        }
        self.at_position(before, wanted, Scope::Names)
    }

    /// A label that is jumped to.
    fn label(&self, before: &str, wanted: Wanted) -> Verdict {
        let own = labels(before);
        if self.labels.iter().chain(&own).any(|label| wanted.is(label)) {
            Verdict::There
        } else {
            Verdict::Absent
        }
    }

    /// What the very position says of a word that is not visible at the hole's beginning.
    fn at_position(&mut self, before: &str, wanted: Wanted, scope: Scope) -> Verdict {
        let Some(first) = wanted.first() else { return Verdict::Unknown("no_word".to_owned()) };
        wanted.in_answer(self.lists.position(self.engine, format!("{before}{first}"), scope))
    }

    fn changes_scope(&self, before: &str) -> bool {
        Lexemes::of(before).changes_scope(0, self.engine.closable())
    }

    fn demands_a_name(&self, before: &str, wanted: Wanted) -> bool {
        let text = format!("{}\n{before}{}", self.tail, wanted.name);
        let lexemes = Lexemes::of(&text);
        lexemes.demands_a_name(wanted.next)
            && !lexemes.changes_scope(self.tail.len() + 1, self.engine.closable())
    }

    fn may_be_label(&self, before: &str, word: &str) -> bool {
        Lexemes::of(&format!("{}\n{before}{word}", self.tail)).may_be_label()
    }

    /// Words that need no list.
    fn lexer_accepts(&self, text: &[u8], word: Word, closed: bool) -> bool {
        let name = &text[word.start..word.end];
        let fits = |candidate: &str| {
            if closed { candidate.as_bytes() == name } else { candidate.as_bytes().starts_with(name) }
        };
        match word.before {
            Before::Type | Before::At => true,
            Before::Dot | Before::MethodRef => AFTER_DOT.iter().any(|keyword| fits(keyword)),
            Before::Start | Before::Other if closed && self.is_label(text, word) => true,
            Before::Start | Before::New | Before::Other => {
                if closed {
                    is_keyword(name)
                } else {
                    is_keyword_prefix(name)
                }
            }
        }
    }

    /// Whether a word is a label that is being declared, or a constant's after `case`.
    fn is_label(&self, text: &[u8], word: Word) -> bool {
        let follows = text[word.end..].trim_ascii_start();
        follows.starts_with(b":")
            && !follows.starts_with(b"::")
            && std::str::from_utf8(&text[..word.end])
                .is_ok_and(|text| self.may_be_label(&text[..word.start], &text[word.start..]))
    }

    /// Compiles the text up to its last finished statement with recovery.
    fn judge_statements(&mut self, partial: &Partial) -> Result<(), Refusal> {
        let Ok(text) = std::str::from_utf8(partial.text()) else { return Ok(()) };
        // Inside an argument list a lambda's types are not known before the call is complete.
        if partial.lex().brackets().iter().any(|&bracket| bracket != b'{') {
            return Ok(());
        }
        let Some(end) = text.rfind([';', '}']) else { return Ok(()) };
        match self.check(text, true) {
            // Brackets that do not fit may put all that follows into another scope.
            Check::Problems(problems)
                if problems.iter().any(|problem| problem.syntax && problem.in_hole.is_none()) =>
            {
                Ok(())
            }
            Check::Problems(problems) if problems.iter().any(|problem| is_dead(problem, 0..end + 1)) => {
                let told = told(problems);
                self.explanation.set(|| told);
                Err(Refusal::Statement)
            }
            Check::Problems(_) | Check::Unknown(_) => Ok(()),
        }
    }

    /// What the engine is asked for.
    pub fn guidance(&self) -> Guidance {
        self.guidance
    }

    /// Questions so far.
    pub fn questions(&self) -> u64 {
        self.lists.n_asked() + self.lists.n_checked()
    }

    /// Questions for lists so far; the others were checks.
    pub fn n_lists_asked(&self) -> u64 {
        self.lists.n_asked()
    }

    /// Number of lists that are kept.
    pub fn n_lists(&self) -> usize {
        self.lists.len()
    }
}

/// What a list says of a word.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    There,
    Absent,
    Unknown(String),
}

/// A word that is looked for.
#[derive(Clone, Copy)]
struct Wanted<'t> {
    /// Its beginning, if the word still grows.
    name: &'t str,
    closed: bool,
    /// The byte after it, where that is written already.
    next: Option<u8>,
}

impl Wanted<'_> {
    fn first(self) -> Option<char> {
        self.name.chars().next()
    }

    fn is(self, candidate: &str) -> bool {
        if self.closed { candidate == self.name } else { candidate.starts_with(self.name) }
    }

    /// A list is sorted, so names with a common beginning stand together.
    fn in_answer(self, answer: &Answer) -> Verdict {
        match answer {
            Answer::Unknown(unknown) => Verdict::Unknown(unknown.reason().to_owned()),
            Answer::List(names) => {
                let at = names.partition_point(|candidate| candidate.as_str() < self.name);
                if names.get(at).is_some_and(|candidate| self.is(candidate)) {
                    Verdict::There
                } else {
                    Verdict::Absent
                }
            }
        }
    }
}

/// Whether the hole has the word already where it may have declared it.
fn is_written(before: &str, wanted: Wanted) -> bool {
    Lexemes::of(before).loose_names(0).any(|name| wanted.is(name))
}

/// A word's text; of one that ends within a character, what is whole.
fn valid(word: &[u8]) -> Option<&str> {
    match std::str::from_utf8(word) {
        Ok(word) => Some(word),
        Err(error) => std::str::from_utf8(&word[..error.valid_up_to()]).ok().filter(|word| !word.is_empty()),
    }
}

/// The problems that lie in the hole, and how many there are elsewhere.
fn told(problems: &[Problem]) -> String {
    let (inside, outside): (Vec<_>, Vec<_>) = problems.iter().partition(|problem| problem.in_hole.is_some());
    let one = |problem: &Problem| format!("{} {:?}: {}", problem.id, problem.in_hole, problem.message);
    let shown = inside.iter().chain(&outside).take(4).map(|problem| one(problem)).collect::<Vec<_>>();
    format!("{} ({} in the hole, {} elsewhere)", shown.join("; "), inside.len(), outside.len())
}

fn is_dead(problem: &Problem, finished: Range<usize>) -> bool {
    let inside = problem.in_hole.as_ref().is_some_and(|range| range.end <= finished.end);
    !problem.syntax && inside && DEAD.contains(&problem.id)
}

/// Words that are followed by a colon.
fn labels(text: &str) -> HashSet<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let before_colon = text.match_indices(':').map(|(at, _)| text[..at].trim_end());
    before_colon
        .map(|text| text[text.trim_end_matches(is_part).len()..].to_owned())
        .filter(|word| !word.is_empty())
        .collect()
}

/// Whether the word that follows `before` is where a jump leads.
fn follows_jump(before: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let text = before.trim_end();
    text.len() < before.len()
        && ["break", "continue"].contains(&&text[text.trim_end_matches(is_part).len()..])
}

#[cfg(test)]
mod tests;
