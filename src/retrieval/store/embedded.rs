//! The store in files: for each snapshot a directory with the files' texts and chunks, for all of them the vectors.
//!
//! ```text
//! DIR/snapshots/NAME-DIGEST/files.jsonl    one line for each file, replaced as a whole
//! DIR/vectors/DIGEST.bin                   of one model: digest of a text and its vector, appended
//! ```
//! A lock lets one process write at a time. A record of the vectors that was cut short by a kill is overwritten by the
//! next.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Digest, IndexedFile, Snapshot, Store, StoreError, Update};
use crate::digest::{hex, sha256};
use crate::retrieval::index::Chunk;

/// One line of `files.jsonl`.
#[derive(Debug, Serialize, Deserialize)]
struct FileLine {
    path: String,
    content: String,
    text: String,
    chunks: Vec<ChunkEntry>,
}

/// A chunk, whose text is a part of its file's.
#[derive(Debug, Serialize, Deserialize)]
struct ChunkEntry {
    end: usize,
    lines: (usize, usize),
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    scopes: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    torn: bool,
}

/// A store in a directory.
#[derive(Debug)]
pub struct Embedded {
    dir: PathBuf,
}

impl Embedded {
    /// The store in `dir`, which is made when something is written.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// The snapshot's directory: a name for people, and a digest that tells apart what has the same name.
    fn files_path(&self, snapshot: &Snapshot) -> PathBuf {
        let key = format!("{}\n{}", snapshot.repository, snapshot.revision);
        let last = snapshot.repository.rsplit('/').next().unwrap_or_default();
        let readable: String =
            last.chars().map(|c| if c.is_alphanumeric() || c == '.' || c == '-' { c } else { '_' }).collect();
        let name = format!("{readable}-{}", &sha256(key.as_bytes())[..16]);
        self.dir.join("snapshots").join(name).join("files.jsonl")
    }

    fn vectors_path(&self, model: &str) -> PathBuf {
        self.dir.join("vectors").join(format!("{}.bin", &sha256(model.as_bytes())[..16]))
    }

    /// Waits until no other process writes.
    fn lock(&self) -> Result<File, StoreError> {
        let path = self.dir.join("lock");
        std::fs::create_dir_all(&self.dir)
            .and_then(|()| File::options().create(true).append(true).open(&path))
            .and_then(|file| file.lock().map(|()| file))
            .map_err(io("lock", &path))
    }

    /// The files of a snapshot by path; `None` where there are none.
    fn read(&self, snapshot: &Snapshot) -> Result<Option<BTreeMap<String, FileLine>>, StoreError> {
        let path = self.files_path(snapshot);
        let file = match File::open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(io("read", &path))?,
        };
        let mut files = BTreeMap::new();
        for (number, line) in (1..).zip(BufReader::new(file).lines()) {
            let line = line.map_err(io("read", &path))?;
            let damaged = |_| StoreError::Damaged { path: path.clone(), line: number };
            let line: FileLine = serde_json::from_str(&line).map_err(damaged)?;
            files.insert(line.path.clone(), line);
        }
        Ok(Some(files))
    }

    fn chunks_of(&self, snapshot: &Snapshot) -> Result<Vec<Chunk>, StoreError> {
        let files = self.read(snapshot)?.ok_or_else(|| StoreError::NoSnapshot(snapshot.clone()))?;
        let mut chunks = Vec::new();
        for (number, file) in (1..).zip(files.into_values()) {
            let damaged = || StoreError::Damaged { path: self.files_path(snapshot), line: number };
            let path: Arc<str> = file.path.as_str().into();
            let mut start = 0;
            for entry in file.chunks {
                let text = file.text.get(start..entry.end).ok_or_else(damaged)?;
                chunks.push(Chunk {
                    path: Arc::clone(&path),
                    bytes: start..entry.end,
                    lines: entry.lines,
                    scopes: entry.scopes,
                    text: text.to_owned(),
                    hash: Sha256::digest(text).into(),
                    torn: entry.torn,
                });
                start = entry.end;
            }
        }
        Ok(chunks)
    }

    fn vectors(&self, model: &str) -> Result<HashMap<Digest, Vec<f32>>, StoreError> {
        let path = self.vectors_path(model);
        match File::open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(HashMap::new()),
            file => {
                let mut bytes = Vec::new();
                file.and_then(|mut file| file.read_to_end(&mut bytes)).map_err(io("read", &path))?;
                Ok(records(&bytes).map(|(digest, record)| (digest, numbers(record))).collect())
            }
        }
    }
}

impl FileLine {
    fn new(file: &IndexedFile) -> Self {
        let entry = |chunk: &Chunk| ChunkEntry {
            end: chunk.bytes.end,
            lines: chunk.lines,
            scopes: chunk.scopes.clone(),
            torn: chunk.torn,
        };
        Self {
            path: file.path.clone(),
            content: hex(&file.content),
            text: file.text(),
            chunks: file.chunks.iter().map(entry).collect(),
        }
    }
}

impl Store for Embedded {
    fn contents(&mut self, snapshot: &Snapshot) -> Result<BTreeMap<String, Digest>, StoreError> {
        let files = self.read(snapshot)?.unwrap_or_default();
        let path = self.files_path(snapshot);
        let content = |(line, (name, file)): (usize, (String, FileLine))| -> Result<_, StoreError> {
            let damaged = || StoreError::Damaged { path: path.clone(), line };
            Ok((name, unhex(&file.content).ok_or_else(damaged)?))
        };
        (1..).zip(files).map(content).collect()
    }

    fn update(&mut self, snapshot: &Snapshot, update: Update) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let mut files = self.read(snapshot)?.unwrap_or_default();
        for path in &update.removed {
            files.remove(path);
        }
        files.extend(update.put.iter().map(|file| (file.path.clone(), FileLine::new(file))));
        let path = self.files_path(snapshot);
        let dir = path.parent().expect("the path has a directory").to_owned();
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(&dir)?;
            let mut new = BufWriter::new(tempfile::NamedTempFile::new_in(&dir)?);
            for file in files.values() {
                serde_json::to_writer(&mut new, file)?;
                new.write_all(b"\n")?;
            }
            let new = new.into_inner().map_err(std::io::IntoInnerError::into_error)?;
            new.as_file().sync_data()?;
            new.persist(&path)?;
            Ok(())
        };
        write().map_err(io("write", &path))
    }

    fn chunks(&mut self, snapshot: &Snapshot) -> Result<Vec<Chunk>, StoreError> {
        self.chunks_of(snapshot)
    }

    fn put_vectors(&mut self, model: &str, vectors: &[(Digest, Vec<f32>)]) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let Some((_, first)) = vectors.first() else { return Ok(()) };
        let path = self.vectors_path(model);
        let known: HashSet<Digest> = self.vectors(model)?.into_keys().collect();
        let mut bytes = Vec::new();
        for (digest, vector) in vectors.iter().filter(|(digest, _)| !known.contains(digest)) {
            bytes.extend_from_slice(digest);
            bytes.extend(vector.iter().flat_map(|x| x.to_le_bytes()));
        }
        let record = 32 + 4 * first.len() as u64;
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(path.parent().expect("the path has a directory"))?;
            let mut file = File::options().create(true).truncate(false).write(true).open(&path)?;
            let len = file.metadata()?.len();
            if len < 4 {
                file.write_all(&(first.len() as u32).to_le_bytes())?;
            }
            // Whole records only: what a kill left of one is overwritten.
            file.seek(SeekFrom::Start(4 + len.saturating_sub(4) / record * record))?;
            file.write_all(&bytes)?;
            file.sync_data()
        };
        write().map_err(io("write", &path))
    }

    fn without_vector(
        &mut self,
        snapshot: &Snapshot,
        model: &str,
    ) -> Result<Vec<(Digest, Arc<str>)>, StoreError> {
        let mut known: HashSet<Digest> = self.vectors(model)?.into_keys().collect();
        let chunks = self.chunks_of(snapshot)?.into_iter();
        Ok(chunks
            .filter(|chunk| known.insert(chunk.hash))
            .map(|chunk| (chunk.hash, chunk.text.into()))
            .collect())
    }

    fn nearest(
        &mut self,
        snapshot: &Snapshot,
        model: &str,
        query: &[f32],
        n: usize,
    ) -> Result<Vec<(Digest, f32)>, StoreError> {
        let vectors = self.vectors(model)?;
        let digests: std::collections::BTreeSet<Digest> =
            self.chunks_of(snapshot)?.into_iter().map(|chunk| chunk.hash).collect();
        let product = |digest: Digest| {
            let vector = vectors.get(&digest).filter(|vector| vector.len() == query.len())?;
            Some((digest, vector.iter().zip(query).map(|(a, b)| a * b).sum::<f32>()))
        };
        let mut found: Vec<(Digest, f32)> = digests.into_iter().filter_map(product).collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(n);
        Ok(found)
    }
}

fn io<'p>(action: &'static str, path: &'p Path) -> impl FnOnce(std::io::Error) -> StoreError + 'p {
    move |source| StoreError::Io { action, path: path.to_owned(), source }
}

/// Digests and numbers of a file of vectors: the width first, then whole records.
fn records(bytes: &[u8]) -> impl Iterator<Item = (Digest, &[u8])> {
    let (head, body) = bytes.split_at(bytes.len().min(4));
    let width = head.try_into().map_or(0, u32::from_le_bytes) as usize;
    body.chunks_exact(32 + 4 * width).map(|record| {
        let (digest, numbers) = record.split_at(32);
        (digest.try_into().expect("32 bytes"), numbers)
    })
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().expect("four bytes"))).collect()
}

fn unhex(text: &str) -> Option<Digest> {
    let mut digest = [0; 32];
    let pairs =
        (0..32).map(|at| text.get(2 * at..2 * at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()));
    for (byte, pair) in digest.iter_mut().zip(pairs) {
        *byte = pair?;
    }
    (text.len() == 64).then_some(digest)
}
