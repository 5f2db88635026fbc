//! Texts and tokens: a byte-level BPE tokenizer built from a GGUF file, and the exact bytes of each of its tokens.
//!
//! No special token is registered with the tokenizer, so source text that happens to spell one (`<file_sep>` in a
//! string literal) is tokenised as the ordinary text that it is. Special tokens are looked up by their text instead.

use std::collections::HashMap;
use std::path::Path;

use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;

use super::error::{ModelError, WeightsError};
use super::gguf::Gguf;
use crate::token::{TokenId, TokenText, Vocabulary};

/// `llama_token_type` of ordinary tokens in GGUF; all other types are control tokens, unused rows and the like.
const NORMAL: i64 = 1;

/// A tokenizer with the texts of its tokens.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    vocabulary: Vocabulary,
    special: HashMap<String, TokenId>,
}

impl Tokenizer {
    pub(super) fn from_gguf(gguf: &Gguf) -> Result<Self, WeightsError> {
        let found = gguf.text("tokenizer.ggml.model")?;
        if found != "gpt2" {
            return Err(WeightsError::TokenizerModel { found: found.to_owned() });
        }
        let tokens = gguf.texts("tokenizer.ggml.tokens")?;
        let types = gguf.wholes("tokenizer.ggml.token_type")?;
        if types.len() != tokens.len() {
            let key = "tokenizer.ggml.token_type".to_owned();
            return Err(WeightsError::BadValue { key, expected: "as long as the list of tokens" });
        }
        let special = |(id, (text, kind)): (usize, (&&str, &i64))| {
            (*kind != NORMAL).then(|| ((*text).to_owned(), id as TokenId))
        };
        let special = tokens.iter().zip(&types).enumerate().filter_map(special).collect();
        let inner = byte_pair_encoding(gguf, &tokens)?;
        Ok(Self { inner, vocabulary: vocabulary(&tokens, &types)?, special })
    }

    /// From `vocab.json` and `merges.txt` with GPT-2's rules, as CodeT5 and its relatives have them. Tokens in angle
    /// brackets before the first ordinary one are special.
    pub(super) fn from_vocab(dir: &Path) -> Result<Self, WeightsError> {
        let file = |name: &str| dir.join(name).to_string_lossy().into_owned();
        let model = BPE::from_file(&file("vocab.json"), &file("merges.txt")).build();
        let model = model.map_err(WeightsError::Tokenizer)?;
        let mut by_id: Vec<(u32, String)> =
            model.get_vocab().into_iter().map(|(text, id)| (id, text)).collect();
        by_id.sort_unstable();
        let texts: Vec<&str> = by_id.iter().map(|(_, text)| text.as_str()).collect();
        let is_special = |text: &&str| text.starts_with('<') && text.ends_with('>');
        let n_special = texts.iter().take_while(|text| is_special(text)).count();
        let types: Vec<i64> = (0..texts.len()).map(|id| NORMAL + i64::from(id < n_special)).collect();
        let mut inner = tokenizers::Tokenizer::new(model);
        inner.with_pre_tokenizer(Some(ByteLevel::default().add_prefix_space(false)));
        let special =
            texts.iter().take(n_special).zip(0..).map(|(text, id)| ((*text).to_owned(), id)).collect();
        Ok(Self { inner, vocabulary: vocabulary(&texts, &types)?, special })
    }

    /// Texts of all ids.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
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

    /// Tokens of `text`, which spell it byte for byte.
    pub fn encode(&self, text: &str) -> Result<Vec<TokenId>, ModelError> {
        let (ids, _) = self.encode_with_starts(text)?;
        if self.vocabulary.join(&ids) == text.as_bytes() {
            Ok(ids)
        } else {
            Err(ModelError::Unspellable { text: text.to_owned() })
        }
    }
}

fn byte_pair_encoding(gguf: &Gguf, tokens: &[&str]) -> Result<tokenizers::Tokenizer, WeightsError> {
    let pre_tokenizer = pre_tokenizer(gguf.text("tokenizer.ggml.pre")?)?;
    let merges = gguf.texts("tokenizer.ggml.merges")?.into_iter().map(|merge| {
        let (left, right) = merge.split_once(' ')?;
        Some((left.to_owned(), right.to_owned()))
    });
    let merges = merges.collect::<Option<Vec<_>>>().ok_or_else(|| WeightsError::BadValue {
        key: "tokenizer.ggml.merges".to_owned(),
        expected: "pairs of tokens",
    })?;
    let ids: Vocab =
        tokens.iter().enumerate().map(|(id, text)| ((*text).to_owned(), id as TokenId)).collect();
    let model = BPE::builder().vocab_and_merges(ids, merges).build().map_err(WeightsError::Tokenizer)?;
    let mut tokenizer = tokenizers::Tokenizer::new(model);
    tokenizer.with_pre_tokenizer(Some(pre_tokenizer));
    Ok(tokenizer)
}

/// The splitting rules behind a name in `tokenizer.ggml.pre`. Candle's own reading of GGUF tokenizers takes GPT-2's
/// rules with a space put in front for every name it does not know, which does not round-trip.
fn pre_tokenizer(name: &str) -> Result<PreTokenizerWrapper, WeightsError> {
    match name {
        "smollm" => {
            let bytes = ByteLevel::default().add_prefix_space(false);
            Ok(Sequence::new(vec![Digits::new(true).into(), bytes.into()]).into())
        }
        found => Err(WeightsError::PreTokenizer { found: found.to_owned() }),
    }
}

fn vocabulary(tokens: &[&str], types: &[i64]) -> Result<Vocabulary, WeightsError> {
    let bytes = byte_alphabet();
    let text = |(id, (text, kind)): (usize, (&&str, &i64))| {
        if *kind != NORMAL {
            return Ok(TokenText::Special);
        }
        let spelt: Option<Box<[u8]>> = text.chars().map(|c| bytes.get(&c).copied()).collect();
        spelt.map(TokenText::Bytes).ok_or_else(|| WeightsError::TokenText { id, text: (*text).to_owned() })
    };
    tokens.iter().zip(types).enumerate().map(text).collect::<Result<_, _>>().map(Vocabulary::new)
}

/// GPT-2's alphabet: printable Latin-1 stands for itself, every other byte for a character from U+0100 on, in order.
fn byte_alphabet() -> HashMap<char, u8> {
    let printable = |byte: &u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let (printed, other): (Vec<u8>, Vec<u8>) = (0..=u8::MAX).partition(printable);
    let moved = other.into_iter().zip('\u{100}'..).map(|(byte, c)| (c, byte));
    printed.into_iter().map(|byte| (char::from(byte), byte)).chain(moved).collect()
}
