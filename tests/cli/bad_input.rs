//! Bad input: one line that says what, where and what to do, and the right exit code.

use std::io::Write as _;

use crate::support::{CALC, CALC_FILE, Project, cache, command, parts_are_there};

const AT: [&str; 4] = ["--at", "src/main/java/a/Calc.java:5", "--test", "a.CalcTest#adds"];

/// Runs on the small project with these words after the place and the test, and compares with the snapshot.
macro_rules! check {
    ($project:expr, $words:expr, @$expected:literal) => {
        insta::assert_snapshot!($project.run(&$words.concat()), @$expected)
    };
}

fn calc() -> Project {
    Project::calc(CALC.as_bytes())
}

// Usage: found before anything is started.

#[test]
fn a_place_is_required() {
    let output = command(&["--test", "a.CalcTest#adds"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("--at <FILE:LINES>"), "{stderr}");
}

#[test]
fn a_malformed_place_says_how_to_write_it() {
    let output = command(&["--at", "Calc.java", "--test", "a.CalcTest#adds"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("write FILE:LINE or FILE:FIRST-LAST, lines counted from 1"), "{stderr}");
}

#[test]
fn a_missing_file_is_named() {
    check!(calc(), [&["--at", "src/main/java/a/Cal.java:5"][..], &AT[2..]], @r"
    exit 2
    ---
    error: cannot read `[dir]/project/src/main/java/a/Cal.java` (--at is relative to --project): No such file or directory (os error 2)
    ");
}

#[test]
fn lines_out_of_range_are_told_with_the_length_of_the_file() {
    check!(calc(), [&["--at", "src/main/java/a/Calc.java:5-99"][..], &AT[2..]], @r"
    exit 2
    ---
    error: `src/main/java/a/Calc.java:5-99`: line 99 is out of range: the file has 11 lines
    ");
}

#[test]
fn an_insertion_over_a_range_is_refused() {
    check!(calc(), [&["--insert", "--at", "src/main/java/a/Calc.java:5-6"][..], &AT[2..]], @r"
    exit 2
    ---
    error: an insertion goes before one line: write FILE:LINE with --insert
    ");
}

#[test]
fn a_file_outside_the_source_roots_is_refused() {
    let project = calc();
    project.write("other/B.java", b"class B {\n}\n");
    check!(project, [&["--at", "other/B.java:1"][..], &AT[2..]], @r"
    exit 2
    ---
    error: `[dir]/project/other/B.java` lies in no main source root of the project ([dir]/project/src/main/java): name the root with --source
    ");
}

#[test]
fn a_test_source_is_no_place_for_a_repair() {
    check!(calc(), [&["--at", "src/test/java/a/CalcTest.java:10"][..], &AT[2..]], @r"
    exit 2
    ---
    error: `[dir]/project/src/test/java/a/CalcTest.java` lies in no main source root of the project ([dir]/project/src/main/java): name the root with --source
    ");
}

#[test]
fn a_project_that_is_not_there_is_named() {
    let project = calc();
    std::fs::remove_dir_all(project.root()).unwrap();
    check!(project, [&AT[..]], @r"
    exit 2
    ---
    error: `[dir]/project` is not a directory
    ");
}

#[test]
fn a_setting_out_of_range_is_named() {
    check!(calc(), [&AT[..], &["--temperature", "0"]], @r"
    exit 2
    ---
    error: --temperature is 0, but must be above 0
    ");
}

#[test]
fn a_settings_file_with_an_unknown_key_is_named_with_the_line() {
    let project = calc();
    project.write("repair.toml", b"seed = 3\nsampels = 5\n");
    check!(project, [&AT[..]], @r"
    exit 2
    ---
    error: cannot use `[dir]/project/repair.toml`: line 2: unknown field `sampels`, expected one of `build`, `source`, `test-source`, `classpath`, `level`, `encoding`, `samples`, `seed`, `temperature`, `top-p`, `top-k`, `max-tokens`, `max-steps`, `max-questions`, `max-seconds`, `batch`, `engine`, `statement-check`, `end-check`, `context`, `prior`, `templates`, `model`, `jdk`, `server-java`, `jdtls-home`, `threads`, `device`
    ");
}

#[test]
fn a_source_root_that_is_not_there_is_named() {
    check!(calc(), [&AT[..], &["--source", "src/main/jawa"]], @r"
    exit 2
    ---
    error: source root `[dir]/project/src/main/jawa` does not exist
    ");
}

#[test]
fn a_run_directory_that_cannot_be_made_is_named() {
    let project = calc();
    std::fs::write(project.run_dir(), b"a file").unwrap();
    check!(project, [&AT[..]], @r"
    exit 3
    ---
    error: cannot create `[dir]/run`: File exists (os error 17); `repair doctor` shows every part and what mends it
    ");
}

// The environment.

/// A model file with these bytes.
fn with_model(bytes: &[u8]) -> String {
    let project = calc();
    let path = project.dir.path().join("model.gguf");
    std::fs::File::create(&path).unwrap().write_all(bytes).unwrap();
    project.run(&[&AT[..], &["--model", path.canonicalize().unwrap().to_str().unwrap()]].concat())
}

fn default_weights() -> Option<Vec<u8>> {
    parts_are_there().then(|| std::fs::read(cache().join("models/SmolLM2-135M-Instruct.Q4_1.gguf")).unwrap())
}

#[test]
fn weights_that_are_no_gguf_are_refused() {
    insta::assert_snapshot!(with_model(b"not a model"), @r"
    exit 3
    ---
    error: cannot use the weights `[dir]/model.gguf`: not a GGUF file; `repair doctor` shows every part and what mends it
    ");
}

#[test]
fn truncated_weights_are_refused() {
    let Some(weights) = default_weights() else { return };
    insta::assert_snapshot!(with_model(&weights[..weights.len() / 2]), @r"
    exit 3
    ---
    error: cannot use the weights `[dir]/model.gguf`: truncated: tensor `output_norm.weight` ends at byte 98362432, the file at 49181216; `repair doctor` shows every part and what mends it
    ");
}

#[test]
fn weights_of_another_architecture_are_refused_by_name() {
    let Some(mut weights) = default_weights() else { return };
    // The value of `general.architecture` stands near the start; `llama` becomes `mamba`.
    let at = weights.windows(5).position(|window| window == b"llama").unwrap();
    weights[at..at + 5].copy_from_slice(b"mamba");
    insta::assert_snapshot!(with_model(&weights), @r"
    exit 3
    ---
    error: cannot use the weights `[dir]/model.gguf`: architecture `mamba` is not supported; `repair doctor` shows every part and what mends it
    ");
}

#[test]
fn weights_with_an_unknown_tokenizer_are_refused_by_name() {
    let Some(mut weights) = default_weights() else { return };
    let key = b"tokenizer.ggml.pre";
    let at = weights.windows(key.len()).position(|window| window == key).unwrap() + key.len();
    let value = at + weights[at..].windows(6).position(|window| window == b"smollm").unwrap();
    weights[value..value + 6].copy_from_slice(b"falcon");
    insta::assert_snapshot!(with_model(&weights), @r"
    exit 3
    ---
    error: cannot use the weights `[dir]/model.gguf`: pre-tokenizer `falcon` is not supported; `repair doctor` shows every part and what mends it
    ");
}

#[test]
fn missing_weights_are_named() {
    check!(calc(), [&AT[..], &["--model", "/no/such/model.gguf"]], @r"
    exit 3
    ---
    error: cannot use the weights `/no/such/model.gguf`: cannot read it: No such file or directory (os error 2); `repair doctor` shows every part and what mends it
    ");
}

#[test]
fn a_missing_language_server_is_named() {
    if parts_are_there() {
        check!(calc(), [&AT[..], &["--jdtls-home", "/no/such/jdtls"]], @r"
        exit 3
        ---
        error: no language server in /no/such/jdtls: /no/such/jdtls/plugins is missing; `repair doctor` shows every part and what mends it
        ");
    }
}

#[test]
fn something_that_is_no_java_cannot_run_the_server() {
    if parts_are_there() {
        check!(calc(), [&AT[..], &["--server-java", "/bin/true"]], @r"
        exit 3
        ---
        error: `/bin/true` is not a Java runtime; it said ``; `repair doctor` shows every part and what mends it
        ");
    }
}

#[test]
fn an_old_java_cannot_run_the_server() {
    let old = std::path::Path::new("/usr/lib/jvm/java-17-openjdk-amd64/bin/java");
    if !parts_are_there() || !old.is_file() {
        eprintln!("skipped: no Java 17 at {}", old.display());
        return;
    }
    check!(calc(), [&AT[..], &["--server-java", old.to_str().unwrap()]], @r"
    exit 3
    ---
    error: `/usr/lib/jvm/java-17-openjdk-amd64/bin/java` is Java 17, the language server needs 21 or newer; `repair doctor` shows every part and what mends it
    ");
}

#[test]
fn a_server_that_dies_at_its_start_is_told_with_its_last_words() {
    if !parts_are_there() {
        return;
    }
    let project = calc();
    let home = project.dir.path().canonicalize().unwrap().join("jdtls");
    std::fs::create_dir_all(home.join("plugins")).unwrap();
    std::fs::create_dir_all(home.join("configuration")).unwrap();
    std::fs::write(home.join("configuration/config.ini"), "osgi.bundles=\n").unwrap();
    std::fs::write(home.join("plugins/org.eclipse.equinox.launcher_1.0.0.jar"), b"no jar").unwrap();
    check!(project, [&AT[..], &["--jdtls-home", home.to_str().unwrap()]], @r"
    exit 3
    ---
    error: the language server ended while starting: Error: Invalid or corrupt jarfile [dir]/jdtls/plugins/org.eclipse.equinox.launcher_1.0.0.jar; `repair doctor` shows every part and what mends it
    ");
}

#[test]
fn a_jdk_that_is_none_is_named() {
    check!(calc(), [&AT[..], &["--jdk", "/etc"]], @r"
    exit 3
    ---
    error: `/etc` is not a JDK: it has no bin/java; `repair doctor` shows every part and what mends it
    ");
}

#[test]
fn a_bare_machine_is_told_what_to_run() {
    let home = tempfile::tempdir().unwrap();
    let output =
        command(&["doctor"]).env("REPAIR_HOME", home.path()).env("PATH", "/nowhere").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["language server", "server bundle", "model weights", "test runner", "JUnit"] {
        let at = text.find(&format!("MISSING  {part}")).unwrap_or_else(|| panic!("{part} in {text}"));
        assert!(text[at..].lines().nth(1).unwrap().ends_with("mend: ./scripts/setup.sh"), "{text}");
    }
    assert!(text.contains("absent   git") && text.contains("mend: apt-get install git"), "{text}");
}

#[test]
fn the_doctor_finds_what_set_up_brought() {
    if !parts_are_there() {
        return;
    }
    let output = command(&["doctor", "--format", "json"]).output().unwrap();
    let parts: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    let missing: Vec<_> =
        parts.iter().filter(|part| part["needed"] == true && part["found"] == false).collect();
    assert_eq!((output.status.code(), missing), (Some(0), vec![]));
}

// The bug does not show.

#[test]
fn a_test_class_that_is_not_there_is_named() {
    if parts_are_there() {
        check!(calc(), [&AT[..2], &["--test", "a.CalkTest#adds"]], @r"
        exit 2
        ---
        error: there is no test class `a.CalkTest`; is it `a.CalcTest`?
        ");
    }
}

#[test]
fn a_test_method_that_is_not_there_is_named_with_its_like() {
    if parts_are_there() {
        check!(calc(), [&AT[..2], &["--test", "a.CalcTest#add"]], @r"
        exit 2
        ---
        error: `a.CalcTest` has no test `add`; is it `adds`?
        ");
    }
}

#[test]
fn a_test_that_passes_already_shows_no_bug() {
    if parts_are_there() {
        check!(calc(), [&AT[..2], &["--test", "a.CalcTest#subtracts"]], @r"
        exit 4
        ---
        error: `a.CalcTest#subtracts` passes already: there is nothing to repair
        ");
    }
}

#[test]
fn a_project_that_does_not_compile_is_told_with_the_first_error() {
    if parts_are_there() {
        check!(Project::calc(CALC.replace("x - y;", "x - z;").as_bytes()), [&AT[..]], @r"
        exit 4
        ---
        error: the project does not compile before any patch: src/main/java/a/Calc.java:5: error: cannot find symbol
        ");
    }
}

// What the help says.

#[test]
fn the_readme_and_the_help_name_the_same_flags() {
    let help = |words: &[&str]| String::from_utf8(command(words).output().unwrap().stdout).unwrap();
    let of_runs = ["report", "campaign", "validate", "apply", "judge", "diff-runs"];
    let others = ["replay", "bugs", "models", "chunk", "index", "search"];
    let of_subcommands = of_runs.iter().chain(&others).map(|name| help(&[name, "--help"]));
    let help = help(&["--help"]) + &of_subcommands.collect::<String>();
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let usage = readme.split("## Usage").nth(1).unwrap().split("\n## ").next().unwrap();
    let flags = |text: &str| -> std::collections::BTreeSet<String> {
        text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
            .filter(|word| word.starts_with("--") && word.ends_with(|c: char| c.is_ascii_alphanumeric()))
            .map(str::to_owned)
            .collect()
    };
    let mut in_help = flags(&help);
    in_help.retain(|flag| flag != "--help" && flag != "--version");
    assert_eq!(flags(usage), in_help);
}

#[test]
fn the_source_of_the_small_project_is_where_the_tests_say() {
    assert!(calc().root().join(CALC_FILE).is_file());
}
