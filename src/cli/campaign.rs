//! `repair campaign SET..`: many bugs, each with every variant and every seed.
//!
//! A unit is what `repair` does with the same flags, in a run directory of its own below the campaign's. So every unit
//! goes on where it was, none depends on another, and shards need nobody who hands out work. A unit that breaks is a
//! record, `unit.json`, and the next one follows.

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context as _, anyhow};
use clap::Parser as _;
use serde::Serialize;

use super::bugs;
use super::repair::{absolute, task};
use crate::campaign::plan::{Plan, PlanError, Shard, Unit};
use crate::campaign::{self, Interrupted, OtherRun, Progress, Summary};
use crate::cli::Exit;
use crate::config::flags::{CampaignFlags, Cli, Flags, Format};
use crate::config::{ConfigError, Environment};
use crate::console::Console;
use crate::process::Interrupt;
use crate::record::{PlannedUnit, RecordError, UnitEnd, UnitRecord, read_json, replace_file};
use crate::report::judgements::Judgements;
use crate::report::table::Table;
use crate::report::venn::Lists;
use crate::report::{Report, unit};

mod sets;

pub use sets::SetError;

/// What one unit's record is called.
const UNIT: &str = "unit.json";

/// Runs the units that have no result yet, then prints the tables of all that is there.
pub fn run(
    flags: &CampaignFlags,
    environment: &Environment,
    here: Option<&Path>,
    interrupt: &Interrupt,
    console: &mut Console,
) -> anyhow::Result<Exit> {
    let place = bugs::Place { flags: &flags.benchmarks, environment, here };
    let targets = sets::targets(&flags.sets, place)?;
    let plan = plan(flags)?;
    let dir = absolute(&flags.dir, here);
    let units = plan.units(&targets)?;
    for unit in &units {
        parse(&unit.words, &dir).with_context(|| format!("flags of variant `{}`", unit.variant))?;
    }
    write_plan(&dir, flags, &plan, targets.len(), &units)?;
    let campaign = Campaign { flags, environment, here, interrupt, dir: &dir, plan: &plan };
    let mut pending = Vec::new();
    for unit in &units {
        if !campaign.is_done(unit)? {
            pending.push(unit);
        }
    }
    console.note(&format!(
        "{} units of {} bugs, {} of them to do, in {}",
        units.len(),
        targets.len(),
        pending.len(),
        dir.display()
    ));
    campaign.work(&pending, console)?;
    let report = Report::of(&unit::find(std::slice::from_ref(&dir))?, &Judgements::default(), &Lists::new());
    console.data(&match flags.format {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&report)?),
        Format::Text => report.tables().iter().map(Table::text).collect::<Vec<_>>().join("\n"),
    });
    let failed = units.iter().filter(|unit| campaign.has_failed(unit)).count();
    if failed > 0 {
        console.note(&format!("{failed} of {} units failed; --retry tries them again", units.len()));
    }
    Ok(if failed > 0 { Exit::UnitsFailed } else { Exit::Success })
}

fn plan(flags: &CampaignFlags) -> Result<Plan, ConfigError> {
    let at_least_one = |name, n: usize| {
        let zero = ConfigError::Range { name, value: n.to_string(), allowed: "at least 1" };
        if n == 0 { Err(zero) } else { Ok(n) }
    };
    at_least_one("--workers", flags.workers)?;
    let full = || vec!["full".parse().expect("the paper's variant")];
    Ok(Plan {
        samples: at_least_one("--samples", flags.samples)?,
        variants: if flags.variants.is_empty() { full() } else { flags.variants.clone() },
        seeds: flags.seeds.clone(),
        shard: flags.shard.unwrap_or(Shard::WHOLE),
        words: flags.words.clone(),
    })
}

/// The flags of `repair`, as its command line would give them.
fn parse(words: &[String], run_dir: &Path) -> anyhow::Result<Flags> {
    let own = ["repair".to_owned(), "--run-dir".to_owned(), run_dir.display().to_string()];
    let cli = Cli::try_parse_from(own.iter().chain(words)).map_err(|error| {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        PlanError::Words(line)
    })?;
    Ok(cli.repair)
}

/// `campaign.json`: what was asked for. Shards have one each, so that directories can be put together.
#[derive(Serialize)]
struct Asked<'a> {
    version: &'static str,
    sets: &'a [String],
    bugs: usize,
    plan: &'a Plan,
    workers: usize,
    units: Vec<PlannedUnit>,
}

fn write_plan(
    dir: &Path,
    flags: &CampaignFlags,
    plan: &Plan,
    bugs: usize,
    units: &[Unit],
) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create `{}`", dir.display()))?;
    let name = match plan.shard {
        Shard::WHOLE => "campaign.json".to_owned(),
        Shard { k, n } => format!("campaign-{k}-of-{n}.json"),
    };
    let version = env!("CARGO_PKG_VERSION");
    let units = units.iter().map(Unit::planned).collect();
    let asked = Asked { version, sets: &flags.sets, bugs, plan, workers: flags.workers, units };
    let mut text = serde_json::to_vec_pretty(&asked)?;
    text.push(b'\n');
    Ok(replace_file(&dir.join(name), &text)?)
}

struct Campaign<'a> {
    flags: &'a CampaignFlags,
    environment: &'a Environment,
    here: Option<&'a Path>,
    interrupt: &'a Interrupt,
    dir: &'a Path,
    plan: &'a Plan,
}

/// How a unit ended for this process.
enum Ended {
    Finished(Box<Summary>),
    Failed(UnitEnd),
    /// Another process has it.
    Elsewhere,
}

impl Campaign<'_> {
    fn record(&self, unit: &Unit) -> Result<Option<UnitRecord>, RecordError> {
        read_json(&self.dir.join(unit.dir()).join(UNIT))
    }

    /// Whether the unit has its result, by the same command.
    fn is_done(&self, unit: &Unit) -> Result<bool, RecordError> {
        let record = self.record(unit)?.filter(|record| record.command == unit.words);
        Ok(record.is_some_and(|record| record.end == UnitEnd::Finished || !self.flags.retry))
    }

    fn has_failed(&self, unit: &Unit) -> bool {
        let record = self.record(unit).ok().flatten();
        record.is_some_and(|record| matches!(record.end, UnitEnd::Failed { .. }))
    }

    /// Every worker takes the next unit until none is left.
    fn work(&self, units: &[&Unit], console: &mut Console) -> anyhow::Result<()> {
        let (next, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (console, stop) = (Mutex::new(console), self.interrupt.child());
        let started = Instant::now();
        let alone = self.flags.workers == 1;
        let worker = || -> anyhow::Result<()> {
            while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut show = |progress: Progress| {
                    // Several units' progress would not be legible in one line.
                    if alone || matches!(progress, Progress::Note(_)) {
                        console.lock().expect("no worker panics while it prints").progress(&progress);
                    }
                };
                let result = self.unit(unit, &stop, &mut show);
                if result.is_err() {
                    stop.set();
                }
                let end = result?;
                let done = ended.fetch_add(1, Ordering::Relaxed) + 1;
                let left = started.elapsed().as_secs_f64() / done as f64 * (units.len() - done) as f64;
                let console = console.lock().expect("no worker panics while it prints");
                console.note(&format!(
                    "[{done}/{}] {}; {} left",
                    units.len(),
                    line(unit, &end),
                    duration(left)
                ));
            }
            Ok(())
        };
        let results: Vec<anyhow::Result<()>> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.flags.workers).map(|_| scope.spawn(worker)).collect();
            workers
                .into_iter()
                .map(|worker| worker.join().unwrap_or_else(|_| Err(anyhow!("a worker broke"))))
                .collect()
        });
        // What made the others stop is told before that they stopped.
        let (interrupted, broken): (Vec<_>, Vec<_>) =
            results.into_iter().filter_map(Result::err).partition(anyhow::Error::is::<Interrupted>);
        broken.into_iter().chain(interrupted).next().map_or(Ok(()), Err)
    }

    /// One unit, from the record that it is under way to the record of its end.
    fn unit(&self, unit: &Unit, stop: &Interrupt, show: &mut dyn FnMut(Progress)) -> anyhow::Result<Ended> {
        let started = Instant::now();
        if stop.is_set() {
            return Err(Interrupted(self.dir.to_owned()).into());
        }
        let run_dir = self.dir.join(unit.dir());
        forget(&run_dir.join(UNIT))?;
        let work = AssertUnwindSafe(|| self.repair(unit, &run_dir, stop, show));
        let result =
            std::panic::catch_unwind(work).unwrap_or_else(|panic| Err(anyhow!("panic: {}", said(&*panic))));
        let error = match result {
            Ok(summary) => {
                self.write(unit, &run_dir, UnitEnd::Finished, started)?;
                return Ok(Ended::Finished(Box::new(summary)));
            }
            Err(error) => error,
        };
        if stop.is_set() || error.is::<Interrupted>() {
            return Err(Interrupted(self.dir.to_owned()).into());
        }
        if error.chain().any(|cause| matches!(cause.downcast_ref(), Some(RecordError::InUse(_)))) {
            return Ok(Ended::Elsewhere);
        }
        if error.is::<OtherRun>() {
            // The others would not agree either: nothing is overwritten.
            return Err(error.context(format!("unit `{}`", unit.dir().display())));
        }
        let exit = Exit::of(&error) as u8;
        let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
        let end = UnitEnd::Failed { error: causes.join(": "), exit };
        self.write(unit, &run_dir, end.clone(), started)?;
        Ok(Ended::Failed(end))
    }

    fn repair(
        &self,
        unit: &Unit,
        run_dir: &Path,
        stop: &Interrupt,
        show: &mut dyn FnMut(Progress),
    ) -> anyhow::Result<Summary> {
        let mut flags = parse(&unit.words, run_dir)?;
        let benchmarks = &self.flags.benchmarks;
        flags.benchmarks.defects4j = flags.benchmarks.defects4j.or_else(|| benchmarks.defects4j.clone());
        flags.benchmarks.quixbugs = flags.benchmarks.quixbugs.or_else(|| benchmarks.quixbugs.clone());
        flags.benchmarks.humaneval = flags.benchmarks.humaneval.or_else(|| benchmarks.humaneval.clone());
        if flags.parts.threads.is_none() && self.flags.workers > 1 {
            let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            flags.parts.threads = Some((cores / self.flags.workers).max(1));
        }
        let (mut task, config) = task(&flags, self.environment, self.here, stop, show)?;
        task.name = unit.target.name();
        campaign::repair(&task, &config, stop, show)
    }

    fn write(&self, unit: &Unit, run_dir: &Path, end: UnitEnd, started: Instant) -> anyhow::Result<()> {
        std::fs::create_dir_all(run_dir).with_context(|| format!("cannot create `{}`", run_dir.display()))?;
        let record = UnitRecord {
            bug: unit.target.name(),
            variant: unit.variant.clone(),
            seed: unit.seed,
            command: unit.words.clone(),
            end,
            seconds: started.elapsed().as_secs_f64(),
        };
        debug_assert!(self.plan.variants.iter().any(|variant| variant.name == record.variant));
        let mut text = serde_json::to_vec_pretty(&record)?;
        text.push(b'\n');
        Ok(replace_file(&run_dir.join(UNIT), &text)?)
    }
}

fn forget(file: &PathBuf) -> anyhow::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove `{}`", file.display()))
        }
        _ => Ok(()),
    }
}

/// What a panic said.
fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "unknown".to_owned())
}

fn line(unit: &Unit, end: &Ended) -> String {
    let name = format!("{} {} seed {}", unit.target.name(), unit.variant, unit.seed);
    match end {
        Ended::Finished(summary) => format!(
            "{name}: {} samples, {} compile, {} plausible, {}",
            summary.samples,
            summary.compilable,
            summary.plausible,
            duration(summary.seconds)
        ),
        Ended::Failed(UnitEnd::Failed { error, .. }) => {
            format!("{name}: failed: {}", error.lines().next().unwrap_or_default())
        }
        Ended::Failed(UnitEnd::Finished) => unreachable!("a failure is not finished"),
        Ended::Elsewhere => format!("{name}: another process works on it"),
    }
}

fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}
