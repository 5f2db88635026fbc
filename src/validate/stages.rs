//! The stages of one patch, and the runs of the unpatched program that they are held against.
//!
//! The scratch directory: `baseline/tree` is a copy of the user's tree that nothing runs in, `baseline/{main,test}` its
//! classes, shared by all lanes. In each lane `candidate` holds one patch's source and classes; `work` is what one run of
//! tests may write to, with a copy of the tree that is made anew for each run; `worker` is the warm JVM's.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::baseline;
use super::class_file;
use super::compile::{Classes, Compiled, Compiler};
use super::error::ValidateError;
use super::lane::{Alone, Lane};
use super::scratch::{self, Tree};
use super::suite::{Selection, Suite, TestRun};
use super::verdict::{By, Outcome, Stage, StageEnd, StageRecord, TestFailure};
use super::{Candidate, Ready, Validator, millis_since};
use crate::build::javac::Platform;
use crate::java::test_id::TestId;

/// Classes left out of the suite before it counts as broken: each costs one more run of it.
const MAX_EXCLUDED: usize = 5;

/// A stage that was gone through.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) record: StageRecord,
    /// Whether all that it compiled did compile.
    compiled: bool,
}

impl Step {
    /// What the stage decides; `None` if the next one may follow.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        match (self.record.passed, self.compiled) {
            (true, _) => None,
            (false, true) => Some(Outcome::Failed { stage: self.record.stage }),
            (false, false) => Some(Outcome::Uncompilable),
        }
    }

    fn of_compilation(stage: Stage, compiled: Compiled, started: Instant, limit: Duration) -> Step {
        let record = StageRecord {
            stage,
            by: By::Fresh,
            passed: compiled.success(),
            tests_run: 0,
            failed: Vec::new(),
            millis: millis_since(started),
            limit_ms: limit.as_millis() as u64,
            end: compiled.end.into(),
            output_tail: compiled.errors,
        };
        // A compiler that was stopped has not said that the patch does not compile.
        let compiled = record.passed || record.end == StageEnd::Deadline;
        Step { record, compiled }
    }
}

/// The classes of a patched program.
#[derive(Debug)]
pub(super) struct PatchedClasses {
    /// Those of the patched file alone, to be put before `all`; `None` if `all` has them.
    pub(super) alone: Option<PathBuf>,
    pub(super) all: Classes,
}

impl PatchedClasses {
    /// The class files that the patch may have changed.
    pub(super) fn own(&self) -> &Path {
        self.alone.as_deref().unwrap_or(&self.all.main)
    }
}

/// All tests of the triggers' classes: some tests pass only when their class runs as a whole.
pub(super) fn trigger_selection(triggers: &[TestId]) -> Selection {
    let classes: BTreeSet<&str> = triggers.iter().map(|test| test.class.as_str()).collect();
    Selection { classes: classes.into_iter().map(str::to_owned).collect(), ..Selection::default() }
}

impl Validator {
    /// Empties the scratch directory and copies the user's tree to it.
    pub(super) fn prepare(&mut self) -> Result<(), ValidateError> {
        let scratch = &mut self.settings.scratch;
        scratch::fresh_dir(&scratch.join("baseline"))?;
        // The sandbox and the walk through the user's tree compare paths.
        *scratch = scratch.canonicalize().map_err(ValidateError::io("resolve", scratch))?;
        self.lane = Lane::new(&self.settings.scratch, 0)?;
        scratch::copy_project(&self.project, &self.baseline_tree(), &self.settings.scratch)
    }

    /// Compiles the unpatched program against the class library of its level, or else the JDK's own.
    pub(super) fn compile_baseline(&mut self, classes: &Classes) -> Result<(), ValidateError> {
        let tree = Tree::at(&self.baseline_tree(), &self.project);
        let limit = self.settings.limits.baseline_full;
        self.platform = Platform::OfLevel;
        let compiled = self.compiler().program(&tree, classes, limit)?;
        if compiled.success() {
            return Ok(());
        }
        self.platform = Platform::OfJdk;
        if self.compiler().program(&tree, classes, limit)?.success() {
            return Ok(());
        }
        Err(ValidateError::DoesNotCompile { errors: compiled.errors })
    }

    /// Runs the whole suite of the unpatched program. A class that ends the JVM is left out from then on, and so is a
    /// trigger's class that hangs; the classes left out come back.
    pub(super) fn run_suite(
        &self,
        triggers: &[TestId],
        classes: &Classes,
        mut excluded: Vec<String>,
    ) -> Result<(TestRun, Vec<String>), ValidateError> {
        let n_given = excluded.len();
        loop {
            let selection = self.suite_selection(triggers, classes, &excluded);
            let limit = self.settings.limits.baseline_full;
            let run = self.run_fresh(None, None, classes, &selection, limit, Alone::IfSlow)?;
            if run.done {
                return Ok((run, excluded));
            }
            let culprit = run.running.as_ref().map(|test| test.outermost_class().to_owned());
            let is_trigger = |class: &String| triggers.iter().any(|test| test.outermost_class() == class);
            let may_go = |class: &String| run.end != StageEnd::Deadline || is_trigger(class);
            match culprit.filter(may_go) {
                Some(class) if excluded.len() < n_given + MAX_EXCLUDED => excluded.push(class),
                _ => return Err(baseline::cut(&run)),
            }
        }
    }

    /// Compiles the patched file alone; the whole program too if other classes may see the difference.
    pub(super) fn compile_stage(
        &mut self,
        ready: &Ready,
        candidate: &Candidate,
    ) -> Result<(Step, PatchedClasses), ValidateError> {
        let (started, limit) = (Instant::now(), Duration::from_millis(ready.baseline.limits.compile));
        let dir = self.lane.candidate.clone();
        scratch::fresh_dir(&dir)?;
        let (source_dir, alone) = (dir.join("source"), dir.join("alone"));
        let source = source_dir.join(&candidate.file);
        scratch::write(&source, &candidate.text)?;
        let before = self.baseline_classes();
        let main = std::slice::from_ref(&before.main);
        let mut warm = self.lane.compiler.take();
        let mut compiled = self.compiler().alone(&mut warm, source, main, &source_dir, &alone, limit)?;
        self.lane.compiler = warm;
        let mut classes = PatchedClasses { alone: Some(alone.clone()), all: before.clone() };
        if compiled.success() && !class_file::same_interface(&alone, &before.main)? {
            classes = PatchedClasses { alone: None, all: Classes::in_dir(&dir) };
            let tree = self.fresh_tree(Some(candidate))?;
            compiled = self.compiler().program(&tree, &classes.all, limit)?;
        }
        Ok((Step::of_compilation(Stage::Compile, compiled, started, limit), classes))
    }

    /// Runs the triggers' classes in fresh processes.
    pub(super) fn trigger_stage(
        &self,
        ready: &Ready,
        candidate: &Candidate,
        classes: &PatchedClasses,
        when: Alone,
    ) -> Result<Step, ValidateError> {
        let (started, limit) = (Instant::now(), Duration::from_millis(ready.baseline.limits.trigger));
        let selection = trigger_selection(&ready.triggers);
        let alone = classes.alone.as_deref();
        let run = self.run_fresh(Some(candidate), alone, &classes.all, &selection, limit, when)?;
        Ok(judge(Stage::Trigger, run, ready.trigger_yardstick(), started, limit))
    }

    /// Compiles the whole program with the patched file, unless that is done already, and runs its whole suite.
    pub(super) fn full_stage(
        &self,
        ready: &Ready,
        candidate: &Candidate,
        classes: &PatchedClasses,
    ) -> Result<Step, ValidateError> {
        let (started, limits) = (Instant::now(), ready.baseline.limits);
        let whole = Classes::in_dir(&self.lane.candidate);
        if classes.alone.is_some() {
            let (tree, limit) = (self.fresh_tree(Some(candidate))?, Duration::from_millis(limits.compile));
            let compiled = self.compiler().program(&tree, &whole, limit)?;
            if !compiled.success() {
                return Ok(Step::of_compilation(Stage::Full, compiled, started, limit));
            }
        }
        let selection = self.suite_selection(&ready.triggers, &whole, &ready.without);
        let limit = Duration::from_millis(limits.full);
        let run = self.run_fresh(Some(candidate), None, &whole, &selection, limit, Alone::IfSlow)?;
        let yardstick = Yardstick { required: &ready.full_required, ..ready.trigger_yardstick() };
        Ok(judge(Stage::Full, run, yardstick, started, limit))
    }

    /// The patched file must be a main source, and stay in the scratch copy when it is written.
    pub(super) fn check_place(&self, candidate: &Candidate) -> Result<(), ValidateError> {
        let path = self.project.root.join(&candidate.file);
        let is_plain =
            candidate.file.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        let is_source = self.project.sources.iter().any(|root| path.starts_with(root));
        if is_plain && is_source && path.is_file() {
            return Ok(());
        }
        Err(ValidateError::OutsideSources(candidate.file.clone()))
    }

    /// Runs tests in a fresh copy of the tree. What did not end in time while others ran is run again alone.
    pub(super) fn run_fresh(
        &self,
        candidate: Option<&Candidate>,
        alone: Option<&Path>,
        classes: &Classes,
        selection: &Selection,
        limit: Duration,
        when: Alone,
    ) -> Result<TestRun, ValidateError> {
        let run = || -> Result<TestRun, ValidateError> {
            let tree = self.fresh_tree(candidate)?;
            self.suite(&self.lane.work).run(&tree, alone, classes, selection, limit)
        };
        if when == Alone::IfSlow {
            let first = {
                let _others_may_run = self.shared.lock_shared();
                run()?
            };
            if first.end != StageEnd::Deadline || !self.shared.has_others() {
                return Ok(first);
            }
        }
        let _nothing_else_runs = self.shared.lock_alone();
        run()
    }

    pub(super) fn suite<'a>(&'a self, work: &'a Path) -> Suite<'a> {
        Suite {
            project: &self.project,
            settings: &self.settings,
            interrupt: &self.interrupt,
            scratch: &self.settings.scratch,
            work,
        }
    }

    /// A new copy of the tree in `work`, with the patched file in it.
    fn fresh_tree(&self, candidate: Option<&Candidate>) -> Result<Tree, ValidateError> {
        scratch::fresh_dir(&self.lane.work)?;
        let tree = Tree::at(&self.lane.work.join("tree"), &self.project);
        scratch::copy_tree(&self.baseline_tree(), &tree.root, &|_| false)?;
        if let Some(candidate) = candidate {
            scratch::write(&tree.root.join(&candidate.file), &candidate.text)?;
        }
        Ok(tree)
    }

    fn suite_selection(&self, triggers: &[TestId], classes: &Classes, without: &[String]) -> Selection {
        let mut selection = Selection { without: without.to_vec(), ..trigger_selection(triggers) };
        if self.settings.suite.is_empty() {
            selection.scan.push(self.test_root(classes).to_owned());
        } else {
            selection.classes.extend_from_slice(&self.settings.suite);
            selection.classes.sort();
            selection.classes.dedup();
        }
        selection
    }

    /// Where the classes of tests are: beside the program's where their sources are.
    pub(super) fn test_root<'a>(&self, classes: &'a Classes) -> &'a Path {
        if self.project.tests.is_empty() { &classes.main } else { &classes.test }
    }

    pub(super) fn baseline_classes(&self) -> Classes {
        Classes::in_dir(&self.settings.scratch.join("baseline"))
    }

    pub(super) fn baseline_tree(&self) -> PathBuf {
        self.settings.scratch.join("baseline/tree")
    }

    fn compiler(&self) -> Compiler<'_> {
        let (project, settings, interrupt) = (&self.project, &self.settings, &self.interrupt);
        Compiler { project, settings, interrupt, platform: self.platform }
    }
}

/// What a run of tests is held against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Yardstick<'a> {
    /// Tests that must pass.
    pub(super) required: &'a BTreeSet<TestId>,
    /// The trigger tests, where they are among those run.
    pub(super) triggers: &'a [TestId],
    /// Failures that no patch is blamed for.
    pub(super) known: &'a [TestFailure],
}

impl Ready {
    pub(super) fn trigger_yardstick(&self) -> Yardstick<'_> {
        let known = &self.baseline.known_failures;
        Yardstick { required: &self.trigger_required, triggers: &self.triggers, known }
    }
}

pub(super) fn judge(
    stage: Stage,
    run: TestRun,
    yardstick: Yardstick,
    started: Instant,
    limit: Duration,
) -> Step {
    let failed = baseline::new_failures(&run, yardstick.required, yardstick.triggers, yardstick.known);
    let tests_run = run.tests_run();
    let record = StageRecord {
        stage,
        by: By::Fresh,
        passed: run.done && failed.is_empty() && tests_run > 0,
        tests_run,
        failed,
        millis: millis_since(started),
        limit_ms: limit.as_millis() as u64,
        end: run.end,
        output_tail: run.tail,
    };
    Step { record, compiled: true }
}
