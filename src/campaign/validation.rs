//! The validating thread: baseline first, then one candidate after the other.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender};

use crate::java::test_id::TestId;
use crate::validate::verdict::Verdict;
use crate::validate::{Baseline, Candidate, ValidateError, Validator};

/// A sample that has no verdict yet.
pub struct ToValidator {
    pub index: usize,
    /// The whole patched file.
    pub text: Vec<u8>,
}

/// What comes back.
pub enum FromValidator {
    Baseline(Result<Baseline, ValidateError>),
    Verdict { index: usize, verdict: Result<Verdict, ValidateError> },
}

/// Runs until the inbox closes, the outbox is dropped, or a tool breaks.
pub fn validate_all(
    mut validator: Validator,
    triggers: &[TestId],
    file: &Path,
    inbox: &Receiver<ToValidator>,
    outbox: &Sender<FromValidator>,
) {
    let baseline = validator.baseline(triggers);
    let failed = baseline.is_err();
    if outbox.send(FromValidator::Baseline(baseline)).is_err() || failed {
        return;
    }
    for ToValidator { index, text } in inbox {
        let verdict = validator.validate(&Candidate { file: file.to_owned(), text });
        let failed = verdict.is_err();
        if outbox.send(FromValidator::Verdict { index, verdict }).is_err() || failed {
            return;
        }
    }
}
