//! What validation says of a patch: values only, as they stand in the record.

use serde::{Deserialize, Serialize};

use crate::java::test_id::TestId;
use crate::process::End;

/// The stages in their order; each is dearer than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The patched file compiles against the program.
    Compile,
    /// The classes of the trigger tests pass.
    Trigger,
    /// Test classes that name the patched class, or that a benchmark calls relevant, pass in a warm JVM.
    Relevant,
    /// The whole program compiles and its whole suite passes.
    Full,
}

/// Who ran a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Processes of its own, in a fresh copy of the tree.
    #[default]
    Fresh,
    /// A warm JVM that had run other candidates.
    Worker,
}

/// How a stage's last child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageEnd {
    /// It exited with this status.
    Exit(i32),
    /// A signal ended it.
    Signal(i32),
    /// It reached its limit and was killed.
    Deadline,
}

impl From<End> for StageEnd {
    fn from(end: End) -> Self {
        match end {
            End::Exit(status) => StageEnd::Exit(status),
            End::Signal(signal) => StageEnd::Signal(signal),
            End::Deadline => StageEnd::Deadline,
        }
    }
}

/// A test that should have passed and did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestFailure {
    /// Which one; a class as a whole if its set-up failed.
    pub test: TestId,
    /// Class of what it threw; `None` if it did not run to its end.
    pub exception: Option<String>,
    /// The message of what it threw, or why it did not run to its end.
    pub message: Option<String>,
}

/// What one stage did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageRecord {
    /// Which stage.
    pub stage: Stage,
    /// Who ran it.
    #[serde(default)]
    pub by: By,
    /// Whether the next one may follow.
    pub passed: bool,
    /// Tests that ran to their end, passed or failed; 0 where compiling went wrong.
    pub tests_run: usize,
    /// Failures that the unpatched program does not have, and trigger tests that still fail.
    pub failed: Vec<TestFailure>,
    /// Wall-clock time, compiling included.
    pub millis: u64,
    /// Limit of its longest child.
    pub limit_ms: u64,
    /// How its last child ended.
    pub end: StageEnd,
    /// The compiler's first errors, or the last that the tests printed.
    pub output_tail: String,
}

/// How far a patch came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Outcome {
    /// The patched file does not compile, or the rest of the program does not compile with it.
    Uncompilable,
    /// It compiles and did not pass this stage.
    Failed {
        /// The last stage that ran.
        stage: Stage,
    },
    /// It passed every stage.
    Plausible,
}

/// The judgement on one patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// How far it came.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What was done, in order; the last one decided.
    pub stages: Vec<StageRecord>,
    /// SHA-256 of the class files; `None` if it does not compile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<String>,
    /// Whether it was not run: its class files are those of an earlier candidate, or of the unpatched program, and the
    /// stages are that one's.
    #[serde(default, skip_serializing_if = "is_false")]
    pub repeated: bool,
    /// Whether a warm JVM and fresh processes did not judge it alike. The fresh ones decide; both are among the stages.
    #[serde(default, skip_serializing_if = "is_false")]
    pub contested: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Verdict {
    /// One that was reached by running its stages.
    pub fn new(outcome: Outcome, stages: Vec<StageRecord>) -> Verdict {
        Verdict { outcome, stages, classes: None, repeated: false, contested: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_reads_back_from_its_line() {
        let record = StageRecord {
            stage: Stage::Trigger,
            by: By::Worker,
            passed: false,
            tests_run: 3,
            failed: vec![TestFailure {
                test: TestId::from("a.B#c".to_owned()),
                exception: None,
                message: Some("did not run".into()),
            }],
            millis: 12,
            limit_ms: 20_000,
            end: StageEnd::Signal(9),
            output_tail: String::new(),
        };
        let verdict = Verdict::new(Outcome::Failed { stage: Stage::Trigger }, vec![record]);
        let line = serde_json::to_string(&verdict).unwrap();
        assert!(line.starts_with(r#"{"outcome":"failed","stage":"trigger","stages":[{"stage":"trigger","#));
        assert!(line.contains(r#""end":{"signal":9}"#), "{line}");
        assert_eq!(serde_json::from_str::<Verdict>(&line).unwrap(), verdict);
    }

    #[test]
    fn outcomes_without_a_stage_read_back_too() {
        for outcome in [Outcome::Uncompilable, Outcome::Plausible] {
            let line = serde_json::to_string(&Verdict::new(outcome, Vec::new())).unwrap();
            assert_eq!(serde_json::from_str::<Verdict>(&line).unwrap().outcome, outcome);
        }
    }
}
