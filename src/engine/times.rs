//! How long answers take: quantiles in bounded memory.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// Significant decimal digits that are kept of a time.
const DIGITS: u8 = 2;
/// Longest time that is told from longer ones: an hour in microseconds.
const LONGEST: u64 = 3_600_000_000;

/// Times of one kind of answer, in microseconds.
#[derive(Debug, Clone)]
pub struct Times {
    wall: Histogram<u64>,
    cpu: Histogram<u64>,
}

/// The usual quantiles, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Quantiles {
    /// How many.
    pub n: u64,
    /// Half are no longer.
    pub p50: u64,
    /// Nine in ten are no longer.
    pub p90: u64,
    /// All but one in a hundred are no longer.
    pub p99: u64,
}

impl Default for Times {
    fn default() -> Self {
        let empty = || Histogram::new_with_bounds(1, LONGEST, DIGITS).expect("the bounds are constant");
        Self { wall: empty(), cpu: empty() }
    }
}

impl Times {
    /// Takes one answer in.
    pub fn record(&mut self, wall: Duration, cpu_micros: u64) {
        self.wall.saturating_record(wall.as_micros().try_into().unwrap_or(u64::MAX));
        self.cpu.saturating_record(cpu_micros);
    }

    /// Time from the question to the answer.
    pub fn wall(&self) -> Quantiles {
        quantiles(&self.wall)
    }

    /// Processor time of the thread that answered.
    pub fn cpu(&self) -> Quantiles {
        quantiles(&self.cpu)
    }
}

fn quantiles(times: &Histogram<u64>) -> Quantiles {
    let at = |quantile| times.value_at_quantile(quantile);
    Quantiles { n: times.len(), p50: at(0.5), p90: at(0.9), p99: at(0.99) }
}
