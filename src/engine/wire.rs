//! What goes over the wire: the bundle's commands with their arguments and replies, as JSON.
//!
//! Offsets on this side of the door are UTF-16 units of the compiled text, as the server counts.

use serde::{Deserialize, Serialize};

use super::Scope;

/// Every reply of the bundle, with the processor time that it took.
#[derive(Debug, Deserialize)]
pub(super) struct Answered<T> {
    pub value: T,
    pub cpu_micros: u64,
}

/// A command of the bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Command {
    /// Make the project.
    Project,
    /// Open a hole.
    Open,
    /// List what is visible where the hole begins.
    Visible,
    /// List what may stand at the caret.
    Complete,
    /// Compile in memory.
    Check,
    /// Compile and write the class files.
    Compile,
    /// Forget a hole.
    Close,
}

impl Command {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Project => "repair.project",
            Self::Open => "repair.open",
            Self::Visible => "repair.visible",
            Self::Complete => "repair.complete",
            Self::Check => "repair.check",
            Self::Compile => "repair.compile",
            Self::Close => "repair.close",
        }
    }
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct ProjectArgs {
    pub sources: Vec<String>,
    pub tests: Vec<String>,
    pub libs: Vec<String>,
    pub jre: String,
    pub level: u32,
    pub encoding: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ProjectReply {
    pub missing: Vec<String>,
    pub server: String,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct OpenArgs {
    pub session: &'static str,
    pub path: String,
    pub prefix: String,
    pub original: String,
    pub suffix: String,
    /// Braces before the hole that the original closes.
    pub closed: usize,
    /// Braces of its own that it leaves open.
    pub opened: usize,
}

#[derive(Debug, Deserialize)]
pub(super) struct OpenReply {
    pub found: bool,
    pub body: bool,
    pub closable: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct VisibleArgs {
    pub session: &'static str,
    pub scope: Scope,
    pub first: String,
    pub timeout_ms: u32,
}

#[derive(Debug, Serialize)]
pub(super) struct CompleteArgs<'a> {
    pub session: &'static str,
    pub hole: &'a str,
    pub scope: Scope,
    pub timeout_ms: u32,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Verdict {
    List { names: Vec<String> },
    Unknown { reason: String },
    Late,
}

#[derive(Debug, Serialize)]
pub(super) struct CheckArgs<'a> {
    pub session: &'static str,
    pub hole: &'a str,
    pub recover: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct CompileArgs<'a> {
    pub session: &'static str,
    pub hole: &'a str,
    pub directory: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct CloseArgs {
    pub session: &'static str,
}

#[derive(Debug, Deserialize)]
pub(super) struct ProblemsReply {
    pub problems: Vec<WireProblem>,
}

/// A compile error; `start..end` in UTF-16 units of the compiled text, `line` the text of its first line.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct WireProblem {
    pub id: u32,
    pub syntax: bool,
    pub start: usize,
    pub end: usize,
    pub line: String,
    pub message: String,
    /// Another file that it is in.
    #[serde(default)]
    pub file: Option<String>,
}
