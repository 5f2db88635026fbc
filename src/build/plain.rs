//! Projects without a build tool's description: roots, class path and charset found by looking.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::Description;

/// Where projects keep main and test sources, in the order in which they are looked for: Maven and Gradle; Commons
/// before Maven; `JFreeChart`; Closure and Mockito; Eclipse.
const LAYOUTS: [(&str, &str); 5] = [
    ("src/main/java", "src/test/java"),
    ("src/java", "src/test"),
    ("source", "tests"),
    ("src", "test"),
    ("src", "tests"),
];
/// Directories that hold copies or products of sources.
const NOT_SOURCES: [&str; 6] = ["target", "build", "out", "bin", "dist", "node_modules"];
/// Directories of jars.
const LIBRARIES: [&str; 2] = ["lib", "libs"];

/// What is found by looking. Roots are not looked for where the user named those of the main sources.
pub(super) fn describe(root: &Path, sources_are_given: bool) -> Description {
    let (sources, tests) = if sources_are_given { (Vec::new(), Vec::new()) } else { roots(root) };
    let resources = ["src/test/resources", "src/main/resources"].map(|dir| root.join(dir)).to_vec();
    let class_path = LIBRARIES.iter().flat_map(|dir| jars_in(&root.join(dir))).collect();
    Description { sources, tests, resources, class_path, ..Description::default() }
}

/// Puts our JUnit on the class path of a project that names JUnit and brings none.
pub(super) fn add_junit(description: &mut Description, junit: &[PathBuf]) {
    let has_junit = description.class_path.iter().any(|jar| is_junit(jar));
    if !has_junit && names_junit(description.sources.iter().chain(&description.tests)) {
        description.class_path.extend_from_slice(junit);
    }
}

/// Roots of main and of test sources.
fn roots(root: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let both = LAYOUTS.iter().map(|(main, test)| (root.join(main), root.join(test)));
    let existing = both.filter(|(main, test)| {
        holds_java(std::slice::from_ref(main)) && holds_java(std::slice::from_ref(test))
    });
    let found = existing.clone().find(|(main, _)| !starts_below(main));
    if let Some((main, test)) = found {
        return (vec![main], vec![test]);
    }
    let declared = declared_roots(root);
    let (tests, sources) = declared.into_iter().partition(|dir| is_test_root(root, dir));
    (sources, tests)
}

/// Whether the packages of the sources in `dir` start in a directory below it, so that `dir` is no root itself.
fn starts_below(dir: &Path) -> bool {
    !declared_roots(dir).contains(dir)
}

/// Roots derived from `package` declarations: a file's directory without its package's path.
fn declared_roots(dir: &Path) -> BTreeSet<PathBuf> {
    let mut roots = BTreeSet::new();
    for file in java_files(dir) {
        let package = std::fs::read(&file).map(|text| declared_package(&text)).unwrap_or_default();
        let parent = file.parent().unwrap_or(dir);
        let Some(package) = package else {
            roots.insert(parent.to_owned());
            continue;
        };
        let mut candidate = parent;
        let matches = package.rsplit('.').all(|segment| {
            let same = candidate.file_name().is_some_and(|name| name == segment);
            candidate = candidate.parent().unwrap_or(candidate);
            same
        });
        if matches && candidate.starts_with(dir) {
            roots.insert(candidate.to_owned());
        }
    }
    roots
}

fn is_test_root(root: &Path, dir: &Path) -> bool {
    let below = dir.strip_prefix(root).unwrap_or(dir);
    below.iter().any(|name| {
        let name = name.to_string_lossy().to_lowercase();
        name.split(['-', '_']).any(|word| matches!(word, "test" | "tests" | "junit"))
    })
}

/// The package that a source declares; `None` for the unnamed one.
fn declared_package(source: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(source);
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        rest = if rest.starts_with("//") || rest.starts_with('@') {
            rest.split_once('\n')?.1.trim_start()
        } else if rest.starts_with("/*") {
            rest.split_once("*/")?.1.trim_start()
        } else {
            break;
        };
    }
    let declaration = rest.strip_prefix("package")?.split_once(';')?.0;
    let starts = declaration.starts_with(char::is_whitespace);
    starts.then(|| declaration.split_whitespace().collect())
}

/// The Java sources below `dir`, sorted. Hidden directories, products and links are passed over.
pub(super) fn java_files(dir: &Path) -> impl Iterator<Item = PathBuf> {
    WalkDir::new(dir)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| {
            let name = entry.file_name().to_string_lossy();
            let is_product = NOT_SOURCES.contains(&name.as_ref()) || name.starts_with('.');
            entry.depth() == 0 || !(entry.file_type().is_dir() && is_product)
        })
        .filter_map(Result::ok)
        .filter(|entry| {
            entry.file_type().is_file() && entry.path().extension().is_some_and(|ext| ext == "java")
        })
        .map(walkdir::DirEntry::into_path)
}

/// Whether there is any Java source in the roots.
pub(super) fn holds_java(roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| java_files(root).next().is_some())
}

/// `UTF-8` if all sources are that; else `ISO-8859-1`, which reads and writes every byte.
pub(super) fn guess_encoding<'a>(roots: impl Iterator<Item = &'a PathBuf>) -> &'static str {
    let mut files = roots.flat_map(|root| java_files(root));
    let is_utf8 = |file: PathBuf| std::fs::read(file).is_ok_and(|text| std::str::from_utf8(&text).is_ok());
    if files.all(is_utf8) { "UTF-8" } else { "ISO-8859-1" }
}

fn jars_in(dir: &Path) -> Vec<PathBuf> {
    let files = WalkDir::new(dir).follow_links(true).sort_by_file_name().into_iter().filter_map(Result::ok);
    let jars = files.filter(|entry| entry.path().extension().is_some_and(|ext| ext == "jar"));
    jars.map(walkdir::DirEntry::into_path).collect()
}

fn is_junit(jar: &Path) -> bool {
    jar.file_name().is_some_and(|name| name.to_string_lossy().to_lowercase().contains("junit"))
}

fn names_junit<'a>(roots: impl Iterator<Item = &'a PathBuf>) -> bool {
    roots.flat_map(|root| java_files(root)).any(|file| {
        let text = std::fs::read(file).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        text.contains("org.junit.") || text.contains("junit.framework.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes `files` (path, text) and returns the roots found, relative.
    fn check(files: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let relative = |roots: Vec<PathBuf>| {
            let below = roots.iter().map(|root| root.strip_prefix(dir.path()).unwrap());
            below.map(|root| root.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let (sources, tests) = roots(dir.path());
        (relative(sources), relative(tests))
    }

    fn roots_are(found: &(Vec<String>, Vec<String>), sources: &[&str], tests: &[&str]) {
        assert_eq!(
            (found.0.as_slice(), found.1.as_slice()),
            (&sources.map_owned()[..], &tests.map_owned()[..])
        );
    }

    trait MapOwned {
        fn map_owned(&self) -> Vec<String>;
    }

    impl MapOwned for [&str] {
        fn map_owned(&self) -> Vec<String> {
            self.iter().map(ToString::to_string).collect()
        }
    }

    #[test]
    fn the_known_layouts_are_seen() {
        for (main, test) in LAYOUTS {
            let (a, b) = (format!("{main}/p/A.java"), format!("{test}/p/ATest.java"));
            let found = check(&[(&a, "package p; class A {}"), (&b, "package p; class ATest {}")]);
            roots_are(&found, &[main], &[test]);
        }
    }

    #[test]
    fn other_roots_follow_from_package_declarations() {
        let found = check(&[
            ("core/java/p/q/A.java", "/* package x; */\n// package y;\npackage p . q;\nclass A {}"),
            ("core/test/p/ATest.java", "package p; class ATest {}"),
            ("build/gen/p/B.java", "package p; class B {}"),
        ]);
        roots_are(&found, &["core/java"], &["core/test"]);
    }

    #[test]
    fn tests_beside_the_sources_share_their_root() {
        let found = check(&[("src/p/A.java", "package p;"), ("src/p/ATest.java", "package p;")]);
        roots_are(&found, &["src"], &[]);
    }

    #[test]
    fn a_source_without_a_package_lies_in_its_root() {
        roots_are(&check(&[("A.java", "class A { String package; }")]), &[""], &[]);
    }

    #[test]
    fn a_package_is_read_past_comments_and_annotations() {
        assert_eq!(declared_package(b"/** x */ @Foo\npackage a.b;"), Some("a.b".into()));
        assert_eq!(declared_package(b"\xef\xbb\xbfpackage a;"), Some("a".into()));
        assert_eq!(declared_package(b"packages.X y;"), None);
    }
}
