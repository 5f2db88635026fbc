//! A model whose weights are on this machine: tokenizer, layout, network and key-value pool put together.

mod gguf_model;
mod hub_model;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::digest::hex;

use super::error::{ModelError, WeightsError};
use super::layout::Layout;
use super::network::{Network, Place};
use super::pool::KvPool;
use super::tokenizer::Tokenizer;
use super::{
    HoleEnd, Identity, LoadOptions, Model, Position, Prompt, PromptBudget, PromptParts, Row, TokenId,
    Vocabulary,
};

/// What a format's reader makes of the files.
struct Loaded {
    identity: Identity,
    tokenizer: Tokenizer,
    layout: Layout,
    network: Box<dyn Network>,
}

/// A model from files.
pub(super) struct LocalModel {
    identity: Identity,
    tokenizer: Tokenizer,
    layout: Layout,
    budget: Option<PromptBudget>,
    network: Box<dyn Network>,
    pool: KvPool,
    /// All arithmetic runs inside: gemm takes the threads of the pool that it is called in.
    threads: Option<rayon::ThreadPool>,
}

impl LocalModel {
    pub(super) fn load(path: &Path, options: LoadOptions) -> Result<Self, ModelError> {
        let place = options.device.place()?;
        let threads = options.threads.map(threads).transpose()?;
        let load = || -> Result<Loaded, WeightsError> {
            match files(path)? {
                Files::Gguf(file) => gguf_model::load(&file, &place),
                Files::Checkpoint(dir) => hub_model::load(&dir, &place),
            }
        };
        let loaded = match &threads {
            Some(threads) => threads.install(load),
            None => load(),
        };
        let Loaded { identity, tokenizer, layout, network } = loaded
            .map_err(|source| ModelError::Weights { path: path.to_owned(), source: Box::new(source) })?;
        let pool = KvPool::new(network.as_ref(), options.kv_bytes);
        Ok(Self { identity, tokenizer, layout, budget: options.budget, network, pool, threads })
    }

    fn on_threads<T: Send>(&mut self, compute: impl FnOnce(&mut dyn Network, &mut KvPool) -> T + Send) -> T {
        let (network, pool) = (self.network.as_mut(), &mut self.pool);
        match &self.threads {
            Some(threads) => threads.install(|| compute(network, pool)),
            None => compute(network, pool),
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
        self.layout.hole_end()
    }

    fn prompt(&self, parts: &PromptParts) -> Result<Prompt, ModelError> {
        self.layout.lay_out(&self.tokenizer, parts, self.budget, self.network.shape().window)
    }

    fn encode(&self, text: &str) -> Result<Vec<TokenId>, ModelError> {
        self.tokenizer.encode(text)
    }

    fn prime(&mut self, prompt: &[TokenId]) -> Result<Vec<f32>, ModelError> {
        self.on_threads(|network, pool| pool.prime(network, prompt))
    }

    fn extend(&mut self, rows: &[Row]) -> Result<Vec<Vec<Position>>, ModelError> {
        self.on_threads(|network, pool| pool.extend(network, rows))
    }
}

pub(super) fn threads(threads: usize) -> Result<rayon::ThreadPool, ModelError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
    pool.map_err(|source| ModelError::Threads { threads, source })
}

/// Refuses weights of so many numbers if they do not fit into the memory that is free.
fn check_memory(numbers: u64, place: &Place) -> Result<(), WeightsError> {
    let needed = numbers.saturating_mul(place.dtype.size_in_bytes() as u64);
    match free_memory().filter(|_| place.device.is_cpu()) {
        Some(free) if needed > free => Err(WeightsError::Memory { needed, free }),
        _ => Ok(()),
    }
}

/// Bytes that the system says it can give; `None` where it does not say.
fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// What a path leads to.
enum Files {
    /// One GGUF file.
    Gguf(PathBuf),
    /// A directory with a `config.json`.
    Checkpoint(PathBuf),
}

/// A checkpoint's directory; else the file itself, or the only `.gguf` file of a directory.
fn files(path: &Path) -> Result<Files, WeightsError> {
    if !path.is_dir() {
        return Ok(Files::Gguf(path.to_owned()));
    }
    if path.join(hub_model::CONFIG).is_file() {
        return Ok(Files::Checkpoint(path.to_owned()));
    }
    let entries =
        std::fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    let is_weights = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "gguf");
    let mut files: Vec<PathBuf> = entries.into_iter().filter(is_weights).collect();
    match (files.pop(), files.len()) {
        (Some(file), 0) => Ok(Files::Gguf(file)),
        (last, others) => Err(WeightsError::NotOne { count: others + usize::from(last.is_some()) }),
    }
}

/// The digest of a file, or of several: of their digests in order.
pub(super) fn sha256(paths: &[PathBuf]) -> std::io::Result<String> {
    let digests = paths.iter().map(|path| digest(path)).collect::<std::io::Result<Vec<_>>>()?;
    match digests.as_slice() {
        [one] => Ok(hex(one)),
        many => Ok(hex(&Sha256::digest(many.concat()))),
    }
}

fn digest(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(hash.finalize().to_vec()),
            n => hash.update(&block[..n]),
        }
    }
}
