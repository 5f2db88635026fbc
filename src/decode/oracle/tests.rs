//! The oracle over an engine that answers from a table.

use super::*;
use crate::bug::Lines;
use crate::decode::partial::{Advance, Frame};
use crate::engine::Unknown;
use crate::text::Source;

/// Answers from a table: what stands before the caret decides.
struct Table {
    place: HolePlace,
    asked: Vec<String>,
}

impl CompletionEngine for Table {
    fn place(&self) -> HolePlace {
        self.place
    }

    fn closable(&self) -> usize {
        0
    }

    fn visible(&mut self, scope: Scope, first: Option<char>) -> Answer {
        self.asked.push(format!("visible {scope:?} {}", first.map(String::from).unwrap_or_default()));
        let all: &[&str] = match scope {
            Scope::Types => &["Integer", "Iterable", "String"],
            _ => &["index", "item", "items", "odd", "use"],
        };
        let begins = |name: &&&str| first.is_none_or(|first| name.starts_with(first));
        Answer::List(all.iter().filter(begins).map(ToString::to_string).collect())
    }

    fn complete(&mut self, hole: &str, scope: Scope) -> Answer {
        self.asked.push(format!("{scope:?} {}", hole.trim()));
        let list = |names: &[&str]| Answer::List(names.iter().map(ToString::to_string).collect());
        match scope {
            Scope::Members if hole.ends_with("odd.") => Answer::Unknown(Unknown::Deadline),
            Scope::Members => list(&["length", "lines", "map"]),
            _ if hole.contains("map(") => Answer::Unknown(Unknown::Position("lambda".to_owned())),
            _ => list(&["index", "item", "items", "odd"]),
        }
    }

    fn check(&mut self, hole: &str, _recover: bool) -> Check {
        let problem = |id, range| Problem {
            id,
            syntax: false,
            in_hole: Some(range),
            message: String::new(),
            file: None,
        };
        match hole.find("length()") {
            Some(at) => Check::Problems(vec![problem(100, at..at + 6)]),
            None => Check::Problems(vec![]),
        }
    }
}

fn table() -> Table {
    Table { place: HolePlace::Body, asked: Vec::new() }
}

fn verdict(engine: &mut Table, tokens: &[&str]) -> String {
    let source = Source::new(b"{\n{\n;\nbreak outer;}\n}\n".to_vec(), "UTF-8").unwrap();
    let cloze = Cloze::new(source, Lines::Replace { first: 3, last: 3 }).unwrap();
    let frame = Frame::new(&cloze, true);
    let mut oracle = Oracle::new(engine, Guidance::FULL, &cloze);
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
    assert_eq!(verdict(&mut table(), tokens), expected);
}

/// As `check`, with what the engine is asked for.
fn check_asked(tokens: &[&str], expected: &str, asked: &[&str]) {
    let mut engine = table();
    assert_eq!(verdict(&mut engine, tokens), expected);
    assert_eq!(engine.asked, asked);
}

#[test]
fn a_growing_name_is_refused_once_nothing_begins_with_it() {
    check(&["\n", "use(ite", "ms"], "feasible");
    check(&["\n", "use(ite", "rat"], "Name at \"rat\"");
}

#[test]
fn a_word_at_the_beginning_of_a_statement_may_be_a_label_until_something_else_follows() {
    check(&["\n", "ite", "rat", " ", ":", " for"], "feasible");
    check(&["\n", "ite", "rat", " ", "="], "Name at \"=\"");
    check(&["\n", "iterat", "."], "Name at \".\"");
    check(&["\n", "if (index) ite", "rat", ": for"], "feasible");
    check(&["\n", "use(index) ite", "rat"], "Name at \"rat\"");
}

#[test]
fn only_a_label_follows_a_jump() {
    check_asked(&["\n", "zz: for (;;) { break z", "z"], "feasible", &[]);
    check_asked(&["\n", "zz: for (;;) { continue q"], "Name at \"zz: for (;;) { continue q\"", &[]);
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
    check_asked(&["\n", "retu", "rn \"zz\"", "; int zz", " = 3; outer: for"], "feasible", &[]);
}

#[test]
fn after_new_only_types_are_asked_for() {
    check_asked(&["\n", "new", " ite"], "Name at \" ite\"", &["visible Types i"]);
    check(&["\n", "item.new It"], "feasible");
}

#[test]
fn what_is_visible_is_asked_for_once_and_members_once_for_each_receiver() {
    check_asked(
        &["\n", "i", "t", "e", "m", "s", ".", "l", "i", "nes(); items", ".length + index + items.li"],
        "feasible",
        &["visible Names ", "Members items.", "Members items.lines(); items.length + index + items."],
    );
}

#[test]
fn a_name_that_the_hole_declares_itself_is_there() {
    check(&["\n", "int zz", " = 1; ", "use(1 + z", "z + index)"], "feasible");
    check(&["\n", "int zz", " = 1; ", "use(1 + zz", "y"], "Name at \"y\"");
    check(&["\n", "items.zz(", "1 + zz"], "Name at \"items.zz(\"");
}

#[test]
fn a_position_that_may_declare_a_name_is_asked_about() {
    check_asked(
        &["\n", "use(zz"],
        "Name at \"use(zz\"",
        &["visible Names ", "visible Types z", "Names use(z"],
    );
    check(&["\n", "item.map(zz", " -> 1 + zz"], "feasible");
    check_asked(&["\n", "use(1 + zz"], "Name at \"use(1 + zz\"", &["visible Names ", "visible Types z"]);
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
