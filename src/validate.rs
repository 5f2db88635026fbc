//! Validation: does a patched program compile, do its trigger tests pass, does its whole suite still pass?
//!
//! [`Validator::baseline`] runs the unpatched program once: the bug must show, what fails anyway is known from then on,
//! and the limits follow from its times. [`Validator::validate`] takes a patched file through [`Stage::Compile`],
//! [`Stage::Trigger`] and [`Stage::Full`] and stops at the first that does not pass.
//!
//! Invariants: the user's tree is never written. Every run of tests gets a fresh JVM in a fresh copy of the tree, so a
//! verdict depends on the patch alone. Only a run that came to its end, executed tests, kept every test that passed
//! before and passed the trigger tests counts as passed; an exit, a crash, a time-out or a missing test does not.
//! A bad patch is a verdict, a broken tool an error.
//!
//! Deliberately absent: ranking, writing diffs, a warm JVM, running the project's own build.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::build::javac::Platform;
use crate::java::project::Project;
use crate::java::test_id::TestId;
use crate::process::{End, Interrupt};

mod baseline;
mod class_file;
mod compile;
mod error;
pub mod sandbox;
mod scratch;
mod stages;
mod suite;
pub mod verdict;

pub use baseline::{Baseline, Times};
pub use error::ValidateError;
pub use suite::{TestRecord, TestStatus};

use sandbox::Sandbox;
use stages::trigger_selection;
use verdict::{Outcome, Stage, StageEnd, Verdict};

/// What is allowed, in time and space.
#[derive(Debug, Clone)]
pub struct Limits {
    /// How many times longer than the unpatched program a patched one may take.
    pub factor: u32,
    /// What it may take in any case: small times are mostly noise.
    pub minimum: Duration,
    /// For the trigger's classes on the unpatched program, which may hang there.
    pub baseline_trigger: Duration,
    /// For compiling and for the whole suite on the unpatched program.
    pub baseline_full: Duration,
    /// Heap of the compiler and of the tests' JVM.
    pub heap_mib: u32,
    /// Size of each file that a test writes.
    pub file_mib: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            factor: 5,
            minimum: Duration::from_secs(20),
            baseline_trigger: Duration::from_secs(120),
            baseline_full: Duration::from_secs(1800),
            heap_mib: 1024,
            file_mib: 512,
        }
    }
}

impl Limits {
    fn of(&self, baseline_millis: u64) -> Duration {
        self.minimum.max(Duration::from_millis(baseline_millis * u64::from(self.factor)))
    }

    /// The clock ends a run; this ends what escaped its process group, so all cores may be busy until then.
    fn cpu_seconds(&self, limit: Duration) -> u64 {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        limit.max(self.minimum).as_secs() * cores as u64 + 1
    }
}

/// Everything but the project.
#[derive(Debug, Clone)]
pub struct ValidateSettings {
    /// A directory of the validator's own; whatever is in it may be removed.
    pub scratch: PathBuf,
    /// `repair-runner.jar`.
    pub runner: PathBuf,
    /// The JUnit platform (console-standalone), JUnit 4 and hamcrest (its jar's name starts so).
    pub junit: Vec<PathBuf>,
    /// How patched code is kept in.
    pub sandbox: Sandbox,
    /// In time and space.
    pub limits: Limits,
    /// For every test process, e.g. `UTC`.
    pub time_zone: String,
    /// For every test process, e.g. `en_US`.
    pub locale: String,
    /// Test classes that are the suite; all of the project's where none is named.
    pub suite: Vec<String>,
    /// Test classes that are left out of the suite.
    pub excluded: Vec<String>,
}

impl ValidateSettings {
    /// With the default limits, `UTC` and `en_US`.
    pub fn new(scratch: PathBuf, runner: PathBuf, junit: Vec<PathBuf>, sandbox: Sandbox) -> Self {
        let (time_zone, locale) = ("UTC".to_owned(), "en_US".to_owned());
        let (limits, suite, excluded) = (Limits::default(), Vec::new(), Vec::new());
        Self { scratch, runner, junit, sandbox, limits, time_zone, locale, suite, excluded }
    }

    fn language_and_country(&self) -> (&str, &str) {
        self.locale.split_once('_').unwrap_or((&self.locale, ""))
    }
}

/// A patched file: the project with this file in place of its own is to be judged.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// A main source, relative to the project's root.
    pub file: PathBuf,
    /// Its bytes, in the project's charset and with the file's own line ends.
    pub text: Vec<u8>,
}

/// Judges patches of one project, one after the other.
#[derive(Debug)]
pub struct Validator {
    project: Project,
    settings: ValidateSettings,
    interrupt: Interrupt,
    platform: Platform,
    ready: Option<Ready>,
}

/// What the baseline leaves for the patches.
#[derive(Debug)]
struct Ready {
    triggers: Vec<TestId>,
    trigger_required: BTreeSet<TestId>,
    full_required: BTreeSet<TestId>,
    /// Left out of the suite; trigger classes are not among them.
    without: Vec<String>,
    baseline: Baseline,
}

impl Validator {
    /// Nothing is done yet; see [`Validator::baseline`].
    pub fn new(project: &Project, settings: ValidateSettings, interrupt: Interrupt) -> Self {
        Self { project: project.clone(), settings, interrupt, platform: Platform::OfLevel, ready: None }
    }

    /// Runs the unpatched program: it must compile, each trigger test must be there and fail, and there must be tests.
    pub fn baseline(&mut self, triggers: &[TestId]) -> Result<Baseline, ValidateError> {
        self.ready = None;
        self.prepare()?;
        let classes = self.baseline_classes();
        let started = Instant::now();
        self.compile_baseline(&classes)?;
        let compile_ms = millis_since(started);
        baseline::check_classes(triggers, self.test_root(&classes))?;

        let limit = self.settings.limits.baseline_trigger;
        let trigger_run = self.run_fresh(None, None, &classes, &trigger_selection(triggers), limit)?;
        let failing = baseline::failing_triggers(triggers, &trigger_run)?;
        let hung = trigger_run.running.iter().map(|test| test.outermost_class().to_owned());
        let left_out = self.settings.excluded.iter().cloned().chain(hung).collect();
        let (suite_run, excluded) = self.run_suite(triggers, &classes, left_out)?;
        if suite_run.tests_run() + trigger_run.tests_run() == 0 && trigger_run.done {
            let tests = self.project.tests.first().unwrap_or(&self.project.root).clone();
            return Err(ValidateError::NoTests { tests });
        }

        let times = Times {
            compile: compile_ms,
            trigger: baseline::own_time(&trigger_run, limit),
            full: suite_run.millis,
        };
        let limits = &self.settings.limits;
        let baseline = Baseline {
            triggers: failing,
            known_failures: baseline::unrelated_failures([&trigger_run, &suite_run].into_iter(), triggers),
            limits: times.map(|millis| limits.of(millis).as_millis() as u64),
            millis: times,
            excluded: excluded.clone(),
            trigger_records: trigger_run.records.into_values().collect(),
            suite_records: suite_run.records.into_values().collect(),
        };
        let without =
            excluded.into_iter().filter(|class| triggers.iter().all(|t| t.outermost_class() != class));
        self.ready = Some(Ready {
            triggers: triggers.to_vec(),
            trigger_required: Baseline::required(baseline.trigger_records.iter()),
            full_required: Baseline::required(baseline.suite_records.iter()),
            without: without.collect(),
            baseline: baseline.clone(),
        });
        Ok(baseline)
    }

    /// Takes one patched file through the stages.
    pub fn validate(&mut self, candidate: &Candidate) -> Result<Verdict, ValidateError> {
        let ready = self.ready.as_ref().ok_or(ValidateError::NoBaseline)?;
        self.check_place(candidate)?;
        let mut stages = Vec::new();
        let (step, classes) = self.compile_stage(ready, candidate)?;
        let mut outcome = step.outcome();
        stages.push(step.record);
        for stage in [Stage::Trigger, Stage::Full] {
            if outcome.is_some() {
                break;
            }
            let step = if stage == Stage::Trigger {
                self.trigger_stage(ready, candidate, &classes)?
            } else {
                self.full_stage(ready, candidate, &classes)?
            };
            outcome = step.outcome();
            stages.push(step.record);
        }
        Ok(Verdict { outcome: outcome.unwrap_or(Outcome::Plausible), stages })
    }
}

fn millis_since(started: Instant) -> u64 {
    started.elapsed().as_millis() as u64
}

/// How a child ended, for people.
fn describe(end: End) -> String {
    describe_end(end.into())
}

fn describe_end(end: StageEnd) -> String {
    match end {
        StageEnd::Exit(status) => format!("exited with status {status}"),
        StageEnd::Signal(signal) => format!("was ended by signal {signal}"),
        StageEnd::Deadline => "reached its time limit".to_owned(),
    }
}
