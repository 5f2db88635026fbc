//! Bugs of a benchmark by their names: listing, checkout, and what is said where something is missing.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;

use tempfile::TempDir;

use crate::support::command;

const DIFF: &str = "diff --git a/src/A.java b/src/A.java\n--- a/src/A.java\n+++ b/src/A.java\n@@ -1,3 +1,3 @@\n class A {\n-    int a = 1;\n+    int a = 2;\n }\n";

/// A benchmark of one bug whose command writes this script's checkout.
struct Benchmark(TempDir);

impl Benchmark {
    fn new(script: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let benchmark = Self(dir);
        let project = "defects4j/framework/projects/Toy";
        benchmark.write(&format!("{project}/active-bugs.csv"), "bug.id,rev\n7,a,b\n");
        benchmark.write(&format!("{project}/patches/7.src.patch"), DIFF);
        benchmark.write(&format!("{project}/trigger_tests/7"), "--- ATest::a\njava.lang.AssertionError: x\n");
        benchmark.write("defects4j/README.md", "Defects4J -- version 3.0.1 [![x](y)]\n");
        benchmark.write("defects4j/framework/bin/defects4j", &format!("#!/bin/sh\nw=$7\n{script}\n"));
        let path = benchmark.path("defects4j/framework/bin/defects4j");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        benchmark
    }

    fn path(&self, file: &str) -> std::path::PathBuf {
        self.0.path().canonicalize().unwrap().join(file)
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn run(&self, words: &[&str]) -> String {
        let home = self.path("defects4j");
        let output = command(words).env("DEFECTS4J_HOME", home).output().unwrap();
        show(&output, &self.path(""))
    }
}

fn show(output: &Output, dir: &Path) -> String {
    let text = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes).replace(dir.display().to_string().trim_end_matches('/'), "[dir]")
    };
    let code = output.status.code().unwrap();
    format!("exit {code}\n{}---\n{}", text(&output.stdout), text(&output.stderr))
}

#[test]
fn bugs_are_listed_with_their_facts_and_without_the_answer() {
    let benchmark = Benchmark::new("");
    insta::assert_snapshot!(benchmark.run(&["bugs"]), @r"
    exit 0
    Toy-7                replace  src/A.java:2, 1 trigger test  [2.0-single-hunk, 2.0-single-line]
    1 bugs of Defects4J 3.0.1, 1 of one hunk; of the paper's sets 0 of 1.2, 1 of 2.0, 1 of one line
    ---
    ");
    let json = benchmark.run(&["bugs", "Toy-7", "--format", "json"]);
    assert!(json.contains("\"src/A.java:2\"") && !json.contains("int a = 1"), "{json}");
}

#[test]
fn a_bug_that_is_not_there_is_told_with_what_there_is() {
    let benchmark = Benchmark::new("");
    insta::assert_snapshot!(benchmark.run(&["--bug", "Toy-8"]), @r"
    exit 2
    ---
    error: Defects4J has no active bug Toy-8; Toy has 1
    ");
    insta::assert_snapshot!(benchmark.run(&["--bug", "Tay-8"]), @r"
    exit 2
    ---
    error: Defects4J has no project `Tay`; it has Toy
    ");
}

#[test]
fn a_missing_benchmark_says_how_to_name_it() {
    let output = command(&["--bug", "Toy-7"])
        .env_remove("DEFECTS4J_HOME")
        .env_remove("D4J_HOME")
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    insta::assert_snapshot!(show(&output, Path::new("/x")), @r"
    exit 3
    ---
    error: Defects4J was not found: set DEFECTS4J_HOME to its directory, or name its command with --defects4j; `repair doctor` shows every part and what mends it
    ");
}

#[test]
fn a_failed_checkout_names_bug_step_cause_and_log_and_leaves_nothing_half_made() {
    let benchmark = Benchmark::new(
        "mkdir $w; echo 'Apply patch.... FAIL' >&2; echo 'error: patch failed: src/A.java:1' >&2; exit 2",
    );
    let checkout = benchmark.path("here");
    let shown = benchmark.run(&["--bug", "Toy-7", "--checkout", checkout.to_str().unwrap()]);
    insta::assert_snapshot!(shown, @r"
    exit 3
    ---
    error: checkout of Toy-7 failed at `Apply patch`: error: patch failed: src/A.java:1 (log: `[dir]/here.log`); `repair doctor` shows every part and what mends it
    ");
    assert!(!checkout.exists());
}

#[test]
fn a_checkout_of_something_else_is_not_touched() {
    let benchmark = Benchmark::new("exit 1");
    benchmark.write("here/.defects4j.config", "pid=Toy\nvid=7f\n");
    let checkout = benchmark.path("here");
    let shown = benchmark.run(&["--bug", "Toy-7", "--checkout", checkout.to_str().unwrap()]);
    insta::assert_snapshot!(shown, @r"
    exit 2
    ---
    error: `[dir]/here` is a checkout of Toy-7f, not of Toy-7b: choose another with --checkout
    ");
}

#[test]
fn a_checkout_whose_file_is_another_one_is_refused() {
    let benchmark = Benchmark::new("exit 1");
    benchmark.write("here/.defects4j.config", "pid=Toy\nvid=7b\n");
    benchmark.write("here/src/A.java", "class A {\n    int a = 1;\n}\n");
    let checkout = benchmark.path("here");
    let shown = benchmark.run(&["--bug", "Toy-7", "--checkout", checkout.to_str().unwrap()]);
    insta::assert_snapshot!(shown, @r"
    exit 2
    ---
    error: `src/A.java` is not the file of Toy-7: line 2 differs; make the checkout anew
    ");
}

#[test]
fn a_bug_and_a_place_exclude_each_other() {
    let output = command(&["--bug", "Toy-7", "--at", "A.java:1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
