//! `repair bugs`: the bugs of a benchmark with their facts.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::bug::BugId;
use crate::bug::change::{Changes, Kind};
use crate::cli::Exit;
use crate::config::flags::{BenchmarkFlags, BugsFlags, Format};
use crate::config::{self, Environment};
use crate::console::Console;
use crate::defects4j::sets::{PaperSet, sets_of};
use crate::defects4j::{Defects4jError, Framework};
use crate::programs::{Collection, HUMANEVAL, Programs, ProgramsError, QUIXBUGS};

/// What a listing says of one bug. The answer is not part of it.
#[derive(Debug, Clone, Serialize)]
struct Entry {
    bug: BugId,
    /// What the repair does, for a bug of one hunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    /// Places of the buggy files.
    hunks: Vec<String>,
    files: usize,
    /// Lines that go, lines that come.
    buggy_lines: usize,
    fixed_lines: usize,
    /// Tests that show the bug.
    trigger_tests: usize,
    /// Files that only one of the versions has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    whole_files: Vec<PathBuf>,
    /// Sets of the paper that it belongs to.
    sets: Vec<PaperSet>,
}

/// Prints the bugs that were asked for.
pub fn run(
    flags: &BugsFlags,
    environment: &Environment,
    here: Option<&Path>,
    console: &Console,
) -> anyhow::Result<Exit> {
    let place = Place { flags: &flags.benchmarks, environment, here };
    let (of_programs, names): (Vec<&String>, Vec<&String>) =
        flags.names.iter().partition(|name| collection(name.split('-').next().unwrap_or(name)).is_some());
    let mut entries = of_programs
        .iter()
        .map(|name| place.entries_of_programs(name))
        .collect::<Result<Vec<_>, _>>()?
        .concat();
    let mut totals = format!("{} programs\n", entries.len());
    if of_programs.is_empty() || !names.is_empty() {
        let (framework, _) = defects4j(&flags.benchmarks, environment, here)?;
        for bug in wanted(&framework, &names)? {
            entries.push(entry(&framework, &bug)?);
        }
        totals = totals_of(&framework, &entries);
    }
    console.data(&match flags.format {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&entries)?),
        Format::Text => entries.iter().map(line).collect::<String>() + &totals,
    });
    Ok(Exit::Success)
}

/// The collection of programs that bugs of a project belong to.
pub(super) fn collection(project: &str) -> Option<Collection> {
    [QUIXBUGS, HUMANEVAL].into_iter().find(|collection| collection.name == project)
}

/// Where benchmarks are looked for.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub flags: &'a BenchmarkFlags,
    pub environment: &'a Environment,
    pub here: Option<&'a Path>,
}

impl Place<'_> {
    /// A collection of programs in the directory that the user named.
    pub fn programs(self, collection: Collection) -> Result<Programs, ProgramsError> {
        let (home, flag) = if collection == QUIXBUGS {
            (config::quixbugs(self.flags, self.environment), "--quixbugs or QUIXBUGS_HOME")
        } else {
            (config::humaneval(self.flags, self.environment), "--humaneval or HUMANEVAL_HOME")
        };
        let home = home.ok_or(ProgramsError::NotFound(collection.name, flag))?;
        Programs::open(collection, &self.here.map_or(home.clone(), |here| here.join(&home)))
    }

    /// All programs of a collection, or the one that is named.
    fn entries_of_programs(self, name: &str) -> anyhow::Result<Vec<Entry>> {
        let project = name.split('-').next().unwrap_or(name);
        let programs = self.programs(collection(project).expect("the caller found one"))?;
        let bugs = if name == project { programs.bugs()? } else { vec![name.parse()?] };
        bugs.into_iter()
            .map(|bug| {
                let changes = Changes { runs: programs.changes(&bug)?, ..Changes::default() };
                Ok(of_changes(bug, changes, 1, Vec::new()))
            })
            .collect()
    }
}

/// The benchmark and its command; relative paths are below the working directory.
pub(super) fn defects4j(
    flags: &BenchmarkFlags,
    environment: &Environment,
    here: Option<&Path>,
) -> Result<(Framework, PathBuf), Defects4jError> {
    let place = config::defects4j(flags, environment);
    let absolute = |path: PathBuf| here.map_or(path.clone(), |here| here.join(path));
    match (place.home, place.command.map(absolute)) {
        (_, Some(command)) => Ok((Framework::of_command(&command)?, command)),
        (Some(home), None) => {
            let framework = Framework::open(&home)?;
            let command = framework.command();
            Ok((framework, command))
        }
        (None, None) => Err(Defects4jError::NotFound),
    }
}

/// Names of projects and of bugs; none means all.
fn wanted(framework: &Framework, names: &[&String]) -> anyhow::Result<Vec<BugId>> {
    if names.is_empty() {
        return Ok(framework.bugs()?);
    }
    let mut bugs = Vec::new();
    for name in names {
        if name.contains('-') {
            let bug = name.parse()?;
            framework.require(&bug)?;
            bugs.push(bug);
        } else {
            bugs.extend(framework.bugs_of(name)?);
        }
    }
    Ok(bugs)
}

fn entry(framework: &Framework, bug: &BugId) -> Result<Entry, Defects4jError> {
    let changes = framework.changes(bug)?;
    let sets = sets_of(bug, &changes);
    Ok(of_changes(bug.clone(), changes, framework.triggers(bug)?.len(), sets))
}

fn of_changes(bug: BugId, changes: Changes, trigger_tests: usize, sets: Vec<PaperSet>) -> Entry {
    let mut files: Vec<&PathBuf> = changes.runs.iter().map(|run| &run.file).collect();
    files.sort();
    files.dedup();
    Entry {
        kind: if let [run] = changes.runs.as_slice() { Some(run.kind()) } else { None },
        hunks: changes.runs.iter().map(|run| run.hunk().to_string()).collect(),
        files: files.len(),
        buggy_lines: changes.runs.iter().map(|run| run.buggy.len()).sum(),
        fixed_lines: changes.runs.iter().map(|run| run.fixed.len()).sum(),
        trigger_tests,
        sets,
        bug,
        whole_files: changes.whole_files,
    }
}

fn line(entry: &Entry) -> String {
    let what = match (entry.kind, entry.hunks.as_slice()) {
        (Some(kind), [hunk]) => format!("{kind:<8} {hunk}"),
        (_, hunks) => format!("{:<8} {} hunks in {} files", "several", hunks.len(), entry.files),
    };
    let sets: Vec<String> = entry.sets.iter().map(ToString::to_string).collect();
    let sets = if sets.is_empty() { String::new() } else { format!("  [{}]", sets.join(", ")) };
    let tests = entry.trigger_tests;
    format!(
        "{:<20} {what}, {tests} trigger test{}{sets}\n",
        entry.bug.to_string(),
        if tests == 1 { "" } else { "s" }
    )
}

fn totals_of(framework: &Framework, entries: &[Entry]) -> String {
    let single = entries.iter().filter(|entry| entry.kind.is_some()).count();
    let of_set = |set| entries.iter().filter(|entry| entry.sets.contains(&set)).count();
    format!(
        "{} bugs of Defects4J {}, {single} of one hunk; of the paper's sets {} of 1.2, {} of 2.0, {} of one line\n",
        entries.len(),
        framework.version().unwrap_or_default(),
        of_set(PaperSet::SingleHunk12),
        of_set(PaperSet::SingleHunk20),
        of_set(PaperSet::SingleLine20),
    )
}
