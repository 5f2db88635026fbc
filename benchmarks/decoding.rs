//! Studies of the decoder on holes of a real project: `cargo bench --profile dev --bench decoding -- STUDY ..`.
//!
//! Holes are single statements of method bodies, chosen by seed. All figures are counts, or processor time of this
//! process and its language server, or ratios of times within one run.

#[path = "decoding/holes.rs"]
mod holes;
#[path = "decoding/usage.rs"]
mod usage;

use std::collections::BTreeMap;
use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Instant;

use clap::{Parser, ValueEnum};
use holes::{Lab, OpenHole};
use repair::decode::memo::{Event, Memo, WalkEnd};
use repair::decode::oracle::{Guidance, Oracle};
use repair::decode::proposer::Truncation;
use repair::decode::search::Search;
use repair::decode::walk::Walks;
use repair::decode::{Counters, Next, Sampler, Settings};
use repair::engine::{Check, CompletionEngine as _, JdtEngine};
use repair::java::lexer::normal_form;
use repair::model::{KvNode, Row};

#[derive(Debug, Parser)]
struct Flags {
    #[arg(value_enum)]
    study: Study,
    /// Root of the sources.
    #[arg(long)]
    project: PathBuf,
    /// Jars that the sources need.
    #[arg(long, value_delimiter = ':')]
    classpath: Vec<PathBuf>,
    #[arg(long, default_value_t = 20)]
    holes: usize,
    /// Samples of each hole: drawn, or begun where they are drawn with replacement.
    #[arg(long, default_value_t = 100)]
    samples: usize,
    #[arg(long, value_delimiter = ',', default_value = "0")]
    seeds: Vec<u64>,
    #[arg(long, default_value_t = 32)]
    batch: usize,
    #[arg(long, default_value_t = 1.0)]
    temperature: f64,
    /// Added by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Study {
    /// Model tokens and processor time per unique compilable patch: search against rejection with replacement
    Tokens,
    /// Positions per processor second of the search against the bare model
    Speed,
    /// Wall time per step of the model, engine full against off
    Overhead,
    /// Share of the samples begun that end compilable: off, prune, memo, full
    Ablation,
    /// Many samples of one hole: duplicates, memory, and the same again from the record
    Endurance,
}

fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    let mut lab = Lab::open(&flags.project, &flags.classpath)?;
    match flags.study {
        Study::Tokens => tokens(&flags, &mut lab),
        Study::Speed => speed(&flags, &mut lab),
        Study::Overhead => overhead(&flags, &mut lab),
        Study::Ablation => ablation(&flags, &mut lab),
        Study::Endurance => endurance(&flags, &mut lab),
    }
}

impl Flags {
    fn settings(&self, seed: u64) -> Settings {
        Settings {
            seed,
            truncation: Truncation { temperature: self.temperature, top_k: None, top_p: None },
            max_tokens: 50,
            batch: self.batch,
            max_steps: u64::MAX,
            max_questions: u64::MAX,
            max_draws: None,
        }
    }
}

/// What drawing came to.
struct Drawn {
    fills: Vec<String>,
    walks: Vec<WalkEnd>,
    events: Vec<Event>,
    counters: Counters,
    cpu: f64,
    wall: f64,
}

/// Draws until `n` samples are there or `positions` are computed.
fn run(mut sampler: Box<dyn Sampler + '_>, n: usize, positions: u64) -> anyhow::Result<Drawn> {
    let (cpu, started) = (usage::cpu_seconds(), Instant::now());
    let (mut fills, mut events) = (Vec::new(), Vec::new());
    while fills.len() < n {
        let next = sampler.next(&mut |counters| counters.positions >= positions)?;
        events.extend(sampler.take_events());
        match next {
            Next::Sample(sample) => fills.push(sample.fill),
            Next::Stopped(_) => break,
        }
    }
    let walks = events.iter().filter_map(|event| match event {
        Event::Walk { end, .. } => Some(end.clone()),
        _ => None,
    });
    Ok(Drawn {
        fills,
        walks: walks.collect(),
        counters: sampler.counters(),
        cpu: usage::cpu_seconds() - cpu,
        wall: started.elapsed().as_secs_f64(),
        events,
    })
}

/// What bounds a search besides its settings.
#[derive(Clone, Copy)]
struct Budget {
    samples: usize,
    positions: u64,
}

/// New samples only.
fn search(
    lab: &mut Lab,
    hole: &OpenHole,
    guidance: Guidance,
    settings: Settings,
    budget: Budget,
    memo: Memo,
) -> anyhow::Result<Drawn> {
    let oracle = Oracle::new(&mut lab.engine, guidance, &hole.cloze);
    let prior = Some(hole.prior.clone());
    let search = Search::new(lab.model.as_mut(), oracle, &hole.cloze, &hole.prompt, settings, prior, memo)?;
    run(Box::new(search), budget.samples, budget.positions)
}

/// Samples with replacement.
fn walk(
    lab: &mut Lab,
    hole: &OpenHole,
    guidance: Guidance,
    settings: Settings,
    n: usize,
) -> anyhow::Result<Drawn> {
    let oracle = Oracle::new(&mut lab.engine, guidance, &hole.cloze);
    let (prior, memo) = (Some(hole.prior.clone()), Memo::default());
    let (model, prompt) = (lab.model.as_mut(), &hole.prompt);
    let walks = Walks::new(model, oracle, &hole.cloze, prompt, settings, prior, memo, n as u64)?;
    run(Box::new(walks), usize::MAX, u64::MAX)
}

/// How many of the texts compile, each asked for once; and how many of those that differ.
fn compilable<'a>(engine: &mut JdtEngine, fills: impl Iterator<Item = &'a String>) -> (usize, usize) {
    let mut known = BTreeMap::new();
    let (mut all, mut unique) = (0, HashSet::new());
    for fill in fills {
        let compiles = *known.entry(fill.clone()).or_insert_with(
            || matches!(engine.check(fill, false), Check::Problems(problems) if problems.is_empty()),
        );
        if compiles {
            all += 1;
            unique.insert(normal_form(fill));
        }
    }
    (all, unique.len())
}

fn tokens(flags: &Flags, lab: &mut Lab) -> anyhow::Result<()> {
    println!(
        "| hole | method | begun | unique compilable | positions | per patch | CPU s | patches per CPU s |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let settings = flags.settings(flags.seeds[0]);
    let one = Settings { batch: 1, ..settings };
    let mut totals: BTreeMap<&str, (usize, u64, f64)> = BTreeMap::new();
    for number in 0..flags.holes {
        let hole = lab.open_hole(number, flags.seeds[0])?;
        let batched = walk(lab, &hole, Guidance::OFF, settings, flags.samples)?;
        let budget = Budget { samples: usize::MAX, positions: batched.counters.positions };
        let found = search(lab, &hole, Guidance::FULL, settings, budget, Memo::default())?;
        eprintln!("{} {:?} {:?}", hole.name, found.counters, batched.counters.refused);
        let single = walk(lab, &hole, Guidance::OFF, one, flags.samples / 10)?;
        for (method, drawn) in [("search", found), ("rejection", batched), ("rejection, batch 1", single)] {
            let original = normal_form(&hole.cloze.original);
            let ended = |end: &WalkEnd| match end {
                WalkEnd::Complete { fill, .. } if normal_form(fill) != original => Some(fill.clone()),
                _ => None,
            };
            let fills: Vec<String> = match method {
                "search" => drawn.fills,
                _ => drawn.walks.iter().filter_map(ended).collect(),
            };
            let (_, unique) = compilable(&mut lab.engine, fills.iter());
            let (positions, cpu) = (drawn.counters.positions, drawn.cpu);
            let begun = drawn.counters.walks.max(fills.len() as u64);
            println!(
                "| {} | {method} | {begun} | {unique} | {positions} | {:.1} | {cpu:.1} | {:.2} |",
                hole.name,
                positions as f64 / unique as f64,
                unique as f64 / cpu
            );
            let total = totals.entry(method).or_default();
            *total = (total.0 + unique, total.1 + positions, total.2 + cpu);
        }
    }
    for (method, (unique, positions, cpu)) in totals {
        let (per_patch, per_second) = (positions as f64 / unique as f64, unique as f64 / cpu);
        println!(
            "| all | {method} | | {unique} | {positions} | {per_patch:.1} | {cpu:.1} | {per_second:.2} |"
        );
    }
    Ok(())
}

fn speed(flags: &Flags, lab: &mut Lab) -> anyhow::Result<()> {
    println!(
        "| hole | prompt tokens | search: positions per CPU s | bare model | ratio |\n|---|---|---|---|---|"
    );
    for number in 0..flags.holes {
        let mut hole = lab.open_hole(number, flags.seeds[0])?;
        hole.prompt.truncate(256);
        let settings = flags.settings(flags.seeds[0]);
        let cpu = usage::own_cpu_seconds();
        let budget = Budget { samples: flags.samples, positions: 2000 };
        let drawn = search(lab, &hole, Guidance::FULL, settings, budget, Memo::default())?;
        let searched = drawn.counters.positions as f64 / (usage::own_cpu_seconds() - cpu);
        let bare = bare_speed(flags, lab, &hole)?;
        println!(
            "| {} | {} | {searched:.0} | {bare:.0} | {:.2} |",
            hole.name,
            hole.prompt.len(),
            searched / bare
        );
    }
    Ok(())
}

/// Full batches of rows of one token, the prompt's own computation included as in the search.
fn bare_speed(flags: &Flags, lab: &mut Lab, hole: &OpenHole) -> anyhow::Result<f64> {
    let cpu = usage::own_cpu_seconds();
    lab.model.prime(&hole.prompt)?;
    let (mut parents, mut positions) = (vec![KvNode::PROMPT; flags.batch], 0);
    for _ in 0..40 {
        let row = |&parent: &KvNode| Row { parent, tokens: vec![hole.prompt[0]] };
        let rows: Vec<Row> = parents.iter().map(row).collect();
        parents = lab.model.extend(&rows)?.iter().map(|row| row[0].node).collect();
        positions += rows.len();
    }
    Ok(positions as f64 / (usage::own_cpu_seconds() - cpu))
}

fn overhead(flags: &Flags, lab: &mut Lab) -> anyhow::Result<()> {
    println!("| hole | off: ms per position | full | ratio |\n|---|---|---|---|");
    let mut sums = (0.0, 0.0);
    for number in 0..flags.holes {
        let hole = lab.open_hole(number, flags.seeds[0])?;
        let mut time = |guidance| -> anyhow::Result<f64> {
            let settings = flags.settings(flags.seeds[0]);
            let budget = Budget { samples: flags.samples, positions: 3000 };
            let drawn = search(lab, &hole, guidance, settings, budget, Memo::default())?;
            Ok(drawn.wall * 1000.0 / drawn.counters.positions as f64)
        };
        // The server's compiler warms up on the first.
        time(Guidance::FULL)?;
        let (off, full) = (time(Guidance::OFF)?, time(Guidance::FULL)?);
        sums = (sums.0 + off, sums.1 + full);
        println!("| {} | {off:.2} | {full:.2} | {:.3} |", hole.name, full / off);
    }
    println!("| all | | | {:.3} |", sums.1 / sums.0);
    Ok(())
}

fn ablation(flags: &Flags, lab: &mut Lab) -> anyhow::Result<()> {
    let variants = [
        ("off", Guidance::OFF),
        ("prune", Guidance { names: true, ..Guidance::OFF }),
        ("memo", Guidance { names: true, memo: true, ..Guidance::OFF }),
        ("full", Guidance::FULL),
    ];
    let mut totals: BTreeMap<(usize, u64), (usize, usize, u64)> = BTreeMap::new();
    for number in 0..flags.holes {
        let hole = lab.open_hole(number, flags.seeds[0])?;
        for &seed in &flags.seeds {
            for (at, &(_, guidance)) in variants.iter().enumerate() {
                let drawn = walk(lab, &hole, guidance, flags.settings(seed), flags.samples)?;
                let fills: Vec<&String> = drawn
                    .walks
                    .iter()
                    .filter_map(|end| match end {
                        WalkEnd::Complete { fill, .. } => Some(fill),
                        WalkEnd::Dead(_) => None,
                    })
                    .collect();
                let (all, _) = compilable(&mut lab.engine, fills.into_iter());
                let total = totals.entry((at, seed)).or_default();
                *total = (total.0 + all, total.1 + flags.samples, total.2 + drawn.counters.questions);
            }
        }
        eprintln!("{}: done", hole.name);
    }
    println!("| engine | seed | begun | compilable | share | questions |\n|---|---|---|---|---|---|");
    for ((at, seed), (compilable, begun, questions)) in totals {
        let share = 100.0 * compilable as f64 / begun as f64;
        println!("| {} | {seed} | {begun} | {compilable} | {share:.1} % | {questions} |", variants[at].0);
    }
    Ok(())
}

fn endurance(flags: &Flags, lab: &mut Lab) -> anyhow::Result<()> {
    let hole = lab.open_hole(flags.holes, flags.seeds[0])?;
    let settings = flags.settings(flags.seeds[0]);
    let before = usage::resident_mb();
    let budget = |samples| Budget { samples, positions: u64::MAX };
    let (first, all) = (budget(flags.samples / 2), budget(flags.samples));
    let half = search(lab, &hole, Guidance::FULL, settings, first, Memo::default())?;
    let lines: Vec<String> = half.events.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    let bytes: usize = lines.iter().map(String::len).sum();
    let mut memo = Memo::default();
    for line in &lines {
        memo.learn(serde_json::from_str(line)?);
    }
    let whole = search(lab, &hole, Guidance::FULL, settings, all, memo)?;
    let distinct: HashSet<Vec<u8>> = whole.fills.iter().map(|fill| normal_form(fill)).collect();
    println!(
        "{}: {} samples, {} distinct; the first {} equal those before the reload: {}; {} positions before it, {} after; \
         record {:.1} MB; {:.0} MB resident before, at most {:.0} MB",
        hole.name,
        whole.fills.len(),
        distinct.len(),
        half.fills.len(),
        whole.fills.starts_with(&half.fills),
        half.counters.positions,
        whole.counters.positions,
        bytes as f64 / 1e6,
        before,
        usage::peak_mb(),
    );
    Ok(())
}
