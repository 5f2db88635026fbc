//! `repair apply RUN`: shows one plausible patch and puts it into a tree.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::repair::absolute;
use crate::campaign::Unreadable;
use crate::cli::Exit;
use crate::config::flags::ApplyFlags;
use crate::console::Console;
use crate::patch::{ApplyError, apply};
use crate::record::{RecordError, replace_file};
use crate::report::unit::{self, Unit};

/// A patch that cannot be chosen.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    /// Several bugs have one.
    #[error("several bugs have plausible patches: name one with --bug, or its run directory: {0}")]
    Several(String),
    /// No bug has one.
    #[error("no plausible patch in `{}`{}", .run.display(), .bug.as_ref().map_or(String::new(), |bug| format!(" for `{bug}`")))]
    None {
        /// What the user named.
        run: PathBuf,
        /// The bug that the user named.
        bug: Option<String>,
    },
    /// Not so many.
    #[error("there is no patch of rank {rank}: {bug} has {n}")]
    Rank {
        /// What the user asked for.
        rank: usize,
        /// The bug.
        bug: String,
        /// How many it has.
        n: usize,
    },
}

/// Shows the patch, then applies it unless only showing was asked for.
pub fn run(flags: &ApplyFlags, here: Option<&Path>, console: &Console) -> anyhow::Result<Exit> {
    let run = absolute(&flags.run, here);
    let units = unit::find(std::slice::from_ref(&run))?;
    let unit = chosen(&run, &units, flags.bug.as_deref())?;
    let ranking = unit.ranking();
    let patch = flags
        .rank
        .checked_sub(1)
        .and_then(|at| ranking.get(at))
        .ok_or_else(|| ChoiceError::Rank { rank: flags.rank, bug: unit.bug.clone(), n: ranking.len() })?;
    let diff = unit.diff(patch.index)?;
    console.data(&String::from_utf8_lossy(&diff));
    let text = |name: &str| unit.manifest[name].as_str().map(PathBuf::from);
    let root = flags.project.as_ref().map(|dir| absolute(dir, here)).or_else(|| text("project"));
    let file = unit.manifest["inputs"]["file"].as_str().map(PathBuf::from);
    let (root, file) = root.zip(file).context("the run's manifest names no file")?;
    let target = root.join(file);
    let now = std::fs::read(&target).map_err(|source| Unreadable { file: target.clone(), source })?;
    let new = apply(&now, &diff).map_err(|error| Refused { file: target.clone(), error })?;
    if flags.dry_run {
        console.note(&format!("it would go into {}", target.display()));
        return Ok(Exit::Success);
    }
    let io = |source| RecordError::Io { action: "write", path: target.clone(), source };
    let permissions = std::fs::metadata(&target).map_err(io)?.permissions();
    replace_file(&target, &new)?;
    std::fs::set_permissions(&target, permissions).map_err(io)?;
    console.note(&format!("applied patch {} of {} to {}", patch.index, unit.bug, target.display()));
    Ok(Exit::Success)
}

/// A diff that does not go into the file as it is.
#[derive(Debug, thiserror::Error)]
#[error("the patch was not applied to `{}`", .file.display())]
pub struct Refused {
    file: PathBuf,
    #[source]
    error: ApplyError,
}

/// The unit with a plausible patch; several units of one bug are told apart by their run directories.
pub(super) fn chosen<'a>(run: &Path, units: &'a [Unit], bug: Option<&str>) -> Result<&'a Unit, ChoiceError> {
    let fits = |unit: &&Unit| bug.is_none_or(|bug| bug == unit.bug) && !unit.plausible().is_empty();
    let fitting: Vec<&Unit> = units.iter().filter(fits).collect();
    match fitting.as_slice() {
        [unit] => Ok(unit),
        [] => Err(ChoiceError::None { run: run.to_owned(), bug: bug.map(str::to_owned) }),
        units => {
            let mut names: Vec<String> = units.iter().map(|unit| unit.bug.clone()).collect();
            names.dedup();
            let runs = || units.iter().map(|unit| unit.run.display().to_string()).collect();
            let names: Vec<String> = if names.len() == 1 { runs() } else { names };
            Err(ChoiceError::Several(names.join(", ")))
        }
    }
}
