//! `Defects4J`, releases 2 and 3: which bugs there are, what is known of each, and a checkout of it.
//!
//! Everything that stands in the framework's files is read from them; its own command, which takes seconds and insists
//! on one release of Java, is asked only for a checkout. The answer to a bug is in the framework too: it is reachable
//! through [`Framework::changes`] alone, which listings and replays use and repairs do not.
//!
//! Deliberately absent: running the framework's own build and tests.

use std::path::{Path, PathBuf};

use crate::bug::BugId;
use crate::bug::change::{Changes, DiffError, read_reversed};
use crate::java::recorded::{Recorded, read_recorded};
use crate::process::ProcessError;

pub mod checkout;
pub mod generated;
pub mod layout;
mod level;
pub mod sets;

/// The time zone of all its runs (`framework/core/Constants.pm`).
pub const TIME_ZONE: &str = "America/Los_Angeles";

/// Why a bug of the benchmark cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Defects4jError {
    /// Neither a home nor a command is known.
    #[error(
        "Defects4J was not found: set DEFECTS4J_HOME to its directory, or name its command with --defects4j"
    )]
    NotFound,
    /// The directory holds no framework.
    #[error("`{}` is no Defects4J: it has no `framework/projects`", .0.display())]
    NotAHome(PathBuf),
    /// The benchmark has no such project.
    #[error("Defects4J has no project `{project}`; it has {}", .known.join(", "))]
    NoSuchProject {
        /// What was asked for.
        project: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The project has no such bug, or it was taken out.
    #[error("Defects4J has no active bug {bug}; {} has {n_active}", .bug.project)]
    NoSuchBug {
        /// What was asked for.
        bug: BugId,
        /// Number of the project's bugs.
        n_active: usize,
    },
    /// A file of the framework does not say what it should.
    #[error("cannot use `{}`: {reason}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A diff of the framework cannot be read.
    #[error("cannot use `{}`", .path.display())]
    Diff {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: DiffError,
    },
    /// The directory is a checkout of something else.
    #[error("`{}` is a checkout of {found}, not of {wanted}: choose another with --checkout", .dir.display())]
    OtherCheckout {
        /// The directory.
        dir: PathBuf,
        /// What it holds.
        found: String,
        /// What is needed.
        wanted: String,
    },
    /// The checkout's file is not what the bug's own diff says.
    #[error("`{}` is not the file of {bug}: line {line} differs; make the checkout anew", .file.display())]
    OtherText {
        /// The bug.
        bug: BugId,
        /// The file.
        file: PathBuf,
        /// The first line that differs.
        line: usize,
    },
    /// The benchmark's command failed.
    #[error("checkout of {bug} failed at `{step}`: {cause} (log: `{}`)", .log.display())]
    Checkout {
        /// The bug.
        bug: BugId,
        /// The first step that failed.
        step: String,
        /// The line that says why.
        cause: String,
        /// All that it printed.
        log: PathBuf,
    },
    /// A file or directory could not be read or written.
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
    /// A child could not be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
}

impl Defects4jError {
    fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

/// An installed benchmark.
#[derive(Debug, Clone)]
pub struct Framework {
    home: PathBuf,
}

impl Framework {
    /// The benchmark in `home`, the directory that holds `framework`.
    pub fn open(home: &Path) -> Result<Self, Defects4jError> {
        let home = home.canonicalize().map_err(Defects4jError::io("read", home))?;
        if home.join("framework/projects").is_dir() {
            Ok(Self { home })
        } else {
            Err(Defects4jError::NotAHome(home))
        }
    }

    /// The benchmark that a `defects4j` command belongs to.
    pub fn of_command(command: &Path) -> Result<Self, Defects4jError> {
        let real = command.canonicalize().map_err(Defects4jError::io("read", command))?;
        // framework/bin/defects4j
        let home = real.ancestors().nth(3).ok_or_else(|| Defects4jError::NotAHome(real.clone()))?;
        Self::open(home)
    }

    /// Its directory.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Its own command.
    pub fn command(&self) -> PathBuf {
        self.home.join("framework/bin/defects4j")
    }

    /// Its release as its documentation gives it: `3.0.1`.
    pub fn version(&self) -> Option<String> {
        let text = std::fs::read_to_string(self.home.join("README.md")).ok()?;
        let rest = text.split("version ").nth(1)?;
        let version: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        (!version.is_empty()).then_some(version)
    }

    /// Names of its projects, sorted.
    pub fn projects(&self) -> Result<Vec<String>, Defects4jError> {
        let dir = self.home.join("framework/projects");
        let entries = std::fs::read_dir(&dir).map_err(Defects4jError::io("read", &dir))?;
        let mut names: Vec<String> = entries
            .filter_map(Result::ok)
            .filter(|entry| entry.path().join("active-bugs.csv").is_file())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        Ok(names)
    }

    /// The active bugs of all projects, by project and number.
    pub fn bugs(&self) -> Result<Vec<BugId>, Defects4jError> {
        let mut bugs = Vec::new();
        for project in self.projects()? {
            bugs.extend(self.bugs_of(&project)?);
        }
        Ok(bugs)
    }

    /// The active bugs of one project, by number.
    pub fn bugs_of(&self, project: &str) -> Result<Vec<BugId>, Defects4jError> {
        let path = self.project_dir(project).join("active-bugs.csv");
        if !path.is_file() {
            let known = self.projects()?;
            return Err(Defects4jError::NoSuchProject { project: project.to_owned(), known });
        }
        let text = read(&path)?;
        let ids = text.lines().skip(1).filter_map(|line| line.split(',').next()?.parse::<u32>().ok());
        let mut ids: Vec<u32> = ids.collect();
        ids.sort_unstable();
        let bug = |id: u32| BugId { project: project.to_owned(), id: id.to_string() };
        Ok(ids.into_iter().map(bug).collect())
    }

    /// An error unless the bug is an active one.
    pub fn require(&self, bug: &BugId) -> Result<(), Defects4jError> {
        let active = self.bugs_of(&bug.project)?;
        if active.contains(bug) {
            return Ok(());
        }
        Err(Defects4jError::NoSuchBug { bug: bug.clone(), n_active: active.len() })
    }

    /// What the bug's own diff says, the answer included.
    pub fn changes(&self, bug: &BugId) -> Result<Changes, Defects4jError> {
        let path = self.fact(bug, "patches", ".src.patch");
        let diff = std::fs::read(&path).map_err(Defects4jError::io("read", &path))?;
        read_reversed(&diff).map_err(|source| Defects4jError::Diff { path, source })
    }

    /// Its trigger tests with what they threw when the bug was recorded.
    pub fn triggers(&self, bug: &BugId) -> Result<Vec<Recorded>, Defects4jError> {
        let path = self.fact(bug, "trigger_tests", "");
        let text = String::from_utf8_lossy(&read_bytes(&path)?).into_owned();
        let recorded = read_recorded(&text);
        if recorded.is_empty() {
            return Err(Defects4jError::Malformed { path, reason: "it names no test".to_owned() });
        }
        Ok(recorded)
    }

    /// Test classes that touch the classes that the fix changes; empty where the framework does not say.
    pub fn relevant_tests(&self, bug: &BugId) -> Vec<String> {
        let text = read(&self.fact(bug, "relevant_tests", "")).unwrap_or_default();
        text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    fn fact(&self, bug: &BugId, kind: &str, suffix: &str) -> PathBuf {
        self.project_dir(&bug.project).join(kind).join(format!("{}{suffix}", bug.id))
    }

    /// What the framework knows of a project.
    fn project_dir(&self, project: &str) -> PathBuf {
        self.home.join("framework/projects").join(project)
    }
}

fn read(path: &Path) -> Result<String, Defects4jError> {
    Ok(String::from_utf8_lossy(&read_bytes(path)?).into_owned())
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, Defects4jError> {
    std::fs::read(path).map_err(Defects4jError::io("read", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A framework with one project `P` of the given files.
    pub(super) fn framework(files: &[(&str, &str)]) -> (tempfile::TempDir, Framework) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join("framework/projects/P").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let framework = Framework::open(dir.path()).unwrap();
        (dir, framework)
    }

    fn bug(text: &str) -> BugId {
        text.parse().unwrap()
    }

    #[test]
    fn bugs_come_by_number_and_deprecated_ones_are_unknown() {
        let (_dir, framework) = framework(&[("active-bugs.csv", "bug.id,rev\n10,a,b\n2,a,b\n")]);
        let names: Vec<String> = framework.bugs().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["P-2", "P-10"]);
        let error = framework.require(&bug("P-3")).unwrap_err().to_string();
        assert_eq!(error, "Defects4J has no active bug P-3; P has 2");
        let error = framework.require(&bug("Q-3")).unwrap_err().to_string();
        assert_eq!(error, "Defects4J has no project `Q`; it has P");
    }

    #[test]
    fn a_directory_without_a_framework_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let error = Framework::open(dir.path()).unwrap_err();
        assert!(error.to_string().ends_with("is no Defects4J: it has no `framework/projects`"), "{error}");
    }

    #[test]
    fn a_bug_without_a_trigger_test_cannot_be_used() {
        let (_dir, framework) = framework(&[("active-bugs.csv", ""), ("trigger_tests/1", "## P: 1 ##\n")]);
        let error = framework.triggers(&bug("P-1")).unwrap_err().to_string();
        assert!(error.ends_with("trigger_tests/1`: it names no test"), "{error}");
    }
}
