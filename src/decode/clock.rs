//! The order in which the continuations of one node are drawn.
//!
//! Sampling without replacement as a race (exponential clocks, the Gumbel trick in its additive form): every complete
//! text of probability `p` owns a clock that rings once, at a time drawn from the exponential distribution of rate
//! `p`; drawing in the order of the bells *is* drawing without replacement from the model's distribution. The first
//! bell below a node of probability `P` rings at an `Exp(P)` time and belongs to child `i` with probability `p_i`; by
//! memorylessness the next one, among the children not heard yet, is an `Exp(P * mass left)` time later. So one node
//! needs only its distribution, the mass that is left, and the time of its last bell.
//!
//! The gain over walking down by remaining mass again and again: a clock depends on the seed and the path alone, so the
//! order is the same whatever was pruned, in what batches the model computed, and after an interruption; and what is
//! infeasible is dropped without any correction, since the other clocks do not change (a race without some of its
//! runners is the race of the rest). Times are kept as logarithms.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::token::TokenId;

/// Names a path of tokens from the hole's start, under one seed.
pub type PathKey = [u8; 16];

/// The key of the empty path.
pub fn root_key(seed: u64) -> PathKey {
    digest(&[b"root", &seed.to_le_bytes()])
}

/// The key of the start of a walk that is independent of all others.
pub(super) fn walk_key(seed: u64, walk: u64) -> PathKey {
    digest(&[b"walk", &seed.to_le_bytes(), &walk.to_le_bytes()])
}

/// The key of `parent`'s path with one more token.
pub fn child_key(parent: PathKey, token: TokenId) -> PathKey {
    digest(&[&parent, &token.to_le_bytes()])
}

fn digest(parts: &[&[u8]]) -> PathKey {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize()[..16].try_into().expect("a SHA-256 digest has 32 bytes")
}

/// The two uniform numbers in (0, 1) that decide the `draw`-th bell of a node.
pub(super) fn uniforms(key: PathKey, draw: u32) -> (f64, f64) {
    let bytes = digest(&[&key, b"bell", &draw.to_le_bytes()]);
    let unit = |bytes: &[u8]| {
        let bits = u64::from_le_bytes(bytes.try_into().expect("eight bytes")) >> 11;
        (bits as f64 + 0.5) / (1u64 << 53) as f64
    };
    (unit(&bytes[..8]), unit(&bytes[8..]))
}

/// `ln(exp(a) + exp(b))`.
fn log_add(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    high + (low - high).exp().ln_1p()
}

/// What may follow a node: the likeliest tokens, and the mass of all others together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// Tokens with their probabilities, likeliest first.
    pub top: Vec<(TokenId, f32)>,
    /// Probability of all tokens that are not in `top`.
    pub rest: f64,
}

/// Most tokens that a proposal names.
const TOP: usize = 512;
/// Tokens less likely than this are left to the rest.
const FLOOR: f64 = 1e-5;
/// Texts less likely than this are left to the rest, too: of some thousand samples hardly one is among them. Deep nodes
/// name a tenth of the tokens for it.
const TEXT_FLOOR: f64 = 1e-9;
/// Whatever the node, a token as likely as this is named.
const NAMED: f64 = 1e-3;

impl Proposal {
    /// Keeps the likeliest tokens of the whole distribution at a node of log-probability `log_p`.
    pub fn new(probabilities: &[f32], log_p: f64) -> Self {
        let floor = (TEXT_FLOOR / log_p.exp()).clamp(FLOOR, NAMED) as f32;
        let mut top: Vec<(TokenId, f32)> =
            (0..).zip(probabilities.iter().copied()).filter(|&(_, p)| p >= floor).collect();
        // Ties by id, so that the order does not depend on the sort.
        top.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        top.truncate(TOP);
        let named: f64 = top.iter().map(|&(_, p)| f64::from(p)).sum();
        Self { top, rest: (1.0 - named).max(0.0) }
    }
}

/// What rang.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bell {
    /// A named token.
    Token(TokenId, f64),
    /// One of the tokens that the proposal does not name; `share` in (0, 1) picks it among them by mass.
    Rest {
        /// Position in the unnamed mass.
        share: f64,
    },
}

/// One node's race.
#[derive(Debug, Clone)]
pub struct Clock {
    key: PathKey,
    /// Natural logarithm of the node's probability.
    log_p: f64,
    /// Logarithm of the time of the last bell.
    time: f64,
    n_drawn: u32,
    left: Vec<(TokenId, f32)>,
    rest: f64,
    /// Tokens that have rung, those of the rest apart.
    drawn: Vec<TokenId>,
    rest_drawn: Vec<TokenId>,
}

impl Clock {
    /// A node reached at `time` (a logarithm): its own first bell rings then.
    pub fn new(key: PathKey, log_p: f64, time: f64, proposal: Proposal) -> Self {
        let (mut left, rest) = (proposal.top, proposal.rest);
        left.shrink_to_fit();
        Self { key, log_p, time, n_drawn: 0, left, rest, drawn: Vec::new(), rest_drawn: Vec::new() }
    }

    /// The root of a race: its first bell rings at an `Exp(1)` time.
    pub fn root(key: PathKey, proposal: Proposal) -> Self {
        let (unit, _) = uniforms(key, u32::MAX);
        Self::new(key, 0.0, (-unit.ln()).ln(), proposal)
    }

    /// Unnamed tokens that have rung.
    pub fn n_rest_drawn(&self) -> usize {
        self.rest_drawn.len()
    }

    /// Unnamed mass that is left.
    pub fn rest(&self) -> f64 {
        self.rest
    }

    /// Probability that is left at this node, given the node.
    fn mass_left(&self) -> f64 {
        self.left.iter().map(|&(_, p)| f64::from(p)).sum::<f64>() + self.rest
    }

    /// The next bell and its time as a logarithm; `None` when everything has rung.
    pub fn ring(&mut self) -> Option<(f64, Bell)> {
        let mass = self.mass_left();
        if mass <= f64::EPSILON {
            return None;
        }
        let (gap, pick) = uniforms(self.key, self.n_drawn);
        if self.n_drawn > 0 {
            let log_gap = (-gap.ln()).ln() - self.log_p - mass.ln();
            self.time = log_add(self.time, log_gap);
        }
        self.n_drawn += 1;
        Some((self.time, self.pick(pick * mass)))
    }

    fn pick(&mut self, mut point: f64) -> Bell {
        for at in 0..self.left.len() {
            let p = f64::from(self.left[at].1);
            if point < p || (at + 1 == self.left.len() && self.rest <= 0.0) {
                let (token, p) = self.left.remove(at);
                self.drawn.push(token);
                return Bell::Token(token, f64::from(p));
            }
            point -= p;
        }
        Bell::Rest { share: (point / self.rest).clamp(0.0, 1.0) }
    }

    /// Which unnamed token rang, given the node's whole distribution again; its mass leaves the rest.
    pub fn open_rest(&mut self, share: f64, probabilities: &[f32]) -> Option<(TokenId, f64)> {
        let left = self.left.iter().map(|(id, _)| id);
        let known: HashSet<TokenId> = left.chain(&self.drawn).chain(&self.rest_drawn).copied().collect();
        let unnamed =
            || (0..).zip(probabilities.iter().copied()).filter(|(id, p)| *p > 0.0 && !known.contains(id));
        let mass: f64 = unnamed().map(|(_, p)| f64::from(p)).sum();
        let mut point = share * mass;
        let hit = unnamed().find(|&(_, p)| {
            point -= f64::from(p);
            point < 0.0
        });
        let Some((token, p)) = hit.or_else(|| unnamed().last()) else {
            self.rest = 0.0;
            return None;
        };
        let p = f64::from(p);
        self.take_rest(token, mass - p);
        Some((token, p))
    }

    /// Notes that an unnamed token has rung and `left` remains of the unnamed mass.
    pub fn take_rest(&mut self, token: TokenId, left: f64) {
        self.rest_drawn.push(token);
        self.rest = left.max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(seed: u64, probabilities: &[f32]) -> Vec<TokenId> {
        let mut clock = Clock::root(root_key(seed), Proposal::new(probabilities, 0.0));
        std::iter::from_fn(|| clock.ring())
            .map(|(_, bell)| match bell {
                Bell::Token(token, _) => token,
                Bell::Rest { .. } => panic!("everything is named"),
            })
            .collect()
    }

    #[test]
    fn every_token_rings_once() {
        for seed in 0..50 {
            let mut drawn = order(seed, &[0.5, 0.25, 0.25]);
            drawn.sort_unstable();
            assert_eq!(drawn, [0, 1, 2]);
        }
    }

    /// Chi-square over the 6 orders of 3 tokens against drawing without replacement, 20,000 seeds. The bound is the
    /// 0.9999 quantile of 5 degrees of freedom; drawing the second token uniformly would give some 10,000.
    #[test]
    fn the_order_is_that_of_drawing_without_replacement() {
        let p = [0.6f32, 0.3, 0.1];
        let n = 20_000;
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..n {
            *counts.entry(order(seed, &p)).or_insert(0u32) += 1;
        }
        let chi_square: f64 = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
            .iter()
            .map(|order| {
                let [a, b, _] = order.map(|token: u32| f64::from(p[token as usize]));
                let expected = n as f64 * a * b / (1.0 - a);
                let seen = f64::from(counts.get(order.as_slice()).copied().unwrap_or(0));
                (seen - expected).powi(2) / expected
            })
            .sum();
        assert!(chi_square < 25.7, "chi-square {chi_square}");
    }

    #[test]
    fn bells_ring_at_rising_times() {
        let mut clock = Clock::root(root_key(1), Proposal::new(&[0.25; 4], 0.0));
        let times: Vec<f64> = std::iter::from_fn(|| clock.ring()).map(|(time, _)| time).collect();
        assert!(times.is_sorted() && times.len() == 4, "{times:?}");
    }

    #[test]
    fn an_unnamed_token_is_found_by_its_mass_and_rings_once() {
        let mut probabilities = vec![0.5f32];
        probabilities.extend([FLOOR as f32 / 2.0; 100]);
        let proposal = Proposal::new(&probabilities, 0.0);
        assert_eq!(proposal.top, [(0, 0.5)]);
        let mut clock = Clock::root(root_key(1), Proposal { rest: 0.5, ..proposal });
        let first = clock.open_rest(0.505, &probabilities).unwrap().0;
        let second = clock.open_rest(0.505, &probabilities).unwrap().0;
        assert_eq!((first, second), (51, 50));
    }
}
