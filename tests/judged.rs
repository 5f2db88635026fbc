//! The hand-made holes on which the reference system was judged: none of its wrong rejections is made here, and none of
//! its right ones is lost.
//!
//! The judgements are those of `jdt_probe.csv`. Of its second round the sources are known and used; of the first one only
//! the names are, and `judged/cases.txt` has a hole of ours for each. Whatever stands before the caret is fed in words,
//! the last one unfinished, with what follows the caret in its place.

#[path = "engine/parts.rs"]
mod parts;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use repair::cloze::Cloze;
use repair::decode::oracle::{Guidance, Oracle};
use repair::decode::partial::{Advance, Frame, Refusal};
use repair::engine::{Check, CompletionEngine, JdtEngine, ServerSettings};
use repair::java::project::{BuildTool, Project};
use repair::text::Source;

const OURS: &str = include_str!("judged/cases.txt");
const HELPER: &str = "package pk;\npublic class Helper {\n    public enum Spice { MACE, SUMAC }\n    public static class Nested { }\n    \
    public String name;\n    private String secret;\n    public static int tally(int n) { return n; }\n    public void tip() { }\n}\n";

/// Valid code of which nothing is known at the caret: the parameter of a lambda, a label, a class after a qualified
/// `new`, what stands between members.
const UNKNOWN: [&str; 6] = [
    "lambda param bare",
    "lambda param paren",
    "label fresh",
    "annotation member",
    "outer.new inner",
    "generic method decl two",
];

/// One hole: the text around it, what is fed, and what is there already after the caret.
struct Case {
    name: String,
    prefix: String,
    fed: String,
    suffix: String,
}

/// What is said at the caret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Feasible,
    Unknown,
    Refused(Refusal),
}

fn ours() -> Vec<Case> {
    let cases = OURS.split("\n### ").skip(1);
    cases
        .map(|case| {
            let (name, body) = case.split_once('\n').unwrap();
            our_case(name, body)
        })
        .collect()
}

fn our_case(name: &str, body: &str) -> Case {
    let mut parts: BTreeMap<&str, String> = BTreeMap::new();
    let mut part = "hole";
    for line in body.lines() {
        let is_hole = line.contains('^');
        match line.strip_prefix('%') {
            Some(directive) => {
                parts.entry(directive).or_default();
                part = directive;
            }
            None if is_hole => line.clone_into(parts.entry("hole").or_default()),
            None => parts.entry(part).or_default().extend([line, "\n"]),
        }
    }
    let text = |part: &str| parts.get(part).cloned().unwrap_or_default();
    let hole = text("hole");
    let (fed, after) = hole.split_once('^').unwrap();
    let head = format!("package pk;\nimport java.util.*;\n{}", text("imports"));
    let class = "public class Till {\n  int total; String label; static final int MAX = 3; List<String> names; Helper helper;\n  \
        Till other() { return this; }\n  String asEndTag() { return null; }\n";
    let modifier = if parts.contains_key("static") { "static " } else { "" };
    let method = format!("  {modifier}void pay(int n, String text) {{\n");
    let tail = "    int tail = 4;\n  }\n";
    let (prefix, suffix) = if parts.contains_key("member") {
        (format!("{head}{class}{}{method}{tail}  ", text("members")), format!("{after}\n}}\n"))
    } else {
        (
            format!("{head}{class}{}{method}{}    ", text("members"), text("before")),
            format!("{after}\n{}{tail}}}\n", text("rest")),
        )
    };
    Case { name: name.to_owned(), prefix, fed: fed.to_owned(), suffix }
}

/// The second round's cases: the hole begins with the method's body, after its comments.
fn theirs(text: &str) -> Vec<Case> {
    let cases = text.split("### ").filter(|case| case.contains('§'));
    cases
        .map(|case| {
            let (name, source) = case.split_once('\n').unwrap();
            let (before, suffix) = source.split_once('§').unwrap();
            let body = "void m(int n, String text) {\n";
            let start = before.find(body).map_or(0, |at| at + body.len());
            let start =
                before.rfind("//").map_or(start, |at| at + before[at..].find('\n').unwrap_or(0)).max(start);
            let start = before.len() - before[start..].trim_start().len();
            Case {
                name: name.to_owned(),
                prefix: before[..start].to_owned(),
                fed: before[start..].to_owned(),
                suffix: suffix.to_owned(),
            }
        })
        .collect()
}

/// Judgements of the given round by name, `None` after saying that they are absent.
fn judgements(round: &str) -> Option<BTreeMap<String, String>> {
    let path = shared().join("jdt_probe.csv");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: no {}", path.display());
        return None;
    };
    // Only the name, the second of ten fields, may hold commas.
    let of_row = |row: &str| {
        let (found, rest) = row.split_once(',')?;
        let fields: Vec<&str> = rest.rsplitn(9, ',').collect();
        let name = fields[8].trim_matches('"').to_owned();
        (found == round && fields[7] == "filter").then(|| (name, fields[4].to_owned()))
    };
    Some(text.lines().skip(1).filter_map(of_row).collect())
}

fn shared() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data")
}

/// Words, and everything else byte by byte.
fn pieces(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end =
            if is_part(first) { rest.find(|c| !is_part(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        pieces.push(&rest[..end]);
        rest = &rest[end..];
    }
    pieces
}

fn said(engine: &mut JdtEngine, file: &Path, case: &Case) -> Said {
    // Where something follows the caret on its line, the file is sound with what is fed, else without.
    let rest = case.suffix.lines().next().unwrap_or_default();
    let original = if rest.trim().is_empty() { "" } else { case.fed.as_str() };
    let text = format!("{}{original}{}", case.prefix, case.suffix);
    let hole = case.prefix.len()..case.prefix.len() + original.len();
    let cloze = Cloze::within(Source::new(text.into_bytes(), "UTF-8").unwrap(), hole);
    engine.open(file, &cloze.prefix, &cloze.original, &cloze.suffix).unwrap();
    let frame = Frame::new(&cloze, false);
    let mut partial = frame.empty();
    let mut oracle = Oracle::new(engine, Guidance::FULL, &cloze);
    let mut unknown = 0;
    for piece in pieces(&case.fed) {
        unknown = oracle.words.unknown.values().sum();
        let Advance::Open { partial: next, closed, statement } = partial.advance(&frame, piece.as_bytes())
        else {
            panic!("{}: `{piece}` is no code", case.name);
        };
        if let Err(refusal) = oracle.judge(&next, &closed, statement) {
            return Said::Refused(refusal);
        }
        partial = next;
    }
    if oracle.words.unknown.values().sum::<u64>() > unknown { Said::Unknown } else { Said::Feasible }
}

/// Whether the text with what follows on its line does not compile where the file without it does.
fn is_refused_later(engine: &mut JdtEngine, file: &Path, case: &Case) -> bool {
    engine.open(file, &case.prefix, "", &case.suffix).unwrap();
    matches!(engine.check(&case.fed, false), Check::Problems(problems) if !problems.is_empty())
}

fn engine(root: &Path) -> Option<JdtEngine> {
    let parts = parts::parts()?;
    let package = root.join("src/pk");
    std::fs::create_dir_all(&package).unwrap();
    std::fs::write(package.join("Helper.java"), HELPER).unwrap();
    for name in ["Plain", "Till", "T", "Testee"] {
        let text = format!("package pk;\npublic class {name} {{ }}\n");
        std::fs::write(package.join(format!("{name}.java")), text).unwrap();
    }
    let settings = ServerSettings {
        java: parts.java,
        jdtls_home: parts.jdtls,
        bundle: parts.bundle,
        state_dir: root.join("state"),
        start_deadline: Duration::from_secs(180),
        request_deadline: Duration::from_secs(60),
        heap_mb: 1024,
    };
    let project = Project {
        root: root.to_owned(),
        build_tool: BuildTool::Plain,
        sources: vec![root.join("src")],
        tests: Vec::new(),
        resources: Vec::new(),
        class_path: Vec::new(),
        level: 17,
        encoding: "UTF-8".to_owned(),
        excluded: Vec::new(),
        jdk: parts.jdk,
    };
    Some(JdtEngine::start(settings, &project).unwrap())
}

/// The cases of both rounds with their judgements; `None` after saying what is absent.
fn all() -> Option<Vec<(Case, String)>> {
    let (first, second) = (judgements("1")?, judgements("2")?);
    let text = std::fs::read_to_string(shared().join("jdt_probe_cases_round2.txt")).unwrap();
    let (ours, theirs) = (ours(), theirs(&text));
    assert_eq!((ours.len(), theirs.len()), (first.len(), second.len()));
    let judged = |judgements: BTreeMap<String, String>| {
        move |case: Case| {
            let judgement = judgements[&case.name].clone();
            (case, judgement)
        }
    };
    Some(ours.into_iter().map(judged(first)).chain(theirs.into_iter().map(judged(second))).collect())
}

#[test]
fn no_valid_code_is_refused_and_no_right_rejection_is_lost() {
    let root = tempfile::tempdir().unwrap();
    let (Some(cases), Some(mut engine)) = (all(), engine(root.path())) else { return };
    let mut unknown = Vec::new();
    for (case, judgement) in &cases {
        let class =
            ["Testee", "Till"].into_iter().find(|name| case.prefix.contains(&format!("class {name} ")));
        let file = root.path().join(format!("src/pk/{}.java", class.unwrap_or("T")));
        let said = said(&mut engine, &file, case);
        let is_right = match (judgement.as_str(), said) {
            // The reference has no token there; here the method that takes the lambda is known not to exist.
            ("n/a", Said::Refused(Refusal::Name)) => case.name == "lambda in unresolved call",
            ("right" | "leak", Said::Refused(Refusal::Name)) => true,
            ("right" | "leak", _) => is_refused_later(&mut engine, &file, case),
            ("ok" | "wrong", Said::Unknown) => {
                unknown.push(case.name.as_str());
                true
            }
            (_, Said::Refused(_)) => false,
            _ => true,
        };
        assert!(is_right, "{}: `{}` is {said:?}", case.name, case.fed);
    }
    engine.shut_down();
    assert_eq!(cases.len(), 191);
    assert_eq!(unknown, UNKNOWN);
}
