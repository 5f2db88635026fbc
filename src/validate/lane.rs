//! Validators that work side by side: what each has for itself, and what they share.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::error::ValidateError;
use super::scratch;
use super::verdict::Verdict;
use super::warm_compiler::WarmCompiler;
use super::worker::Worker;

/// Whether others may run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alone {
    /// They may, but a run that reaches its limit is repeated alone before it counts.
    IfSlow,
    /// They may not: it was too slow already.
    AtOnce,
}

/// One validator's own directories and JVMs.
#[derive(Debug, Default)]
pub(super) struct Lane {
    pub(super) candidate: PathBuf,
    pub(super) work: PathBuf,
    pub(super) worker_dir: PathBuf,
    pub(super) compiler: Option<WarmCompiler>,
    pub(super) worker: Option<Worker>,
}

impl Lane {
    /// Makes the directories of lane `number` anew.
    pub(super) fn new(scratch: &Path, number: usize) -> Result<Lane, ValidateError> {
        let dir = scratch.join(format!("lane-{number}"));
        let (candidate, work, worker_dir) = (dir.join("candidate"), dir.join("work"), dir.join("worker"));
        for part in [&candidate, &work, &worker_dir] {
            scratch::fresh_dir(part)?;
        }
        Ok(Lane { candidate, work, worker_dir, compiler: None, worker: None })
    }
}

/// What all lanes share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    running: RwLock<()>,
    lanes: AtomicUsize,
    /// Verdicts by the digest of their class files.
    known: Mutex<HashMap<String, Verdict>>,
    /// Test classes of the relevant stage, by patched file.
    relevant: Mutex<HashMap<PathBuf, Arc<Vec<String>>>>,
}

const UNPOISONED: &str = "nobody panics with the lock";

impl Shared {
    /// The number of a new lane beside those there are.
    pub(super) fn next_lane(&self) -> usize {
        self.lanes.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn has_others(&self) -> bool {
        self.lanes.load(Ordering::Relaxed) > 0
    }

    /// Held while tests run beside others.
    pub(super) fn lock_shared(&self) -> RwLockReadGuard<'_, ()> {
        self.running.read().expect(UNPOISONED)
    }

    /// Held while nothing else may run.
    pub(super) fn lock_alone(&self) -> RwLockWriteGuard<'_, ()> {
        self.running.write().expect(UNPOISONED)
    }

    pub(super) fn known(&self, digest: &str) -> Option<Verdict> {
        self.known.lock().expect(UNPOISONED).get(digest).cloned()
    }

    /// Keeps a verdict for candidates with the same class files.
    pub(super) fn learn(&self, verdict: &Verdict) {
        if let Some(digest) = &verdict.classes {
            self.known.lock().expect(UNPOISONED).entry(digest.clone()).or_insert_with(|| verdict.clone());
        }
    }

    /// The relevant classes of `file`, found by `find` when they are first asked for; other lanes wait.
    pub(super) fn relevant(
        &self,
        file: &Path,
        find: impl FnOnce() -> Result<Vec<String>, ValidateError>,
    ) -> Result<Arc<Vec<String>>, ValidateError> {
        let mut known = self.relevant.lock().expect(UNPOISONED);
        if let Some(classes) = known.get(file) {
            return Ok(Arc::clone(classes));
        }
        let classes = Arc::new(find()?);
        known.insert(file.to_owned(), Arc::clone(&classes));
        Ok(classes)
    }
}
