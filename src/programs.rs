//! Benchmarks of single programs, `QuixBugs` and `HumanEval-Java`: each bug is one class with a correct twin and a test.
//!
//! A bug becomes a small tree of its own, with the program, what it needs and its test, so that nothing of the answer is
//! in sight. Its hunks are the lines in which the twins differ, those without a difference in code left out.

use std::path::{Path, PathBuf};

use similar::{DiffTag, TextDiff};

use crate::bug::change::Change;
use crate::bug::{BugId, Lines};
use crate::java::lexer::normal_form;

/// Why a program cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProgramsError {
    /// Nobody said where the benchmark is.
    #[error("{0} was not found: name its directory with {1}")]
    NotFound(&'static str, &'static str),
    /// The directory does not hold it.
    #[error("`{}` is no {name}: it has no `{expected}`", .home.display())]
    NotAHome {
        /// The benchmark.
        name: &'static str,
        /// The directory.
        home: PathBuf,
        /// What is missing.
        expected: &'static str,
    },
    /// There is no such program.
    #[error("{0} is not there; `repair bugs` lists what is")]
    NoSuchProgram(BugId),
    /// A file could not be read or written.
    #[error("cannot {action} `{}`", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> ProgramsError {
    let path = path.to_owned();
    move |source| ProgramsError::Io { action, path, source }
}

/// Where a benchmark keeps its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collection {
    /// The project's name in its bugs: `QuixBugs-GCD`.
    pub name: &'static str,
    buggy: &'static str,
    correct: &'static str,
    /// Package of the buggy and of the correct programs.
    package: &'static str,
    correct_package: &'static str,
    tests: &'static str,
    test_package: &'static str,
    /// What comes before and after a program's name in its test's.
    test_name: (&'static str, &'static str),
}

/// The forty programs of `jkoppel/QuixBugs`.
pub const QUIXBUGS: Collection = Collection {
    name: "QuixBugs",
    buggy: "java_programs",
    correct: "correct_java_programs",
    package: "java_programs",
    correct_package: "correct_java_programs",
    tests: "java_testcases/junit",
    test_package: "java_testcases.junit",
    test_name: ("", "_TEST"),
};

/// The programs of `HumanEval-Java`.
pub const HUMANEVAL: Collection = Collection {
    name: "HumanEval",
    buggy: "src/main/java/humaneval/buggy",
    correct: "src/main/java/humaneval/correct",
    package: "humaneval.buggy",
    correct_package: "humaneval.correct",
    tests: "src/test/java/humaneval",
    test_package: "humaneval",
    test_name: ("TEST_", ""),
};

/// A benchmark in a directory.
#[derive(Debug, Clone)]
pub struct Programs {
    collection: Collection,
    home: PathBuf,
}

/// Where a program's tree has its sources and its tests.
pub const SOURCES: &str = "src/main/java";
/// The tests.
pub const TESTS: &str = "src/test/java";

impl Programs {
    /// The collection in `home`.
    pub fn open(collection: Collection, home: &Path) -> Result<Self, ProgramsError> {
        for expected in [collection.buggy, collection.correct, collection.tests] {
            if !home.join(expected).is_dir() {
                return Err(ProgramsError::NotAHome {
                    name: collection.name,
                    home: home.to_owned(),
                    expected,
                });
            }
        }
        Ok(Self { collection, home: home.to_owned() })
    }

    /// Which collection it is.
    pub fn name(&self) -> &'static str {
        self.collection.name
    }

    /// Its directory.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The programs that have a correct twin and a test, by name.
    pub fn bugs(&self) -> Result<Vec<BugId>, ProgramsError> {
        let dir = self.home.join(self.collection.buggy);
        let entries = std::fs::read_dir(&dir).map_err(io("read", &dir))?;
        let names = entries.filter_map(Result::ok).filter_map(|entry| {
            let path = entry.path();
            let is_source = path.extension().is_some_and(|extension| extension == "java");
            is_source.then(|| path.file_stem().unwrap_or_default().to_string_lossy().into_owned())
        });
        let mut names: Vec<String> = names.filter(|name| self.is_whole(name)).collect();
        names.sort();
        Ok(names.into_iter().map(|id| BugId { project: self.collection.name.to_owned(), id }).collect())
    }

    fn is_whole(&self, name: &str) -> bool {
        [self.correct_file(name), self.test_file(name)].iter().all(|path| path.is_file())
    }

    fn buggy_file(&self, name: &str) -> PathBuf {
        self.home.join(self.collection.buggy).join(format!("{name}.java"))
    }

    fn correct_file(&self, name: &str) -> PathBuf {
        self.home.join(self.collection.correct).join(format!("{name}.java"))
    }

    fn test_file(&self, name: &str) -> PathBuf {
        let (before, after) = self.collection.test_name;
        self.home.join(self.collection.tests).join(format!("{before}{name}{after}.java"))
    }

    /// The class of a program's tests.
    pub fn test_class(&self, bug: &BugId) -> String {
        let (before, after) = self.collection.test_name;
        format!("{}.{before}{}{after}", self.collection.test_package, bug.id)
    }

    /// The program's file in its tree.
    pub fn file(&self, bug: &BugId) -> PathBuf {
        let package = self.collection.package.replace('.', "/");
        Path::new(SOURCES).join(package).join(format!("{}.java", bug.id))
    }

    /// The correct twin under the buggy one's package: the answer.
    pub fn fixed(&self, bug: &BugId) -> Result<Vec<u8>, ProgramsError> {
        let path = self.correct_file(&bug.id);
        let text = std::fs::read(&path).map_err(io("read", &path))?;
        // Every byte is a character, so that the other bytes stay what they are.
        let text: String = text.iter().map(|&byte| char::from(byte)).collect();
        let text = text.replace(self.collection.correct_package, self.collection.package);
        Ok(text.chars().map(|c| c as u8).collect())
    }

    /// The lines in which the twins differ, the answer included.
    pub fn changes(&self, bug: &BugId) -> Result<Vec<Change>, ProgramsError> {
        if !self.is_whole(&bug.id) {
            return Err(ProgramsError::NoSuchProgram(bug.clone()));
        }
        let path = self.buggy_file(&bug.id);
        let buggy = std::fs::read(&path).map_err(io("read", &path))?;
        Ok(differences(&self.file(bug), &buggy, &self.fixed(bug)?))
    }

    /// Writes the program's tree to `dir`, which must not exist; it is there whole or not at all.
    pub fn write_tree(&self, bug: &BugId, dir: &Path) -> Result<(), ProgramsError> {
        let parent = dir.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(parent).map_err(io("create", parent))?;
        let scratch = tempfile::tempdir_in(parent).map_err(io("create a directory in", parent))?;
        let tree = scratch.path().join("tree");
        copy(&self.buggy_file(&bug.id), &tree.join(self.file(bug)))?;
        let sources = tree.join(self.file(bug));
        let needed = self.needed(&std::fs::read(&sources).map_err(io("read", &sources))?, bug)?;
        let test_package = tree.join(TESTS).join(self.collection.test_package.replace('.', "/"));
        let test = self.test_file(&bug.id);
        copy(&test, &test_package.join(test.file_name().unwrap_or_default()))?;
        for (from, into) in needed {
            copy(&from, &tree.join(into))?;
        }
        std::fs::rename(&tree, dir).map_err(io("create", dir))
    }

    /// Classes that programs and tests share: those of the collection's directories that are no program of their own and
    /// that the program or its test names.
    fn needed(&self, program: &[u8], bug: &BugId) -> Result<Vec<(PathBuf, PathBuf)>, ProgramsError> {
        let test = self.test_file(&bug.id);
        let mut both = String::from_utf8_lossy(program).into_owned();
        both += &String::from_utf8_lossy(&std::fs::read(&test).map_err(io("read", &test))?);
        let mut needed = Vec::new();
        for (dir, root, package) in [
            (self.collection.buggy, SOURCES, self.collection.package),
            (self.collection.tests, TESTS, self.collection.test_package),
        ] {
            let dir = self.home.join(dir);
            for entry in std::fs::read_dir(&dir).map_err(io("read", &dir))?.filter_map(Result::ok) {
                let path = entry.path();
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let is_source = path.extension().is_some_and(|extension| extension == "java");
                if is_source
                    && name != bug.id
                    && path != test
                    && both.contains(&name)
                    && !self.is_whole(&name)
                {
                    let file = Path::new(root).join(package.replace('.', "/")).join(entry.file_name());
                    needed.push((path, file));
                }
            }
        }
        needed.sort();
        Ok(needed)
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), ProgramsError> {
    let parent = to.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(parent).map_err(io("create", parent))?;
    std::fs::copy(from, to).map(drop).map_err(io("copy", from))
}

/// The runs of lines in which two texts differ in more than layout and comments.
fn differences(file: &Path, buggy: &[u8], fixed: &[u8]) -> Vec<Change> {
    let diff = TextDiff::from_lines(buggy, fixed);
    let lines =
        |text: &[u8]| text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (old, new) = (lines(buggy), lines(fixed));
    let form = |lines: &[Vec<u8>]| normal_form(&String::from_utf8_lossy(&lines.concat()));
    let mut changes = Vec::new();
    for op in diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal) {
        let (at, buggy, fixed) = (op.old_range(), &old[op.old_range()], &new[op.new_range()]);
        if form(buggy) == form(fixed) {
            continue;
        }
        let lines = if buggy.is_empty() {
            Lines::Insert { before: at.start + 1 }
        } else {
            Lines::Replace { first: at.start + 1, last: at.end }
        };
        changes.push(Change { file: file.to_owned(), lines, buggy: buggy.to_vec(), fixed: fixed.to_vec() });
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(dir: &Path, file: &str, text: &str) {
        let path = dir.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn a_program_gets_a_tree_without_the_answer() {
        let home = tempfile::tempdir().unwrap();
        put(
            home.path(),
            "java_programs/A.java",
            "package java_programs;\nclass A {\n  int f(Node n) { return 1; }\n}\n",
        );
        put(home.path(), "java_programs/B.java", "package java_programs;\nclass B {}\n");
        put(home.path(), "java_programs/Node.java", "package java_programs;\nclass Node {}\n");
        put(
            home.path(),
            "correct_java_programs/A.java",
            "package correct_java_programs;\n// note\nclass A {\n  int f(Node n) { return 2; }\n}\n",
        );
        put(
            home.path(),
            "java_testcases/junit/A_TEST.java",
            "package java_testcases.junit;\nclass A_TEST {}\n",
        );
        let programs = Programs::open(QUIXBUGS, home.path()).unwrap();
        let bugs = programs.bugs().unwrap();
        assert_eq!(bugs.iter().map(ToString::to_string).collect::<Vec<_>>(), ["QuixBugs-A"]);
        let changes = programs.changes(&bugs[0]).unwrap();
        assert_eq!(changes.len(), 1, "a comment is no change: {changes:?}");
        assert_eq!(changes[0].hunk().to_string(), "src/main/java/java_programs/A.java:3");
        let dir = home.path().join("trees/A");
        programs.write_tree(&bugs[0], &dir).unwrap();
        let files = walkdir::WalkDir::new(&dir).sort_by_file_name().into_iter().map(Result::unwrap);
        let files =
            files.filter(|entry| entry.file_type().is_file()).map(|entry| entry.file_name().to_owned());
        assert_eq!(files.collect::<Vec<_>>(), ["A.java", "Node.java", "A_TEST.java"]);
    }

    #[test]
    fn a_directory_of_something_else_is_named() {
        let home = tempfile::tempdir().unwrap();
        let error = Programs::open(HUMANEVAL, home.path()).unwrap_err().to_string();
        assert!(error.ends_with("is no HumanEval: it has no `src/main/java/humaneval/buggy`"), "{error}");
    }
}
