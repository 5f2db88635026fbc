//! The run directory: append-only JSON lines and what is derived from them.
//!
//! ```text
//! manifest.json           inputs and environment; the inputs must agree for a run to go on
//! BUG/patches.jsonl       one line per sample, in the order drawn
//! BUG/shown.json          the hole with its surroundings, and the chunks that the model saw
//! BUG/baseline.json       what the unpatched program's tests do
//! BUG/verdicts.jsonl      one line per validated sample
//! BUG/tree.jsonl          what the search has learnt, so that going on costs nothing
//! BUG/clock.jsonl         what each sample had cost when it was drawn
//! BUG/patches/NNNN.diff   plausible patches
//! summary.json            derived
//! unit.json               in a campaign: which unit it is, and how it ended; `campaign.json` above lists all units
//! ```
//!
//! A line is written whole and flushed; a line cut by a kill is dropped when the run is opened again. One process at a
//! time holds a run directory, by a lock that dies with it.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;

mod clock;
mod shown;
mod unit;

pub use clock::ClockLine;
pub use shown::{Shown, ShownChunk};
pub use unit::{PlannedUnit, UnitEnd, UnitRecord};

/// What can go wrong with a run directory.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The system refused.
    #[error("cannot {action} `{}`", .path.display())]
    Io {
        /// What was tried: `create`, `read`, `write`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A line in the middle of a record is no JSON of its kind.
    #[error("line {line} of `{}` is damaged", .path.display())]
    Damaged {
        /// The record.
        path: PathBuf,
        /// 1-based.
        line: usize,
        /// What the parser said.
        #[source]
        source: serde_json::Error,
    },
    /// Another process writes to it.
    #[error("run directory `{}` is in use by another process", .0.display())]
    InUse(PathBuf),
}

fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> RecordError {
    move |source| RecordError::Io { action, path: path.to_owned(), source }
}

/// A run directory, held by this process.
#[derive(Debug)]
pub struct RunDir {
    root: PathBuf,
    _lock: File,
}

impl RunDir {
    /// Opens the directory, making it where it is not there.
    pub fn open(root: &Path) -> Result<Self, RecordError> {
        std::fs::create_dir_all(root).map_err(io("create", root))?;
        let path = root.join(".lock");
        let lock = File::create(&path).map_err(io("create", &path))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| RecordError::InUse(root.to_owned()))?;
        Ok(Self { root: root.to_owned(), _lock: lock })
    }

    /// Where it lies.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory of one bug.
    pub fn bug(&self, name: &str) -> Result<PathBuf, RecordError> {
        let dir = self.root.join(name);
        std::fs::create_dir_all(dir.join("patches")).map_err(io("create", &dir))?;
        Ok(dir)
    }

    /// Reads `name` if it is there.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, RecordError> {
        read_json(&self.root.join(name))
    }

    /// Writes `name` as a whole: the old content or the new, never a part.
    pub fn write<T: Serialize>(&self, name: &str, value: &T) -> Result<(), RecordError> {
        let mut bytes = serde_json::to_vec_pretty(value).expect("records are plain data");
        bytes.push(b'\n');
        replace_file(&self.root.join(name), &bytes)
    }
}

/// Writes a file beside its place and renames it there.
pub fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    let dir = path.parent().expect("a file has a directory");
    let mut temporary = tempfile::NamedTempFile::new_in(dir).map_err(io("create", dir))?;
    temporary.write_all(bytes).map_err(io("write", path))?;
    temporary.persist(path).map_err(|error| io("write", path)(error.error))?;
    Ok(())
}

/// An append-only file of JSON lines.
#[derive(Debug)]
pub struct Lines<T> {
    path: PathBuf,
    out: BufWriter<File>,
    kind: PhantomData<T>,
}

impl<T: Serialize + DeserializeOwned> Lines<T> {
    /// Opens the file and returns the lines that are in it. What follows the last line end is dropped.
    pub fn open(path: PathBuf) -> Result<(Self, Vec<T>), RecordError> {
        let mut options = OpenOptions::new();
        let mut file = options
            .create(true)
            .read(true)
            .write(true)
            .truncate(false)
            .open(&path)
            .map_err(io("create", &path))?;
        let (items, whole) = whole_lines(&path, |_| true)?;
        file.set_len(whole as u64).map_err(io("write", &path))?;
        file.seek(SeekFrom::End(0)).map_err(io("write", &path))?;
        Ok((Self { path, out: BufWriter::new(file), kind: PhantomData }, items))
    }

    /// Appends a line; it is in the file when [`Lines::flush`] returns.
    pub fn push(&mut self, item: &T) -> Result<(), RecordError> {
        let mut line = serde_json::to_vec(item).expect("records are plain data");
        line.push(b'\n');
        self.out.write_all(&line).map_err(io("write", &self.path))
    }

    /// Hands all lines to the system.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        self.out.flush().map_err(io("write", &self.path))
    }
}

/// Reads the lines of a record that this process does not hold, those that `wanted` takes. A record that is not there
/// has none; what follows the last line end is still being written.
pub fn read_lines<T: DeserializeOwned>(
    path: &Path,
    wanted: impl Fn(&[u8]) -> bool,
) -> Result<Vec<T>, RecordError> {
    if path.exists() { Ok(whole_lines(path, wanted)?.0) } else { Ok(Vec::new()) }
}

/// Reads a file of JSON; `None` if it is not there.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, RecordError> {
    match std::fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io("read", path)(error)),
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|source| RecordError::Damaged {
            path: path.to_owned(),
            line: source.line(),
            source,
        }),
    }
}

/// The lines that `wanted` takes, and where the last line ends.
fn whole_lines<T: DeserializeOwned>(
    path: &Path,
    wanted: impl Fn(&[u8]) -> bool,
) -> Result<(Vec<T>, usize), RecordError> {
    let bytes = std::fs::read(path).map_err(io("read", path))?;
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let lines = bytes[..whole].split_inclusive(|&byte| byte == b'\n').enumerate();
    let items = lines
        .filter(|(_, line)| wanted(line))
        .map(|(at, line)| {
            let damaged = |source| RecordError::Damaged { path: path.to_owned(), line: at + 1, source };
            serde_json::from_slice(line).map_err(damaged)
        })
        .collect::<Result<_, _>>()?;
    Ok((items, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_line_is_dropped_and_the_next_one_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        std::fs::write(&path, "1\n2\n3").unwrap();
        let (mut lines, items) = Lines::<u32>::open(path.clone()).unwrap();
        assert_eq!(items, [1, 2]);
        lines.push(&4).unwrap();
        lines.flush().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\n2\n4\n");
    }

    #[test]
    fn a_damaged_line_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        std::fs::write(&path, "1\nx\n3\n").unwrap();
        let error = Lines::<u32>::open(path).unwrap_err();
        assert!(matches!(error, RecordError::Damaged { line: 2, .. }), "{error}");
    }

    #[test]
    fn a_run_directory_has_one_holder() {
        let dir = tempfile::tempdir().unwrap();
        let held = RunDir::open(dir.path()).unwrap();
        assert!(matches!(RunDir::open(dir.path()), Err(RecordError::InUse(_))));
        drop(held);
        RunDir::open(dir.path()).unwrap();
    }

    #[test]
    fn a_summary_is_replaced_as_a_whole() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunDir::open(dir.path()).unwrap();
        assert_eq!(run.read::<Vec<u32>>("s.json").unwrap(), None);
        run.write("s.json", &[1, 2]).unwrap();
        run.write("s.json", &[3]).unwrap();
        assert_eq!(run.read::<Vec<u32>>("s.json").unwrap(), Some(vec![3]));
    }
}
