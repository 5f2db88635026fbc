//! The completion engine: what may follow at a caret in a hole, and whether a filled hole compiles.
//!
//! A real Eclipse JDT Language Server answers; its process, the wire and the restart after a crash live in the
//! submodules. Knows nothing of tokens, models or samples.
//!
//! The law: an empty *list* is evidence, [`Unknown`] is not. Timeout, crash, error, declaring position, unresolved
//! receiver, anything odd is [`Unknown`], and nothing is ever pruned on it.

mod client;
mod found;
mod hole;
mod kept;
mod server;
mod session;
mod times;
mod wire;

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

pub use self::server::ServerSettings;
pub use self::session::{Counters, JdtEngine};
pub use self::times::{Quantiles, Times};
pub use self::wire::Command;
use crate::process::ProcessError;

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

impl Unknown {
    /// The reason in a word or two, to be counted by.
    pub fn reason(&self) -> &str {
        match self {
            Self::Position(reason) => reason,
            Self::Deadline => "deadline",
            Self::Failed(_) => "failed",
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Position(reason) => write!(f, "nothing is known here: {reason}"),
            Self::Deadline => f.write_str("no answer in time"),
            Self::Failed(cause) => f.write_str(cause),
        }
    }
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
    /// The file that it is in, of a server's name, if it is another one than the hole's.
    pub file: Option<String>,
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

    /// How many of the brackets before the hole it may close without leaving the body that it lies in; 0 outside a body.
    fn closable(&self) -> usize;

    /// What is visible where the hole begins, whatever the hole says: all `Names`, or the `Types` that begin with
    /// `first`. Names that the hole declares itself are not among them.
    fn visible(&mut self, scope: Scope, first: Option<char>) -> Answer;

    /// What may stand at the caret after `hole`, the hole's text so far (the suffix follows).
    fn complete(&mut self, hole: &str, scope: Scope) -> Answer;

    /// New compile errors of the file with `hole` filled in. `recover`: the hole is unfinished, so the compiler
    /// shall mend syntax errors and go on; without it the hole is taken as final.
    fn check(&mut self, hole: &str, recover: bool) -> Check;
}

pub use found::{choose_java, describe_server};

/// Why there is no engine, or no hole to ask about. A question that fails is no error but [`Unknown::Failed`].
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The runtime is older than the server needs.
    #[error("`{}` is Java {found}, the language server needs {needed} or newer", .java.display())]
    JavaTooOld {
        /// The executable.
        java: PathBuf,
        /// Its feature release.
        found: u32,
        /// The oldest one that will do.
        needed: u32,
    },
    /// There is no Java runtime to try.
    #[error("no Java {needed} or newer was found to run the language server")]
    NoJava {
        /// The oldest one that will do.
        needed: u32,
    },
    /// The program is no Java runtime.
    #[error("`{}` is not a Java runtime; it said `{said}`", .java.display())]
    NotJava {
        /// The executable.
        java: PathBuf,
        /// The end of what it printed.
        said: String,
    },
    /// The directory holds no unpacked language server.
    #[error("no language server in {}: {} is missing", .home.display(), .missing.display())]
    NotAServer {
        /// The directory.
        home: PathBuf,
        /// What should be there.
        missing: PathBuf,
    },
    /// The bundle was not built.
    #[error("no bundle at {}", .path.display())]
    NoBundle {
        /// Where it should be.
        path: PathBuf,
    },
    /// The server's state cannot be written, or its configuration not read.
    #[error("cannot prepare {}", .path.display())]
    State {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A child cannot be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The server was not ready in time.
    #[error("the language server was not ready within {deadline:?}")]
    StartDeadline {
        /// The limit.
        deadline: Duration,
    },
    /// The server ended while it was being started.
    #[error("the language server ended while starting: {last_words}")]
    Ended {
        /// The end of its stderr or log.
        last_words: String,
    },
    /// The server answered a command of the start with an error.
    #[error("the language server refused: {message}")]
    Refused {
        /// Its message.
        message: String,
    },
    /// A reply is not what the bundle sends.
    #[error("the bundle's reply is not understood")]
    Reply {
        /// Where it went wrong.
        #[source]
        source: serde_json::Error,
    },
    /// Folders, jars or the JDK of the project are not there.
    #[error("parts of the project are missing: {}", .paths.join(", "))]
    MissingParts {
        /// What is not there.
        paths: Vec<String>,
    },
    /// The file belongs to no source root of the project.
    #[error("{} lies in no source root of the project", .file.display())]
    OutsideSources {
        /// The file.
        file: PathBuf,
    },
    /// Opening a hole got no answer.
    #[error("the language server did not open the hole: {0}")]
    Unanswered(Unknown),
    /// The server died so often that it is not started again.
    #[error("the language server was restarted {limit} times")]
    TooManyRestarts {
        /// The limit.
        limit: u32,
    },
}
