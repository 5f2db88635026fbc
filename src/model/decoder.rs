//! Decoder-only transformers: one module with switches for the families that people use for infilling.
//!
//! What differs between them is in [`Config`] (norm, positions, feed-forward, scale of the embedding) or seen by what the
//! weights hold (biases, an output head of its own). Tensors go by GGUF's names; [`super::names`] knows what they are
//! called elsewhere.

use candle_core::{IndexOp, Result, Tensor};
use candle_nn::ops;

use super::error::WeightsError;
use super::kernels::{product, silu_product};
use super::network::{KeyValues, Kv, Linear, Network, Place, Shape, Visible, attention};
use super::position::{Positions, Rotation, absolute};
use super::weights::{Loader, Weights};
use crate::token::TokenId;

/// How a layer's input is brought to one scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NormKind {
    /// By its root mean square.
    Rms,
    /// By its mean and variance, with a bias.
    Layer,
}

/// The function between the two maps of a feed-forward part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activation {
    Silu,
    /// By the error function.
    Gelu,
    /// GPT-2's approximation by the hyperbolic tangent.
    GeluTanh,
    Relu,
}

impl Activation {
    fn apply(self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::Silu => x.silu(),
            Self::Gelu => x.gelu_erf(),
            Self::GeluTanh => x.gelu(),
            Self::Relu => x.relu(),
        }
    }
}

/// Shape of a model.
#[derive(Debug, Clone)]
pub(super) struct Config {
    pub(super) shape: Shape,
    pub(super) width: usize,
    pub(super) feed_forward: usize,
    pub(super) norm: NormKind,
    pub(super) norm_epsilon: f32,
    pub(super) positions: Positions,
    pub(super) activation: Activation,
    /// Whether the activation gates a second map.
    pub(super) gated: bool,
    /// Embeddings are multiplied by this; 1 for most.
    pub(super) embedding_scale: f64,
}

struct Norm {
    weight: Tensor,
    bias: Option<Tensor>,
    epsilon: f32,
}

impl Norm {
    fn load(c: &Config, name: &str, loader: &mut Loader) -> std::result::Result<Self, WeightsError> {
        let weight = loader.tensor(&format!("{name}.weight"), &[c.width])?;
        let biased = c.norm == NormKind::Layer;
        let bias = biased.then(|| loader.tensor(&format!("{name}.bias"), &[c.width])).transpose()?;
        Ok(Self { weight, bias, epsilon: c.norm_epsilon })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match &self.bias {
            Some(bias) => ops::layer_norm(x, &self.weight, bias, self.epsilon),
            None => ops::rms_norm(x, &self.weight, self.epsilon),
        }
    }
}

struct FeedForward {
    activation: Activation,
    gate: Option<Linear>,
    up: Linear,
    down: Linear,
}

impl FeedForward {
    fn load(c: &Config, layer: usize, loader: &mut Loader) -> std::result::Result<Self, WeightsError> {
        let name = |part: &str| format!("blk.{layer}.ffn_{part}");
        let gate = c.gated.then(|| loader.linear(&name("gate"), c.feed_forward, c.width)).transpose()?;
        let up = loader.linear(&name("up"), c.feed_forward, c.width)?;
        let down = loader.linear(&name("down"), c.width, c.feed_forward)?;
        Ok(Self { activation: c.activation, gate, up, down })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let up = self.up.forward(x)?;
        let inner = match (&self.gate, self.activation) {
            (Some(gate), Activation::Silu) => silu_product(&gate.forward(x)?, &up)?,
            (Some(gate), activation) => (activation.apply(&gate.forward(x)?)? * up)?,
            (None, activation) => activation.apply(&up)?,
        };
        self.down.forward(&inner)
    }
}

struct Layer {
    attention_norm: Norm,
    /// Query, key and value in one map, its rows ordered by kv head: that head's queries, its key, its value.
    qkv: Linear,
    output: Linear,
    feed_forward_norm: Norm,
    feed_forward: FeedForward,
}

/// A loaded model.
pub(super) struct Decoder {
    config: Config,
    place: Place,
    embedding: Tensor,
    /// Learnt positions, if the family has them.
    positions: Option<Tensor>,
    layers: Vec<Layer>,
    norm: Norm,
    /// `[vocabulary, width]`; the embedding where the two are tied.
    head: Tensor,
}

impl Decoder {
    pub(super) fn load(
        config: Config,
        place: Place,
        weights: &mut dyn Weights,
    ) -> std::result::Result<Self, WeightsError> {
        let (c, loader) = (&config, &mut Loader::new(weights, &place));
        let embedding = loader.tensor("token_embd.weight", &[c.shape.vocabulary, c.width])?;
        let positions = (c.positions == Positions::Learned)
            .then(|| loader.tensor("position_embd.weight", &[c.shape.window, c.width]))
            .transpose()?;
        let layers =
            (0..c.shape.layers).map(|i| Layer::load(c, i, loader)).collect::<std::result::Result<_, _>>()?;
        let norm = Norm::load(c, "output_norm", loader)?;
        let head = if loader.has("output.weight") {
            loader.tensor("output.weight", &[c.shape.vocabulary, c.width])?
        } else {
            embedding.clone()
        };
        Ok(Self { config, place, embedding, positions, layers, norm, head })
    }

    /// Embeddings of tokens, positions added where the family adds them.
    fn embed(&self, tokens: &[TokenId], positions: &[u32]) -> Result<Tensor> {
        let x = self.embedding.index_select(&self.place.indices(tokens)?, 0)?;
        let scale = self.config.embedding_scale;
        let x = if (scale - 1.0).abs() > f64::EPSILON { (x * scale)? } else { x };
        match (&self.positions, &self.config.positions) {
            (Some(learnt), _) => x + learnt.index_select(&self.place.indices(positions)?, 0)?,
            (None, Positions::Sinusoidal { offset }) => {
                let values = absolute(positions, *offset, self.config.width);
                x + self.place.tensor(values, (positions.len(), self.config.width))?
            }
            (None, _) => Ok(x),
        }
    }
}

impl Network for Decoder {
    fn shape(&self) -> &Shape {
        &self.config.shape
    }

    fn place(&self) -> &Place {
        &self.place
    }

    fn forward(&self, tokens: &[TokenId], positions: &[u32], kv: &mut dyn KeyValues) -> Result<Tensor> {
        let rotation = Rotation::new(&self.config.positions, &self.config.shape, &self.place, positions)?;
        let mut x = self.embed(tokens, positions)?;
        for (i, layer) in self.layers.iter().enumerate() {
            x = layer.forward(&self.config.shape, x, rotation.as_ref(), &mut |new| kv.exchange(i, new))?;
        }
        Ok(x)
    }

    fn logits(&self, hidden: &Tensor, rows: &[u32]) -> Result<Vec<Vec<f32>>> {
        let hidden = hidden.index_select(&self.place.indices(rows)?, 0)?;
        product(&self.norm.forward(&hidden)?, &self.head)?.to_dtype(candle_core::DType::F32)?.to_vec2()
    }
}

impl Layer {
    fn load(c: &Config, index: usize, loader: &mut Loader) -> std::result::Result<Self, WeightsError> {
        let name = |part: &str| format!("blk.{index}.{part}");
        let output = loader.linear(&name("attn_output"), c.width, c.shape.heads * c.shape.head_width)?;
        let feed_forward = FeedForward::load(c, index, loader)?;
        Ok(Self {
            attention_norm: Norm::load(c, &name("attn_norm"), loader)?,
            qkv: query_key_value(c, index, loader)?,
            output,
            feed_forward_norm: Norm::load(c, &name("ffn_norm"), loader)?,
            feed_forward,
        })
    }

    fn forward(
        &self,
        shape: &Shape,
        x: Tensor,
        rotation: Option<&Rotation>,
        exchange: &mut dyn FnMut(Kv) -> Result<Visible>,
    ) -> Result<Tensor> {
        let x = (self.attend(shape, &self.attention_norm.forward(&x)?, rotation, exchange)? + x)?;
        self.feed_forward.forward(&self.feed_forward_norm.forward(&x)?)? + x
    }

    fn attend(
        &self,
        shape: &Shape,
        y: &Tensor,
        rotation: Option<&Rotation>,
        exchange: &mut dyn FnMut(Kv) -> Result<Visible>,
    ) -> Result<Tensor> {
        let (tokens, group) = (y.dim(0)?, shape.heads / shape.kv_heads);
        // [kv heads, tokens, queries of the head + key + value, head width]: everything per head is a plain view.
        let by_head = (tokens, shape.kv_heads, group + 2, shape.head_width);
        let qkv = self.qkv.forward(y)?.reshape(by_head)?.transpose(0, 1)?;
        let queries = qkv.narrow(2, 0, group)?.contiguous()?;
        let queries = queries.reshape((shape.kv_heads, tokens * group, shape.head_width))?;
        let keys = qkv.i((.., .., group))?.contiguous()?;
        let (queries, k) = match rotation {
            Some(rotation) => (rotation.of_queries(&queries)?, rotation.of_keys(&keys)?),
            None => (queries, keys),
        };
        let seen =
            attention(&queries, &exchange(Kv { k, v: qkv.i((.., .., group + 1))?.contiguous()? })?, None)?;
        let seen = seen.reshape((shape.kv_heads, tokens, group, shape.head_width))?.transpose(0, 1)?;
        self.output.forward(&seen.reshape((tokens, shape.heads * shape.head_width))?)
    }
}

/// Joins the three maps, rows reordered by kv head, and takes the scale of the scores into the queries.
fn query_key_value(
    c: &Config,
    index: usize,
    loader: &mut Loader,
) -> std::result::Result<Linear, WeightsError> {
    let biased = loader.has(&format!("blk.{index}.attn_q.bias"));
    let weight = joined(c, index, loader, "weight", &[c.width])?;
    let bias = biased.then(|| joined(c, index, loader, "bias", &[])).transpose()?;
    Ok(Linear { weight, bias })
}

/// One kind of tensor of the three maps, joined; `columns` is what follows the rows in its shape.
fn joined(
    c: &Config,
    index: usize,
    loader: &mut Loader,
    kind: &str,
    columns: &[usize],
) -> std::result::Result<Tensor, WeightsError> {
    let (heads, kv_heads, head_width) = (c.shape.heads, c.shape.kv_heads, c.shape.head_width);
    let mut part = |name: &str, heads: usize| {
        let shape = [&[heads * head_width], columns].concat();
        loader.raw(&format!("blk.{index}.{name}.{kind}"), &shape)
    };
    let (q, k, v) = (part("attn_q", heads)?, part("attn_k", kv_heads)?, part("attn_v", kv_heads)?);
    let by_head = |t: &Tensor| t.reshape([&[kv_heads, t.dim(0)? / kv_heads], columns].concat());
    let join = || {
        let q = (q / (head_width as f64).sqrt())?;
        Tensor::cat(&[by_head(&q)?, by_head(&k)?, by_head(&v)?], 1)?.flatten(0, 1)
    };
    let name = format!("blk.{index}.attn_q.{kind}");
    let joined = join().map_err(|source| WeightsError::Tensor { name: name.clone(), source })?;
    loader.settle(&name, &joined)
}
