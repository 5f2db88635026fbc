//! `repair validate RUN`: judges the samples of runs that have no verdict yet.

use std::path::{Path, PathBuf};

use clap::{Parser as _, ValueEnum as _};

use super::repair::{absolute, task, text};
use crate::campaign::{self, Summary};
use crate::cli::Exit;
use crate::config::Environment;
use crate::config::flags::{Cli, Flags, ValidateFlags};
use crate::console::Console;
use crate::java::project::BuildTool;
use crate::process::Interrupt;
use crate::report::unit::{self, Unit};

/// A record that does not tell what the run was made on.
#[derive(Debug, thiserror::Error)]
#[error("the manifest in `{}` does not tell the project, the lines and the tests", .0.display())]
pub struct Untold(PathBuf);

/// Judges every unit's open samples, one unit after the other, and prints what each has come to.
pub fn run(
    flags: &ValidateFlags,
    environment: &Environment,
    here: Option<&Path>,
    interrupt: &Interrupt,
    console: &mut Console,
) -> anyhow::Result<Exit> {
    let units = unit::find(&[absolute(&flags.run, here)])?;
    let mut n_plausible = 0;
    for unit in units.iter().filter(|unit| !unit.samples.is_empty()) {
        let summary = one(unit, flags, environment, here, interrupt, console)?;
        n_plausible += summary.plausible;
        console.clear();
        console.data(&text(&summary)?);
    }
    Ok(if n_plausible > 0 { Exit::Success } else { Exit::NoPatch })
}

fn one(
    unit: &Unit,
    flags: &ValidateFlags,
    environment: &Environment,
    here: Option<&Path>,
    interrupt: &Interrupt,
    console: &mut Console,
) -> anyhow::Result<Summary> {
    let repair = repair_flags(unit, flags).ok_or_else(|| Untold(unit.run.clone()))?;
    let (mut task, config) =
        task(&repair, environment, here, interrupt, &mut |progress| console.progress(&progress))?;
    task.name.clone_from(&unit.bug);
    campaign::validate(&task, &config, flags.workers, interrupt, &mut |progress| console.progress(&progress))
}

/// The flags of a repair of the same bug, as the manifest tells it.
fn repair_flags(unit: &Unit, flags: &ValidateFlags) -> Option<Flags> {
    let (manifest, inputs) = (&unit.manifest, &unit.manifest["inputs"]);
    let is_benchmark = manifest["environment"]["benchmark"].is_string();
    let project = manifest["project"].as_str()?;
    let mut words = vec!["repair".to_owned(), format!("--run-dir={}", unit.run.display())];
    if is_benchmark {
        words.extend([format!("--bug={}", unit.bug), format!("--checkout={project}")]);
    } else {
        let (file, lines) = (inputs["file"].as_str()?, &inputs["lines"]);
        if let Some(before) = lines["insert"]["before"].as_u64() {
            words.extend([format!("--at={file}:{before}"), "--insert".to_owned()]);
        } else {
            let (first, last) = (lines["replace"]["first"].as_u64()?, lines["replace"]["last"].as_u64()?);
            words.push(format!("--at={file}:{first}-{last}"));
        }
        words.push(format!("--project={project}"));
        let tests = inputs["tests"].as_array()?.iter();
        words.extend(tests.filter_map(|test| Some(format!("--test={}", test.as_str()?))));
    }
    let mut repair = Cli::try_parse_from(words).ok()?.repair;
    repair.described = flags.described.clone();
    if !is_benchmark {
        let own = &mut repair.described;
        let tool = manifest["build_tool"].as_str().and_then(|name| BuildTool::from_str(name, true).ok());
        own.build = own.build.or(tool);
        own.level = own.level.or_else(|| inputs["level"].as_u64().and_then(|level| level.try_into().ok()));
        own.encoding = own.encoding.take().or_else(|| inputs["encoding"].as_str().map(str::to_owned));
    }
    repair.benchmarks = flags.benchmarks.clone();
    repair.parts = flags.parts.clone();
    repair.no_sandbox = flags.no_sandbox;
    Some(repair)
}
