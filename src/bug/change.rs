//! Hunks read off a diff that leads from the fixed to the buggy program, as benchmarks keep it.
//!
//! In such a diff the `+` lines are buggy and the `-` lines are the answer. What comes out is in the buggy file's line
//! numbers. A [`Change`] holds the answer's bytes; [`Change::hunk`] is what a repair may see.

use std::path::{Path, PathBuf};

use super::{Hunk, Lines};

/// One contiguous run of changed lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// As the diff names it, without `a/` or `b/`.
    pub file: PathBuf,
    /// Lines of the buggy file.
    pub lines: Lines,
    /// The buggy lines with their terminators.
    pub buggy: Vec<Vec<u8>>,
    /// The fixed lines with their terminators.
    pub fixed: Vec<Vec<u8>>,
}

/// What is to be done to the buggy lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Other lines in their place.
    Replace,
    /// New lines where there are none.
    Insert,
    /// They go.
    Delete,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Kind::Replace => "replace",
            Kind::Insert => "insert",
            Kind::Delete => "delete",
        })
    }
}

impl Change {
    /// The place alone.
    pub fn hunk(&self) -> Hunk {
        Hunk { file: self.file.clone(), lines: self.lines }
    }

    /// What the repair does here.
    pub fn kind(&self) -> Kind {
        match (self.buggy.is_empty(), self.fixed.is_empty()) {
            (true, _) => Kind::Insert,
            (false, true) => Kind::Delete,
            (false, false) => Kind::Replace,
        }
    }
}

/// A diff that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the diff is {what}")]
pub struct DiffError {
    /// The line of the diff, 1-based.
    pub line: usize,
    /// What is wrong there.
    pub what: &'static str,
}

/// What a diff says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Runs of changed lines in files that both versions have, in the diff's order.
    pub runs: Vec<Change>,
    /// Files that only one version has.
    pub whole_files: Vec<PathBuf>,
    /// Number of `@@` sections.
    pub n_sections: usize,
}

/// Reads a unified diff from the fixed to the buggy version.
pub fn read_reversed(diff: &[u8]) -> Result<Changes, DiffError> {
    let mut reader = Reader::default();
    for (index, line) in diff.split_inclusive(|&byte| byte == b'\n').enumerate() {
        reader.take(line).map_err(|what| DiffError { line: index + 1, what })?;
    }
    if reader.fixed_left > 0 || reader.buggy_left > 0 {
        let line = diff.split(|&byte| byte == b'\n').count();
        return Err(DiffError { line, what: "the last, but its section has more lines" });
    }
    reader.close_run();
    Ok(reader.changes)
}

/// The state between two lines of a diff.
#[derive(Default)]
struct Reader {
    changes: Changes,
    /// The fixed version's path, until the buggy version's follows.
    old: Option<PathBuf>,
    /// The file of the sections that come; `None` for one that only one version has.
    file: Option<PathBuf>,
    /// Lines of the section that are still to come, by version.
    fixed_left: usize,
    buggy_left: usize,
    /// The next line of the buggy file.
    buggy_line: usize,
    run: Option<Change>,
}

impl Reader {
    fn take(&mut self, line: &[u8]) -> Result<(), &'static str> {
        if self.fixed_left > 0 || self.buggy_left > 0 {
            return self.take_content(line);
        }
        if let Some(path) = line.strip_prefix(b"--- ") {
            self.close_run();
            self.old = read_path(path);
        } else if let Some(path) = line.strip_prefix(b"+++ ") {
            self.take_file(read_path(path));
        } else if line.starts_with(b"@@ ") {
            self.close_run();
            self.take_section(line).ok_or("no section header")?;
        }
        // Everything else between sections is about the files: names, modes, hashes, `\ No newline`.
        Ok(())
    }

    fn take_file(&mut self, new: Option<PathBuf>) {
        let old = self.old.take();
        match (old, new) {
            (Some(_), Some(new)) => self.file = Some(new),
            (only, other) => {
                self.file = None;
                self.changes.whole_files.extend(only.or(other));
            }
        }
    }

    fn take_section(&mut self, line: &[u8]) -> Option<()> {
        let text = std::str::from_utf8(line.get(3..)?.split(|&byte| byte == b'@').next()?).ok()?;
        let (fixed, buggy) = text.trim().split_once(' ')?;
        let (_, fixed_count) = read_range(fixed.strip_prefix('-')?)?;
        let (buggy_first, buggy_count) = read_range(buggy.strip_prefix('+')?)?;
        (self.fixed_left, self.buggy_left) = (fixed_count, buggy_count);
        // Of an empty range the line before it is given.
        self.buggy_line = if buggy_count == 0 { buggy_first + 1 } else { buggy_first };
        self.changes.n_sections += 1;
        Some(())
    }

    fn take_content(&mut self, line: &[u8]) -> Result<(), &'static str> {
        let cut = "neither context nor a change";
        match line.first() {
            Some(b'-') => {
                self.fixed_left = self.fixed_left.checked_sub(1).ok_or(cut)?;
                self.run().fixed.push(line[1..].to_vec());
            }
            Some(b'+') => {
                self.buggy_left = self.buggy_left.checked_sub(1).ok_or(cut)?;
                self.run().buggy.push(line[1..].to_vec());
                self.buggy_line += 1;
            }
            // Editors and mailers cut the space of an empty context line.
            Some(b' ' | b'\n' | b'\r') => {
                self.fixed_left = self.fixed_left.checked_sub(1).ok_or(cut)?;
                self.buggy_left = self.buggy_left.checked_sub(1).ok_or(cut)?;
                self.close_run();
                self.buggy_line += 1;
            }
            Some(b'\\') => {}
            _ => return Err(cut),
        }
        Ok(())
    }

    fn run(&mut self) -> &mut Change {
        let (file, before) = (&self.file, self.buggy_line);
        self.run.get_or_insert_with(|| Change {
            file: file.clone().unwrap_or_default(),
            lines: Lines::Insert { before },
            buggy: Vec::new(),
            fixed: Vec::new(),
        })
    }

    fn close_run(&mut self) {
        let Some(mut run) = self.run.take() else { return };
        if !run.buggy.is_empty() {
            let first = run.lines.first();
            run.lines = Lines::Replace { first, last: first + run.buggy.len() - 1 };
        }
        if self.file.is_some() {
            self.changes.runs.push(run);
        }
    }
}

/// A path of a file header; `None` for `/dev/null`. Times and revisions follow a tab.
fn read_path(line: &[u8]) -> Option<PathBuf> {
    let text = String::from_utf8_lossy(line);
    let path = text.split('\t').next().unwrap_or_default().trim_end();
    let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
    (path != "/dev/null").then(|| Path::new(path).to_owned())
}

/// `12,3` or `12`: first line and count.
fn read_range(text: &str) -> Option<(usize, usize)> {
    let (first, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((first.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each run as `FILE:LINES -fixed +buggy`.
    fn check(diff: &str) -> Vec<String> {
        let changes = read_reversed(diff.as_bytes()).unwrap();
        let text = |lines: &[Vec<u8>]| String::from_utf8(lines.concat()).unwrap();
        let runs = changes.runs.iter();
        runs.map(|run| format!("{} -{:?} +{:?}", run.hunk(), text(&run.fixed), text(&run.buggy))).collect()
    }

    const HEADER: &str = "diff --git a/A.java b/A.java\nindex 1..2 100644\n--- a/A.java\n+++ b/A.java\n";

    #[test]
    fn buggy_lines_are_the_added_ones() {
        let runs = check(&format!("{HEADER}@@ -4,3 +4,3 @@ class A\n a\n-fixed\n+buggy\n b\n"));
        assert_eq!(runs, ["A.java:5 -\"fixed\\n\" +\"buggy\\n\""]);
    }

    #[test]
    fn lines_that_the_fix_adds_are_an_insertion() {
        let runs = check(&format!("{HEADER}@@ -4,4 +4,2 @@\n a\n-x\n-y\n b\n"));
        assert_eq!(runs, ["A.java:5-insert -\"x\\ny\\n\" +\"\""]);
    }

    #[test]
    fn lines_that_the_fix_removes_are_a_deletion() {
        let changes = read_reversed(format!("{HEADER}@@ -4,2 +4,4 @@\n a\n+x\n+y\n b\n").as_bytes()).unwrap();
        assert_eq!(changes.runs[0].lines, Lines::Replace { first: 5, last: 6 });
        assert_eq!(changes.runs[0].kind(), Kind::Delete);
    }

    #[test]
    fn one_line_of_context_parts_two_runs() {
        let runs = check(&format!("{HEADER}@@ -1,3 +1,4 @@\n-1\n+one\n+uno\n 2\n-3\n+three\n"));
        assert_eq!(runs, ["A.java:1-2 -\"1\\n\" +\"one\\nuno\\n\"", "A.java:4 -\"3\\n\" +\"three\\n\""]);
    }

    #[test]
    fn the_order_of_both_sides_does_not_matter() {
        let runs = check(&format!("{HEADER}@@ -1,1 +1,1 @@\n+b\n-a\n"));
        assert_eq!(runs, ["A.java:1 -\"a\\n\" +\"b\\n\""]);
    }

    #[test]
    fn a_removed_line_that_looks_like_a_header_is_content() {
        let runs = check(&format!("{HEADER}@@ -1,2 +1,1 @@\n--- count;\n b\n"));
        assert_eq!(runs, ["A.java:1-insert -\"-- count;\\n\" +\"\""]);
    }

    #[test]
    fn carriage_returns_stay_with_their_lines() {
        let runs = check(&format!("{HEADER}@@ -1,1 +1,1 @@\n-a\r\n+b\r\n"));
        assert_eq!(runs, ["A.java:1 -\"a\\r\\n\" +\"b\\r\\n\""]);
    }

    #[test]
    fn files_of_one_version_only_are_told_apart() {
        let diff = format!(
            "--- /dev/null\n+++ b/New.java\n@@ -0,0 +1,1 @@\n+x\n{HEADER}@@ -1 +1 @@\n-a\n+b\n\
             \\ No newline at end of file\n"
        );
        let changes = read_reversed(diff.as_bytes()).unwrap();
        assert_eq!(changes.whole_files, [PathBuf::from("New.java")]);
        assert_eq!((changes.runs.len(), changes.n_sections), (1, 2));
    }

    #[test]
    fn paths_end_at_a_tab() {
        let runs = check(
            "Index: src/A.java\n--- src/A.java\t(revision 1)\n+++ src/A.java\t(revision 2)\n@@ -1 +1 @@\n-a\n+b\n",
        );
        assert_eq!(runs, ["src/A.java:1 -\"a\\n\" +\"b\\n\""]);
    }

    #[test]
    fn a_broken_diff_names_its_line() {
        let error = |text: &str| read_reversed(format!("{HEADER}{text}").as_bytes()).unwrap_err().to_string();
        assert_eq!(error("@@ -1 @@\n"), "line 5 of the diff is no section header");
        assert_eq!(error("@@ -1 +1 @@\n-a\nb\n"), "line 7 of the diff is neither context nor a change");
        assert!(error("@@ -1 +1 @@\n-a\n").ends_with("its section has more lines"));
    }
}
