//! T5: an encoder reads the prompt, a decoder writes the hole.
//!
//! Positions enter as a bias on the attention scores, by distance: the encoder's buckets tell left from right, the
//! decoder's know the past only (candle-transformers 0.11 takes the encoder's for both). The cross-attention's keys and
//! values are computed once per prompt and shared by all rows.

mod bucket;

use candle_core::{DType, Result, Tensor};
use candle_nn::ops;

use super::error::WeightsError;
use super::kernels::product;
use super::network::{KeyValues, Kv, Linear, Network, Place, Shape, attention};
use super::weights::{Loader, Weights};
use crate::token::TokenId;
pub(super) use bucket::Buckets;
use bucket::Direction;

/// Shape of a model.
#[derive(Debug, Clone)]
pub(super) struct Config {
    /// Of the decoder; `kv_heads` equals `heads`.
    pub(super) shape: Shape,
    pub(super) encoder_layers: usize,
    pub(super) width: usize,
    pub(super) feed_forward: usize,
    pub(super) buckets: Buckets,
    pub(super) norm_epsilon: f32,
    /// Whether the feed-forward part is a gated GELU instead of a RELU.
    pub(super) gated: bool,
    /// Whether the output head is the embedding.
    pub(super) tied: bool,
    /// Whether the decoder's output is scaled by `width^-0.5`.
    pub(super) scaled_output: bool,
    /// What the decoder begins with: its start token and the sentinel that the hole begins with.
    pub(super) decoder_start: Vec<TokenId>,
}

/// Query, key, value and output of one attention.
struct Maps {
    q: Linear,
    k: Linear,
    v: Linear,
    o: Linear,
}

impl Maps {
    fn load(c: &Config, name: &str, loader: &mut Loader) -> std::result::Result<Self, WeightsError> {
        let inner = c.shape.heads * c.shape.head_width;
        let mut into = |part: &str| loader.linear(&format!("{name}.{part}"), inner, c.width);
        let (q, k, v) = (into("q")?, into("k")?, into("v")?);
        Ok(Self { q, k, v, o: loader.linear(&format!("{name}.o"), c.width, inner)? })
    }

    fn keys_and_values(&self, c: &Config, x: &Tensor) -> Result<Kv> {
        Ok(Kv { k: split(c, &self.k.forward(x)?)?, v: split(c, &self.v.forward(x)?)? })
    }

    fn output(&self, seen: &Tensor) -> Result<Tensor> {
        let (heads, tokens, width) = seen.dims3()?;
        self.o.forward(&seen.transpose(0, 1)?.reshape((tokens, heads * width))?)
    }
}

/// `[tokens, heads * head width]` to `[heads, tokens, head width]`.
fn split(c: &Config, x: &Tensor) -> Result<Tensor> {
    x.reshape((x.dim(0)?, c.shape.heads, c.shape.head_width))?.transpose(0, 1)?.contiguous()
}

struct FeedForward {
    /// The gate, or the only map.
    first: Linear,
    second: Option<Linear>,
    down: Linear,
}

impl FeedForward {
    fn load(c: &Config, name: &str, loader: &mut Loader) -> std::result::Result<Self, WeightsError> {
        let mut up = |part: &str| loader.linear(&format!("{name}.{part}"), c.feed_forward, c.width);
        let (first, second) = if c.gated { (up("wi_0")?, Some(up("wi_1")?)) } else { (up("wi")?, None) };
        Ok(Self { first, second, down: loader.linear(&format!("{name}.wo"), c.width, c.feed_forward)? })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let first = self.first.forward(x)?;
        let inner = match &self.second {
            Some(second) => (first.gelu()? * second.forward(x)?)?,
            None => first.relu()?,
        };
        self.down.forward(&inner)
    }
}

/// A layer of the encoder, or of the decoder where it attends to the encoder's output.
struct Block {
    attention: (Tensor, Maps),
    cross: Option<(Tensor, Maps)>,
    feed_forward: (Tensor, FeedForward),
}

impl Block {
    fn load(
        c: &Config,
        name: &str,
        is_decoder: bool,
        loader: &mut Loader,
    ) -> std::result::Result<Self, WeightsError> {
        let norm = |loader: &mut Loader, layer: usize| {
            loader.tensor(&format!("{name}.layer.{layer}.layer_norm.weight"), &[c.width])
        };
        let attention = Maps::load(c, &format!("{name}.layer.0.SelfAttention"), loader)?;
        let cross = is_decoder.then(|| {
            let maps = Maps::load(c, &format!("{name}.layer.1.EncDecAttention"), loader)?;
            Ok::<_, WeightsError>((norm(loader, 1)?, maps))
        });
        let cross = cross.transpose()?;
        let last = 1 + usize::from(is_decoder);
        let feed_forward = FeedForward::load(c, &format!("{name}.layer.{last}.DenseReluDense"), loader)?;
        Ok(Self {
            attention: (norm(loader, 0)?, attention),
            cross,
            feed_forward: (norm(loader, last)?, feed_forward),
        })
    }

    fn feed(&self, c: &Config, x: Tensor) -> Result<Tensor> {
        let (norm, feed_forward) = &self.feed_forward;
        feed_forward.forward(&ops::rms_norm(&x, norm, c.norm_epsilon)?)? + x
    }
}

/// Blocks with what they share.
struct Stack {
    blocks: Vec<Block>,
    /// `[buckets, heads]`.
    bias: Tensor,
    norm: Tensor,
}

impl Stack {
    fn load(
        c: &Config,
        name: &str,
        layers: usize,
        loader: &mut Loader,
    ) -> std::result::Result<Self, WeightsError> {
        let block = |i| Block::load(c, &format!("{name}.block.{i}"), name == "decoder", loader);
        let blocks = (0..layers).map(block).collect::<std::result::Result<_, _>>()?;
        let bias = format!("{name}.block.0.layer.0.SelfAttention.relative_attention_bias.weight");
        let bias = loader.tensor(&bias, &[c.buckets.number, c.shape.heads])?;
        let norm = loader.tensor(&format!("{name}.final_layer_norm.weight"), &[c.width])?;
        Ok(Self { blocks, bias, norm })
    }

    /// What is added to the scores of tokens at `positions` for keys at 0, 1, .. `keys`: `[heads, positions, keys]`.
    fn bias(
        &self,
        c: &Config,
        place: &Place,
        positions: &[u32],
        keys: usize,
        way: Direction,
    ) -> Result<Tensor> {
        let of = |&query: &u32| (0..keys as u32).map(move |key| c.buckets.of(query, key, way));
        let buckets: Vec<u32> = positions.iter().flat_map(of).collect();
        let bias = self.bias.index_select(&place.indices(&buckets)?, 0)?;
        bias.reshape((positions.len(), keys, c.shape.heads))?.permute((2, 0, 1))?.contiguous()
    }
}

/// A loaded model.
pub(super) struct T5 {
    config: Config,
    place: Place,
    embedding: Tensor,
    encoder: Stack,
    decoder: Stack,
    head: Tensor,
    /// Of the prompt, one entry per layer of the decoder.
    cross: Vec<Kv>,
}

impl T5 {
    pub(super) fn load(
        config: Config,
        place: Place,
        weights: &mut dyn Weights,
    ) -> std::result::Result<Self, WeightsError> {
        let (c, loader) = (&config, &mut Loader::new(weights, &place));
        let names = ["shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"];
        let name = names.into_iter().find(|name| loader.has(name)).unwrap_or(names[0]);
        let embedding = loader.tensor(name, &[c.shape.vocabulary, c.width])?;
        let encoder = Stack::load(c, "encoder", c.encoder_layers, loader)?;
        let decoder = Stack::load(c, "decoder", c.shape.layers, loader)?;
        let own_head = !c.tied && loader.has("lm_head.weight");
        let head = if own_head {
            loader.tensor("lm_head.weight", &[c.shape.vocabulary, c.width])?
        } else {
            embedding.clone()
        };
        Ok(Self { config, place, embedding, encoder, decoder, head, cross: Vec::new() })
    }

    /// The encoder's output for a prompt, `[tokens, width]`.
    fn encode(&self, prompt: &[TokenId]) -> Result<Tensor> {
        let c = &self.config;
        let positions: Vec<u32> = (0..prompt.len() as u32).collect();
        let bias = self.encoder.bias(c, &self.place, &positions, prompt.len(), Direction::Both)?;
        let mut x = self.embedding.index_select(&self.place.indices(prompt)?, 0)?;
        for block in &self.encoder.blocks {
            let (norm, maps) = &block.attention;
            let y = ops::rms_norm(&x, norm, c.norm_epsilon)?;
            let kv = maps.keys_and_values(c, &y)?;
            let scores = (split(c, &maps.q.forward(&y)?)?.matmul(&kv.k.t()?)? + &bias)?;
            x = (maps.output(&ops::softmax_last_dim(&scores)?.matmul(&kv.v)?)? + x)?;
            x = block.feed(c, x)?;
        }
        ops::rms_norm(&x, &self.encoder.norm, c.norm_epsilon)
    }

    /// What the decoder's tokens take from the prompt.
    fn look_at_prompt(&self, layer: usize, block: &Block, x: Tensor) -> Result<Tensor> {
        let Some((norm, maps)) = &block.cross else { return Ok(x) };
        let c = &self.config;
        let q = split(c, &maps.q.forward(&ops::rms_norm(&x, norm, c.norm_epsilon)?)?)?;
        let cross = &self.cross[layer];
        let weights = ops::softmax_last_dim(&q.matmul(&cross.k.t()?)?)?;
        maps.output(&weights.matmul(&cross.v)?)? + x
    }
}

impl Network for T5 {
    fn shape(&self) -> &Shape {
        &self.config.shape
    }

    fn place(&self) -> &Place {
        &self.place
    }

    fn begin(&mut self, prompt: &[TokenId]) -> Result<Vec<TokenId>> {
        let encoded = self.encode(prompt)?;
        let cross = self.decoder.blocks.iter().filter_map(|block| block.cross.as_ref());
        self.cross =
            cross.map(|(_, maps)| maps.keys_and_values(&self.config, &encoded)).collect::<Result<_>>()?;
        Ok(self.config.decoder_start.clone())
    }

    fn forward(&self, tokens: &[TokenId], positions: &[u32], kv: &mut dyn KeyValues) -> Result<Tensor> {
        let c = &self.config;
        let mut x = self.embedding.index_select(&self.place.indices(tokens)?, 0)?;
        let mut bias = None;
        for (i, block) in self.decoder.blocks.iter().enumerate() {
            let (norm, maps) = &block.attention;
            let y = ops::rms_norm(&x, norm, c.norm_epsilon)?;
            let visible = kv.exchange(i, maps.keys_and_values(c, &y)?)?;
            let keys = visible.n_shared()? + visible.n_own()?;
            // The first layer's bias is every layer's.
            if bias.is_none() {
                bias = Some(self.decoder.bias(c, &self.place, positions, keys, Direction::Past)?);
            }
            let seen = attention(&split(c, &maps.q.forward(&y)?)?, &visible, bias.as_ref())?;
            x = (maps.output(&seen)? + x)?;
            x = block.feed(c, self.look_at_prompt(i, block, x)?)?;
        }
        Ok(x)
    }

    fn logits(&self, hidden: &Tensor, rows: &[u32]) -> Result<Vec<Vec<f32>>> {
        let hidden = hidden.index_select(&self.place.indices(rows)?, 0)?;
        let hidden = ops::rms_norm(&hidden, &self.decoder.norm, self.config.norm_epsilon)?;
        let scale = if self.config.scaled_output { (self.config.width as f64).powf(-0.5) } else { 1.0 };
        product(&(hidden * scale)?, &self.head)?.to_dtype(DType::F32)?.to_vec2()
    }
}
