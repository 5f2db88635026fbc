//! What keeps a patch from being judged. A bad patch is no error; it gets a verdict.

use std::path::{Path, PathBuf};

use crate::java::test_id::TestId;
use crate::process::ProcessError;

/// Why there is no baseline or no verdict.
#[derive(Debug, thiserror::Error)]
pub enum ValidateError {
    /// The unpatched program or its tests do not compile.
    #[error("the project does not compile before any patch:\n{errors}")]
    DoesNotCompile {
        /// The compiler's first errors.
        errors: String,
    },
    /// There is no such test class.
    #[error("there is no test class `{}`{}", .test.class, suggestion(.near))]
    NoSuchClass {
        /// What was asked for.
        test: TestId,
        /// Classes with names like it.
        near: Vec<String>,
    },
    /// The class is there and has no such test.
    #[error("`{}` has no test `{}`{}", .test.class, .test.method.as_deref().unwrap_or("at all"), suggestion(.near))]
    NoSuchMethod {
        /// What was asked for.
        test: TestId,
        /// Tests of the class with names like it.
        near: Vec<String>,
    },
    /// The trigger test does not show the bug.
    #[error("`{test}` passes already: there is nothing to repair")]
    TriggerPasses {
        /// The trigger test.
        test: TestId,
    },
    /// The trigger test is disabled or its assumptions do not hold here.
    #[error("`{test}` is skipped: it cannot show whether a patch works")]
    TriggerSkipped {
        /// The trigger test.
        test: TestId,
    },
    /// Nothing was executed, so nothing would be validated.
    #[error("no test was executed under `{}`", .tests.display())]
    NoTests {
        /// Where tests were looked for.
        tests: PathBuf,
    },
    /// The JVM did not live to the end of the unpatched program's tests.
    #[error("the unpatched program's tests did not run to their end: the JVM {end} {}:\n{tail}", during(.test.as_ref()))]
    BaselineCut {
        /// The test that was running, if any.
        test: Option<TestId>,
        /// How it ended, for people.
        end: String,
        /// The last that was printed.
        tail: String,
    },
    /// The test runner itself did not work.
    #[error("the test runner failed: `{command}`:\n{tail}")]
    Runner {
        /// The command line.
        command: String,
        /// The end of what it printed.
        tail: String,
    },
    /// The compiler itself did not work.
    #[error("the compiler failed with {end}: `{command}`:\n{tail}")]
    Compiler {
        /// The command line.
        command: String,
        /// How it ended, for people.
        end: String,
        /// The end of what it printed.
        tail: String,
    },
    /// The patched file is no main source of the project.
    #[error("`{}` does not lie in the project's main sources", .0.display())]
    OutsideSources(PathBuf),
    /// A patch was to be judged before the baseline was there.
    #[error("there is no baseline yet")]
    NoBaseline,
    /// The scratch directory, or what is copied to it, could not be read or written.
    #[error("cannot {action} `{}`", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A child could not be run.
    #[error(transparent)]
    Process(ProcessError),
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl From<ProcessError> for ValidateError {
    fn from(error: ProcessError) -> Self {
        match error {
            ProcessError::Interrupted => ValidateError::Interrupted,
            other => ValidateError::Process(other),
        }
    }
}

impl ValidateError {
    /// For `map_err` on file operations.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> ValidateError {
        let path = path.to_owned();
        move |source| ValidateError::Io { action, path, source }
    }
}

fn suggestion(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; is it `{}`?", near.join("`, `")) }
}

fn during(test: Option<&TestId>) -> String {
    test.map_or_else(|| "outside any test".to_owned(), |test| format!("during `{test}`"))
}
