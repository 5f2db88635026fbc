//! Exit codes, and which error means which.

use crate::bug::BugError;
use crate::build::BuildError;
use crate::campaign::plan::PlanError;
use crate::campaign::subject::{NoHunk, NotAsRecorded};
use crate::campaign::{
    Changed, Interrupted, OtherProject, OtherRun, OutsideSources, SeveralHunks, Unreadable,
};
use crate::cli::apply::{ChoiceError, Refused};
use crate::cli::campaign::SetError;
use crate::cli::validate::Untold;
use crate::cloze::OutOfRange;
use crate::config::ConfigError;
use crate::decode::DecodeError;
use crate::defects4j::Defects4jError;
use crate::engine::EngineError;
use crate::model::ModelError;
use crate::process::ProcessError;
use crate::programs::ProgramsError;
use crate::record::RecordError;
use crate::report::ReportError;
use crate::retrieval::{SourcesError, StoreError};
use crate::text::TextError;
use crate::validate::ValidateError;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// A plausible patch was found, or what was asked for was done.
    Success = 0,
    /// No plausible patch within the budget.
    NoPatch = 1,
    /// Flags, settings or inputs that cannot be used.
    Usage = 2,
    /// A part of the environment is missing or broken.
    Environment = 3,
    /// The bug does not show, or the project does not build before any patch.
    NotReproduced = 4,
    /// Units of a campaign failed; the others have their results.
    UnitsFailed = 5,
    /// A fault of this program.
    Internal = 70,
    /// The user asked to stop.
    Interrupted = 130,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl Exit {
    /// The code of an error, by the types in its chain.
    pub fn of(error: &anyhow::Error) -> Self {
        error.chain().find_map(Self::of_cause).unwrap_or(Exit::Internal)
    }

    fn of_cause(cause: &(dyn std::error::Error + 'static)) -> Option<Self> {
        if cause.is::<Interrupted>() {
            return Some(Exit::Interrupted);
        }
        if let Some(error) = cause.downcast_ref::<ValidateError>() {
            return Some(of_validation(error));
        }
        if let Some(error) = cause.downcast_ref::<BuildError>() {
            return Some(of_build(error));
        }
        if let Some(error) = cause.downcast_ref::<Defects4jError>() {
            return Some(of_defects4j(error));
        }
        if let Some(error) = cause.downcast_ref::<ProgramsError>() {
            let is_usage = matches!(error, ProgramsError::NoSuchProgram(_));
            return Some(if is_usage { Exit::Usage } else { Exit::Environment });
        }
        if cause.is::<NotAsRecorded>() {
            return Some(Exit::NotReproduced);
        }
        if let Some(error) = cause.downcast_ref::<StoreError>() {
            let is_usage = matches!(error, StoreError::NoSnapshot(_) | StoreError::Sources(_));
            return Some(if is_usage { Exit::Usage } else { Exit::Environment });
        }
        let is_usage = cause.is::<ConfigError>()
            || cause.is::<NoHunk>()
            || cause.is::<SeveralHunks>()
            || cause.is::<PlanError>()
            || cause.is::<SetError>()
            || cause.is::<ChoiceError>()
            || cause.is::<Refused>()
            || cause.is::<BugError>()
            || cause.is::<OutOfRange>()
            || cause.is::<OtherRun>()
            || cause.is::<OtherProject>()
            || cause.is::<Untold>()
            || cause.is::<OutsideSources>()
            || cause.is::<Changed>()
            || cause.is::<Unreadable>()
            || cause.downcast_ref::<ReportError>().is_some_and(is_usage_of_report)
            || cause.is::<TextError>()
            || cause.is::<SourcesError>()
            || cause.is::<DecodeError>() && cause.source().is_none();
        let is_environment = cause.is::<EngineError>()
            || cause.is::<ModelError>()
            || cause.is::<ProcessError>()
            || cause.is::<RecordError>();
        match (is_usage, is_environment) {
            (true, _) => Some(Exit::Usage),
            (_, true) => Some(Exit::Environment),
            _ => None,
        }
    }
}

/// A record that cannot be read is told by its own type.
fn is_usage_of_report(error: &ReportError) -> bool {
    !matches!(error, ReportError::Record(_))
}

fn of_validation(error: &ValidateError) -> Exit {
    match error {
        ValidateError::DoesNotCompile { .. }
        | ValidateError::TriggerPasses { .. }
        | ValidateError::TriggerSkipped { .. }
        | ValidateError::NoTests { .. }
        | ValidateError::BaselineCut { .. } => Exit::NotReproduced,
        ValidateError::NoSuchClass { .. }
        | ValidateError::NoSuchMethod { .. }
        | ValidateError::OutsideSources(_) => Exit::Usage,
        ValidateError::Runner { .. }
        | ValidateError::Compiler { .. }
        | ValidateError::Io { .. }
        | ValidateError::Process(_) => Exit::Environment,
        ValidateError::Interrupted => Exit::Interrupted,
        ValidateError::NoBaseline => Exit::Internal,
    }
}

fn of_build(error: &BuildError) -> Exit {
    match error {
        BuildError::NotADirectory(_)
        | BuildError::Missing { .. }
        | BuildError::NoSources(_)
        | BuildError::Charset(_)
        | BuildError::Level(_) => Exit::Usage,
        BuildError::Pom { .. } | BuildError::Maven { .. } => Exit::NotReproduced,
        BuildError::NoJdk { .. }
        | BuildError::NotAJdk { .. }
        | BuildError::JdkTooOld { .. }
        | BuildError::NoMaven(_)
        | BuildError::Io { .. }
        | BuildError::Process(_) => Exit::Environment,
        BuildError::Interrupted => Exit::Interrupted,
    }
}

fn of_defects4j(error: &Defects4jError) -> Exit {
    match error {
        Defects4jError::NoSuchProject { .. }
        | Defects4jError::NoSuchBug { .. }
        | Defects4jError::OtherCheckout { .. }
        | Defects4jError::OtherText { .. } => Exit::Usage,
        Defects4jError::NotFound
        | Defects4jError::NotAHome(_)
        | Defects4jError::Malformed { .. }
        | Defects4jError::Diff { .. }
        | Defects4jError::Checkout { .. }
        | Defects4jError::Io { .. }
        | Defects4jError::Process(_) => Exit::Environment,
    }
}
