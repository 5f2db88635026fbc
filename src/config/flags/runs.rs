//! Flags of the subcommands that work on runs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{BenchmarkFlags, Format, PartFlags, ProjectFlags};
use crate::campaign::plan::{Shard, Variant};

/// Flags of `repair campaign`.
#[derive(Debug, Args)]
pub struct CampaignFlags {
    /// Bugs: a benchmark or project (`QuixBugs`, `Closure`), a bug, a pattern (`Closure-*`), a list of the paper
    /// (`1.2-single-hunk`, `2.0-single-hunk`, `2.0-single-line`), or a file with one of these, or a bug as JSON, a line
    #[arg(required = true, value_name = "SET")]
    pub sets: Vec<String>,
    /// Samples of each unit
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100, help_heading = "Units")]
    pub samples: usize,
    /// off, prune, memo, full, or NAME=FLAGS with flags of a repair; may be given several times [default: full]
    #[arg(long = "variant", value_name = "VARIANT", help_heading = "Units")]
    pub variants: Vec<Variant>,
    /// Seeds, separated by commas
    #[arg(long, value_name = "S,..", value_delimiter = ',', default_value = "0", help_heading = "Units")]
    pub seeds: Vec<u64>,
    /// Do the K-th of N parts; parts never overlap
    #[arg(long, value_name = "K/N", help_heading = "Units")]
    pub shard: Option<Shard>,
    /// Units at a time; each needs memory for a language server, a model and a test run
    #[arg(long, value_name = "W", default_value_t = 1, help_heading = "Units")]
    pub workers: usize,
    /// Try units again that failed
    #[arg(long, help_heading = "Units")]
    pub retry: bool,
    /// Where the campaign is kept
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub dir: PathBuf,
    /// How the tables are written on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub format: Format,
    /// Where the benchmarks are
    #[command(flatten)]
    pub benchmarks: BenchmarkFlags,
    /// Further flags of a repair, for every unit
    #[arg(last = true, value_name = "FLAGS")]
    pub words: Vec<String>,
}

/// Flags of `repair report`.
#[derive(Debug, Args)]
pub struct ReportFlags {
    /// Run directories, campaigns, or directories that hold them
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// How the report is written on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Report")]
    pub format: ReportFormat,
    /// Only this table: variants, rates, costs, units, failures, venn-plausible, venn-correct, with --paper paper-1 to
    /// paper-4; may be given several times
    #[arg(long = "table", value_name = "NAME", help_heading = "Report")]
    pub tables: Vec<String>,
    /// Tables 1 to 4 of the Repilot paper, too, with the report's own rows: where its `paper_tables.csv` and
    /// `considered_bugs.csv` are
    #[arg(long, value_name = "DIR", help_heading = "Report")]
    pub paper: Option<PathBuf>,
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
    /// One file for a browser: plots, and a page for every bug
    Html,
    /// Plausible patches as fixes, for editors and code review (SARIF 2.1.0)
    Sarif,
}

/// Flags of `repair apply`.
#[derive(Debug, Args)]
pub struct ApplyFlags {
    /// A run directory, or a campaign
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Which bug, where several have a plausible patch
    #[arg(long, value_name = "BUG", help_heading = "Patch")]
    pub bug: Option<String>,
    /// Which patch: 1 for the best
    #[arg(long, value_name = "R", default_value_t = 1, help_heading = "Patch")]
    pub rank: usize,
    /// The tree [default: the one that the run was made on]
    #[arg(long, value_name = "DIR", help_heading = "Patch")]
    pub project: Option<PathBuf>,
    /// Only show it, and say whether it would go in
    #[arg(long, help_heading = "Patch")]
    pub dry_run: bool,
}

/// Flags of `repair judge`.
#[derive(Debug, Args)]
pub struct JudgeFlags {
    /// A run directory, or a campaign
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Only this bug
    #[arg(long, value_name = "BUG", help_heading = "Judgement")]
    pub bug: Option<String>,
    /// Ask nothing and keep this judgement, of the patch of this bug and rank
    #[arg(long = "as", value_enum, value_name = "JUDGEMENT", help_heading = "Judgement")]
    pub said: Option<Said>,
    /// With --as: which patch, 1 for the best
    #[arg(long, value_name = "R", default_value_t = 1, help_heading = "Judgement")]
    pub rank: usize,
    /// With --as: why
    #[arg(long, value_name = "TEXT", help_heading = "Judgement")]
    pub note: Option<String>,
    /// Who judges
    #[arg(long, value_name = "NAME", default_value = "unnamed", help_heading = "Judgement")]
    pub by: String,
    /// Where judgements are kept [default: `judgements.jsonl` in RUN]
    #[arg(long, value_name = "FILE", help_heading = "Judgement")]
    pub to: Option<PathBuf>,
    /// Where the benchmarks are, for the human patches
    #[command(flatten)]
    pub benchmarks: BenchmarkFlags,
}

/// What a person says of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Said {
    /// It does what the program should do
    Correct,
    /// It passes the tests and is wrong
    Wrong,
    /// Looked at, and undecided
    Unsure,
}

/// Flags of `repair diff-runs`.
#[derive(Debug, Args)]
pub struct DiffRunsFlags {
    /// A run directory, or a campaign
    #[arg(value_name = "A")]
    pub first: PathBuf,
    /// Another one
    #[arg(value_name = "B")]
    pub second: PathBuf,
    /// How the differences are written on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

/// Flags of `repair validate`.
#[derive(Debug, Args)]
pub struct ValidateFlags {
    /// A run directory, or a campaign
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Candidates that are judged at a time
    #[arg(long, value_name = "W", default_value_t = 1)]
    pub workers: usize,
    /// What the project is made of
    #[command(flatten)]
    pub described: ProjectFlags,
    /// Where the benchmarks are
    #[command(flatten)]
    pub benchmarks: BenchmarkFlags,
    /// Parts of the environment
    #[command(flatten)]
    pub parts: PartFlags,
    /// Run patched code without a sandbox
    #[arg(long, help_heading = "Environment")]
    pub no_sandbox: bool,
}
