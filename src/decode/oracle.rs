//! Decides whether a token may follow a partial fill: lexer first, then lists at hand, then one question to the engine.
//!
//! A word is refused only where every list that could name it is known and none does: names before types, and keywords
//! without asking. A word that the token ends must be named exactly, one that still grows must be a prefix of a name.
//! Lists are kept for the hole: what one sample learnt serves all others.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use serde::Serialize;

use crate::decode::partial::{Partial, Refusal};
use crate::engine::{Answer, Check, CompletionEngine, HolePlace, Problem, Scope};
use crate::java::keyword::{AFTER_DOT, is_keyword, is_keyword_prefix};
use crate::java::lexer::{Before, Word};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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

/// The oracle of one hole.
pub struct Oracle<'e> {
    engine: &'e mut dyn CompletionEngine,
    guidance: Guidance,
    lists: HashMap<(Scope, String), Answer>,
    /// Labels that the text around the hole jumps to: they may be declared in it.
    labels: HashSet<String>,
    /// Decisions on tokens by who took them.
    pub decided: BTreeMap<DecidedBy, u64>,
    /// Questions asked.
    pub questions: u64,
}

impl<'e> Oracle<'e> {
    /// An oracle over the engine's open hole. `around`: the text that may jump to labels of the hole.
    pub fn new(engine: &'e mut dyn CompletionEngine, guidance: Guidance, around: &str) -> Self {
        Self {
            engine,
            guidance,
            lists: HashMap::new(),
            labels: jump_targets(around),
            decided: BTreeMap::new(),
            questions: 0,
        }
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
        self.questions += 1;
        match self.engine.check(fill, false) {
            Check::Problems(problems) if !problems.is_empty() => Err(Refusal::End),
            Check::Problems(_) | Check::Unknown(_) => Ok(()),
        }
    }

    fn judge_words(&mut self, text: &[u8], closed: &[Word], open: Option<Word>) -> Result<(), Refusal> {
        let mut decided = DecidedBy::Lexer;
        let words = closed.iter().map(|&word| (word, true)).chain(open.map(|word| (word, false)));
        for (word, is_closed) in words {
            if !self.guidance.names || word.end > text.len() {
                continue;
            }
            let (feasibility, by) = self.judge_word(text, word, is_closed);
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
        let name = &text[word.start..word.end];
        if self.lexer_accepts(text, word, closed) {
            return (Feasibility::Feasible, DecidedBy::Lexer);
        }
        let mut by = DecidedBy::List;
        let mut known = true;
        for scope in scopes(word.before) {
            let Some(hole) = caret_text(text, word, *scope) else {
                return (Feasibility::Unknown, DecidedBy::Unknown);
            };
            let key = (*scope, hole);
            if !self.guidance.memo || !self.lists.contains_key(&key) {
                self.questions += 1;
                let answer = self.engine.complete(&key.1, *scope);
                self.lists.insert(key.clone(), answer);
                by = DecidedBy::Engine;
            }
            match &self.lists[&key] {
                Answer::List(names) if is_named(names, name, closed) => return (Feasibility::Feasible, by),
                Answer::List(_) => {}
                Answer::Unknown(_) => known = false,
            }
        }
        if known && self.engine.place() == HolePlace::Body {
            (Feasibility::Infeasible, by)
        } else {
            (Feasibility::Unknown, DecidedBy::Unknown)
        }
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
            Before::Start if text.get(word.end) == Some(&b':') => true,
            Before::Start if self.labels.iter().any(|label| fits(label)) => true,
            Before::Start | Before::New | Before::Other => {
                if closed {
                    is_keyword(name)
                } else {
                    is_keyword_prefix(name)
                }
            }
        }
    }

    /// Compiles the text up to its last finished statement with recovery.
    fn judge_statements(&mut self, partial: &Partial) -> Result<(), Refusal> {
        let Ok(text) = std::str::from_utf8(partial.text()) else { return Ok(()) };
        // Inside an argument list a lambda's types are not known before the call is complete.
        if partial.lex().brackets().iter().any(|&bracket| bracket != b'{') {
            return Ok(());
        }
        let Some(end) = text.rfind([';', '}']) else { return Ok(()) };
        self.questions += 1;
        match self.engine.check(text, true) {
            Check::Problems(problems) if problems.iter().any(|problem| is_dead(problem, 0..end + 1)) => {
                Err(Refusal::Statement)
            }
            Check::Problems(_) | Check::Unknown(_) => Ok(()),
        }
    }

    /// What the engine is asked for.
    pub fn guidance(&self) -> Guidance {
        self.guidance
    }

    /// Number of lists that are kept.
    pub fn n_lists(&self) -> usize {
        self.lists.len()
    }
}

fn is_dead(problem: &Problem, finished: Range<usize>) -> bool {
    let inside = problem.in_hole.as_ref().is_some_and(|range| range.end <= finished.end);
    !problem.syntax && inside && DEAD.contains(&problem.id)
}

/// Which lists name a word, cheapest first.
fn scopes(before: Before) -> &'static [Scope] {
    match before {
        Before::Dot | Before::MethodRef => &[Scope::Members],
        Before::New => &[Scope::Types],
        Before::Start | Before::Type | Before::At | Before::Other => &[Scope::Names, Scope::Types],
    }
}

/// The hole's text up to the caret of the question that covers `word`: after the receiver's dot, or after the word's
/// first character.
fn caret_text(text: &[u8], word: Word, scope: Scope) -> Option<String> {
    let before = std::str::from_utf8(&text[..word.start]).ok()?;
    if scope == Scope::Members {
        return Some(before.trim_end().to_owned());
    }
    let name = &text[word.start..word.end];
    let name = match std::str::from_utf8(name) {
        Ok(name) => name,
        // The caret may stand within a character; its beginning is enough.
        Err(error) => std::str::from_utf8(&name[..error.valid_up_to()]).ok()?,
    };
    Some(format!("{before}{}", name.chars().next()?))
}

/// `names` is sorted, so those with a common beginning stand together.
fn is_named(names: &[String], name: &[u8], closed: bool) -> bool {
    let at = names.partition_point(|candidate| candidate.as_bytes() < name);
    names.get(at).is_some_and(|candidate| {
        if closed { candidate.as_bytes() == name } else { candidate.as_bytes().starts_with(name) }
    })
}

/// Names after `break` and `continue`.
fn jump_targets(text: &str) -> HashSet<String> {
    let words: Vec<&str> =
        text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$' || c == ';')).collect();
    words
        .windows(2)
        .filter(|pair| matches!(pair[0], "break" | "continue"))
        .map(|pair| pair[1].trim_end_matches(';').to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bug::Lines;
    use crate::cloze::Cloze;
    use crate::decode::partial::{Advance, Frame};
    use crate::engine::Unknown;
    use crate::text::Source;

    /// Answers from a table: what stands before the caret decides.
    struct Table {
        place: HolePlace,
        asked: Vec<(Scope, String)>,
    }

    impl CompletionEngine for Table {
        fn place(&self) -> HolePlace {
            self.place
        }

        fn complete(&mut self, hole: &str, scope: Scope) -> Answer {
            self.asked.push((scope, hole.to_owned()));
            let list = |names: &[&str]| Answer::List(names.iter().map(ToString::to_string).collect());
            match scope {
                Scope::Members if hole.ends_with("odd.") => Answer::Unknown(Unknown::Deadline),
                Scope::Members => list(&["length", "lines"]),
                Scope::Names => list(&["index", "item", "items", "odd"]),
                Scope::Types => list(&["Integer", "Iterable", "String"]),
            }
        }

        fn check(&mut self, hole: &str, _recover: bool) -> Check {
            let problem =
                |id, range| Problem { id, syntax: false, in_hole: Some(range), message: String::new() };
            match hole.find("length()") {
                Some(at) => Check::Problems(vec![problem(100, at..at + 6)]),
                None => Check::Problems(vec![]),
            }
        }
    }

    fn verdict(engine: &mut Table, tokens: &[&str]) -> String {
        let source = Source::new(b"{\n{\n;\n}\n}\n".to_vec(), "UTF-8").unwrap();
        let cloze = Cloze::new(source, Lines::Replace { first: 3, last: 3 }).unwrap();
        let frame = Frame::new(&cloze, true);
        let mut oracle = Oracle::new(engine, Guidance::FULL, "break outer;");
        let mut partial = frame.empty();
        for token in tokens {
            match partial.advance(&frame, token.as_bytes()) {
                Advance::Open { partial: next, closed, statement } => {
                    if let Err(refusal) = oracle.judge(&next, &closed, statement) {
                        return format!("{refusal:?} at {token:?}");
                    }
                    partial = next;
                }
                other => return format!("{other:?}"),
            }
        }
        "feasible".to_owned()
    }

    fn check(tokens: &[&str], expected: &str) {
        let mut engine = Table { place: HolePlace::Body, asked: Vec::new() };
        assert_eq!(verdict(&mut engine, tokens), expected);
    }

    #[test]
    fn a_growing_name_is_refused_once_nothing_begins_with_it() {
        check(&["\n", "ite", "ms"], "feasible");
        check(&["\n", "ite", "rat"], "Name at \"rat\"");
    }

    #[test]
    fn a_finished_name_must_be_named_exactly() {
        check(&["\n", "item", "s", ".", "lines", "()"], "feasible");
        check(&["\n", "ite", ".x"], "Name at \".x\"");
        check(&["\n", "item", "s", ".len", "()"], "Name at \"()\"");
    }

    #[test]
    fn a_token_of_several_words_is_walked_word_by_word() {
        check(&["\n", "items.length"], "feasible");
        check(&["\n", "item.size(index"], "Name at \"item.size(index\"");
    }

    #[test]
    fn keywords_declared_names_literals_and_labels_are_not_asked_for() {
        let mut engine = Table { place: HolePlace::Body, asked: Vec::new() };
        assert_eq!(
            verdict(&mut engine, &["\n", "retu", "rn \"zz\"", "; int zz", " = 3; ou", "ter: for"]),
            "feasible"
        );
        assert_eq!(engine.asked, []);
    }

    #[test]
    fn after_new_only_types_are_asked_for() {
        let mut engine = Table { place: HolePlace::Body, asked: Vec::new() };
        assert_eq!(verdict(&mut engine, &["\n", "new", " ite"]), "Name at \" ite\"");
        assert_eq!(engine.asked, [(Scope::Types, "\nnew i".to_owned())]);
    }

    #[test]
    fn one_list_serves_all_longer_names() {
        let mut engine = Table { place: HolePlace::Body, asked: Vec::new() };
        assert_eq!(verdict(&mut engine, &["\n", "i", "t", "e", "m", "s", ".", "l", "i"]), "feasible");
        // `i` begins `if`, so the first question comes with the second letter, and shows the first.
        let asked = [(Scope::Names, "\ni"), (Scope::Members, "\nitems.")];
        assert_eq!(engine.asked, asked.map(|(scope, hole)| (scope, hole.to_owned())));
    }

    #[test]
    fn an_unknown_answer_refuses_nothing() {
        check(&["\n", "odd", ".zz", "()"], "feasible");
        check(&["\n", "item", ".zz", "()"], "Name at \".zz\"");
    }

    #[test]
    fn outside_a_body_missing_names_prove_nothing() {
        let mut engine = Table { place: HolePlace::Other, asked: Vec::new() };
        assert_eq!(verdict(&mut engine, &["\n", "zz", ".yy"]), "feasible");
    }

    #[test]
    fn a_finished_statement_with_a_dead_problem_is_refused() {
        check(&["\n", "items.length()", ";"], "Statement at \";\"");
        check(&["\n", "items.lines()", ";"], "feasible");
    }
}
