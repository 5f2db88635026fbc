//! `repair --project DIR --at FILE:LINES --test CLASS#METHOD` and `repair --bug BUG`.

use std::path::{Path, PathBuf};

use super::bugs;
use crate::bug::{BugId, Hunk};
use crate::campaign::subject::{self, Benchmark, CheckoutPlace};
use crate::campaign::{self, Progress, Summary, Task};
use crate::cli::Exit;
use crate::config::flags::{Flags, Format};
use crate::config::{self, Config, Environment};
use crate::console::Console;
use crate::digest::sha256;
use crate::java::test_id::TestId;
use crate::process::Interrupt;

/// Repairs one bug and prints what came out.
pub fn run(
    flags: &Flags,
    environment: &Environment,
    here: Option<&Path>,
    interrupt: &Interrupt,
    console: &mut Console,
) -> anyhow::Result<Exit> {
    let (task, config) =
        task(flags, environment, here, interrupt, &mut |progress| console.progress(&progress))?;
    let summary = campaign::repair(&task, &config, interrupt, &mut |progress| console.progress(&progress))?;
    console.clear();
    if flags.apply
        && let Some(best) = summary.ranking.first()
    {
        let path = campaign::apply(&task, &summary, best)?;
        console.note(&format!("applied patch {} to {}", best.index, path.display()));
    }
    console.data(&match flags.format {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&summary)?),
        Format::Text => text(&summary)?,
    });
    Ok(if summary.plausible > 0 { Exit::Success } else { Exit::NoPatch })
}

/// What the flags ask for, found, with its settings.
pub(super) fn task(
    flags: &Flags,
    environment: &Environment,
    here: Option<&Path>,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> anyhow::Result<(Task, Config)> {
    let found = match &flags.bug {
        Some(bug) => of_benchmark(flags, bug, environment, here, interrupt, progress)?,
        None => in_project(flags, here)?,
    };
    let config = config::resolve(flags, environment, &found.root)?;
    let run_dir = match &flags.run_dir {
        Some(dir) => absolute(dir, here),
        None => config.parts.cache.join("runs").join(found.run_name()),
    };
    let task = Task {
        name: found.name,
        root: found.root,
        hunks: found.hunks,
        tests: found.tests,
        benchmark: found.benchmark,
        run_dir,
        fresh: flags.fresh,
        no_sandbox: flags.no_sandbox,
    };
    Ok((task, config))
}

/// What is to be repaired.
struct Found {
    name: String,
    root: PathBuf,
    hunks: Vec<Hunk>,
    tests: Vec<TestId>,
    benchmark: Option<Benchmark>,
}

impl Found {
    /// A name that the same command always has: the project's, the bug's, and a hash of both with the tests.
    fn run_name(&self) -> String {
        if self.benchmark.is_some() {
            return self.name.clone();
        }
        let hunks: Vec<String> = self.hunks.iter().map(ToString::to_string).collect();
        let tests: Vec<String> = self.tests.iter().map(ToString::to_string).collect();
        let text = format!("{}\n{}\n{}", self.root.display(), hunks.join("\n"), tests.join("\n"));
        let project = self.root.file_name().unwrap_or_default().to_string_lossy();
        format!("{project}-{}-{}", self.name, &sha256(text.as_bytes())[..8])
    }
}

/// A place that the user named.
fn in_project(flags: &Flags, here: Option<&Path>) -> anyhow::Result<Found> {
    let location = flags.at.clone().expect("clap requires the place");
    let hunk = Hunk { lines: location.lines(flags.insert)?, file: location.file };
    Ok(Found {
        name: hunk.name(),
        root: absolute(&flags.project, here),
        hunks: vec![hunk],
        tests: flags.tests.clone(),
        benchmark: None,
    })
}

/// A bug of a benchmark; its checkout is made if it is not there.
fn of_benchmark(
    flags: &Flags,
    bug: &BugId,
    environment: &Environment,
    here: Option<&Path>,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> anyhow::Result<Found> {
    let parts = config::parts(&flags.parts, environment)?;
    let checkout = flags.checkout.as_ref().map(|dir| absolute(dir, here));
    let place = CheckoutPlace::new(checkout, &parts.cache, bug);
    progress(Progress::Stage("checkout"));
    let subject = if let Some(collection) = bugs::collection(&bug.project) {
        let programs = bugs::Place { flags: &flags.benchmarks, environment, here }.programs(collection)?;
        subject::of_programs(&programs, bug, &place)?
    } else {
        let (framework, command) = bugs::defects4j(&flags.benchmarks, environment, here)?;
        subject::of_defects4j(&framework, &command, bug, &place, interrupt)?
    };
    let place = format!("{bug} of {}, checkout in {}", subject.benchmark.source, subject.root.display());
    progress(Progress::Note(place));
    Ok(Found {
        name: bug.to_string(),
        tests: subject.triggers(),
        root: subject.root,
        hunks: subject.hunks,
        benchmark: Some(subject.benchmark),
    })
}

/// The file may be written relative to the working directory or to the root; the root is canonical.
pub(super) fn absolute(path: &Path, here: Option<&Path>) -> PathBuf {
    let joined = here.map_or_else(|| path.to_owned(), |here| here.join(path));
    joined.canonicalize().unwrap_or(joined)
}

pub(super) fn text(summary: &Summary) -> anyhow::Result<String> {
    use std::fmt::Write as _;
    let mut out = String::new();
    if let Some(best) = summary.ranking.first() {
        out.push_str(&String::from_utf8_lossy(&std::fs::read(summary.run_dir.join(&best.diff))?));
        out.push('\n');
    }
    writeln!(
        out,
        "{}: {} samples, {} compile, {} plausible{}",
        summary.bug,
        summary.samples,
        summary.compilable,
        summary.plausible,
        summary.first_plausible.map_or(String::new(), |index| format!(", the first is sample {index}")),
    )?;
    for (rank, patch) in (1..).zip(&summary.ranking) {
        writeln!(
            out,
            "{rank:>4}. {}  ln p {:.2}, {} lines changed",
            summary.run_dir.join(&patch.diff).display(),
            patch.log_p,
            patch.size
        )?;
    }
    writeln!(out, "run directory: {}", summary.run_dir.display())?;
    Ok(out)
}
