//! Samples are drawn on this thread while verdicts come in from the other.

use std::cell::RefCell;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Instant;

use super::TICK;
use super::parts::Part;
use super::samples::Samples;
use super::task::{Figures, Progress};
use super::validation::{FromValidator, ToValidator};
use crate::config::Config;
use crate::decode::memo::Memo;
use crate::decode::{Counters, Next, Sampler, StopReason};
use crate::process::Interrupt;
use crate::validate::verdict::Outcome;

/// What both the search's watcher and the drawing loop change.
struct State<'a, 'p> {
    samples: Samples<'a>,
    judged: usize,
    /// The validator's tool broke.
    broken: Option<anyhow::Error>,
    progress: &'p mut dyn FnMut(Progress),
}

/// The drawing of one bug's samples.
pub struct Drawing<'a, 'p> {
    wanted: usize,
    /// Whether the sampler itself counts what is wanted.
    with_replacement: bool,
    stop_after: usize,
    /// When no further sample is drawn.
    until: Option<Instant>,
    began: Instant,
    state: RefCell<State<'a, 'p>>,
    from_validator: &'p Receiver<FromValidator>,
    /// What the parts have cost that are done.
    spent: RefCell<Counters>,
}

impl<'a, 'p> Drawing<'a, 'p> {
    pub fn new(
        config: &Config,
        samples: Samples<'a>,
        from_validator: &'p Receiver<FromValidator>,
        progress: &'p mut dyn FnMut(Progress),
    ) -> Self {
        Self {
            wanted: config.samples,
            with_replacement: config.with_replacement,
            until: config.max_time.map(|time| Instant::now() + time),
            began: Instant::now(),
            stop_after: config.stop_after.unwrap_or(usize::MAX),
            state: RefCell::new(State { samples, judged: 0, broken: None, progress }),
            from_validator,
            spent: RefCell::default(),
        }
    }

    /// Begins with a part, counted from 0; `None` if nothing is to be drawn for it.
    pub fn enter(&self, number: usize, part: &Part) -> anyhow::Result<Option<Memo>> {
        let samples = &mut self.state.borrow_mut().samples;
        Ok(if samples.n_drawn() < part.until { Some(samples.enter(number)?) } else { None })
    }

    /// What all parts have cost so far.
    pub fn spent(&self) -> Counters {
        self.spent.borrow().clone()
    }

    fn spent_with(&self, current: &Counters) -> Counters {
        let mut sum = self.spent();
        sum.add(current);
        sum
    }

    /// Draws until enough samples or plausible patches are there, or nothing is left.
    pub fn draw(
        &self,
        search: &mut dyn Sampler,
        part: &Part,
        to_validator: &Sender<ToValidator>,
        interrupt: &Interrupt,
    ) -> anyhow::Result<StopReason> {
        let stop = loop {
            if !self.with_replacement && self.state.borrow().samples.n_drawn() >= part.until {
                break StopReason::Samples;
            }
            let next = search.next(&mut |counters| {
                self.receive(&self.spent_with(counters));
                interrupt.is_set() || self.is_enough() || self.is_over()
            });
            let mut state = self.state.borrow_mut();
            state.samples.learn(&search.take_events())?;
            match next? {
                Next::Sample(mut sample) => {
                    sample.fill = part.cloze.whole(&sample.fill);
                    if !state.samples.is_new(&sample.fill) {
                        continue;
                    }
                    let index = state.samples.n_drawn() + 1;
                    (sample.index, sample.template) = (index, part.template);
                    let spent = self.spent_with(&search.counters());
                    state.samples.tick(index, &spent, self.began.elapsed())?;
                    if let Some(text) = state.samples.add(sample)? {
                        // A validator that is gone has said why; that is looked at next.
                        let _gone = to_validator.send(ToValidator { index, text });
                    } else {
                        state.judged += 1;
                    }
                }
                Next::Stopped(StopReason::Interrupted) if !interrupt.is_set() => {
                    drop(state);
                    break if self.is_enough() { StopReason::Plausible } else { StopReason::Time };
                }
                Next::Stopped(stop) => break stop,
            }
        };
        if stop == StopReason::Interrupted {
            anyhow::bail!("interrupted");
        }
        self.spent.borrow_mut().add(&search.counters());
        Ok(stop)
    }

    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    fn is_enough(&self) -> bool {
        let state = self.state.borrow();
        state.broken.is_some() || state.samples.n_plausible() >= self.stop_after
    }

    /// Takes what the validator has ready, and shows the figures.
    fn receive(&self, counters: &Counters) {
        while let Ok(message) = self.from_validator.try_recv() {
            self.take(message);
        }
        let mut state = self.state.borrow_mut();
        let figures = Figures {
            wanted: self.wanted,
            drawn: state.samples.n_drawn(),
            judged: state.judged,
            plausible: state.samples.n_plausible(),
            positions: counters.positions,
            refused: counters.refused.values().map(|(count, _)| count).sum(),
        };
        (state.progress)(Progress::Figures(figures));
    }

    fn take(&self, message: FromValidator) {
        let mut state = self.state.borrow_mut();
        let FromValidator::Verdict { index, verdict } = message else { return };
        let result = verdict.map_err(anyhow::Error::from).and_then(|verdict| {
            let is_plausible = verdict.outcome == Outcome::Plausible;
            state.samples.judge(index, verdict)?;
            Ok(is_plausible)
        });
        match result {
            Ok(is_plausible) => {
                state.judged += 1;
                if is_plausible {
                    (state.progress)(Progress::Plausible { index });
                }
            }
            Err(error) => {
                state.broken.get_or_insert(error);
            }
        }
    }

    /// Waits for the verdicts that are still to come, unless enough is known.
    pub fn finish(self, interrupt: &Interrupt) -> anyhow::Result<Samples<'a>> {
        (self.state.borrow_mut().progress)(Progress::Stage("validation"));
        while !self.is_enough() {
            match self.from_validator.recv_timeout(TICK) {
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) if !interrupt.is_set() => {}
                Err(_) => break,
            }
            self.receive(&Counters::default());
        }
        let state = self.state.into_inner();
        match state.broken {
            Some(error) => Err(error),
            None if interrupt.is_set() => anyhow::bail!("interrupted"),
            None => Ok(state.samples),
        }
    }
}
