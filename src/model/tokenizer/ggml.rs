//! A byte-level BPE tokenizer from the metadata of a GGUF file.

use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::normalizer::SplitDelimiterBehavior;

use super::super::error::WeightsError;
use super::super::gguf::Gguf;
use super::{Entries, Spelling, Tokenizer};
use crate::token::TokenId;

/// `llama_token_type` of ordinary tokens in GGUF; all other types are control tokens, unused rows and the like.
const NORMAL: i64 = 1;

/// How Qwen2 cuts text before merging, from its `tokenizer.json`.
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

impl Tokenizer {
    pub(in crate::model) fn from_gguf(gguf: &Gguf) -> Result<Self, WeightsError> {
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
        // Two rows may have one text; the type decides then.
        let texts = tokens.iter().zip(&types);
        let texts = texts.map(|(text, kind)| (*kind == NORMAL).then(|| (*text).to_owned())).collect();
        Self::new(inner, Entries { spelling: Spelling::Bytes, texts, special })
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
    let bytes = ByteLevel::default().add_prefix_space(false);
    match name {
        "smollm" | "starcoder" | "refact" => {
            Ok(Sequence::new(vec![Digits::new(true).into(), bytes.into()]).into())
        }
        "gpt-2" => Ok(bytes.into()),
        "qwen2" => {
            let pattern = SplitPattern::Regex(QWEN2.to_owned());
            let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false);
            let split = split.map_err(WeightsError::Tokenizer)?;
            Ok(Sequence::new(vec![split.into(), bytes.use_regex(false).into()]).into())
        }
        found => Err(WeightsError::PreTokenizer { found: found.to_owned() }),
    }
}
