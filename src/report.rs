//! Figures and tables of runs, derived from their records alone.
//!
//! Invariants: nothing here writes to a record, and no figure is kept besides it; a plausible patch is called correct
//! only where a person said so; every rate names what it is a rate of. Deliberately absent: reading settings, printing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::record::RecordError;

pub mod differences;
pub mod estimate;
pub mod figures;
pub mod html;
pub mod judgements;
pub mod paper;
pub mod rates;
pub mod sarif;
pub mod table;
mod tables;
pub mod unit;
pub mod venn;

use figures::{UnitFigures, VariantFigures};
use judgements::Judgements;
use unit::Unit;
use venn::{Lists, Region, regions};

/// Version of the report's JSON.
pub const VERSION: u32 = 1;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// Nothing was recorded there.
    #[error("`{}` holds no run: no `patches.jsonl` lies below it", .0.display())]
    NoRun(PathBuf),
    /// Two records of one unit.
    #[error("`{}` and `{}` are of one bug, variant and seed: name one of them", .first.display(), .second.display())]
    Twice {
        /// One run directory.
        first: PathBuf,
        /// The other one.
        second: PathBuf,
    },
    /// A directory cannot be looked through.
    #[error("cannot read `{}`", .root.display())]
    Walk {
        /// Where.
        root: PathBuf,
        /// What the system said.
        #[source]
        source: walkdir::Error,
    },
    /// A list of bugs that cannot be used.
    #[error("cannot use `{}`: {reason}", .file.display())]
    List {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A table cannot be written.
    #[error("cannot write the table")]
    Csv(#[from] csv::Error),
}

/// All figures of some runs.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// [`VERSION`].
    pub version: u32,
    /// By variant.
    pub variants: Vec<VariantFigures>,
    /// By bug, variant and seed.
    pub units: Vec<UnitFigures>,
    /// Bugs with plausible patches by the variants that have them.
    pub venn_plausible: Vec<Region>,
    /// Bugs with correct patches by the variants and other tools that have them; empty without judgements and lists.
    pub venn_correct: Vec<Region>,
    /// Whether somebody has judged anything.
    pub is_judged: bool,
}

impl Report {
    /// Figures of units; `others` are other tools' correctly mended bugs.
    pub fn of(units: &[Unit], judgements: &Judgements, others: &Lists) -> Self {
        let mut by_variant: BTreeMap<&str, Vec<&Unit>> = BTreeMap::new();
        for unit in units {
            by_variant.entry(&unit.variant).or_default().push(unit);
        }
        let variants: Vec<VariantFigures> = by_variant
            .iter()
            .map(|(variant, units)| VariantFigures::of(variant, units, judgements))
            .collect();
        let plausible: Lists = variants
            .iter()
            .map(|figures| (figures.variant.clone(), figures.plausible_bugs.clone()))
            .collect();
        let mut correct = others.clone();
        correct
            .extend(variants.iter().map(|figures| (figures.variant.clone(), figures.correct_bugs.clone())));
        Self {
            version: VERSION,
            units: units.iter().map(|unit| UnitFigures::of(unit, judgements)).collect(),
            venn_plausible: regions(&plausible),
            venn_correct: regions(&correct),
            is_judged: !judgements.is_empty(),
            variants,
        }
    }
}
