//! The pool against a forward pass of plain loops over the whole sequence.

use candle_core::Device;

use super::super::decoder::{Config, Decoder};
use super::super::position::{Positions, Rotary};
use super::super::reference::{Random, logits, tiny, tiny_llama};
use super::super::weights::Weights;
use super::*;
use crate::model::WeightsError;

/// Single precision against double.
const TOLERANCE: f32 = 2e-5;

/// A pool with room for `slots`, and what was put into it.
struct Walk {
    config: Config,
    llama: Decoder,
    weights: Random,
    pool: KvPool,
    prompt: Vec<TokenId>,
    /// Tokens below the prompt by position.
    sequences: std::collections::HashMap<KvNode, Vec<TokenId>>,
}

impl Walk {
    fn new(slots: usize) -> Self {
        Self::with(tiny(Rotary::Interleaved), Random::default(), slots, 10)
    }

    fn with(config: Config, mut weights: Random, slots: usize, prompt_len: u32) -> Self {
        let llama = Decoder::load(config.clone(), Place::cpu(), &mut weights).unwrap();
        let bytes_per_slot = Slots::new(llama.shape(), llama.place()).bytes_per_slot();
        let pool = KvPool::new(&llama, slots * bytes_per_slot);
        let prompt: Vec<TokenId> = (0..prompt_len).map(|i| i * 7 % 50).collect();
        let sequences = [(KvNode::PROMPT, vec![])].into();
        let mut walk = Self { config, llama, weights, pool, prompt, sequences };
        let primed = walk.pool.prime(&mut walk.llama, &walk.prompt).unwrap();
        walk.check(&[], &primed);
        walk
    }

    /// Holds `found`, the logits after the prompt and `tokens`, against the reference.
    fn check(&self, tokens: &[TokenId], found: &[f32]) {
        let whole = [&self.prompt[..], tokens].concat();
        let expected = logits(&self.config, self.weights, &whole).pop().unwrap();
        let furthest = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(found.len() == expected.len() && furthest < TOLERANCE, "{furthest} off after {tokens:?}");
    }

    /// One step, every position of it checked; the last position of each row.
    fn extend(&mut self, rows: &[(KvNode, &[TokenId])]) -> Vec<KvNode> {
        let rows: Vec<Row> =
            rows.iter().map(|&(parent, tokens)| Row { parent, tokens: tokens.to_vec() }).collect();
        let found = self.pool.extend(&self.llama, &rows).unwrap();
        assert_eq!(found.len(), rows.len());
        for (row, positions) in rows.iter().zip(&found) {
            assert_eq!(positions.len(), row.tokens.len());
            let mut sequence = self.sequences[&row.parent].clone();
            for (token, position) in row.tokens.iter().zip(positions) {
                sequence.push(*token);
                self.check(&sequence, &position.logits);
                assert!(self.sequences.insert(position.node, sequence.clone()).is_none());
            }
        }
        found.iter().map(|row| row.last().unwrap().node).collect()
    }
}

#[test]
fn rows_of_mixed_depth_and_length_agree_with_the_whole_recomputed() {
    let mut walk = Walk::new(1000);
    let ends = walk.extend(&[(KvNode::PROMPT, &[1, 2, 3]), (KvNode::PROMPT, &[4])]);
    let ends =
        walk.extend(&[(ends[0], &[5]), (ends[1], &[6, 7]), (KvNode::PROMPT, &[8]), (ends[0], &[9, 1, 2, 3])]);
    walk.extend(&[(ends[3], &[1]), (ends[2], &[1]), (ends[0], &[2, 2])]);
}

#[test]
fn forks_of_one_position_do_not_see_each_other() {
    let mut walk = Walk::new(1000);
    let ends = walk.extend(&[(KvNode::PROMPT, &[1, 2])]);
    let forks = walk.extend(&[(ends[0], &[3]), (ends[0], &[4]), (ends[0], &[3])]);
    walk.extend(&[(forks[0], &[5]), (forks[1], &[5]), (forks[2], &[6])]);
}

#[test]
fn a_prompt_longer_than_one_chunk_is_seen_whole() {
    let mut walk = Walk::with(tiny(Rotary::Interleaved), Random::default(), 100, PROMPT_CHUNK as u32 + 30);
    walk.extend(&[(KvNode::PROMPT, &[1, 2])]);
}

#[test]
fn the_switches_of_the_family_agree_with_the_reference() {
    let weights = Random { biased: true, own_head: true };
    let config = Config {
        positions: Positions::Rotary { style: Rotary::Halves, base: 500.0, scale: 4.0 },
        ..tiny(Rotary::Halves)
    };
    let mut walk = Walk::with(config, weights, 100, 20);
    walk.extend(&[(KvNode::PROMPT, &[1, 2]), (KvNode::PROMPT, &[3])]);
    let mut one_key_per_query = tiny(Rotary::Interleaved);
    (one_key_per_query.shape.kv_heads, one_key_per_query.shape.head_width) = (4, 6);
    Walk::with(one_key_per_query, Random::default(), 100, 20).extend(&[(KvNode::PROMPT, &[1, 2])]);
}

#[test]
fn evicted_positions_come_back_unnoticed() {
    let mut walk = Walk::new(12);
    let mut nodes = vec![KvNode::PROMPT];
    let mut random = 1u64;
    let mut pick = |n: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % n
    };
    for _ in 0..60 {
        let tokens: Vec<TokenId> = (0..8).map(|_| pick(50) as TokenId).collect();
        let rows: Vec<_> =
            (0..3).map(|i| (nodes[pick(nodes.len())], &tokens[2 * i..2 * i + 1 + pick(2)])).collect();
        nodes.extend(walk.extend(&rows));
        // Paths of at most 8 leave the cap its meaning.
        nodes.retain(|node| walk.sequences[node].len() < 8);
        assert!(walk.pool.slots.capacity() <= 12);
    }
    assert!(walk.sequences.len() > 100);
}

#[test]
fn a_row_longer_than_the_cap_is_computed_all_the_same() {
    let mut walk = Walk::new(4);
    let ends = walk.extend(&[(KvNode::PROMPT, &[1, 2, 3, 4, 5, 6]), (KvNode::PROMPT, &[7, 8])]);
    walk.extend(&[(ends[0], &[1, 2, 3]), (ends[1], &[1])]);
}

#[test]
fn priming_forgets_all_positions() {
    let mut walk = Walk::new(100);
    let ends = walk.extend(&[(KvNode::PROMPT, &[1, 2])]);
    walk.prompt = vec![9, 8, 7];
    walk.sequences = [(KvNode::PROMPT, vec![])].into();
    let primed = walk.pool.prime(&mut walk.llama, &walk.prompt).unwrap();
    walk.check(&[], &primed);
    let row = Row { parent: ends[0], tokens: vec![1] };
    let error = walk.pool.extend(&walk.llama, &[row]).unwrap_err();
    assert_eq!(error.to_string(), "position 2 is not in the key-value pool");
    walk.extend(&[(KvNode::PROMPT, &[1, 2])]);
}

#[test]
fn wrong_rows_are_named_and_leave_the_pool_as_it_was() {
    let mut walk = Walk::new(100);
    let check = |walk: &mut Walk, row: Row, message: &str| {
        let good = Row { parent: KvNode::PROMPT, tokens: vec![1] };
        let error = walk.pool.extend(&walk.llama, &[good, row]).unwrap_err();
        assert_eq!(error.to_string(), message);
    };
    let below_prompt = |tokens| Row { parent: KvNode::PROMPT, tokens };
    check(&mut walk, below_prompt(vec![]), "the row has no tokens");
    check(&mut walk, below_prompt(vec![3, 50]), "token 50 is outside the vocabulary of 50");
    check(&mut walk, below_prompt(vec![1; 391]), "401 tokens are more than the context window of 400");
    check(&mut walk, Row { parent: KvNode(9), tokens: vec![1] }, "position 9 is not in the key-value pool");
    let ends = walk.extend(&[(KvNode::PROMPT, &[1])]);
    assert_eq!(ends, [KvNode(1)]);
}

#[test]
fn nothing_is_extended_before_a_prompt_is_primed() {
    let mut llama = tiny_llama();
    let mut pool = KvPool::new(&llama, 1 << 20);
    let row = Row { parent: KvNode::PROMPT, tokens: vec![1] };
    assert!(matches!(pool.extend(&llama, std::slice::from_ref(&row)), Err(ModelError::NotPrimed)));
    assert!(matches!(pool.prime(&mut llama, &[]), Err(ModelError::Empty { part: "prompt" })));
    assert!(matches!(
        pool.prime(&mut llama, &[1; 401]),
        Err(ModelError::WindowFull { len: 401, window: 400 })
    ));
    assert!(matches!(pool.extend(&llama, &[row]), Err(ModelError::NotPrimed)));
}

/// Random weights whose token 5 is broken.
struct Broken(Random);

impl Weights for Broken {
    fn has(&self, name: &str) -> bool {
        self.0.has(name)
    }

    fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, WeightsError> {
        let tensor = self.0.tensor(name, shape)?;
        if name == "token_embd.weight" {
            let nan = Tensor::full(f32::NAN, (1, shape[1]), &Device::Cpu).unwrap();
            tensor.slice_set(&nan, 0, 5).unwrap();
        }
        Ok(tensor)
    }
}

#[test]
fn logits_that_are_not_finite_are_an_error_that_names_the_position() {
    let mut broken = Broken(Random { own_head: true, ..Random::default() });
    let mut llama = Decoder::load(tiny(Rotary::Interleaved), Place::cpu(), &mut broken).unwrap();
    let mut pool = KvPool::new(&llama, 1 << 20);
    pool.prime(&mut llama, &[1, 2, 3]).unwrap();
    let row = Row { parent: KvNode::PROMPT, tokens: vec![4, 5, 6] };
    assert!(matches!(pool.extend(&llama, &[row]), Err(ModelError::NotFinite { position: 4 })));
    assert!(matches!(pool.prime(&mut llama, &[1, 5]), Err(ModelError::NotFinite { position: 1 })));
}
