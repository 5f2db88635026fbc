//! What goes into a repair and what comes out: values only.

use std::path::PathBuf;

use serde::Serialize;

use super::samples::Ranked;
use super::subject::Benchmark;
use crate::bug::{Hunk, Lines};
use crate::decode::{Counters, StopReason};
use crate::engine;
use crate::java::test_id::TestId;
use crate::model::Download;
use crate::validate::Baseline;

/// What is to be repaired, and where the run is kept.
#[derive(Debug, Clone)]
pub struct Task {
    /// Name of the bug: the benchmark's, or file and lines.
    pub name: String,
    /// The project's root, absolute.
    pub root: PathBuf,
    /// Where the fault is.
    pub hunks: Vec<Hunk>,
    /// Tests that show the bug.
    pub tests: Vec<TestId>,
    /// What a benchmark says of it.
    pub benchmark: Option<Benchmark>,
    /// Where the run is kept.
    pub run_dir: PathBuf,
    /// Whether an earlier run in that directory is dropped.
    pub fresh: bool,
    /// Whether patched code runs without a sandbox.
    pub no_sandbox: bool,
}

/// What is going on, for whoever watches.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A new stage begins.
    Stage(&'a str),
    /// Something that the user should know.
    Note(String),
    /// A part of the model is fetched.
    Download(&'a Download),
    /// The bug shows as it should.
    Baseline(&'a Baseline),
    /// Figures of the search and of validation.
    Figures(Figures),
    /// A plausible patch was found.
    Plausible {
        /// Which sample it is.
        index: usize,
    },
}

/// Figures that change while samples are drawn.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// Samples wanted.
    pub wanted: usize,
    /// Samples drawn.
    pub drawn: usize,
    /// Samples with a verdict.
    pub judged: usize,
    /// Plausible ones.
    pub plausible: usize,
    /// Positions that the model computed.
    pub positions: u64,
    /// Continuations refused.
    pub refused: u64,
}

/// What came out.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Name of the bug: file and lines.
    pub bug: String,
    /// The file, relative to the project's root.
    pub file: PathBuf,
    /// SHA-256 of its bytes.
    pub file_sha256: String,
    /// The hole's lines.
    pub lines: Lines,
    /// Tests that show the bug.
    pub tests: Vec<TestId>,
    /// Seed of the search.
    pub seed: u64,
    /// Why no further sample was drawn.
    pub stop: StopReason,
    /// Samples drawn; up to the decisive one where the run stopped after so many plausible patches.
    pub samples: usize,
    /// Samples with a verdict.
    pub judged: usize,
    /// Samples that compile with the project.
    pub compilable: usize,
    /// Plausible patches.
    pub plausible: usize,
    /// The first plausible sample.
    pub first_plausible: Option<usize>,
    /// The best patch's diff, relative to the run directory.
    pub best_diff: Option<PathBuf>,
    /// Plausible patches, best first.
    pub ranking: Vec<Ranked>,
    /// The run directory.
    pub run_dir: PathBuf,
    /// Seconds from start to end, of this process.
    pub seconds: f64,
    /// Figures of the search, of this process.
    pub search: Counters,
    /// Figures of the language server, of this process.
    pub engine: engine::Counters,
}

/// `summary.json`.
#[derive(Debug, Serialize)]
pub struct Summaries<'a> {
    /// One entry for each bug of the run.
    pub bugs: Vec<&'a Summary>,
}

/// A file that belongs to no source root of the project.
#[derive(Debug, thiserror::Error)]
#[error("`{}` lies in no main source root of the project ({}): name the root with --source", .file.display(), .roots.join(", "))]
pub struct OutsideSources {
    /// The file.
    pub file: PathBuf,
    /// The roots.
    pub roots: Vec<String>,
}

/// A bug of several hunks.
#[derive(Debug, thiserror::Error)]
#[error("the fault is in {0} places: only bugs of one place can be repaired")]
pub struct SeveralHunks(pub usize);

/// A source file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read `{}` (--at is relative to --project)", .file.display())]
pub struct Unreadable {
    /// The file.
    pub file: PathBuf,
    /// What the system said.
    #[source]
    pub source: std::io::Error,
}

/// The user asked to stop.
#[derive(Debug, thiserror::Error)]
#[error("interrupted; the same command goes on with the run in `{}`", .0.display())]
pub struct Interrupted(pub PathBuf);
