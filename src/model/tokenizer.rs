//! Texts and tokens: how source text is cut, and the exact bytes of each token.
//!
//! No special token is registered with the tokenizer, so source text that happens to spell one (`<file_sep>` in a
//! string literal) is tokenised as the ordinary text that it is. Special tokens are looked up by their text instead.
//! Nothing is put in front of a text and nothing in it is normalised: what a prefix and its continuation are tokenised
//! into, apart, spells the two.

mod ggml;
mod huggingface;

use std::collections::HashMap;

use super::error::{ModelError, WeightsError};
use crate::token::{TokenId, TokenText, Vocabulary};

/// A tokenizer with the texts of its tokens.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    vocabulary: Vocabulary,
    special: HashMap<String, TokenId>,
}

/// How the tokens of a vocabulary are spelt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// GPT-2's alphabet of bytes.
    Bytes,
    /// `SentencePiece`: U+2581 for a space, `<0x0A>` for a byte that no token holds.
    Pieces,
}

/// A vocabulary as it was read.
struct Entries {
    spelling: Spelling,
    /// Text of each id, `None` where no token is.
    texts: Vec<Option<String>>,
    special: HashMap<String, TokenId>,
}

impl Tokenizer {
    fn new(inner: tokenizers::Tokenizer, entries: Entries) -> Result<Self, WeightsError> {
        let vocabulary = vocabulary(&entries)?;
        Ok(Self { inner, vocabulary, special: entries.special })
    }

    /// Texts of all ids.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Makes the vocabulary as wide as the model's logits: checkpoints round their embedding up.
    pub(super) fn widen(&mut self, rows: usize) -> Result<(), WeightsError> {
        let tokens = self.vocabulary.len();
        if tokens > rows {
            return Err(WeightsError::VocabularySize { tokens, rows });
        }
        let text =
            |id| self.vocabulary.bytes(id).map_or(TokenText::Special, |bytes| TokenText::Bytes(bytes.into()));
        self.vocabulary = Vocabulary::new((0..rows as TokenId).map(text).collect());
        Ok(())
    }

    pub(super) fn has(&self, text: &str) -> bool {
        self.special.contains_key(text)
    }

    /// The id of a special token.
    pub(super) fn special(&self, text: &'static str) -> Result<TokenId, WeightsError> {
        self.special.get(text).copied().ok_or(WeightsError::MissingToken(text))
    }

    /// Tokens of `text` with the byte at which each begins. A character that the vocabulary cannot spell is left out.
    pub(super) fn encode_with_starts(&self, text: &str) -> Result<(Vec<TokenId>, Vec<usize>), ModelError> {
        let encoded = self.inner.encode(text, false);
        let encoded = encoded.map_err(|source| ModelError::Tokenise { bytes: text.len(), source })?;
        let starts = encoded.get_offsets().iter().map(|&(start, _)| start).collect();
        Ok((encoded.get_ids().to_vec(), starts))
    }

    /// Tokens of `text`; a character that the vocabulary cannot spell is left out.
    pub(super) fn encode_loosely(&self, text: &str) -> Result<Vec<TokenId>, ModelError> {
        Ok(self.encode_with_starts(text)?.0)
    }

    /// Tokens of `text`, which spell it byte for byte.
    pub fn encode(&self, text: &str) -> Result<Vec<TokenId>, ModelError> {
        let ids = self.encode_loosely(text)?;
        if self.vocabulary.join(&ids) == text.as_bytes() {
            Ok(ids)
        } else {
            Err(ModelError::Unspellable { text: text.to_owned() })
        }
    }
}

fn vocabulary(entries: &Entries) -> Result<Vocabulary, WeightsError> {
    let bytes = byte_alphabet();
    let is_special = |id: usize, text: &str| entries.special.get(text) == Some(&(id as TokenId));
    let text = |(id, text): (usize, &Option<String>)| {
        let Some(text) = text.as_deref().filter(|text| !is_special(id, text)) else {
            return Ok(TokenText::Special);
        };
        let spelt: Option<Box<[u8]>> = match entries.spelling {
            Spelling::Bytes => text.chars().map(|c| bytes.get(&c).copied()).collect(),
            Spelling::Pieces => Some(piece(text)),
        };
        spelt.map(TokenText::Bytes).ok_or_else(|| WeightsError::TokenText { id, text: text.to_owned() })
    };
    entries.texts.iter().enumerate().map(text).collect::<Result<_, _>>().map(Vocabulary::new)
}

/// GPT-2's alphabet: printable Latin-1 stands for itself, every other byte for a character from U+0100 on, in order.
fn byte_alphabet() -> HashMap<char, u8> {
    let printable = |byte: &u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let (printed, other): (Vec<u8>, Vec<u8>) = (0..=u8::MAX).partition(printable);
    let moved = other.into_iter().zip('\u{100}'..).map(|(byte, c)| (c, byte));
    printed.into_iter().map(|byte| (char::from(byte), byte)).chain(moved).collect()
}

/// The bytes of a `SentencePiece` token.
fn piece(text: &str) -> Box<[u8]> {
    let byte = text.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
    match byte.filter(|hex| hex.len() == 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
        Some(byte) => [byte].into(),
        None => text.replace('\u{2581}', " ").into_bytes().into(),
    }
}
