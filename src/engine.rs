//! The completion engine: what may follow at a caret in a hole, and whether a filled hole compiles.
//!
//! A real Eclipse JDT Language Server answers; its process, the wire and the restart after a crash live in the
//! submodules. Knows nothing of tokens, models or samples.
//!
//! The law: an empty *list* is evidence, [`Unknown`] is not. Timeout, crash, error, declaring position, unresolved
//! receiver, anything odd is [`Unknown`], and nothing is ever pruned on it.

use std::ops::Range;

/// What to list at the caret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The caret stands right after a receiver's `.` or `::`: the receiver's members.
    Members,
    /// The caret stands after the first character of an identifier: locals, fields, methods, labels.
    Names,
    /// As `Names`, but types and packages. Dearer: asked only when no name fits.
    Types,
}

/// Why there is no list.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unknown {
    /// The server knows the position and cannot say: a declaring name, a lambda, inside a literal, ...
    Position(String),
    /// No answer within the deadline.
    Deadline,
    /// The request failed, or the server died twice on it.
    Failed(String),
}

/// The three-valued answer to a completion question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Nothing may be concluded.
    Unknown(Unknown),
    /// Every identifier of the scope's kinds that may stand here: simple names, each once, sorted.
    List(Vec<String>),
}

/// A compile error of the filled file that the buggy file does not have.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Problem {
    /// JDT's problem id without its category bits (`IProblem.IgnoreCategoriesMask`).
    pub id: u32,
    /// Whether JDT counts it as a syntax error.
    pub syntax: bool,
    /// Byte range in the text of the hole; `None` when it lies (partly) outside.
    pub in_hole: Option<Range<usize>>,
    /// The compiler's message.
    pub message: String,
}

/// The answer to a compile question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// Nothing may be concluded.
    Unknown(Unknown),
    /// New errors; empty: it compiles as well as the buggy file did.
    Problems(Vec<Problem>),
}

/// Where a hole lies, which decides how far its names can be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HolePlace {
    /// Wholly inside the body of a method, constructor or initialiser: names are known.
    Body,
    /// Anywhere else: members may be declared by the hole itself, so missing names prove nothing.
    Other,
}

/// One open hole's questions. The seam: JDT LS answers, or a replay in tests.
pub trait CompletionEngine {
    /// Where the open hole lies.
    fn place(&self) -> HolePlace;

    /// What may stand at the caret after `hole`, the hole's text so far (the suffix follows).
    fn complete(&mut self, hole: &str, scope: Scope) -> Answer;

    /// New compile errors of the file with `hole` filled in. `recover`: the hole is unfinished, so the compiler
    /// shall mend syntax errors and go on; without it the hole is taken as final.
    fn check(&mut self, hole: &str, recover: bool) -> Check;
}
