//! One bug of one run, as its record tells it.
//!
//! Only what the schemas under `src/record/schemas/` promise is read; whatever else a line holds is left alone.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::ReportError;
use crate::decode::memo::{Event, WalkEnd};
use crate::java::lexer::normal_form;
use crate::record::{ClockLine, PlannedUnit, RecordError, Shown, UnitEnd, UnitRecord, read_json, read_lines};
use crate::validate::verdict::{Outcome, Stage};

/// A line of `patches.jsonl`.
#[derive(Debug, Clone, Deserialize)]
pub struct SampleLine {
    /// 1-based, in the order drawn.
    pub index: usize,
    /// What goes into the hole.
    pub fill: String,
    /// Natural logarithm of its probability under the model.
    pub log_p: f64,
    /// The tokens with their log-probabilities.
    pub tokens: Vec<(String, f64)>,
}

/// A line of `verdicts.jsonl`.
#[derive(Debug, Clone, Deserialize)]
pub struct VerdictLine {
    /// The sample.
    pub index: usize,
    /// How far it came.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What was done.
    #[serde(default)]
    pub stages: Vec<StageLine>,
    /// Whether the stages are those of an earlier sample with the same class files, and nothing was run.
    #[serde(default)]
    pub repeated: bool,
}

/// One stage of a verdict.
#[derive(Debug, Clone, Deserialize)]
pub struct StageLine {
    /// Which.
    pub stage: Stage,
    /// Wall-clock time.
    pub millis: u64,
}

/// One sample as a study counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    /// What became of it; `None` if it died on the way.
    pub end: Option<DrawEnd>,
}

/// What a draw that was finished came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawEnd {
    /// The sample with this text; `None` if the text is the buggy one.
    pub sample: Option<usize>,
    /// Whether no draw before had the text.
    pub is_new: bool,
}

/// One bug of one run.
#[derive(Debug, Clone)]
pub struct Unit {
    /// The run directory.
    pub run: PathBuf,
    /// The bug.
    pub bug: String,
    /// The variant: the campaign's name for it, else what its switches are called.
    pub variant: String,
    /// Seed of the search.
    pub seed: u64,
    /// `manifest.json`; null where there is none.
    pub manifest: serde_json::Value,
    /// `summary.json`'s entry of the bug; null where there is none.
    pub summary: serde_json::Value,
    /// How it ended, in a campaign.
    pub end: Option<UnitEnd>,
    /// New texts in the order drawn, up to the decisive one where the run stopped at a plausible patch.
    pub samples: Vec<SampleLine>,
    /// Verdicts by sample.
    pub verdicts: BTreeMap<usize, VerdictLine>,
    /// All draws in their order.
    pub draws: Vec<Draw>,
    /// What each sample had cost when it was drawn, in order.
    pub clock: Vec<ClockLine>,
    /// The hole with its surroundings; `None` where an older version drew.
    pub shown: Option<Shown>,
}

impl Unit {
    /// Reads a bug's record; `bug` is `None` for a unit that failed before it had one.
    pub fn read(run: &Path, bug: Option<&str>) -> Result<Self, RecordError> {
        let record: Option<UnitRecord> = read_json(&run.join("unit.json"))?;
        let bug = bug.map(str::to_owned).or_else(|| record.as_ref().map(|record| record.bug.clone()));
        let bug = bug.unwrap_or_default();
        let manifest: serde_json::Value = read_json(&run.join("manifest.json"))?.unwrap_or_default();
        let summary: serde_json::Value = read_json(&run.join("summary.json"))?.unwrap_or_default();
        let summary = entry_of(&summary, &bug);
        let dir = run.join(&bug);
        let mut samples: Vec<SampleLine> = read_lines(&dir.join("patches.jsonl"), |_| true)?;
        let mut verdicts: Vec<VerdictLine> = read_lines(&dir.join("verdicts.jsonl"), |_| true)?;
        let mut draws = draws(&manifest, &dir, &samples)?;
        if let Some(counted) = decisive(&summary) {
            samples.truncate(counted);
            verdicts.retain(|line| line.index <= counted);
            draws.retain(|draw| draw.end.is_none_or(|end| end.sample.is_none_or(|index| index <= counted)));
        }
        let inputs = &manifest["inputs"];
        Ok(Self {
            variant: record.as_ref().map_or_else(|| variant_of(inputs), |record| record.variant.clone()),
            seed: record.as_ref().map_or_else(|| inputs["seed"].as_u64().unwrap_or(0), |record| record.seed),
            end: record.map(|record| record.end),
            clock: read_lines(&dir.join("clock.jsonl"), |_| true)?,
            shown: read_json(&dir.join("shown.json"))?,
            verdicts: verdicts.into_iter().map(|line| (line.index, line)).collect(),
            run: run.to_owned(),
            bug,
            manifest,
            summary,
            samples,
            draws,
        })
    }

    /// A unit that was set out to be done, and of which there is nothing yet.
    fn not_begun(run: PathBuf, PlannedUnit { bug, variant, seed }: PlannedUnit) -> Self {
        Self {
            run,
            bug,
            variant,
            seed,
            manifest: serde_json::Value::Null,
            summary: serde_json::Value::Null,
            end: None,
            samples: Vec::new(),
            verdicts: BTreeMap::new(),
            draws: Vec::new(),
            clock: Vec::new(),
            shown: None,
        }
    }

    /// The outcome of a sample, if it has a verdict.
    pub fn outcome(&self, index: usize) -> Option<Outcome> {
        self.verdicts.get(&index).map(|line| line.outcome)
    }

    /// Plausible samples, the likeliest first.
    pub fn plausible(&self) -> Vec<&SampleLine> {
        let is_plausible = |line: &&SampleLine| self.outcome(line.index) == Some(Outcome::Plausible);
        let mut plausible: Vec<_> = self.samples.iter().filter(is_plausible).collect();
        plausible.sort_by(|a, b| b.log_p.total_cmp(&a.log_p).then(a.index.cmp(&b.index)));
        plausible
    }

    /// Plausible samples as the run itself ranked them; the likeliest first where it has no ranking yet.
    pub fn ranking(&self) -> Vec<&SampleLine> {
        let ranked = self.summary["ranking"].as_array().into_iter().flatten();
        let place: HashMap<u64, usize> =
            (0..).zip(ranked).filter_map(|(at, entry)| Some((entry["index"].as_u64()?, at))).collect();
        let mut plausible = self.plausible();
        // The sort keeps the order of those without a place, which come last.
        plausible.sort_by_key(|line| place.get(&(line.index as u64)).copied().unwrap_or(usize::MAX));
        plausible
    }

    /// The diff of a plausible sample.
    pub fn diff(&self, index: usize) -> Result<Vec<u8>, RecordError> {
        let path = self.run.join(&self.bug).join("patches").join(format!("{index:04}.diff"));
        std::fs::read(&path).map_err(|source| RecordError::Io { action: "read", path, source })
    }

    /// Why it has no result, if it failed.
    pub fn failure(&self) -> Option<&str> {
        match &self.end {
            Some(UnitEnd::Failed { error, .. }) => Some(error),
            _ => None,
        }
    }
}

/// All units below the directories that the user named: runs, campaigns, or directories of either.
pub fn find(roots: &[PathBuf]) -> Result<Vec<Unit>, ReportError> {
    let mut units = Vec::new();
    for root in roots {
        let below = below(root)?;
        if below.is_empty() {
            return Err(ReportError::NoRun(root.clone()));
        }
        for (run, bug) in &below {
            units.push((root, Unit::read(run, bug.as_deref())?));
        }
        let is_there = |dir: &PathBuf| below.iter().any(|(run, _)| run == dir);
        let absent = planned(root)?.into_iter().filter(|(dir, _)| !is_there(dir));
        units.extend(absent.map(|(dir, unit)| (root, Unit::not_begun(dir, unit))));
    }
    tell_apart(&mut units)?;
    let mut units: Vec<Unit> = units.into_iter().map(|(_, unit)| unit).collect();
    units.sort_by(|a, b| (&a.variant, &a.bug, a.seed).cmp(&(&b.variant, &b.bug, b.seed)));
    Ok(units)
}

/// Run directories below `root`, each with its bugs.
fn below(root: &Path) -> Result<Vec<(PathBuf, Option<String>)>, ReportError> {
    let mut found = BTreeSet::new();
    for entry in walkdir::WalkDir::new(root).sort_by_file_name() {
        let entry = entry.map_err(|source| ReportError::Walk { root: root.to_owned(), source })?;
        let dir = entry.path().parent().unwrap_or(root);
        match entry.file_name().to_str() {
            Some("patches.jsonl") => {
                let bug = dir.file_name().map(|name| name.to_string_lossy().into_owned());
                let run = dir.parent().unwrap_or(root);
                found.remove(&(run.to_owned(), None));
                found.insert((run.to_owned(), bug));
            }
            Some("unit.json") if !found.iter().any(|(run, _)| run == dir) => {
                found.insert((dir.to_owned(), None));
            }
            _ => {}
        }
    }
    Ok(found.into_iter().collect())
}

/// Units that the campaigns below `root` have set out to do, with their run directories.
fn planned(root: &Path) -> Result<BTreeMap<PathBuf, PlannedUnit>, ReportError> {
    #[derive(Deserialize)]
    struct Campaign {
        #[serde(default)]
        units: Vec<PlannedUnit>,
    }
    let mut units = BTreeMap::new();
    for entry in walkdir::WalkDir::new(root) {
        let entry = entry.map_err(|source| ReportError::Walk { root: root.to_owned(), source })?;
        let name = entry.file_name().to_string_lossy();
        if name != "campaign.json" && !(name.starts_with("campaign-") && name.ends_with(".json")) {
            continue;
        }
        let dir = entry.path().parent().unwrap_or(root);
        let campaign: Option<Campaign> = read_json(entry.path())?;
        units.extend(campaign.into_iter().flat_map(|own| own.units).map(|unit| (dir.join(unit.dir()), unit)));
    }
    Ok(units)
}

/// Two runs of one bug with the same variant and seed are variants of their directories.
fn tell_apart(units: &mut [(&PathBuf, Unit)]) -> Result<(), ReportError> {
    let key = |unit: &Unit| (unit.bug.clone(), unit.variant.clone(), unit.seed);
    let has_twins = |units: &[(&PathBuf, Unit)]| {
        let mut seen = HashMap::new();
        units
            .iter()
            .find_map(|(_, unit)| seen.insert(key(unit), unit.run.clone()).map(|run| (run, unit.run.clone())))
    };
    if has_twins(units).is_some() {
        for (root, unit) in &mut *units {
            let root = root.file_name().unwrap_or_default().to_string_lossy();
            unit.variant = format!("{root}/{}", unit.variant);
        }
    }
    has_twins(units).map_or(Ok(()), |(first, second)| Err(ReportError::Twice { first, second }))
}

fn entry_of(summary: &serde_json::Value, bug: &str) -> serde_json::Value {
    let bugs = summary["bugs"].as_array();
    bugs.and_then(|bugs| bugs.iter().find(|entry| entry["bug"] == bug)).cloned().unwrap_or_default()
}

/// Samples that count where a run stopped at a plausible patch: what was drawn ahead depends on the machine's speed.
fn decisive(summary: &serde_json::Value) -> Option<usize> {
    (summary["stop"] == "plausible").then(|| summary["samples"].as_u64().map(|n| n as usize)).flatten()
}

/// The paper's name for the switches of the engine.
fn variant_of(inputs: &serde_json::Value) -> String {
    let guidance = &inputs["guidance"];
    let on = |name: &str| guidance[name] == true;
    let replacement = if inputs["with_replacement"] == true { "+replacement" } else { "" };
    let name = match (on("names"), on("memo"), on("statements"), on("end")) {
        (false, _, false, false) => "off",
        (true, false, false, false) => "prune",
        (true, true, false, false) => "memo",
        (true, true, true, true) => "full",
        _ => "mixed",
    };
    format!("{name}{replacement}")
}

/// Without replacement every draw is a new text. With replacement the walks of `tree.jsonl` tell.
fn draws(manifest: &serde_json::Value, dir: &Path, samples: &[SampleLine]) -> Result<Vec<Draw>, RecordError> {
    let new = |index| Draw { end: Some(DrawEnd { sample: Some(index), is_new: true }) };
    if manifest["inputs"]["with_replacement"] != true {
        return Ok(samples.iter().map(|sample| new(sample.index)).collect());
    }
    let is_walk = |line: &[u8]| line.starts_with(b"{\"event\":\"walk\"");
    let events: Vec<Event> = read_lines(&dir.join("tree.jsonl"), is_walk)?;
    let walks: BTreeMap<u64, WalkEnd> = events
        .into_iter()
        .filter_map(|event| if let Event::Walk { walk, end } = event { Some((walk, end)) } else { None })
        .collect();
    let by_form: HashMap<Vec<u8>, usize> =
        samples.iter().map(|sample| (normal_form(&sample.fill), sample.index)).collect();
    let mut seen = HashSet::new();
    Ok(walks
        .into_values()
        .map(|end| match end {
            WalkEnd::Dead(_) => Draw { end: None },
            WalkEnd::Complete { fill, .. } => {
                let sample = by_form.get(&normal_form(&fill)).copied();
                Draw { end: Some(DrawEnd { sample, is_new: sample.is_some_and(|index| seen.insert(index)) }) }
            }
        })
        .collect())
}
