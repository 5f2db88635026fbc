//! A warm JVM that runs the tests of one candidate after the other, each in a class loader of its own.
//!
//! It saves the start of a JVM, which is most of what a trigger test costs. Its word counts only where it ran to its end
//! undisturbed: whatever else happens (an exit, a time-out, a crash, closed output, a JVM whose own state was changed),
//! there is no answer, the worker is gone, and a fresh JVM decides.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::compile::Classes;
use super::error::ValidateError;
use super::nonce::nonce;
use super::scratch::{self, Tree};
use super::snapshot::Snapshot;
use super::suite::{Suite, TestRun, WorkerDone, read_lines};
use super::verdict::StageEnd;
use super::warm::{Heard, WarmJvm};

const SERVER_CLASS: &str = "repair.runner.TestServer";
/// Candidates after which a worker is replaced: what class loaders leave in the JDK's own tables adds up.
const MOST_SERVED: usize = 500;
/// Threads left behind by all candidates so far after which a worker is replaced.
const MOST_THREADS: usize = 64;
/// Processor time of a worker's whole life, for what escapes its process group.
const LIFE: Duration = Duration::from_secs(3600);

/// A running worker in a copy of the tree.
#[derive(Debug)]
pub(super) struct Worker {
    jvm: WarmJvm,
    tree: Tree,
    snapshot: Snapshot,
    /// Directories and jars of the program beside its classes.
    entries: Vec<PathBuf>,
    served: usize,
    threads: usize,
    /// Threads that the unpatched program leaves behind.
    usual_threads: usize,
    is_spent: bool,
}

/// What one run in a worker gave.
#[derive(Debug)]
pub(super) enum Answer {
    /// The tests ran to their end.
    Run(TestRun),
    /// They did not, or not undisturbed; the worker is of no use any more.
    Lost,
}

impl Worker {
    /// Starts a JVM in a new copy of the tree `from`. A candidate that leaves more than `usual_threads` behind spends it.
    pub(super) fn start(suite: Suite, from: &Path, usual_threads: usize) -> Result<Worker, ValidateError> {
        scratch::fresh_dir(suite.work)?;
        let tree = Tree::at(&suite.work.join("tree"), suite.project);
        scratch::copy_tree(from, &tree.root, &|_| false)?;
        for dir in ["tmp", "home"] {
            scratch::fresh_dir(&suite.work.join(dir))?;
        }
        let snapshot = Snapshot::take(suite.work, &tree.root, from)?;
        let (shared, entries) = suite.shared_class_path(&tree);
        let spec = suite
            .jvm(&tree, &[&shared[..], &entries].concat(), LIFE)
            .args(["-XX:+ExitOnOutOfMemoryError", "-XX:MaxMetaspaceSize=768m"])
            .arg("-classpath")
            .arg(crate::build::javac::join_paths(&shared))
            .arg(SERVER_CLASS);
        let jvm = WarmJvm::start(&spec)?;
        Ok(Worker { jvm, tree, snapshot, entries, served: 0, threads: 0, usual_threads, is_spent: false })
    }

    /// Whether it should be replaced before the next candidate.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent || self.served >= MOST_SERVED || self.threads >= MOST_THREADS
    }

    /// Threads that all runs so far left behind.
    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Runs test classes with `patched` class files before the program's.
    pub(super) fn run(
        &mut self,
        suite: Suite,
        source: Option<(&Path, &[u8])>,
        patched: Option<&Path>,
        classes: &Classes,
        names: &[String],
        limit: Duration,
    ) -> Result<Answer, ValidateError> {
        let started = Instant::now();
        if !self.snapshot.restore()? {
            return Ok(self.lost());
        }
        if let Some((file, text)) = source {
            scratch::write(&self.tree.root.join(file), text)?;
        }
        let nonce = nonce()?;
        let mut words: Vec<OsString> = vec![nonce.clone().into()];
        let program = patched.into_iter().chain([classes.test.as_path(), &classes.main]);
        for entry in program.chain(self.entries.iter().map(PathBuf::as_path)) {
            words.extend(["--dir".into(), entry.as_os_str().to_owned()]);
        }
        words.extend(names.iter().flat_map(|name| ["--class".into(), OsString::from(name)]));
        self.jvm.ask(&words);
        self.served += 1;
        self.listen(suite, &nonce, started, limit)
    }

    fn listen(
        &mut self,
        suite: Suite,
        nonce: &str,
        started: Instant,
        limit: Duration,
    ) -> Result<Answer, ValidateError> {
        let mut text = String::new();
        loop {
            let line = match self.jvm.hear(started + limit, suite.interrupt)? {
                Heard::Line(line) => line,
                Heard::Nothing | Heard::Gone => return Ok(self.lost()),
            };
            // Whatever else is written there was not written by the runner.
            let line = String::from_utf8_lossy(&line);
            let Some(own) = line.strip_prefix(nonce).and_then(|rest| rest.strip_prefix(' ')) else {
                self.is_spent = true;
                continue;
            };
            text.push_str(own);
            text.push('\n');
            if let Some(done) = WorkerDone::read(own) {
                let end = StageEnd::Exit(0);
                let run = read_lines(&text, end, started.elapsed(), done.tail());
                self.threads += done.threads;
                self.is_spent |= done.threads > self.usual_threads;
                if done.spoilt || !run.done {
                    return Ok(self.lost());
                }
                return Ok(Answer::Run(run));
            }
        }
    }

    fn lost(&mut self) -> Answer {
        self.is_spent = true;
        Answer::Lost
    }
}
