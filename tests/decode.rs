//! The decoder against enumeration, on a scripted model and a replayed engine.

use std::collections::{BTreeMap, BTreeSet};

use repair::bug::Lines;
use repair::cloze::Cloze;
use repair::decode::memo::{Event, Memo, WalkEnd};
use repair::decode::oracle::{Guidance, Oracle};
use repair::decode::proposer::Truncation;
use repair::decode::search::Search;
use repair::decode::walk::Walks;
use repair::decode::{Next, Sample, Sampler, Settings, StopReason};
use repair::engine::{Answer, Check, CompletionEngine, HolePlace, Scope};
use repair::model::{HoleEnd, Identity, KvNode, Model, ModelError, Position, Prompt, PromptParts, Row};
use repair::text::Source;
use repair::token::{TokenId, TokenText, Vocabulary};

/// Whole statements, so that the law of the enumeration below is plain.
const TOKENS: [&str; 6] = ["\na;", "\nb;", " a;", " zz;", "\nend;", " c;"];
const END: &str = "\nend;";
const MAX_TOKENS: usize = 4;

/// A model whose logits are a fixed function of the path.
struct Script {
    vocabulary: Vocabulary,
    paths: Vec<Vec<TokenId>>,
    steps: usize,
    identity: Identity,
}

fn logits(path: &[TokenId]) -> Vec<f32> {
    let mut state = 17u64;
    for &token in path {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(u64::from(token) + 1);
    }
    (0..=TOKENS.len() as u64)
        .map(|id| {
            let bits =
                (state ^ id.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40;
            bits as f32 / (1 << 23) as f32
        })
        .collect()
}

impl Script {
    fn new() -> Self {
        let text = |token: &&str| TokenText::Bytes(token.as_bytes().into());
        let mut tokens: Vec<TokenText> = TOKENS.iter().map(text).collect();
        tokens.push(TokenText::Special);
        let identity = Identity {
            name: "script".into(),
            architecture: "none".into(),
            path: "none".into(),
            sha256: String::new(),
            licence: None,
        };
        Self { vocabulary: Vocabulary::new(tokens), paths: vec![vec![]], steps: 0, identity }
    }
}

impl Model for Script {
    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn hole_end(&self) -> HoleEnd {
        HoleEnd::Structural
    }

    fn prompt(&self, _: &PromptParts) -> Result<Prompt, ModelError> {
        unreachable!("the prompt is given")
    }

    fn encode(&self, _: &str) -> Result<Vec<TokenId>, ModelError> {
        Ok(vec![4])
    }

    fn prime(&mut self, _: &[TokenId]) -> Result<Vec<f32>, ModelError> {
        Ok(logits(&[]))
    }

    fn extend(&mut self, rows: &[Row]) -> Result<Vec<Vec<Position>>, ModelError> {
        self.steps += 1;
        if rows.len() >= 8 {
            // Time for the tree to go ahead, as a real model leaves it.
            for _ in 0..200 {
                std::thread::yield_now();
            }
        }
        let mut extend = |row: &Row| {
            let mut path = self.paths[row.parent.0 as usize].clone();
            row.tokens
                .iter()
                .map(|&token| {
                    path.push(token);
                    self.paths.push(path.clone());
                    Position { node: KvNode(self.paths.len() as u32 - 1), logits: logits(&path) }
                })
                .collect()
        };
        Ok(rows.iter().map(&mut extend).collect())
    }
}

/// `a`, `b` and `c` are names; a fill with two `a` does not compile.
struct Replay;

impl CompletionEngine for Replay {
    fn place(&self) -> HolePlace {
        HolePlace::Body
    }

    fn closable(&self) -> usize {
        0
    }

    fn visible(&mut self, scope: Scope, _: Option<char>) -> Answer {
        self.complete("", scope)
    }

    fn complete(&mut self, _: &str, scope: Scope) -> Answer {
        let names = if scope == Scope::Names { &["a", "b", "c"][..] } else { &[] };
        Answer::List(names.iter().map(ToString::to_string).collect())
    }

    fn check(&mut self, hole: &str, _: bool) -> Check {
        if hole.matches('a').count() < 2 {
            return Check::Problems(vec![]);
        }
        let message = "two".to_owned();
        Check::Problems(vec![repair::engine::Problem {
            id: 1,
            syntax: false,
            in_hole: None,
            message,
            file: None,
        }])
    }
}

fn cloze() -> Cloze {
    let source = Source::new(b"{\nx;\nend;\n}\n".to_vec(), "UTF-8").unwrap();
    Cloze::new(source, Lines::Replace { first: 2, last: 2 }).unwrap()
}

fn settings(seed: u64, batch: usize) -> Settings {
    let truncation = Truncation { temperature: 1.0, top_k: None, top_p: None };
    Settings {
        seed,
        truncation,
        max_tokens: MAX_TOKENS,
        batch,
        max_steps: u64::MAX,
        max_questions: u64::MAX,
        max_draws: None,
    }
}

/// Up to `n` samples, the events and the model's steps.
fn draw(settings: Settings, n: usize, memo: Memo) -> (Vec<Sample>, Vec<Event>, usize) {
    let (mut model, mut engine, cloze) = (Script::new(), Replay, cloze());
    let oracle = Oracle::new(&mut engine, Guidance::FULL, &cloze);
    let mut search = Search::new(&mut model, oracle, &cloze, &[], settings, None, memo).unwrap();
    let mut samples = Vec::new();
    while samples.len() < n {
        match search.next(&mut |_| false).unwrap() {
            Next::Sample(sample) => samples.push(sample),
            Next::Stopped(stop) => {
                assert_eq!(stop, StopReason::Exhausted);
                break;
            }
        }
    }
    let events = search.take_events();
    drop(search);
    (samples, events, model.steps)
}

/// The samples of `n` walks with replacement, the events and the model's steps.
fn walk(settings: Settings, n: u64, memo: Memo) -> (Vec<Sample>, Vec<Event>, usize) {
    let (mut model, mut engine, cloze) = (Script::new(), Replay, cloze());
    let oracle = Oracle::new(&mut engine, Guidance::FULL, &cloze);
    let mut walks = Walks::new(&mut model, oracle, &cloze, &[], settings, None, memo, n).unwrap();
    let mut samples = Vec::new();
    while let Next::Sample(sample) = walks.next(&mut |_| false).unwrap() {
        samples.push(sample);
    }
    assert_eq!(walks.counters().walks, n);
    let events = walks.take_events();
    drop(walks);
    (samples, events, model.steps)
}

fn softmax(logits: &[f32]) -> Vec<f64> {
    let sum: f64 = logits.iter().map(|&logit| f64::from(logit).exp()).sum();
    logits.iter().map(|&logit| f64::from(logit).exp() / sum).collect()
}

/// All fills with their probabilities, by trying every sequence of tokens; written without the decoder.
fn enumerate() -> BTreeMap<String, f64> {
    fn walk(path: &mut Vec<TokenId>, p: f64, fills: &mut BTreeMap<String, f64>) {
        let next = softmax(&logits(path));
        let text: String = path.iter().map(|&token| TOKENS[token as usize]).collect();
        for (token, bytes) in (0..).zip(TOKENS) {
            let p = p * next[token as usize];
            if bytes == END {
                if text.matches('a').count() < 2 {
                    *fills.entry(normal(&text)).or_default() += p;
                }
            } else if path.len() < MAX_TOKENS
                && bytes != " zz;"
                && (bytes.starts_with('\n') || !text.is_empty())
            {
                path.push(token);
                walk(path, p, fills);
                path.pop();
            }
        }
    }
    let mut fills = BTreeMap::new();
    walk(&mut Vec::new(), 1.0, &mut fills);
    fills
}

fn normal(fill: &str) -> String {
    fill.split_whitespace().collect()
}

fn texts(samples: &[Sample]) -> Vec<String> {
    samples.iter().map(|sample| normal(&sample.fill)).collect()
}

#[test]
fn exhausting_the_search_draws_every_feasible_fill_once() {
    let (samples, _, _) = draw(settings(1, 8), usize::MAX, Memo::default());
    let drawn = texts(&samples);
    let set: BTreeSet<String> = drawn.iter().cloned().collect();
    assert_eq!(set, enumerate().into_keys().collect());
    assert_eq!(set.len(), drawn.len(), "no duplicates");
}

/// Of `n` draws with these probabilities, the sum of (seen - expected)^2 / expected, rare outcomes pooled.
fn chi_square(seen: &BTreeMap<String, u32>, expected: &BTreeMap<String, f64>, n: u32) -> (f64, usize) {
    let (mut sum, mut cells, mut pool) = (0.0, 0, (0.0, 0.0));
    for (text, p) in expected {
        let (e, s) = (p * f64::from(n), f64::from(seen.get(text).copied().unwrap_or(0)));
        if e < 8.0 {
            pool = (pool.0 + e, pool.1 + s);
        } else {
            sum += (s - e).powi(2) / e;
            cells += 1;
        }
    }
    if pool.0 > 0.0 {
        sum += (pool.1 - pool.0).powi(2) / pool.0;
        cells += 1;
    }
    (sum, cells - 1)
}

/// A chi-square variable of `k` degrees of freedom exceeds this with probability below 1e-4 (Wilson-Hilferty).
fn bound(k: usize) -> f64 {
    let k = k as f64;
    k * (1.0 - 2.0 / (9.0 * k) + 3.72 * (2.0 / (9.0 * k)).sqrt()).powi(3)
}

/// The law that masking each step by itself gives: what is refused gives its mass to its siblings. A text that gets too
/// long is lost, and the law is that of the others.
fn locally_renormalised() -> BTreeMap<String, f64> {
    fn walk(path: &mut Vec<TokenId>, p: f64, fills: &mut BTreeMap<String, f64>) {
        if path.len() > MAX_TOKENS {
            return;
        }
        let next = softmax(&logits(path));
        let text: String = path.iter().map(|&token| TOKENS[token as usize]).collect();
        let fits = |bytes: &str| match bytes {
            END => text.matches('a').count() < 2,
            _ => bytes != " zz;" && (bytes.starts_with('\n') || !text.is_empty()),
        };
        let mass: f64 =
            (0..).zip(TOKENS).filter(|(_, bytes)| fits(bytes)).map(|(id, _): (usize, _)| next[id]).sum();
        let fitting: Vec<(TokenId, &str)> = (0..).zip(TOKENS).filter(|(_, bytes)| fits(bytes)).collect();
        for (token, bytes) in fitting {
            let p = p * next[token as usize] / mass;
            if bytes == END {
                *fills.entry(normal(&text)).or_default() += p;
            } else {
                path.push(token);
                walk(path, p, fills);
                path.pop();
            }
        }
    }
    let mut fills = BTreeMap::new();
    walk(&mut Vec::new(), 1.0, &mut fills);
    let total: f64 = fills.values().sum();
    for p in fills.values_mut() {
        *p /= total;
    }
    fills
}

/// 4,000 seeds: the law of the first and of the second sample. The same statistic against the law of step-wise masking
/// is far over the bound, so the test has the power to tell them apart.
#[test]
fn samples_follow_the_model_conditioned_on_being_feasible_and_new() {
    let n = 4000;
    let mut law = enumerate();
    let total: f64 = law.values().sum();
    for p in law.values_mut() {
        *p /= total;
    }
    let second: BTreeMap<String, f64> = law
        .iter()
        .map(|(text, p)| {
            let before = law.iter().filter(|(other, _)| *other != text);
            (text.clone(), before.map(|(_, q)| q * p / (1.0 - q)).sum())
        })
        .collect();
    let mut seen = [BTreeMap::new(), BTreeMap::new()];
    for seed in 0..u64::from(n) {
        let (samples, _, _) = draw(settings(seed, 4), 2, Memo::default());
        for (rank, text) in texts(&samples).into_iter().enumerate() {
            *seen[rank].entry(text).or_insert(0) += 1;
        }
    }
    for (seen, law) in seen.iter().zip([&law, &second]) {
        let (statistic, freedom) = chi_square(seen, law, n);
        assert!(freedom >= 5 && statistic < bound(freedom), "{statistic} over {freedom} degrees of freedom");
    }
    let (distorted, freedom) = chi_square(&seen[0], &locally_renormalised(), n);
    assert!(distorted > 2.0 * bound(freedom), "no power: {distorted} over {freedom} degrees of freedom");
}

/// 4,000 walks of one run. Dead walks (over length) are left out, as in the law.
#[test]
fn walks_with_replacement_follow_the_law_of_step_wise_masks() {
    let (_, events, _) = walk(settings(5, 16), 4000, Memo::default());
    let mut seen = BTreeMap::new();
    for event in &events {
        if let Event::Walk { end: WalkEnd::Complete { fill, .. }, .. } = event {
            *seen.entry(normal(fill)).or_insert(0) += 1;
        }
    }
    let n = seen.values().sum();
    assert!(n > 1000, "{n} walks ended");
    let (statistic, freedom) = chi_square(&seen, &locally_renormalised(), n);
    assert!(freedom >= 5 && statistic < bound(freedom), "{statistic} over {freedom} degrees of freedom");
}

#[test]
fn walks_depend_on_their_number_alone_and_repeat_no_sample() {
    let (whole, events, steps) = walk(settings(2, 1), 60, Memo::default());
    let distinct: BTreeSet<String> = texts(&whole).into_iter().collect();
    assert_eq!(distinct.len(), whole.len());
    assert!(whole.len() < 60, "some walks repeat others");
    assert_eq!(walk(settings(2, 7), 60, Memo::default()).0, whole);
    let mut memo = Memo::default();
    for event in events {
        memo.learn(event);
    }
    let (again, _, no_steps) = walk(settings(2, 1), 60, memo);
    assert_eq!((again, no_steps), (whole, 0));
    assert!(steps > 0);
}

#[test]
fn a_budget_ends_the_search_with_its_name() {
    let stop = |settings| {
        let (mut model, mut engine, cloze) = (Script::new(), Replay, cloze());
        let oracle = Oracle::new(&mut engine, Guidance::FULL, &cloze);
        let mut search =
            Search::new(&mut model, oracle, &cloze, &[], settings, None, Memo::default()).unwrap();
        loop {
            if let Next::Stopped(stop) = search.next(&mut |_| false).unwrap() {
                return stop;
            }
        }
    };
    assert_eq!(stop(Settings { max_steps: 3, ..settings(1, 1) }), StopReason::Steps);
    assert_eq!(stop(Settings { max_questions: 2, ..settings(1, 1) }), StopReason::Questions);
    assert_eq!(stop(settings(1, 1)), StopReason::Exhausted);
}

#[test]
fn the_batch_size_changes_no_sample() {
    let one = draw(settings(7, 1), 40, Memo::default()).0;
    for batch in [3, 8, 32] {
        assert_eq!(draw(settings(7, batch), 40, Memo::default()).0, one);
    }
}

#[test]
fn a_budget_of_draws_ends_after_the_same_samples_in_every_batch_size() {
    let all = draw(settings(7, 1), 1000, Memo::default()).0;
    let limited =
        |batch| draw(Settings { max_draws: Some(30), ..settings(7, batch) }, 1000, Memo::default()).0;
    let few = limited(1);
    assert!(!few.is_empty() && few.len() < all.len(), "{} of {}", few.len(), all.len());
    assert_eq!(few, all[..few.len()]);
    for batch in [3, 8, 32] {
        assert_eq!(limited(batch), few);
    }
}

#[test]
fn a_remembered_search_goes_on_without_the_model() {
    let (whole, _, all_steps) = draw(settings(3, 1), 20, Memo::default());
    let (_, events, steps) = draw(settings(3, 1), 10, Memo::default());
    let mut memo = Memo::default();
    for event in events {
        memo.learn(event);
    }
    let (again, _, more_steps) = draw(settings(3, 1), 20, memo);
    assert_eq!(again, whole);
    assert_eq!(steps + more_steps, all_steps, "the remembered part costs no step");
}

#[test]
fn other_seeds_give_other_samples() {
    let first = |seed| draw(settings(seed, 8), 10, Memo::default()).0;
    assert_ne!(first(1), first(2));
}
