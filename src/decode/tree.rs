//! The search tree of one hole: what is known of every text begun, without the model.
//!
//! Nodes are partial fills with their race of continuations, leaves are complete fills; all that rings next stands in
//! one queue, earliest first. The tree follows bells, has tokens judged, and says which continuations need the model.
//! It never computes a position: so it can go on while the model does.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashSet};

use crate::decode::clock::{Bell, Clock, PathKey, Proposal, child_key, root_key};
use crate::decode::ground::{Child, Ground};
use crate::decode::memo::{Event, Memo};
use crate::decode::oracle::Oracle;
use crate::decode::partial::{Partial, Refusal};
use crate::decode::{Counters, Sample};
use crate::java::lexer::{Word, normal_form};
use crate::model::{KvNode, Row};
use crate::token::TokenId;

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
pub(super) struct Candidate {
    parent: usize,
    token: TokenId,
    p: f64,
    time: f64,
    key: PathKey,
    partial: Partial,
}

/// A complete fill that waits for its turn.
struct Leaf {
    fill: String,
    closed: Vec<Word>,
    parent: usize,
    token: TokenId,
    p: f64,
    key: PathKey,
    /// Judged ahead of its turn.
    verdict: Option<Result<(), Refusal>>,
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

/// What the queue's earliest entry came to.
pub(super) enum Turn {
    /// It was refused, or opened from the memo, or has to wait behind the batch: the queue goes on.
    Taken,
    /// It needs the model.
    Candidate(Candidate),
    /// A sample: nothing that is still open comes before it.
    Sample(Sample),
    /// A token that a node's proposal does not name has rung: the node's distribution is needed once more.
    Rest { node: usize, share: f64, time: f64 },
    /// The queue is empty.
    Empty,
}

/// The tree.
pub(super) struct Tree<'a> {
    oracle: Oracle<'a>,
    ground: Ground<'a>,
    nodes: Vec<Node>,
    queue: BinaryHeap<Timed>,
    /// Leaves that may not be emitted while earlier candidates are open.
    later: Vec<Timed>,
    seen: HashSet<Vec<u8>>,
    memo: Memo,
    events: Vec<Event>,
    counters: Counters,
}

impl<'a> Tree<'a> {
    /// The node of the empty text.
    pub const ROOT: usize = 0;

    /// A tree of nothing but its root, whose distribution `proposal` gives where the memo does not.
    pub fn new(
        oracle: Oracle<'a>,
        ground: Ground<'a>,
        mut memo: Memo,
        proposal: impl FnOnce() -> Proposal,
    ) -> Self {
        let key = root_key(ground.settings.seed);
        let mut events = Vec::new();
        let proposal = memo.proposal(key).unwrap_or_else(|| {
            let proposal = proposal();
            events.push(Event::Proposal { key, proposal: proposal.clone() });
            proposal
        });
        let (partial, clock) = (ground.frame.empty(), Clock::root(key, proposal));
        let kv = Some(KvNode::PROMPT);
        let root = Node { parent: None, token: 0, depth: 0, key, log_p: 0.0, partial, clock, kv };
        let mut tree = Self {
            oracle,
            nodes: vec![root],
            queue: BinaryHeap::new(),
            later: Vec::new(),
            seen: HashSet::from([normal_form(&ground.cloze.original)]),
            ground,
            memo,
            events,
            counters: Counters::default(),
        };
        tree.ring(0);
        tree
    }

    /// What has happened so far.
    pub fn counters(&self) -> Counters {
        Counters {
            decided: self.oracle.decided.clone(),
            questions: self.oracle.questions(),
            ..self.counters.clone()
        }
    }

    /// Questions asked so far.
    pub fn questions(&self) -> u64 {
        self.oracle.questions()
    }

    /// The counts that the search itself keeps.
    pub fn count(&mut self) -> &mut Counters {
        &mut self.counters
    }

    /// What was learnt since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Whether nothing rings any more.
    pub fn is_exhausted(&self) -> bool {
        self.queue.is_empty() && self.later.is_empty()
    }

    /// When the queue's earliest entry rings; never where it is empty, so that its end is seen.
    pub fn next_time(&self) -> f64 {
        self.queue.peek().map_or(f64::NEG_INFINITY, |timed| timed.time)
    }

    /// Lets leaves that waited behind a batch take part again.
    pub fn resume(&mut self) {
        self.queue.extend(self.later.drain(..));
    }

    /// Takes the queue's earliest entry. `before`: the earliest time at which something open may still come to ring; a
    /// later leaf is judged, so that its turn is quick, and waits.
    pub fn turn(&mut self, before: f64) -> Turn {
        let Some(Timed { time, entry }) = self.queue.pop() else { return Turn::Empty };
        match entry {
            Entry::Leaf(leaf) if time < before => self.finish(*leaf).map_or(Turn::Taken, Turn::Sample),
            Entry::Leaf(mut leaf) => {
                leaf.verdict = Some(self.weigh(&leaf));
                self.later.push(Timed { time, entry: Entry::Leaf(leaf) });
                Turn::Taken
            }
            Entry::Edge { node, bell: Bell::Token(token, p) } => {
                self.ring(node);
                self.follow(node, token, p, time)
            }
            Entry::Edge { node, bell: Bell::Rest { share } } => self.recall_rest(node, share, time),
        }
    }

    fn recall_rest(&mut self, node: usize, share: f64, time: f64) -> Turn {
        let (key, n) = (self.nodes[node].key, self.nodes[node].clock.n_rest_drawn());
        let Some((token, p, left)) = self.memo.rest(key, n) else { return Turn::Rest { node, share, time } };
        self.counters.rest_opened += 1;
        self.nodes[node].clock.take_rest(token, left);
        self.ring(node);
        self.follow(node, token, p, time)
    }

    /// Answers [`Turn::Rest`] with the node's whole distribution.
    pub fn open_rest(&mut self, node: usize, share: f64, time: f64, probabilities: &[f32]) -> Turn {
        self.counters.rest_opened += 1;
        let Node { key, clock, .. } = &mut self.nodes[node];
        let (key, drawn) = (*key, clock.open_rest(share, probabilities));
        let left = clock.rest();
        self.ring(node);
        let Some((token, p)) = drawn else { return Turn::Taken };
        self.events.push(Event::Rest { key, token, p, left });
        self.follow(node, token, p, time)
    }

    /// Follows the edge that rang; a child that is not known yet needs the model.
    fn follow(&mut self, node: usize, token: TokenId, p: f64, time: f64) -> Turn {
        let key = child_key(self.nodes[node].key, token);
        let parent = &self.nodes[node];
        match self.ground.advance(&parent.partial, parent.depth, token) {
            Err(refusal) => self.refuse(node, p, refusal),
            Ok(Child::Leaf { fill, closed }) => {
                let leaf = Leaf { fill, closed, parent: node, token, p, key, verdict: None };
                self.queue.push(Timed { time, entry: Entry::Leaf(Box::new(leaf)) });
            }
            Ok(Child::Open { partial, closed, statement }) => {
                if let Err(refusal) = self.judge(key, |oracle| oracle.judge(&partial, &closed, statement)) {
                    self.refuse(node, p, refusal);
                    return Turn::Taken;
                }
                let candidate = Candidate { parent: node, token, p, time, key, partial };
                if let Some(proposal) = self.memo.proposal(key) {
                    self.counters.recalled += 1;
                    let _node = self.open(candidate, proposal, None);
                    return Turn::Taken;
                }
                return Turn::Candidate(candidate);
            }
        }
        Turn::Taken
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

    /// Whether a complete fill can be a sample, as far as that does not depend on other samples.
    fn weigh(&mut self, leaf: &Leaf) -> Result<(), Refusal> {
        if let Some(verdict) = leaf.verdict {
            return verdict;
        }
        let form = normal_form(&leaf.fill);
        if form == normal_form(&self.ground.cloze.original) {
            Err(Refusal::Unchanged)
        } else if self.seen.contains(&form) {
            Err(Refusal::Duplicate)
        } else if self.ground.cloze.fill(&leaf.fill).is_err() {
            Err(Refusal::Unmappable)
        } else {
            self.judge(leaf.key, |oracle| oracle.judge_end(&leaf.fill, &leaf.closed))
        }
    }

    /// A complete fill whose turn has come: a new sample, or refused.
    fn finish(&mut self, leaf: Leaf) -> Option<Sample> {
        let form = normal_form(&leaf.fill);
        // A text judged ahead may have been drawn on another path since.
        let is_new = || if self.seen.contains(&form) { Err(Refusal::Duplicate) } else { Ok(()) };
        let verdict = match leaf.verdict {
            Some(Ok(())) => is_new(),
            _ => self.weigh(&leaf),
        };
        if let Err(refusal) = verdict {
            self.refuse(leaf.parent, leaf.p, refusal);
            return None;
        }
        self.seen.insert(form);
        let log_p = self.nodes[leaf.parent].log_p + leaf.p.ln();
        self.counters.samples += 1;
        self.counters.mass_drawn += log_p.exp();
        let (index, tokens) = (self.counters.samples as usize, self.trace(&leaf));
        Some(Sample { index, fill: leaf.fill, log_p, tokens, template: None })
    }

    /// The tokens from the hole's start to a node.
    pub fn path(&self, mut node: usize) -> Vec<TokenId> {
        let mut path = Vec::with_capacity(self.nodes[node].depth + 1);
        while let Some(parent) = self.nodes[node].parent {
            path.push(self.nodes[node].token);
            node = parent;
        }
        path.reverse();
        path
    }

    /// The tokens from the hole's start to a candidate, itself included.
    pub fn path_to(&self, candidate: &Candidate) -> Vec<TokenId> {
        let mut path = self.path(candidate.parent);
        path.push(candidate.token);
        path
    }

    /// The texts of a leaf's tokens with their log-probabilities.
    fn trace(&self, leaf: &Leaf) -> Vec<(String, f64)> {
        let text = |token| self.ground.text(token);
        let mut tokens = vec![(text(leaf.token), leaf.p.ln())];
        let mut at = leaf.parent;
        while let Some(parent) = self.nodes[at].parent {
            tokens.push((text(self.nodes[at].token), self.nodes[at].log_p - self.nodes[parent].log_p));
            at = parent;
        }
        tokens.reverse();
        tokens
    }

    /// The row of a candidate.
    pub fn row_of(&self, candidate: &Candidate) -> Row {
        self.row(candidate.parent, candidate.token)
    }

    /// The row that computes a node once more. The root's distribution is always at hand.
    pub fn row_again(&self, node: usize) -> Row {
        let parent = self.nodes[node].parent.expect("the root is not computed again");
        self.row(parent, self.nodes[node].token)
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

    /// Opens a candidate whose row the model has computed at `positions`; the node.
    pub fn settle(&mut self, candidate: Candidate, positions: &[KvNode], proposal: Proposal) -> usize {
        let (last, before) = positions.split_last().expect("a row has a token");
        let mut at = Some(candidate.parent);
        for &position in before.iter().rev() {
            let here = at.expect("a row has no more positions than ancestors");
            self.nodes[here].kv.get_or_insert(position);
            at = self.nodes[here].parent;
        }
        self.events.push(Event::Proposal { key: candidate.key, proposal: proposal.clone() });
        self.open(candidate, proposal, Some(*last))
    }

    fn open(&mut self, candidate: Candidate, proposal: Proposal, kv: Option<KvNode>) -> usize {
        let Candidate { parent, token, p, time, key, partial } = candidate;
        let log_p = self.nodes[parent].log_p + p.ln();
        let clock = Clock::new(key, log_p, time, proposal);
        let depth = self.nodes[parent].depth + 1;
        self.nodes.push(Node { parent: Some(parent), token, depth, key, log_p, partial, clock, kv });
        self.ring(self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    /// Natural logarithm of a candidate's probability.
    pub fn log_p(&self, candidate: &Candidate) -> f64 {
        self.nodes[candidate.parent].log_p + candidate.p.ln()
    }
}

impl Candidate {
    /// When it rang: nothing below it rings earlier.
    pub fn time(&self) -> f64 {
        self.time
    }
}
