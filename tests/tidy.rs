//! The walls of the house, read off the source text: moving one is a decision and not an accident.

use std::path::{Path, PathBuf};

/// Modules by layer, lowest first. A module names only modules of lower layers.
const LAYERS: [(&str, &[&str]); 6] = [
    ("base", &["digest", "process", "text"]),
    ("domain", &["bug", "cloze", "java", "patch", "token"]),
    ("means", &["build", "defects4j", "engine", "model", "programs", "retrieval"]),
    ("core", &["decode", "validate"]),
    ("run", &["campaign", "record", "report"]),
    ("shell", &["cli", "config", "console"]),
];

/// Pairs within a layer that may know each other, one way, each with its reason.
const ALLOWED: [(&str, &str); 7] = [
    ("cloze", "bug"),       // a hole is cut at a hunk's lines
    ("campaign", "record"), // the run writes its record
    ("report", "record"),   // what is derived reads what was recorded
    ("cli", "config"),      // the shell is one thing in three parts
    ("cli", "console"),
    ("console", "config"),
    ("campaign", "config"), // settings are typed values, resolved once
];

/// Longest file; one flat table may be longer, with its reason here.
const LONGEST: usize = 500;

fn sources() -> Vec<(PathBuf, String)> {
    fn walk(dir: &Path, files: &mut Vec<(PathBuf, String)>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, files);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push((path.clone(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut files = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    files.sort();
    assert!(files.len() > 20, "the sources are not where this test looks");
    files
}

/// The top-level module that a file belongs to, `None` for `lib.rs` and `main.rs`.
fn module(path: &Path) -> Option<String> {
    let below = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    let first = below.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
    let name = first.trim_end_matches(".rs").to_owned();
    (name != "lib" && name != "main").then_some(name)
}

fn layer(module: &str) -> usize {
    LAYERS
        .iter()
        .position(|(_, modules)| modules.contains(&module))
        .unwrap_or_else(|| panic!("`{module}` has no layer: give it one in this test and in ARCHITECTURE.md"))
}

/// A file without its tests.
fn code(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap()
}

/// Modules that a text names by `crate::`, those in tests left out.
fn named(text: &str) -> Vec<String> {
    let lines = code(text).lines().filter(|line| !line.trim_start().starts_with("//"));
    lines
        .flat_map(|line| {
            line.match_indices("crate::").map(|(at, word)| &line[at + word.len()..]).collect::<Vec<_>>()
        })
        .map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
        .filter(|name: &String| !name.is_empty())
        .collect()
}

#[test]
fn a_module_names_only_lower_layers() {
    for (path, text) in sources() {
        let Some(own) = module(&path) else { continue };
        for other in named(&text) {
            let allowed = other == own
                || layer(&other) < layer(&own)
                || ALLOWED.contains(&(own.as_str(), other.as_str()));
            assert!(allowed, "{}: `{own}` must not name `{other}`", path.display());
        }
    }
}

#[test]
fn every_module_has_a_layer_and_a_file() {
    let modules: std::collections::BTreeSet<String> =
        sources().iter().filter_map(|(path, _)| module(path)).collect();
    let listed = LAYERS.iter().flat_map(|(_, modules)| modules.iter().map(ToString::to_string)).collect();
    assert_eq!(modules, listed);
}

#[test]
fn files_are_named_after_nouns_and_stay_short() {
    for (path, text) in sources() {
        assert!(!path.ends_with("mod.rs"), "{}: name it after its directory", path.display());
        assert!(text.lines().count() <= LONGEST, "{} has over {LONGEST} lines", path.display());
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        for vague in
            ["util", "utils", "helper", "helpers", "common", "manager", "handler", "service", "data", "info"]
        {
            assert_ne!(name, vague, "{}", path.display());
        }
    }
}

#[test]
fn every_file_says_what_it_is() {
    for (path, text) in sources() {
        assert!(text.starts_with("//! "), "{} has no module doc", path.display());
        let exports_all =
            text.lines().any(|line| line.trim_start().starts_with("pub") && line.ends_with("::*;"));
        assert!(!exports_all, "{} exports all it has", path.display());
    }
}

#[test]
fn nothing_is_left_undone() {
    let marks = ["TODO", "FIXME", "XXX", "todo!(", "unimplemented!("];
    for (path, text) in sources() {
        for mark in marks {
            assert!(!text.contains(mark), "{} has a {mark}", path.display());
        }
    }
}

#[test]
fn only_the_engine_knows_the_async_runtime() {
    for (path, text) in sources() {
        let uses = text.contains("tokio::") || text.contains("async_lsp::");
        assert!(!uses || module(&path).as_deref() == Some("engine"), "{} uses tokio", path.display());
    }
}
