//! Sets of bugs: lists of the paper, benchmarks, projects, patterns, files.

use std::path::{Path, PathBuf};

use crate::bug::BugId;
use crate::campaign::plan::{Place, PlanError, Target};
use crate::cli::bugs;
use crate::defects4j::sets::{PaperSet, sets_of};
use crate::defects4j::{Defects4jError, Framework};
use crate::programs::{HUMANEVAL, QUIXBUGS};

/// Name of all of Defects4J.
const DEFECTS4J: &str = "Defects4J";
const PAPER_SETS: [PaperSet; 3] = [PaperSet::SingleHunk12, PaperSet::SingleHunk20, PaperSet::SingleLine20];

/// A set that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// No such thing.
    #[error("`{0}` is no benchmark, project, bug, pattern that some bug fits, list of the paper, or file")]
    Unknown(String),
    /// A file of bugs that cannot be understood.
    #[error("cannot use line {line} of `{}`: {reason}", .file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// 1-based.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

/// Finds the bugs of all sets; a bug that is in several of them counts once.
pub fn targets(sets: &[String], place: bugs::Place) -> anyhow::Result<Vec<Target>> {
    let mut targets: Vec<Target> = Vec::new();
    for set in sets {
        let found = one(set, place)?;
        if found.is_empty() {
            return Err(SetError::Unknown(set.clone()).into());
        }
        for target in found {
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
    }
    if targets.is_empty() { Err(PlanError::Empty.into()) } else { Ok(targets) }
}

fn one(set: &str, place: bugs::Place) -> anyhow::Result<Vec<Target>> {
    let file = place.here.map_or_else(|| PathBuf::from(set), |here| here.join(set));
    if file.is_file() {
        return of_file(&file, place);
    }
    Ok(named(set, place)?.into_iter().map(Target::Benchmark).collect())
}

fn named(set: &str, place: bugs::Place) -> anyhow::Result<Vec<BugId>> {
    let framework = || bugs::defects4j(place.flags, place.environment, place.here).map(|(own, _)| own);
    if let Some(paper) = PAPER_SETS.iter().find(|paper| paper.to_string() == set) {
        return Ok(of_paper(&framework()?, *paper)?);
    }
    if set == DEFECTS4J {
        return Ok(framework()?.bugs()?);
    }
    if set.contains(['*', '?', '[']) {
        let pattern = glob::Pattern::new(set).map_err(|_| SetError::Unknown(set.to_owned()))?;
        let project = set.split('-').next().unwrap_or(set);
        let all = match bugs::collection(project) {
            Some(collection) => place.programs(collection)?.bugs()?,
            None => framework()?.bugs()?,
        };
        return Ok(all.into_iter().filter(|bug| pattern.matches(&bug.to_string())).collect());
    }
    if let Some(collection) = [QUIXBUGS, HUMANEVAL].into_iter().find(|collection| collection.name == set) {
        return Ok(place.programs(collection)?.bugs()?);
    }
    if let Ok(bug) = set.parse::<BugId>() {
        return Ok(vec![bug]);
    }
    let framework = framework().map_err(|_| SetError::Unknown(set.to_owned()))?;
    match framework.bugs_of(set) {
        Err(Defects4jError::NoSuchProject { .. }) => Err(SetError::Unknown(set.to_owned()).into()),
        bugs => Ok(bugs?),
    }
}

fn of_paper(framework: &Framework, set: PaperSet) -> Result<Vec<BugId>, Defects4jError> {
    let mut bugs = Vec::new();
    for bug in framework.bugs()? {
        if sets_of(&bug, &framework.changes(&bug)?).contains(&set) {
            bugs.push(bug);
        }
    }
    Ok(bugs)
}

/// One set or one bug on a line; `#` begins a comment. Projects are relative to the file.
fn of_file(file: &Path, place: bugs::Place) -> anyhow::Result<Vec<Target>> {
    let malformed = |line: usize, reason: String| SetError::Line { file: file.to_owned(), line, reason };
    let text = std::fs::read_to_string(file).map_err(|error| malformed(1, error.to_string()))?;
    let mut targets = Vec::new();
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with('{') {
            let own: Place =
                serde_json::from_str(line).map_err(|error| malformed(number, error.to_string()))?;
            let project = file.parent().unwrap_or(Path::new("/")).join(&own.project);
            if own.name.is_empty() || own.name.contains('/') || own.name.starts_with('.') {
                return Err(malformed(number, format!("`{}` would do for no directory", own.name)).into());
            }
            targets.push(Target::Place(Place { project: project.canonicalize().unwrap_or(project), ..own }));
        } else {
            let bugs = named(line, place)?;
            if bugs.is_empty() {
                return Err(malformed(number, format!("no bug fits `{line}`")).into());
            }
            targets.extend(bugs.into_iter().map(Target::Benchmark));
        }
    }
    Ok(targets)
}
