//! From logits to the distribution that is sampled: softmax, project prior, temperature, top-k, top-p.

use serde::{Deserialize, Serialize};

use crate::retrieval::Prior;
use crate::token::TokenId;

/// How a distribution is sharpened and cut, in this order; what is left is normalised. All of it comes before pruning.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Truncation {
    /// Probabilities are raised to its inverse; above 0.
    pub temperature: f64,
    /// Only the `k` likeliest tokens.
    pub top_k: Option<usize>,
    /// Only the likeliest tokens that together reach this probability.
    pub top_p: Option<f64>,
}

impl Truncation {
    fn apply(&self, p: &mut [f32]) {
        if (self.temperature - 1.0).abs() > f64::EPSILON {
            let max = p.iter().copied().fold(0.0, f32::max);
            let power = 1.0 / self.temperature as f32;
            for p in &mut *p {
                *p = (*p / max).powf(power);
            }
            normalise(p);
        }
        if self.top_k.is_some() || self.top_p.is_some() {
            self.cut(p);
            normalise(p);
        }
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

/// Turns the model's logits at a path into the distribution that is sampled.
#[derive(Debug)]
pub struct Proposer {
    truncation: Truncation,
    prior: Option<Prior>,
    /// The end of the file's text before the hole.
    prefix: Vec<TokenId>,
    /// End tokens of the model: the prior knows nothing of them.
    ends: Vec<TokenId>,
}

impl Proposer {
    /// `prefix`: tokens of the text before the hole, of which the prior looks at the last few.
    pub fn new(
        truncation: Truncation,
        prior: Option<Prior>,
        prefix: Vec<TokenId>,
        ends: Vec<TokenId>,
    ) -> Self {
        Self { truncation, prior, prefix, ends }
    }

    /// The distribution after `path`, the tokens of the hole so far.
    pub fn probabilities(&self, path: &[TokenId], logits: &[f32]) -> Vec<f32> {
        let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut p: Vec<f32> = logits.iter().map(|&logit| (logit - max).exp()).collect();
        normalise(&mut p);
        if let Some(prior) = &self.prior {
            let context: Vec<TokenId> = self.prefix.iter().chain(path).copied().collect();
            prior.mix(&context, &mut p, &self.ends);
        }
        self.truncation.apply(&mut p);
        p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(truncation: Truncation, expected: [f32; 3]) {
        let proposer = Proposer::new(truncation, None, Vec::new(), Vec::new());
        let p = proposer.probabilities(&[], &[3.0f32.ln(), 2.0f32.ln(), 1.0f32.ln()]);
        assert!(p.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{p:?} {expected:?}");
    }

    #[test]
    fn probabilities_are_cut_by_temperature_then_k_then_p() {
        let all = Truncation { temperature: 1.0, top_k: None, top_p: None };
        check(all, [0.5, 1.0 / 3.0, 1.0 / 6.0]);
        check(Truncation { temperature: 0.5, ..all }, [9.0 / 14.0, 4.0 / 14.0, 1.0 / 14.0]);
        check(Truncation { top_k: Some(2), ..all }, [0.6, 0.4, 0.0]);
        check(Truncation { top_p: Some(0.5), ..all }, [1.0, 0.0, 0.0]);
        check(Truncation { top_p: Some(0.51), ..all }, [0.6, 0.4, 0.0]);
    }

    #[test]
    fn the_prior_lifts_what_the_project_says() {
        let truncation = Truncation { temperature: 1.0, top_k: None, top_p: None };
        let project: Vec<TokenId> = [1, 2, 3, 4, 5].repeat(8);
        let prior = Prior::build([(crate::retrieval::Nearness::OwnFile, project.as_slice())]);
        let with = Proposer::new(truncation, Some(prior), vec![1, 2, 3], Vec::new());
        let without = Proposer::new(truncation, None, vec![1, 2, 3], Vec::new());
        let (with, without) = (with.probabilities(&[4], &[0.0; 8]), without.probabilities(&[4], &[0.0; 8]));
        assert!(with[5] > 2.0 * without[5], "{with:?}");
    }
}
