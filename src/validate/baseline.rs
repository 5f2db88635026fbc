//! The unpatched program's own results: that the bug shows, what fails anyway, how long things take.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::ValidateError;
use super::suite::{TestRecord, TestRun, TestStatus};
use super::verdict::{By, Stage, StageEnd, StageRecord, TestFailure};
use crate::java::test_id::TestId;

/// Names offered for one that does not exist.
const SUGGESTIONS: usize = 3;
/// Least similarity of a suggested name (0 to 1); `similar` recommends 0.6.
const SIMILARITY: f32 = 0.6;

/// What the unpatched program does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Baseline {
    /// The trigger tests as they fail, with all invocations that fail.
    pub triggers: Vec<TestFailure>,
    /// All tests of the trigger's classes.
    pub trigger_records: Vec<TestRecord>,
    /// All tests of the suite.
    pub suite_records: Vec<TestRecord>,
    /// Failures beside the trigger tests; no patch is blamed for them.
    pub known_failures: Vec<TestFailure>,
    /// Tests of the suite that did not end alike in two runs. They decide nothing.
    #[serde(default)]
    pub flaky: Vec<TestId>,
    /// Classes left out of the suite because the JVM did not survive them.
    pub excluded: Vec<String>,
    /// Times of the unpatched program.
    pub millis: Times,
    /// Limits that follow from them.
    pub limits: Times,
}

/// Milliseconds of each stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// Compiling the program and its tests.
    pub compile: u64,
    /// The trigger's classes.
    pub trigger: u64,
    /// The whole suite.
    pub full: u64,
}

impl Times {
    pub(super) fn map(self, change: impl Fn(u64) -> u64) -> Times {
        Times { compile: change(self.compile), trigger: change(self.trigger), full: change(self.full) }
    }
}

impl Baseline {
    /// The trigger stage of a candidate that is the unpatched program.
    pub(super) fn as_trigger_stage(&self) -> StageRecord {
        let ran = self.trigger_records.iter().filter(|record| record.status != TestStatus::Skipped);
        StageRecord {
            stage: Stage::Trigger,
            by: By::Fresh,
            passed: false,
            tests_run: ran.count(),
            failed: self.triggers.clone(),
            millis: 0,
            limit_ms: self.limits.trigger,
            end: StageEnd::Exit(0),
            output_tail: String::new(),
        }
    }

    /// Tests that a patch must keep passing, without their invocations: their number may depend on the program.
    pub(super) fn required<'a>(records: impl Iterator<Item = &'a TestRecord>) -> BTreeSet<TestId> {
        let passed = records.filter(|record| record.status == TestStatus::Passed);
        passed.map(|record| record.test.without_invocation()).collect()
    }
}

/// Tests that did not end alike in two runs of the same suite, without their invocations.
pub(super) fn flaky(first: &TestRun, second: &TestRun) -> BTreeSet<TestId> {
    let status = |run: &TestRun, test: &TestId| run.records.get(test).map(|record| record.status);
    let all = first.records.keys().chain(second.records.keys());
    let differing = all.filter(|test| status(first, test) != status(second, test));
    differing.map(TestId::without_invocation).collect()
}

/// How the trigger tests fail; an error if one does not.
pub(super) fn failing_triggers(
    triggers: &[TestId],
    run: &TestRun,
) -> Result<Vec<TestFailure>, ValidateError> {
    let mut failures = Vec::new();
    for trigger in triggers {
        failures.extend(failing_trigger(trigger, run)?);
    }
    Ok(failures)
}

fn failing_trigger(trigger: &TestId, run: &TestRun) -> Result<Vec<TestFailure>, ValidateError> {
    // A class whose set-up failed stands for all of its tests.
    let counts = |test: &TestId| trigger.covers(test) || test.method.is_none() && test.covers(trigger);
    let own = || run.records.values().filter(|record| counts(&record.test));
    let failed = own().filter(|record| record.status == TestStatus::Failed);
    let mut failures: Vec<TestFailure> = failed.map(failure).collect();
    if let Some(running) = run.running.as_ref().filter(|running| trigger.covers(running)) {
        failures.push(cut_short(running, run.end));
    }
    if !failures.is_empty() {
        return Ok(failures);
    }
    if !run.done {
        return Err(cut(run));
    }
    let test = trigger.clone();
    let worst = own().map(|record| record.status).max();
    Err(match worst {
        None => ValidateError::NoSuchMethod { near: near_methods(trigger, run), test },
        Some(TestStatus::Skipped) => ValidateError::TriggerSkipped { test },
        Some(_) => ValidateError::TriggerPasses { test },
    })
}

/// The unpatched program's tests came to no end, and no trigger test explains it.
pub(super) fn cut(run: &TestRun) -> ValidateError {
    let (test, tail) = (run.running.clone(), run.tail.clone());
    ValidateError::BaselineCut { test, end: super::describe_end(run.end), tail }
}

fn failure(record: &TestRecord) -> TestFailure {
    TestFailure {
        test: record.test.clone(),
        exception: record.exception.clone(),
        message: record.message.clone(),
    }
}

pub(super) fn cut_short(running: &TestId, end: StageEnd) -> TestFailure {
    let message = format!("the JVM {} during it", super::describe_end(end));
    TestFailure { test: running.clone(), exception: None, message: Some(message) }
}

/// Failures of a run that no trigger test accounts for.
pub(super) fn unrelated_failures<'a>(
    runs: impl Iterator<Item = &'a TestRun>,
    triggers: &[TestId],
) -> Vec<TestFailure> {
    let records = runs.flat_map(|run| run.records.values());
    let failed = records.filter(|record| record.status == TestStatus::Failed);
    let is_trigger =
        |test: &TestId| triggers.iter().any(|trigger| trigger.covers(test) || test.covers(trigger));
    let unrelated = failed.filter(|record| !is_trigger(&record.test));
    unrelated
        .map(|record| (record.test.clone(), failure(record)))
        .collect::<BTreeMap<_, _>>()
        .into_values()
        .collect()
}

/// What a run of the patched program lacks: failures that are new, tests that did not pass any more.
pub(super) fn new_failures(
    run: &TestRun,
    required: &BTreeSet<TestId>,
    triggers: &[TestId],
    known: &[TestFailure],
) -> Vec<TestFailure> {
    let is_known = |test: &TestId| known.iter().any(|failure| failure.test == *test);
    let failed = run.records.values().filter(|record| record.status == TestStatus::Failed);
    let mut failures: Vec<TestFailure> =
        failed.filter(|record| !is_known(&record.test)).map(failure).collect();
    if !run.done {
        // What comes after the end is not to blame, so it is not listed.
        failures.extend(run.running.as_ref().map(|running| cut_short(running, run.end)));
        return failures;
    }
    for test in required.iter().chain(triggers) {
        let own = || run.records.values().filter(|record| test.covers(&record.test));
        let is_listed =
            failures.iter().any(|failure| test.covers(&failure.test) || failure.test.covers(test));
        if is_listed || own().any(|record| record.status == TestStatus::Passed) {
            continue;
        }
        let reason = if own().next().is_some() { "it is skipped now" } else { "it does not run any more" };
        failures.push(TestFailure { test: test.clone(), exception: None, message: Some(reason.to_owned()) });
    }
    failures
}

/// The trigger's class must be among the compiled ones.
pub(super) fn check_classes(triggers: &[TestId], classes: &Path) -> Result<(), ValidateError> {
    for trigger in triggers {
        let file = classes.join(trigger.class.replace('.', "/") + ".class");
        if !file.is_file() {
            let near = near_names(&trigger.class, &class_names(classes));
            return Err(ValidateError::NoSuchClass { test: trigger.clone(), near });
        }
    }
    Ok(())
}

/// Names of the classes below `root`, anonymous ones left out, sorted.
fn class_names(root: &Path) -> Vec<String> {
    let entries = walkdir::WalkDir::new(root).sort_by_file_name().into_iter().filter_map(Result::ok);
    let files = entries.filter(|entry| entry.path().extension().is_some_and(|ext| ext == "class"));
    let names = files.filter_map(|entry| {
        let below = entry.path().strip_prefix(root).ok()?.with_extension("");
        Some(below.to_string_lossy().replace('/', "."))
    });
    names
        .filter(|name| !name.split('$').skip(1).any(|part| part.starts_with(|c: char| c.is_ascii_digit())))
        .collect()
}

fn near_methods(trigger: &TestId, run: &TestRun) -> Vec<String> {
    let own = run.records.keys().filter(|test| test.class == trigger.class);
    let methods: BTreeSet<String> = own.filter_map(TestId::method_name).map(str::to_owned).collect();
    near_names(trigger.method_name().unwrap_or_default(), &methods.into_iter().collect::<Vec<_>>())
}

/// Names that may have been meant, best first: judged without their packages, which all resemble each other.
fn near_names(wrong: &str, names: &[String]) -> Vec<String> {
    let simple_names: BTreeSet<&str> = names.iter().map(|name| simple(name)).collect();
    let possible: Vec<&str> = simple_names.into_iter().collect();
    let close = similar::get_close_matches(simple(wrong), &possible, SUGGESTIONS, SIMILARITY);
    let full = close.iter().flat_map(|close| names.iter().filter(|name| simple(name) == *close));
    full.take(SUGGESTIONS).cloned().collect()
}

/// A class's name without its package and outer classes.
fn simple(name: &str) -> &str {
    name.rsplit(['.', '$']).next().unwrap_or(name)
}

/// Time of a run without a test that hung until the run's limit.
pub(super) fn own_time(run: &TestRun, limit: Duration) -> u64 {
    if run.end == StageEnd::Deadline { 0 } else { run.millis.min(limit.as_millis() as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(text: &str) -> TestId {
        TestId::from(text.to_owned())
    }

    /// A run from lines like `A#a passed`; a last word `running` leaves the run cut short there.
    fn run(lines: &[&str]) -> TestRun {
        let mut run = TestRun {
            records: BTreeMap::new(),
            running: None,
            done: true,
            end: StageEnd::Exit(0),
            millis: 1,
            tail: String::new(),
        };
        for line in lines {
            let (name, status) = line.rsplit_once(' ').unwrap();
            let status = match status {
                "passed" => TestStatus::Passed,
                "failed" => TestStatus::Failed,
                "skipped" => TestStatus::Skipped,
                _ => {
                    (run.done, run.running) = (false, Some(test(name)));
                    continue;
                }
            };
            let record = TestRecord { test: test(name), status, exception: None, message: None, millis: 1 };
            run.records.insert(test(name), record);
        }
        run
    }

    /// New failures against a baseline of the tests `before`, with the trigger `A#t`.
    fn check(before: &[&str], after: &[&str]) -> Vec<String> {
        let (before, triggers) = (run(before), [test("A#t")]);
        let required = Baseline::required(before.records.values());
        let known = unrelated_failures([&before].into_iter(), &triggers);
        let failures = new_failures(&run(after), &required, &triggers, &known);
        failures.iter().map(|failure| failure.test.to_string()).collect()
    }

    #[test]
    fn a_failure_that_was_there_before_is_not_new() {
        assert!(check(&["A#t failed", "A#k failed"], &["A#t passed", "A#k failed"]).is_empty());
    }

    #[test]
    fn a_trigger_that_still_fails_or_is_skipped_is_named() {
        assert_eq!(check(&["A#t failed"], &["A#t failed"]), ["A#t"]);
        assert_eq!(check(&["A#t failed"], &["A#t skipped"]), ["A#t"]);
        assert_eq!(check(&["A failed"], &["A failed"]), ["A"], "its class's set-up fails");
    }

    #[test]
    fn a_test_that_does_not_run_any_more_is_a_failure() {
        assert_eq!(check(&["A#t failed", "A#p passed"], &["A#t passed"]), ["A#p"]);
        assert_eq!(check(&["A#t failed", "A#p passed"], &["A#t passed", "A#p skipped"]), ["A#p"]);
    }

    #[test]
    fn the_number_of_invocations_may_change() {
        let before = ["A#t failed", "A#p[1] passed", "A#p[2] passed"];
        assert!(check(&before, &["A#t passed", "A#p[1] passed"]).is_empty());
        assert_eq!(check(&before, &["A#t passed", "A#p[1] passed", "A#p[3] failed"]), ["A#p[3]"]);
    }

    #[test]
    fn a_run_cut_short_blames_what_was_running_alone() {
        let before = ["A#t failed", "B#p passed", "B#q passed"];
        assert_eq!(check(&before, &["A#t passed", "B#p running"]), ["B#p"]);
    }

    #[test]
    fn a_trigger_must_fail_on_the_unpatched_program() {
        let message =
            |lines: &[&str]| failing_triggers(&[test("A#total")], &run(lines)).unwrap_err().to_string();
        assert_eq!(message(&["A#total passed"]), "`A#total` passes already: there is nothing to repair");
        assert!(message(&["A#total skipped"]).starts_with("`A#total` is skipped"));
        assert_eq!(message(&["A#totals passed"]), "`A` has no test `total`; is it `totals`?");
    }

    #[test]
    fn a_test_that_ends_now_so_and_now_so_is_flaky() {
        let (first, second) =
            (run(&["A#a passed", "A#b passed"]), run(&["A#a passed", "A#b failed", "A#c passed"]));
        assert_eq!(flaky(&first, &second), [test("A#b"), test("A#c")].into());
        assert!(flaky(&first, &first).is_empty());
    }

    #[test]
    fn a_trigger_that_hangs_or_kills_the_jvm_fails() {
        let failures = failing_triggers(&[test("A#t")], &run(&["A#t running"])).unwrap();
        assert_eq!(failures.len(), 1);
        assert!(failing_triggers(&[test("A#t")], &run(&["A#u running"])).is_err());
    }

    #[test]
    fn a_class_in_another_package_is_suggested_first() {
        let names = ["a.FooTest".to_owned(), "b.c.FooTests".to_owned()];
        assert_eq!(near_names("c.FooTest", &names), ["a.FooTest", "b.c.FooTests"]);
        assert_eq!(near_names("b.c.FoTests", &names)[0], "b.c.FooTests");
        assert!(near_names("Completely", &names).is_empty());
    }
}
