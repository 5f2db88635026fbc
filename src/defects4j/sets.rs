//! The sets of bugs of the Repilot paper (ESEC/FSE 2023, section 4), by its own rules.
//!
//! The paper counts 138 bugs of 1.2, 135 of 2.0 and, of these, 76 whose fix is one line, in release 2.0. A later release
//! has taken some of them out, so fewer may be listed.

use std::fmt;

use crate::bug::BugId;
use crate::bug::change::Changes;

/// Projects of release 1.2; all of their bugs but Closure's later ones.
const OF_1_2: [&str; 6] = ["Chart", "Closure", "Lang", "Math", "Mockito", "Time"];
/// Closure's bugs beyond this one came with 2.0.
const LAST_CLOSURE_OF_1_2: u32 = 133;
/// Two runs with one line between them, which the paper takes as one hunk.
const MERGED: [&str; 5] = ["Closure-19", "Closure-66", "Lang-22", "Math-3", "Time-14"];
/// Collections' bugs below this one came with 3.0.
const FIRST_COLLECTIONS_OF_2_0: u32 = 25;
/// Single hunks that the paper leaves out, without Mockito's; the diff of Cli-3 had several in 2.0.
const LEFT_OUT: [&str; 13] = [
    "Chart-11",
    "Cli-3",
    "Cli-5",
    "Cli-24",
    "JacksonCore-23",
    "JacksonCore-26",
    "JacksonDatabind-34",
    "JacksonDatabind-96",
    "JacksonDatabind-97",
    "JacksonDatabind-98",
    "JacksonDatabind-107",
    "JacksonXml-5",
    "Jsoup-47",
];

/// A set of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub enum PaperSet {
    /// Single hunks of 1.2.
    #[serde(rename = "1.2-single-hunk")]
    SingleHunk12,
    /// Single hunks of 2.0.
    #[serde(rename = "2.0-single-hunk")]
    SingleHunk20,
    /// Those of 2.0 whose fix is one line.
    #[serde(rename = "2.0-single-line")]
    SingleLine20,
}

impl fmt::Display for PaperSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PaperSet::SingleHunk12 => "1.2-single-hunk",
            PaperSet::SingleHunk20 => "2.0-single-hunk",
            PaperSet::SingleLine20 => "2.0-single-line",
        })
    }
}

/// The sets that a bug belongs to.
pub fn sets_of(bug: &BugId, changes: &Changes) -> Vec<PaperSet> {
    let name = bug.to_string();
    let is_single = changes.runs.len() == 1 && changes.whole_files.is_empty();
    let is_later =
        bug.project == "Collections" && bug.number().is_none_or(|id| id < FIRST_COLLECTIONS_OF_2_0);
    let is_in = is_single && !is_later && bug.project != "Mockito" && !LEFT_OUT.contains(&name.as_str());
    if !is_in && !MERGED.contains(&name.as_str()) {
        return Vec::new();
    }
    if is_of_1_2(bug) {
        return vec![PaperSet::SingleHunk12];
    }
    let run = &changes.runs[0];
    if run.buggy.len() <= 1 && run.fixed.len() <= 1 {
        vec![PaperSet::SingleHunk20, PaperSet::SingleLine20]
    } else {
        vec![PaperSet::SingleHunk20]
    }
}

fn is_of_1_2(bug: &BugId) -> bool {
    let is_late = bug.project == "Closure" && bug.number().is_none_or(|id| id > LAST_CLOSURE_OF_1_2);
    OF_1_2.contains(&bug.project.as_str()) && !is_late
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bug::change::read_reversed;

    /// The sets of a bug whose diff has these lines in one section.
    fn check(bug: &str, lines: &str) -> String {
        let count = |sign| lines.lines().filter(|line| line.starts_with([' ', sign])).count();
        let diff = format!("--- a/A\n+++ b/A\n@@ -1,{} +1,{} @@\n{lines}", count('-'), count('+'));
        let sets = sets_of(&bug.parse().unwrap(), &read_reversed(diff.as_bytes()).unwrap());
        sets.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn closure_is_parted_by_number() {
        assert_eq!(check("Closure-133", "-a\n+b\n"), "1.2-single-hunk");
        assert_eq!(check("Closure-134", "-a\n+b\n"), "2.0-single-hunk 2.0-single-line");
    }

    #[test]
    fn a_single_line_has_at_most_one_on_each_side() {
        assert_eq!(check("Csv-1", "-a\n"), "2.0-single-hunk 2.0-single-line");
        assert_eq!(check("Csv-1", "-a\n-b\n+c\n"), "2.0-single-hunk");
    }

    #[test]
    fn what_the_paper_leaves_out_is_in_no_set() {
        for bug in ["Mockito-1", "Cli-5", "Chart-11", "Collections-24"] {
            assert_eq!(check(bug, "-a\n+b\n"), "");
        }
    }

    #[test]
    fn two_runs_are_one_hunk_only_where_the_paper_says_so() {
        let lines = "-a\n+b\n \n-c\n+d\n";
        assert_eq!(check("Math-3", lines), "1.2-single-hunk");
        assert_eq!(check("Math-4", lines), "");
    }
}
