//! Language models on candle: weights, prompt layout, keys and values. Tensors stay inside.
//!
//! The [`Model`] seam speaks of token ids, logits and nodes of the key-value pool only.

use crate::token::{TokenId, Vocabulary};

/// A computed position: its keys and values are in the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

/// An infilling model. The seam: candle computes, or a script in tests.
pub trait Model {
    /// Texts of all ids.
    fn vocabulary(&self) -> &Vocabulary;

    /// How a hole ends for this family.
    fn hole_end(&self) -> HoleEnd;

    /// Lays a hole out in the family's own way, within its context window.
    fn prompt(&self, parts: &PromptParts) -> Result<Prompt, ModelError>;

    /// Tokenises text that continues what was generated so far.
    fn encode(&self, text: &str) -> Result<Vec<TokenId>, ModelError>;

    /// Forgets all positions, computes the prompt once and returns the logits of the first token of the hole.
    fn prime(&mut self, prompt: &[TokenId]) -> Result<Vec<f32>, ModelError>;

    /// Appends rows of mixed depth in one step. `result[i][j]` is the position of `rows[i].tokens[j]`.
    fn extend(&mut self, rows: &[Row]) -> Result<Vec<Vec<Position>>, ModelError>;
}

/// What can go wrong with a model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The logits hold NaN or infinity: the weights or the arithmetic are broken.
    #[error("logits at position {position} are not finite")]
    NotFinite {
        /// Position in the sequence, the prompt included.
        position: usize,
    },
}
