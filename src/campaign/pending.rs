//! Verdicts that a run does not have yet: samples that were drawn and not judged. No model and no language server takes part.
//!
//! A verdict is in the record before the next one is looked at, and a sample with a verdict is not judged again, so this
//! goes on where it was killed.

use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use super::samples::Samples;
use super::task::{Figures, Interrupted, Progress, Summary, Task};
use super::{Repair, manifest};
use crate::config::Config;
use crate::decode::{Counters, StopReason};
use crate::engine;
use crate::process::Interrupt;
use crate::validate::verdict::{Outcome, Verdict};
use crate::validate::{Candidate, ValidateError, Validator};

/// Samples without a verdict, each with the whole patched file.
type Queue = Mutex<std::vec::IntoIter<(usize, Vec<u8>)>>;
type Judged = (usize, Result<Verdict, ValidateError>);

/// Judges what the run of `task` has not judged, `workers` candidates at a time.
pub fn validate(
    task: &Task,
    config: &Config,
    workers: usize,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> anyhow::Result<Summary> {
    let started = Instant::now();
    let result = Repair::prepare(task, config, interrupt, progress)
        .and_then(|repair| repair.validate_pending(workers, started, progress));
    match result {
        Err(_) if interrupt.is_set() => Err(Interrupted(task.run_dir.clone()).into()),
        result => result,
    }
}

impl Repair<'_> {
    fn validate_pending(
        &self,
        workers: usize,
        started: Instant,
        progress: &mut dyn FnMut(Progress),
    ) -> anyhow::Result<Summary> {
        let source = self.cloze.source().bytes();
        manifest::require_same(&self.run, &self.file, source, &self.project, &format!("{:?}", self.sandbox))?;
        let mut samples = Samples::open(self.run.bug(self.name())?, &self.file, &self.cloze)?;
        let pending = samples.unjudged()?;
        if !pending.is_empty() {
            self.judge(pending, workers, &mut samples, progress)?;
        }
        let old = self.run.read::<serde_json::Value>("summary.json")?.unwrap_or_default();
        let old = &old["bugs"][0];
        let stop = serde_json::from_value(old["stop"].clone()).unwrap_or(StopReason::Interrupted);
        if stop == StopReason::Plausible
            && let Some(decisive) = old["samples"].as_u64()
        {
            samples.forget_after(decisive as usize);
        }
        let nothing = (Counters::default(), engine::Counters::default());
        let summary = self.summary(started, stop, &samples, nothing.0, nothing.1)?;
        let mut entry = serde_json::to_value(&summary).expect("records are plain data");
        // What drawing had cost stays.
        for name in ["seconds", "search", "engine"] {
            if let Some(value) = old.get(name) {
                entry[name] = value.clone();
            }
        }
        self.run.write("summary.json", &serde_json::json!({ "bugs": [entry] }))?;
        Ok(summary)
    }

    fn judge(
        &self,
        pending: Vec<(usize, Vec<u8>)>,
        workers: usize,
        samples: &mut Samples,
        progress: &mut dyn FnMut(Progress),
    ) -> anyhow::Result<()> {
        progress(Progress::Stage("baseline"));
        let until_done = self.interrupt.child();
        let mut first = Validator::new(&self.project, self.validate_settings(), until_done.clone());
        let baseline = first.baseline(&self.task.tests)?;
        if let Some(benchmark) = &self.task.benchmark {
            benchmark.require_recorded(&baseline)?;
        }
        progress(Progress::Baseline(&baseline));
        progress(Progress::Stage("validation"));
        let n_workers = workers.min(pending.len());
        let mut validators = Vec::new();
        for _ in 1..n_workers {
            validators.push(first.beside()?);
        }
        validators.push(first);
        let n_open = pending.len();
        let queue: Queue = Mutex::new(pending.into_iter());
        std::thread::scope(|scope| {
            let (outbox, inbox) = channel();
            for validator in validators {
                let (queue, outbox) = (&queue, outbox.clone());
                scope.spawn(move || judge_queue(validator, &self.file, queue, &outbox));
            }
            drop(outbox);
            let mut judge = || -> anyhow::Result<()> {
                for (n_judged, (index, verdict)) in (1..).zip(&inbox) {
                    let verdict = verdict?;
                    let is_plausible = verdict.outcome == Outcome::Plausible;
                    samples.judge(index, verdict)?;
                    if is_plausible {
                        progress(Progress::Plausible { index });
                    }
                    progress(Progress::Figures(Figures {
                        wanted: n_open,
                        drawn: n_open,
                        judged: n_judged,
                        plausible: samples.n_plausible(),
                        ..Figures::default()
                    }));
                }
                Ok(())
            };
            let result = judge();
            // After an error the other candidates are of no use.
            until_done.set();
            result
        })
    }
}

/// One worker: takes candidates until none is left or a tool breaks.
fn judge_queue(mut validator: Validator, file: &Path, queue: &Queue, outbox: &Sender<Judged>) {
    loop {
        let next = queue.lock().expect("nobody panics with the lock").next();
        let Some((index, text)) = next else { return };
        let verdict = validator.validate(&Candidate { file: file.to_owned(), text });
        let failed = verdict.is_err();
        if outbox.send((index, verdict)).is_err() || failed {
            return;
        }
    }
}
