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
pub mod search;

use serde::{Deserialize, Serialize};

use crate::model::ModelError;

/// How logits become probabilities, in this order: temperature, top-k, top-p; what is left is normalised.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Truncation {
    /// Divides the logits; above 0.
    pub temperature: f64,
    /// Only the `k` likeliest tokens.
    pub top_k: Option<usize>,
    /// Only the likeliest tokens that together reach this probability.
    pub top_p: Option<f64>,
}

impl Truncation {
    /// The probabilities of a row of logits.
    pub fn probabilities(&self, logits: &[f32]) -> Vec<f32> {
        let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let scale = 1.0 / self.temperature as f32;
        let mut p: Vec<f32> = logits.iter().map(|&logit| ((logit - max) * scale).exp()).collect();
        normalise(&mut p);
        if self.top_k.is_some() || self.top_p.is_some() {
            self.cut(&mut p);
            normalise(&mut p);
        }
        p
    }

    fn cut(&self, p: &mut [f32]) {
        let mut order: Vec<usize> = (0..p.len()).collect();
        order.sort_unstable_by(|&a, &b| p[b].total_cmp(&p[a]).then(a.cmp(&b)));
        let mut before = 0.0;
        for (rank, &id) in order.iter().enumerate() {
            let over_k = self.top_k.is_some_and(|k| rank >= k);
            let over_p = self.top_p.is_some_and(|top_p| before >= top_p);
            before += f64::from(p[id]);
            if over_k || over_p {
                p[id] = 0.0;
            }
        }
    }
}

fn normalise(p: &mut [f32]) {
    let sum: f64 = p.iter().map(|&p| f64::from(p)).sum();
    for p in p {
        *p = (f64::from(*p) / sum) as f32;
    }
}

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
