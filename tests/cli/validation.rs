//! Samples that a run has not judged are judged later, with the same verdicts.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{CALC, CALC_FILE, Project, command, parts_are_there};

/// Far more than any wait below takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(900);

fn outcomes(project: &Project) -> Vec<String> {
    let lines = project.lines("verdicts.jsonl");
    let mut outcomes: Vec<String> =
        lines.iter().map(|line| format!("{} {}", line["index"], line["outcome"])).collect();
    outcomes.sort();
    outcomes
}

/// The summary without what a clock or this process alone decides.
fn summary(run: &Path) -> Value {
    let text = std::fs::read(run.join("summary.json")).unwrap();
    serde_json::from_slice::<Value>(&text).unwrap()["bugs"][0].clone()
}

fn validate(project: &Project, words: &[&str]) -> String {
    let run = project.run_dir();
    let words = [&["validate", run.to_str().unwrap()], words].concat();
    project.show(&command(&words).output().unwrap())
}

#[test]
fn open_samples_get_the_verdicts_of_an_undisturbed_run_however_often_it_is_killed() {
    if !parts_are_there() {
        return;
    }
    let project = Project::calc(CALC.as_bytes());
    let at = format!("{CALC_FILE}:5");
    let shown = project.run(&["--at", &at, "--test", "a.CalcTest#adds", "-n", "12", "--engine", "off"]);
    assert!(shown.starts_with("exit 0\n") || shown.starts_with("exit 1\n"), "{shown}");
    let (expected, expected_summary) = (outcomes(&project), summary(&project.run_dir()));
    assert_eq!(expected.len(), 12);

    let bug = project.run_dir().join("Calc-5");
    std::fs::remove_file(bug.join("verdicts.jsonl")).unwrap();
    std::fs::remove_dir_all(bug.join("patches")).unwrap();
    let mut child = command(&["validate", project.run_dir().to_str().unwrap()]).spawn().unwrap();
    let started = Instant::now();
    while project.record("verdicts.jsonl").lines().count() < 2 {
        assert!(started.elapsed() < PATIENCE, "no verdict came");
        assert_eq!(child.try_wait().unwrap(), None, "it ended before the second verdict");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();

    let again = validate(&project, &["--workers", "2"]);
    assert_eq!(again.lines().next(), shown.lines().next(), "{again}");
    assert_eq!(outcomes(&project), expected, "after a kill, no verdict is lost or doubled");
    assert_eq!(summary(&project.run_dir()), expected_summary);
    for patch in expected_summary["ranking"].as_array().unwrap() {
        assert!(project.run_dir().join(patch["diff"].as_str().unwrap()).is_file(), "{patch}");
    }

    project.write(CALC_FILE, CALC.replace("class Calc", "final class Calc").as_bytes());
    let refused = validate(&project, &[]);
    insta::assert_snapshot!(refused, @r"
    exit 2
    ---
    error: the run in `[dir]/run` was made with another text of the file: its samples cannot be judged here
    ");
}
