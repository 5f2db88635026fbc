//! Compiling: one patched file against the program's classes, or the whole program.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::ValidateSettings;
use super::error::ValidateError;
use super::scratch::{self, Tree};
use super::warm_compiler::WarmCompiler;
use crate::build::javac::{Compilation, Platform, argument_file};
use crate::java::project::Project;
use crate::process::{self, End, Finished, Interrupt};

/// Lines of the compiler's output that are kept: enough for the first few errors with their source lines.
const ERROR_LINES: usize = 15;
/// Bytes written to see whether the disk is full.
const PROBE_BYTES: usize = 16 << 10;
/// `javac` exits with 1 if and only if the sources have errors; 2 to 4 are its own troubles.
const SOURCES_HAVE_ERRORS: i32 = 1;

/// What every compilation of one project shares.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compiler<'a> {
    pub(super) project: &'a Project,
    pub(super) settings: &'a ValidateSettings,
    pub(super) interrupt: &'a Interrupt,
    pub(super) platform: Platform,
}

/// Directories of a compiled program.
#[derive(Debug, Clone)]
pub(super) struct Classes {
    pub(super) main: PathBuf,
    pub(super) test: PathBuf,
}

impl Classes {
    pub(super) fn in_dir(dir: &Path) -> Classes {
        Classes { main: dir.join("main"), test: dir.join("test") }
    }
}

/// How a compilation ended.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) end: End,
    /// The first errors, with paths below the tree's root; empty if it compiled.
    pub(super) errors: String,
}

impl Compiled {
    pub(super) fn success(&self) -> bool {
        self.end == End::Exit(0)
    }
}

impl Compiler<'_> {
    /// Compiles `tree` as a whole, main sources first, into fresh directories.
    pub(super) fn program(
        self,
        tree: &Tree,
        classes: &Classes,
        limit: Duration,
    ) -> Result<Compiled, ValidateError> {
        scratch::fresh_dir(&classes.test)?;
        let main = self.sources(&tree.main_files(), &[], &tree.root, &classes.main, limit)?;
        if !main.success() {
            return Ok(main);
        }
        let files = tree.test_files();
        if files.is_empty() {
            return Ok(main);
        }
        self.sources(&files, std::slice::from_ref(&classes.main), &tree.root, &classes.test, limit)
    }

    /// Compiles one source, below `dir`, by a compiler that runs already; by the command if that one has trouble.
    pub(super) fn alone(
        self,
        warm: &mut Option<WarmCompiler>,
        source: PathBuf,
        before: &[PathBuf],
        dir: &Path,
        out: &Path,
        limit: Duration,
    ) -> Result<Compiled, ValidateError> {
        if self.settings.warm {
            scratch::fresh_dir(out)?;
            let class_path = [before, &self.project.class_path].concat();
            let mut words = self.compilation(&class_path, out).words();
            words.push(source.clone().into());
            let mut compiler = match warm.take() {
                Some(compiler) => compiler,
                None => WarmCompiler::start(self, &self.settings.scratch)?,
            };
            let answer = compiler.compile(&words, limit, self.interrupt)?;
            if let Some(answer) = answer.filter(|a| (0..=SOURCES_HAVE_ERRORS).contains(&a.status)) {
                *warm = Some(compiler);
                if answer.status == SOURCES_HAVE_ERRORS {
                    scratch::write(&out.with_extension("probe"), &[0; PROBE_BYTES])?;
                }
                let below = format!("{}/", dir.display());
                let errors = first_lines(&answer.errors.replace(&below, ""));
                return Ok(Compiled { end: End::Exit(answer.status), errors });
            }
        }
        self.sources(&[source], before, dir, out, limit)
    }

    fn compilation<'c>(self, class_path: &'c [PathBuf], out: &'c Path) -> Compilation<'c>
    where
        Self: 'c,
    {
        Compilation {
            jdk: &self.project.jdk,
            level: self.project.level,
            encoding: &self.project.encoding,
            platform: self.platform,
            class_path,
            out,
            heap_mib: self.settings.limits.heap_mib,
        }
    }

    /// Compiles `files` into the fresh directory `out`; `before` goes in front of the project's class path. Paths in
    /// the errors are relative to `dir`.
    pub(super) fn sources(
        self,
        files: &[PathBuf],
        before: &[PathBuf],
        dir: &Path,
        out: &Path,
        limit: Duration,
    ) -> Result<Compiled, ValidateError> {
        scratch::fresh_dir(out)?;
        let arguments = out.with_extension("args");
        let relative: Vec<&Path> = files.iter().map(|file| file.strip_prefix(dir).unwrap_or(file)).collect();
        scratch::write(&arguments, argument_file(&relative).as_bytes())?;
        let class_path = [before, &self.project.class_path].concat();
        let spec = self.compilation(&class_path, out).spec(&arguments, dir, limit);
        let finished = process::run(&spec, self.interrupt)?;
        match finished.end {
            End::Exit(0) | End::Deadline => {}
            // A full disk exits with the same status; then this fails too and tells the two apart.
            End::Exit(SOURCES_HAVE_ERRORS) => {
                scratch::write(&out.with_extension("probe"), &[0; PROBE_BYTES])?;
            }
            end => {
                let (command, tail) = (spec.line(), finished.tail(ERROR_LINES));
                return Err(ValidateError::Compiler { command, end: super::describe(end), tail });
            }
        }
        Ok(Compiled { end: finished.end, errors: first_errors(&finished) })
    }
}

fn first_errors(finished: &Finished) -> String {
    first_lines(&String::from_utf8_lossy(&finished.stderr))
}

fn first_lines(text: &str) -> String {
    text.lines().take(ERROR_LINES).collect::<Vec<_>>().join("\n")
}
