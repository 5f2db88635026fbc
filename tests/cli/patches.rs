//! What is done with the patches of a run: applied, judged, compared, given to other programs.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::report::{require_schema, write, write_run};
use crate::support::command;

const OLD: &str = "class A {\n    int a() {\n        return 1;\n    }\n}\n";
const DIFF: &str = "--- a/src/A.java\n+++ b/src/A.java\n@@ -1,5 +1,5 @@\n class A {\n     int a() {\n-        return 1;\n+        return 2;\n     }\n }\n";

/// A run on a project in `project`, with one plausible patch.
fn run_with_patch() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("project/src")).unwrap();
    std::fs::write(dir.path().join("project/src/A.java"), OLD).unwrap();
    let samples = [("\n        return 0;", Some("failed")), ("\n        return 2;", Some("plausible"))];
    write_run(&dir.path().join("run"), "X-1", 0, true, &samples);
    let patches = dir.path().join("run/X-1/patches");
    std::fs::create_dir_all(&patches).unwrap();
    std::fs::write(patches.join("0002.diff"), DIFF).unwrap();
    let path = dir.path().join("run/manifest.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    manifest["project"] = json!(dir.path().join("project"));
    manifest["inputs"]["file"] = json!("src/A.java");
    manifest["inputs"]["lines"] = json!({"replace": {"first": 3, "last": 3}});
    manifest["inputs"]["tests"] = json!(["ATest#a"]);
    write(&path, &[manifest]);
    dir
}

fn run(dir: &Path, words: &[&str], answers: &str) -> String {
    let mut child = command(words)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(answers.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes)
            .replace(&dir.canonicalize().unwrap().display().to_string(), "[dir]");
        text.replace(&dir.display().to_string(), "[dir]")
    };
    format!("exit {}\n{}---\n{}", output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn source(dir: &TempDir) -> String {
    std::fs::read_to_string(dir.path().join("project/src/A.java")).unwrap()
}

#[test]
fn a_patch_is_shown_and_goes_into_a_file_that_has_changed_elsewhere() {
    let dir = run_with_patch();
    let shown = run(dir.path(), &["apply", "run", "--dry-run"], "");
    assert_eq!(shown, format!("exit 0\n{DIFF}---\nit would go into [dir]/project/src/A.java\n"));
    assert_eq!(source(&dir), OLD);
    std::fs::write(dir.path().join("project/src/A.java"), format!("// new\n{OLD}// end\n")).unwrap();
    let shown = run(dir.path(), &["apply", "run", "--rank", "1"], "");
    assert!(shown.ends_with("applied patch 2 of X-1 to [dir]/project/src/A.java\n"), "{shown}");
    assert_eq!(source(&dir), format!("// new\n{}// end\n", OLD.replace('1', "2")));
}

#[test]
fn a_hunk_that_has_changed_is_refused_and_the_file_stays() {
    let dir = run_with_patch();
    let changed = OLD.replace("return 1", "return 7");
    std::fs::write(dir.path().join("project/src/A.java"), &changed).unwrap();
    let shown = run(dir.path(), &["apply", "run"], "");
    insta::assert_snapshot!(shown.rsplit("---\n").next().unwrap(), @"error: the patch was not applied to `[dir]/project/src/A.java`: lines 1-5 have changed since the patch was made");
    assert!(shown.starts_with("exit 2\n"), "{shown}");
    assert_eq!(source(&dir), changed);
    insta::assert_snapshot!(run(dir.path(), &["apply", "run", "--rank", "2"], ""), @r"
    exit 2
    ---
    error: there is no patch of rank 2: X-1 has 1
    ");
    insta::assert_snapshot!(run(dir.path(), &["apply", "run", "--bug", "X-2"], ""), @r"
    exit 2
    ---
    error: no plausible patch in `[dir]/run` for `X-2`
    ");
}

#[test]
fn answers_are_kept_and_asked_for_once() {
    let dir = run_with_patch();
    let shown = run(dir.path(), &["judge", "run", "--by", "me"], "what\nw looks at the wrong field\n");
    assert!(shown.starts_with("exit 0\nX-1 sample 2, ln p -1.50\n--- a/src/A.java\n"), "{shown}");
    assert!(shown.contains("the human patch is not at hand"), "{shown}");
    let again = run(dir.path(), &["judge", "run"], "");
    assert!(again.contains("0 plausible patches to judge"), "{again}");
    let changed = run(dir.path(), &["judge", "run", "--as", "correct", "--by", "you"], "");
    assert!(changed.starts_with("exit 0\n"), "{changed}");
    let text = std::fs::read_to_string(dir.path().join("run/judgements.jsonl")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    require_schema("judgements", &lines);
    assert_eq!(
        lines.iter().map(|line| (line["judgement"].clone(), line["by"].clone())).collect::<Vec<_>>(),
        [(json!("wrong"), json!("me")), (json!("correct"), json!("you"))]
    );
    assert_eq!(lines[0]["note"], "looks at the wrong field");
    let report = run(dir.path(), &["report", "run", "--format", "json"], "");
    assert!(report.contains("\"correct_bugs\": [\n        \"X-1\"\n"), "{report}");
}

#[test]
fn the_human_patch_stands_beside_the_candidate() {
    let dir = run_with_patch();
    let project = dir.path().join("defects4j/framework/projects/X");
    std::fs::create_dir_all(project.join("patches")).unwrap();
    std::fs::create_dir_all(project.join("trigger_tests")).unwrap();
    std::fs::create_dir_all(dir.path().join("defects4j/framework/bin")).unwrap();
    std::fs::write(dir.path().join("defects4j/framework/bin/defects4j"), "").unwrap();
    std::fs::write(project.join("active-bugs.csv"), "bug.id,rev\n1,a,b\n").unwrap();
    let diff = "--- a/src/A.java\n+++ b/src/A.java\n@@ -2,3 +2,3 @@\n     int a() {\n-        return 3;\n+        return 1;\n     }\n";
    std::fs::write(project.join("patches/1.src.patch"), diff).unwrap();
    let tool = dir.path().join("defects4j/framework/bin/defects4j");
    let shown = run(dir.path(), &["judge", "run", "--defects4j", tool.to_str().unwrap()], "s\n");
    assert!(
        shown.contains("the human patch: src/A.java:3\n-        return 1;\n+        return 3;\n"),
        "{shown}"
    );
}

#[test]
fn runs_are_compared_in_settings_and_in_outcome() {
    let dir = run_with_patch();
    let same = run(dir.path(), &["diff-runs", "run", "run"], "");
    insta::assert_snapshot!(same, @r"
    exit 0
    1 units compared, 0 with another outcome
    ---
    ");
    let samples = [("\n        return 0;", Some("uncompilable")), ("\n        return 5;", Some("failed"))];
    write_run(&dir.path().join("other"), "X-1", 3, true, &samples);
    let differ = run(dir.path(), &["diff-runs", "run", "other"], "");
    assert!(differ.starts_with("exit 1\n"), "{differ}");
    assert!(differ.contains("setting inputs.seed: 0 / 3 (1 of 1 units)\n"), "{differ}");
    assert!(
        differ.contains("X-1: 2 / 2 samples, another text from sample 2 on, 1 and 1 texts of one only, 1 other verdicts, 1 / 0 plausible\n  fails trigger / does not compile: return 0;\n"),
        "{differ}"
    );
}

#[test]
fn a_fix_for_editors_replaces_the_hole_by_the_patch() {
    let dir = run_with_patch();
    let shown = run(dir.path(), &["report", "run", "--format", "sarif"], "");
    let sarif: Value =
        serde_json::from_str(shown.split_once('\n').unwrap().1.split("\n---").next().unwrap()).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["message"]["text"], "X-1: 1 plausible patch for the failing ATest#a");
    let replacement = &result["fixes"][0]["artifactChanges"][0]["replacements"][0];
    let lines: Vec<&str> = OLD.split_inclusive('\n').collect();
    let line = |name: &str| replacement["deletedRegion"][name].as_u64().unwrap() as usize;
    let fixed = format!(
        "{}{}{}",
        lines[..line("startLine") - 1].concat(),
        replacement["insertedContent"]["text"].as_str().unwrap(),
        lines[line("endLine") - 1..].concat()
    );
    assert_eq!(fixed, OLD.replace('1', "2"));
}
