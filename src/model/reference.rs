//! For tests: random weights of a tiny llama, and its forward pass as plain loops over `f64`, written from the equations
//! and sharing nothing with the code under test.

use candle_core::{Device, Tensor};

use super::decoder::{Activation, Config, Decoder, NormKind};
use super::error::WeightsError;
use super::network::{Place, Shape};
use super::position::{Positions, Rotary};
use super::weights::Weights;
use crate::token::TokenId;

/// Weights made up from their names.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Random {
    /// Whether query, key and value have biases.
    pub(super) biased: bool,
    /// Whether the output head is its own matrix.
    pub(super) own_head: bool,
}

impl Random {
    /// The values of a tensor in row-major order, between -0.5 and 0.5.
    fn values(name: &str, n: usize) -> Vec<f32> {
        let seed = name
            .bytes()
            .fold(0x9e37_79b9_7f4a_7c15_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        let next = |state: &u64| {
            Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
        };
        let states = std::iter::successors(Some(seed), next).skip(1);
        states.map(|state| (state >> 40) as f32 / (1 << 24) as f32 - 0.5).take(n).collect()
    }

    fn matrix(name: &str, rows: usize, columns: usize) -> Vec<Vec<f64>> {
        let values = Self::values(name, rows * columns);
        values.chunks(columns).map(|row| row.iter().map(|&x| f64::from(x)).collect()).collect()
    }

    fn vector(name: &str, n: usize) -> Vec<f64> {
        Self::matrix(name, 1, n).remove(0)
    }
}

impl Weights for Random {
    fn has(&self, name: &str) -> bool {
        let is_attention = ["attn_q.", "attn_k.", "attn_v."].iter().any(|part| name.contains(part));
        if name.ends_with("bias") {
            self.biased && is_attention
        } else {
            name != "output.weight" || self.own_head
        }
    }

    fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, WeightsError> {
        Ok(Tensor::from_vec(Self::values(name, shape.iter().product()), shape, &Device::Cpu).unwrap())
    }
}

/// Three layers, two queries per key.
pub(super) fn tiny(rotary: Rotary) -> Config {
    Config {
        shape: Shape { layers: 3, heads: 4, kv_heads: 2, head_width: 8, vocabulary: 50, window: 400 },
        width: 24,
        feed_forward: 40,
        norm: NormKind::Rms,
        norm_epsilon: 1e-5,
        positions: Positions::Rotary { style: rotary, base: 10_000.0, scale: 1.0 },
        activation: Activation::Silu,
        gated: true,
        embedding_scale: 1.0,
    }
}

pub(super) fn tiny_llama() -> Decoder {
    Decoder::load(tiny(Rotary::Interleaved), Place::cpu(), &mut Random::default()).unwrap()
}

/// Logits after each of `tokens`.
pub(super) fn logits(c: &Config, weights: Random, tokens: &[TokenId]) -> Vec<Vec<f32>> {
    let embedding = Random::matrix("token_embd.weight", c.shape.vocabulary, c.width);
    let mut xs: Vec<Vec<f64>> = tokens.iter().map(|&token| embedding[token as usize].clone()).collect();
    for layer in 0..c.shape.layers {
        attend(c, weights, layer, &mut xs);
        for x in &mut xs {
            feed_forward(c, layer, x);
        }
    }
    let head = if weights.own_head {
        Random::matrix("output.weight", c.shape.vocabulary, c.width)
    } else {
        embedding
    };
    let norm = Random::vector("output_norm.weight", c.width);
    let out = |x: &Vec<f64>| product(&head, &normed(c, x, &norm)).into_iter().map(|x| x as f32).collect();
    xs.iter().map(out).collect()
}

fn attend(c: &Config, weights: Random, layer: usize, xs: &mut [Vec<f64>]) {
    let name = |part: &str| format!("blk.{layer}.{part}");
    let norm = Random::vector(&name("attn_norm.weight"), c.width);
    let project = |part: &str, heads: usize, x: &[f64]| {
        let matrix = Random::matrix(&name(&format!("{part}.weight")), heads * c.shape.head_width, c.width);
        let mut y = product(&matrix, x);
        if weights.biased {
            let bias = Random::vector(&name(&format!("{part}.bias")), y.len());
            y.iter_mut().zip(bias).for_each(|(y, b)| *y += b);
        }
        y.chunks(c.shape.head_width).map(<[f64]>::to_vec).collect::<Vec<_>>()
    };
    let output = Random::matrix(&name("attn_output.weight"), c.width, c.shape.heads * c.shape.head_width);
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    for (position, x) in xs.iter_mut().enumerate() {
        let y = normed(c, x, &norm);
        let rotated = |heads: Vec<Vec<f64>>| heads.iter().map(|h| rotate(c, h, position)).collect::<Vec<_>>();
        keys.push(rotated(project("attn_k", c.shape.kv_heads, &y)));
        values.push(project("attn_v", c.shape.kv_heads, &y));
        let mut seen = Vec::new();
        for (h, q) in rotated(project("attn_q", c.shape.heads, &y)).iter().enumerate() {
            let kv = h * c.shape.kv_heads / c.shape.heads;
            let score = |k: &Vec<Vec<f64>>| (dot(q, &k[kv]) / (c.shape.head_width as f64).sqrt()).exp();
            let scores: Vec<f64> = keys.iter().map(score).collect();
            let sum: f64 = scores.iter().sum();
            let mix = |i: usize| scores.iter().zip(&values).map(|(s, v)| s / sum * v[kv][i]).sum::<f64>();
            seen.extend((0..c.shape.head_width).map(mix));
        }
        x.iter_mut().zip(product(&output, &seen)).for_each(|(x, y)| *x += y);
    }
}

fn feed_forward(c: &Config, layer: usize, x: &mut [f64]) {
    let name = |part: &str| format!("blk.{layer}.ffn_{part}.weight");
    let y = normed(c, x, &Random::vector(&name("norm"), c.width));
    let gate = product(&Random::matrix(&name("gate"), c.feed_forward, c.width), &y);
    let up = product(&Random::matrix(&name("up"), c.feed_forward, c.width), &y);
    let inner: Vec<f64> = gate.iter().zip(up).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect();
    let down = product(&Random::matrix(&name("down"), c.width, c.feed_forward), &inner);
    x.iter_mut().zip(down).for_each(|(x, y)| *x += y);
}

fn rotate(c: &Config, head: &[f64], position: usize) -> Vec<f64> {
    let Positions::Rotary { style, base, scale } = c.positions else { panic!("a llama rotates") };
    let half = c.shape.head_width / 2;
    let mut rotated = head.to_vec();
    for i in 0..half {
        let (a, b) = match style {
            Rotary::Interleaved => (2 * i, 2 * i + 1),
            Rotary::Halves => (i, i + half),
        };
        let exponent = -2.0 * i as f64 / c.shape.head_width as f64;
        let angle = position as f64 / f64::from(scale) * f64::from(base).powf(exponent);
        rotated[a] = head[a] * angle.cos() - head[b] * angle.sin();
        rotated[b] = head[a] * angle.sin() + head[b] * angle.cos();
    }
    rotated
}

fn normed(c: &Config, x: &[f64], weight: &[f64]) -> Vec<f64> {
    let mean = dot(x, x) / x.len() as f64;
    let scale = 1.0 / (mean + f64::from(c.norm_epsilon)).sqrt();
    x.iter().zip(weight).map(|(x, w)| x * scale * w).collect()
}

fn product(matrix: &[Vec<f64>], x: &[f64]) -> Vec<f64> {
    matrix.iter().map(|row| dot(row, x)).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
