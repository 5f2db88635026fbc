//! Every flag of the command line, declared once.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::bug::{BugId, Location};
use crate::java::project::BuildTool;
use crate::java::test_id::TestId;
use crate::model::DeviceChoice;

mod retrieval;

pub use retrieval::{ChunkFlags, IndexFlags, SearchFlags, StoreFlags};

mod runs;

pub use runs::{
    ApplyFlags, CampaignFlags, DiffRunsFlags, JudgeFlags, ReportFlags, ReportFormat, Said, ValidateFlags,
};

/// Writes patches for buggy Java programs
///
/// A language model fills the hole where the buggy lines were, a Java language server decides which continuations can
/// still compile, and the project's tests judge the result. Plausible patches come out as diffs for `git apply`.
#[derive(Debug, Parser)]
#[command(
    name = "repair",
    version,
    args_conflicts_with_subcommands = true,
    after_help = "Exit codes: 0 plausible patch found, 1 none within the budget, 2 usage or settings, 3 environment \
                  unusable, 4 the bug does not reproduce, 5 units of a campaign failed, 70 internal error, 130 interrupted"
)]
pub struct Cli {
    /// Other things to do
    #[command(subcommand)]
    pub command: Option<Command>,
    /// A repair
    #[command(flatten)]
    pub repair: Flags,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Says which parts are there and how to get those that are not
    Doctor(DoctorFlags),
    /// Feeds real code to the language server's oracle, token by token, and says what it refused
    Replay(ReplayFlags),
    /// Lists the bugs of a benchmark with their facts
    Bugs(BugsFlags),
    /// Lists the models that are known by name, with their licences and what of them is on this machine
    Models(ModelsFlags),
    /// Repairs many bugs, with several variants and seeds; the same command goes on where it was
    Campaign(CampaignFlags),
    /// Judges the samples of a run that have no verdict yet
    Validate(ValidateFlags),
    /// Prints figures and tables of runs
    Report(ReportFlags),
    /// Shows a plausible patch of a run and puts it into a tree
    Apply(ApplyFlags),
    /// Asks which plausible patches are correct, and keeps the answers
    Judge(JudgeFlags),
    /// Says what differs between two runs or campaigns, in settings and in outcome; exit code 1 if outcomes differ
    DiffRuns(DiffRunsFlags),
    /// Cuts files along their syntax and shows the chunks
    Chunk(ChunkFlags),
    /// Indexes the sources below a directory, or brings their index up to date
    Index(IndexFlags),
    /// Searches an index, by words or by the place of a hole
    Search(SearchFlags),
}

/// Flags of `repair bugs`.
#[derive(Debug, Args)]
pub struct BugsFlags {
    /// Projects, such as `Lang` or `QuixBugs`, or bugs, such as `Lang-6` [default: all of Defects4J]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Where the benchmarks are
    #[command(flatten)]
    pub benchmarks: BenchmarkFlags,
    /// How the list is written on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

/// Where the benchmarks are.
#[derive(Debug, Clone, Default, Args)]
pub struct BenchmarkFlags {
    /// The `defects4j` command [default: that of `DEFECTS4J_HOME`, else on PATH]
    #[arg(long, value_name = "FILE", help_heading = "Bug")]
    pub defects4j: Option<PathBuf>,
    /// Directory of `QuixBugs` [default: `QUIXBUGS_HOME`]
    #[arg(long, value_name = "DIR", help_heading = "Bug")]
    pub quixbugs: Option<PathBuf>,
    /// Directory of `HumanEval-Java` [default: `HUMANEVAL_HOME`]
    #[arg(long, value_name = "DIR", help_heading = "Bug")]
    pub humaneval: Option<PathBuf>,
}

/// Flags of `repair doctor`.
#[derive(Debug, Args)]
pub struct DoctorFlags {
    /// Parts of the environment
    #[command(flatten)]
    pub parts: PartFlags,
    /// How the answer is written on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

/// Flags of `repair models`.
#[derive(Debug, Args)]
pub struct ModelsFlags {
    /// How the answer is written on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

/// Flags of a repair.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct Flags {
    /// A bug of a benchmark: `Closure-133`, `QuixBugs-GCD`, `HumanEval-ADD`
    #[arg(long, value_name = "BUG", help_heading = "Bug", conflicts_with_all = ["project", "at", "tests", "insert"])]
    pub bug: Option<BugId>,
    /// Checkout of the bug; made where it is not there [default: below the cache]
    #[arg(long, value_name = "DIR", help_heading = "Bug", requires = "bug")]
    pub checkout: Option<PathBuf>,
    /// Where the benchmarks are
    #[command(flatten)]
    pub benchmarks: BenchmarkFlags,
    /// Directory of the project
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "Bug")]
    pub project: PathBuf,
    /// Buggy lines, counted from 1: `FILE:LINE` or `FILE:FIRST-LAST`
    #[arg(long, value_name = "FILE:LINES", help_heading = "Bug", required_unless_present = "bug")]
    pub at: Option<Location>,
    /// Insert before the line instead of replacing it
    #[arg(long, help_heading = "Bug")]
    pub insert: bool,
    /// A failing test that shows the bug; may be given several times
    #[arg(long = "test", value_name = "CLASS#METHOD", help_heading = "Bug", required_unless_present = "bug")]
    pub tests: Vec<TestId>,

    /// What the project is made of
    #[command(flatten)]
    pub described: ProjectFlags,

    /// Samples to draw: different fills that compile [default: 100]
    #[arg(short = 'n', long, value_name = "N", help_heading = "Sampling")]
    pub samples: Option<usize>,
    /// Decides which samples come, and in what order [default: 0]
    #[arg(long, value_name = "N", help_heading = "Sampling")]
    pub seed: Option<u64>,
    /// Stop after so many plausible patches
    #[arg(long, value_name = "N", help_heading = "Sampling")]
    pub stop_after: Option<usize>,
    /// Temperature of the model's distribution [default: 1.0]
    #[arg(long, value_name = "T", help_heading = "Sampling")]
    pub temperature: Option<f64>,
    /// Sample from the likeliest tokens that reach this probability together [default: off]
    #[arg(long, value_name = "P", help_heading = "Sampling")]
    pub top_p: Option<f64>,
    /// Sample from the K likeliest tokens [default: off]
    #[arg(long, value_name = "K", help_heading = "Sampling")]
    pub top_k: Option<usize>,
    /// Most tokens of a fill [default: 50]
    #[arg(long, value_name = "N", help_heading = "Sampling")]
    pub max_tokens: Option<usize>,
    /// Most steps of the model [default: 20000]
    #[arg(long, value_name = "N", help_heading = "Sampling")]
    pub max_steps: Option<u64>,
    /// Most questions to the language server [default: no limit]
    #[arg(long, value_name = "N", help_heading = "Sampling")]
    pub max_questions: Option<u64>,
    /// Draw no further sample after so many seconds [default: no limit]
    #[arg(long, value_name = "S", help_heading = "Sampling")]
    pub max_seconds: Option<u64>,
    /// Most continuations computed in one step of the model; changes no result [default: 32]
    #[arg(long, value_name = "N", help_heading = "Sampling")]
    pub batch: Option<usize>,
    /// What the language server is asked for [default: full]
    #[arg(long, value_enum, value_name = "MODE", help_heading = "Sampling")]
    pub engine: Option<EngineMode>,
    /// Refuse finished statements that do not compile [default: on with --engine full]
    #[arg(long, value_enum, value_name = "SWITCH", help_heading = "Sampling")]
    pub statement_check: Option<Switch>,
    /// Refuse complete fills that do not compile [default: on with --engine full]
    #[arg(long, value_enum, value_name = "SWITCH", help_heading = "Sampling")]
    pub end_check: Option<Switch>,
    /// Draw independent samples that may repeat, as the literature does; -n counts the samples begun
    #[arg(long, help_heading = "Sampling")]
    pub with_replacement: bool,
    /// What the model sees besides the file [default: file]
    #[arg(long, value_enum, value_name = "MODE", help_heading = "Sampling")]
    pub context: Option<ContextMode>,
    /// Mix the project's own n-grams into the model's distribution [default: on]
    #[arg(long, value_enum, value_name = "SWITCH", help_heading = "Sampling")]
    pub prior: Option<Switch>,
    /// Share the samples among holes that keep a part of the buggy lines, as the Repilot paper does [default: off]
    #[arg(long, value_enum, value_name = "MODE", help_heading = "Sampling")]
    pub templates: Option<TemplateMode>,

    /// Run directory; the same command goes on with a run that was interrupted [default: below the cache]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub run_dir: Option<PathBuf>,
    /// Drop what an earlier run left in the run directory
    #[arg(long, help_heading = "Output")]
    pub fresh: bool,
    /// Apply the best plausible patch to the project
    #[arg(long, help_heading = "Output")]
    pub apply: bool,
    /// How the summary is written on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub format: Format,
    /// Say more on stderr
    #[arg(short, long, help_heading = "Output", conflicts_with = "quiet")]
    pub verbose: bool,
    /// Say nothing on stderr but errors
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,

    /// Parts of the environment
    #[command(flatten)]
    pub parts: PartFlags,
    /// Run patched code without a sandbox
    #[arg(long, help_heading = "Environment")]
    pub no_sandbox: bool,
}

/// What the project is made of, where that is not found by looking.
#[derive(Debug, Clone, Default, Args)]
pub struct ProjectFlags {
    /// Build tool that describes the project: maven where there is a pom.xml, else plain
    #[arg(long, value_enum, value_name = "TOOL", help_heading = "Project")]
    pub build: Option<BuildTool>,
    /// Root of main sources; may be given several times
    #[arg(long = "source", value_name = "DIR", help_heading = "Project")]
    pub sources: Vec<PathBuf>,
    /// Root of test sources; may be given several times
    #[arg(long = "test-source", value_name = "DIR", help_heading = "Project")]
    pub test_sources: Vec<PathBuf>,
    /// Jars and class directories, separated by `:`
    #[arg(long, value_name = "PATHS", value_delimiter = ':', help_heading = "Project")]
    pub classpath: Vec<PathBuf>,
    /// Language level: 8, 11, 17, ...
    #[arg(long, value_name = "RELEASE", help_heading = "Project")]
    pub level: Option<u32>,
    /// Charset of the sources
    #[arg(long, value_name = "NAME", help_heading = "Project")]
    pub encoding: Option<String>,
}

/// Flags of `repair replay`.
#[derive(Debug, Args)]
pub struct ReplayFlags {
    /// Directory of the project
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "Replay")]
    pub project: PathBuf,
    /// Holes to replay, evenly over their kinds
    #[arg(long, value_name = "N", default_value_t = 200, help_heading = "Replay")]
    pub holes: usize,
    /// Decides which holes
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Replay")]
    pub seed: u64,
    /// Feed wrong names, too, and say when they are refused
    #[arg(long, help_heading = "Replay")]
    pub counter: bool,
    /// Whose tokens: a GGUF file, or a directory with `vocab.json` and `merges.txt`; may be given several times
    /// [default: the model's]
    #[arg(long = "tokenizer", value_name = "PATH", help_heading = "Replay")]
    pub tokenizers: Vec<PathBuf>,
    /// How the figures are written on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub format: Format,
    /// What the project is made of
    #[command(flatten)]
    pub described: ProjectFlags,
    /// Parts of the environment
    #[command(flatten)]
    pub parts: PartFlags,
}

/// Where the parts of the environment are.
#[derive(Debug, Clone, Default, Args)]
pub struct PartFlags {
    /// Model: a GGUF file, a checkpoint's directory, or a name (`repair models` lists them); `:VARIANT` chooses one of several files
    #[arg(long, value_name = "PATH|NAME[:VARIANT]", help_heading = "Environment")]
    pub model: Option<PathBuf>,
    /// Where the model computes: cpu, cuda, cuda:N or metal [default: cpu]
    #[arg(long, value_name = "DEVICE", help_heading = "Environment")]
    pub device: Option<DeviceChoice>,
    /// JDK that compiles and runs the project
    #[arg(long, value_name = "DIR", help_heading = "Environment")]
    pub jdk: Option<PathBuf>,
    /// `java` executable, 21 or newer, that runs the language server
    #[arg(long, value_name = "FILE", help_heading = "Environment")]
    pub server_java: Option<PathBuf>,
    /// Unpacked Eclipse JDT language server
    #[arg(long, value_name = "DIR", help_heading = "Environment")]
    pub jdtls_home: Option<PathBuf>,
    /// Threads of the model's arithmetic [default: all cores]
    #[arg(long, value_name = "N", help_heading = "Environment")]
    pub threads: Option<usize>,
}

/// Form of what stands on stdout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Switch {
    /// On
    On,
    /// Off
    Off,
}

/// How far the language server guides the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineMode {
    /// Not at all: what does not compile is found by validation
    Off,
    /// Names that are not there are refused; every question is asked anew
    Prune,
    /// Names that are not there are refused; answers are remembered
    Memo,
    /// Names, finished statements and complete fills are checked; answers are remembered
    Full,
}

/// Which holes are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TemplateMode {
    /// That of all buggy lines only
    Off,
    /// Those of the Repilot paper before it, each with an equal share of the samples
    Paper,
}

/// What the model sees besides the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContextMode {
    /// The file around the hole only
    File,
    /// Chunks of the project that resemble the hole's surroundings, too
    Retrieved,
}
