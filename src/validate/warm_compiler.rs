//! A compiler that runs already: most of what compiling one file costs is the start of a JVM.
//!
//! It never runs what it compiles, so it is not confined, and no patch can reach it. Where it has trouble of its own, the
//! compiler's command decides.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::compile::Compiler;
use super::error::ValidateError;
use super::warm::{Heard, WarmJvm};
use crate::process::{Interrupt, Spec};

const SERVER_CLASS: &str = "repair.runner.CompileServer";

/// A running compiler.
#[derive(Debug)]
pub(super) struct WarmCompiler {
    jvm: WarmJvm,
}

/// What it says of one compilation.
#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    /// The status that the command would exit with.
    pub(super) status: i32,
    /// What it prints.
    pub(super) errors: String,
}

impl WarmCompiler {
    /// Starts it in `dir`.
    pub(super) fn start(compiler: Compiler, dir: &Path) -> Result<Self, ValidateError> {
        let java = compiler.project.jdk.home.join("bin/java");
        let spec = Spec::new(java, dir, Duration::MAX)
            .arg(format!("-Xmx{}m", compiler.settings.limits.heap_mib))
            .args(["-XX:+UseSerialGC", "-XX:-UsePerfData", "-Duser.language=en", "-classpath"])
            .arg(&compiler.settings.runner)
            .arg(SERVER_CLASS)
            .env("LC_ALL", "C.UTF-8")
            .bound_to_us();
        Ok(Self { jvm: WarmJvm::start(&spec)? })
    }

    /// Compiles as the command with these words would; `None` if nothing comes back in time.
    pub(super) fn compile(
        &mut self,
        words: &[OsString],
        limit: Duration,
        interrupt: &Interrupt,
    ) -> Result<Option<Answer>, ValidateError> {
        self.jvm.ask(words);
        match self.jvm.hear(Instant::now() + limit, interrupt)? {
            Heard::Line(line) => Ok(serde_json::from_slice(&line).ok()),
            Heard::Nothing | Heard::Gone => Ok(None),
        }
    }
}
