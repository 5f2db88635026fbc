//! What a search has learnt, as events that can be appended to a file and read back.
//!
//! Proposals of the model and refusals by path. A search that starts with a memo takes the same way again without the
//! model and the engine, as far as the memo reaches: this is how an interrupted run goes on.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::decode::clock::{PathKey, Proposal};
use crate::decode::partial::Refusal;
use crate::token::TokenId;

/// One thing learnt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// What may follow a path.
    Proposal {
        /// The path.
        #[serde(with = "hex")]
        key: PathKey,
        /// The model's distribution, cut.
        #[serde(flatten)]
        proposal: Proposal,
    },
    /// The next of a path's unnamed tokens.
    Rest {
        /// The path.
        #[serde(with = "hex")]
        key: PathKey,
        /// The token that rang.
        token: TokenId,
        /// Its probability.
        p: f64,
        /// Unnamed mass that is left.
        left: f64,
    },
    /// What became of a path: refused, or not.
    Verdict {
        /// The path.
        #[serde(with = "hex")]
        key: PathKey,
        /// `None`: it may go on, or is a sample.
        refusal: Option<Refusal>,
    },
    /// How a walk of sampling with replacement ended.
    Walk {
        /// Which walk: 0 for the first.
        walk: u64,
        /// How it ended.
        end: WalkEnd,
    },
}

/// How a walk ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WalkEnd {
    /// With a complete fill, new or not.
    Complete {
        /// The fill.
        fill: String,
        /// Natural logarithm of its probability under the model.
        log_p: f64,
        /// The tokens with their log-probabilities.
        tokens: Vec<(String, f64)>,
    },
    /// Where nothing could follow.
    Dead(Refusal),
}

mod hex {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::decode::clock::PathKey;

    pub fn serialize<S: Serializer>(key: &PathKey, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:032x}", u128::from_be_bytes(*key)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathKey, D::Error> {
        let text = String::deserialize(deserializer)?;
        u128::from_str_radix(&text, 16).map(u128::to_be_bytes).map_err(D::Error::custom)
    }
}

/// Events by path.
#[derive(Debug, Default)]
pub struct Memo {
    proposals: HashMap<PathKey, Proposal>,
    rests: HashMap<PathKey, Vec<(TokenId, f64, f64)>>,
    verdicts: HashMap<PathKey, Option<Refusal>>,
    walks: HashMap<u64, WalkEnd>,
}

impl Memo {
    /// Takes one event in.
    pub fn learn(&mut self, event: Event) {
        match event {
            Event::Proposal { key, proposal } => {
                self.proposals.insert(key, proposal);
            }
            Event::Rest { key, token, p, left } => self.rests.entry(key).or_default().push((token, p, left)),
            Event::Verdict { key, refusal } => {
                self.verdicts.insert(key, refusal);
            }
            Event::Walk { walk, end } => {
                self.walks.insert(walk, end);
            }
        }
    }

    /// The proposal of a path; it is handed out once.
    pub fn proposal(&mut self, key: PathKey) -> Option<Proposal> {
        self.proposals.remove(&key)
    }

    /// The `n`-th unnamed token of a path: token, probability, unnamed mass left.
    pub fn rest(&self, key: PathKey, n: usize) -> Option<(TokenId, f64, f64)> {
        self.rests.get(&key)?.get(n).copied()
    }

    /// How a walk ended; it is handed out once.
    pub fn walk(&mut self, walk: u64) -> Option<WalkEnd> {
        self.walks.remove(&walk)
    }

    /// The verdict on a path, if there was one.
    pub fn verdict(&mut self, key: PathKey) -> Option<Option<Refusal>> {
        self.verdicts.remove(&key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_survives_its_line() {
        let key = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255];
        let events = [
            Event::Proposal {
                key,
                proposal: Proposal { top: vec![(7, 0.1), (3, 1.0 / 3.0)], rest: 0.1 + 0.2 },
            },
            Event::Rest { key, token: 9, p: 1e-6, left: 0.25 },
            Event::Verdict { key, refusal: Some(Refusal::Name) },
            Event::Verdict { key, refusal: None },
            Event::Walk { walk: 3, end: WalkEnd::Dead(Refusal::OverLength) },
            Event::Walk {
                walk: 4,
                end: WalkEnd::Complete {
                    fill: "\nx;".into(),
                    log_p: -0.5,
                    tokens: vec![("\nx;".into(), -0.5)],
                },
            },
        ];
        for event in events {
            let line = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event, "{line}");
        }
    }
}
