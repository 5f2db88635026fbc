//! Language models on candle: weights, prompt layout, keys and values. Tensors stay inside.
//!
//! The [`Model`] seam speaks of token ids, logits and nodes of the key-value pool only. [`load`] opens the weights on
//! this machine: a GGUF file, dequantised on load, or a checkpoint as the hub has it. The architecture is told by the
//! metadata, the prompt's layout by the architecture and the tokenizer's special tokens, neither by a file's name.
//!
//! # How a hole ends
//! A family that was trained to infill has tokens for it: [`HoleEnd::Tokens`]. A left-to-right model (`SmolLM2`) has
//! none. Its end is [`HoleEnd::Structural`]: for whole lines the model has reached the end where it would go on
//! with what follows the hole, that is, where it writes the newline (one token with the indentation after it, often)
//! that the suffix begins with. The decoder recognises that in the text; nothing in this module looks for it. For the
//! same reason a hole of whole lines starts *before* the newline that ends the line above it: that newline and the
//! hole's own indentation are one token, which the hole has to be free to choose.
//!
//! # Deliberately absent
//! Sampling, masks, probabilities (the decoder's), tokens' meaning in Java, and reading the environment.

mod decoder;
mod device;
mod embedder;
mod error;
mod gguf;
mod hub;
mod hub_config;
mod kernels;
mod known;
mod layout;
mod local;
mod names;
mod network;
mod pool;
mod position;
#[cfg(test)]
mod reference;
mod t5;
mod tokenizer;
mod weights;

use std::path::{Path, PathBuf};

pub use device::{DeviceChoice, UnknownDevice};
pub use embedder::Embedder;
pub use error::{ModelError, WeightsError};
pub use hub::{Download, Hub, locate};
pub use known::{KNOWN, Known};
pub use tokenizer::Tokenizer;

use crate::token::{TokenId, Vocabulary};

/// A computed position: its keys and values are in the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KvNode(pub u32);

impl KvNode {
    /// The last position of the prompt, parent of every first token of a hole.
    pub const PROMPT: KvNode = KvNode(0);
}

/// One row of a step: `tokens` (at least one) appended below `parent`.
#[derive(Debug, Clone)]
pub struct Row {
    /// Where the row continues.
    pub parent: KvNode,
    /// Tokens to append, in order.
    pub tokens: Vec<TokenId>,
}

/// One appended position.
#[derive(Debug, Clone)]
pub struct Position {
    /// Its place in the pool, parent of what follows.
    pub node: KvNode,
    /// Unnormalised logits of the next token, one per vocabulary id.
    pub logits: Vec<f32>,
}

/// Text around a hole, as a model family may lay it out.
#[derive(Debug, Clone, Default)]
pub struct PromptParts<'a> {
    /// Chunks of the repository shown first, best first, each with its citation `path:first-last`.
    pub context: Vec<(&'a str, &'a str)>,
    /// File text before the hole.
    pub prefix: &'a str,
    /// File text after the hole.
    pub suffix: &'a str,
}

/// A laid-out prompt and what had to be left out of it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Prompt {
    /// Token ids, ready to be primed.
    pub ids: Vec<TokenId>,
    /// Tokens of the prefix that did not fit (cut at its start).
    pub prefix_cut: usize,
    /// Tokens of the suffix that did not fit (cut at its end).
    pub suffix_cut: usize,
    /// Citations of the context chunks that are in the prompt.
    pub context: Vec<String>,
}

/// How a hole ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HoleEnd {
    /// The model was trained to infill: one of these tokens ends the hole.
    Tokens(Vec<TokenId>),
    /// The model was not: the hole ends where the generated text goes on with what follows the hole.
    Structural,
}

/// What the run's manifest says of a model.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Identity {
    /// The name that the weights give themselves.
    pub name: String,
    /// Architecture of the network, as the weights name it.
    pub architecture: String,
    /// The file that was loaded.
    pub path: PathBuf,
    /// SHA-256 of that file, in hexadecimal.
    pub sha256: String,
    /// Licence of the weights, if they say.
    pub licence: Option<String>,
}

/// How many tokens each part of a prompt may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PromptBudget {
    /// File text before the hole.
    pub prefix: usize,
    /// File text after the hole.
    pub suffix: usize,
    /// Chunks of the repository, their paths included.
    pub context: usize,
}

impl Default for PromptBudget {
    /// About what a small model makes use of; 900 tokens take some 3 s of one core to prime.
    fn default() -> Self {
        Self { prefix: 400, suffix: 120, context: 380 }
    }
}

/// How to load a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadOptions {
    /// Most bytes for keys and values below the prompt.
    pub kv_bytes: usize,
    /// Threads for the arithmetic; `None` leaves it to rayon's global pool. Candle spreads element-wise operations of
    /// 65,536 elements and more (only prompts have such) over a pool of its own, which `RAYON_NUM_THREADS` alone bounds.
    pub threads: Option<usize>,
    /// Sizes of the parts of a prompt; `None` for what the family makes use of.
    pub budget: Option<PromptBudget>,
    /// Where the arithmetic runs.
    pub device: DeviceChoice,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { kv_bytes: 1 << 30, threads: None, budget: None, device: DeviceChoice::Cpu }
    }
}

/// Loads weights: a `.gguf` file, a directory that holds exactly one, or a checkpoint's directory (`config.json` with
/// safetensors or pickled weights and a tokenizer).
///
/// Everything that can be wrong with them is told here ([`ModelError::Weights`] with its [`WeightsError`]).
pub fn load(path: &Path, options: LoadOptions) -> Result<Box<dyn Model + Send>, ModelError> {
    Ok(Box::new(local::LocalModel::load(path, options)?))
}

/// Loads a tokenizer alone: that of a GGUF file, or of a directory with `vocab.json` and `merges.txt`.
pub fn load_tokenizer(path: &Path) -> Result<Tokenizer, ModelError> {
    let tokenizer = if path.join("vocab.json").is_file() {
        Tokenizer::from_dir(path, &[])
    } else {
        gguf::Gguf::open(path).and_then(|gguf| Tokenizer::from_gguf(&gguf))
    };
    tokenizer.map_err(|source| ModelError::Weights { path: path.to_owned(), source: Box::new(source) })
}

/// An infilling model. The seam: candle computes, or a script in tests.
pub trait Model {
    /// What the run's manifest says of this model.
    fn identity(&self) -> &Identity;

    /// Texts of all ids.
    fn vocabulary(&self) -> &Vocabulary;

    /// How a hole ends for this family.
    fn hole_end(&self) -> HoleEnd;

    /// Lays a hole out in the family's own way, within its context window.
    fn prompt(&self, parts: &PromptParts) -> Result<Prompt, ModelError>;

    /// Tokenises text that continues what was generated so far. The tokens' bytes are the text's, or it is an error.
    fn encode(&self, text: &str) -> Result<Vec<TokenId>, ModelError>;

    /// Forgets all positions, computes the prompt once and returns the logits of the first token of the hole.
    fn prime(&mut self, prompt: &[TokenId]) -> Result<Vec<f32>, ModelError>;

    /// Appends rows of mixed depth in one step. `result[i][j]` is the position of `rows[i].tokens[j]`.
    ///
    /// Logits of the same position computed in different company agree to about 1e-5 only: sums are taken in another
    /// order. After an error that is not about the rows themselves a prompt must be primed again.
    fn extend(&mut self, rows: &[Row]) -> Result<Vec<Vec<Position>>, ModelError>;
}
