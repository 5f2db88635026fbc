//! How many of the first draws compile and pass, by each way of counting them.

use serde::Serialize;

use super::unit::{Draw, Unit};
use crate::validate::verdict::Outcome;

/// The paper's cuts.
pub const CUTS: [usize; 4] = [30, 100, 1000, 5000];

/// Counts over some draws.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Rate {
    /// Draws.
    pub of: usize,
    /// Those that compile.
    pub compilable: usize,
    /// Those that pass all tests.
    pub plausible: usize,
    /// Those without a verdict: they count as neither.
    pub unjudged: usize,
}

impl Rate {
    /// Share that compiles, `None` of nothing.
    pub fn compile_rate(&self) -> Option<f64> {
        (self.of > 0).then(|| self.compilable as f64 / self.of as f64)
    }

    /// Share that passes all tests, `None` of nothing.
    pub fn plausible_rate(&self) -> Option<f64> {
        (self.of > 0).then(|| self.plausible as f64 / self.of as f64)
    }
}

impl std::ops::AddAssign for Rate {
    fn add_assign(&mut self, other: Self) {
        self.of += other.of;
        self.compilable += other.compilable;
        self.plausible += other.plausible;
        self.unjudged += other.unjudged;
    }
}

/// The first draws, counted in three ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Rates {
    /// The first draws begun.
    pub started: Rate,
    /// The first draws that came to an end.
    pub finished: Rate,
    /// The first texts that were new.
    pub unique: Rate,
}

impl std::ops::AddAssign for Rates {
    fn add_assign(&mut self, other: Self) {
        self.started += other.started;
        self.finished += other.finished;
        self.unique += other.unique;
    }
}

impl Rates {
    /// Of the first `n` draws of a unit, by each count.
    pub fn at(unit: &Unit, n: usize) -> Self {
        let finished = |draw: &&Draw| draw.end.is_some();
        let unique = |draw: &&Draw| draw.end.is_some_and(|end| end.is_new);
        Self {
            started: count(unit, unit.draws.iter().take(n)),
            finished: count(unit, unit.draws.iter().filter(finished).take(n)),
            unique: count(unit, unit.draws.iter().filter(unique).take(n)),
        }
    }

    /// Of all draws of a unit.
    pub fn of_all(unit: &Unit) -> Self {
        Self::at(unit, usize::MAX)
    }
}

fn count<'a>(unit: &Unit, draws: impl Iterator<Item = &'a Draw>) -> Rate {
    let mut rate = Rate::default();
    for draw in draws {
        rate.of += 1;
        let Some(end) = draw.end else { continue };
        // The buggy text compiles, as the baseline shows, and is not plausible.
        let outcome = end.sample.map_or(Some(None), |index| unit.outcome(index).map(Some));
        match outcome {
            None => rate.unjudged += 1,
            Some(Some(Outcome::Uncompilable)) => {}
            Some(outcome) => {
                rate.compilable += 1;
                rate.plausible += usize::from(outcome == Some(Outcome::Plausible));
            }
        }
    }
    rate
}
