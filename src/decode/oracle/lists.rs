//! What one hole's questions brought, kept for as long as the hole is open: lists, and what became of texts that were
//! compiled.
//!
//! Keys are what an answer depends on, so that samples that differ elsewhere share it. Tokens are no part of them: texts
//! that are spelt differently share all answers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::engine::{Answer, Check, CompletionEngine, Scope};

#[derive(Debug, Default)]
pub(super) struct Lists {
    names: HashMap<Option<char>, Answer>,
    types: HashMap<Option<char>, Answer>,
    members: HashMap<String, Answer>,
    positions: HashMap<(Scope, String), Answer>,
    checks: HashMap<(bool, String), Check>,
    n_asked: u64,
    n_checked: u64,
}

impl Lists {
    /// Questions for lists so far.
    pub fn n_asked(&self) -> u64 {
        self.n_asked
    }

    /// Texts compiled so far.
    pub fn n_checked(&self) -> u64 {
        self.n_checked
    }

    /// The lists that are nearest to the last decision, for people.
    pub fn last_asked(&self) -> String {
        let n = |answer: &Answer| match answer {
            Answer::List(names) => names.len().to_string(),
            Answer::Unknown(unknown) => unknown.to_string(),
        };
        let members = self.members.iter().map(|(key, answer)| format!("{key:?}: {}", n(answer)));
        let positions = self.positions.iter().map(|(key, answer)| format!("{key:?}: {}", n(answer)));
        let all: Vec<String> = members.chain(positions).collect();
        format!(
            "names {}, types {}, {}",
            self.names.values().map(n).collect::<Vec<_>>().join("/"),
            self.types.len(),
            all.join(", ")
        )
    }

    /// Drops all lists.
    pub fn forget(&mut self) {
        *self = Self { n_asked: self.n_asked, n_checked: self.n_checked, ..Self::default() };
    }

    /// Lists that are kept.
    pub fn len(&self) -> usize {
        self.names.len() + self.types.len() + self.members.len() + self.positions.len()
    }

    /// What the compiler says of a fill, `recover` if it is only the beginning of one.
    pub fn check(&mut self, engine: &mut dyn CompletionEngine, fill: &str, recover: bool) -> &Check {
        self.checks.entry((recover, fill.to_owned())).or_insert_with(|| {
            self.n_checked += 1;
            engine.check(fill, recover)
        })
    }

    /// Variables, methods and labels that are visible where the hole begins. Where not all of them can be listed at
    /// once, those that begin with `first`.
    pub fn names(&mut self, engine: &mut dyn CompletionEngine, first: Option<char>) -> &Answer {
        let mut ask = |first| match self.names.entry(first) {
            Entry::Occupied(known) => matches!(known.get(), Answer::List(_)),
            Entry::Vacant(place) => {
                self.n_asked += 1;
                matches!(place.insert(engine.visible(Scope::Names, first)), Answer::List(_))
            }
        };
        let key = if ask(None) { None } else { first };
        ask(key);
        &self.names[&key]
    }

    /// Types and packages with this beginning that are visible where the hole begins.
    pub fn types(&mut self, engine: &mut dyn CompletionEngine, first: Option<char>) -> &Answer {
        self.types.entry(first).or_insert_with(|| {
            self.n_asked += 1;
            engine.visible(Scope::Types, first)
        })
    }

    /// Members of the receiver that `hole` ends in; `key` says what they depend on, `None` that it is all of the text.
    pub fn members(&mut self, engine: &mut dyn CompletionEngine, hole: &str, key: Option<String>) -> &Answer {
        // No key of a receiver begins with a zero byte.
        self.members.entry(key.unwrap_or_else(|| format!("\0{hole}"))).or_insert_with(|| {
            self.n_asked += 1;
            engine.complete(hole, Scope::Members)
        })
    }

    /// What may stand at the end of `hole`, which is the first character of a word.
    pub fn position(&mut self, engine: &mut dyn CompletionEngine, hole: String, scope: Scope) -> &Answer {
        self.positions.entry((scope, hole)).or_insert_with_key(|(scope, hole)| {
            self.n_asked += 1;
            engine.complete(hole, *scope)
        })
    }
}
