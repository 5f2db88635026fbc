//! A sentence-embedding model (BERT, all-MiniLM): texts in, vectors of length 1 out.
//!
//! Texts of a batch go through the linear maps as one list of tokens; attention is taken text by text. So there is no
//! padding, and a text's vector does not depend on its company but by the order of sums.

use std::path::Path;

use candle_core::{Result, Tensor};
use candle_nn::ops;
use serde::Deserialize;
use tokenizers::TruncationParams;

use super::error::{ModelError, WeightsError};
use super::local::{sha256, threads};
use super::network::{Linear, Place};
use super::weights::{Checkpoint, Loader};

/// Tokens of a text that are read, marks included: what all-MiniLM was trained with (`max_seq_length` of its
/// `sentence_bert_config.json`).
const WINDOW: usize = 256;
/// Tokens that go through the network at once.
const BATCH_TOKENS: usize = 2048;

/// The fields of `config.json` that decide on the network.
#[derive(Debug, Clone, Deserialize)]
struct Config {
    model_type: String,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    vocab_size: usize,
    layer_norm_eps: f32,
    hidden_act: String,
}

impl Config {
    fn read(path: &Path) -> std::result::Result<Self, WeightsError> {
        let text = std::fs::read_to_string(path)?;
        let config: Self = serde_json::from_str(&text)
            .map_err(|source| WeightsError::Json { path: path.to_owned(), source })?;
        if config.model_type != "bert" {
            return Err(WeightsError::Architecture { found: config.model_type });
        }
        let bad = |key: &str, expected| WeightsError::BadValue { key: key.to_owned(), expected };
        if config.hidden_act != "gelu" {
            return Err(bad("hidden_act", "gelu"));
        }
        if config.num_attention_heads == 0 || !config.hidden_size.is_multiple_of(config.num_attention_heads) {
            return Err(bad("num_attention_heads", "a divisor of hidden_size"));
        }
        Ok(config)
    }
}

/// Scale and shift of a layer norm.
struct Norm {
    weight: Tensor,
    bias: Tensor,
    epsilon: f32,
}

impl Norm {
    fn load(c: &Config, name: &str, loader: &mut Loader) -> std::result::Result<Self, WeightsError> {
        let mut part = |part: &str| loader.tensor(&format!("{name}.LayerNorm.{part}"), &[c.hidden_size]);
        Ok(Self { weight: part("weight")?, bias: part("bias")?, epsilon: c.layer_norm_eps })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        ops::layer_norm(x, &self.weight, &self.bias, self.epsilon)
    }
}

struct Layer {
    q: Linear,
    k: Linear,
    v: Linear,
    output: Linear,
    attention_norm: Norm,
    up: Linear,
    down: Linear,
    norm: Norm,
    heads: usize,
}

impl Layer {
    fn load(c: &Config, name: &str, loader: &mut Loader) -> std::result::Result<Self, WeightsError> {
        let (width, inner) = (c.hidden_size, c.intermediate_size);
        let mut map = |part: &str, rows, columns| loader.linear(&format!("{name}.{part}"), rows, columns);
        Ok(Self {
            q: map("attention.self.query", width, width)?,
            k: map("attention.self.key", width, width)?,
            v: map("attention.self.value", width, width)?,
            output: map("attention.output.dense", width, width)?,
            up: map("intermediate.dense", inner, width)?,
            down: map("output.dense", width, inner)?,
            attention_norm: Norm::load(c, &format!("{name}.attention.output"), loader)?,
            norm: Norm::load(c, &format!("{name}.output"), loader)?,
            heads: c.num_attention_heads,
        })
    }

    /// `x` `[tokens, width]`; `lengths`: tokens of each text, in order.
    fn forward(&self, x: &Tensor, lengths: &[usize]) -> Result<Tensor> {
        let (q, k, v) = (self.q.forward(x)?, self.k.forward(x)?, self.v.forward(x)?);
        let mut start = 0;
        let mut seen = Vec::with_capacity(lengths.len());
        for &length in lengths {
            let part = |all: &Tensor| self.split(&all.narrow(0, start, length)?);
            seen.push(Self::attend(&part(&q)?, &part(&k)?, &part(&v)?)?);
            start += length;
        }
        let x = self.attention_norm.forward(&(self.output.forward(&Tensor::cat(&seen, 0)?)? + x)?)?;
        let fed = self.down.forward(&self.up.forward(&x)?.gelu_erf()?)?;
        self.norm.forward(&(fed + x)?)
    }

    /// `[tokens, width]` to `[heads, tokens, head width]`.
    fn split(&self, x: &Tensor) -> Result<Tensor> {
        let (tokens, width) = x.dims2()?;
        x.reshape((tokens, self.heads, width / self.heads))?.transpose(0, 1)?.contiguous()
    }

    fn attend(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        let (heads, tokens, width) = q.dims3()?;
        let scores = (q.matmul(&k.t()?)? * (width as f64).powf(-0.5))?;
        let seen = ops::softmax_last_dim(&scores)?.matmul(v)?;
        seen.transpose(0, 1)?.reshape((tokens, heads * width))
    }
}

/// A loaded embedding model.
pub struct Embedder {
    tokenizer: tokenizers::Tokenizer,
    place: Place,
    words: Tensor,
    /// Position and type together: every text is of the first type.
    positions: Tensor,
    norm: Norm,
    layers: Vec<Layer>,
    threads: Option<rayon::ThreadPool>,
    width: usize,
    sha256: String,
}

impl Embedder {
    /// Loads a checkpoint's directory: `config.json`, weights, `tokenizer.json`. The arithmetic runs on the processor, on
    /// `n_threads` threads, or on rayon's own pool.
    pub fn load(dir: &Path, n_threads: Option<usize>) -> std::result::Result<Self, ModelError> {
        let pool = n_threads.map(threads).transpose()?;
        Self::open(dir, pool)
            .map_err(|source| ModelError::Weights { path: dir.to_owned(), source: Box::new(source) })
    }

    fn open(dir: &Path, pool: Option<rayon::ThreadPool>) -> std::result::Result<Self, WeightsError> {
        let c = Config::read(&dir.join("config.json"))?;
        let mut tokenizer =
            tokenizers::Tokenizer::from_file(dir.join("tokenizer.json")).map_err(WeightsError::Tokenizer)?;
        let max_length = WINDOW.min(c.max_position_embeddings);
        let truncation = TruncationParams { max_length, ..TruncationParams::default() };
        tokenizer.with_padding(None).with_truncation(Some(truncation)).map_err(WeightsError::Tokenizer)?;
        let (tokens, rows) = (tokenizer.get_vocab_size(true), c.vocab_size);
        if tokens > rows {
            return Err(WeightsError::VocabularySize { tokens, rows });
        }
        let mut checkpoint = Checkpoint::open(dir)?;
        let (place, sha256) = (Place::cpu(), sha256(checkpoint.paths())?);
        let loader = &mut Loader::new(&mut checkpoint, &place);
        let name = |part: &str| format!("embeddings.{part}_embeddings.weight");
        let words = loader.tensor(&name("word"), &[c.vocab_size, c.hidden_size])?;
        let position = loader.tensor(&name("position"), &[c.max_position_embeddings, c.hidden_size])?;
        let kinds = loader.tensor(&name("token_type"), &[c.type_vocab_size, c.hidden_size])?;
        let settled = kinds.narrow(0, 0, 1).and_then(|first| position.broadcast_add(&first));
        let positions = settled.map_err(|source| WeightsError::Tensor { name: name("position"), source })?;
        let norm = Norm::load(&c, "embeddings", loader)?;
        let layer = |i| Layer::load(&c, &format!("encoder.layer.{i}"), loader);
        let layers = (0..c.num_hidden_layers).map(layer).collect::<std::result::Result<_, _>>()?;
        let width = c.hidden_size;
        Ok(Self { tokenizer, words, positions, norm, layers, threads: pool, width, sha256, place })
    }

    /// Numbers of a vector.
    pub fn width(&self) -> usize {
        self.width
    }

    /// SHA-256 of the weights, in hexadecimal: vectors of different weights must not be compared.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// A vector of length 1 for each text: the mean over its tokens, of which the first 256 are read.
    pub fn embed(&self, texts: &[&str]) -> std::result::Result<Vec<Vec<f32>>, ModelError> {
        let mut tokens = Vec::with_capacity(texts.len());
        for text in texts {
            let tokenise = |source| ModelError::Tokenise { bytes: text.len(), source };
            tokens.push(self.tokenizer.encode_fast(*text, true).map_err(tokenise)?.get_ids().to_vec());
        }
        let compute = || self.embed_tokens(&tokens);
        let vectors = match &self.threads {
            Some(threads) => threads.install(compute),
            None => compute(),
        };
        vectors.map_err(|source| ModelError::Compute { operation: "embed", source })
    }

    fn embed_tokens(&self, texts: &[Vec<u32>]) -> Result<Vec<Vec<f32>>> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut rest = texts;
        while !rest.is_empty() {
            let mut n_tokens = 0;
            let fits = |text: &&Vec<u32>| {
                n_tokens += text.len();
                n_tokens <= BATCH_TOKENS
            };
            let n = rest.iter().take_while(fits).count().max(1);
            vectors.extend(self.embed_batch(&rest[..n])?);
            rest = &rest[n..];
        }
        Ok(vectors)
    }

    fn embed_batch(&self, texts: &[Vec<u32>]) -> Result<Vec<Vec<f32>>> {
        let lengths: Vec<usize> = texts.iter().map(Vec::len).collect();
        let positions: Vec<u32> = lengths.iter().flat_map(|&length| 0..length as u32).collect();
        let words = self.words.index_select(&self.place.indices(&texts.concat())?, 0)?;
        let positions = self.positions.index_select(&self.place.indices(&positions)?, 0)?;
        let mut x = self.norm.forward(&(words + positions)?)?;
        for layer in &self.layers {
            x = layer.forward(&x, &lengths)?;
        }
        let mut start = 0;
        let mean = |&length: &usize| -> Result<Vec<f32>> {
            let mean = x.narrow(0, start, length)?.mean(0)?.to_vec1()?;
            start += length;
            Ok(unit(mean))
        };
        lengths.iter().map(mean).collect()
    }
}

/// The vector in its direction of length 1; nothing has no direction and stays.
fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        for x in &mut vector {
            *x /= length;
        }
    }
    vector
}
