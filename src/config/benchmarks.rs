//! Where the benchmarks are: flags before the environment, and that before `PATH`.

use std::path::PathBuf;

use super::Environment;
use super::flags::BenchmarkFlags;

/// Where `Defects4J` is, as far as somebody said so or it is on PATH.
#[derive(Debug, Clone, Default)]
pub struct Defects4jPlace {
    /// Its directory.
    pub home: Option<PathBuf>,
    /// Its command.
    pub command: Option<PathBuf>,
}

/// Finds `Defects4J`: the flag goes before the environment, and that before PATH.
pub fn defects4j(flags: &BenchmarkFlags, environment: &Environment) -> Defects4jPlace {
    match (&flags.defects4j, &environment.defects4j_home) {
        (Some(command), _) => Defects4jPlace { home: None, command: Some(command.clone()) },
        (None, Some(home)) => Defects4jPlace { home: Some(home.clone()), command: None },
        (None, None) => Defects4jPlace { home: None, command: environment.find("defects4j") },
    }
}

/// The directory of `QuixBugs`, as far as somebody said so.
pub fn quixbugs(flags: &BenchmarkFlags, environment: &Environment) -> Option<PathBuf> {
    flags.quixbugs.clone().or_else(|| environment.quixbugs.clone())
}

/// The directory of `HumanEval-Java`, as far as somebody said so.
pub fn humaneval(flags: &BenchmarkFlags, environment: &Environment) -> Option<PathBuf> {
    flags.humaneval.clone().or_else(|| environment.humaneval.clone())
}
