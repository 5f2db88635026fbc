//! Guided sampling: the model proposes tokens, the oracle disposes, and every sample is a new text.
//!
//! Invariants: samples come in the order of a race (see [`clock`]), which is drawing without replacement from the
//! model's distribution conditioned on what is feasible; the same seed and inputs give the same samples, whatever the
//! batch size, interruptions and the engine's caches; nothing is pruned on an unknown answer. Deliberately absent:
//! locally renormalised masks (they distort the distribution), and any state of the engine beyond its answers.

pub mod clock;
mod ground;
pub mod memo;
pub mod oracle;
pub mod partial;
pub mod proposer;
pub mod replay;
pub mod search;
mod tree;
pub mod walk;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cloze::template::TemplateKind;
use crate::decode::memo::Event;
use crate::decode::oracle::DecidedBy;
use crate::decode::partial::Refusal;
use crate::decode::proposer::Truncation;
use crate::model::ModelError;

/// Settings of one search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Decides which samples come, and in what order.
    pub seed: u64,
    /// How logits become probabilities.
    pub truncation: Truncation,
    /// Most tokens of a fill.
    pub max_tokens: usize,
    /// Edges that one model step takes at most.
    pub batch: usize,
    /// Model steps after which the search gives up.
    pub max_steps: u64,
    /// Questions to the engine after which the search gives up.
    pub max_questions: u64,
    /// Draws with replacement after which the search is over. What they would have brought is emitted, the rest is not
    /// looked for; the same for every batch size.
    pub max_draws: Option<u64>,
}

impl Settings {
    /// What is left of the budgets when `spent` is gone.
    #[must_use]
    pub fn after(&self, spent: &Counters) -> Self {
        Self {
            max_steps: self.max_steps.saturating_sub(spent.steps),
            max_questions: self.max_questions.saturating_sub(spent.questions),
            ..*self
        }
    }

    /// The budget that is used up, if one is.
    fn limit(&self, steps: u64, questions: u64) -> Option<StopReason> {
        if steps >= self.max_steps {
            return Some(StopReason::Steps);
        }
        (questions >= self.max_questions).then_some(StopReason::Questions)
    }
}

/// What has happened so far; all counts are of this process.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Counters {
    /// Steps of the model.
    pub steps: u64,
    /// Positions that it computed in them.
    pub positions: u64,
    /// Nodes whose proposal came from an earlier process.
    pub recalled: u64,
    /// Edges that were refused, by reason: how many, and their mass under the model.
    pub refused: BTreeMap<Refusal, (u64, f64)>,
    /// Times that a token outside the kept part of a distribution was drawn.
    pub rest_opened: u64,
    /// Questions to the engine.
    pub questions: u64,
    /// Walks begun, where samples are drawn with replacement.
    pub walks: u64,
    /// Samples drawn.
    pub samples: u64,
    /// Probability mass of the samples drawn.
    pub mass_drawn: f64,
    /// Decisions on tokens by who took them.
    pub decided: BTreeMap<DecidedBy, u64>,
}

impl Counters {
    /// Adds what happened in another hole of the same bug.
    pub fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.positions += other.positions;
        self.recalled += other.recalled;
        for (&why, &(n, mass)) in &other.refused {
            let sum = self.refused.entry(why).or_default();
            *sum = (sum.0 + n, sum.1 + mass);
        }
        self.rest_opened += other.rest_opened;
        self.questions += other.questions;
        self.walks += other.walks;
        self.samples += other.samples;
        self.mass_drawn += other.mass_drawn;
        for (&by, n) in &other.decided {
            *self.decided.entry(by).or_default() += n;
        }
    }
}

/// Draws samples: [`search::Search`] new ones only, [`walk::Walks`] with replacement.
pub trait Sampler {
    /// The next sample, or why there is none. `watch` is called often; it stops the sampler by `true`.
    fn next(&mut self, watch: &mut dyn FnMut(&Counters) -> bool) -> Result<Next, DecodeError>;

    /// What was learnt since the last call, to be kept with the run.
    fn take_events(&mut self) -> Vec<Event>;

    /// What has happened so far.
    fn counters(&self) -> Counters;
}

/// A new fill that compiles as far as the engine can tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// 1-based, in the order drawn.
    pub index: usize,
    /// What goes into the hole, without the line that ends it.
    pub fill: String,
    /// Natural logarithm of its probability under the model, the end included.
    pub log_p: f64,
    /// The tokens with their log-probabilities; the last ones may reach into the suffix.
    pub tokens: Vec<(String, f64)>,
    /// What of the buggy lines was kept, where that was asked for; the fill has it. The tokens do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateKind>,
}

/// Why no further sample comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// As many samples as were asked for.
    Samples,
    /// As many plausible patches as were asked for.
    Plausible,
    /// Every text has been drawn or refused.
    Exhausted,
    /// The budget of model steps is used up.
    Steps,
    /// The budget of questions to the engine is used up.
    Questions,
    /// The time is up.
    Time,
    /// The user or the caller asked to stop.
    Interrupted,
}

/// What a search has come to.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// A new sample.
    Sample(Sample),
    /// No further one.
    Stopped(StopReason),
}

/// What ends a search without a result.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The model failed.
    #[error("the model failed")]
    Model(#[from] ModelError),
    /// A structural end needs a line to go on with.
    #[error("nothing follows the hole: a model without an end token cannot tell where to stop")]
    NothingFollows,
}
