//! Whole repairs on real parts: the run directory, interruptions, and what stays untouched.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use crate::support::{CALC, CALC_FILE, Project, parts_are_there};
use rustix::process::{Pid, Signal, kill_process};

const BUG: &str = "wrong-operator";
const WORDS: [&str; 4] = [
    "--at",
    "src/main/java/com/example/stockroom/measure/Money.java:40",
    "--test",
    "com.example.stockroom.measure.MoneyTest#minusTakesAway",
];
/// Enough for the search to leave its first path, few enough for a test.
const SAMPLES: [&str; 2] = ["-n", "6"];
const CALC_WORDS: [&str; 6] = ["--at", CALC_FILE_5, "--test", "a.CalcTest#adds", "-n", "1"];
const CALC_FILE_5: &str = "src/main/java/a/Calc.java:5";
/// Far more than any wait below takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(900);

fn words() -> Vec<&'static str> {
    [&WORDS[..], &SAMPLES[..]].concat()
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits for samples of a run that is going on; if it ends before, what it said is shown.
fn wait_for_samples(project: &Project, child: &mut Child, n: usize) {
    let mut ended = None;
    wait_until("a sample", || {
        ended = child.try_wait().unwrap();
        ended.is_some() || project.record("patches.jsonl").lines().count() >= n
    });
    if project.record("patches.jsonl").lines().count() < n {
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        panic!("the run ended with {ended:?} before sample {n}: {said}");
    }
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Samples and the outcome of each. Log-probabilities are left out: the model's sums are taken in another order in
/// another batch, so their last digits differ.
fn outcome(project: &Project) -> (Vec<String>, Vec<String>) {
    let mut verdicts: Vec<String> = project
        .lines("verdicts.jsonl")
        .iter()
        .map(|line| format!("{} {}", line["index"], line["outcome"]))
        .collect();
    verdicts.sort();
    (fills(project), verdicts)
}

/// Texts of the samples in order.
fn fills(project: &Project) -> Vec<String> {
    project.lines("patches.jsonl").iter().map(|line| line["fill"].as_str().unwrap().to_owned()).collect()
}

/// The process of the language server that `tool` started.
fn server_of(tool: &Child) -> Option<Pid> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut servers = pids.filter(|pid| {
        let read = |file| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let parent =
            read("stat").rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
        parent == Some(tool.id()) && read("cmdline").contains("org.eclipse.equinox.launcher")
    });
    servers.next().and_then(Pid::from_raw)
}

/// Scratch directories in the cache whose processes are gone.
fn left_behind() -> Vec<PathBuf> {
    let scratch = std::fs::read_dir(crate::support::cache().join("work")).unwrap();
    let is_dead = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap();
        name.split('-').nth(1).is_some_and(|pid| !Path::new("/proc").join(pid).exists())
    };
    // A sibling test's tool may have ended, and cleaned up, since the directory was read.
    scratch.map(|entry| entry.unwrap().path()).filter(|path| is_dead(path) && path.exists()).collect()
}

/// One undisturbed run against runs that are killed, interrupted, or lose their server. All must have the same samples
/// and verdicts, and a record without a broken or doubled line.
#[test]
fn a_run_comes_out_the_same_however_it_is_disturbed() {
    if !parts_are_there() {
        return;
    }
    let undisturbed = Project::demo(BUG);
    let before = undisturbed.tree();
    let shown = undisturbed.run(&words());
    assert!(shown.starts_with("exit 0\n"), "{shown}");
    assert_eq!(undisturbed.tree(), before, "the user's tree was changed");
    assert_eq!(fills(&undisturbed).len(), 6);
    let expected = outcome(&undisturbed);
    for record in ["patches", "verdicts", "clock"] {
        let lines = undisturbed.lines(&format!("{record}.jsonl"));
        assert_eq!(lines.len(), 6, "{record}");
        crate::report::require_schema(record, &lines);
    }

    let killed = Project::demo(BUG);
    for n_samples in [1, 3] {
        let mut child = killed.spawn(&words());
        wait_for_samples(&killed, &mut child, n_samples);
        signal(&child, Signal::KILL);
        child.wait().unwrap();
    }
    let mut interrupted = killed.spawn(&words());
    wait_for_samples(&killed, &mut interrupted, 4);
    signal(&interrupted, Signal::INT);
    assert!(matches!(interrupted.wait().unwrap().code(), Some(130 | 0)));
    killed.run(&words());
    assert_eq!(outcome(&killed), expected, "after two kills and an interrupt");

    let bereft = Project::demo(BUG);
    let mut child = bereft.spawn(&[&words()[..], &["--format", "json"]].concat());
    wait_for_samples(&bereft, &mut child, 1);
    kill_process(server_of(&child).expect("a language server runs"), Signal::KILL).unwrap();
    let output = child.wait_with_output().unwrap();
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(outcome(&bereft), expected, "after the server was killed");
    assert_eq!(summary["engine"]["restarts"], 1, "the kill came in mid-run");

    assert_eq!(left_behind(), Vec::<PathBuf>::new(), "scratch of killed tools, or of their dying servers");

    let other_seed = killed.run(&[&words()[..], &["--seed", "1"]].concat());
    assert!(
        other_seed.starts_with("exit 2\n") && other_seed.contains("holds a run with another seed"),
        "{other_seed}"
    );
}

#[test]
fn an_interrupt_before_the_first_sample_ends_the_run_and_its_children() {
    if !parts_are_there() {
        return;
    }
    let project = Project::calc(CALC.as_bytes());
    let child = project.spawn(&CALC_WORDS);
    let mut server = None;
    wait_until("a language server", || {
        server = server_of(&child);
        server.is_some()
    });
    signal(&child, Signal::INT);
    let shown = project.show(&child.wait_with_output().unwrap());
    assert!(shown.starts_with("exit 130\n"), "{shown}");
    assert!(
        shown.contains("error: interrupted; the same command goes on with the run in `[dir]/run`"),
        "{shown}"
    );
    let server = server.unwrap().as_raw_nonzero();
    assert!(
        !std::path::Path::new(&format!("/proc/{server}/cmdline")).exists(),
        "the server outlived its parent"
    );
}

#[test]
fn the_best_patch_is_a_diff_that_git_applies_and_that_apply_writes() {
    if !parts_are_there() {
        return;
    }
    let project = Project::calc(CALC.as_bytes());
    let shown = project.run(&[&CALC_WORDS[..4], &["-n", "40", "--stop-after", "1"]].concat());
    assert!(shown.starts_with("exit 0\n--- a/src/main/java/a/Calc.java\n+++ b/"), "{shown}");
    assert_eq!(project.read(CALC_FILE), CALC.as_bytes());
    let summary = std::fs::read(project.run_dir().join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_slice(&summary).unwrap();
    let diff = project.run_dir().join(summary["bugs"][0]["best_diff"].as_str().unwrap());

    let again = project.run(&[&CALC_WORDS[..4], &["-n", "40", "--stop-after", "1", "--apply"]].concat());
    assert!(again.starts_with("exit 0\n"), "{again}");
    let applied = project.read(CALC_FILE);
    assert_ne!(applied, CALC.as_bytes());

    let fresh = Project::calc(CALC.as_bytes());
    assert!(git_apply(&fresh, &diff));
    assert_eq!(fresh.read(CALC_FILE), applied, "the diff and --apply agree");
}

/// Each template keeps its part of the line, no two samples are the same program, and a killed run goes on where it was.
#[test]
fn templates_share_the_samples_and_no_program_comes_twice() {
    if !parts_are_there() {
        return;
    }
    let words = [&CALC_WORDS[..4], &["-n", "11", "--templates", "paper"]].concat();
    let undisturbed = Project::calc(CALC.as_bytes());
    let shown = undisturbed.run(&words);
    assert!(shown.starts_with("exit 0\n"), "{shown}");
    let lines = undisturbed.lines("patches.jsonl");
    assert_eq!(lines.len(), 11);
    let mut kinds: Vec<&str> = lines.iter().map(|line| line["template"].as_str().unwrap()).collect();
    let mut forms: Vec<String> =
        fills(&undisturbed).iter().map(|fill| fill.split_whitespace().collect()).collect();
    for (kind, fill) in kinds.iter().zip(fills(&undisturbed)) {
        assert!(*kind != "partial-before" || fill.starts_with("\n        return"), "{fill:?}");
        assert!(*kind != "partial-after" || fill.ends_with(';'), "{fill:?}");
    }
    kinds.dedup();
    assert_eq!(kinds, ["partial-before", "partial-after", "whole"]);
    forms.sort();
    forms.dedup();
    assert!(forms.len() == 11 && !forms.contains(&"returnx-y;".to_owned()), "{forms:?}");

    let killed = Project::calc(CALC.as_bytes());
    let mut child = killed.spawn(&words);
    wait_for_samples(&killed, &mut child, 4);
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    assert!(killed.run(&words).starts_with("exit 0\n"));
    assert_eq!(outcome(&killed), outcome(&undisturbed));
}

#[expect(clippy::disallowed_methods, reason = "the test applies the diff as a user would")]
fn git_apply(project: &Project, diff: &std::path::Path) -> bool {
    let mut git = std::process::Command::new("git");
    git.arg("apply").arg(diff).current_dir(project.root()).env("GIT_CEILING_DIRECTORIES", project.dir.path());
    git.status().unwrap().success()
}

#[test]
fn bytes_outside_the_hole_keep_their_encoding_and_line_ends() {
    if !parts_are_there() {
        return;
    }
    let latin = CALC.replace("package a;\n", "package a;\n\n// Größe\n").replace('\n', "\r\n");
    let latin: Vec<u8> = latin.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let project = Project::calc(&latin);
    let words =
        ["--at", "src/main/java/a/Calc.java:7", "--test", "a.CalcTest#adds", "--encoding", "ISO-8859-1"];
    let shown = project.run(&[&words[..], &["-n", "40", "--stop-after", "1", "--apply"]].concat());
    assert!(shown.starts_with("exit 0\n"), "{shown}");
    let new = project.read(CALC_FILE);
    let lines = |bytes: &[u8]| bytes.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (old, new) = (lines(&latin), lines(&new));
    assert_eq!(old[..6], new[..6]);
    assert_eq!(old[7..], new[new.len() - (old.len() - 7)..]);
    assert!(new.iter().filter(|line| !line.is_empty()).all(|line| line.ends_with(b"\r")), "{new:?}");
}

#[test]
fn a_full_disk_ends_the_run_with_its_name_and_an_intact_record() {
    if !parts_are_there() {
        return;
    }
    let project = Project::calc(CALC.as_bytes());
    std::fs::create_dir(project.run_dir()).unwrap();
    let Some(_small) = SmallDisk::mount(&project.run_dir()) else {
        eprintln!("skipped: only root can mount a small disk");
        return;
    };
    let shown = project.run(&[&CALC_WORDS[..4], &["-n", "60"]].concat());
    assert!(shown.starts_with("exit 3\n"), "{shown}");
    assert!(shown.contains("error: cannot write `[dir]/run/") && shown.contains("No space left"), "{shown}");
    assert_eq!(project.read(CALC_FILE), CALC.as_bytes());
    project.lines("patches.jsonl");
}

/// A file system of 256 KiB, unmounted on drop.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    #[expect(clippy::disallowed_methods, reason = "mounting is not what this program does")]
    fn mount(dir: &std::path::Path) -> Option<Self> {
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"]).arg(dir);
        mount.output().is_ok_and(|output| output.status.success()).then(|| Self(dir.to_owned()))
    }
}

impl Drop for SmallDisk {
    #[expect(clippy::disallowed_methods, reason = "unmounting is not what this program does")]
    fn drop(&mut self) {
        let _best_effort = std::process::Command::new("umount").arg(&self.0).output();
    }
}
