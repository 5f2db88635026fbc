//! `repair index` and `repair search`.

use crate::support::{CALC, CALC_FILE, Project, command};

/// Exit code, stdout and stderr in the small project, with an index of its own.
fn run(project: &Project, words: &[&str]) -> String {
    let mut command = command(words);
    command.env("REPAIR_HOME", project.dir.path().join("home")).current_dir(project.root());
    project.show(&command.output().unwrap())
}

#[test]
fn an_index_is_made_once_and_searched_by_words_and_by_place() {
    let project = Project::calc(CALC.as_bytes());
    insta::assert_snapshot!(run(&project, &["search", "add"]), @r"
    exit 2
    ---
    error: no index of `[dir]/project` at revision `current`: make it with `repair index`
    ");
    insta::assert_snapshot!(run(&project, &["index"]), @r"
    exit 0
    2 files, 2 chunks: 2 cut, 0 removed, 0 embedded
    ---
    ");
    insta::assert_snapshot!(run(&project, &["index", "."]), @r"
    exit 0
    2 files, 2 chunks: 0 cut, 0 removed, 0 embedded
    ---
    ");
    let shown = run(&project, &["search", "assertEquals", "-n", "1"]);
    assert!(shown.starts_with("exit 0\n  1. src/test/java/a/CalcTest.java:1-17  0.0164\n"), "{shown}");
    assert!(shown.contains("(assert, assertequals, equals)"), "{shown}");
    let shown = run(&project, &["search", "--at", "src/main/java/a/Calc.java:5", "--format", "json"]);
    let json = shown.strip_prefix("exit 0\n").unwrap().strip_suffix("---\n").unwrap();
    let found: Vec<serde_json::Value> = serde_json::from_str(json).unwrap();
    assert_eq!(found.len(), 1, "the chunk with the hole is not shown: {json}");
    assert_eq!(found[0]["citation"], "src/test/java/a/CalcTest.java:1-17");
    insta::assert_snapshot!(run(&project, &["search", "--at", &format!("{CALC_FILE}:99")]), @r"
    exit 2
    ---
    error: line 99 is out of range: the file has 11 lines
    ");
}
