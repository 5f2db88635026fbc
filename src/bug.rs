//! What a bug is: its name in a benchmark, and where the fault is: lines of one file or of several.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub mod change;

/// A bug of a benchmark, as people write it: `Closure-133`, `QuixBugs-GCD`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "String")]
pub struct BugId {
    /// The project, or the benchmark of single programs.
    pub project: String,
    /// Its number, or the program's name.
    pub id: String,
}

impl BugId {
    /// Its number, if it has one.
    pub fn number(&self) -> Option<u32> {
        self.id.parse().ok()
    }
}

impl fmt::Display for BugId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.project, self.id)
    }
}

impl From<BugId> for String {
    fn from(bug: BugId) -> String {
        bug.to_string()
    }
}

impl FromStr for BugId {
    type Err = BugError;

    fn from_str(text: &str) -> Result<Self, BugError> {
        let malformed = || BugError::Id(text.to_owned());
        // `HumanEval-Java-ADD`: the last part names the bug.
        let (project, id) = text.rsplit_once('-').ok_or_else(malformed)?;
        let is_word = |word: &str| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        };
        if is_word(project) && is_word(id) {
            Ok(Self { project: project.to_owned(), id: id.to_owned() })
        } else {
            Err(malformed())
        }
    }
}

/// One contiguous place where the buggy program must change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// Relative to the project's root.
    pub file: PathBuf,
    /// The lines of the buggy file.
    #[serde(flatten)]
    pub lines: Lines,
}

impl Hunk {
    /// A short name: the file's and the lines.
    pub fn name(&self) -> String {
        format!("{}-{}", self.file.file_stem().unwrap_or_default().to_string_lossy(), self.lines)
    }
}

impl fmt::Display for Hunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.lines)
    }
}

/// The lines that the hole takes, 1-based.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lines {
    /// These lines are replaced; both ends included.
    Replace {
        /// First buggy line.
        first: usize,
        /// Last buggy line.
        last: usize,
    },
    /// New lines go in before this one.
    Insert {
        /// The line that follows what is inserted.
        before: usize,
    },
}

impl Lines {
    /// The first line of the hole, or the line that the hole is put before.
    pub fn first(self) -> usize {
        match self {
            Lines::Replace { first, .. } => first,
            Lines::Insert { before } => before,
        }
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lines::Replace { first, last } if first == last => write!(f, "{first}"),
            Lines::Replace { first, last } => write!(f, "{first}-{last}"),
            Lines::Insert { before } => write!(f, "{before}-insert"),
        }
    }
}

/// A hunk's place: `FILE:LINE` or `FILE:FIRST-LAST`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Path as given: relative to the project's root, or absolute.
    pub file: PathBuf,
    /// First line, 1-based.
    pub first: usize,
    /// Last line, included; equal to `first` for one line.
    pub last: usize,
}

impl Location {
    /// The hole's lines; an insertion takes a single line.
    pub fn lines(&self, insert: bool) -> Result<Lines, BugError> {
        match (insert, self.first == self.last) {
            (true, true) => Ok(Lines::Insert { before: self.first }),
            (true, false) => Err(BugError::InsertRange),
            (false, _) => Ok(Lines::Replace { first: self.first, last: self.last }),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.first)?;
        if self.last == self.first { Ok(()) } else { write!(f, "-{}", self.last) }
    }
}

impl FromStr for Location {
    type Err = BugError;

    fn from_str(text: &str) -> Result<Self, BugError> {
        let malformed = || BugError::Location(text.to_owned());
        let (file, lines) = text.rsplit_once(':').ok_or_else(malformed)?;
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        let number = |digits: &str| digits.parse::<usize>().map_err(|_| malformed());
        let (first, last) = (number(first)?, number(last)?);
        if file.is_empty() || first == 0 || last < first {
            return Err(malformed());
        }
        Ok(Self { file: PathBuf::from(file), first, last })
    }
}

/// A bug that was described wrongly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BugError {
    /// Not of the form `PROJECT-ID`.
    #[error("`{0}` is no bug of a benchmark: write PROJECT-NUMBER, such as Closure-133")]
    Id(String),
    /// Not of the form `FILE:LINE` or `FILE:FIRST-LAST`.
    #[error("`{0}` is not a place: write FILE:LINE or FILE:FIRST-LAST, lines counted from 1")]
    Location(String),
    /// An insertion has one line: the one that follows it.
    #[error("an insertion goes before one line: write FILE:LINE with --insert")]
    InsertRange,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_file_and_lines() {
        let parse = |text: &str| text.parse::<Location>().map(|place| place.to_string());
        assert_eq!(parse("src/A.java:3").unwrap(), "src/A.java:3");
        assert_eq!(parse("C:/A.java:3-5").unwrap(), "C:/A.java:3-5");
        for bad in ["A.java", "A.java:", "A.java:0", "A.java:5-3", ":3", "A.java:x", "A.java:1-2-3"] {
            assert_eq!(parse(bad), Err(BugError::Location(bad.to_owned())));
        }
    }

    #[test]
    fn a_bug_is_a_project_and_the_last_part_of_its_name() {
        let parse = |text: &str| text.parse::<BugId>().map(|bug| (bug.project, bug.id));
        assert_eq!(parse("Closure-133"), Ok(("Closure".into(), "133".into())));
        assert_eq!(parse("HumanEval-Java-ADD"), Ok(("HumanEval-Java".into(), "ADD".into())));
        for bad in ["Closure", "Closure-", "-1", "Closure/1", "../x-1", ""] {
            assert_eq!(parse(bad), Err(BugError::Id(bad.to_owned())));
        }
    }

    #[test]
    fn an_insertion_has_one_line() {
        let place: Location = "A.java:3-5".parse().unwrap();
        assert_eq!(place.lines(true), Err(BugError::InsertRange));
        assert_eq!(place.lines(false), Ok(Lines::Replace { first: 3, last: 5 }));
    }
}
