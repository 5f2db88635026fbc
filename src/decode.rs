//! Guided sampling: the model proposes tokens, the oracle disposes, and every sample is a new text.
//!
//! Invariants: samples come in the order of a race (see [`clock`]), which is drawing without replacement from the
//! model's distribution conditioned on what is feasible; the same seed and inputs give the same samples, whatever the
//! batch size, interruptions and the engine's caches; nothing is pruned on an unknown answer. Deliberately absent:
//! locally renormalised masks (they distort the distribution), and any state of the engine beyond its answers.

pub mod clock;
pub mod memo;
pub mod oracle;
pub mod partial;
pub mod proposer;
pub mod replay;
pub mod search;

use serde::{Deserialize, Serialize};

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
