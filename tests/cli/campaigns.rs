//! Campaigns: sets, units that fail, and results that no kill and no sharding changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{CALC, CALC_TEST, Project, command, parts_are_there};

/// Far more than any wait below takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(900);

fn run(dir: &Path, words: &[&str]) -> String {
    let mut command = command(&[&["campaign"], words].concat());
    let output =
        command.current_dir(dir).env_remove("DEFECTS4J_HOME").env("PATH", "/usr/bin:/bin").output().unwrap();
    let text = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes).replace(&dir.canonicalize().unwrap().display().to_string(), "[dir]")
    };
    format!("exit {}\n{}---\n{}", output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn what_cannot_be_planned_is_told_before_anything_is_done() {
    let dir = tempfile::tempdir().unwrap();
    insta::assert_snapshot!(run(dir.path(), &["Nothing", "--dir", "c"]), @r"
    exit 2
    ---
    error: `Nothing` is no benchmark, project, bug, pattern that some bug fits, list of the paper, or file
    ");
    insta::assert_snapshot!(run(dir.path(), &["A-1", "--dir", "c", "--", "--tempretaure", "2"]), @r"
    exit 2
    ---
    error: flags of variant `full`: unexpected argument '--tempretaure' found
    ");
    std::fs::write(dir.path().join("bugs"), "# none\n\n{\"name\": \"x\"}\n").unwrap();
    insta::assert_snapshot!(run(dir.path(), &["bugs", "--dir", "c"]), @r"
    exit 2
    ---
    error: cannot use line 3 of `[dir]/bugs`: missing field `project` at line 1 column 13
    ");
    assert!(run(dir.path(), &["A-1", "--dir", "c", "--shard", "3/2"]).contains("`3/2` is no shard"));
    assert!(!dir.path().join("c").exists());
}

#[test]
fn a_unit_that_breaks_is_a_record_and_the_next_one_follows() {
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        json!({"name": "one", "project": "none", "at": "A.java:1", "tests": ["ATest#a"]}),
        json!({"name": "two", "project": "none", "at": "A.java:2", "tests": ["ATest#a"]}),
    ];
    crate::report::write(&dir.path().join("bugs"), &lines);
    let words = ["bugs", "--dir", "c", "-n", "2", "--variant", "off", "--variant", "full"];
    let shown = run(dir.path(), &words);
    assert!(shown.starts_with("exit 5\n"), "{shown}");
    assert!(
        shown.contains("[4/4] two full seed 0: failed: `[dir]/none` is not a directory; 0 s left"),
        "{shown}"
    );
    assert!(shown.contains("4 of 4 units failed; --retry tries them again"), "{shown}");
    let record: Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("c/off/seed-0/two/unit.json")).unwrap())
            .unwrap();
    assert_eq!([&record["state"], &record["exit"]], [&json!("failed"), &json!(2)]);
    assert!(shown.contains("2 (2 failed, 0 open)"), "{shown}");

    let again = run(dir.path(), &words);
    assert!(again.contains("4 units of 2 bugs, 0 of them to do") && again.starts_with("exit 5\n"), "{again}");
    let retried = run(dir.path(), &[&words[..], &["--retry"]].concat());
    assert!(retried.contains("4 units of 2 bugs, 4 of them to do"), "{retried}");
}

/// Two bugs in a directory, with the file that names them.
struct Study {
    dir: TempDir,
}

impl Study {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut lines = Vec::new();
        for (name, calc) in [("minus", CALC.to_owned()), ("times", CALC.replacen("x - y", "x * y", 1))] {
            let project = Project::calc(calc.as_bytes());
            std::fs::rename(project.root(), dir.path().join(name)).unwrap();
            assert!(CALC_TEST.contains("adds"));
            lines.push(json!({"name": name, "project": name, "at": "src/main/java/a/Calc.java:5", "tests": ["a.CalcTest#adds"]}));
        }
        crate::report::write(&dir.path().join("bugs"), &lines);
        Self { dir }
    }

    fn words<'a>(campaign: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let words = ["bugs", "--dir", campaign, "-n", "3", "--variant", "off", "--variant", "full"];
        [&words[..], more].concat()
    }

    fn path(&self, campaign: &str) -> PathBuf {
        self.dir.path().join(campaign)
    }
}

/// Every unit's texts and verdicts, with how it ended. Log-probabilities are left out: the model's sums are taken in
/// another order in another batch, so their last digits differ.
fn outcomes(campaign: &Path) -> BTreeMap<PathBuf, Vec<String>> {
    let mut outcomes = BTreeMap::new();
    for entry in walkdir::WalkDir::new(campaign).into_iter().map(Result::unwrap) {
        let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        if entry.file_name() != "unit.json" {
            continue;
        }
        let dir = entry.path().parent().unwrap();
        let bug = dir.join(dir.file_name().unwrap());
        let record: Value = serde_json::from_str(&read(entry.path())).unwrap();
        let value = |line: &str| -> Value { serde_json::from_str(line).expect("every line is whole") };
        let mut lines = vec![record["state"].to_string()];
        lines.extend(read(&bug.join("patches.jsonl")).lines().map(|line| value(line)["fill"].to_string()));
        let verdict = |line: &str| format!("{} {}", value(line)["index"], value(line)["outcome"]);
        let mut verdicts: Vec<String> = read(&bug.join("verdicts.jsonl")).lines().map(verdict).collect();
        verdicts.sort();
        lines.extend(verdicts);
        outcomes.insert(dir.strip_prefix(campaign).unwrap().to_owned(), lines);
    }
    outcomes
}

fn count(campaign: &Path, name: &str) -> usize {
    let entries = walkdir::WalkDir::new(campaign).into_iter().flatten();
    let files = entries.filter(|entry| entry.file_name() == name);
    files.map(|file| std::fs::read_to_string(file.path()).unwrap_or_default().lines().count()).sum()
}

#[test]
fn a_campaign_comes_out_the_same_killed_or_in_shards() {
    if !parts_are_there() {
        return;
    }
    let study = Study::new();
    let shown = run(study.dir.path(), &Study::words("whole", &[]));
    assert!(shown.starts_with("exit 0\n"), "{shown}");
    let expected = outcomes(&study.path("whole"));
    assert_eq!(expected.len(), 4);
    assert!(expected.values().all(|lines| lines.len() == 7), "{expected:?}");

    crate::report::require_recomputed(&study.path("whole").canonicalize().unwrap());

    // Killed once in the middle of a unit, and once in another.
    for samples in [2, 5] {
        let words = [&["campaign"], &Study::words("killed", &[])[..]].concat();
        let mut child = command(&words).current_dir(study.dir.path()).spawn().unwrap();
        let started = Instant::now();
        while count(&study.path("killed"), "patches.jsonl") < samples {
            assert!(started.elapsed() < PATIENCE, "no sample came");
            assert_eq!(child.try_wait().unwrap(), None, "the campaign ended before sample {samples}");
            std::thread::sleep(Duration::from_millis(20));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let shown = run(study.dir.path(), &Study::words("killed", &[]));
    assert!(shown.starts_with("exit 0\n"), "{shown}");
    assert_eq!(outcomes(&study.path("killed")), expected);

    // Two shards in directories of their own, put together.
    for shard in ["1/2", "2/2"] {
        let name = format!("shard-{}", &shard[..1]);
        let shown = run(study.dir.path(), &Study::words(&name, &["--shard", shard]));
        assert!(shown.starts_with("exit 0\n"), "{shown}");
        copy(&study.path(&name), &study.path("merged"));
    }
    assert_eq!(outcomes(&study.path("merged")), expected);
    let again = run(study.dir.path(), &Study::words("merged", &[]));
    assert!(again.contains("4 units of 2 bugs, 0 of them to do"), "{again}");
}

fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from).into_iter().map(Result::unwrap) {
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(target).unwrap();
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
