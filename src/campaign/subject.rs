//! What a bug of a benchmark is made of, before anything of it is built or run.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Serialize;

use super::task::Unreadable;
use crate::bug::{BugId, Hunk};
use crate::build::Overrides;
use crate::defects4j::checkout::{make_checkout, require_buggy_lines, require_checkout};
use crate::defects4j::layout::{Layout, read_layout};
use crate::defects4j::{self, Framework};
use crate::java::project::BuildTool;
use crate::java::recorded::Recorded;
use crate::process::Interrupt;

/// What a benchmark says of a bug besides its place and its tests.
#[derive(Debug, Clone, Serialize)]
pub struct Benchmark {
    /// Name, release and place of the benchmark.
    pub source: String,
    /// The trigger tests with what they threw when the bug was recorded.
    pub recorded: Vec<Recorded>,
    /// Time zone of all test runs.
    pub time_zone: Option<&'static str>,
    /// Test classes that can see the patch, where the benchmark tells; then they are the suite.
    pub relevant: Vec<String>,
    /// Test classes that the benchmark leaves out.
    pub excluded: Vec<String>,
    /// Roots, class path, level and charset.
    #[serde(skip)]
    pub layout: Overrides,
    /// Where what the project's own build generates is kept.
    #[serde(skip)]
    pub generated: PathBuf,
}

/// A bug of a benchmark, found.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Its name.
    pub bug: BugId,
    /// The buggy program's tree, absolute.
    pub root: PathBuf,
    /// Where the fault is, in the order of the benchmark's diff.
    pub hunks: Vec<Hunk>,
    /// What the benchmark says of it.
    pub benchmark: Benchmark,
}

/// Where a bug's checkout is, or is to be made.
#[derive(Debug, Clone)]
pub struct CheckoutPlace {
    /// The checkout's directory.
    pub dir: PathBuf,
    /// Where generated classes are kept, outside the checkout.
    pub generated: PathBuf,
}

impl CheckoutPlace {
    /// In the directory that the user named, or below the cache.
    pub fn new(given: Option<PathBuf>, cache: &Path, bug: &BugId) -> Self {
        let below = |kind: &str| cache.join(kind).join(bug.to_string());
        Self { dir: given.unwrap_or_else(|| below("checkouts")), generated: below("generated") }
    }
}

/// A fault that the bug's diff does not place in any line of a file.
#[derive(Debug, thiserror::Error)]
#[error("{0} cannot be repaired in place: its fix only adds or removes whole files")]
pub struct NoHunk(BugId);

/// Finds a bug of `Defects4J`; a checkout that is not there is made by `command`.
pub fn of_defects4j(
    framework: &Framework,
    command: &Path,
    bug: &BugId,
    place: &CheckoutPlace,
    interrupt: &Interrupt,
) -> anyhow::Result<Subject> {
    framework.require(bug)?;
    let root = if place.dir.exists() {
        require_checkout(&place.dir, bug)?
    } else {
        let parent = place.dir.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(parent).with_context(|| format!("cannot create `{}`", parent.display()))?;
        make_checkout(framework, command, bug, &place.dir, interrupt)?
    };
    let hunks = hunks_in(framework, bug, &root)?;
    let layout = read_layout(framework, bug, &root)?;
    let version = framework.version().unwrap_or_else(|| "of unknown release".to_owned());
    Ok(Subject {
        bug: bug.clone(),
        hunks,
        benchmark: Benchmark {
            source: format!("Defects4J {version} in {}", framework.home().display()),
            recorded: framework.triggers(bug)?,
            time_zone: Some(defects4j::TIME_ZONE),
            relevant: framework.relevant_tests(bug),
            excluded: layout.excluded_tests.clone(),
            layout: overrides(layout),
            generated: place.generated.clone(),
        },
        root,
    })
}

/// The bug's hunks, each checked against the file of the checkout.
fn hunks_in(framework: &Framework, bug: &BugId, root: &Path) -> anyhow::Result<Vec<Hunk>> {
    let mut hunks = Vec::new();
    for mut change in framework.changes(bug)?.runs {
        change.file = existing(root, &change.file);
        let path = root.join(&change.file);
        let text = std::fs::read(&path).map_err(|source| Unreadable { file: path, source })?;
        require_buggy_lines(bug, &change, &text)?;
        hunks.push(change.hunk());
    }
    if hunks.is_empty() { Err(NoHunk(bug.clone()).into()) } else { Ok(hunks) }
}

/// Some diffs were made before the framework moved the project up by one directory.
fn existing(root: &Path, file: &Path) -> PathBuf {
    let moved: PathBuf = file.components().skip(1).collect();
    if !root.join(file).exists() && root.join(&moved).is_file() { moved } else { file.to_owned() }
}

fn overrides(layout: Layout) -> Overrides {
    Overrides {
        build_tool: Some(BuildTool::Plain),
        sources: layout.sources,
        tests: layout.tests,
        class_path: layout.class_path.into_iter().filter(|jar| jar.exists()).collect(),
        level: Some(layout.level),
        encoding: layout.encoding,
        jdk: None,
    }
}
