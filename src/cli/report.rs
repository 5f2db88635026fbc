//! `repair report RUN..`: figures and tables of runs.

use std::path::{Path, PathBuf};

use super::repair::absolute;
use crate::cli::Exit;
use crate::config::ConfigError;
use crate::config::flags::{ReportFlags, ReportFormat};
use crate::console::Console;
use crate::report::judgements::Judgements;
use crate::report::paper::Paper;
use crate::report::sarif::sarif;
use crate::report::table::Table;
use crate::report::{Report, html, paper, unit, venn};

/// The table that a spreadsheet gets unless another is named.
const SPREADSHEET: &str = "units";

/// Prints a report.
pub fn run(flags: &ReportFlags, here: Option<&Path>, console: &Console) -> anyhow::Result<Exit> {
    let all = |paths: &[PathBuf]| paths.iter().map(|path| absolute(path, here)).collect::<Vec<_>>();
    let roots = all(&flags.runs);
    let units = unit::find(&roots)?;
    let files = [Judgements::beside(&roots), all(&flags.judgements)].concat();
    let judgements = Judgements::read(&files)?;
    let mut others = venn::Lists::new();
    for file in all(&flags.others) {
        others.extend(venn::read_lists(&file)?);
    }
    let report = Report::of(&units, &judgements, &others);
    let paper = flags.paper.as_ref().map(|dir| Paper::read(&absolute(dir, here))).transpose()?;
    let of_paper = paper.map(|paper| paper::tables(&report, &paper)).unwrap_or_default();
    let wanted = |default: &[&str]| wanted(&report, &of_paper, &flags.tables, default);
    console.data(&match flags.format {
        ReportFormat::Json => format!("{}\n", serde_json::to_string_pretty(&report)?),
        ReportFormat::Csv => {
            let tables = wanted(&[SPREADSHEET])?;
            tables.iter().map(Table::csv).collect::<Result<Vec<_>, _>>()?.join("\n")
        }
        ReportFormat::Sarif => format!("{}\n", serde_json::to_string_pretty(&sarif(&units))?),
        ReportFormat::Html => html::page(&report, &units, &judgements),
        ReportFormat::Text => joined(&wanted(&[])?, Table::text),
        ReportFormat::Markdown => joined(&wanted(&[])?, Table::markdown),
    });
    Ok(Exit::Success)
}

fn joined(tables: &[Table], form: fn(&Table) -> String) -> String {
    tables.iter().map(form).collect::<Vec<_>>().join("\n")
}

/// The tables that are named, else the default ones, else all.
fn wanted(
    report: &Report,
    of_paper: &[Table],
    named: &[String],
    default: &[&str],
) -> Result<Vec<Table>, ConfigError> {
    let tables = [&report.tables(), of_paper].concat();
    let unknown = |name: &&String| !tables.iter().any(|table| table.name == name.as_str());
    if let Some(name) = named.iter().find(unknown) {
        let allowed = "a table of this report: variants, rates, costs, units, failures, venn-plausible, venn-correct, with --paper paper-1 to paper-4";
        return Err(ConfigError::Range { name: "--table", value: name.clone(), allowed });
    }
    let is_wanted = |table: &Table| match (named, default) {
        ([], []) => true,
        ([], default) => default.contains(&table.name),
        (named, _) => named.iter().any(|name| name == table.name),
    };
    Ok(tables.into_iter().filter(is_wanted).collect())
}
