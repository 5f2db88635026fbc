//! `repair judge RUN`: a person looks at plausible patches beside the human one and says which are correct.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::BufRead as _;
use std::path::Path;

use super::bugs;
use super::repair::absolute;
use crate::bug::BugId;
use crate::bug::change::Change;
use crate::cli::Exit;
use crate::config::Environment;
use crate::config::flags::{JudgeFlags, Said};
use crate::console::Console;
use crate::record::Lines;
use crate::report::judgements::{FILE, Judgement, Judgements, Opinion, patch_id};
use crate::report::unit::{self, SampleLine, Unit};

/// What may be answered.
const QUESTION: &str = "[c]orrect, [w]rong, [u]nsure, [s]kip, [q]uit, with a note behind it if you like";

/// Shows what nobody judged yet and keeps the answers; with `--as`, keeps the one that the flags give.
pub fn run(
    flags: &JudgeFlags,
    environment: &Environment,
    here: Option<&Path>,
    console: &Console,
) -> anyhow::Result<Exit> {
    let run = absolute(&flags.run, here);
    let units = unit::find(std::slice::from_ref(&run))?;
    let file = flags.to.as_ref().map_or_else(|| run.join(FILE), |file| absolute(file, here));
    let by = flags.by.clone();
    if let Some(said) = flags.said {
        let unit = super::apply::chosen(&run, &units, flags.bug.as_deref())?;
        let patches = unit.ranking();
        let patch = flags.rank.checked_sub(1).and_then(|at| patches.get(at).copied());
        let patch = patch.ok_or_else(|| super::apply::ChoiceError::Rank {
            rank: flags.rank,
            bug: unit.bug.clone(),
            n: patches.len(),
        })?;
        let note = flags.note.clone().unwrap_or_default();
        keep(&file, &judgement(unit, patch, opinion(said), &by, note))?;
        console.note(&format!("{} sample {}: {said:?}, kept in {}", unit.bug, patch.index, file.display()));
        return Ok(Exit::Success);
    }
    let known = Judgements::read(std::slice::from_ref(&file))?;
    let open = open(&units, flags.bug.as_deref(), &known);
    console.note(&format!("{} plausible patches to judge; answers go to {}", open.len(), file.display()));
    let place = bugs::Place { flags: &flags.benchmarks, environment, here };
    let mut answers = std::io::stdin().lock().lines();
    for (unit, patch) in open {
        console.data(&shown(unit, patch, human(&unit.bug, place).as_deref())?);
        let (opinion, note) = loop {
            console.note(QUESTION);
            let Some(answer) = answers.next().transpose()? else { return Ok(Exit::Success) };
            let (word, note) = answer.trim().split_once(' ').unwrap_or((answer.trim(), ""));
            match word {
                "c" | "correct" => break (Some(Opinion::Correct), note.trim().to_owned()),
                "w" | "wrong" => break (Some(Opinion::Wrong), note.trim().to_owned()),
                "u" | "unsure" => break (Some(Opinion::Unsure), note.trim().to_owned()),
                "s" | "skip" => break (None, String::new()),
                "q" | "quit" => return Ok(Exit::Success),
                _ => {}
            }
        };
        if let Some(opinion) = opinion {
            keep(&file, &judgement(unit, patch, opinion, &by, note))?;
        }
    }
    Ok(Exit::Success)
}

fn opinion(said: Said) -> Opinion {
    match said {
        Said::Correct => Opinion::Correct,
        Said::Wrong => Opinion::Wrong,
        Said::Unsure => Opinion::Unsure,
    }
}

fn judgement(unit: &Unit, patch: &SampleLine, judgement: Opinion, by: &str, note: String) -> Judgement {
    Judgement {
        bug: unit.bug.clone(),
        patch: patch_id(&patch.fill),
        judgement,
        by: by.to_owned(),
        note,
        fill: patch.fill.clone(),
    }
}

fn keep(file: &Path, judgement: &Judgement) -> anyhow::Result<()> {
    let (mut lines, _) = Lines::open(file.to_owned())?;
    lines.push(judgement)?;
    Ok(lines.flush()?)
}

/// Plausible patches that nobody judged, each text of a bug once.
fn open<'a>(units: &'a [Unit], bug: Option<&str>, known: &Judgements) -> Vec<(&'a Unit, &'a SampleLine)> {
    let mut seen = HashSet::new();
    let mut open = Vec::new();
    for unit in units.iter().filter(|unit| bug.is_none_or(|bug| bug == unit.bug)) {
        for patch in unit.ranking() {
            if known.of(&unit.bug, &patch.fill).is_none() && seen.insert((&unit.bug, patch_id(&patch.fill))) {
                open.push((unit, patch));
            }
        }
    }
    open
}

/// What a person changed, if the benchmark is at hand.
fn human(bug: &str, place: bugs::Place) -> Option<Vec<Change>> {
    let bug: BugId = bug.parse().ok()?;
    match bugs::collection(&bug.project) {
        Some(collection) => place.programs(collection).ok()?.changes(&bug).ok(),
        None => bugs::defects4j(place.flags, place.environment, place.here)
            .ok()?
            .0
            .changes(&bug)
            .ok()
            .map(|changes| changes.runs),
    }
}

fn shown(unit: &Unit, patch: &SampleLine, human: Option<&[Change]>) -> anyhow::Result<String> {
    let diff = unit.diff(patch.index)?;
    let mut out = format!("{} sample {}, ln p {:.2}\n", unit.bug, patch.index, patch.log_p);
    out += &String::from_utf8_lossy(&diff);
    match human {
        None => out += "the human patch is not at hand\n",
        Some(changes) => {
            for change in changes {
                writeln!(out, "the human patch: {}", change.hunk())?;
                for (sign, lines) in [('-', &change.buggy), ('+', &change.fixed)] {
                    for line in lines {
                        writeln!(out, "{sign}{}", String::from_utf8_lossy(line).trim_end())?;
                    }
                }
            }
        }
    }
    Ok(out)
}
