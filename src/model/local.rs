//! A model whose weights are on this machine: tokenizer, layout, network and key-value pool put together.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::digest::hex;

use super::error::{ModelError, WeightsError};
use super::gguf::Gguf;
use super::layout::SuffixFirst;
use super::llama::{Config, Llama, Rotary};
use super::pool::KvPool;
use super::tokenizer::Tokenizer;
use super::{
    HoleEnd, Identity, LoadOptions, Model, Position, Prompt, PromptBudget, PromptParts, Row, TokenId,
    Vocabulary,
};

/// A llama from a GGUF file.
pub(super) struct LocalModel {
    identity: Identity,
    tokenizer: Tokenizer,
    layout: SuffixFirst,
    budget: PromptBudget,
    llama: Llama,
    pool: KvPool,
    /// All arithmetic runs inside: gemm takes the threads of the pool that it is called in.
    threads: Option<rayon::ThreadPool>,
}

impl LocalModel {
    pub(super) fn load(path: &Path, options: LoadOptions) -> Result<Self, ModelError> {
        let threads = options.threads.map(threads).transpose()?;
        let load = || Self::from_file(path, options);
        let loaded = match &threads {
            Some(threads) => threads.install(load),
            None => load(),
        };
        let model = loaded
            .map_err(|source| ModelError::Weights { path: path.to_owned(), source: Box::new(source) })?;
        Ok(Self { threads, ..model })
    }

    fn from_file(path: &Path, options: LoadOptions) -> Result<Self, WeightsError> {
        let path = weights_file(path)?;
        let mut gguf = Gguf::open(&path)?;
        let config = config(&gguf)?;
        let tokenizer = Tokenizer::from_gguf(&gguf)?;
        if tokenizer.vocabulary().len() != config.vocabulary {
            let (tokens, rows) = (tokenizer.vocabulary().len(), config.vocabulary);
            return Err(WeightsError::VocabularySize { tokens, rows });
        }
        let layout = SuffixFirst::new(&tokenizer)?;
        let identity = identity(&gguf, &path)?;
        let llama = Llama::load(config, &mut gguf)?;
        let pool = KvPool::new(&llama.config, options.kv_bytes);
        Ok(Self { identity, tokenizer, layout, budget: options.budget, llama, pool, threads: None })
    }

    fn on_threads<T: Send>(&mut self, compute: impl FnOnce(&Llama, &mut KvPool) -> T + Send) -> T {
        let (llama, pool) = (&self.llama, &mut self.pool);
        match &self.threads {
            Some(threads) => threads.install(|| compute(llama, pool)),
            None => compute(llama, pool),
        }
    }
}

impl Model for LocalModel {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn vocabulary(&self) -> &Vocabulary {
        self.tokenizer.vocabulary()
    }

    fn hole_end(&self) -> HoleEnd {
        HoleEnd::Structural
    }

    fn prompt(&self, parts: &PromptParts) -> Result<Prompt, ModelError> {
        self.layout.lay_out(&self.tokenizer, parts, self.budget, self.llama.config.window)
    }

    fn encode(&self, text: &str) -> Result<Vec<TokenId>, ModelError> {
        self.tokenizer.encode(text)
    }

    fn prime(&mut self, prompt: &[TokenId]) -> Result<Vec<f32>, ModelError> {
        self.on_threads(|llama, pool| pool.prime(llama, prompt))
    }

    fn extend(&mut self, rows: &[Row]) -> Result<Vec<Vec<Position>>, ModelError> {
        self.on_threads(|llama, pool| pool.extend(llama, rows))
    }
}

fn threads(threads: usize) -> Result<rayon::ThreadPool, ModelError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
    pool.map_err(|source| ModelError::Threads { threads, source })
}

/// The file itself, or the only `.gguf` file of a directory.
fn weights_file(path: &Path) -> Result<PathBuf, WeightsError> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let entries =
        std::fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    let is_weights = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "gguf");
    let mut files: Vec<PathBuf> = entries.into_iter().filter(is_weights).collect();
    match (files.pop(), files.len()) {
        (Some(file), 0) => Ok(file),
        (last, others) => Err(WeightsError::NotOne { count: others + usize::from(last.is_some()) }),
    }
}

fn identity(gguf: &Gguf, path: &Path) -> Result<Identity, WeightsError> {
    let file_stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Identity {
        name: gguf.optional_text("general.name").map_or_else(file_stem, str::to_owned),
        architecture: gguf.text("general.architecture")?.to_owned(),
        path: path.to_owned(),
        sha256: sha256(path)?,
        licence: gguf.optional_text("general.license").map(str::to_owned),
    })
}

fn sha256(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block)? {
            0 => {
                return Ok(hex(&hash.finalize()));
            }
            n => hash.update(&block[..n]),
        }
    }
}

/// The shape of the network, from the metadata of a llama.
fn config(gguf: &Gguf) -> Result<Config, WeightsError> {
    let found = gguf.text("general.architecture")?;
    if found != "llama" {
        return Err(WeightsError::Architecture { found: found.to_owned() });
    }
    let (width, heads) = (gguf.count("llama.embedding_length")?, gguf.count("llama.attention.head_count")?);
    let kv_heads = gguf.optional_count("llama.attention.head_count_kv")?.unwrap_or(heads);
    let head_width = gguf.optional_count("llama.attention.key_length")?.unwrap_or(width / heads);
    let wrong = |key: &str, expected| Err(WeightsError::BadValue { key: key.to_owned(), expected });
    if heads % kv_heads != 0 {
        return wrong("llama.attention.head_count_kv", "a divisor of the number of heads");
    }
    if head_width == 0 || head_width % 2 != 0 {
        return wrong("llama.attention.head_count", "such that heads have an even width");
    }
    if gguf.optional_count("llama.rope.dimension_count")?.is_some_and(|n| n != head_width) {
        return wrong("llama.rope.dimension_count", "the width of a head");
    }
    Ok(Config {
        layers: gguf.count("llama.block_count")?,
        width,
        heads,
        kv_heads,
        head_width,
        feed_forward: gguf.count("llama.feed_forward_length")?,
        vocabulary: gguf.rows("token_embd.weight")?,
        window: gguf.count("llama.context_length")?,
        norm_epsilon: gguf.number("llama.attention.layer_norm_rms_epsilon")?,
        rotary: Rotary::Interleaved,
        rotary_base: gguf.optional_number("llama.rope.freq_base")?.unwrap_or(10_000.0),
        rotary_scale: gguf.optional_number("llama.rope.scaling.factor")?.unwrap_or(1.0),
    })
}
