//! How a network knows where a token stands: rotated heads, or something added to the embedding.

use candle_core::{Result, Tensor};
use candle_nn::rotary_emb;

use super::network::{Place, Shape};

/// How the two halves of a rotated pair lie in a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rotary {
    /// Neighbours (GGUF's `llama`).
    Interleaved,
    /// First half and second half (`NeoX`; GGUF's `qwen2`, all safetensors of transformers).
    Halves,
}

/// What a family does with positions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Positions {
    /// Heads are rotated; positions are divided by `scale` (linear scaling), 1 for most.
    Rotary { style: Rotary, base: f32, scale: f32 },
    /// A learnt vector for each.
    Learned,
    /// Sines and cosines, computed at `position + offset` (fairseq's table, whose first rows are left to padding).
    Sinusoidal { offset: u32 },
}

/// Angles of one pass, laid out like its queries and its keys.
pub(super) struct Rotation {
    style: Rotary,
    queries: (Tensor, Tensor),
    keys: (Tensor, Tensor),
}

impl Rotation {
    /// `None` for a family that rotates nothing.
    pub(super) fn new(
        kind: &Positions,
        shape: &Shape,
        place: &Place,
        positions: &[u32],
    ) -> Result<Option<Self>> {
        let &Positions::Rotary { style, base, scale } = kind else { return Ok(None) };
        let per_key = shape.heads / shape.kv_heads;
        let repeated: Vec<u32> = positions.iter().flat_map(|&p| std::iter::repeat_n(p, per_key)).collect();
        let of = |positions: &[u32]| angles(place, shape.head_width, base, scale, positions);
        Ok(Some(Self { style, queries: of(&repeated)?, keys: of(positions)? }))
    }

    /// Rotates `x` `[kv heads, tokens * queries, head width]`.
    pub(super) fn of_queries(&self, x: &Tensor) -> Result<Tensor> {
        self.apply(x, &self.queries)
    }

    /// Rotates `x` `[kv heads, tokens, head width]`.
    pub(super) fn of_keys(&self, x: &Tensor) -> Result<Tensor> {
        self.apply(x, &self.keys)
    }

    fn apply(&self, x: &Tensor, (cos, sin): &(Tensor, Tensor)) -> Result<Tensor> {
        let rotate = match self.style {
            Rotary::Interleaved => rotary_emb::rope_i,
            Rotary::Halves => rotary_emb::rope,
        };
        rotate(&x.unsqueeze(1)?, cos, sin)?.squeeze(1)
    }
}

/// Cosines and sines of `positions`, each `[positions, head width / 2]`.
fn angles(
    place: &Place,
    head_width: usize,
    base: f32,
    scale: f32,
    positions: &[u32],
) -> Result<(Tensor, Tensor)> {
    let half = head_width / 2;
    let frequency = |i: usize| f64::from(base).powf(-2.0 * i as f64 / head_width as f64);
    let frequencies: Vec<f64> = (0..half).map(frequency).collect();
    let at = |f: fn(f64) -> f64| {
        let position = |&p: &u32| f64::from(p) / f64::from(scale);
        let values =
            positions.iter().flat_map(|p| frequencies.iter().map(move |w| f(position(p) * w) as f32));
        place.tensor(values.collect(), (positions.len(), half))
    };
    Ok((at(f64::cos)?, at(f64::sin)?))
}

/// The sinusoidal vectors of `positions`, row by row: all sines of a row, then all cosines.
pub(super) fn absolute(positions: &[u32], offset: u32, width: usize) -> Vec<f32> {
    let half = width / 2;
    let step = -10_000f64.ln() / (half as f64 - 1.0);
    let row = |&position: &u32| {
        let angle = move |i: usize| f64::from(position + offset) * (i as f64 * step).exp();
        let sines = (0..half).map(move |i| angle(i).sin() as f32);
        sines.chain((0..half).map(move |i| angle(i).cos() as f32))
    };
    positions.iter().flat_map(row).collect()
}
