//! Brings the index of a directory up to date: only what has another content is cut again.

use std::path::Path;

use super::index::Source;
use super::sources::{name_in, read, source_files};
use super::store::{IndexedFile, Snapshot, Store, StoreError, Update, content_digest};

/// Texts that are embedded between two writes.
const EMBED_AT_ONCE: usize = 64;

/// Turns texts into vectors of length 1.
pub type Embed<'a> =
    dyn FnMut(&[&str]) -> Result<Vec<Vec<f32>>, Box<dyn std::error::Error + Send + Sync>> + 'a;

/// What a refresh came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Refreshed {
    /// Files that are indexed now.
    pub files: usize,
    /// Of them, those that were cut.
    pub cut: usize,
    /// Files that are gone.
    pub removed: usize,
}

/// Indexes the files below `root` that a grammar is known for, in chunks of at most `size` non-whitespace characters.
pub fn refresh(
    store: &mut dyn Store,
    snapshot: &Snapshot,
    root: &Path,
    size: usize,
) -> Result<Refreshed, StoreError> {
    let mut known = store.contents(snapshot)?;
    let mut update = Update::default();
    let mut files = 0;
    for path in source_files(root)? {
        let bytes = read(&path)?;
        let source =
            Source { path: name_in(root, &path), text: String::from_utf8_lossy(&bytes).into_owned() };
        files += 1;
        if known.remove(&source.path) != Some(content_digest(&source.path, &source.text, size)) {
            update.put.push(IndexedFile::new(&source, size));
        }
    }
    update.removed = known.into_keys().collect();
    let done = Refreshed { files, cut: update.put.len(), removed: update.removed.len() };
    store.update(snapshot, update)?;
    Ok(done)
}

/// Gives each chunk of the snapshot that has no vector of the model one, and returns how many those were. `embed` turns
/// texts into vectors of length 1; `progress` hears how many are done, and of how many. What is done is kept if it fails.
pub fn embed_missing(
    store: &mut dyn Store,
    snapshot: &Snapshot,
    model: &str,
    embed: &mut Embed,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<usize, StoreError> {
    let mut missing = store.without_vector(snapshot, model)?;
    // Texts of like length make even batches.
    missing.sort_by_key(|(digest, text)| (text.len(), *digest));
    let mut done = 0;
    for batch in missing.chunks(EMBED_AT_ONCE) {
        let texts: Vec<&str> = batch.iter().map(|(_, text)| &**text).collect();
        let vectors = embed(&texts).map_err(StoreError::Embed)?;
        let vectors: Vec<_> = batch.iter().map(|(digest, _)| *digest).zip(vectors).collect();
        store.put_vectors(model, &vectors)?;
        done += batch.len();
        progress(done, missing.len());
    }
    Ok(done)
}
