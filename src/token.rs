//! The vocabulary of a model: each token id with the exact bytes that it adds to a text.
//!
//! Bytes, not strings: a byte-level token may be a part of a UTF-8 sequence. Special tokens add no text and are never
//! proposed inside a hole.

/// Index into a model's vocabulary.
pub type TokenId = u32;

/// What one vocabulary entry adds to the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenText {
    /// Ordinary token: the bytes it appends.
    Bytes(Box<[u8]>),
    /// Control token (sentinel, end of text, role marker) or an unused row of the embedding: never part of a hole.
    Special,
}

/// All tokens of one model, by id.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    tokens: Vec<TokenText>,
}

impl Vocabulary {
    /// `tokens[id]` is the text of token `id`; the length equals the width of the model's logits.
    pub fn new(tokens: Vec<TokenText>) -> Self {
        Self { tokens }
    }

    /// Number of ids, special ones included: the width of a row of logits.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether there are no tokens at all.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Bytes of an ordinary token, `None` for a special one or an id outside the vocabulary.
    pub fn bytes(&self, id: TokenId) -> Option<&[u8]> {
        match self.tokens.get(id as usize)? {
            TokenText::Bytes(bytes) => Some(bytes),
            TokenText::Special => None,
        }
    }

    /// The joint bytes of a sequence; special tokens add nothing.
    pub fn join(&self, ids: &[TokenId]) -> Vec<u8> {
        ids.iter().filter_map(|&id| self.bytes(id)).flatten().copied().collect()
    }
}
