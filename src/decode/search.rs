//! The search of one hole: the tree says what to compute, the model computes it, in batches.
//!
//! The earliest edges that need the model go into one step, and what lies a little beyond the earliest is computed
//! ahead. While the model computes one full batch, the tree follows further bells and has them judged by the engine for
//! the next one. The samples come out in the order of their bells whatever the batch size is and whatever was computed
//! when. Going back to a node costs nothing; a position is computed once, but for the rare token that its node does not
//! name.

use std::collections::HashMap;

use crate::cloze::Cloze;
use crate::decode::clock::Proposal;
use crate::decode::ground::Ground;
use crate::decode::memo::{Event, Memo};
use crate::decode::oracle::Oracle;
use crate::decode::proposer::Proposer;
use crate::decode::tree::{Candidate, Tree, Turn};
use crate::decode::{Counters, DecodeError, Next, Sample, Sampler, Settings, StopReason};
use crate::model::{KvNode, Model, ModelError, Position, Row};
use crate::retrieval::Prior;
use crate::token::TokenId;

/// Edges followed before the caller is asked whether to go on; where most are refused, a batch takes long to fill.
const LOOK_AGAIN: usize = 256;
/// A batch reaches this far beyond its earliest edge, in logarithms of time: what rings later than four times the
/// earliest is needed only if the search goes on that long, and would make the earliest wait.
const AHEAD: f64 = 1.386;
/// Nodes at least as likely keep their whole distribution: their unnamed tokens ring again and again.
const LIKELY: f64 = 0.02;
/// Most nodes that do, each with 4 bytes for every token of the vocabulary.
const MOST_WHOLE: usize = 256;
/// Smaller batches are computed alone: what is collected meanwhile is not the earliest, and somebody waits for that.
const OVERLAP_FROM: usize = 8;

/// The search of one hole.
pub struct Search<'a> {
    model: &'a mut (dyn Model + Send),
    tree: Tree<'a>,
    settings: Settings,
    proposer: Proposer,
    /// Whole distributions of likely nodes.
    whole: HashMap<usize, Vec<f32>>,
    /// The next step's batch as far as it is collected.
    batch: Vec<Work>,
}

/// What the model is needed for.
enum Work {
    /// A new node.
    Open(Candidate),
    /// A node's distribution once more: a token that its proposal does not name has rung.
    Again { node: usize, share: f64, time: f64 },
}

impl Work {
    /// Nothing that comes of it rings earlier.
    fn time(&self) -> f64 {
        match self {
            Self::Open(candidate) => candidate.time(),
            Self::Again { time, .. } => *time,
        }
    }
}

impl<'a> Search<'a> {
    /// Primes the model with the prompt and opens the root.
    pub fn new(
        model: &'a mut (dyn Model + Send),
        oracle: Oracle<'a>,
        cloze: &'a Cloze,
        prompt: &[TokenId],
        settings: Settings,
        prior: Option<Prior>,
        memo: Memo,
    ) -> Result<Self, DecodeError> {
        let (ground, proposer, root) = Ground::open(model, cloze, prompt, settings, prior)?;
        let tree = Tree::new(oracle, ground, memo, || Proposal::new(&root, 0.0));
        let whole = HashMap::from([(Tree::ROOT, root)]);
        Ok(Self { model, tree, settings, proposer, whole, batch: Vec::new() })
    }

    /// Collects the earliest edges that need the model. A leaf that is earlier than all of them is a sample.
    fn gather(&mut self) -> Option<Sample> {
        self.tree.resume();
        for _ in 0..LOOK_AGAIN {
            let first = earliest(&self.batch);
            if self.batch.len() >= self.settings.batch || self.tree.next_time() > first + AHEAD {
                break;
            }
            let turn = turn(&mut self.tree, &self.whole, first);
            match turn {
                Turn::Candidate(candidate) => self.batch.push(Work::Open(candidate)),
                Turn::Sample(sample) => return Some(sample),
                Turn::Rest { node, share, time } => self.batch.push(Work::Again { node, share, time }),
                Turn::Empty => break,
                Turn::Taken => {}
            }
        }
        None
    }

    /// One step of the model for the collected batch; meanwhile the next one is collected.
    fn expand(&mut self) -> Result<(), DecodeError> {
        let batch = std::mem::take(&mut self.batch);
        let jobs: Vec<Job> = batch.iter().map(|work| Job::new(&self.tree, work)).collect();
        let n_positions: usize = jobs.iter().map(|job| job.row.tokens.len()).sum();
        let counters = self.tree.count();
        counters.steps += 1;
        counters.positions += n_positions as u64;
        let (model, proposer) = (&mut *self.model, &self.proposer);
        let (tree, whole) = (&mut self.tree, &self.whole);
        let computed = if batch.len() < self.settings.batch.max(OVERLAP_FROM) {
            compute(model, proposer, jobs)
        } else {
            let horizon = earliest(&batch) + AHEAD;
            std::thread::scope(|scope| {
                let computing = scope.spawn(|| compute(model, proposer, jobs));
                let is_done = || computing.is_finished();
                self.batch = look_ahead(tree, whole, (self.settings.batch, horizon), is_done);
                computing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        };
        for (work, computed) in batch.into_iter().zip(computed?) {
            self.settle(work, computed);
        }
        Ok(())
    }

    fn settle(&mut self, work: Work, computed: Computed) {
        let Computed { positions, probabilities, proposal } = computed;
        match work {
            Work::Open(candidate) => {
                let is_likely = self.tree.log_p(&candidate) >= LIKELY.ln();
                let node = self.tree.settle(candidate, &positions, proposal);
                if is_likely && self.whole.len() < MOST_WHOLE {
                    self.whole.insert(node, probabilities);
                }
            }
            Work::Again { node, share, time } => {
                if let Turn::Candidate(candidate) = self.tree.open_rest(node, share, time, &probabilities) {
                    self.batch.push(Work::Open(candidate));
                }
            }
        }
    }
}

impl Sampler for Search<'_> {
    fn counters(&self) -> Counters {
        self.tree.counters()
    }

    fn take_events(&mut self) -> Vec<Event> {
        self.tree.take_events()
    }

    fn next(&mut self, watch: &mut dyn FnMut(&Counters) -> bool) -> Result<Next, DecodeError> {
        loop {
            if watch(self.tree.count()) {
                return Ok(Next::Stopped(StopReason::Interrupted));
            }
            if let Some(sample) = self.gather() {
                return Ok(Next::Sample(sample));
            }
            let over = self
                .settings
                .max_draws
                .is_some_and(|draws| self.tree.next_time().min(earliest(&self.batch)) > (draws as f64).ln());
            if over {
                return Ok(Next::Stopped(StopReason::Exhausted));
            }
            if self.batch.is_empty() {
                if self.tree.is_exhausted() {
                    return Ok(Next::Stopped(StopReason::Exhausted));
                }
                continue;
            }
            if let Some(stop) = self.settings.limit(self.tree.count().steps, self.tree.questions()) {
                return Ok(Next::Stopped(stop));
            }
            self.expand()?;
        }
    }
}

/// One row of a step, and what its distribution depends on besides the logits.
struct Job {
    row: Row,
    path: Vec<TokenId>,
    log_p: f64,
}

impl Job {
    fn new(tree: &Tree, work: &Work) -> Self {
        match work {
            Work::Open(candidate) => Self {
                row: tree.row_of(candidate),
                path: tree.path_to(candidate),
                log_p: tree.log_p(candidate),
            },
            Work::Again { node, .. } => {
                Self { row: tree.row_again(*node), path: tree.path(*node), log_p: 0.0 }
            }
        }
    }
}

/// What came of a job.
struct Computed {
    positions: Vec<KvNode>,
    probabilities: Vec<f32>,
    proposal: Proposal,
}

fn compute(model: &mut dyn Model, proposer: &Proposer, jobs: Vec<Job>) -> Result<Vec<Computed>, ModelError> {
    let (rows, paths): (Vec<Row>, Vec<_>) =
        jobs.into_iter().map(|job| (job.row, (job.path, job.log_p))).unzip();
    let results = model.extend(&rows)?;
    let propose = |(positions, (path, log_p)): (Vec<Position>, (Vec<TokenId>, f64))| {
        let probabilities = proposer.probabilities(&path, last_logits(&positions));
        let proposal = Proposal::new(&probabilities, log_p);
        let positions = positions.iter().map(|position| position.node).collect();
        Computed { positions, probabilities, proposal }
    };
    Ok(results.into_iter().zip(paths).map(propose).collect())
}

/// Takes the queue's earliest entry; an unnamed token of a node whose distribution is at hand is looked up.
fn turn(tree: &mut Tree, whole: &HashMap<usize, Vec<f32>>, before: f64) -> Turn {
    match tree.turn(before) {
        Turn::Rest { node, share, time } if whole.contains_key(&node) => {
            tree.open_rest(node, share, time, &whole[&node])
        }
        turn => turn,
    }
}

/// Follows bells while the model computes: at most so many candidates, none that rings later than so. Nothing is
/// emitted, since what is being computed may come first.
fn look_ahead(
    tree: &mut Tree,
    whole: &HashMap<usize, Vec<f32>>,
    (size, horizon): (usize, f64),
    is_done: impl Fn() -> bool,
) -> Vec<Work> {
    let mut batch = Vec::new();
    while batch.len() < size && tree.next_time() <= horizon {
        match turn(tree, whole, f64::NEG_INFINITY) {
            Turn::Candidate(candidate) => batch.push(Work::Open(candidate)),
            Turn::Rest { node, share, time } => batch.push(Work::Again { node, share, time }),
            Turn::Sample(_) | Turn::Empty => break,
            Turn::Taken => {}
        }
        if is_done() {
            break;
        }
    }
    batch
}

pub(super) fn last_logits(positions: &[Position]) -> &[f32] {
    &positions.last().expect("a row has a token").logits
}

/// The earliest of a batch: nothing below it rings before.
fn earliest(batch: &[Work]) -> f64 {
    batch.iter().map(Work::time).fold(f64::INFINITY, f64::min)
}
