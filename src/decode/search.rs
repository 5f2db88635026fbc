//! The search of one hole: the tree says what to compute, the model computes it, in batches.
//!
//! The earliest edges that need the model go into one step, and what lies beyond a leaf that cannot be emitted yet is
//! computed ahead. While the model computes one batch, the tree follows further bells and has them judged by the engine
//! for the next one. The samples come out in the order of their bells whatever the batch size is and whatever was
//! computed when. Going back to a node costs nothing; a position is computed once.

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
/// Bytes before the hole that hold the prior's longest context, eight tokens, many times over.
const PRIOR_SIGHT: usize = 600;
/// Edges in the first step of the model.
const FIRST_BATCH: usize = 4;
/// Smaller batches are computed alone: what is collected meanwhile is not the earliest, and somebody waits for that.
const OVERLAP_FROM: usize = 8;

/// The search of one hole.
pub struct Search<'a> {
    model: &'a mut (dyn Model + Send),
    tree: Tree<'a>,
    settings: Settings,
    proposer: Proposer,
    root_logits: Vec<f32>,
    /// The next step's batch as far as it is collected.
    batch: Vec<Candidate>,
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
        let ground = Ground::new(model, cloze, settings)?;
        let prefix = model.encode(tail(&cloze.prefix)).unwrap_or_default();
        let proposer = Proposer::new(settings.truncation, prior, prefix, ground.end_tokens.clone());
        let root_logits = model.prime(prompt)?;
        let root = || Proposal::new(&proposer.probabilities(&[], &root_logits), 0.0);
        let tree = Tree::new(oracle, ground, memo, root);
        Ok(Self { model, tree, settings, proposer, root_logits, batch: Vec::new() })
    }

    /// Little is ahead of the first samples, and they are waited for: the batch grows with the search.
    fn batch_size(&mut self) -> usize {
        self.settings.batch.min(FIRST_BATCH + self.tree.count().steps as usize / 2)
    }

    /// Collects the earliest edges that need the model. A leaf that is earlier than all of them is a sample.
    fn gather(&mut self) -> Result<Option<Sample>, DecodeError> {
        let size = self.batch_size();
        self.tree.resume();
        for _ in 0..LOOK_AGAIN {
            if self.batch.len() >= size {
                break;
            }
            let turn = match self.tree.turn(earliest(&self.batch)) {
                Turn::Rest { node, share, time } => {
                    let probabilities = self.probabilities(node)?;
                    self.tree.open_rest(node, share, time, &probabilities)
                }
                turn => turn,
            };
            match turn {
                Turn::Candidate(candidate) => self.batch.push(candidate),
                Turn::Sample(sample) => return Ok(Some(sample)),
                Turn::Empty => break,
                Turn::Taken | Turn::Rest { .. } => {}
            }
        }
        Ok(None)
    }

    /// One step of the model for the collected batch; meanwhile the next one is collected.
    fn expand(&mut self) -> Result<(), DecodeError> {
        let batch = std::mem::take(&mut self.batch);
        let jobs: Vec<Job> = batch.iter().map(|candidate| Job::new(&self.tree, candidate)).collect();
        let n_positions: usize = jobs.iter().map(|job| job.row.tokens.len()).sum();
        let counters = self.tree.count();
        counters.steps += 1;
        counters.positions += n_positions as u64;
        let (model, proposer, tree) = (&mut *self.model, &self.proposer, &mut self.tree);
        let computed = if batch.len() < self.settings.batch.max(OVERLAP_FROM) {
            compute(model, proposer, jobs)
        } else {
            std::thread::scope(|scope| {
                let computing = scope.spawn(|| compute(model, proposer, jobs));
                let is_done = || computing.is_finished();
                self.batch = look_ahead(tree, self.settings.batch, is_done);
                computing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        };
        for (candidate, (positions, proposal)) in batch.into_iter().zip(computed?) {
            self.tree.settle(candidate, &positions, proposal);
        }
        Ok(())
    }

    /// A node's whole distribution, computed once more.
    fn probabilities(&mut self, node: usize) -> Result<Vec<f32>, DecodeError> {
        let path = self.tree.path(node);
        let Some(row) = self.tree.row_again(node) else {
            return Ok(self.proposer.probabilities(&path, &self.root_logits));
        };
        let counters = self.tree.count();
        counters.steps += 1;
        counters.positions += row.tokens.len() as u64;
        let positions = self.model.extend(&[row])?.pop().expect("one row");
        Ok(self.proposer.probabilities(&path, last_logits(&positions)))
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
            if let Some(sample) = self.gather()? {
                return Ok(Next::Sample(sample));
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

/// One candidate's part of a step.
struct Job {
    row: Row,
    path: Vec<TokenId>,
    log_p: f64,
}

impl Job {
    fn new(tree: &Tree, candidate: &Candidate) -> Self {
        Self { row: tree.row_of(candidate), path: tree.path_to(candidate), log_p: tree.log_p(candidate) }
    }
}

/// Positions and proposals of all rows.
fn compute(
    model: &mut dyn Model,
    proposer: &Proposer,
    jobs: Vec<Job>,
) -> Result<Vec<(Vec<KvNode>, Proposal)>, ModelError> {
    let (rows, paths): (Vec<Row>, Vec<_>) =
        jobs.into_iter().map(|job| (job.row, (job.path, job.log_p))).unzip();
    let results = model.extend(&rows)?;
    let propose = |(positions, (path, log_p)): (Vec<Position>, (Vec<TokenId>, f64))| {
        let probabilities = proposer.probabilities(&path, last_logits(&positions));
        let nodes = positions.iter().map(|position| position.node).collect();
        (nodes, Proposal::new(&probabilities, log_p))
    };
    Ok(results.into_iter().zip(paths).map(propose).collect())
}

/// Follows bells while the model computes. Nothing is emitted, since what is being computed may come first.
fn look_ahead(tree: &mut Tree, size: usize, is_done: impl Fn() -> bool) -> Vec<Candidate> {
    let (mut batch, mut rests) = (Vec::new(), Vec::new());
    while batch.len() < size {
        match tree.turn(f64::NEG_INFINITY) {
            Turn::Candidate(candidate) => batch.push(candidate),
            // Needs the model, which is at work.
            Turn::Rest { node, share, time } => rests.push((node, share, time)),
            Turn::Sample(_) | Turn::Empty => break,
            Turn::Taken => {}
        }
        if is_done() {
            break;
        }
    }
    for (node, share, time) in rests {
        tree.put_back(node, share, time);
    }
    batch
}

pub(super) fn last_logits(positions: &[Position]) -> &[f32] {
    &positions.last().expect("a row has a token").logits
}

/// The earliest of a batch: nothing below it rings before.
fn earliest(batch: &[Candidate]) -> f64 {
    batch.iter().map(Candidate::time).fold(f64::INFINITY, f64::min)
}

/// The end of a text, from a line's start: as much as the prior can look at.
pub(super) fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(PRIOR_SIGHT);
    let line = text.as_bytes()[from..].iter().position(|&byte| byte == b'\n').map_or(from, |at| from + at);
    text.get(line..).unwrap_or(text)
}
