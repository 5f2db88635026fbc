//! `repair diff-runs A B`: what differs between two runs or campaigns.

use std::path::Path;

use super::repair::absolute;
use crate::cli::Exit;
use crate::config::flags::{DiffRunsFlags, Format};
use crate::console::Console;
use crate::report::differences::Differences;
use crate::report::unit;

/// Prints the differences; the exit code tells whether the outcomes are the same.
pub fn run(flags: &DiffRunsFlags, here: Option<&Path>, console: &Console) -> anyhow::Result<Exit> {
    let [first, second] = [&flags.first, &flags.second].map(|dir| absolute(dir, here));
    let differences = Differences::between(&unit::find(&[first])?, &unit::find(&[second])?);
    console.data(&match flags.format {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&differences)?),
        Format::Text => differences.text(),
    });
    Ok(if differences.is_same_outcome() { Exit::Success } else { Exit::NoPatch })
}
