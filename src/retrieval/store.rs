//! Where an index is kept: files of a directory by themselves, cut once for each content.
//!
//! Everything is keyed by content: a file that is there already is not cut again, a chunk that has a vector is not
//! embedded again, whatever repository, revision or path it comes from. Invariant: what a reader sees is one whole
//! [`Store::update`] after another, never a part of one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::grammar;
use super::index::{Chunk, Source, chunk_source};
use super::sources::SourcesError;

mod embedded;

pub use embedded::Embedded;

/// SHA-256.
pub type Digest = [u8; 32];

/// Which of the indexes in a store is meant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Snapshot {
    /// Name of the repository.
    pub repository: String,
    /// Its revision.
    pub revision: String,
}

/// A file with its chunks, which tile its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedFile {
    /// Path relative to the root, with `/`.
    pub path: String,
    /// What the chunks were made of: see [`content_digest`].
    pub content: Digest,
    /// Chunks in order.
    pub chunks: Vec<Chunk>,
}

impl IndexedFile {
    /// Cuts a file.
    pub fn new(source: &Source, size: usize) -> Self {
        Self {
            path: source.path.clone(),
            content: content_digest(&source.path, &source.text, size),
            chunks: chunk_source(source, &[], size),
        }
    }

    /// Its text.
    pub fn text(&self) -> String {
        self.chunks.iter().map(|chunk| chunk.text.as_str()).collect()
    }
}

/// The digest of all that decides on a file's chunks: its text, the language that its name says, the budget of a chunk,
/// and the rules of cutting, which have a number.
pub fn content_digest(path: &str, text: &str, size: usize) -> Digest {
    /// Raised when the same text comes to be cut in another way.
    const RULES: u32 = 1;
    let language = grammar::for_path(path).map_or("", |grammar| grammar.name);
    let mut digest = Sha256::new();
    digest.update(format!("{RULES} {size} {language}\n"));
    digest.update(text);
    digest.finalize().into()
}

/// What changes in a snapshot.
#[derive(Debug, Clone, Default)]
pub struct Update {
    /// Files that are new or have another content.
    pub put: Vec<IndexedFile>,
    /// Paths that are gone.
    pub removed: Vec<String>,
}

/// What can go wrong with a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The files to be indexed.
    #[error(transparent)]
    Sources(#[from] SourcesError),
    /// A file of an embedded store.
    #[error("cannot {action} the index `{}`", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A file of an embedded store that was not written by this program, or was damaged.
    #[error("the index `{}` is damaged in line {line}: remove it and index again", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
    },
    /// Nothing was indexed under this name.
    #[error("no index of `{}` at revision `{}`: make it with `repair index`", .0.repository, .0.revision)]
    NoSnapshot(Snapshot),
    /// Texts could not be embedded.
    #[error("cannot embed the chunks")]
    Embed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Files and vectors that outlive a process. Two kinds: a directory, and a database that many machines share.
pub trait Store {
    /// Paths of a snapshot with the digests of their contents; empty where nothing was indexed.
    fn contents(&mut self, snapshot: &Snapshot) -> Result<BTreeMap<String, Digest>, StoreError>;

    /// Takes over a change, whole or not at all. An empty one makes the snapshot, too.
    fn update(&mut self, snapshot: &Snapshot, update: Update) -> Result<(), StoreError>;

    /// All chunks, by path and place.
    fn chunks(&mut self, snapshot: &Snapshot) -> Result<Vec<Chunk>, StoreError>;

    /// Keeps vectors of the model, by the digests of the chunks' texts. Those that are there already stay.
    fn put_vectors(&mut self, model: &str, vectors: &[(Digest, Vec<f32>)]) -> Result<(), StoreError>;

    /// Digests of a snapshot's chunks that have no vector of the model, each once, with their texts.
    fn without_vector(
        &mut self,
        snapshot: &Snapshot,
        model: &str,
    ) -> Result<Vec<(Digest, Arc<str>)>, StoreError>;

    /// The `n` digests of the snapshot's chunks whose vectors have the largest product with `query`, which is of length
    /// 1 as they are, largest first.
    fn nearest(
        &mut self,
        snapshot: &Snapshot,
        model: &str,
        query: &[f32],
        n: usize,
    ) -> Result<Vec<(Digest, f32)>, StoreError>;
}
