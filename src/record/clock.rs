//! What each sample had cost when it was drawn.

use serde::{Deserialize, Serialize};

/// A line of `clock.jsonl`. Sums over all processes that worked on the bug; what one of them did after its last sample is
/// left out when it is killed. No run decides anything by them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockLine {
    /// The sample.
    pub index: usize,
    /// Wall-clock time of drawing.
    pub seconds: f64,
    /// Steps of the model.
    pub steps: u64,
    /// Positions that it computed in them.
    pub positions: u64,
    /// Questions to the language server.
    pub questions: u64,
    /// Continuations refused.
    pub refused: u64,
}

impl ClockLine {
    /// The sums after a process has spent `own`, counted from its start.
    #[must_use]
    pub fn and(&self, own: &ClockLine) -> ClockLine {
        ClockLine {
            index: own.index,
            seconds: self.seconds + own.seconds,
            steps: self.steps + own.steps,
            positions: self.positions + own.positions,
            questions: self.questions + own.questions,
            refused: self.refused + own.refused,
        }
    }
}
