//! Classes and files that a benchmark's project generates: made once, kept outside the checkout.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use walkdir::WalkDir;

use crate::build::javac::{Compilation, Platform, argument_file, join_paths};
use crate::defects4j::generated::{Maker, moved_files, rename_parser, zone_compiler};
use crate::java::project::Project;
use crate::process::{self, Interrupt, Spec};
use crate::record::RecordError;

/// Compiling a few hundred files on a loaded machine.
const DEADLINE: Duration = Duration::from_secs(600);
const HEAP_MIB: u32 = 1024;
/// Lines of a failed child's output that are shown.
const TAIL_LINES: usize = 6;

/// Puts what the project's own build would generate on its class path.
pub fn add_generated(project: &mut Project, kept: &Path, interrupt: &Interrupt) -> anyhow::Result<()> {
    let making = Making { project, kept, interrupt };
    let parser = making.once("parser", |scratch, out| making.parser(scratch, out))?;
    let zones = match zone_compiler(&project.sources) {
        Some(maker) => making.once("zones", |scratch, out| making.zones(&maker, scratch, out))?,
        None => None,
    };
    let moved = making.once("moved", |_, out| making.moved(out))?;
    project.class_path.splice(0..0, parser);
    project.class_path.extend([zones, moved].into_iter().flatten());
    Ok(())
}

struct Making<'a> {
    project: &'a Project,
    kept: &'a Path,
    interrupt: &'a Interrupt,
}

impl Making<'_> {
    /// The directory `name` of what is kept; made by `make` (scratch, output) if it is not there. `None` where there is
    /// nothing to make.
    fn once(
        &self,
        name: &str,
        make: impl FnOnce(&Path, &Path) -> anyhow::Result<bool>,
    ) -> anyhow::Result<Option<PathBuf>> {
        let path = self.kept.join(name);
        if path.is_dir() {
            return Ok(Some(path));
        }
        let io = |source| RecordError::Io { action: "create", path: path.clone(), source };
        std::fs::create_dir_all(self.kept).map_err(io)?;
        let scratch = tempfile::tempdir_in(self.kept).map_err(io)?;
        let out = scratch.path().join("out");
        std::fs::create_dir(&out).map_err(io)?;
        if !make(scratch.path(), &out)? {
            return Ok(None);
        }
        match std::fs::rename(&out, &path) {
            // Another process was quicker.
            Err(_) if path.is_dir() => Ok(Some(path)),
            renamed => renamed.map(|()| Some(path.clone())).map_err(|error| io(error).into()),
        }
    }

    fn parser(&self, scratch: &Path, out: &Path) -> anyhow::Result<bool> {
        let Some(renamed) = rename_parser(&self.project.root, &scratch.join("sources"))? else {
            return Ok(false);
        };
        let roots = [renamed.sources];
        self.compile(&roots, scratch, out)?;
        copy_others(&roots[0], out)?;
        Ok(true)
    }

    fn moved(&self, out: &Path) -> anyhow::Result<bool> {
        let moved = moved_files(&self.project.root);
        for (from, to) in &moved {
            let target = out.join(to);
            std::fs::create_dir_all(target.parent().unwrap_or(out))?;
            std::fs::copy(from, target)?;
        }
        Ok(!moved.is_empty())
    }

    fn zones(&self, maker: &Maker, scratch: &Path, out: &Path) -> anyhow::Result<bool> {
        let classes = scratch.join("classes");
        std::fs::create_dir(&classes)?;
        self.compile(&self.project.sources, scratch, &classes)?;
        let target = out.join(maker.out);
        std::fs::create_dir_all(&target)?;
        let class_path = [std::slice::from_ref(&classes), &self.project.class_path].concat();
        let spec = Spec::new(self.project.jdk.home.join("bin/java"), scratch, DEADLINE)
            .args(&maker.properties)
            .args([std::ffi::OsStr::new("-classpath"), &join_paths(&class_path)])
            .arg(maker.class)
            .args(&maker.before)
            .arg(&target)
            .args(&maker.after);
        self.run(&spec)?;
        Ok(true)
    }

    fn compile(&self, roots: &[PathBuf], scratch: &Path, out: &Path) -> anyhow::Result<()> {
        let files =
            roots.iter().flat_map(|root| WalkDir::new(root).sort_by_file_name()).filter_map(Result::ok);
        let is_source = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "java");
        let files: Vec<PathBuf> = files.map(walkdir::DirEntry::into_path).filter(is_source).collect();
        let arguments = scratch.join("sources.args");
        std::fs::write(&arguments, argument_file(&files))?;
        let compilation = Compilation {
            jdk: &self.project.jdk,
            level: self.project.level,
            encoding: &self.project.encoding,
            platform: Platform::OfLevel,
            class_path: &self.project.class_path,
            out,
            heap_mib: HEAP_MIB,
        };
        self.run(&compilation.spec(&arguments, scratch, DEADLINE))
    }

    fn run(&self, spec: &Spec) -> anyhow::Result<()> {
        let finished = process::run(spec, self.interrupt)?;
        if finished.success() {
            return Ok(());
        }
        bail!("cannot generate what the project's build generates: {}", finished.tail(TAIL_LINES))
    }
}

/// Copies what is no source: messages and lists that are read from the class path.
fn copy_others(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in WalkDir::new(from) {
        let entry = entry?;
        let is_source = entry.path().extension().is_some_and(|extension| extension == "java");
        if entry.file_type().is_file() && !is_source {
            let target = to.join(entry.path().strip_prefix(from)?);
            std::fs::create_dir_all(target.parent().unwrap_or(to))?;
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
