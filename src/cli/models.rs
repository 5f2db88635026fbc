//! `repair models`: the models that have a short name, their licences, and what of them is on this machine.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli::Exit;
use crate::config::flags::{Format, ModelsFlags};
use crate::config::{DEFAULT_MODEL, Environment};
use crate::console::Console;
use crate::model::KNOWN;

/// One model.
#[derive(Debug, Serialize)]
struct Listed {
    name: String,
    id: Option<&'static str>,
    millions: u32,
    licence: &'static str,
    non_commercial: bool,
    path: Option<PathBuf>,
    /// Bytes on this machine.
    bytes: Option<u64>,
}

/// Prints the list.
pub fn run(flags: &ModelsFlags, environment: &Environment, console: &Console) -> anyhow::Result<Exit> {
    let default = environment.cache.as_ref().map(|cache| cache.join("models").join(DEFAULT_MODEL));
    let default = default.filter(|path| path.is_file());
    let mut listed = vec![Listed {
        name: DEFAULT_MODEL.to_owned(),
        id: None,
        millions: 135,
        licence: "Apache-2.0",
        non_commercial: false,
        bytes: default.as_deref().map(size),
        path: default,
    }];
    listed.extend(KNOWN.iter().map(|known| {
        let path = known.cached(&environment.hub);
        Listed {
            name: known.name.to_owned(),
            id: Some(known.id),
            millions: known.millions,
            licence: known.licence,
            non_commercial: known.non_commercial,
            bytes: path.as_deref().map(size),
            path,
        }
    }));
    console.data(&match flags.format {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&listed)?),
        Format::Text => text(&listed)?,
    });
    Ok(Exit::Success)
}

fn text(listed: &[Listed]) -> anyhow::Result<String> {
    let mut out = String::new();
    for model in listed {
        let here = match model.bytes {
            Some(bytes) => format!("{:.1} GB here", bytes as f64 / 1e9),
            None => String::new(),
        };
        let licence = format!(
            "{}{}",
            model.licence,
            if model.non_commercial { ", not for commercial use" } else { "" }
        );
        let parameters = format!("{:.1} G", f64::from(model.millions) / 1000.0);
        let line = format!(
            "{:33}  {parameters:>6}  {licence:46}  {:40}  {here}",
            model.name,
            model.id.unwrap_or("the default; set-up brings it"),
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(out)
}

/// Bytes of a file, or of the files of a directory; links are followed.
fn size(path: &Path) -> u64 {
    let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    if path.is_file() {
        return bytes(path);
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| bytes(&entry.path())).sum()
}
