//! What a replay measured.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::FalsePrune;
use super::counter::{Caught, Swapped, WrongFill};
use crate::decode::oracle::{DecidedBy, Oracle, WordCounts};
use crate::engine::{Check, Command, Counters, Quantiles, Times};
use crate::java::holes::HoleKind;

/// Holes of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Sums {
    /// All.
    pub n: u64,
    /// Those in the body of a method.
    pub in_body: u64,
}

impl Sums {
    pub(super) fn add(&mut self, in_body: bool) {
        self.n += 1;
        self.in_body += u64::from(in_body);
    }
}

/// Tokens, and what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// Tokens fed.
    pub tokens: u64,
    /// Questions for lists.
    pub lists: u64,
    /// Checks of statements and of whole fills.
    pub checks: u64,
}

impl Asked {
    /// Questions for lists, and checks, for each token; `None` without tokens.
    pub fn per_token(self) -> Option<(f64, f64)> {
        let per_token = |n| n as f64 / self.tokens as f64;
        (self.tokens > 0).then(|| (per_token(self.lists), per_token(self.checks)))
    }
}

/// All that a replay measured.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// Holes by kind.
    pub holes: BTreeMap<HoleKind, Sums>,
    /// Holes that the tokenizer cannot spell or whose end cannot be shown.
    pub skipped: u64,
    /// Tokens fed to holes of which nothing had been asked.
    pub cold: Asked,
    /// Tokens fed to holes that had been filled before, in another spelling.
    pub warm: Asked,
    /// Decisions on tokens with their times, by who took them.
    pub decisions: BTreeMap<DecidedBy, Times>,
    /// Decisions on identifiers that are neither keywords nor being declared.
    pub words: WordCounts,
    /// For each reason a hole in which nobody knew.
    pub unknown_at: BTreeMap<String, String>,
    /// Questions to the engine by command, those of the opening left out.
    pub questions: BTreeMap<Command, u64>,
    /// Refusals of code that compiles.
    pub false_prunes: Vec<FalsePrune>,
    /// Wrong fills by how they were made and when they were refused. Those that compile are left out.
    pub caught: BTreeMap<(Swapped, Caught), u64>,
    /// Wrong fills that compile all the same, says the engine.
    pub harmless: u64,
    /// All wrong fills, those that compile too: for another compiler to judge.
    pub wrong: Vec<WrongFill>,
    /// Wrong fills that do not compile and were accepted to the end.
    pub missed: Vec<String>,
    /// Names that do not exist and were not refused at once.
    pub late: Vec<String>,
    last: BTreeMap<DecidedBy, u64>,
    last_questions: u64,
}

impl Figures {
    /// Holes replayed.
    pub fn n_holes(&self) -> u64 {
        self.holes.values().map(|sums| sums.n).sum()
    }

    /// One decision on a token.
    pub(super) fn decision(&mut self, oracle: &Oracle, time: Duration) {
        let more = |by: &&DecidedBy| oracle.decided.get(by) > self.last.get(by);
        let by = oracle.decided.keys().find(more).copied().unwrap_or(DecidedBy::Lexer);
        // A check of a statement or of the whole is a question, too.
        let by = if oracle.questions() > self.last_questions { DecidedBy::Engine } else { by };
        self.last.clone_from(&oracle.decided);
        self.last_questions = oracle.questions();
        self.decisions.entry(by).or_default().record(time, 0);
    }

    /// One fill has been fed to `oracle`, which keeps its lists and begins to count anew.
    pub(super) fn fed(&mut self, oracle: &mut Oracle, asked: Asked, is_cold: bool, hole: &str) {
        let sum = if is_cold { &mut self.cold } else { &mut self.warm };
        sum.tokens += asked.tokens;
        sum.lists += asked.lists;
        sum.checks += asked.checks;
        self.last.clear();
        self.last_questions = oracle.questions();
        oracle.decided.clear();
        let words = std::mem::take(&mut oracle.words);
        for (by, n) in words.decided {
            *self.words.decided.entry(by).or_default() += n;
        }
        for (reason, n) in words.unknown {
            *self.words.unknown.entry(reason.clone()).or_default() += n;
            self.unknown_at.entry(reason).or_insert_with(|| hole.to_owned());
        }
    }

    pub(super) fn add_questions(&mut self, before: &Counters, after: &Counters) {
        for (command, n) in &after.questions {
            *self.questions.entry(*command).or_default() += n - before.questions.get(command).unwrap_or(&0);
        }
    }

    pub(super) fn counter(&mut self, wrong: WrongFill, check: &Check) {
        match check {
            Check::Problems(problems) if problems.is_empty() => self.harmless += 1,
            _ => *self.caught.entry((wrong.how, wrong.caught)).or_default() += 1,
        }
        self.wrong.push(wrong);
    }

    /// Identifiers that were decided neither way, as a share of all that are neither keywords nor being declared.
    pub fn unknown_share(&self) -> f64 {
        let all: u64 = self.words.decided.values().sum();
        let unknown = self.words.decided.get(&DecidedBy::Unknown).copied().unwrap_or_default();
        unknown as f64 / all.max(1) as f64
    }

    /// Tokens fed.
    pub fn n_tokens(&self) -> u64 {
        self.cold.tokens + self.warm.tokens
    }

    /// Times of decisions by who took them.
    pub fn decision_times(&self) -> BTreeMap<DecidedBy, Quantiles> {
        self.decisions.iter().map(|(&by, times)| (by, times.wall())).collect()
    }
}
