//! The units of a campaign: every bug with every variant and every seed. Values only.

use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::bug::{BugId, Location};
use crate::java::test_id::TestId;
use crate::record::PlannedUnit;

/// Variants that have a name of their own: those of the paper.
const KNOWN: [&str; 4] = ["off", "prune", "memo", "full"];

/// A plan that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A variant's name that would not do for a directory, or that says nothing.
    #[error(
        "`{0}` is no variant: take off, prune, memo, full, or NAME=FLAGS with a name of letters, digits and `.+-_`"
    )]
    Variant(String),
    /// No shard.
    #[error("`{0}` is no shard: take K/N with K from 1 to N")]
    Shard(String),
    /// Two bugs of one name.
    #[error("two bugs are called `{0}`")]
    Twice(String),
    /// Flags that no repair takes.
    #[error("{0}")]
    Words(String),
    /// Nothing to do.
    #[error("the sets hold no bug")]
    Empty,
}

/// What a unit repairs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A bug of a benchmark.
    Benchmark(BugId),
    /// A place in a project.
    Place(Place),
}

/// A place in a project, as a line of a file of bugs names it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// What the bug is called.
    pub name: String,
    /// The project's root.
    pub project: PathBuf,
    /// `FILE:FIRST-LAST`.
    #[serde(deserialize_with = "parsed")]
    pub at: Location,
    /// Whether lines are missing before the one that `at` names.
    #[serde(default)]
    pub insert: bool,
    /// Tests that show the bug.
    pub tests: Vec<TestId>,
}

fn parsed<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Location, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

impl Target {
    /// What the bug is called.
    pub fn name(&self) -> String {
        match self {
            Target::Benchmark(bug) => bug.to_string(),
            Target::Place(place) => place.name.clone(),
        }
    }

    /// The flags of `repair` that name it.
    pub fn words(&self) -> Vec<String> {
        match self {
            Target::Benchmark(bug) => vec!["--bug".to_owned(), bug.to_string()],
            Target::Place(place) => {
                let mut words = vec!["--project".to_owned(), place.project.display().to_string()];
                words.extend(["--at".to_owned(), place.at.to_string()]);
                words.extend(place.insert.then(|| "--insert".to_owned()));
                words.extend(place.tests.iter().flat_map(|test| ["--test".to_owned(), test.to_string()]));
                words
            }
        }
    }
}

/// Settings that are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Variant {
    /// What it is called.
    pub name: String,
    /// The flags of `repair` that make it.
    pub words: Vec<String>,
}

impl FromStr for Variant {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let unusable = || PlanError::Variant(text.to_owned());
        let is_plain = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphanumeric())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || ".+-_".contains(c))
        };
        match text.split_once('=') {
            None if KNOWN.contains(&text) => {
                Ok(Self { name: text.to_owned(), words: vec!["--engine".to_owned(), text.to_owned()] })
            }
            Some((name, words)) if is_plain(name) => Ok(Self {
                name: name.to_owned(),
                words: words.split_whitespace().map(str::to_owned).collect(),
            }),
            _ => Err(unusable()),
        }
    }
}

/// A part of the units: the K-th of N.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Shard {
    /// Which, from 1.
    pub k: usize,
    /// Of how many.
    pub n: usize,
}

impl Shard {
    /// The only one.
    pub const WHOLE: Self = Self { k: 1, n: 1 };
}

impl FromStr for Shard {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let numbers = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((k, n)) if (1..=n).contains(&k) => Ok(Self { k, n }),
            _ => Err(PlanError::Shard(text.to_owned())),
        }
    }
}

/// One bug with one variant and one seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// What it repairs.
    pub target: Target,
    /// The variant's name.
    pub variant: String,
    /// The seed.
    pub seed: u64,
    /// The flags of `repair`, without the run directory.
    pub words: Vec<String>,
}

impl Unit {
    /// How the campaign lists it.
    pub fn planned(&self) -> PlannedUnit {
        PlannedUnit { bug: self.target.name(), variant: self.variant.clone(), seed: self.seed }
    }

    /// Its run directory, relative to the campaign's.
    pub fn dir(&self) -> PathBuf {
        self.planned().dir()
    }
}

/// What a campaign does to every bug.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Samples of each unit.
    pub samples: usize,
    /// Variants.
    pub variants: Vec<Variant>,
    /// Seeds.
    pub seeds: Vec<u64>,
    /// The part that this process does.
    pub shard: Shard,
    /// Further flags of `repair`, for every unit.
    pub words: Vec<String>,
}

impl Plan {
    /// The shard's units. Those of a bug follow each other, and are all in one shard where there are enough bugs.
    pub fn units(&self, targets: &[Target]) -> Result<Vec<Unit>, PlanError> {
        let mut names: Vec<String> = targets.iter().map(Target::name).collect();
        names.sort();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(PlanError::Twice(twice[0].clone()));
        }
        let each = self.variants.len() * self.seeds.len();
        let units = targets.iter().flat_map(|target| {
            self.variants
                .iter()
                .flat_map(move |variant| self.seeds.iter().map(move |&seed| self.unit(target, variant, seed)))
        });
        let by_bug = targets.len() >= self.shard.n;
        let own = |at: usize| (if by_bug { at / each } else { at }) % self.shard.n + 1 == self.shard.k;
        Ok(units.enumerate().filter(|(at, _)| own(*at)).map(|(_, unit)| unit).collect())
    }

    fn unit(&self, target: &Target, variant: &Variant, seed: u64) -> Unit {
        let mut words = target.words();
        words.extend([
            "--samples".to_owned(),
            self.samples.to_string(),
            "--seed".to_owned(),
            seed.to_string(),
        ]);
        words.extend(self.words.iter().cloned());
        words.extend(variant.words.iter().cloned());
        Unit { target: target.clone(), variant: variant.name.clone(), seed, words }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(shard: &str) -> Plan {
        let variants = ["off", "hot=--temperature 1.5"].map(|text| text.parse().unwrap()).into();
        Plan { samples: 5, variants, seeds: vec![0, 7], shard: shard.parse().unwrap(), words: Vec::new() }
    }

    fn bugs(n: usize) -> Vec<Target> {
        (1..=n).map(|id| Target::Benchmark(format!("X-{id}").parse().unwrap())).collect()
    }

    #[test]
    fn shards_never_overlap_and_leave_nothing_out() {
        for n_bugs in [1, 3, 10] {
            let whole = plan("1/1").units(&bugs(n_bugs)).unwrap();
            assert_eq!(whole.len(), 4 * n_bugs);
            let mut parts: Vec<PathBuf> = (1..=4)
                .flat_map(|k| plan(&format!("{k}/4")).units(&bugs(n_bugs)).unwrap())
                .map(|unit| unit.dir())
                .collect();
            let mut dirs: Vec<PathBuf> = whole.iter().map(Unit::dir).collect();
            parts.sort();
            dirs.sort();
            assert_eq!(parts, dirs);
        }
    }

    #[test]
    fn a_unit_is_a_command_of_repair() {
        let unit = &plan("1/1").units(&bugs(1)).unwrap()[3];
        assert_eq!(unit.words.join(" "), "--bug X-1 --samples 5 --seed 7 --temperature 1.5");
        assert_eq!(unit.dir(), PathBuf::from("hot/seed-7/X-1"));
    }

    #[test]
    fn what_is_no_variant_or_shard_is_refused() {
        for text in ["", "fast", "../x=--seed 1", "=--seed 1"] {
            assert!(text.parse::<Variant>().is_err(), "{text}");
        }
        for text in ["0/4", "5/4", "1", "1/0", "a/b"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
        let twice = [bugs(1), bugs(1)].concat();
        assert_eq!(plan("1/1").units(&twice), Err(PlanError::Twice("X-1".to_owned())));
    }
}
