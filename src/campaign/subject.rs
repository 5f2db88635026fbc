//! What a bug of a benchmark is made of, before anything of it is built or run.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Serialize;

use super::generated::add_generated;
use super::task::Unreadable;
use crate::bug::change::Change;
use crate::bug::{BugId, Hunk};
use crate::build::{self, Overrides, Tools};
use crate::config::{Config, Parts};
use crate::defects4j::checkout::{make_checkout, require_buggy_lines, require_checkout};
use crate::defects4j::layout::{Layout, read_layout};
use crate::defects4j::{self, Framework};
use crate::java::project::{BuildTool, Project};
use crate::java::recorded::{Recorded, is_same_failure};
use crate::java::test_id::TestId;
use crate::process::Interrupt;
use crate::programs::{self, Programs};
use crate::validate::sandbox::Sandbox;
use crate::validate::{Baseline, ValidateSettings};

/// Language level of the collections of programs.
const PROGRAMS_LEVEL: u32 = 8;

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

impl Subject {
    /// The tests that show the bug.
    pub fn triggers(&self) -> Vec<TestId> {
        self.benchmark.recorded.iter().map(|recorded| recorded.test.clone()).collect()
    }
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

/// A trigger test that fails, but not as it did when the bug was recorded: it shows something else.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{test}` fails with {found}, but was recorded with {recorded}: the environment is to blame, not the bug"
)]
pub struct NotAsRecorded {
    test: TestId,
    found: String,
    recorded: String,
}

impl Benchmark {
    /// An error if a trigger test fails in another way than it was recorded.
    pub fn require_recorded(&self, baseline: &Baseline) -> Result<(), NotAsRecorded> {
        for Recorded { test, exception } in &self.recorded {
            let Some(recorded) = exception else { continue };
            let own = baseline.triggers.iter().filter(|failure| test.covers(&failure.test));
            let found: Vec<(&str, &str)> = own
                .filter_map(|failure| {
                    Some((failure.exception.as_deref()?, failure.message.as_deref().unwrap_or_default()))
                })
                .collect();
            if let Some((exception, message)) = found.first()
                && !found.iter().any(|(found, _)| is_same_failure(found, recorded))
            {
                let found = format!("{exception}: {}", message.lines().next().unwrap_or_default());
                return Err(NotAsRecorded { test: test.clone(), found, recorded: recorded.clone() });
            }
        }
        Ok(())
    }
}

/// Finds out all about the project; what a benchmark says of it goes before what is found by looking, and what the user
/// says before both.
pub fn inspect(
    root: &Path,
    benchmark: Option<&Benchmark>,
    config: &Config,
    scratch: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<Project> {
    let given = config.overrides.clone();
    let overrides = match benchmark {
        Some(benchmark) => given.or(&benchmark.layout),
        None => given,
    };
    let mut project = inspect_project(root, &config.parts, &overrides, scratch, interrupt)?;
    if let Some(benchmark) = benchmark {
        add_generated(&mut project, &benchmark.generated, interrupt)?;
    }
    Ok(project)
}

/// Finds out what the project at `root` is made of; what the user says of it goes before what is found by looking.
pub fn inspect_project(
    root: &Path,
    parts: &Parts,
    given: &Overrides,
    scratch: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<Project> {
    let jdk = parts.jdk.clone().or_else(|| given.jdk.clone());
    let overrides = Overrides { jdk, ..given.clone() };
    let tools = Tools {
        jdks: build::jdk::find_jdks(&parts.jdk_places, interrupt),
        mvn: parts.mvn.clone(),
        junit: parts.junit.clone(),
    };
    Ok(build::inspect(root, &overrides, &tools, scratch, interrupt)?)
}

/// How patches of a bug are judged.
pub fn validate_settings(
    benchmark: Option<&Benchmark>,
    parts: &Parts,
    scratch: PathBuf,
    sandbox: Sandbox,
) -> ValidateSettings {
    let mut settings = ValidateSettings::new(scratch, parts.runner.clone(), parts.junit.clone(), sandbox);
    if let Some(benchmark) = benchmark {
        if let Some(time_zone) = benchmark.time_zone {
            time_zone.clone_into(&mut settings.time_zone);
        }
        settings.suite.clone_from(&benchmark.relevant);
        settings.excluded.clone_from(&benchmark.excluded);
    }
    settings
}

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

/// Finds a program of a collection; its tree is made if it is not there.
pub fn of_programs(programs: &Programs, bug: &BugId, place: &CheckoutPlace) -> anyhow::Result<Subject> {
    let changes = programs.changes(bug)?;
    if changes.is_empty() {
        return Err(NoHunk(bug.clone()).into());
    }
    if !place.dir.exists() {
        programs.write_tree(bug, &place.dir)?;
    }
    let root = place.dir.canonicalize().with_context(|| format!("cannot read `{}`", place.dir.display()))?;
    let test = TestId { class: programs.test_class(bug), method: None };
    Ok(Subject {
        bug: bug.clone(),
        hunks: changes.iter().map(Change::hunk).collect(),
        benchmark: Benchmark {
            source: format!("{} in {}", programs.name(), programs.home().display()),
            recorded: vec![Recorded { test, exception: None }],
            time_zone: None,
            relevant: Vec::new(),
            excluded: Vec::new(),
            layout: Overrides {
                build_tool: Some(BuildTool::Plain),
                sources: vec![root.join(programs::SOURCES)],
                tests: vec![root.join(programs::TESTS)],
                level: Some(PROGRAMS_LEVEL),
                encoding: Some("UTF-8".to_owned()),
                ..Overrides::default()
            },
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
