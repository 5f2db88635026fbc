//! The search tree of one hole: clocks of all open nodes in one queue, earliest bell first.
//!
//! Nodes are expanded in batches: the earliest edges that need the model go into one step, and what lies beyond a leaf
//! that cannot be emitted yet is computed ahead. The samples come out in the order of their bells whatever the batch
//! size is. Going back to a node costs nothing; a position is computed once.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, HashSet};

use serde::Serialize;

use crate::cloze::Cloze;
use crate::decode::clock::{Bell, Clock, PathKey, Proposal, child_key, root_key};
use crate::decode::memo::{Event, Memo};
use crate::decode::oracle::{DecidedBy, Oracle};
use crate::decode::partial::{Advance, Frame, Partial, Refusal};
use crate::decode::proposer::Proposer;
use crate::decode::{DecodeError, Next, Sample, Settings, StopReason};
use crate::java::lexer::{Word, normal_form};
use crate::model::{HoleEnd, KvNode, Model, Row};
use crate::retrieval::Prior;
use crate::token::TokenId;

/// Edges followed before the caller is asked whether to go on; where most are refused, a batch takes long to fill.
const LOOK_AGAIN: usize = 256;
/// Bytes before the hole that hold the prior's longest context, eight tokens, many times over.
const PRIOR_SIGHT: usize = 600;
/// Edges in the first step of the model.
const FIRST_BATCH: usize = 4;

/// What has happened so far; all counts are of this process.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Counters {
    /// Steps of the model.
    pub steps: u64,
    /// Positions that it computed in them.
    pub positions: u64,
    /// Nodes whose proposal came from an earlier process.
    pub recalled: u64,
    /// Edges that were refused, by reason: how many, and their mass under the model.
    pub refused: BTreeMap<Refusal, (u64, f64)>,
    /// Times that a token outside the kept part of a distribution was drawn.
    pub rest_opened: u64,
    /// Samples drawn.
    pub samples: u64,
    /// Probability mass of the samples drawn.
    pub mass_drawn: f64,
    /// Decisions on tokens by who took them.
    pub decided: BTreeMap<DecidedBy, u64>,
}

struct Node {
    parent: Option<usize>,
    token: TokenId,
    depth: usize,
    key: PathKey,
    log_p: f64,
    partial: Partial,
    clock: Clock,
    kv: Option<KvNode>,
}

/// A child that was accepted and waits for the model.
struct Candidate {
    parent: usize,
    token: TokenId,
    p: f64,
    time: f64,
    key: PathKey,
    partial: Partial,
}

struct Leaf {
    fill: String,
    closed: Vec<Word>,
    parent: usize,
    token: TokenId,
    p: f64,
    key: PathKey,
}

enum Entry {
    Edge { node: usize, bell: Bell },
    Leaf(Box<Leaf>),
}

struct Timed {
    time: f64,
    entry: Entry,
}

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Timed {}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timed {
    /// The heap's greatest is the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.time.total_cmp(&self.time)
    }
}

/// The search of one hole.
pub struct Search<'a> {
    model: &'a mut dyn Model,
    oracle: Oracle<'a>,
    cloze: &'a Cloze,
    settings: Settings,
    frame: Frame,
    end_tokens: Vec<TokenId>,
    /// Tokens that the line after the hole may take on top of a fill's own.
    room_for_end: usize,
    nodes: Vec<Node>,
    queue: BinaryHeap<Timed>,
    seen: HashSet<Vec<u8>>,
    proposer: Proposer,
    root_logits: Vec<f32>,
    memo: Memo,
    events: Vec<Event>,
    counters: Counters,
}

impl<'a> Search<'a> {
    /// Primes the model with the prompt and opens the root.
    pub fn new(
        model: &'a mut dyn Model,
        oracle: Oracle<'a>,
        cloze: &'a Cloze,
        prompt: &[TokenId],
        settings: Settings,
        prior: Option<Prior>,
        memo: Memo,
    ) -> Result<Self, DecodeError> {
        let (structural, end_tokens) = match model.hole_end() {
            HoleEnd::Structural => (true, Vec::new()),
            HoleEnd::Tokens(tokens) => (false, tokens),
        };
        let frame = Frame::new(cloze, structural);
        let next_line = frame.next_code_line().filter(|_| structural).unwrap_or_default();
        // What the tokenizer cannot spell takes at most a token for each byte, and tells the prior nothing.
        let room_for_end = model.encode(next_line).map_or(next_line.len(), |tokens| tokens.len());
        if structural && next_line.is_empty() {
            return Err(DecodeError::NothingFollows);
        }
        let prefix = model.encode(tail(&cloze.prefix)).unwrap_or_default();
        let proposer = Proposer::new(settings.truncation, prior, prefix, end_tokens.clone());
        let root_logits = model.prime(prompt)?;
        let mut search = Self {
            oracle,
            cloze,
            frame,
            end_tokens,
            room_for_end,
            nodes: Vec::new(),
            queue: BinaryHeap::new(),
            seen: HashSet::from([normal_form(&cloze.original)]),
            proposer,
            root_logits,
            model,
            settings,
            memo,
            events: Vec::new(),
            counters: Counters::default(),
        };
        search.open_root();
        Ok(search)
    }

    fn open_root(&mut self) {
        let key = root_key(self.settings.seed);
        let proposal = self.memo.proposal(key).unwrap_or_else(|| {
            let proposal = Proposal::new(&self.proposer.probabilities(&[], &self.root_logits));
            self.events.push(Event::Proposal { key, proposal: proposal.clone() });
            proposal
        });
        let (partial, clock) = (self.frame.empty(), Clock::root(key, proposal));
        let kv = Some(KvNode::PROMPT);
        self.nodes.push(Node { parent: None, token: 0, depth: 0, key, log_p: 0.0, partial, clock, kv });
        self.ring(0);
    }

    /// What has happened so far.
    pub fn counters(&self) -> Counters {
        Counters { decided: self.oracle.decided.clone(), ..self.counters.clone() }
    }

    /// What was learnt since the last call, to be kept with the run.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// The next sample, or why there is none. `watch` is called often; it stops the search by `true`.
    pub fn next(&mut self, watch: &mut dyn FnMut(&Counters) -> bool) -> Result<Next, DecodeError> {
        loop {
            if watch(&self.counters) {
                return Ok(Next::Stopped(StopReason::Interrupted));
            }
            let (batch, sample) = self.gather()?;
            if let Some(sample) = sample {
                return Ok(Next::Sample(sample));
            }
            if batch.is_empty() && self.queue.is_empty() {
                return Ok(Next::Stopped(StopReason::Exhausted));
            }
            if self.counters.steps >= self.settings.max_steps {
                return Ok(Next::Stopped(StopReason::Steps));
            }
            self.expand(batch)?;
        }
    }

    /// Collects the earliest edges that need the model. A leaf that is earlier than all of them is a sample.
    fn gather(&mut self) -> Result<(Vec<Candidate>, Option<Sample>), DecodeError> {
        let mut batch = Vec::new();
        let mut later = Vec::new();
        let mut sample = None;
        // Little is ahead of the first samples, and they are waited for: the batch grows with the search.
        let size = self.settings.batch.min(FIRST_BATCH + self.counters.steps as usize / 2);
        for _ in 0..LOOK_AGAIN {
            if batch.len() >= size || sample.is_some() {
                break;
            }
            let Some(Timed { time, entry }) = self.queue.pop() else { break };
            match entry {
                Entry::Leaf(leaf) if batch.is_empty() => sample = self.finish(&leaf),
                Entry::Leaf(_) => later.push(Timed { time, entry }),
                Entry::Edge { node, bell } => batch.extend(self.follow(node, bell, time)?),
            }
        }
        self.queue.extend(later);
        Ok((batch, sample))
    }

    /// Follows the edge that rang; a child that is not known yet is returned for the model.
    fn follow(&mut self, node: usize, bell: Bell, time: f64) -> Result<Option<Candidate>, DecodeError> {
        let token = match bell {
            Bell::Token(token, p) => Some((token, p)),
            Bell::Rest { share } => self.open_rest(node, share)?,
        };
        self.ring(node);
        let Some((token, p)) = token else { return Ok(None) };
        let key = child_key(self.nodes[node].key, token);
        let child = self.advance(node, token);
        match child {
            Err(refusal) => self.refuse(node, p, refusal),
            Ok(Child::Leaf { fill, closed }) => {
                let leaf = Leaf { fill, closed, parent: node, token, p, key };
                self.queue.push(Timed { time, entry: Entry::Leaf(Box::new(leaf)) });
            }
            Ok(Child::Open { partial, closed, statement }) => {
                if let Err(refusal) = self.judge(key, |oracle| oracle.judge(&partial, &closed, statement)) {
                    self.refuse(node, p, refusal);
                    return Ok(None);
                }
                let candidate = Candidate { parent: node, token, p, time, key, partial };
                if let Some(proposal) = self.memo.proposal(key) {
                    self.counters.recalled += 1;
                    self.open(candidate, proposal, None);
                    return Ok(None);
                }
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    }

    fn advance(&self, node: usize, token: TokenId) -> Result<Child, Refusal> {
        let parent = &self.nodes[node];
        if self.end_tokens.contains(&token) {
            let fill = parent.partial.fill().ok_or(Refusal::Unmappable)?;
            let closed = parent.partial.open_word().into_iter().collect();
            let balanced = self.frame.may_end(&parent.partial);
            return if balanced { Ok(Child::Leaf { fill, closed }) } else { Err(Refusal::Unbalanced) };
        }
        let bytes = self.model.vocabulary().bytes(token).ok_or(Refusal::Special)?;
        if parent.depth >= self.settings.max_tokens + self.room_for_end {
            return Err(Refusal::OverLength);
        }
        match parent.partial.advance(&self.frame, bytes) {
            Advance::Refused(refusal) => Err(refusal),
            Advance::Open { partial, closed, statement } => Ok(Child::Open { partial, closed, statement }),
            Advance::Ended { fill, closed } => Ok(Child::Leaf { fill, closed }),
        }
    }

    /// A verdict of the oracle, or the one that is remembered.
    fn judge(
        &mut self,
        key: PathKey,
        ask: impl FnOnce(&mut Oracle) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        if let Some(refusal) = self.memo.verdict(key) {
            return refusal.map_or(Ok(()), Err);
        }
        let verdict = ask(&mut self.oracle);
        self.events.push(Event::Verdict { key, refusal: verdict.err() });
        verdict
    }

    fn refuse(&mut self, parent: usize, p: f64, refusal: Refusal) {
        let (count, mass) = self.counters.refused.entry(refusal).or_default();
        *count += 1;
        *mass += self.nodes[parent].log_p.exp() * p;
    }

    /// Schedules a node's next bell.
    fn ring(&mut self, node: usize) {
        if let Some((time, bell)) = self.nodes[node].clock.ring() {
            self.queue.push(Timed { time, entry: Entry::Edge { node, bell } });
        }
    }

    /// A complete fill whose turn has come: a new sample, or refused.
    fn finish(&mut self, leaf: &Leaf) -> Option<Sample> {
        let form = normal_form(&leaf.fill);
        let refusal = if form == normal_form(&self.cloze.original) {
            Err(Refusal::Unchanged)
        } else if self.seen.contains(&form) {
            Err(Refusal::Duplicate)
        } else if self.cloze.fill(&leaf.fill).is_err() {
            Err(Refusal::Unmappable)
        } else {
            self.judge(leaf.key, |oracle| oracle.judge_end(&leaf.fill, &leaf.closed))
        };
        if let Err(refusal) = refusal {
            self.refuse(leaf.parent, leaf.p, refusal);
            return None;
        }
        self.seen.insert(form);
        let log_p = self.nodes[leaf.parent].log_p + leaf.p.ln();
        self.counters.samples += 1;
        self.counters.mass_drawn += log_p.exp();
        Some(Sample {
            index: self.counters.samples as usize,
            fill: leaf.fill.clone(),
            log_p,
            tokens: self.trace(leaf),
        })
    }

    /// The tokens from the hole's start to a node.
    fn path(&self, mut node: usize) -> Vec<TokenId> {
        let mut path = Vec::with_capacity(self.nodes[node].depth + 1);
        while let Some(parent) = self.nodes[node].parent {
            path.push(self.nodes[node].token);
            node = parent;
        }
        path.reverse();
        path
    }

    /// The texts of a leaf's tokens with their log-probabilities.
    fn trace(&self, leaf: &Leaf) -> Vec<(String, f64)> {
        let text = |token| {
            let bytes = self.model.vocabulary().bytes(token).unwrap_or_default();
            String::from_utf8_lossy(bytes).into_owned()
        };
        let mut tokens = vec![(text(leaf.token), leaf.p.ln())];
        let mut at = leaf.parent;
        while let Some(parent) = self.nodes[at].parent {
            tokens.push((text(self.nodes[at].token), self.nodes[at].log_p - self.nodes[parent].log_p));
            at = parent;
        }
        tokens.reverse();
        tokens
    }

    /// One step of the model for a batch of accepted children.
    fn expand(&mut self, batch: Vec<Candidate>) -> Result<(), DecodeError> {
        if batch.is_empty() {
            return Ok(());
        }
        let rows: Vec<Row> =
            batch.iter().map(|candidate| self.row(candidate.parent, candidate.token)).collect();
        let results = self.model.extend(&rows)?;
        self.counters.steps += 1;
        self.counters.positions += rows.iter().map(|row| row.tokens.len() as u64).sum::<u64>();
        for (candidate, positions) in batch.into_iter().zip(results) {
            self.adopt(candidate.parent, positions.iter().rev().skip(1).map(|position| position.node));
            let last = positions.last().expect("a row has a token");
            let mut path = self.path(candidate.parent);
            path.push(candidate.token);
            let proposal = Proposal::new(&self.proposer.probabilities(&path, &last.logits));
            self.open(candidate, proposal, Some(last.node));
        }
        Ok(())
    }

    /// A row that ends in `token` below `node` and begins below the nearest ancestor that the model has computed.
    fn row(&self, node: usize, token: TokenId) -> Row {
        let mut tokens = vec![token];
        let mut at = node;
        loop {
            if let Some(parent) = self.nodes[at].kv {
                tokens.reverse();
                return Row { parent, tokens };
            }
            tokens.push(self.nodes[at].token);
            at = self.nodes[at].parent.expect("the root is computed");
        }
    }

    /// Gives computed positions to `node` and its ancestors, nearest first.
    fn adopt(&mut self, node: usize, positions: impl Iterator<Item = KvNode>) {
        let mut at = Some(node);
        for position in positions {
            let here = at.expect("a row has no more positions than ancestors");
            self.nodes[here].kv.get_or_insert(position);
            at = self.nodes[here].parent;
        }
    }

    fn open(&mut self, candidate: Candidate, proposal: Proposal, kv: Option<KvNode>) {
        let Candidate { parent, token, p, time, key, partial } = candidate;
        if kv.is_some() {
            self.events.push(Event::Proposal { key, proposal: proposal.clone() });
        }
        let log_p = self.nodes[parent].log_p + p.ln();
        let clock = Clock::new(key, log_p, time, proposal);
        let depth = self.nodes[parent].depth + 1;
        self.nodes.push(Node { parent: Some(parent), token, depth, key, log_p, partial, clock, kv });
        self.ring(self.nodes.len() - 1);
    }

    /// Which of a node's unnamed tokens rang: the node's distribution is computed once more.
    fn open_rest(&mut self, node: usize, share: f64) -> Result<Option<(TokenId, f64)>, DecodeError> {
        self.counters.rest_opened += 1;
        let (key, n) = (self.nodes[node].key, self.nodes[node].clock.n_rest_drawn());
        if let Some((token, p, left)) = self.memo.rest(key, n) {
            self.nodes[node].clock.take_rest(token, left);
            return Ok(Some((token, p)));
        }
        let probabilities = self.probabilities(node)?;
        let drawn = self.nodes[node].clock.open_rest(share, &probabilities);
        if let Some((token, p)) = drawn {
            let left = self.nodes[node].clock.rest();
            self.events.push(Event::Rest { key, token, p, left });
        }
        Ok(drawn)
    }

    fn probabilities(&mut self, node: usize) -> Result<Vec<f32>, DecodeError> {
        let path = self.path(node);
        let Some(parent) = self.nodes[node].parent else {
            return Ok(self.proposer.probabilities(&path, &self.root_logits));
        };
        let row = self.row(parent, self.nodes[node].token);
        self.counters.steps += 1;
        self.counters.positions += row.tokens.len() as u64;
        let positions = self.model.extend(&[row])?.pop().expect("one row");
        let logits = &positions.last().expect("a row has a token").logits;
        Ok(self.proposer.probabilities(&path, logits))
    }
}

/// The end of a text, from a line's start: as much as the prior can look at.
fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(PRIOR_SIGHT);
    let line = text.as_bytes()[from..].iter().position(|&byte| byte == b'\n').map_or(from, |at| from + at);
    text.get(line..).unwrap_or(text)
}

enum Child {
    Open { partial: Partial, closed: Vec<Word>, statement: bool },
    Leaf { fill: String, closed: Vec<Word> },
}
