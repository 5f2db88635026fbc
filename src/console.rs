//! The sole printer: data on stdout, everything else on stderr.
//!
//! Progress is drawn only where stderr is a terminal; `NO_COLOR` and the terminal's abilities are respected by the
//! crate that draws.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::campaign::{Figures, Progress};
use crate::model::Download;
use crate::validate::Baseline;

/// Progress of a stage whose length is not known.
const WAITING: &str = "{spinner} {prefix} {elapsed} {msg}";
/// Progress of drawing samples.
const COUNTING: &str = "{prefix} {wide_bar} {pos}/{len} {msg}";

/// How much is said on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loudness {
    /// Errors only.
    Quiet,
    /// Notes and, on a terminal, progress.
    Normal,
    /// Stages too where there is no terminal.
    Verbose,
}

/// Prints.
#[derive(Debug)]
pub struct Console {
    loudness: Loudness,
    bar: ProgressBar,
    samples_since: Option<Instant>,
}

impl Console {
    /// A console that draws progress if stderr is a terminal.
    pub fn new(loudness: Loudness) -> Self {
        let drawn = loudness != Loudness::Quiet && std::io::stderr().is_terminal();
        let target = if drawn { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        bar.set_style(ProgressStyle::with_template(WAITING).expect("the template is fixed"));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { loudness, bar, samples_since: None }
    }

    /// Writes data; a closed pipe is no error of ours.
    pub fn data(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        let _closed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// Writes a line on stderr unless quiet.
    pub fn note(&self, text: &str) {
        if self.loudness != Loudness::Quiet {
            self.bar.suspend(|| eprintln!("{text}"));
        }
    }

    /// Writes an error: one line with its causes, and what to do about it.
    pub fn error(&self, error: &anyhow::Error, hint: &str) {
        self.bar.finish_and_clear();
        let mut causes: Vec<String> = error.chain().map(ToString::to_string).collect();
        // A transparent error repeats its cause.
        causes.dedup();
        let text = causes.join(": ");
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let (what, first) = (lines.next().unwrap_or("unknown"), lines.next());
        // What a tool printed follows on further lines; the first of them says most.
        eprintln!("error: {what}{}{hint}", first.map_or(String::new(), |first| format!(" {first}")));
        if self.loudness == Loudness::Verbose {
            lines.for_each(|line| eprintln!("  {line}"));
        }
    }

    /// Shows progress.
    pub fn progress(&mut self, progress: &Progress) {
        match progress {
            Progress::Stage(stage) => self.stage(stage),
            Progress::Note(note) => self.note(&format!("note: {note}")),
            Progress::Download(download) => self.download(download),
            Progress::Baseline(baseline) => self.baseline(baseline),
            Progress::Plausible { index } => self.note(&format!("sample {index} is plausible")),
            Progress::Figures(figures) => self.figures(figures),
        }
    }

    fn download(&self, download: &Download) {
        if download.done == 0 {
            self.note(&format!("fetching {} ({:.1} MB)", download.file, download.size as f64 / 1e6));
        }
        let percent = 100 * download.done / download.size.max(1);
        self.bar.set_message(format!("{} {percent} %", download.file));
    }

    fn baseline(&self, baseline: &Baseline) {
        for failure in &baseline.triggers {
            let exception = failure.exception.as_deref().unwrap_or("no exception");
            self.note(&format!("{} fails as it should: {exception}", failure.test));
        }
        let known = &baseline.known_failures;
        if !known.is_empty() {
            let names: Vec<String> = known.iter().take(5).map(|failure| failure.test.to_string()).collect();
            let more = if known.len() > names.len() { ", ..." } else { "" };
            self.note(&format!(
                "note: {} other tests fail without any patch and are not counted: {}{more}",
                known.len(),
                names.join(", ")
            ));
        }
    }

    fn stage(&mut self, stage: &str) {
        if self.loudness == Loudness::Verbose {
            self.note(&format!("stage: {stage}"));
        }
        let template = if stage == "samples" {
            self.samples_since = Some(Instant::now());
            COUNTING
        } else {
            WAITING
        };
        self.bar.set_style(ProgressStyle::with_template(template).expect("the template is fixed"));
        self.bar.set_prefix(stage.to_owned());
    }

    fn figures(&self, figures: &Figures) {
        self.bar.set_length(figures.wanted as u64);
        self.bar.set_position(figures.drawn as u64);
        let Some(since) = self.samples_since.filter(|_| figures.positions > 0) else {
            // Nothing is drawn any more.
            let Figures { judged, drawn, plausible, .. } = figures;
            self.bar.set_message(format!("{judged} of {drawn} judged, {plausible} plausible"));
            return;
        };
        let seconds = since.elapsed().as_secs_f64().max(0.001);
        let left =
            seconds / figures.drawn.max(1) as f64 * figures.wanted.saturating_sub(figures.drawn) as f64;
        let left = if figures.drawn == 0 { "?".to_owned() } else { format!("{left:.0}") };
        self.bar.set_message(format!(
            "{:.0} tokens/s, {} refused, {} judged, {} plausible, {left} s left",
            figures.positions as f64 / seconds,
            figures.refused,
            figures.judged,
            figures.plausible,
        ));
    }

    /// Takes the progress away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
