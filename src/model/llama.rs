//! The llama family: RMS norm, rotary positions, grouped-query attention, gated feed-forward, all in f32.
//!
//! One module with switches serves the family: biases on query, key and value and an own output head are taken where
//! the weights have them; rotary style, base and linear scale come from [`Config`]. Several texts of different lengths
//! go through as one flat list of tokens, each with its own position; what a token sees is the business of
//! [`KeyValues`], so this module has no cache, no batch dimension and no padding.

use candle_core::{D, Device, IndexOp, Result, Tensor};
use candle_nn::{ops, rotary_emb};

use super::error::WeightsError;
use super::kernels::{SiluProduct, product};

/// Where tensors come from, by their GGUF names.
pub(super) trait Weights {
    fn has(&self, name: &str) -> bool;

    /// The tensor as f32; it must have this shape.
    fn tensor(&mut self, name: &str, shape: &[usize]) -> std::result::Result<Tensor, WeightsError>;
}

/// How the two halves of a rotated pair lie in a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rotary {
    /// Neighbours (GGUF's `llama`).
    Interleaved,
    /// First half and second half (`NeoX`; GGUF's `qwen2`, all safetensors of transformers).
    #[cfg_attr(not(test), expect(dead_code, reason = "no family that is loaded so far has it"))]
    Halves,
}

/// Shape of a model.
#[derive(Debug, Clone)]
pub(super) struct Config {
    pub(super) layers: usize,
    pub(super) width: usize,
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) head_width: usize,
    pub(super) feed_forward: usize,
    pub(super) vocabulary: usize,
    /// Longest sequence, in tokens.
    pub(super) window: usize,
    pub(super) norm_epsilon: f32,
    pub(super) rotary: Rotary,
    pub(super) rotary_base: f32,
    /// Positions are divided by this (linear scaling); 1 for most.
    pub(super) rotary_scale: f32,
}

/// Keys and values of one layer, each `[kv heads, tokens, head width]`.
#[derive(Debug, Clone)]
pub(super) struct Kv {
    pub(super) k: Tensor,
    pub(super) v: Tensor,
}

/// What the tokens of a pass see in one layer.
pub(super) struct Visible {
    /// Seen by all tokens, all of it; `[kv heads, shared, head width]`.
    pub(super) shared: Option<Kv>,
    /// Seen by one group of tokens each: `[kv heads * groups, longest, head width]`. The groups are equal parts of the
    /// list of tokens, in order.
    pub(super) own: Kv,
    /// Added to the scores of `own`: 0 or minus infinity, `[kv heads * groups, tokens of a group * query heads per
    /// kv head, longest]`.
    pub(super) mask: Option<Tensor>,
}

/// The memory of a pass: takes each layer's new keys and values and says what is visible then.
pub(super) trait KeyValues {
    fn exchange(&mut self, layer: usize, new: Kv) -> Result<Visible>;
}

/// A linear map; the weight is `[out, in]` as in the file.
struct Linear {
    weight: Tensor,
    bias: Option<Tensor>,
}

impl Linear {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = product(x, &self.weight)?;
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

struct Layer {
    attention_norm: Tensor,
    /// Query, key and value in one map, its rows ordered by kv head: that head's queries, its key, its value.
    qkv: Linear,
    output: Linear,
    feed_forward_norm: Tensor,
    gate: Linear,
    up: Linear,
    down: Linear,
}

/// A loaded model.
pub(super) struct Llama {
    pub(super) config: Config,
    embedding: Tensor,
    layers: Vec<Layer>,
    norm: Tensor,
    /// `[vocabulary, width]`; the embedding where the two are tied.
    head: Tensor,
}

impl Llama {
    pub(super) fn load(config: Config, weights: &mut dyn Weights) -> std::result::Result<Self, WeightsError> {
        let c = &config;
        let embedding = weights.tensor("token_embd.weight", &[c.vocabulary, c.width])?;
        let layers =
            (0..c.layers).map(|i| Layer::load(c, i, weights)).collect::<std::result::Result<_, _>>()?;
        let norm = weights.tensor("output_norm.weight", &[c.width])?;
        let head = if weights.has("output.weight") {
            weights.tensor("output.weight", &[c.vocabulary, c.width])?
        } else {
            embedding.clone()
        };
        Ok(Self { config, embedding, layers, norm, head })
    }

    /// Runs `tokens` at their `positions` through all layers; the result `[tokens, width]` is not yet normalised.
    pub(super) fn forward(
        &self,
        tokens: &[u32],
        positions: &[u32],
        kv: &mut dyn KeyValues,
    ) -> Result<Tensor> {
        let rotation = Rotation::new(&self.config, positions)?;
        let mut x = self.embedding.index_select(&indices(tokens)?, 0)?;
        for (i, layer) in self.layers.iter().enumerate() {
            x = layer.forward(&self.config, x, &rotation, &mut |new| kv.exchange(i, new))?;
        }
        Ok(x)
    }

    /// Logits of some rows of what `forward` returned, one vector of `vocabulary` each.
    pub(super) fn logits(&self, hidden: &Tensor, rows: &[u32]) -> Result<Vec<Vec<f32>>> {
        let hidden = hidden.index_select(&indices(rows)?, 0)?;
        product(&ops::rms_norm(&hidden, &self.norm, self.config.norm_epsilon)?, &self.head)?.to_vec2()
    }
}

/// Angles of one pass, laid out like its queries and its keys.
struct Rotation {
    style: Rotary,
    queries: (Tensor, Tensor),
    keys: (Tensor, Tensor),
}

impl Rotation {
    fn new(c: &Config, positions: &[u32]) -> Result<Self> {
        let per_key = c.heads / c.kv_heads;
        let repeated: Vec<u32> = positions.iter().flat_map(|&p| std::iter::repeat_n(p, per_key)).collect();
        Ok(Self { style: c.rotary, queries: angles(c, &repeated)?, keys: angles(c, positions)? })
    }

    /// Rotates `x` `[heads, tokens, head width]`, `angles` having one row per token.
    fn apply(&self, x: &Tensor, (cos, sin): &(Tensor, Tensor)) -> Result<Tensor> {
        let rotate = match self.style {
            Rotary::Interleaved => rotary_emb::rope_i,
            Rotary::Halves => rotary_emb::rope,
        };
        rotate(&x.unsqueeze(1)?, cos, sin)?.squeeze(1)
    }
}

impl Layer {
    fn load(c: &Config, index: usize, weights: &mut dyn Weights) -> std::result::Result<Self, WeightsError> {
        let name = |part: &str| format!("blk.{index}.{part}.weight");
        let mut linear = |part: &str, rows, columns| {
            Ok::<_, WeightsError>(Linear {
                weight: weights.tensor(&name(part), &[rows, columns])?,
                bias: None,
            })
        };
        let output = linear("attn_output", c.width, c.heads * c.head_width)?;
        let gate = linear("ffn_gate", c.feed_forward, c.width)?;
        let up = linear("ffn_up", c.feed_forward, c.width)?;
        let down = linear("ffn_down", c.width, c.feed_forward)?;
        Ok(Self {
            attention_norm: weights.tensor(&name("attn_norm"), &[c.width])?,
            qkv: query_key_value(c, index, weights)?,
            output,
            feed_forward_norm: weights.tensor(&name("ffn_norm"), &[c.width])?,
            gate,
            up,
            down,
        })
    }

    fn forward(
        &self,
        c: &Config,
        x: Tensor,
        rotation: &Rotation,
        exchange: &mut dyn FnMut(Kv) -> Result<Visible>,
    ) -> Result<Tensor> {
        let x = (self.attend(
            c,
            &ops::rms_norm(&x, &self.attention_norm, c.norm_epsilon)?,
            rotation,
            exchange,
        )? + x)?;
        let y = ops::rms_norm(&x, &self.feed_forward_norm, c.norm_epsilon)?;
        let y = self.gate.forward(&y)?.apply_op2_no_bwd(&self.up.forward(&y)?, &SiluProduct)?;
        self.down.forward(&y)? + x
    }

    fn attend(
        &self,
        c: &Config,
        y: &Tensor,
        rotation: &Rotation,
        exchange: &mut dyn FnMut(Kv) -> Result<Visible>,
    ) -> Result<Tensor> {
        let (tokens, group) = (y.dim(0)?, c.heads / c.kv_heads);
        // [kv heads, tokens, queries of the head + key + value, head width]: everything per head is a plain view.
        let qkv =
            self.qkv.forward(y)?.reshape((tokens, c.kv_heads, group + 2, c.head_width))?.transpose(0, 1)?;
        let queries = qkv.narrow(2, 0, group)?.contiguous()?;
        let queries = queries.reshape((c.kv_heads, tokens * group, c.head_width))?;
        let queries = rotation.apply(&queries, &rotation.queries)?;
        let new = Kv {
            k: rotation.apply(&qkv.i((.., .., group))?.contiguous()?, &rotation.keys)?,
            v: qkv.i((.., .., group + 1))?.contiguous()?,
        };
        let seen = attention(&queries, &exchange(new)?)?;
        let seen = seen.reshape((c.kv_heads, tokens, group, c.head_width))?.transpose(0, 1)?;
        self.output.forward(&seen.reshape((tokens, c.heads * c.head_width))?)
    }
}

/// Attention of `q` `[kv heads, tokens * queries, head width]` (scaled already) over both visible parts, one softmax
/// over them together. The queries of all tokens are folded into one product with the shared part, which is read once.
fn attention(q: &Tensor, visible: &Visible) -> Result<Tensor> {
    let (heads, queries, width) = q.dims3()?;
    let (batches, longest, _) = visible.own.k.dims3()?;
    let by_group = (batches, heads * queries / batches, width);
    let own = q.reshape(by_group)?.matmul(&visible.own.k.t()?)?;
    let own = match &visible.mask {
        Some(mask) => (own + mask)?,
        None => own,
    };
    let Some(shared) = &visible.shared else {
        return ops::softmax_last_dim(&own)?.matmul(&visible.own.v)?.reshape(q.shape());
    };
    let common = shared.k.dim(1)?;
    let scores = [&q.matmul(&shared.k.t()?)?, &own.reshape((heads, queries, longest))?];
    let weights = ops::softmax_last_dim(&Tensor::cat(&scores, D::Minus1)?)?;
    let from_shared = weights.narrow(2, 0, common)?.matmul(&shared.v)?;
    let weights = weights.reshape((batches, by_group.1, common + longest))?;
    from_shared + weights.narrow(2, common, longest)?.matmul(&visible.own.v)?.reshape(q.shape())?
}

/// Joins the three maps, rows reordered by kv head, and takes the scale of the scores into the queries.
fn query_key_value(
    c: &Config,
    index: usize,
    weights: &mut dyn Weights,
) -> std::result::Result<Linear, WeightsError> {
    let biased = weights.has(&format!("blk.{index}.attn_q.bias"));
    let weight = joined(c, index, weights, "weight", &[c.width])?;
    let bias = biased.then(|| joined(c, index, weights, "bias", &[])).transpose()?;
    Ok(Linear { weight, bias })
}

/// One kind of tensor of the three maps, joined; `columns` is what follows the rows in its shape.
fn joined(
    c: &Config,
    index: usize,
    weights: &mut dyn Weights,
    kind: &str,
    columns: &[usize],
) -> std::result::Result<Tensor, WeightsError> {
    let mut part = |name: &str, heads: usize| {
        let shape = [&[heads * c.head_width], columns].concat();
        weights.tensor(&format!("blk.{index}.{name}.{kind}"), &shape)
    };
    let (q, k, v) = (part("attn_q", c.heads)?, part("attn_k", c.kv_heads)?, part("attn_v", c.kv_heads)?);
    let by_head = |t: &Tensor| t.reshape([&[c.kv_heads, t.dim(0)? / c.kv_heads], columns].concat());
    let join = || {
        let q = (q / (c.head_width as f64).sqrt())?;
        Tensor::cat(&[by_head(&q)?, by_head(&k)?, by_head(&v)?], 1)?.flatten(0, 1)
    };
    join().map_err(|source| WeightsError::Tensor { name: format!("blk.{index}.attn_q.{kind}"), source })
}

/// Cosines and sines of `positions`, each `[positions, head width / 2]`.
fn angles(c: &Config, positions: &[u32]) -> Result<(Tensor, Tensor)> {
    let half = c.head_width / 2;
    let frequency = |i: usize| f64::from(c.rotary_base).powf(-2.0 * i as f64 / c.head_width as f64);
    let frequencies: Vec<f64> = (0..half).map(frequency).collect();
    let at = |f: fn(f64) -> f64| {
        let position = |&p: &u32| f64::from(p) / f64::from(c.rotary_scale);
        let values =
            positions.iter().flat_map(|p| frequencies.iter().map(move |w| f(position(p) * w) as f32));
        Tensor::from_vec(values.collect(), (positions.len(), half), &Device::Cpu)
    };
    Ok((at(f64::cos)?, at(f64::sin)?))
}

/// A list of indices as a tensor.
pub(super) fn indices(ids: &[u32]) -> Result<Tensor> {
    Tensor::new(ids, &Device::Cpu)
}
