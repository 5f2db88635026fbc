//! Validation of patches with a real compiler, a real JVM and the real test runner.
//!
//! Needs a JDK 17 or newer, the JUnit jars and `repair-runner.jar` in the cache that `scripts/setup.sh` fills; without
//! them each test says that it was skipped.

use std::path::{Path, PathBuf};

use repair::build;
use repair::java::project::BuildTool;
use repair::java::test_id::TestId;
use repair::process::Interrupt;
use repair::validate::sandbox::Sandbox;
use repair::validate::verdict::{By, Outcome, Stage, StageEnd, Verdict};
use repair::validate::{Candidate, ValidateError, ValidateSettings, Validator};

#[path = "validate/bench.rs"]
mod bench;
#[path = "validate/hostile.rs"]
mod hostile;

use bench::{Bench, CALC, OTHER_TEST_4, TEST_4, TEST_5, USER, inspect, parts};

/// Validates `CALC` with one text replaced.
fn check(validator: &mut Validator, from: &str, to: &str) -> Verdict {
    assert!(CALC.contains(from), "{from}");
    let candidate = Candidate {
        file: PathBuf::from("src/main/java/demo/Calc.java"),
        text: CALC.replace(from, to).into_bytes(),
    };
    validator.validate(&candidate).unwrap()
}

fn failed_tests(verdict: &Verdict) -> Vec<String> {
    verdict.stages.last().unwrap().failed.iter().map(|failure| failure.test.to_string()).collect()
}

const BUGGY: &str = "return a - b;";
const FIXED: &str = "return a + b;";

#[test]
fn a_baseline_names_what_fails_and_how() {
    let Some(bench) = Bench::junit_4() else { return };
    let before = bench.tree();
    let baseline = bench.validator().baseline(&["demo.CalcTest#adds".parse().unwrap()]).unwrap();
    assert_eq!(baseline.triggers.len(), 1);
    assert_eq!(baseline.triggers[0].exception.as_deref(), Some("java.lang.AssertionError"));
    assert_eq!(baseline.triggers[0].message.as_deref(), Some("expected:<5> but was:<-1>"));
    let known: Vec<String> = baseline.known_failures.iter().map(|failure| failure.test.to_string()).collect();
    assert_eq!(known, ["demo.UserTest#failsAnyway"]);
    assert_eq!((baseline.trigger_records.len(), baseline.suite_records.len()), (2, 5));
    assert!(baseline.limits.full >= 10_000);
    assert_eq!(bench.tree(), before, "the user's tree is as it was");
}

#[test]
fn patches_of_a_junit_4_project_are_told_apart() {
    let Some(bench) = Bench::junit_4() else { return };
    let before = bench.tree();
    let mut validator = bench.ready("demo.CalcTest#adds");

    let right = check(&mut validator, BUGGY, FIXED);
    assert_eq!(right.outcome, Outcome::Plausible, "{right:?}");
    let stages: Vec<(Stage, usize)> = right.stages.iter().map(|s| (s.stage, s.tests_run)).collect();
    assert_eq!(stages, [(Stage::Compile, 0), (Stage::Trigger, 2), (Stage::Full, 4)]);

    let wrong = check(&mut validator, BUGGY, "return a * b;");
    assert_eq!(wrong.outcome, Outcome::Failed { stage: Stage::Trigger });
    assert_eq!(failed_tests(&wrong), ["demo.CalcTest#adds", "demo.CalcTest#addsNothing"]);

    let no_java = check(&mut validator, BUGGY, "return a + ;");
    assert_eq!(no_java.outcome, Outcome::Uncompilable);
    let errors = &no_java.stages[0].output_tail;
    assert!(errors.starts_with("src/main/java/demo/Calc.java:5: error: "), "{errors}");

    let breaks = check(&mut validator, "return a + STEP;", "return a;");
    assert_eq!(breaks.outcome, Outcome::Failed { stage: Stage::Trigger }, "the bug is still there");
    let breaks = check(
        &mut validator,
        &CALC[CALC.find(BUGGY).unwrap()..],
        "return a + b; }\n\
        public int next(int a) { return a; } }\n",
    );
    assert_eq!(breaks.outcome, Outcome::Failed { stage: Stage::Full });
    assert_eq!(failed_tests(&breaks), ["demo.UserTest#goesOn"]);

    let by: Vec<By> = wrong.stages.iter().map(|stage| stage.by).collect();
    assert_eq!(by, [By::Fresh, By::Worker], "the compiler's own processes, the worker's tests");
    let again = check(&mut validator, BUGGY, "return b + a;");
    assert_eq!(again.outcome, Outcome::Plausible, "what came before leaves no trace");
    assert_eq!(bench.tree(), before, "the user's tree is as it was");
}

#[test]
fn what_has_the_class_files_of_another_is_not_run_again() {
    let Some(bench) = Bench::junit_4() else { return };
    let mut validator = bench.ready("demo.CalcTest#adds");
    let buggy = check(&mut validator, BUGGY, "return (a) - b; // as it was");
    assert!(buggy.repeated && buggy.outcome == Outcome::Failed { stage: Stage::Trigger }, "{buggy:?}");
    assert_eq!(failed_tests(&buggy), ["demo.CalcTest#adds"]);
    let first = check(&mut validator, BUGGY, FIXED);
    let second = check(&mut validator, BUGGY, "return (a + b);");
    assert!(!first.repeated && second.repeated);
    assert_eq!((second.outcome, &second.stages), (first.outcome, &first.stages));
}

#[test]
fn validators_side_by_side_judge_alike() {
    let Some(bench) = Bench::junit_4() else { return };
    let first = bench.ready("demo.CalcTest#adds");
    let mut lanes = [first.beside().unwrap(), first.beside().unwrap(), first];
    let fills: Vec<String> =
        (0..12)
            .map(|i| {
                if i % 3 == 0 { format!("return a + b + {i} - {i};") } else { format!("return a * b - {i};") }
            })
            .collect();
    let verdicts: Vec<Outcome> = std::thread::scope(|scope| {
        let chunks = lanes.iter_mut().zip(fills.chunks(4));
        let tasks: Vec<_> = chunks
            .map(|(lane, fills)| {
                scope.spawn(move || {
                    fills.iter().map(|fill| check(lane, BUGGY, fill).outcome).collect::<Vec<_>>()
                })
            })
            .collect();
        tasks.into_iter().flat_map(|task| task.join().unwrap()).collect()
    });
    for (fill, outcome) in fills.iter().zip(verdicts) {
        let right =
            if fill.contains('+') { Outcome::Plausible } else { Outcome::Failed { stage: Stage::Trigger } };
        assert_eq!(outcome, right, "{fill}");
    }
}

#[test]
fn what_other_classes_see_is_compiled_with_them() {
    let Some(bench) = Bench::junit_4() else { return };
    let mut validator = bench.ready("demo.CalcTest#adds");
    let whole_program = bench.dir.path().join("scratch/lane-0/candidate/main");
    let body = check(&mut validator, BUGGY, "return new Object() { int f() { return a * b; } }.f();");
    assert_eq!(body.outcome, Outcome::Failed { stage: Stage::Trigger });
    assert!(!whole_program.exists(), "nobody sees a body, so the file is compiled alone");

    let signature = check(&mut validator, "public int next(int a)", "int last(int a)");
    assert_eq!(signature.outcome, Outcome::Uncompilable);
    assert!(signature.stages[0].output_tail.contains("User.java:4: error: "), "{signature:?}");

    let exception = check(
        &mut validator,
        "add(int a, int b) {\n        return a - b;",
        "add(int a, int b) throws Exception {\n        return a + b;",
    );
    assert_eq!(exception.outcome, Outcome::Uncompilable, "only javac's own attribute tells: {exception:?}");
    assert_eq!(exception.stages.last().unwrap().stage, Stage::Full);
}

#[test]
fn a_changed_constant_reaches_the_classes_that_hold_a_copy_of_it() {
    let test = TEST_4.replace(
        "addsNothing() { assertEquals(2, new Calc().add(2, 0)); }",
        "steps() { assertEquals(2, User.step()); }",
    );
    let Some(bench) = Bench::new(&[
        ("src/main/java/demo/Calc.java", CALC.as_bytes()),
        ("src/main/java/demo/User.java", USER.as_bytes()),
        ("src/test/java/demo/CalcTest.java", test.as_bytes()),
    ]) else {
        return;
    };
    let mut validator = bench.ready("demo.CalcTest#steps");
    let verdict = check(&mut validator, "STEP = 1", "STEP = 2");
    assert_eq!(verdict.outcome, Outcome::Plausible, "{verdict:?}");
}

#[test]
fn patches_that_do_not_come_back_fail() {
    let Some(bench) = Bench::junit_4() else { return };
    let mut validator = bench.ready("demo.CalcTest#adds");

    let exits = check(&mut validator, BUGGY, "System.exit(0); return a + b;");
    assert_eq!(exits.outcome, Outcome::Failed { stage: Stage::Trigger });
    let last = exits.stages.last().unwrap();
    assert!(!last.passed && last.end == StageEnd::Exit(0), "{last:?}");

    let loops = "while (true) { if (a == 7) break; } return a + b;";
    let marker = format!("repair-marker-{}", std::process::id());
    let endless = check(&mut validator, BUGGY, &format!("String m = \"{marker}\"; {loops}"));
    assert_eq!(endless.outcome, Outcome::Failed { stage: Stage::Trigger });
    assert_eq!(endless.stages.last().unwrap().end, StageEnd::Deadline);
    assert!(failed_tests(&endless)[0].starts_with("demo.CalcTest#adds"), "{endless:?}");
    assert_eq!(jvms_with(bench.dir.path()), Vec::<String>::new(), "nothing is left running");

    let noisy = check(
        &mut validator,
        BUGGY,
        "for (int i = 0; i < 300000; i++) System.out.println(\"{\\\"done\\\":99}\" + i); return a + b;",
    );
    assert_eq!(noisy.outcome, Outcome::Plausible, "{:?}", noisy.stages.last());
    assert!(noisy.stages[1].output_tail.len() <= 4096 && noisy.stages[1].output_tail.contains("299999"));

    let threads = "Thread t = new Thread(() -> { while (true) { } }); t.start(); return a + b;";
    assert_eq!(check(&mut validator, BUGGY, threads).outcome, Outcome::Plausible);
    drop(validator);
    assert_eq!(processes_with(bench.dir.path()), Vec::<String>::new(), "nothing is left running");
}

#[test]
fn without_bubblewrap_the_limits_hold() {
    let Some(bench) = Bench::junit_4() else { return };
    let settings = ValidateSettings { sandbox: Sandbox::Limits, ..bench.settings() };
    let mut validator = Validator::new(&bench.project, settings, Interrupt::default());
    validator.baseline(&["demo.CalcTest#adds".parse().unwrap()]).unwrap();
    assert_eq!(check(&mut validator, BUGGY, FIXED).outcome, Outcome::Plausible);
    let sleeper = "try { new ProcessBuilder(\"sleep\", \"600\").start(); Thread.sleep(600000); } \
        catch (Exception e) { } return a + b;";
    let sleeps = check(&mut validator, BUGGY, sleeper);
    assert_eq!(sleeps.stages.last().unwrap().end, StageEnd::Deadline);
    let left = std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let work = bench.dir.path().join("scratch/lane-0/work/tree");
        std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&work))
    });
    assert_eq!(left.count(), 0, "nothing is left running there");
}

#[test]
fn a_plain_tree_with_tests_beside_the_sources_its_own_jars_and_resources_is_judged() {
    let Some(parts) = parts() else { return };
    let test = TEST_4.replace(
        "addsNothing() { assertEquals(2, new Calc().add(2, 0)); }",
        "reads() throws Exception { assertEquals('x', CalcTest.class.getResourceAsStream(\"x.txt\").read()); \
         assertEquals('x', new java.io.FileInputStream(\"src/demo/x.txt\").read()); }",
    );
    let jars: Vec<Vec<u8>> = parts.junit.iter().map(|jar| std::fs::read(jar).unwrap()).collect();
    let Some(bench) = Bench::new(&[
        ("src/demo/Calc.java", CALC.as_bytes()),
        ("src/demo/CalcTest.java", test.as_bytes()),
        ("src/demo/x.txt", b"x"),
        ("lib/hamcrest.jar", &jars[2]),
        ("lib/junit.jar", &jars[1]),
    ]) else {
        return;
    };
    let root = &bench.project.root;
    assert_eq!(bench.project.class_path, [root.join("lib/hamcrest.jar"), root.join("lib/junit.jar")]);
    assert_eq!((&bench.project.sources, bench.project.tests.len()), (&vec![root.join("src")], 0));
    let mut validator = bench.ready("demo.CalcTest#adds");
    let fixed = CALC.replace(BUGGY, FIXED).into_bytes();
    let candidate = Candidate { file: "src/demo/Calc.java".into(), text: fixed };
    let verdict = validator.validate(&candidate).unwrap();
    assert_eq!((verdict.outcome, verdict.stages[2].tests_run), (Outcome::Plausible, 2), "{verdict:?}");
}

/// Command lines of running processes that name `dir`, but for those that stay up between candidates.
fn jvms_with(dir: &Path) -> Vec<String> {
    processes_with(dir).into_iter().filter(|line| !line.contains("repair.runner.TestServer")).collect()
}

/// Command lines of running processes that name `dir`.
fn processes_with(dir: &Path) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(&*dir.to_string_lossy())).collect()
}

#[test]
fn a_junit_5_project_with_parameters_and_nested_classes_is_judged() {
    let Some(bench) = Bench::new(&[
        ("src/main/java/demo/Calc.java", CALC.as_bytes()),
        ("src/main/java/demo/User.java", USER.as_bytes()),
        ("src/test/java/demo/CalcTest.java", TEST_5.as_bytes()),
    ]) else {
        return;
    };
    let mut validator = bench.validator();
    let trigger: TestId = "demo.CalcTest#adds".parse().unwrap();
    let baseline = validator.baseline(&[trigger]).unwrap();
    let failing: Vec<String> = baseline.triggers.iter().map(|failure| failure.test.to_string()).collect();
    assert_eq!(failing, ["demo.CalcTest#adds[1]"]);
    assert_eq!(check(&mut validator, BUGGY, FIXED).outcome, Outcome::Plausible);
    let wrong = check(&mut validator, BUGGY, "return b == 3 ? 5 : 0;");
    assert_eq!(wrong.outcome, Outcome::Failed { stage: Stage::Trigger }, "the other invocation is held too");
    assert_eq!(failed_tests(&wrong), ["demo.CalcTest#adds[2]"]);
}

#[test]
fn a_bug_that_hangs_or_exits_can_be_repaired() {
    for bad in ["while (a != 77) { } return a + b;", "System.exit(3); return a + b;"] {
        let text = CALC.replace(BUGGY, bad);
        let Some(bench) = Bench::new(&[
            ("src/main/java/demo/Calc.java", text.as_bytes()),
            ("src/main/java/demo/User.java", USER.as_bytes()),
            ("src/test/java/demo/CalcTest.java", TEST_4.as_bytes()),
            ("src/test/java/demo/UserTest.java", OTHER_TEST_4.as_bytes()),
        ]) else {
            return;
        };
        let mut validator = bench.validator();
        let baseline = validator.baseline(&["demo.CalcTest".parse().unwrap()]).unwrap();
        assert_eq!(baseline.excluded, ["demo.CalcTest"]);
        let verdict = check(&mut validator, BUGGY, FIXED);
        assert_eq!(verdict.outcome, Outcome::Plausible, "{verdict:?}");
        assert_eq!(verdict.stages[2].tests_run, 4, "the class left out before is back");
    }
}

#[test]
fn a_trigger_must_exist_and_fail() {
    let Some(bench) = Bench::junit_4() else { return };
    let cases = [
        (
            "demo.CalcTest#addsNothing",
            "`demo.CalcTest#addsNothing` passes already: there is nothing to repair",
        ),
        ("demo.CalcTest#add", "`demo.CalcTest` has no test `add`; is it `adds`?"),
        ("CalcTest#adds", "there is no test class `CalcTest`; is it `demo.CalcTest`?"),
        ("demo.CalTest#adds", "there is no test class `demo.CalTest`; is it `demo.CalcTest`?"),
        (
            "demo.UserTest#isDisabled",
            "`demo.UserTest#isDisabled` is skipped: it cannot show whether a patch works",
        ),
    ];
    for (trigger, message) in cases {
        assert_eq!(bench.refusal(trigger).to_string(), message);
    }
}

#[test]
fn a_project_that_does_not_compile_is_refused_with_the_first_errors() {
    let Some(bench) = Bench::new(&[
        ("src/main/java/demo/Calc.java", CALC.replace("return a - b;", "retrun a - b;").as_bytes()),
        ("src/test/java/demo/CalcTest.java", TEST_4.as_bytes()),
    ]) else {
        return;
    };
    let error = bench.refusal("demo.CalcTest#adds");
    assert!(
        matches!(&error, ValidateError::DoesNotCompile { errors }
        if errors.starts_with("src/main/java/demo/Calc.java:5: error: ")),
        "{error}"
    );
}

#[test]
fn bytes_of_old_charsets_and_line_ends_reach_the_compiler_as_they_are() {
    let crlf = CALC.replace("return a - b;", "return \"\u{e4}\".length() + a - b;").replace('\n', "\r\n");
    let latin1 = |text: &str| text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect::<Vec<u8>>();
    let Some(bench) = Bench::new(&[
        ("src/main/java/demo/Calc.java", &latin1(&crlf)),
        ("src/main/java/demo/User.java", USER.as_bytes()),
        ("src/test/java/demo/CalcTest.java", TEST_4.as_bytes()),
    ]) else {
        return;
    };
    assert_eq!(bench.project.encoding, "ISO-8859-1");
    let mut validator = bench.ready("demo.CalcTest#adds");
    let file = PathBuf::from("src/main/java/demo/Calc.java");
    let fixed = crlf.replace(".length() + a - b", ".length() - 1 + a + b");
    let text = latin1(&fixed);
    let verdict = validator.validate(&Candidate { file: file.clone(), text: text.clone() }).unwrap();
    assert_eq!(verdict.outcome, Outcome::Plausible, "{verdict:?}");
    let copy = bench.dir.path().join("scratch/lane-0/work/tree").join(file);
    assert_eq!(std::fs::read(copy).unwrap(), text, "the copy holds the very bytes");
}

#[test]
fn patched_code_cannot_touch_the_users_tree() {
    let Some(bench) = Bench::junit_4() else { return };
    if bench.settings().sandbox == Sandbox::Limits {
        eprintln!("skipped: bubblewrap does not work here");
        return;
    }
    let before = bench.tree();
    let mut validator = bench.ready("demo.CalcTest#adds");
    let root = bench.project.root.display();
    let writes = format!(
        "try {{ new java.io.FileOutputStream(\"{root}/hello\").close(); }} \
         catch (java.io.IOException e) {{ return a + b; }} return 0;"
    );
    assert_eq!(check(&mut validator, BUGGY, &writes).outcome, Outcome::Plausible, "the write was refused");
    assert_eq!(bench.tree(), before);
}

#[test]
fn a_file_outside_the_main_sources_is_no_candidate() {
    let Some(bench) = Bench::junit_4() else { return };
    let mut validator = bench.validator();
    let file = PathBuf::from("src/main/java/demo/Calc.java");
    let unready = validator.validate(&Candidate { file, text: Vec::new() });
    assert!(matches!(unready, Err(ValidateError::NoBaseline)));
    validator.baseline(&["demo.CalcTest#adds".parse().unwrap()]).unwrap();
    for file in ["src/test/java/demo/CalcTest.java", "src/main/java/../../../x.java", "src/main/java/No.java"]
    {
        let error = validator.validate(&Candidate { file: file.into(), text: Vec::new() }).unwrap_err();
        assert!(matches!(error, ValidateError::OutsideSources(_)), "{error}");
    }
}

#[test]
fn an_interrupt_ends_a_baseline() {
    let Some(bench) = Bench::junit_4() else { return };
    let interrupt = Interrupt::default();
    interrupt.set();
    let mut validator = Validator::new(&bench.project, bench.settings(), interrupt);
    let error = validator.baseline(&["demo.CalcTest#adds".parse().unwrap()]).unwrap_err();
    assert!(matches!(error, ValidateError::Interrupted));
}

const POM: &str = "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\
    <groupId>demo</groupId><artifactId>demo</artifactId><version>1</version><properties>\
    <maven.compiler.source>1.8</maven.compiler.source><maven.compiler.target>1.8</maven.compiler.target>\
    <project.build.sourceEncoding>ISO-8859-1</project.build.sourceEncoding></properties><dependencies>\
    <dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version>\
    <scope>test</scope></dependency></dependencies></project>";

#[test]
fn a_maven_project_is_described_by_maven() {
    let Some(parts) = parts() else { return };
    if parts.mvn.is_none() {
        eprintln!("skipped: no Maven found");
        return;
    }
    let files = [
        ("pom.xml", POM),
        ("src/main/java/demo/Calc.java", CALC),
        ("src/main/java/demo/User.java", USER),
        ("src/main/resources/x.properties", "a=b\n"),
        ("src/test/java/demo/CalcTest.java", TEST_4),
    ];
    let Some(bench) = Bench::new(&files.map(|(path, text)| (path, text.as_bytes()))) else { return };
    let before = bench.tree();
    let project = &bench.project;
    assert_eq!(
        (project.build_tool, project.level, project.encoding.as_str()),
        (BuildTool::Maven, 8, "ISO-8859-1")
    );
    let jars =
        project.class_path.iter().map(|jar| jar.file_name().unwrap().to_string_lossy()).collect::<Vec<_>>();
    assert_eq!(jars, ["junit-4.13.2.jar", "hamcrest-core-1.3.jar"]);
    assert_eq!(project.resources, [project.root.join("src/main/resources")]);
    let file = Path::new("src/test/java/demo/CalcTest.java");
    assert_eq!(build::locate(project, file), Some(project.tests[0].as_path()));
    let mut validator = bench.ready("demo.CalcTest#adds");
    assert_eq!(check(&mut validator, BUGGY, FIXED).outcome, Outcome::Plausible);
    assert_eq!(bench.tree(), before, "no target directory, nothing else");
}

#[test]
fn maven_that_fails_is_quoted_and_maven_that_is_absent_is_named() {
    let Some(mut parts) = parts() else { return };
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("tree/src/main/java")).unwrap();
    std::fs::write(dir.path().join("tree/pom.xml"), "<project><modelVersion>4.0.0</modelVersion></project>")
        .unwrap();
    if parts.mvn.is_some() {
        let error = inspect(&dir, &parts).unwrap_err().to_string();
        assert!(
            error.contains("exited with status 1") && error.contains("'artifactId' is missing"),
            "{error}"
        );
    }
    parts.mvn = None;
    let error = inspect(&dir, &parts).unwrap_err();
    assert!(error.to_string().ends_with("install it or use `--build plain --classpath JARS`"), "{error}");
}
