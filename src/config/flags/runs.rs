//! Flags of the subcommands that work on runs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Flags of `repair report`.
#[derive(Debug, Args)]
pub struct ReportFlags {
    /// Run directories, campaigns, or directories that hold them
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// How the report is written on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Report")]
    pub format: ReportFormat,
    /// Only this table: variants, rates, costs, units, failures, venn-plausible, venn-correct; may be given several times
    #[arg(long = "table", value_name = "NAME", help_heading = "Report")]
    pub tables: Vec<String>,
    /// What people said of patches, besides each RUN's own `judgements.jsonl`; may be given several times
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    pub judgements: Vec<PathBuf>,
    /// Bugs that other tools mended, to compare with: CSV `tool,bug` or JSON; may be given several times
    #[arg(long = "compare", value_name = "FILE", help_heading = "Report")]
    pub others: Vec<PathBuf>,
}

/// Form of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// Tables for a terminal
    #[default]
    Text,
    /// All figures, for programs
    Json,
    /// One table for a spreadsheet: that of the bugs, or the one that is named
    Csv,
    /// Tables for a document
    Markdown,
}
