//! A tokenizer from the files of the hub: `tokenizer.json`, or the older `vocab.json` with `merges.txt`.
//!
//! What the library would add is taken out before it sees the file: registered special tokens, normalisation, a space
//! in front, start and end tokens.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};
use tokenizers::models::bpe::BPE;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;

use super::super::error::WeightsError;
use super::{Entries, Spelling, Tokenizer};
use crate::token::TokenId;

const WHOLE: &str = "tokenizer.json";
const VOCABULARY: &str = "vocab.json";
const MERGES: &str = "merges.txt";
const ADDED: &str = "added_tokens.json";

/// No vocabulary is that large; a file with a higher id is damaged.
const HIGHEST: TokenId = 1 << 22;

/// Control tokens that `RoBERTa`'s tokenizer, the one with two files, has in its vocabulary.
const ROBERTA: [&str; 5] = ["<pad>", "<s>", "</s>", "<unk>", "<mask>"];

impl Tokenizer {
    /// Reads the tokenizer in `dir`. `sentinels` are never ordinary tokens, even where the file says nothing of them.
    pub(in crate::model) fn from_dir(dir: &Path, sentinels: &[&str]) -> Result<Self, WeightsError> {
        let (inner, mut entries) = if dir.join(WHOLE).is_file() {
            whole(&dir.join(WHOLE))?
        } else if dir.join(VOCABULARY).is_file() {
            two_files(dir)?
        } else {
            return Err(WeightsError::NoTokenizer);
        };
        let ids: HashMap<&str, usize> =
            entries.texts.iter().enumerate().filter_map(|(id, text)| Some((text.as_deref()?, id))).collect();
        let found = sentinels.iter().filter_map(|&text| Some((text.to_owned(), *ids.get(text)? as TokenId)));
        let found: Vec<_> = found.collect();
        entries.special.extend(found);
        Self::new(inner, entries)
    }
}

fn json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, WeightsError> {
    let text = std::fs::read_to_string(path)?;
    serde_json::from_str(&text).map_err(|source| WeightsError::Json { path: path.to_owned(), source })
}

/// The texts by id of a vocabulary by text.
fn by_id(
    vocabulary: impl IntoIterator<Item = (String, TokenId)>,
) -> Result<Vec<Option<String>>, WeightsError> {
    let mut texts = Vec::new();
    for (text, id) in vocabulary {
        if id > HIGHEST {
            return Err(WeightsError::TokenId(id));
        }
        texts.resize(texts.len().max(id as usize + 1), None);
        texts[id as usize] = Some(text);
    }
    Ok(texts)
}

fn whole(path: &Path) -> Result<(tokenizers::Tokenizer, Entries), WeightsError> {
    let mut file: Value = json(path)?;
    let added = file["added_tokens"].take();
    let special: HashMap<String, TokenId> = added
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|token| Some((token["content"].as_str()?.to_owned(), token["id"].as_u64()? as TokenId)))
        .collect();
    let spelling = spelling(&file)?;
    strip(&mut file, spelling);
    let inner = tokenizers::Tokenizer::from_bytes(file.to_string()).map_err(WeightsError::Tokenizer)?;
    let added = special.iter().map(|(text, &id)| (text.clone(), id));
    let texts = by_id(inner.get_vocab(false).into_iter().chain(added))?;
    Ok((inner, Entries { spelling, texts, special }))
}

fn spelling(file: &Value) -> Result<Spelling, WeightsError> {
    let model = file["model"]["type"].as_str().unwrap_or("BPE");
    let is_byte_level =
        ["pre_tokenizer", "decoder"].iter().any(|part| file[part].to_string().contains("\"ByteLevel\""));
    match (model, is_byte_level, file["model"]["byte_fallback"].as_bool()) {
        ("BPE", true, _) => Ok(Spelling::Bytes),
        ("BPE", false, Some(true)) => Ok(Spelling::Pieces),
        (found, ..) => Err(WeightsError::TokenizerModel { found: found.to_owned() }),
    }
}

/// Takes out what changes a text: normalisation, a space in front, control tokens around it.
fn strip(file: &mut Value, spelling: Spelling) {
    for part in ["post_processor", "padding", "truncation", "decoder"] {
        file[part] = Value::Null;
    }
    file["added_tokens"] = json!([]);
    let uses_metaspace = file["pre_tokenizer"].to_string().contains("\"Metaspace\"");
    file["normalizer"] = match spelling {
        Spelling::Pieces if !uses_metaspace => {
            json!({"type": "Replace", "pattern": {"String": " "}, "content": "\u{2581}"})
        }
        _ => Value::Null,
    };
    no_space_in_front(&mut file["pre_tokenizer"]);
}

fn no_space_in_front(part: &mut Value) {
    match part["type"].as_str() {
        Some("ByteLevel") => part["add_prefix_space"] = json!(false),
        Some("Metaspace") => {
            part["prepend_scheme"] = json!("never");
            part["add_prefix_space"] = json!(false);
        }
        Some("Sequence") => {
            for part in part["pretokenizers"].as_array_mut().into_iter().flatten() {
                no_space_in_front(part);
            }
        }
        _ => {}
    }
}

fn two_files(dir: &Path) -> Result<(tokenizers::Tokenizer, Entries), WeightsError> {
    let vocabulary: HashMap<String, TokenId> = json(&dir.join(VOCABULARY))?;
    let mut special: HashMap<String, TokenId> =
        ROBERTA.iter().filter_map(|&text| Some((text.to_owned(), *vocabulary.get(text)?))).collect();
    if dir.join(ADDED).is_file() {
        special.extend(json::<HashMap<String, TokenId>>(&dir.join(ADDED))?);
    }
    let merges = std::fs::read_to_string(dir.join(MERGES))?;
    let pairs = merges.lines().filter(|line| !line.starts_with("#version") && !line.is_empty()).map(|line| {
        let pair = line.split_once(' ').map(|(left, right)| (left.to_owned(), right.to_owned()));
        pair.ok_or_else(|| WeightsError::Merges(line.to_owned()))
    });
    let pairs = pairs.collect::<Result<Vec<_>, _>>()?;
    let texts = by_id(vocabulary.iter().chain(&special).map(|(text, &id)| (text.clone(), id)))?;
    let model = BPE::builder()
        .vocab_and_merges(vocabulary.into_iter().collect::<tokenizers::models::bpe::Vocab>(), pairs);
    let mut inner = tokenizers::Tokenizer::new(model.build().map_err(WeightsError::Tokenizer)?);
    inner.with_pre_tokenizer(Some(ByteLevel::default().add_prefix_space(false)));
    Ok((inner, Entries { spelling: Spelling::Bytes, texts, special }))
}
