//! Which plausible patches a person called correct. Nothing here is ever inferred.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::digest::sha256;
use crate::java::lexer::normal_form;
use crate::record::{RecordError, read_lines};

/// Name of the file in a run's or a campaign's directory.
pub const FILE: &str = "judgements.jsonl";

/// What a person says of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Opinion {
    /// It does what the program should do.
    Correct,
    /// It passes the tests and is wrong.
    Wrong,
    /// Looked at, and undecided.
    Unsure,
}

/// A line of `judgements.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The bug.
    pub bug: String,
    /// [`patch_id`] of the fill: the same text in another run has the same judgement.
    pub patch: String,
    /// What was said.
    pub judgement: Opinion,
    /// Who said it.
    pub by: String,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The fill as it was shown.
    pub fill: String,
}

/// Names a fill's text: equal for fills that differ in layout and comments only. 16 hexadecimal digits.
pub fn patch_id(fill: &str) -> String {
    sha256(&normal_form(fill))[..16].to_owned()
}

/// Judgements by bug and patch; the last one counts.
#[derive(Debug, Clone, Default)]
pub struct Judgements(HashMap<(String, String), Opinion>);

impl Judgements {
    /// Reads the files that are there, in this order.
    pub fn read(files: &[PathBuf]) -> Result<Self, RecordError> {
        let mut own = Self::default();
        for file in files {
            own.extend(read_lines(file, |_| true)?);
        }
        Ok(own)
    }

    /// The files beside the runs that a report is of.
    pub fn beside(roots: &[PathBuf]) -> Vec<PathBuf> {
        roots.iter().map(|root: &PathBuf| Path::join(root, FILE)).collect()
    }

    fn extend(&mut self, judgements: Vec<Judgement>) {
        self.0.extend(judgements.into_iter().map(|line| ((line.bug, line.patch), line.judgement)));
    }

    /// What was said of a fill, if anything was.
    pub fn of(&self, bug: &str, fill: &str) -> Option<Opinion> {
        self.0.get(&(bug.to_owned(), patch_id(fill))).copied()
    }

    /// Whether nothing was said of anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgement(fill: &str, judgement: Opinion) -> Judgement {
        let (bug, by) = ("A-1".to_owned(), "x".to_owned());
        Judgement { bug, patch: patch_id(fill), judgement, by, note: String::new(), fill: fill.to_owned() }
    }

    #[test]
    fn the_last_judgement_counts_for_every_layout_of_the_text() {
        let mut judgements = Judgements::default();
        judgements
            .extend(vec![judgement("\na = b;", Opinion::Correct), judgement("\na  =  b ;", Opinion::Wrong)]);
        assert_eq!(judgements.of("A-1", "\n\ta=b;"), Some(Opinion::Wrong));
        assert_eq!(judgements.of("A-2", "\n\ta=b;"), None);
        assert_eq!(judgements.of("A-1", "\na = c;"), None);
    }
}
