//! Stages in the warm JVM, and when its word counts.
//!
//! It is first held against the baseline: test classes that do not end there as they did in a fresh JVM are never run in it.
//! A pass is provisional, since the whole suite runs in fresh processes afterwards. A failure counts at once if the unpatched
//! program fails in the same way; any other counts only if the same JVM still shows the unpatched program as the baseline
//! does, so that no candidate is blamed for what an earlier one left behind. Where there is no clear answer there is none,
//! and fresh processes decide.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::compile::Classes;
use super::error::ValidateError;
use super::lane::Alone;
use super::stages::{PatchedClasses, Step, Yardstick, judge, trigger_selection};
use super::suite::{Selection, TestRecord, TestRun, TestStatus};
use super::verdict::{By, Stage};
use super::worker::{Answer, Worker};
use super::{Candidate, Ready, Validator};
use crate::java::test_id::TestId;

/// A worker's limit in any case. What takes longer is run again in a fresh JVM with the baseline's own limit.
const LEAST_LIMIT: Duration = Duration::from_secs(5);
/// How many times longer than the unpatched program in the same JVM.
const FACTOR: u32 = 5;

/// What the warm JVM does with the unpatched program's trigger classes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Warmth {
    usual_threads: usize,
    limit: Duration,
}

/// How a test ended, without the time it took and the message, which may name a time or an address.
type Ends = BTreeMap<TestId, (TestStatus, Option<String>)>;

fn ends<'a>(records: impl IntoIterator<Item = &'a TestRecord>) -> Ends {
    let end = |record: &TestRecord| (record.test.clone(), (record.status, record.exception.clone()));
    records.into_iter().map(end).collect()
}

impl Validator {
    /// Runs the unpatched program's trigger classes in a worker. `None` where it does not end as in a fresh JVM.
    pub(super) fn warm_up(
        &mut self,
        triggers: &[TestId],
        classes: &Classes,
        fresh: &TestRun,
    ) -> Result<Option<Warmth>, ValidateError> {
        self.lane.worker = None;
        if !self.settings.warm || !fresh.done {
            return Ok(None);
        }
        let names = trigger_selection(triggers).classes;
        let mut worker = Worker::start(self.suite(&self.lane.worker_dir), &self.baseline_tree(), usize::MAX)?;
        let suite = self.suite(&self.lane.worker_dir);
        let limit = self.settings.limits.baseline_trigger;
        let Answer::Run(run) = worker.run(suite, None, None, classes, &names, limit)? else {
            return Ok(None);
        };
        if worker.is_spent() || ends(run.records.values()) != ends(fresh.records.values()) {
            return Ok(None);
        }
        let least = LEAST_LIMIT.min(self.settings.limits.minimum);
        let limit = least.max(Duration::from_millis(run.millis) * FACTOR);
        let warmth = Warmth { usual_threads: worker.threads(), limit };
        self.lane.worker = Some(worker);
        Ok(Some(warmth))
    }

    /// Runs the triggers' classes in the worker; `None` if it has no clear answer, and whether others may run beside the
    /// fresh run that has to follow.
    pub(super) fn warm_trigger(
        &mut self,
        ready: &Ready,
        candidate: &Candidate,
        classes: &PatchedClasses,
    ) -> Result<Result<Step, Alone>, ValidateError> {
        let Some(warmth) = ready.warmth else { return Ok(Err(Alone::IfSlow)) };
        let (started, limit) = (Instant::now(), warmth.limit);
        let names = trigger_selection(&ready.triggers).classes;
        let run = match self.ask_worker(warmth, Some((candidate, classes)), &names, limit)? {
            Answer::Run(run) => run,
            Answer::Lost if started.elapsed() >= limit => return Ok(Err(Alone::AtOnce)),
            Answer::Lost => return Ok(Err(Alone::IfSlow)),
        };
        let before = ends(&ready.baseline.trigger_records);
        let fails_as_before = failures(&run).iter().all(|(test, end)| before.get(test) == Some(end));
        let mut step = judge(Stage::Trigger, run, ready.trigger_yardstick(), started, limit);
        step.record.by = By::Worker;
        let is_sound = step.record.passed
            || fails_as_before && !step.record.failed.is_empty()
            || self.still_shows(warmth, &before, &names)?;
        Ok(if is_sound { Ok(step) } else { Err(Alone::IfSlow) })
    }

    /// Whether the worker still shows the unpatched program as the baseline does; one that does not is dropped.
    fn still_shows(
        &mut self,
        warmth: Warmth,
        before: &Ends,
        names: &[String],
    ) -> Result<bool, ValidateError> {
        let answer = self.ask_worker(warmth, None, names, warmth.limit)?;
        let is_sound = matches!(&answer, Answer::Run(run) if ends(run.records.values()) == *before);
        if !is_sound {
            self.lane.worker = None;
        }
        Ok(is_sound)
    }

    /// Runs the relevant test classes in the worker; a failure counts if a fresh JVM shows it too. `None` where there are
    /// none, or none that a worker can run.
    pub(super) fn relevant_stage(
        &mut self,
        ready: &Ready,
        candidate: &Candidate,
        classes: &PatchedClasses,
    ) -> Result<Option<RelevantStage>, ValidateError> {
        let Some(warmth) = ready.warmth else { return Ok(None) };
        let shared = Arc::clone(&self.shared);
        let names = shared.relevant(&candidate.file, || self.fit_relevant(ready, warmth, candidate))?;
        if names.is_empty() {
            return Ok(None);
        }
        let started = Instant::now();
        let own = |record: &&TestRecord| names.iter().any(|name| record.test.outermost_class() == name);
        let usual: u64 = ready.baseline.suite_records.iter().filter(own).map(|record| record.millis).sum();
        let limit = LEAST_LIMIT.max(Duration::from_millis(usual) * FACTOR);
        let required: BTreeSet<TestId> = ready
            .full_required
            .iter()
            .filter(|test| names.iter().any(|n| test.outermost_class() == n))
            .cloned()
            .collect();
        let asked = self.ask_worker(warmth, Some((candidate, classes)), &names, limit)?;
        let Answer::Run(run) = asked else { return Ok(None) };
        let mut worker = judge_relevant(run, ready, &required, started, limit);
        worker.record.by = By::Worker;
        if worker.record.passed {
            return Ok(Some(RelevantStage { names, worker, fresh: None }));
        }
        let failing: BTreeSet<&str> = worker.record.failed.iter().map(|f| f.test.outermost_class()).collect();
        let failing: Vec<String> = failing.into_iter().map(str::to_owned).collect();
        let required =
            required.into_iter().filter(|t| failing.iter().any(|n| t.outermost_class() == n)).collect();
        let (started, limit) = (Instant::now(), Duration::from_millis(ready.baseline.limits.full));
        let selection = Selection { classes: failing, ..Selection::default() };
        let alone = classes.alone.as_deref();
        let run = self.run_fresh(Some(candidate), alone, &classes.all, &selection, limit, Alone::IfSlow)?;
        let fresh = judge_relevant(run, ready, &required, started, limit);
        Ok(Some(RelevantStage { names, worker, fresh: Some(fresh) }))
    }

    /// Relevant test classes that end in the worker as they did in a fresh JVM, the triggers' own left out.
    fn fit_relevant(
        &mut self,
        ready: &Ready,
        warmth: Warmth,
        candidate: &Candidate,
    ) -> Result<Vec<String>, ValidateError> {
        let is_trigger = |class: &str| ready.triggers.iter().any(|test| test.outermost_class() == class);
        let ran: BTreeSet<&str> =
            ready.baseline.suite_records.iter().map(|record| record.test.outermost_class()).collect();
        let test_root = self.test_root(&self.baseline_classes()).to_owned();
        let patched = self.class_name(&candidate.file);
        let is_relevant = |class: &&str| {
            !is_trigger(class)
                && (!self.settings.suite.is_empty() || names_class(&test_root, class, &patched))
        };
        let names: Vec<String> = ran.into_iter().filter(is_relevant).map(str::to_owned).collect();
        if names.is_empty() {
            return Ok(names);
        }
        let limit = Duration::from_millis(ready.baseline.limits.full);
        let Answer::Run(run) = self.ask_worker(warmth, None, &names, limit)? else { return Ok(Vec::new()) };
        let (warm, fresh) = (ends(run.records.values()), ends(&ready.baseline.suite_records));
        let of = |ends: &Ends, class: &str| -> Ends {
            ends.iter()
                .filter(|(test, _)| test.outermost_class() == class)
                .map(|(t, e)| (t.clone(), e.clone()))
                .collect()
        };
        Ok(names.into_iter().filter(|class| of(&warm, class) == of(&fresh, class)).collect())
    }

    /// The binary name with slashes of the class that a source file is named after.
    fn class_name(&self, file: &Path) -> String {
        let path = self.project.root.join(file);
        let below = self.project.sources.iter().find_map(|root| path.strip_prefix(root).ok());
        below.unwrap_or(file).with_extension("").to_string_lossy().into_owned()
    }

    /// Has the worker run tests; a new one is started where there is none, or the old one is spent.
    fn ask_worker(
        &mut self,
        warmth: Warmth,
        patch: Option<(&Candidate, &PatchedClasses)>,
        names: &[String],
        limit: Duration,
    ) -> Result<Answer, ValidateError> {
        let shared = Arc::clone(&self.shared);
        let _others_may_run = shared.lock_shared();
        let kept = self.lane.worker.take().filter(|worker| !worker.is_spent());
        let suite = self.suite(&self.lane.worker_dir);
        let mut worker = match kept {
            Some(worker) => worker,
            None => Worker::start(suite, &self.baseline_tree(), warmth.usual_threads)?,
        };
        let baseline = self.baseline_classes();
        let (alone, all) = match patch {
            Some((_, classes)) => (classes.alone.as_deref(), &classes.all),
            None => (None, &baseline),
        };
        let source = patch.map(|(candidate, _)| (candidate.file.as_path(), &candidate.text[..]));
        let answer = worker.run(suite, source, alone, all, names, limit)?;
        self.lane.worker = Some(worker).filter(|worker| !worker.is_spent());
        Ok(answer)
    }
}

/// The relevant stage as the worker saw it and, where that failed, as a fresh JVM did.
#[derive(Debug)]
pub(super) struct RelevantStage {
    /// The test classes.
    pub(super) names: Arc<Vec<String>>,
    pub(super) worker: Step,
    pub(super) fresh: Option<Step>,
}

fn judge_relevant(
    run: TestRun,
    ready: &Ready,
    required: &BTreeSet<TestId>,
    started: Instant,
    limit: Duration,
) -> Step {
    let yardstick = Yardstick { required, triggers: &[], known: &ready.baseline.known_failures };
    judge(Stage::Relevant, run, yardstick, started, limit)
}

fn failures(run: &TestRun) -> Ends {
    ends(run.records.values().filter(|record| record.status == TestStatus::Failed))
}

/// Whether a test class names another class. Its nested classes are not looked at: the whole suite follows anyway.
fn names_class(root: &Path, test_class: &str, name: &str) -> bool {
    let file = root.join(test_class.replace('.', "/") + ".class");
    std::fs::read(file).is_ok_and(|bytes| bytes.windows(name.len()).any(|window| window == name.as_bytes()))
}
