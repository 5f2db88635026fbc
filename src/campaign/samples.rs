//! The samples of one bug with their verdicts: in memory and in the run directory, always alike.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

use crate::cloze::Cloze;
use crate::decode::memo::{Event, Memo};
use crate::decode::{Counters, Sample};
use crate::java::lexer::normal_form;
use crate::patch;
use crate::record::{ClockLine, Lines, RecordError, replace_file};
use crate::validate::verdict::{Outcome, Verdict};

#[derive(Debug, Serialize, Deserialize)]
struct VerdictLine {
    index: usize,
    #[serde(flatten)]
    verdict: Verdict,
}

/// A plausible patch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranked {
    /// Which sample it is.
    pub index: usize,
    /// Its log-probability under the model.
    pub log_p: f64,
    /// Lines added and removed.
    pub size: usize,
    /// Its diff, relative to the run directory.
    pub diff: PathBuf,
    /// The whole patched file.
    #[serde(skip)]
    pub patched: Vec<u8>,
}

/// All samples of one bug.
pub struct Samples<'a> {
    dir: PathBuf,
    /// `/`-separated path of the file below the project's root.
    file: String,
    cloze: &'a Cloze,
    drawn: Vec<Sample>,
    verdicts: BTreeMap<usize, Outcome>,
    /// Samples that an earlier process recorded.
    n_recorded: usize,
    n_seen: usize,
    patch_lines: Lines<Sample>,
    verdict_lines: Lines<VerdictLine>,
    /// Those of the part that is being drawn.
    tree_lines: Option<Lines<Event>>,
    /// Programs that are taken: the buggy one, and those of the samples.
    seen: HashSet<Vec<u8>>,
    clock_lines: Lines<ClockLine>,
    /// What earlier processes had spent at their last sample.
    spent: ClockLine,
}

impl<'a> Samples<'a> {
    /// Opens the records of a bug.
    pub fn open(dir: PathBuf, file: &Path, cloze: &'a Cloze) -> Result<Self, RecordError> {
        let (patch_lines, drawn) = Lines::<Sample>::open(dir.join("patches.jsonl"))?;
        let (verdict_lines, verdicts) = Lines::<VerdictLine>::open(dir.join("verdicts.jsonl"))?;
        let (clock_lines, clock) = Lines::<ClockLine>::open(dir.join("clock.jsonl"))?;
        let verdicts = verdicts.into_iter().map(|line| (line.index, line.verdict.outcome)).collect();
        let file =
            file.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/");
        let n_recorded = drawn.len();
        Ok(Self {
            dir,
            file,
            cloze,
            drawn,
            verdicts,
            n_recorded,
            n_seen: 0,
            patch_lines,
            verdict_lines,
            tree_lines: None,
            seen: HashSet::from([normal_form(&cloze.original)]),
            clock_lines,
            spent: clock.last().copied().unwrap_or_default(),
        })
    }

    /// Begins with a part, counted from 0: what an earlier process's search learnt of it.
    pub fn enter(&mut self, part: usize) -> Result<Memo, RecordError> {
        let name = if part == 0 { "tree.jsonl".to_owned() } else { format!("tree-{part}.jsonl") };
        let (lines, events) = Lines::open(self.dir.join(name))?;
        self.tree_lines = Some(lines);
        let mut memo = Memo::default();
        for event in events {
            memo.learn(event);
        }
        Ok(memo)
    }

    /// Whether a fill makes a program that neither the buggy text nor an earlier sample makes.
    pub fn is_new(&mut self, fill: &str) -> bool {
        self.seen.insert(normal_form(fill))
    }

    /// Keeps what the search learnt.
    pub fn learn(&mut self, events: &[Event]) -> Result<(), RecordError> {
        let lines = self.tree_lines.as_mut().expect("a part has been entered");
        for event in events {
            lines.push(event)?;
        }
        lines.flush()
    }

    /// Keeps what this process has spent up to a sample, unless an earlier one drew it.
    pub fn tick(&mut self, index: usize, own: &Counters, elapsed: Duration) -> Result<(), RecordError> {
        if index <= self.spent.index {
            return Ok(());
        }
        let own = ClockLine {
            index,
            seconds: elapsed.as_secs_f64(),
            steps: own.steps,
            positions: own.positions,
            questions: own.questions,
            refused: own.refused.values().map(|(count, _)| count).sum(),
        };
        self.clock_lines.push(&self.spent.and(&own))?;
        self.clock_lines.flush()
    }

    /// Takes the next sample. Returns the patched file if it has no verdict yet.
    pub fn add(&mut self, sample: Sample) -> anyhow::Result<Option<Vec<u8>>> {
        self.n_seen += 1;
        let text =
            self.cloze.fill(&sample.fill).context("a sample cannot be written in the file's encoding")?;
        let index = sample.index;
        if self.n_seen <= self.n_recorded {
            let recorded = &self.drawn[self.n_seen - 1];
            if recorded.fill != sample.fill {
                bail!("sample {index} differs from the recorded one in `{}`", self.dir.display());
            }
        } else {
            self.patch_lines.push(&sample)?;
            self.patch_lines.flush()?;
            self.drawn.push(sample);
        }
        Ok((!self.verdicts.contains_key(&index)).then_some(text))
    }

    /// Takes all recorded samples as drawn. Returns those without a verdict, each with the patched file.
    pub fn unjudged(&mut self) -> anyhow::Result<Vec<(usize, Vec<u8>)>> {
        let mut open = Vec::new();
        for sample in self.drawn.clone() {
            let index = sample.index;
            open.extend(self.add(sample)?.map(|text| (index, text)));
        }
        Ok(open)
    }

    /// Samples drawn so far in this process, recorded ones included.
    pub fn n_drawn(&self) -> usize {
        self.n_seen
    }

    /// Takes a verdict; a plausible patch's diff is written first.
    pub fn judge(&mut self, index: usize, verdict: Verdict) -> anyhow::Result<()> {
        let outcome = verdict.outcome;
        if outcome == Outcome::Plausible {
            replace_file(&self.diff_path(index), &self.diff(index)?)?;
        }
        self.verdict_lines.push(&VerdictLine { index, verdict })?;
        self.verdict_lines.flush()?;
        self.verdicts.insert(index, outcome);
        Ok(())
    }

    fn diff_path(&self, index: usize) -> PathBuf {
        self.dir.join("patches").join(format!("{index:04}.diff"))
    }

    /// The diff of a sample.
    pub fn diff(&self, index: usize) -> anyhow::Result<Vec<u8>> {
        Ok(patch::unified_diff(&self.file, self.cloze.source().bytes(), &self.patched(index)?))
    }

    /// The whole file with a sample filled in.
    pub fn patched(&self, index: usize) -> anyhow::Result<Vec<u8>> {
        Ok(self.cloze.fill(&self.drawn[index - 1].fill)?)
    }

    /// The sample that is the `n`-th plausible one.
    pub fn nth_plausible(&self, n: usize) -> Option<usize> {
        let mut plausible = self.verdicts().filter(|&(_, outcome)| outcome == Outcome::Plausible);
        plausible.nth(n.checked_sub(1)?).map(|(index, _)| index)
    }

    /// Counts nothing beyond this sample: what was drawn ahead of a verdict depends on how fast the machine is.
    pub fn forget_after(&mut self, index: usize) {
        self.n_seen = self.n_seen.min(index);
    }

    /// Verdicts among the samples drawn, by sample.
    pub fn verdicts(&self) -> impl Iterator<Item = (usize, Outcome)> {
        self.verdicts
            .iter()
            .map(|(&index, &outcome)| (index, outcome))
            .filter(|&(index, _)| index <= self.n_seen)
    }

    /// Number of plausible patches.
    pub fn n_plausible(&self) -> usize {
        self.verdicts().filter(|&(_, outcome)| outcome == Outcome::Plausible).count()
    }

    /// Plausible patches, the likeliest first, then the smallest.
    pub fn ranking(&self, run_dir: &Path) -> anyhow::Result<Vec<Ranked>> {
        let plausible = self.verdicts().filter(|&(_, outcome)| outcome == Outcome::Plausible);
        let mut ranking = plausible
            .map(|(index, _)| {
                let (log_p, size) = (self.drawn[index - 1].log_p, patch::size(&self.diff(index)?));
                let diff = self.diff_path(index);
                let diff = diff.strip_prefix(run_dir).unwrap_or(&diff).to_owned();
                Ok(Ranked { index, log_p, size, diff, patched: self.patched(index)? })
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        ranking.sort_by(|a, b| b.log_p.total_cmp(&a.log_p).then(a.size.cmp(&b.size)));
        Ok(ranking)
    }
}
