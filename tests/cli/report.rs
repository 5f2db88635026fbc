//! `repair report` on records that the test writes: what is counted, and what a plausible patch is never called.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::command;

/// Writes a run of one bug. Each sample is its fill and its outcome; `None` has no verdict yet.
pub fn write_run(dir: &Path, bug: &str, seed: u64, engine: bool, samples: &[(&str, Option<&str>)]) {
    let own = dir.join(bug);
    std::fs::create_dir_all(&own).unwrap();
    let guidance = json!({"names": engine, "memo": engine, "statements": engine, "end": engine});
    let inputs = json!({"seed": seed, "guidance": guidance, "with_replacement": false});
    write(&dir.join("manifest.json"), &[json!({"inputs": inputs})]);
    let (mut patches, mut verdicts, mut clock) = (Vec::new(), Vec::new(), Vec::new());
    for (index, (fill, outcome)) in (1..).zip(samples) {
        patches.push(
            json!({"index": index, "fill": fill, "log_p": -1.5, "tokens": [[fill, -1.0], ["\n", -0.5]]}),
        );
        clock.push(
            json!({"index": index, "seconds": 0.5 * f64::from(index), "steps": index, "positions": 10 * index,
            "questions": 2 * index, "refused": index}),
        );
        let Some(outcome) = outcome else { continue };
        let stage = |stage, passed| json!({"stage": stage, "passed": passed, "tests_run": 1, "failed": [], "millis": 250});
        let stages = match *outcome {
            "uncompilable" => vec![stage("compile", false)],
            "failed" => vec![stage("compile", true), stage("trigger", false)],
            _ => vec![stage("compile", true), stage("trigger", true), stage("full", true)],
        };
        let mut line = json!({"index": index, "outcome": outcome, "stages": stages});
        if *outcome == "failed" {
            line["stage"] = json!("trigger");
        }
        verdicts.push(line);
    }
    write(&own.join("patches.jsonl"), &patches);
    write(&own.join("verdicts.jsonl"), &verdicts);
    write(&own.join("clock.jsonl"), &clock);
    let entry = json!({"bug": bug, "stop": "samples", "samples": samples.len()});
    write(&dir.join("summary.json"), &[json!({"bugs": [entry]})]);
}

pub fn write(file: &Path, lines: &[Value]) {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(file, lines.join("\n") + "\n").unwrap();
}

/// Two bugs, two seeds, with the engine and without.
fn study(dir: &Path) {
    let (bad, failed, good) = (Some("uncompilable"), Some("failed"), Some("plausible"));
    write_run(
        &dir.join("a"),
        "X-1",
        0,
        false,
        &[("\na;", bad), ("\nb;", failed), ("\nc;", good), ("\nd;", bad)],
    );
    write_run(&dir.join("b"), "X-2", 0, false, &[("\na;", bad), ("\nb;", None)]);
    write_run(&dir.join("c"), "X-1", 0, true, &[("\nc;", good), ("\nb;", failed)]);
    write_run(&dir.join("d"), "X-1", 1, true, &[("\nb;", failed), ("\ne;", bad)]);
}

fn run(dir: &Path, words: &[&str]) -> String {
    let output = command(&[&["report"], words].concat()).current_dir(dir).output().unwrap();
    let text = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes).replace(&dir.canonicalize().unwrap().display().to_string(), "[dir]")
    };
    format!("exit {}\n{}---\n{}", output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn rates_name_their_denominators_and_a_text_without_a_verdict_does_not_compile() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path());
    insta::assert_snapshot!(run(dir.path(), &[".", "--table", "rates", "--format", "csv"]), @r"
    exit 0
    variant,top,units with as many,% of started,% of finished,% of unique,mean of bugs %,not judged
    full,30,0 of 2,75.0 (3/4),75.0 (3/4),75.0 (3/4),75.0,0
    off,30,0 of 2,33.3 (2/6),33.3 (2/6),33.3 (2/6),25.0,1
    ---
    ");
}

#[test]
fn a_plausible_patch_is_correct_only_when_a_person_said_so() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path());
    let report = |words: &[&str]| -> Value {
        let shown = run(dir.path(), &[&[".", "--format", "json"], words].concat());
        serde_json::from_str(shown.split_once('\n').unwrap().1.split("\n---").next().unwrap()).unwrap()
    };
    let before = report(&[]);
    assert_eq!(before["variants"][0]["plausible_bugs"], json!(["X-1"]));
    assert_eq!(before["variants"][0]["correct_bugs"], json!([]));
    assert!(run(dir.path(), &["."]).contains("1 of 1"), "patches that nobody judged are counted");

    let judgement =
        json!({"bug": "X-1", "patch": patch_id("c;"), "judgement": "correct", "by": "me", "fill": "c;"});
    write(&dir.path().join("judgements.jsonl"), &[judgement]);
    std::fs::write(dir.path().join("others.csv"), "tool,bug\nOther,X-1\nOther,X-9\n").unwrap();
    let after = report(&["--compare", "others.csv"]);
    assert_eq!(after["variants"][0]["correct_bugs"], json!(["X-1"]));
    assert_eq!(after["venn_correct"][0], json!({"tools": ["Other"], "bugs": ["X-9"]}));
    assert_eq!(after["venn_correct"][1], json!({"tools": ["Other", "full", "off"], "bugs": ["X-1"]}));
}

fn patch_id(fill: &str) -> String {
    repair::report::judgements::patch_id(fill)
}

#[test]
fn draws_with_replacement_are_counted_as_begun_as_ended_and_as_new() {
    let dir = tempfile::tempdir().unwrap();
    let samples = [("\na;", Some("uncompilable")), ("\nb;", Some("plausible"))];
    write_run(dir.path(), "X-1", 0, true, &samples);
    let mut manifest: Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("manifest.json")).unwrap()).unwrap();
    manifest["inputs"]["with_replacement"] = json!(true);
    write(&dir.path().join("manifest.json"), &[manifest]);
    let whole = |fill| json!({"complete": {"fill": fill, "log_p": -1.0, "tokens": []}});
    let ends = [whole("\na;"), json!({"dead": "name"}), whole("\nb;"), whole("\n b ;"), whole("\nbuggy;")];
    let walks: Vec<Value> =
        (0..).zip(ends).map(|(walk, end)| json!({"event": "walk", "walk": walk, "end": end})).collect();
    write(&dir.path().join("X-1/tree.jsonl"), &walks);
    insta::assert_snapshot!(run(dir.path(), &[".", "--table", "rates", "--format", "csv"]), @r"
    exit 0
    variant,top,units with as many,% of started,% of finished,% of unique,mean of bugs %,not judged
    full+replacement,30,0 of 1,60.0 (3/5),75.0 (3/4),50.0 (1/2),50.0,0
    ---
    ");
}

#[test]
fn the_tables_stand_in_one_text() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path());
    insta::assert_snapshot!(run(dir.path(), &[".", "--table", "units", "--table", "venn-plausible"]), @r"
    exit 0
    Bugs
      bug  variant  seed  state    started  finished  unique  compile  plausible  first  correct  tokens  questions  drawing s  validation s
      X-1  full        0  samples        2         2       2        2          1      1        -       4          4        1.0           1.2
      X-1  full        1  samples        2         2       2        1          0      -        -       4          4        1.0           0.8
      X-1  off         0  samples        4         4       4        2          1      3        -       8          8        2.0           1.8
      X-2  off         0  samples        2         2       2        0          0      -        -       4          4        1.0           0.2
      (first: the first plausible sample; correct: called so by a person)

    Bugs with a plausible patch, by the variants that have one
      only by     bugs  which
      full + off     1  X-1
      (each bug counts once: for all that have it, and no others)
    ---
    ");
}

#[test]
fn a_directory_without_a_run_and_a_run_named_twice_are_told() {
    let dir = tempfile::tempdir().unwrap();
    insta::assert_snapshot!(run(dir.path(), &["."]), @r"
    exit 2
    ---
    error: `[dir]` holds no run: no `patches.jsonl` lies below it
    ");
    study(dir.path());
    insta::assert_snapshot!(run(dir.path(), &["a", "a"]), @r"
    exit 2
    ---
    error: `[dir]/a` and `[dir]/a` are of one bug, variant and seed: name one of them
    ");
    insta::assert_snapshot!(run(dir.path(), &["a", "--table", "x"]), @r"
    exit 2
    ---
    error: --table is x, but must be a table of this report: variants, rates, costs, units, failures, venn-plausible, venn-correct, with --paper paper-1 to paper-4
    ");
}

/// Holds every line of a record against its schema.
pub fn require_schema(name: &str, lines: &[Value]) {
    let file = format!("{}/src/record/schemas/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    let schema: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for line in lines {
        let errors: Vec<String> = validator.iter_errors(line).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?} in {line}");
    }
}

#[test]
fn the_schemas_take_what_these_tests_write_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path());
    for name in ["patches", "verdicts", "clock"] {
        let text = std::fs::read_to_string(dir.path().join(format!("a/X-1/{name}.jsonl"))).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        require_schema(name, &lines);
    }
    let refuses =
        |name: &str, line: Value| std::panic::catch_unwind(|| require_schema(name, &[line])).is_err();
    assert!(refuses("verdicts", json!({"index": 1, "outcome": "correct", "stages": []})));
    assert!(refuses("verdicts", json!({"index": 1, "outcome": "failed", "stages": []})));
    assert!(refuses("patches", json!({"index": 0, "fill": "", "log_p": -1.0, "tokens": []})));
}

#[test]
fn the_html_holds_every_bug_escapes_what_it_shows_and_loads_nothing() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path());
    let hole = json!({"first_line": 1, "before": "class A<T> {\n", "hole": "  a();\n", "after": "}\n", "chunks": [
        {"citation": "B.java:1-2", "text": "if (a < b && c) {}\n"}
    ]});
    write(&dir.path().join("a/X-1/shown.json"), &[hole]);
    write_run(
        &dir.path().join("e"),
        "X-3",
        0,
        true,
        &[("\nx(\"<script>alert(1)</script>\");", Some("plausible"))],
    );
    let shown = run(dir.path(), &[".", "--format", "html"]);
    for text in ["X-1", "X-2", "X-3", "class A&lt;T&gt;", "a &lt; b &amp;&amp; c", "B.java:1-2", "not judged"]
    {
        assert!(shown.contains(text), "{text}");
    }
    for text in ["<script", "http:", "https:", "@import", "url("] {
        assert!(!shown.contains(text), "{text} in the report");
    }
    let targets: Vec<&str> =
        shown.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(targets.len() > 10);
    for target in targets {
        assert!(shown.contains(&format!("id=\"{target}\"")), "#{target} leads nowhere");
    }
}

/// A browser on the path, if there is one.
#[expect(clippy::disallowed_methods, reason = "where programs are is told by the environment alone")]
fn browser() -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path).flat_map(|dir| names.map(|name| dir.join(name))).find(|file| file.is_file())
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a browser opens the report as a reader would")]
fn a_browser_shows_the_page_that_is_linked_and_has_nothing_to_complain_of() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no chromium on the path");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    study(dir.path());
    let shown = run(dir.path(), &[".", "--format", "html"]);
    // The browser tells how wide the page became at the width of a phone, and which sections it shows.
    let probe = "<script>onload = () => { const shown = [...document.querySelectorAll('section')].filter(s => \
        getComputedStyle(s).display !== 'none').map(s => s.id); const tabs = [...document.querySelectorAll('a, summary, \
        [tabindex=\"0\"]')].filter(e => e.offsetParent && e.tabIndex === 0).length; document.body.dataset.probe = [shown, \
        document.documentElement.scrollWidth <= innerWidth, tabs > 1].join(' ') }</script></body>";
    let page = shown.split_once('\n').unwrap().1.split("\n---").next().unwrap().replace("</body>", probe);
    let file = dir.path().join("report.html");
    std::fs::write(&file, page).unwrap();
    for (place, sections) in [("", "overview"), ("#unit-2", "unit-2")] {
        let output = std::process::Command::new(&browser)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--window-size=500,900",
                "--enable-logging=stderr",
            ])
            .arg(format!("--user-data-dir={}", dir.path().join("profile").display()))
            .args(["--virtual-time-budget=2000", "--dump-dom"])
            .arg(format!("file://{}{place}", file.display()))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("CONSOLE"), "{said}");
        let dom = String::from_utf8_lossy(&output.stdout);
        assert!(
            dom.contains(&format!("data-probe=\"{sections} true true\"")),
            "{place}: {}",
            &dom[dom.find("<body").unwrap()..][..200]
        );
    }
}

/// Holds a report's figures against those of a script that knows the JSON lines only.
#[expect(clippy::disallowed_methods, reason = "the script is the other witness")]
pub fn require_recomputed(dir: &Path) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/report/recompute.py");
    let output = std::process::Command::new("python3").arg(script).arg(dir).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let recomputed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let output = command(&["report", "--format", "json"]).arg(dir).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let units = report["units"].as_array().unwrap();
    assert_eq!(units.len(), recomputed.as_object().unwrap().len());
    for unit in units {
        let other = &recomputed[unit["run"].as_str().unwrap()];
        assert_eq!(unit["unique"], other["unique"], "{}", unit["run"]);
        assert_eq!(unit["first_plausible"], other["first_plausible"]);
        for cut in unit["cuts"].as_array().unwrap() {
            assert_eq!(cut["unique"], other["top"][cut["top"].to_string()]);
        }
        for count in ["tokens", "positions", "questions"] {
            assert_eq!(unit["costs"][count], other[count], "{count}");
        }
        let millis = |name: &str| json!((1000.0 * unit["costs"][name].as_f64().unwrap()).round() as u64);
        assert_eq!(
            [millis("compile_seconds"), millis("test_seconds")],
            [other["compile_ms"].clone(), other["test_ms"].clone()]
        );
    }
}

#[test]
fn a_script_that_knows_the_lines_only_comes_to_the_same_figures() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path());
    require_recomputed(&dir.path().canonicalize().unwrap());
}

#[test]
fn the_papers_tables_have_the_reports_rows_below_its_own() {
    let given = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data");
    if !std::path::Path::new(given).is_dir() {
        eprintln!("skipped: `{given}` is not there");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    write_run(
        &dir.path().join("a"),
        "Chart-1",
        0,
        true,
        &[("\na;", Some("uncompilable")), ("\nb;", Some("plausible"))],
    );
    let shown = run(dir.path(), &["a", "--paper", given, "--table", "paper-3", "--format", "csv"]);
    assert!(shown.contains("\"full, CodeT5-large, D4J1.2 (138)\",0.248,63.4,5.21,63,42\n"), "{shown}");
    assert!(shown.contains("run: full,0.500,50.0,50.0,1,\"not judged, 1 bugs\"\n"), "{shown}");
    assert!(!run(dir.path(), &["a"]).contains("Repilot"));
}

#[test]
fn a_unit_that_nobody_has_begun_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    write_run(&dir.path().join("full/seed-0/X-1"), "X-1", 0, true, &[("\na;", Some("plausible"))]);
    let unit = |bug: &str| json!({"bug": bug, "variant": "full", "seed": 0});
    write(&dir.path().join("campaign.json"), &[json!({"units": [unit("X-1"), unit("X-2")]})]);
    let shown = run(dir.path(), &[".", "--table", "units", "--format", "csv"]);
    assert!(shown.contains("X-2,full,0,unfinished,0,0,0,"), "{shown}");
    assert!(run(dir.path(), &["."]).contains("2 (0 failed, 1 open)"));
}
