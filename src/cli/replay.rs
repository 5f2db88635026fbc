//! `repair replay --project DIR --holes N --seed S`: what the oracle says to code that compiles.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::campaign;
use crate::cli::Exit;
use crate::cli::repair::absolute;
use crate::config::flags::{Format, ReplayFlags};
use crate::config::{self, Environment};
use crate::console::Console;
use crate::decode::oracle::DecidedBy;
use crate::decode::replay::{Caught, Figures, ReplaySettings, Spelling, Swapped, replay};
use crate::engine::{JdtEngine, Quantiles};
use crate::model::{self, Tokenizer};
use crate::process::{Interrupt, resident_kib};

/// Holes between two notes of progress.
const NOTE_EVERY: u64 = 250;

/// Replays holes of a project and prints the figures. A refusal of code that compiles is a failure.
pub fn run(
    flags: &ReplayFlags,
    environment: &Environment,
    here: Option<&Path>,
    interrupt: &Interrupt,
    console: &Console,
) -> anyhow::Result<Exit> {
    let root = absolute(&flags.project, here);
    let (parts, overrides) = config::resolve_replay(flags, environment, &root)?;
    let scratch = campaign::scratch_dir(&parts.cache)?;
    let paths =
        if flags.tokenizers.is_empty() { vec![parts.model.clone()] } else { flags.tokenizers.clone() };
    let tokenizers = paths.iter().map(|path| model::load_tokenizer(path)).collect::<Result<Vec<_>, _>>()?;
    let project = campaign::inspect_project(&root, &parts, &overrides, scratch.path(), interrupt)?;
    let mut engine = campaign::start_server(&parts, &project, scratch.path(), interrupt)?;
    let spells: Vec<_> =
        tokenizers.iter().map(|tokenizer| move |text: &str| spell(tokenizer, text)).collect();
    // A directory has the tokenizer of a model that was trained to infill.
    let spelling =
        |(spell, path): (_, &std::path::PathBuf)| Spelling { spell, structural_end: path.is_file() };
    let spellings: Vec<Spelling> =
        spells.iter().map(|spell| spell as &dyn Fn(&str) -> _).zip(&paths).map(spelling).collect();
    let settings = ReplaySettings { holes: flags.holes, seed: flags.seed, counter: flags.counter };
    let figures = replay(&mut engine, &project, &spellings, settings, &mut |figures| {
        if figures.n_holes() % NOTE_EVERY == 0 {
            console.note(&format!("{} holes, {} refused", figures.n_holes(), figures.false_prunes.len()));
        }
        interrupt.is_set()
    })?;
    let report = report(&figures, &engine);
    console.data(&match flags.format {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&report)?),
        Format::Text => text(&figures, &engine)?,
    });
    engine.shut_down();
    Ok(if figures.false_prunes.is_empty() { Exit::Success } else { Exit::NoPatch })
}

fn spell(tokenizer: &Tokenizer, text: &str) -> Option<Vec<Vec<u8>>> {
    let ids = tokenizer.encode(text).ok()?;
    ids.iter().map(|&id| tokenizer.vocabulary().bytes(id).map(<[u8]>::to_vec)).collect()
}

fn report(figures: &Figures, engine: &JdtEngine) -> Value {
    let caught: Vec<Value> = figures
        .caught
        .iter()
        .map(|((how, when), n)| json!({ "swapped": how, "caught": when, "n": n }))
        .collect();
    let times: Vec<Value> = engine
        .times()
        .iter()
        .map(|(command, times)| json!({ "command": command, "wall": times.wall(), "cpu": times.cpu() }))
        .collect();
    json!({
        "holes": figures.holes,
        "skipped": figures.skipped,
        "tokens": figures.n_tokens(),
        "false_prunes": figures.false_prunes,
        "decision_micros": figures.decision_times(),
        "identifiers": figures.words,
        "unknown_at": figures.unknown_at,
        "unknown_share": figures.unknown_share(),
        "questions": figures.questions,
        "asked": { "cold": figures.cold, "warm": figures.warm },
        "answer_micros": times,
        "caught": caught,
        "harmless": figures.harmless,
        "missed": figures.missed,
        "late": figures.late,
        "engine": engine.counters(),
        "server_kib": resident_kib(engine.server_pid()),
    })
}

fn text(figures: &Figures, engine: &JdtEngine) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    for prune in &figures.false_prunes {
        writeln!(
            out,
            "REFUSED {}:{} ({:?}): {:?} at {:?} after {:?}: {}",
            prune.file.display(),
            prune.line,
            prune.kind,
            prune.refusal,
            prune.token,
            prune.accepted,
            prune.evidence,
        )?;
    }
    for (kind, sums) in &figures.holes {
        writeln!(out, "{kind:?} holes: {} ({} in a body)", sums.n, sums.in_body)?;
    }
    writeln!(
        out,
        "{} holes, {} tokens, {} refused, {} skipped",
        figures.n_holes(),
        figures.n_tokens(),
        figures.false_prunes.len(),
        figures.skipped
    )?;
    for (by, times) in figures.decision_times() {
        writeln!(out, "decided by {by:?}: {}", quantiles(times))?;
    }
    write_words(&mut out, figures)?;
    for (asked, holes) in [(figures.cold, "new holes"), (figures.warm, "holes that were filled before")] {
        if let Some((lists, checks)) = asked.per_token() {
            writeln!(out, "per token: {lists:.3} questions for lists and {checks:.3} checks in {holes}")?;
        }
    }
    for (command, times) in engine.times() {
        let n = figures.questions.get(command).copied().unwrap_or_default();
        writeln!(
            out,
            "{}: {n} asked; wall {}; cpu {}",
            command.name(),
            quantiles(times.wall()),
            quantiles(times.cpu())
        )?;
    }
    write_caught(&mut out, figures)?;
    if let Some(kib) = resident_kib(engine.server_pid()) {
        writeln!(out, "server: {} MiB, {} restarts", kib / 1024, engine.counters().restarts)?;
    }
    Ok(out)
}

fn write_words(out: &mut String, figures: &Figures) -> std::fmt::Result {
    let n: u64 = figures.words.decided.values().sum();
    let by = |by| figures.words.decided.get(&by).copied().unwrap_or_default();
    writeln!(
        out,
        "{n} identifiers: {} by a list at hand, {} by a question, {} unknown ({:.1} %)",
        by(DecidedBy::List),
        by(DecidedBy::Engine),
        by(DecidedBy::Unknown),
        100.0 * figures.unknown_share()
    )?;
    let mut reasons: Vec<_> = figures.words.unknown.iter().collect();
    reasons.sort_by_key(|&(reason, n)| (std::cmp::Reverse(*n), reason));
    reasons.into_iter().try_for_each(|(reason, n)| {
        let at = figures.unknown_at.get(reason).map_or("", String::as_str);
        writeln!(out, "    unknown, {reason}: {n}, as in {at}")
    })
}

fn write_caught(out: &mut String, figures: &Figures) -> std::fmt::Result {
    for how in [Swapped::Nonexistent, Swapped::OtherMember] {
        let n = |when| figures.caught.get(&(how, when)).copied().unwrap_or_default();
        let when = [Caught::AtOnce, Caught::Later, Caught::Statement, Caught::End, Caught::Never];
        let all: u64 = when.iter().map(|&when| n(when)).sum();
        if all > 0 {
            let parts = when.map(|when| format!("{} {when:?}", n(when)));
            writeln!(out, "{all} wrong fills ({how:?}): {}", parts.join(", "))?;
        }
    }
    figures.late.iter().try_for_each(|late| writeln!(out, "    late: {late}"))?;
    figures.missed.iter().try_for_each(|missed| writeln!(out, "    missed: {missed}"))
}

fn quantiles(times: Quantiles) -> String {
    format!("{} with p50 {} us, p90 {} us, p99 {} us", times.n, times.p50, times.p90, times.p99)
}
