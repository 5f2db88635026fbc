//! A decoder from a GGUF file: its sizes from the metadata, its tokenizer from the same.

use std::path::{Path, PathBuf};

use super::super::decoder::{Activation, Config, Decoder, NormKind};
use super::super::error::WeightsError;
use super::super::gguf::Gguf;
use super::super::layout::{Layout, Traits};
use super::super::network::{Place, Shape};
use super::super::position::{Positions, Rotary};
use super::super::tokenizer::Tokenizer;
use super::{Identity, Loaded, check_memory, sha256};

pub(super) fn load(path: &Path, place: &Place) -> Result<Loaded, WeightsError> {
    let mut gguf = Gguf::open(path)?;
    let config = config(&gguf)?;
    let tokenizer = Tokenizer::from_gguf(&gguf)?;
    let (tokens, rows) = (tokenizer.vocabulary().len(), config.shape.vocabulary);
    if tokens != rows {
        return Err(WeightsError::VocabularySize { tokens, rows });
    }
    let traits = match gguf.text("general.architecture")? {
        "llama" if gguf.has_tensor("blk.0.attn_q.bias") => Traits::BiasedLlama,
        "llama" => Traits::Llama,
        _ => Traits::Other,
    };
    let layout = Layout::of(traits, &tokenizer)?;
    check_memory(gguf.n_numbers(), place)?;
    let identity = identity(&gguf, path)?;
    let network = Box::new(Decoder::load(config, place.clone(), &mut gguf)?);
    Ok(Loaded { identity, tokenizer, layout, network })
}

fn identity(gguf: &Gguf, path: &Path) -> Result<Identity, WeightsError> {
    let file_stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Identity {
        name: gguf.optional_text("general.name").map_or_else(file_stem, str::to_owned),
        architecture: gguf.text("general.architecture")?.to_owned(),
        path: path.to_owned(),
        sha256: sha256(&[PathBuf::from(path)])?,
        licence: gguf.optional_text("general.license").map(str::to_owned),
    })
}

/// The shape of the network, from the metadata.
fn config(gguf: &Gguf) -> Result<Config, WeightsError> {
    let architecture = gguf.text("general.architecture")?;
    let (norm, epsilon, style) = match architecture {
        "llama" => (NormKind::Rms, "layer_norm_rms_epsilon", Rotary::Interleaved),
        "qwen2" => (NormKind::Rms, "layer_norm_rms_epsilon", Rotary::Halves),
        "starcoder2" => (NormKind::Layer, "layer_norm_epsilon", Rotary::Halves),
        found => return Err(WeightsError::Architecture { found: found.to_owned() }),
    };
    let key = |key: &str| format!("{architecture}.{key}");
    let (width, heads) = (gguf.count(&key("embedding_length"))?, gguf.count(&key("attention.head_count"))?);
    let kv_heads = gguf.optional_count(&key("attention.head_count_kv"))?.unwrap_or(heads);
    let head_width = gguf.optional_count(&key("attention.key_length"))?.unwrap_or(width / heads);
    let wrong = |name: &str, expected| Err(WeightsError::BadValue { key: key(name), expected });
    if heads % kv_heads != 0 {
        return wrong("attention.head_count_kv", "a divisor of the number of heads");
    }
    if head_width == 0 || head_width % 2 != 0 {
        return wrong("attention.head_count", "such that heads have an even width");
    }
    if gguf.optional_count(&key("rope.dimension_count"))?.is_some_and(|n| n != head_width) {
        return wrong("rope.dimension_count", "the width of a head");
    }
    let shape = Shape {
        layers: gguf.count(&key("block_count"))?,
        heads,
        kv_heads,
        head_width,
        vocabulary: gguf.rows("token_embd.weight")?,
        window: gguf.count(&key("context_length"))?,
    };
    let gated = norm == NormKind::Rms;
    Ok(Config {
        shape,
        width,
        feed_forward: gguf.count(&key("feed_forward_length"))?,
        norm,
        norm_epsilon: gguf.number(&key(&format!("attention.{epsilon}")))?,
        positions: Positions::Rotary {
            style,
            base: gguf.optional_number(&key("rope.freq_base"))?.unwrap_or(10_000.0),
            scale: gguf.optional_number(&key("rope.scaling.factor"))?.unwrap_or(1.0),
        },
        activation: if gated { Activation::Silu } else { Activation::GeluTanh },
        gated,
        embedding_scale: 1.0,
    })
}
