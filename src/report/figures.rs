//! Figures of units, and of the units of a variant together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Serialize;

use super::estimate::Estimate;
use super::judgements::{Judgements, Opinion};
use super::rates::{CUTS, Rate, Rates};
use super::unit::Unit;
use crate::record::UnitEnd;
use crate::validate::verdict::Stage;

/// How far a unit has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It has its result.
    Finished,
    /// It was interrupted, or goes on.
    Unfinished,
    /// Something broke.
    Failed,
}

/// The first draws of some units.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cut {
    /// How many draws of each unit at most.
    pub top: usize,
    /// Units that have as many new texts.
    pub full: usize,
    /// Counts, summed over units.
    #[serde(flatten)]
    pub rates: Rates,
    /// Mean over units of the share of the new texts that compiles.
    pub mean_compile_rate: Option<f64>,
}

/// What was spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Costs {
    /// Tokens of the new texts.
    pub tokens: u64,
    /// Positions that the model computed.
    pub positions: u64,
    /// Questions to the language server.
    pub questions: u64,
    /// Wall-clock time of drawing.
    pub drawing_seconds: f64,
    /// Of compiling, in validation.
    pub compile_seconds: f64,
    /// Of all tests.
    pub test_seconds: f64,
}

impl std::ops::AddAssign for Costs {
    fn add_assign(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.positions += other.positions;
        self.questions += other.questions;
        self.drawing_seconds += other.drawing_seconds;
        self.compile_seconds += other.compile_seconds;
        self.test_seconds += other.test_seconds;
    }
}

/// What people said of plausible patches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Opinions {
    /// Called correct.
    pub correct: usize,
    /// Called wrong.
    pub wrong: usize,
    /// Looked at, and undecided.
    pub unsure: usize,
    /// Not looked at.
    pub none: usize,
}

/// One bug with one variant and one seed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnitFigures {
    /// The bug.
    pub bug: String,
    /// The variant.
    pub variant: String,
    /// The seed.
    pub seed: u64,
    /// Its run directory.
    pub run: PathBuf,
    /// How far it has come.
    pub state: State,
    /// Why no further sample was drawn.
    pub stop: Option<String>,
    /// What broke.
    pub failure: Option<String>,
    /// Counts over all draws.
    #[serde(flatten)]
    pub all: Rates,
    /// Counts over the first draws.
    pub cuts: Vec<Cut>,
    /// The first plausible sample.
    pub first_plausible: Option<usize>,
    /// What people said of the plausible ones.
    pub opinions: Opinions,
    /// What was spent.
    pub costs: Costs,
}

/// All units of a variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VariantFigures {
    /// The variant.
    pub variant: String,
    /// Its bugs.
    pub bugs: usize,
    /// Its seeds.
    pub seeds: BTreeSet<u64>,
    /// Units, and those that are not finished.
    pub units: usize,
    /// Those that failed.
    pub failed: usize,
    /// Those that are interrupted or go on.
    pub unfinished: usize,
    /// Counts over all draws, pooled.
    #[serde(flatten)]
    pub all: Rates,
    /// Counts over the first draws, pooled.
    pub cuts: Vec<Cut>,
    /// Bugs with a plausible patch from any seed.
    pub plausible_bugs: BTreeSet<String>,
    /// Bugs with a patch that a person called correct, from any seed.
    pub correct_bugs: BTreeSet<String>,
    /// What people said of all plausible ones.
    pub opinions: Opinions,
    /// Share of new texts that compiles, pooled for each seed.
    pub compile_rate: Option<Estimate>,
    /// Share of new texts that is plausible, pooled for each seed.
    pub plausible_rate: Option<Estimate>,
    /// Bugs with a plausible patch, for each seed.
    pub plausible_bugs_by_seed: Option<Estimate>,
    /// What was spent.
    pub costs: Costs,
}

impl UnitFigures {
    /// Figures of a unit.
    pub fn of(unit: &Unit, judgements: &Judgements) -> Self {
        Self {
            bug: unit.bug.clone(),
            variant: unit.variant.clone(),
            seed: unit.seed,
            run: unit.run.clone(),
            state: state(unit),
            stop: unit.summary["stop"].as_str().map(str::to_owned),
            failure: unit.failure().map(str::to_owned),
            all: Rates::of_all(unit),
            cuts: cuts(&[unit]),
            first_plausible: unit.plausible().iter().map(|line| line.index).min(),
            opinions: opinions(unit, judgements),
            costs: costs(unit),
        }
    }
}

impl VariantFigures {
    /// Figures of the units of one variant.
    pub fn of(variant: &str, units: &[&Unit], judgements: &Judgements) -> Self {
        let mut all = Rates::default();
        let (mut said, mut spent) = (Opinions::default(), Costs::default());
        let (mut plausible_bugs, mut correct_bugs) = (BTreeSet::new(), BTreeSet::new());
        let mut seeds: BTreeMap<u64, (Rate, BTreeSet<&str>)> = BTreeMap::new();
        for unit in units {
            let rates = Rates::of_all(unit);
            all += rates;
            spent += costs(unit);
            let own = opinions(unit, judgements);
            said.correct += own.correct;
            said.wrong += own.wrong;
            said.unsure += own.unsure;
            said.none += own.none;
            let seed = seeds.entry(unit.seed).or_default();
            seed.0 += rates.unique;
            if rates.unique.plausible > 0 {
                plausible_bugs.insert(unit.bug.clone());
                seed.1.insert(&unit.bug);
            }
            if own.correct > 0 {
                correct_bugs.insert(unit.bug.clone());
            }
        }
        let count = |wanted| units.iter().filter(|unit| state(unit) == wanted).count();
        let rates = |rate: fn(&Rate) -> Option<f64>| {
            Estimate::of(&seeds.values().filter_map(|(sum, _)| rate(sum)).collect::<Vec<_>>())
        };
        Self {
            variant: variant.to_owned(),
            bugs: units.iter().map(|unit| &unit.bug).collect::<BTreeSet<_>>().len(),
            units: units.len(),
            failed: count(State::Failed),
            unfinished: count(State::Unfinished),
            all,
            cuts: cuts(units),
            plausible_bugs,
            correct_bugs,
            opinions: said,
            compile_rate: rates(Rate::compile_rate),
            plausible_rate: rates(Rate::plausible_rate),
            plausible_bugs_by_seed: Estimate::of(
                &seeds.values().map(|(_, bugs)| bugs.len() as f64).collect::<Vec<_>>(),
            ),
            seeds: seeds.into_keys().collect(),
            costs: spent,
        }
    }
}

/// How far a unit has come. A run outside a campaign has its summary when it is finished.
pub fn state(unit: &Unit) -> State {
    match &unit.end {
        Some(UnitEnd::Failed { .. }) => State::Failed,
        None if unit.summary.is_null() => State::Unfinished,
        Some(UnitEnd::Finished) | None => State::Finished,
    }
}

/// The paper's cuts that some unit reaches, and the first one in any case.
fn cuts(units: &[&Unit]) -> Vec<Cut> {
    let of = |top: usize| {
        let mut rates = Rates::default();
        let (mut full, mut shares) = (0, Vec::new());
        for unit in units {
            let own = Rates::at(unit, top);
            rates += own;
            full += usize::from(own.unique.of == top);
            shares.extend(own.unique.compile_rate());
        }
        let mean = (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64);
        Cut { top, full, rates, mean_compile_rate: mean }
    };
    let cuts = CUTS.map(of);
    cuts.into_iter().enumerate().filter(|(at, cut)| *at == 0 || cut.full > 0).map(|(_, cut)| cut).collect()
}

fn opinions(unit: &Unit, judgements: &Judgements) -> Opinions {
    let mut opinions = Opinions::default();
    for line in unit.plausible() {
        match judgements.of(&unit.bug, &line.fill) {
            Some(Opinion::Correct) => opinions.correct += 1,
            Some(Opinion::Wrong) => opinions.wrong += 1,
            Some(Opinion::Unsure) => opinions.unsure += 1,
            None => opinions.none += 1,
        }
    }
    opinions
}

fn costs(unit: &Unit) -> Costs {
    let last = unit.clock.last().copied().unwrap_or_default();
    let stages = unit.verdicts.values().filter(|line| !line.repeated).flat_map(|line| &line.stages);
    let (compile, tests): (Vec<_>, Vec<_>) = stages.partition(|stage| stage.stage == Stage::Compile);
    let seconds = |stages: Vec<&super::unit::StageLine>| {
        stages.iter().map(|stage| stage.millis).sum::<u64>() as f64 / 1000.0
    };
    Costs {
        tokens: unit.samples.iter().map(|line| line.tokens.len() as u64).sum(),
        positions: last.positions,
        questions: last.questions,
        drawing_seconds: last.seconds,
        compile_seconds: seconds(compile),
        test_seconds: seconds(tests),
    }
}
