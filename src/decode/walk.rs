//! Sampling with replacement, as the literature does: the baseline that the search is measured against.
//!
//! Every walk is a text of its own, token by token. A token that is refused is drawn again among the others, so the
//! masks are renormalised step by step; with the engine off a refused token ends its walk instead (rejection). Walks do
//! not learn from each other: nothing but the prompt's keys and values is shared. A text that was drawn before counts
//! as a walk, but is no new sample. Walk `i` depends on the seed and `i` alone.

use std::collections::{BTreeMap, HashSet};

use crate::cloze::Cloze;
use crate::decode::clock::{PathKey, child_key, uniforms, walk_key};
use crate::decode::ground::{Child, Ground};
use crate::decode::memo::{Event, Memo, WalkEnd};
use crate::decode::oracle::{Guidance, Oracle};
use crate::decode::partial::{Partial, Refusal};
use crate::decode::proposer::Proposer;
use crate::decode::search::last_logits;
use crate::decode::{Counters, DecodeError, Next, Sample, Sampler, Settings, StopReason};
use crate::java::lexer::normal_form;
use crate::model::{KvNode, Model, Row};
use crate::retrieval::Prior;
use crate::token::TokenId;

struct Walk {
    number: u64,
    key: PathKey,
    partial: Partial,
    tokens: Vec<(TokenId, f64)>,
    kv: KvNode,
    /// What may follow.
    probabilities: Vec<f32>,
}

/// What a walk does next.
enum Step {
    On(Walk, TokenId),
    End(WalkEnd),
}

/// Samples with replacement.
pub struct Walks<'a> {
    model: &'a mut (dyn Model + Send),
    oracle: Oracle<'a>,
    ground: Ground<'a>,
    proposer: Proposer,
    root: Vec<f32>,
    /// Walks to begin in all.
    wanted: u64,
    /// Whether a refused token is drawn again.
    redraw: bool,
    walking: Vec<Walk>,
    /// Ends that wait for those of earlier walks.
    ended: BTreeMap<u64, WalkEnd>,
    emitted: u64,
    seen: HashSet<Vec<u8>>,
    memo: Memo,
    events: Vec<Event>,
    counters: Counters,
}

impl<'a> Walks<'a> {
    /// Primes the model; `wanted` walks will be begun.
    #[expect(clippy::too_many_arguments, reason = "the parts of a search and a number")]
    pub fn new(
        model: &'a mut (dyn Model + Send),
        oracle: Oracle<'a>,
        cloze: &'a Cloze,
        prompt: &[TokenId],
        settings: Settings,
        prior: Option<Prior>,
        memo: Memo,
        wanted: u64,
    ) -> Result<Self, DecodeError> {
        let (ground, proposer, root) = Ground::open(model, cloze, prompt, settings, prior)?;
        Ok(Self {
            redraw: oracle.guidance() != Guidance::OFF,
            seen: HashSet::from([normal_form(&cloze.original)]),
            model,
            oracle,
            ground,
            proposer,
            root,
            wanted,
            walking: Vec::new(),
            ended: BTreeMap::new(),
            emitted: 0,
            memo,
            events: Vec::new(),
            counters: Counters::default(),
        })
    }

    /// Begins walks until the batch is full. Those that an earlier process ended are taken from the memo.
    fn begin(&mut self) {
        while self.walking.len() < self.ground.settings.batch && self.counters.walks < self.wanted {
            let number = self.counters.walks;
            self.counters.walks += 1;
            if let Some(end) = self.memo.walk(number) {
                self.counters.recalled += 1;
                self.ended.insert(number, end);
                continue;
            }
            self.walking.push(Walk {
                number,
                key: walk_key(self.ground.settings.seed, number),
                partial: self.ground.frame.empty(),
                tokens: Vec::new(),
                kv: KvNode::PROMPT,
                probabilities: self.root.clone(),
            });
        }
    }

    /// Every walk takes a token; those that go on are computed in one step of the model.
    fn step(&mut self) -> Result<(), DecodeError> {
        let (mut walks, mut rows) = (Vec::new(), Vec::new());
        for walk in std::mem::take(&mut self.walking) {
            let number = walk.number;
            match self.take(walk) {
                Step::On(walk, token) => {
                    rows.push(Row { parent: walk.kv, tokens: vec![token] });
                    walks.push(walk);
                }
                Step::End(end) => {
                    self.events.push(Event::Walk { walk: number, end: end.clone() });
                    self.ended.insert(number, end);
                }
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        self.counters.steps += 1;
        self.counters.positions += rows.len() as u64;
        for (mut walk, positions) in walks.into_iter().zip(self.model.extend(&rows)?) {
            let path: Vec<TokenId> = walk.tokens.iter().map(|&(token, _)| token).collect();
            walk.kv = positions.last().expect("a row has a token").node;
            walk.probabilities = self.proposer.probabilities(&path, last_logits(&positions));
            self.walking.push(walk);
        }
        Ok(())
    }

    /// Draws a token that may follow.
    fn take(&mut self, mut walk: Walk) -> Step {
        let mut last = Refusal::OverLength;
        let mut left: f64 = walk.probabilities.iter().map(|&p| f64::from(p)).sum();
        for draw in 0.. {
            let Some(token) = pick(&walk.probabilities, uniforms(walk.key, draw).0 * left) else { break };
            let p = f64::from(walk.probabilities[token as usize]);
            let refusal = match self.judge(&walk, token) {
                Ok(Child::Open { partial, .. }) => {
                    walk.partial = partial;
                    walk.key = child_key(walk.key, token);
                    walk.tokens.push((token, p.ln()));
                    return Step::On(walk, token);
                }
                Ok(Child::Leaf { fill, .. }) => {
                    walk.tokens.push((token, p.ln()));
                    return Step::End(self.complete(&walk, fill));
                }
                Err(refusal) => refusal,
            };
            self.refuse(&walk, p, refusal);
            last = refusal;
            if !self.redraw || refusal == Refusal::OverLength {
                return Step::End(WalkEnd::Dead(refusal));
            }
            walk.probabilities[token as usize] = 0.0;
            left -= p;
        }
        Step::End(WalkEnd::Dead(last))
    }

    fn judge(&mut self, walk: &Walk, token: TokenId) -> Result<Child, Refusal> {
        let child = self.ground.advance(&walk.partial, walk.tokens.len(), token)?;
        match &child {
            Child::Open { partial, closed, statement } => self.oracle.judge(partial, closed, *statement)?,
            Child::Leaf { fill, closed } => self.oracle.judge_end(fill, closed)?,
        }
        Ok(child)
    }

    fn refuse(&mut self, walk: &Walk, p: f64, refusal: Refusal) {
        let log_p: f64 = walk.tokens.iter().map(|(_, log_p)| log_p).sum();
        let (count, mass) = self.counters.refused.entry(refusal).or_default();
        *count += 1;
        *mass += log_p.exp() * p;
    }

    fn complete(&self, walk: &Walk, fill: String) -> WalkEnd {
        let log_p = walk.tokens.iter().map(|(_, log_p)| log_p).sum();
        let tokens = walk.tokens.iter().map(|&(token, log_p)| (self.ground.text(token), log_p)).collect();
        WalkEnd::Complete { fill, log_p, tokens }
    }

    /// A walk's end as a new sample, if it is one.
    fn emit(&mut self, end: WalkEnd) -> Option<Sample> {
        let WalkEnd::Complete { fill, log_p, tokens } = end else { return None };
        let refusal = if !self.seen.insert(normal_form(&fill)) {
            Refusal::Duplicate
        } else if self.ground.cloze.fill(&fill).is_err() {
            Refusal::Unmappable
        } else {
            self.counters.samples += 1;
            self.counters.mass_drawn += log_p.exp();
            return Some(Sample {
                index: self.counters.samples as usize,
                fill,
                log_p,
                tokens,
                template: None,
            });
        };
        let (count, mass) = self.counters.refused.entry(refusal).or_default();
        *count += 1;
        *mass += log_p.exp();
        None
    }
}

impl Sampler for Walks<'_> {
    fn next(&mut self, watch: &mut dyn FnMut(&Counters) -> bool) -> Result<Next, DecodeError> {
        loop {
            if watch(&self.counters) {
                return Ok(Next::Stopped(StopReason::Interrupted));
            }
            while let Some(end) = self.ended.remove(&self.emitted) {
                self.emitted += 1;
                if let Some(sample) = self.emit(end) {
                    return Ok(Next::Sample(sample));
                }
            }
            if self.emitted == self.wanted {
                return Ok(Next::Stopped(StopReason::Samples));
            }
            if let Some(stop) = self.ground.settings.limit(self.counters.steps, self.oracle.questions()) {
                return Ok(Next::Stopped(stop));
            }
            self.begin();
            self.step()?;
        }
    }

    fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn counters(&self) -> Counters {
        let (decided, questions) = (self.oracle.decided.clone(), self.oracle.questions());
        Counters { questions, decided, ..self.counters.clone() }
    }
}

/// The token at `point` of the mass; the last one that has any where rounding leaves nothing.
fn pick(probabilities: &[f32], mut point: f64) -> Option<TokenId> {
    let mut last = None;
    for (token, &p) in (0..).zip(probabilities) {
        if p > 0.0 {
            last = Some(token);
            point -= f64::from(p);
            if point < 0.0 {
                break;
            }
        }
    }
    last
}
