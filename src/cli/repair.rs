//! `repair --project DIR --at FILE:LINES --test CLASS#METHOD`.

use std::path::{Path, PathBuf};

use crate::campaign::{self, Summary, Task};
use crate::cli::Exit;
use crate::config::flags::{Flags, Format};
use crate::config::{self, Environment};
use crate::console::Console;
use crate::digest::sha256;
use crate::process::Interrupt;

/// Repairs one bug and prints what came out.
pub fn run(
    flags: &Flags,
    environment: &Environment,
    here: Option<&Path>,
    interrupt: &Interrupt,
    console: &mut Console,
) -> anyhow::Result<Exit> {
    let root = absolute(&flags.project, here);
    let config = config::resolve(flags, environment, &root)?;
    let location = flags.at.clone().expect("clap requires the place");
    let run_dir = match &flags.run_dir {
        Some(dir) => absolute(dir, here),
        None => config.parts.cache.join("runs").join(run_name(flags, &root)),
    };
    let task = Task {
        root,
        location,
        insert: flags.insert,
        tests: flags.tests.clone(),
        run_dir,
        fresh: flags.fresh,
        no_sandbox: flags.no_sandbox,
    };
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

/// The file may be written relative to the working directory or to the root; the root is canonical.
pub(super) fn absolute(path: &Path, here: Option<&Path>) -> PathBuf {
    let joined = here.map_or_else(|| path.to_owned(), |here| here.join(path));
    joined.canonicalize().unwrap_or(joined)
}

/// A name that the same command always has: the project's, the bug's, and a hash of both with the tests.
fn run_name(flags: &Flags, root: &Path) -> String {
    let location = flags.at.as_ref().expect("clap requires the place");
    let tests: Vec<String> = flags.tests.iter().map(ToString::to_string).collect();
    let digest = sha256(format!("{}\n{location}\n{}", root.display(), tests.join("\n")).as_bytes());
    let project = root.file_name().unwrap_or_default().to_string_lossy();
    format!("{project}-{}-{}", campaign::bug_name(location, flags.insert), &digest[..8])
}

fn text(summary: &Summary) -> anyhow::Result<String> {
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
