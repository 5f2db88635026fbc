//! What a campaign says of one of its units: which it is, and how it ended.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// `unit.json` in the run directory of a unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnitRecord {
    /// The bug.
    pub bug: String,
    /// The variant's name.
    pub variant: String,
    /// Seed of the search.
    pub seed: u64,
    /// The flags of `repair` that do the same by themselves.
    pub command: Vec<String>,
    /// How it ended.
    #[serde(flatten)]
    pub end: UnitEnd,
    /// Wall-clock time of the process that ended it, waiting included.
    pub seconds: f64,
}

/// How a unit ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum UnitEnd {
    /// All samples were drawn and judged.
    Finished,
    /// Something broke.
    Failed {
        /// What, with its causes.
        error: String,
        /// The exit code that `repair` would have had.
        exit: u8,
    },
}

/// A unit that a campaign has set out to do, as `campaign.json` lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedUnit {
    /// The bug.
    pub bug: String,
    /// The variant's name.
    pub variant: String,
    /// Seed of the search.
    pub seed: u64,
}

impl PlannedUnit {
    /// Its run directory, relative to the campaign's.
    pub fn dir(&self) -> PathBuf {
        [self.variant.clone(), format!("seed-{}", self.seed), self.bug.clone()].iter().collect()
    }
}
