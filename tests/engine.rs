//! The completion engine on a real language server: one server for all tests of this file, but for those about starting
//! and dying. They skip themselves, and say so, where the server, the bundle or a Java runtime is absent.

#[path = "engine/parts.rs"]
mod parts;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use repair::engine::{
    Answer, Check, CompletionEngine, EngineError, HolePlace, JdtEngine, Scope, ServerSettings, Unknown,
};
use repair::java::project::{BuildTool, Jdk, Project};
use repair::process::{Interrupt, Spec, run};

use parts::{Parts, javas, parts};

const ITEM: &str = include_str!("engine/shop/Item.java");
/// `<hole>` is where the holes of most tests are.
const BASKET: &str = include_str!("engine/shop/Basket.java");
const RATES: &str = include_str!("engine/shop/Rates.java");
/// It has two errors of its own, on lines that read alike.
const BROKEN: &str = include_str!("engine/shop/Broken.java");
/// Natural code with what is hard on a completion engine. Each line between the two marks is a hole in turn.
const GALLERY: &str = include_str!("engine/shop/Gallery.java");

/// A directory of this test binary, made afresh.
fn fresh_dir(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("engine").join(name);
    if dir.exists() {
        std::fs::remove_dir_all(&dir).unwrap();
    }
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn write_project(root: &Path) {
    let package = root.join("src/shop");
    std::fs::create_dir_all(&package).unwrap();
    for (name, text) in
        [("Item", ITEM), ("Basket", BASKET), ("Rates", RATES), ("Broken", BROKEN), ("Gallery", GALLERY)]
    {
        let (prefix, original, suffix) = cut(text);
        std::fs::write(package.join(format!("{name}.java")), format!("{prefix}{original}{suffix}")).unwrap();
    }
}

fn cut(fixture: &str) -> (&str, &str, &str) {
    let Some((prefix, rest)) = fixture.split_once("<hole>") else { return (fixture, "", "") };
    let (original, suffix) = rest.split_once("</hole>").unwrap();
    (prefix, original, suffix)
}

fn project(root: &Path, jdk: Jdk) -> Project {
    Project {
        root: root.to_owned(),
        build_tool: BuildTool::Plain,
        sources: vec![root.join("src")],
        tests: Vec::new(),
        resources: Vec::new(),
        class_path: Vec::new(),
        level: 17,
        encoding: "UTF-8".to_owned(),
        excluded: Vec::new(),
        jdk,
    }
}

fn settings(parts: &Parts, state_dir: PathBuf) -> ServerSettings {
    ServerSettings {
        java: parts.java.clone(),
        jdtls_home: parts.jdtls.clone(),
        bundle: parts.bundle.clone(),
        state_dir,
        start_deadline: Duration::from_secs(180),
        request_deadline: Duration::from_secs(60),
        heap_mb: 1024,
    }
}

/// The engine that most tests share, and the root of its project.
fn shared() -> Option<MutexGuard<'static, (JdtEngine, PathBuf)>> {
    static SHARED: OnceLock<Option<Mutex<(JdtEngine, PathBuf)>>> = OnceLock::new();
    let engine = SHARED.get_or_init(|| {
        let parts = parts()?;
        let root = fresh_dir("project");
        write_project(&root);
        let settings = settings(&parts, fresh_dir("state"));
        let engine = JdtEngine::start(settings, &project(&root, parts.jdk)).expect("the engine starts");
        Some(Mutex::new((engine, root)))
    });
    engine.as_ref().map(|engine| engine.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// Runs `body` with the hole of `class`'s fixture open.
fn with_hole<R>(class: &str, fixture: &str, body: impl FnOnce(&mut JdtEngine) -> R) -> Option<R> {
    let mut guard = shared()?;
    let (engine, root) = &mut *guard;
    let (prefix, original, suffix) = cut(fixture);
    engine.open(&root.join(format!("src/shop/{class}.java")), prefix, original, suffix).unwrap();
    Some(body(engine))
}

fn names(answer: Answer) -> Vec<String> {
    match answer {
        Answer::List(names) => names,
        Answer::Unknown(unknown) => panic!("no list: {unknown:?}"),
    }
}

/// What is listed after `hole` in the basket's method must hold all of `there` and none of `absent`.
fn check(hole: &str, scope: Scope, there: &[&str], absent: &[&str]) {
    with_hole("Basket", BASKET, |engine| {
        let names = names(engine.complete(hole, scope));
        let has = |name: &&&str| names.iter().any(|listed| listed == **name);
        assert_eq!(there.iter().find(|name| !has(name)), None, "missing after `{hole}` in {names:?}");
        assert_eq!(absent.iter().find(has), None, "wrongly after `{hole}` in {names:?}");
    });
}

fn check_unknown(hole: &str, scope: Scope) {
    with_hole("Basket", BASKET, |engine| {
        let answer = engine.complete(hole, scope);
        assert!(matches!(answer, Answer::Unknown(_)), "`{hole}` is not known, yet: {answer:?}");
    });
}

/// Ids and places of the new errors with `hole` filled in.
fn problems(engine: &mut JdtEngine, hole: &str, recover: bool) -> Vec<(u32, Option<String>)> {
    match engine.check(hole, recover) {
        Check::Problems(problems) => problems
            .into_iter()
            .map(|problem| (problem.id, problem.in_hole.map(|range| hole[range].to_owned())))
            .collect(),
        Check::Unknown(unknown) => panic!("not compiled: {unknown:?}"),
    }
}

#[test]
fn members_of_a_generic_receiver_are_those_of_its_argument() {
    check("items.get(0).", Scope::Members, &["label", "price", "hashCode"], &["secret", "size"]);
    check("items.", Scope::Members, &["add", "get", "stream", "getClass"], &["label", "totalCount"]);
    check("items.stream().map(i -> i.label).findFirst().get().", Scope::Members, &["trim"], &["label"]);
    check("items.forEach(i -> { i.", Scope::Members, &["price"], &["secret", "trim"]);
}

#[test]
fn members_are_listed_in_the_middle_of_unfinished_text() {
    check("if (first.", Scope::Members, &["label"], &["secret"]);
    check("if (total > 0) { int x = first.", Scope::Members, &["price"], &["secret"]);
    check("each(() -> first.", Scope::Members, &["price"], &["secret"]);
    check("weights.", Scope::Members, &["length", "clone"], &["size"]);
    check("Item.", Scope::Members, &["LIMIT", "Tag", "Kind"], &["label", "price"]);
    check("java.util.", Scope::Members, &["List", "concurrent"], &["label"]);
    check("each(this::", Scope::Members, &["later", "each"], &["price"]);
}

#[test]
fn a_primitive_has_no_members() {
    with_hole("Basket", BASKET, |engine| {
        assert_eq!(engine.complete("total.", Scope::Members), Answer::List(Vec::new()));
    });
}

#[test]
fn names_are_what_is_in_scope_at_the_hole() {
    check("t", Scope::Names, &["total", "tally", "totalCount", "taxed"], &["throwaway", "turn", "trim"]);
    check("return l", Scope::Names, &["later"], &["label"]);
    check("return T", Scope::Names, &["TARIFF"], &[]);
    check("int extra = 1; return e", Scope::Names, &["extra", "each", "equals"], &["engine"]);
    check("s", Scope::Names, &["sum"], &["secret"]);
    check("int y = w", Scope::Names, &["weights", "wait"], &["what"]);
    check("outer: for (;;) { break o", Scope::Names, &["outer"], &["other"]);
}

#[test]
fn types_are_those_that_need_no_import() {
    check("I", Scope::Types, &["Item", "Inner", "Integer", "Iterable"], &["Iterator", "IOException"]);
    check("E", Scope::Types, &["Entry", "Exception"], &["EventListener"]);
    check("return new A", Scope::Types, &["ArrayList"], &["AbstractList"]);
    check("j", Scope::Types, &["java"], &["util"]);
    check("List<S", Scope::Types, &["String"], &["Set"]);
}

#[test]
fn a_position_that_is_not_certain_is_unknown() {
    // A name that is being declared.
    check_unknown("String n", Scope::Names);
    check_unknown("List<String> n", Scope::Names);
    check_unknown("for (Item n", Scope::Names);
    // The parameter of a lambda.
    check_unknown("each(n", Scope::Names);
    check_unknown("Runnable r = n", Scope::Names);
    check_unknown("items.forEach((n", Scope::Names);
    check_unknown("java.util.Optional.of(n", Scope::Names);
    // Inside a literal or a comment.
    check_unknown("String s = \"n", Scope::Names);
    check_unknown("// n", Scope::Names);
    check_unknown("/* first.", Scope::Members);
    // A receiver that does not resolve, or resolves by guessing.
    check_unknown("nothing.", Scope::Members);
    check_unknown("first.price(3).", Scope::Members);
    // A class that the hole itself opens may declare anything further down.
    check_unknown("new Object() { int f() { return n", Scope::Names);
    check_unknown("} void more() { n", Scope::Names);
}

#[test]
fn no_class_is_ruled_out_after_new() {
    check("new Item.", Scope::Members, &["Tag"], &["label"]);
    check("Object made = new I", Scope::Types, &["Item", "Inner"], &["Iterator"]);
    check("throw new B", Scope::Types, &["Basket"], &["BufferedReader"]);
    check_unknown("this.new I", Scope::Types);
}

/// Identifiers of a line of code, with their offsets; literals are left out.
fn words(line: &str) -> Vec<(usize, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = Vec::new();
    for (start, _) in line.match_indices(|c: char| c.is_alphabetic()) {
        let in_word = line[..start].ends_with(is_part);
        let in_literal = line[..start].matches(['"', '\'']).count() % 2 == 1;
        if !in_word && !in_literal {
            let rest = &line[start..];
            words.push((start, &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())]));
        }
    }
    words
}

const KEYWORDS: &str = " int for if continue switch case break default instanceof return throw new try catch finally \
    synchronized public class this while do null boolean char assert yield super true false ";

/// Whether the word at `start` of `line`, being the hole, is ruled out; `None` where nothing is known.
fn ruled_out(engine: &mut JdtEngine, line: &str, start: usize, word: &str) -> Option<bool> {
    let before = &line[..start];
    let mut lists = |hole: &str, scopes: &[Scope]| {
        scopes.iter().try_fold(false, |found, scope| match engine.complete(hole, *scope) {
            Answer::List(names) => Some(found || names.iter().any(|name| name == word)),
            Answer::Unknown(_) => None,
        })
    };
    let found = if before.ends_with(['.', ':']) && !before.ends_with(" :") && !before.ends_with("...") {
        lists(before, &[Scope::Members])
    } else {
        lists(&line[..=start], &[Scope::Names, Scope::Types])
    };
    found.map(|found| !found)
}

#[test]
fn code_that_compiles_is_never_ruled_out() {
    let (head, rest) = GALLERY.split_once("        // begin\n").unwrap();
    let (body, tail) = rest.split_once("        // end\n").unwrap();
    let (mut prefix, mut known, mut unknown) = (head.to_owned(), 0, 0);
    for line in body.split_inclusive('\n') {
        let suffix = format!("{}{tail}", &body[prefix.len() - head.len() + line.len()..]);
        let fixture = format!("{prefix}<hole>{line}</hole>{suffix}");
        with_hole("Gallery", &fixture, |engine| {
            assert_eq!(problems(engine, line, false), [], "{line}");
            for (start, word) in words(line) {
                // A label that the hole declares is the one thing that is not foreseen.
                if KEYWORDS.contains(&format!(" {word} "))
                    || line.trim_start().starts_with(&format!("{word}: "))
                {
                    continue;
                }
                match ruled_out(engine, line, start, word) {
                    Some(out) => {
                        assert!(!out, "`{word}` ruled out after `{}`", &line[..start]);
                        known += 1;
                    }
                    None => unknown += 1,
                }
            }
        });
        prefix += line;
    }
    eprintln!("{known} known, {unknown} unknown");
    assert!(known >= unknown, "{known} known, {unknown} unknown: too little is known to be of use");
}

#[test]
fn a_hole_in_a_method_body_is_told_from_one_between_members() {
    let between = "package shop;\nclass Basket { <hole></hole>\n int x = 1; Runnable r = () -> { x++; }; }\n";
    let in_initialiser = "package shop;\nclass Basket { static { <hole></hole> } }\n";
    let in_anonymous =
        "package shop;\nclass Basket { Object o = new Object() { int f() { return <hole>1</hole>; } }; }\n";
    let in_local_class = "package shop;\nclass Basket { void f() { class L { <hole></hole> } } }\n";
    let in_lambda = "package shop;\nclass Basket { Runnable r = () -> { <hole></hole> }; }\n";
    for (fixture, place) in [
        (BASKET, HolePlace::Body),
        (in_initialiser, HolePlace::Body),
        (in_anonymous, HolePlace::Body),
        (between, HolePlace::Other),
        (in_local_class, HolePlace::Other),
        (in_lambda, HolePlace::Other),
    ] {
        with_hole("Basket", fixture, |engine| assert_eq!(engine.place(), place, "{fixture}"));
    }
}

#[test]
fn the_original_text_compiles_and_an_undefined_method_does_not() {
    with_hole("Basket", BASKET, |engine| {
        assert_eq!(problems(engine, "return total;", false), []);
        assert_eq!(problems(engine, "return nothing();", false), [(100, Some("nothing".to_owned()))]);
        let unfinished = problems(engine, "if (total > 0) { nothing();", true);
        assert!(unfinished.contains(&(100, Some("nothing".to_owned()))), "{unfinished:?}");
    });
}

#[test]
fn positions_are_bytes_of_the_hole_after_astral_characters() {
    with_hole("Basket", BASKET, |engine| {
        let hole = "String 𝒳é = \"𝒳\"; nothing(); return 1;";
        assert_eq!(problems(engine, hole, false), [(100, Some("nothing".to_owned()))]);
    });
}

#[test]
fn errors_that_the_buggy_file_has_anyway_are_not_reported() {
    with_hole("Broken", BROKEN, |engine| {
        assert_eq!(problems(engine, "int more = 1;\n        return given + more;", false), []);
        assert_eq!(problems(engine, "return missing();", false), [(100, Some("missing".to_owned()))]);
    });
}

/// Messages of the new errors in other files.
fn elsewhere(engine: &mut JdtEngine, hole: &str) -> Vec<(String, String)> {
    let Check::Problems(found) = engine.check(hole, false) else { panic!("no answer for `{hole}`") };
    found.into_iter().map(|problem| (problem.file.unwrap_or_default(), problem.message)).collect()
}

#[test]
fn what_a_change_breaks_in_other_files_is_found() {
    let field = ITEM.replace("public final String label;", "<hole>public final String label;</hole>");
    with_hole("Item", &field, |engine| {
        assert_eq!(elsewhere(engine, "public final String label; int more;"), []);
        let broken = elsewhere(engine, "public final CharSequence label;");
        assert!(
            !broken.is_empty() && broken.iter().all(|(file, _)| file.ends_with("/Gallery.java")),
            "{broken:?}"
        );
    });
    let constant =
        ITEM.replace("public static final int LIMIT = 3;", "<hole>public static final int LIMIT = 3;</hole>");
    with_hole("Item", &constant, |engine| {
        assert_eq!(elsewhere(engine, "public static final short LIMIT = 3;"), []);
        assert_eq!(
            elsewhere(engine, "static final int BOUND = 3;"),
            [(
                "/repair/source0/shop/Gallery.java".to_owned(),
                "LIMIT cannot be resolved or is not a field".to_owned()
            )]
        );
        assert_eq!(elsewhere(engine, "public static final String LIMIT = \"\";").len(), 1);
    });
    // A body that is closed and opened again as another method's.
    let body = ITEM.replace("return secret;", "<hole>return secret;</hole>");
    with_hole("Item", &body, |engine| {
        assert_eq!(elsewhere(engine, "return secret; } public int cost() { return 1;"), []);
    });
}

#[test]
fn class_files_are_written_only_for_what_compiles() {
    let out = fresh_dir("classes");
    with_hole("Basket", BASKET, |engine| {
        assert!(
            matches!(engine.compile("return nothing();", &out), Check::Problems(found) if found.len() == 1)
        );
        assert!(!out.join("shop").exists());
        assert_eq!(engine.compile("return total + 1;", &out), Check::Problems(Vec::new()));
        assert!(out.join("shop/Basket.class").is_file() && out.join("shop/Basket$Inner.class").is_file());
    });
}

#[test]
fn a_file_outside_the_source_roots_is_refused() {
    let Some(mut guard) = shared() else { return };
    let elsewhere = guard.1.join("Elsewhere.java");
    let error = guard.0.open(&elsewhere, "class Elsewhere {", "", "}").unwrap_err();
    assert!(matches!(error, EngineError::OutsideSources { file } if file == elsewhere));
    assert!(matches!(guard.0.complete("x", Scope::Names), Answer::Unknown(Unknown::Failed(_))));
}

#[test]
fn a_killed_server_is_replaced_and_answers_the_same() {
    let ask = |engine: &mut JdtEngine| {
        (
            engine.complete("first.", Scope::Members),
            engine.complete("t", Scope::Names),
            engine.check("x();", false),
        )
    };
    with_hole("Basket", BASKET, |engine| {
        let (undisturbed, before, pid) = (ask(engine), engine.counters().restarts, engine.server_pid());
        assert!(matches!(undisturbed.0, Answer::List(_)), "{undisturbed:?}");
        let kill = Spec::new("/bin/kill", "/", Duration::from_secs(10)).args(["-9", &pid.to_string()]);
        assert!(run(&kill, &Interrupt::default()).unwrap().success());
        assert_eq!(ask(engine), undisturbed);
        assert_eq!(engine.counters().restarts, before + 1);
        assert_ne!(engine.server_pid(), pid);
    });
}

#[test]
fn an_older_java_for_the_server_is_named_as_such() {
    let Some(parts) = parts() else { return };
    let Some(old) = javas().into_iter().find(|java| java.feature < 21) else {
        eprintln!("skipped: no Java older than 21 here");
        return;
    };
    let java = old.home.join("bin/java");
    let settings = ServerSettings { java: java.clone(), ..settings(&parts, fresh_dir("state-old")) };
    let error = JdtEngine::start(settings, &project(Path::new("/"), parts.jdk)).unwrap_err();
    let expected =
        format!("`{}` is Java {}, the language server needs 21 or newer", java.display(), old.feature);
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_start_that_takes_too_long_is_an_error() {
    let Some(parts) = parts() else { return };
    let start_deadline = Duration::from_millis(1);
    let settings = ServerSettings { start_deadline, ..settings(&parts, fresh_dir("state-late")) };
    let error = JdtEngine::start(settings, &project(Path::new("/"), parts.jdk)).unwrap_err();
    assert_eq!(error.to_string(), "the language server was not ready within 1ms");
}

/// Settings for a server that is a shell script: it passes for Java 25 and then does what `script` says.
fn scripted(name: &str, script: &str) -> ServerSettings {
    use std::os::unix::fs::PermissionsExt;
    let home = fresh_dir(name);
    for file in ["plugins/org.eclipse.equinox.launcher_1.jar", "configuration/config.ini", "bundle.jar"] {
        std::fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
        std::fs::write(home.join(file), "").unwrap();
    }
    let java = home.join("java");
    let probe =
        r#"[ "$1" = -XshowSettings:properties ] && { echo "java.specification.version = 25" >&2; exit; }"#;
    std::fs::write(&java, format!("#!/bin/sh\n{probe}\n{script}\n")).unwrap();
    std::fs::set_permissions(&java, PermissionsExt::from_mode(0o755)).unwrap();
    ServerSettings {
        java,
        bundle: home.join("bundle.jar"),
        state_dir: home.join("state"),
        jdtls_home: home,
        start_deadline: Duration::from_secs(20),
        request_deadline: Duration::from_secs(20),
        heap_mb: 64,
    }
}

fn start_error(settings: ServerSettings) -> String {
    let jdk = Jdk { home: PathBuf::from("/nowhere"), feature: 17 };
    JdtEngine::start(settings, &project(Path::new("/nowhere"), jdk)).unwrap_err().to_string()
}

#[test]
fn a_server_that_dies_at_its_start_leaves_its_last_words() {
    let error = start_error(scripted("dying", "echo 'no room' >&2; exit 3"));
    assert_eq!(error, "the language server ended while starting: no room");
}

#[test]
fn a_server_that_talks_nonsense_is_given_up() {
    let error = start_error(scripted("talking", "echo hello; echo 'what now' >&2; sleep 600"));
    assert_eq!(error, "the language server ended while starting: what now");
}

#[test]
fn a_mute_server_is_replaced_and_asked_again() {
    let Some(parts) = parts() else { return };
    let root = fresh_dir("mute");
    write_project(&root);
    let request_deadline = Duration::from_secs(5);
    let settings = ServerSettings { request_deadline, ..settings(&parts, fresh_dir("state-mute")) };
    let mut engine = JdtEngine::start(settings, &project(&root, parts.jdk)).unwrap();
    let (prefix, original, suffix) = cut(BASKET);
    engine.open(&root.join("src/shop/Basket.java"), prefix, original, suffix).unwrap();
    let pid = engine.server_pid();
    let freeze = Spec::new("/bin/kill", "/", Duration::from_secs(10)).args(["-STOP", &pid.to_string()]);
    assert!(run(&freeze, &Interrupt::default()).unwrap().success());
    assert!(names(engine.complete("first.", Scope::Members)).contains(&"price".to_owned()));
    assert_ne!(engine.server_pid(), pid);
    assert_eq!(engine.counters().unknowns.len(), 0);
}

#[test]
fn the_next_server_finds_the_state_of_the_one_before_and_the_sources_as_they_are_now() {
    let Some(parts) = parts() else { return };
    let root = fresh_dir("kept");
    write_project(&root);
    let (store, file) = (fresh_dir("servers"), root.join("src/shop/Basket.java"));
    let (prefix, original, suffix) = cut(BASKET);
    let members = |expected: &[&str]| {
        let settings = settings(&parts, fresh_dir("state-unused"));
        let mut engine = JdtEngine::start_kept(settings, &store, &project(&root, parts.jdk.clone())).unwrap();
        engine.open(&file, prefix, original, suffix).unwrap();
        let found = names(engine.complete("first.", Scope::Members));
        assert!(expected.iter().all(|name| found.contains(&(*name).to_owned())), "{found:?}");
        let types = names(engine.complete("N", Scope::Types));
        engine.shut_down();
        (found, types.contains(&"Newcomer".to_owned()))
    };
    let (before, there) = members(&["price"]);
    assert!(!there && !before.contains(&"cost".to_owned()));
    std::fs::write(root.join("src/shop/Item.java"), cut(ITEM).0.replace("int price()", "int cost()"))
        .unwrap();
    std::fs::write(root.join("src/shop/Newcomer.java"), "package shop;\nclass Newcomer { }\n").unwrap();
    let (after, there) = members(&["cost"]);
    assert!(there && !after.contains(&"price".to_owned()), "{after:?}");
    let kept: Vec<_> = std::fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 1);
    // State that no server can start on is put aside.
    for name in ["configuration", "data"] {
        std::fs::remove_dir_all(kept[0].join(name)).unwrap();
        std::fs::write(kept[0].join(name), "spoilt").unwrap();
    }
    assert!(members(&["cost"]).1);
}

#[test]
fn the_project_tree_is_left_as_it_was() {
    let Some(parts) = parts() else { return };
    let root = fresh_dir("untouched");
    write_project(&root);
    let before = tree(&root);
    let settings = settings(&parts, fresh_dir("state-untouched"));
    let mut engine = JdtEngine::start(settings, &project(&root, parts.jdk)).unwrap();
    let (prefix, original, suffix) = cut(BASKET);
    engine.open(&root.join("src/shop/Basket.java"), prefix, original, suffix).unwrap();
    assert_eq!(problems(&mut engine, original, false), []);
    assert!(engine.server_version().starts_with("1."), "{}", engine.server_version());
    engine.shut_down();
    assert_eq!(tree(&root), before);
}

/// Every path below `root` with its contents and time of change.
fn tree(root: &Path) -> Vec<(PathBuf, Option<Vec<u8>>, std::time::SystemTime)> {
    let entries = walkdir::WalkDir::new(root).sort_by_file_name().into_iter().map(Result::unwrap);
    entries
        .map(|entry| {
            let changed = entry.metadata().unwrap().modified().unwrap();
            (entry.path().to_owned(), std::fs::read(entry.path()).ok(), changed)
        })
        .collect()
}
