//! Validation: does a patched program compile, do its trigger tests pass, does its whole suite still pass?
//!
//! [`Validator::baseline`] runs the unpatched program: the bug must show, what fails anyway is known from then on,
//! and the limits follow from its times. [`Validator::validate`] takes a patched file through [`Stage::Compile`],
//! [`Stage::Trigger`], [`Stage::Relevant`] and [`Stage::Full`] and stops at the first that does not pass.
//!
//! Invariants: the user's tree is never written. A verdict depends on the patch alone: the first two stages of tests run in
//! a warm JVM (`worker`), whose word counts only as far as fresh processes confirm it or nothing disturbed it; what passes
//! is run in fresh JVMs in fresh copies of the tree. Only a run that came to its end, executed tests, kept every test that
//! passed before and passed the trigger tests counts as passed; an exit, a crash, a time-out or a missing test does not.
//! Candidates with equal class files are run once. A bad patch is a verdict, a broken tool an error.
//!
//! Deliberately absent: ranking, writing diffs, running the project's own build.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::build::javac::Platform;
use crate::java::project::Project;
use crate::java::test_id::TestId;
use crate::process::{End, Interrupt};

mod baseline;
mod class_file;
mod compile;
mod error;
mod lane;
mod nonce;
pub mod sandbox;
mod scratch;
mod snapshot;
mod stages;
mod suite;
pub mod verdict;
mod warm;
mod warm_compiler;
mod warm_stages;
mod worker;

pub use baseline::{Baseline, Times};
pub use error::ValidateError;
pub use suite::{TestRecord, TestStatus};

use lane::{Alone, Lane, Shared};
use sandbox::Sandbox;
use stages::{PatchedClasses, trigger_selection};
use verdict::{Outcome, Stage, StageEnd, StageRecord, Verdict};
use warm_stages::Warmth;

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
    /// Whether a warm JVM and a warm compiler are used; else every step has processes of its own.
    pub warm: bool,
}

impl ValidateSettings {
    /// With the default limits, `UTC` and `en_US`.
    pub fn new(scratch: PathBuf, runner: PathBuf, junit: Vec<PathBuf>, sandbox: Sandbox) -> Self {
        let (time_zone, locale) = ("UTC".to_owned(), "en_US".to_owned());
        let (limits, suite, excluded) = (Limits::default(), Vec::new(), Vec::new());
        Self { scratch, runner, junit, sandbox, limits, time_zone, locale, suite, excluded, warm: true }
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
    lane: Lane,
    shared: Arc<Shared>,
    ready: Option<Arc<Ready>>,
}

/// What the baseline leaves for the patches.
#[derive(Debug, Clone)]
struct Ready {
    triggers: Vec<TestId>,
    trigger_required: BTreeSet<TestId>,
    full_required: BTreeSet<TestId>,
    /// Left out of the suite; trigger classes are not among them.
    without: Vec<String>,
    /// `None` where a worker does not show the unpatched program as a fresh JVM does.
    warmth: Option<Warmth>,
    baseline: Baseline,
}

impl Validator {
    /// Nothing is done yet; see [`Validator::baseline`].
    pub fn new(project: &Project, settings: ValidateSettings, interrupt: Interrupt) -> Self {
        let (project, platform) = (project.clone(), Platform::OfLevel);
        let (lane, shared) = (Lane::default(), Arc::default());
        Self { project, settings, interrupt, platform, lane, shared, ready: None }
    }

    /// Another validator that judges patches beside this one, with the same baseline.
    pub fn beside(&self) -> Result<Validator, ValidateError> {
        if self.ready.is_none() {
            return Err(ValidateError::NoBaseline);
        }
        Ok(Self {
            project: self.project.clone(),
            settings: self.settings.clone(),
            interrupt: self.interrupt.clone(),
            platform: self.platform,
            lane: Lane::new(&self.settings.scratch, self.shared.next_lane())?,
            shared: Arc::clone(&self.shared),
            ready: self.ready.clone(),
        })
    }

    /// Takes verdicts of an earlier process, so that candidates with the same class files are not run again.
    pub fn learn(&self, verdict: &Verdict) {
        self.shared.learn(verdict);
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
        let selection = trigger_selection(triggers);
        let trigger_run = self.run_fresh(None, None, &classes, &selection, limit, Alone::IfSlow)?;
        let failing = baseline::failing_triggers(triggers, &trigger_run)?;
        let hung = trigger_run.running.iter().map(|test| test.outermost_class().to_owned());
        let left_out = self.settings.excluded.iter().cloned().chain(hung).collect();
        let (suite_run, excluded) = self.run_suite(triggers, &classes, left_out)?;
        let (second_run, excluded) = self.run_suite(triggers, &classes, excluded)?;
        let flaky = baseline::flaky(&suite_run, &second_run);
        if suite_run.tests_run() + trigger_run.tests_run() == 0 && trigger_run.done {
            let tests = self.project.tests.first().unwrap_or(&self.project.root).clone();
            return Err(ValidateError::NoTests { tests });
        }

        let warmth = self.warm_up(triggers, &classes, &trigger_run)?;
        let times = Times {
            compile: compile_ms,
            trigger: baseline::own_time(&trigger_run, limit),
            full: suite_run.millis,
        };
        let (limits, runs) = (&self.settings.limits, [&trigger_run, &suite_run, &second_run]);
        let baseline = Baseline {
            triggers: failing,
            known_failures: baseline::unrelated_failures(runs.into_iter(), triggers),
            limits: times.map(|millis| limits.of(millis).as_millis() as u64),
            millis: times,
            flaky: flaky.iter().cloned().collect(),
            excluded: excluded.clone(),
            trigger_records: trigger_run.records.into_values().collect(),
            suite_records: suite_run.records.into_values().collect(),
        };
        let without =
            excluded.into_iter().filter(|class| triggers.iter().all(|t| t.outermost_class() != class));
        self.ready = Some(Arc::new(Ready {
            triggers: triggers.to_vec(),
            trigger_required: &Baseline::required(baseline.trigger_records.iter()) - &flaky,
            full_required: &Baseline::required(baseline.suite_records.iter()) - &flaky,
            without: without.collect(),
            warmth,
            baseline: baseline.clone(),
        }));
        Ok(baseline)
    }

    /// Takes one patched file through the stages.
    pub fn validate(&mut self, candidate: &Candidate) -> Result<Verdict, ValidateError> {
        let ready = Arc::clone(self.ready.as_ref().ok_or(ValidateError::NoBaseline)?);
        self.check_place(candidate)?;
        let (step, classes) = self.compile_stage(&ready, candidate)?;
        let outcome = step.outcome();
        let mut stages = vec![step.record];
        if let Some(outcome) = outcome {
            return Ok(Verdict::new(outcome, stages));
        }
        let digest = class_file::digest(classes.own())?;
        if class_file::same_bytes(classes.own(), &self.baseline_classes().main) {
            stages.push(ready.baseline.as_trigger_stage());
            let verdict = Verdict::new(Outcome::Failed { stage: Stage::Trigger }, stages);
            return Ok(Verdict { classes: Some(digest), repeated: true, ..verdict });
        }
        if let Some(known) = self.shared.known(&digest) {
            return Ok(Verdict { repeated: true, ..known });
        }
        let (outcome, contested) = self.run_stages(&ready, candidate, &classes, &mut stages)?;
        let verdict = Verdict { classes: Some(digest), contested, ..Verdict::new(outcome, stages) };
        self.shared.learn(&verdict);
        Ok(verdict)
    }

    /// The stages of tests, in order, up to the first that does not pass; and whether a worker and fresh processes did not
    /// judge alike.
    fn run_stages(
        &mut self,
        ready: &Ready,
        candidate: &Candidate,
        classes: &PatchedClasses,
        stages: &mut Vec<StageRecord>,
    ) -> Result<(Outcome, bool), ValidateError> {
        let mut passed_warm: BTreeSet<String> = BTreeSet::new();
        let step = match self.warm_trigger(ready, candidate, classes)? {
            Ok(step) => {
                passed_warm.extend(trigger_selection(&ready.triggers).classes);
                step
            }
            Err(when) => self.trigger_stage(ready, candidate, classes, when)?,
        };
        let outcome = step.outcome();
        stages.push(step.record);
        if let Some(outcome) = outcome {
            return Ok((outcome, false));
        }
        let mut contested = false;
        if let Some(relevant) = self.relevant_stage(ready, candidate, classes)? {
            stages.push(relevant.worker.record);
            if let Some(fresh) = relevant.fresh {
                let outcome = fresh.outcome();
                stages.push(fresh.record);
                if let Some(outcome) = outcome {
                    return Ok((outcome, false));
                }
                contested = true;
            } else {
                passed_warm.extend(relevant.names.iter().cloned());
            }
        }
        let step = self.full_stage(ready, candidate, classes)?;
        contested |= step.record.failed.iter().any(|f| passed_warm.contains(f.test.outermost_class()));
        let outcome = step.outcome().unwrap_or(Outcome::Plausible);
        stages.push(step.record);
        Ok((outcome, contested))
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
