//! One run of tests in a fresh JVM, and what the runner wrote about it.
//!
//! Results come over a file of their own, one line a test, flushed; the last line tells a whole run from one that was
//! cut short by an exit, a crash or a kill. Standard output belongs to the tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::compile::Classes;
use super::error::ValidateError;
use super::nonce::nonce;
use super::sandbox::Confinement;
use super::scratch::{self, Tree};
use super::{ValidateSettings, verdict::StageEnd};
use crate::build::javac::join_paths;
use crate::java::project::{BuildTool, Project};
use crate::java::test_id::TestId;
use crate::process::{self, Finished, Interrupt, Spec};

const RUNNER_CLASS: &str = "repair.runner.Main";
/// Bytes kept of each of the tests' two outputs.
const OUTPUT_CAP: usize = 64 << 10;
/// Lines and bytes of output in a record.
const TAIL_LINES: usize = 30;
const TAIL_BYTES: usize = 4 << 10;
/// Packages of the JDK that reflection in older test suites reaches into (measured: `Defects4J` on JDK 17).
const OPENED: [&str; 4] = ["java.lang", "java.util", "java.lang.reflect", "java.text"];

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestStatus {
    /// Disabled, or its assumptions do not hold.
    Skipped,
    /// It ran and found nothing.
    Passed,
    /// It threw.
    Failed,
}

/// One test of a run, or a class whose set-up failed or was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestRecord {
    /// Which one.
    pub test: TestId,
    /// How it ended.
    pub status: TestStatus,
    /// Class of what it threw.
    pub exception: Option<String>,
    /// Its message.
    pub message: Option<String>,
    /// Wall-clock time.
    pub millis: u64,
}

/// What to run.
#[derive(Debug, Clone, Default)]
pub(super) struct Selection {
    /// Directories whose test classes are run.
    pub(super) scan: Vec<PathBuf>,
    /// Classes to run whatever they are called.
    pub(super) classes: Vec<String>,
    /// Classes to leave out.
    pub(super) without: Vec<String>,
}

/// What a run gave.
#[derive(Debug)]
pub(super) struct TestRun {
    /// By name; of several runs of one test the worst.
    pub(super) records: BTreeMap<TestId, TestRecord>,
    /// What was running when the JVM ended before its time.
    pub(super) running: Option<TestId>,
    /// Whether the runner came to its end.
    pub(super) done: bool,
    pub(super) end: StageEnd,
    pub(super) millis: u64,
    pub(super) tail: String,
}

impl TestRun {
    /// Tests that ran to their end.
    pub(super) fn tests_run(&self) -> usize {
        let ran = |record: &&TestRecord| record.test.method.is_some() && record.status != TestStatus::Skipped;
        self.records.values().filter(ran).count()
    }
}

/// Runs tests of one project, each time in a fresh JVM.
#[derive(Debug, Clone, Copy)]
pub(super) struct Suite<'a> {
    pub(super) project: &'a Project,
    pub(super) settings: &'a ValidateSettings,
    pub(super) interrupt: &'a Interrupt,
    /// All scratch of the validator; readable.
    pub(super) scratch: &'a Path,
    /// The only directory that a run may write to. `tree` is in it.
    pub(super) work: &'a Path,
}

impl Suite<'_> {
    /// Runs the selected tests of `classes`, with `patched` class files before them, in the directory of `tree`.
    pub(super) fn run(
        self,
        tree: &Tree,
        patched: Option<&Path>,
        classes: &Classes,
        selection: &Selection,
        limit: Duration,
    ) -> Result<TestRun, ValidateError> {
        let (results, nonce_file, nonce) =
            (self.work.join("results.jsonl"), self.work.join("nonce"), nonce()?);
        for dir in ["tmp", "home"] {
            scratch::fresh_dir(&self.work.join(dir))?;
        }
        scratch::write(&nonce_file, nonce.as_bytes())?;
        let class_path = self.class_path(tree, patched, classes);
        let mut spec = self
            .jvm(tree, &class_path, limit)
            .args([std::ffi::OsStr::new("-classpath"), &join_paths(&class_path)])
            .arg(RUNNER_CLASS)
            .arg(&results)
            .arg("--nonce")
            .arg(&nonce_file);
        let dirs = selection.scan.iter().map(|dir| ("--scan", dir.as_os_str()));
        let names = selection.classes.iter().map(|name| ("--class", name.as_ref()));
        let without = selection.without.iter().map(|name| ("--without", name.as_ref()));
        for (option, value) in dirs.chain(names).chain(without) {
            spec = spec.arg(option).arg(value);
        }
        let finished = process::run(&spec, self.interrupt)?;
        // The runner opens its file before it loads any tested class: without one it is the runner that failed.
        let text = std::fs::read(&results).map_err(|_absent| ValidateError::Runner {
            command: spec.line(),
            tail: finished.tail(TAIL_LINES),
        })?;
        let own = own_lines(&String::from_utf8_lossy(&text), &nonce);
        Ok(read_lines(&own, finished.end.into(), finished.elapsed, output_tail(&finished)))
    }

    /// The platform's jars come first, so that the project's own copies of them cannot break the runner; hamcrest
    /// comes last, so that the project's own newer one counts.
    fn class_path(self, tree: &Tree, patched: Option<&Path>, classes: &Classes) -> Vec<PathBuf> {
        let (mut entries, hamcrest) = self.platform();
        entries.extend(patched.map(Path::to_owned));
        entries.extend([classes.test.clone(), classes.main.clone()]);
        entries.extend(self.beside_classes(tree));
        entries.extend_from_slice(&self.project.class_path);
        entries.extend(hamcrest);
        entries
    }

    /// The class path of a worker in the same order, in two parts: what all candidates share, and what is loaded anew for
    /// each but for its classes.
    pub(super) fn shared_class_path(self, tree: &Tree) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let (mut shared, hamcrest) = self.platform();
        let (jars, dirs): (Vec<_>, Vec<_>) =
            self.project.class_path.iter().cloned().partition(|entry| entry.is_file());
        shared.extend(jars);
        shared.extend(hamcrest);
        let mut own = self.beside_classes(tree);
        own.extend(dirs);
        (shared, own)
    }

    /// The runner and the test platform, and hamcrest, which goes last.
    fn platform(self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let is_hamcrest = |jar: &PathBuf| {
            jar.file_name().is_some_and(|name| name.to_string_lossy().starts_with("hamcrest"))
        };
        let (hamcrest, junit): (Vec<_>, Vec<_>) = self.settings.junit.iter().cloned().partition(is_hamcrest);
        let mut entries = vec![self.settings.runner.clone()];
        entries.extend(junit);
        (entries, hamcrest)
    }

    fn beside_classes(self, tree: &Tree) -> Vec<PathBuf> {
        let mut entries = tree.resources.clone();
        if self.project.build_tool == BuildTool::Plain {
            // Without a build tool nobody copies what lies beside the sources.
            entries.extend([&tree.tests, &tree.sources].into_iter().flatten().cloned());
        }
        entries
    }

    /// The JVM with its options and environment; nothing of ours leaks in but `PATH`.
    pub(super) fn jvm(self, tree: &Tree, class_path: &[PathBuf], limit: Duration) -> Spec {
        let (project, limits) = (self.project, &self.settings.limits);
        let mut readable = class_path.to_vec();
        readable.extend([project.jdk.home.clone(), self.scratch.to_owned()]);
        readable.extend([&tree.sources, &tree.tests].into_iter().flatten().cloned());
        readable.retain(|path| path.exists());
        let confinement = Confinement {
            writable: self.work,
            readable: &readable,
            cpu_seconds: limits.cpu_seconds(limit),
            file_bytes: u64::from(limits.file_mib) << 20,
        };
        let java = project.jdk.home.join("bin/java");
        let (language, country) = self.settings.language_and_country();
        let spec = self.settings.sandbox.command(&java, &tree.root, limit, confinement);
        // C1 only and one collector thread: most runs live for a second or two (measured: 0.73 s for 1.0 s).
        spec.arg(format!("-Xmx{}m", limits.heap_mib))
            .args(["-ea", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData"])
            .args(["-Djava.awt.headless=true", "-Dfile.encoding=UTF-8"])
            .arg(format!("-Duser.language={language}"))
            .arg(format!("-Duser.country={country}"))
            .arg(format!("-Duser.timezone={}", self.settings.time_zone))
            .arg(format!("-Djava.io.tmpdir={}", self.work.join("tmp").display()))
            .arg(format!("-Duser.home={}", self.work.join("home").display()))
            .arg(format!("-Dbasedir={}", tree.root.display()))
            .args(options_of_release(project.jdk.feature))
            .inherit(&["PATH"])
            .env("HOME", self.work.join("home"))
            .env("TZ", &self.settings.time_zone)
            .env("LANG", "C.UTF-8")
            .env("LC_ALL", "C.UTF-8")
            .output_cap(OUTPUT_CAP)
    }
}

fn options_of_release(feature: u32) -> Vec<String> {
    let mut options = Vec::new();
    if feature >= 9 {
        let opens = |package| format!("--add-opens=java.base/{package}=ALL-UNNAMED");
        options.extend(OPENED.map(opens));
    }
    if (18..24).contains(&feature) {
        // Tests that set a security manager themselves: refused by default from 18 on, gone from 24 on.
        options.push("-Djava.security.manager=allow".to_owned());
    }
    options
}

/// A line of the results file.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Started { started: TestId },
    Ended { ended: TestId },
    Test { test: TestId, status: TestStatus, exception: Option<String>, message: Option<String>, ms: u64 },
    Done { done: usize },
}

/// The lines that the runner wrote, without the word that they begin with.
fn own_lines(text: &str, nonce: &str) -> String {
    let own = text.split_inclusive('\n').filter_map(|line| line.strip_prefix(nonce)?.strip_prefix(' '));
    own.collect()
}

/// A run from the lines about it.
pub(super) fn read_lines(text: &str, end: StageEnd, elapsed: Duration, tail: String) -> TestRun {
    let mut run = TestRun {
        records: BTreeMap::new(),
        running: None,
        done: false,
        end,
        millis: elapsed.as_millis() as u64,
        tail,
    };
    let (mut open, mut n_tests) = (Vec::<TestId>::new(), 0);
    // A line that cannot be read is the last one of a run that was cut short; the rest of the run is then missing.
    for line in text.lines().map_while(|line| serde_json::from_str(line).ok()) {
        match line {
            Line::Started { started } => open.push(started),
            Line::Ended { ended } => open.retain(|test| *test != ended),
            Line::Test { test, status, exception, message, ms } => {
                n_tests += 1;
                open.retain(|other| *other != test);
                insert_worst(&mut run.records, TestRecord { test, status, exception, message, millis: ms });
            }
            Line::Done { done } => run.done = done == n_tests,
        }
    }
    run.running = open.pop().filter(|_| !run.done);
    run
}

fn insert_worst(records: &mut BTreeMap<TestId, TestRecord>, record: TestRecord) {
    match records.get(&record.test) {
        Some(known) if known.status >= record.status => {}
        _ => drop(records.insert(record.test.clone(), record)),
    }
}

/// The end of both outputs, standard error last.
fn output_tail(finished: &Finished) -> String {
    last_lines(&[&finished.stdout[..], &finished.stderr[..]].concat())
}

fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(TAIL_BYTES)..]);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

/// The last line of a worker's run.
#[derive(Debug, Deserialize)]
pub(super) struct WorkerDone {
    #[serde(rename = "done")]
    _done: usize,
    /// Threads that were left behind.
    pub(super) threads: usize,
    /// Whether the JVM is not what it was.
    pub(super) spoilt: bool,
    tail: String,
}

impl WorkerDone {
    /// `None` for any other line.
    pub(super) fn read(line: &str) -> Option<WorkerDone> {
        line.starts_with("{\"done\"").then(|| serde_json::from_str(line).ok()).flatten()
    }

    /// The last that the tests printed.
    pub(super) fn tail(&self) -> String {
        last_lines(self.tail.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::End;

    fn check(text: &str) -> TestRun {
        let finished = Finished {
            end: End::Exit(0),
            stdout: b"out\n".to_vec(),
            stderr: b"err\n".to_vec(),
            elapsed: Duration::from_millis(5),
        };
        read_lines(text, finished.end.into(), finished.elapsed, output_tail(&finished))
    }

    const PASSED: &str = r#"{"test":"A#a","status":"passed","ms":1}"#;
    const FAILED: &str = r#"{"test":"A#a","status":"failed","exception":"E","ms":1}"#;

    #[test]
    fn a_run_with_its_last_line_is_whole() {
        let run = check(&format!("{{\"started\":\"A\"}}\n{PASSED}\n{{\"ended\":\"A\"}}\n{{\"done\":1}}\n"));
        assert!(run.done && run.running.is_none());
        assert_eq!((run.tests_run(), run.tail.as_str()), (1, "out\nerr"));
    }

    #[test]
    fn a_run_without_it_names_what_was_running() {
        let run =
            check(&format!("{{\"started\":\"A\"}}\n{PASSED}\n{{\"started\":\"A#b\"}}\n{{\"test\":\"A#"));
        assert!(!run.done);
        assert_eq!(run.running.unwrap().to_string(), "A#b");
    }

    #[test]
    fn an_exit_between_two_tests_names_the_class() {
        let run = check(&format!("{{\"started\":\"A\"}}\n{{\"started\":\"A#a\"}}\n{PASSED}\n"));
        assert_eq!(run.running.unwrap().to_string(), "A");
    }

    #[test]
    fn lines_of_others_are_passed_over() {
        let text = "w 1\n{\"done\":9}\nw 2\nx w 3\nw";
        assert_eq!(own_lines(text, "w"), "1\n2\n");
    }

    #[test]
    fn a_count_that_does_not_agree_is_no_whole_run() {
        assert!(!check(&format!("{PASSED}\n{{\"done\":2}}\n")).done);
    }

    #[test]
    fn of_two_runs_of_one_test_the_worse_counts() {
        for text in [format!("{PASSED}\n{FAILED}"), format!("{FAILED}\n{PASSED}")] {
            let run = check(&text);
            assert_eq!(run.records.values().next().unwrap().status, TestStatus::Failed);
        }
    }
}
