//! What differs between two runs, or two campaigns: in what they were made from, and in what came out.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::unit::Unit;
use crate::validate::verdict::Outcome;

/// A setting that is not the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Setting {
    /// Where it stands in `manifest.json`.
    pub name: String,
    /// In the first; null if it has none.
    pub first: String,
    /// In the second.
    pub second: String,
}

/// A text that both have, judged differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OtherVerdict {
    /// The text.
    pub fill: String,
    /// In the first.
    pub first: Option<Outcome>,
    /// In the second.
    pub second: Option<Outcome>,
}

/// What differs between two records of a bug.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnitDifference {
    /// The bug, with variant and seed where there are several.
    pub unit: String,
    /// Samples of both.
    pub samples: [usize; 2],
    /// The first sample whose text differs.
    pub first_other_sample: Option<usize>,
    /// Texts that only the first has.
    pub only_first: usize,
    /// Texts that only the second has.
    pub only_second: usize,
    /// Texts of both with another verdict.
    pub verdicts: Vec<OtherVerdict>,
    /// Plausible patches of both.
    pub plausible: [usize; 2],
}

/// What differs between two directories.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Differences {
    /// Settings, each once, with how many units differ in it.
    pub settings: Vec<(Setting, usize)>,
    /// Units whose outcome differs.
    pub units: Vec<UnitDifference>,
    /// Units of both.
    pub compared: usize,
    /// Units that only the first has.
    pub only_first: Vec<String>,
    /// Units that only the second has.
    pub only_second: Vec<String>,
}

impl Differences {
    /// Compares units of the same bug, variant and seed; two single runs in any case.
    pub fn between(first: &[Unit], second: &[Unit]) -> Self {
        let is_single = first.len() == 1 && second.len() == 1;
        let of_second = by_name(second);
        let pairs: Vec<(String, &Unit, &Unit)> = if is_single {
            vec![(first[0].bug.clone(), &first[0], &second[0])]
        } else {
            let of_first = by_name(first).into_iter();
            of_first.filter_map(|(name, a)| Some((name.clone(), a, *of_second.get(&name)?))).collect()
        };
        let mut settings: BTreeMap<Setting, usize> = BTreeMap::new();
        for (_, a, b) in &pairs {
            for setting in other_settings(&a.manifest, &b.manifest) {
                *settings.entry(setting).or_default() += 1;
            }
        }
        let names = |units: &[Unit]| by_name(units).into_keys().collect::<BTreeSet<_>>();
        let only = |own: &[Unit], other: &[Unit]| -> Vec<String> {
            if is_single { Vec::new() } else { names(own).difference(&names(other)).cloned().collect() }
        };
        Self {
            settings: settings.into_iter().collect(),
            compared: pairs.len(),
            units: pairs.iter().filter_map(|(name, a, b)| unit_difference(name, a, b)).collect(),
            only_first: only(first, second),
            only_second: only(second, first),
        }
    }

    /// Whether both have the same units with the same outcomes; settings may differ.
    pub fn is_same_outcome(&self) -> bool {
        self.units.is_empty() && self.only_first.is_empty() && self.only_second.is_empty()
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut lines = Vec::new();
        for (Setting { name, first, second }, n) in &self.settings {
            lines.push(format!("setting {name}: {first} / {second} ({n} of {} units)", self.compared));
        }
        for unit in &self.units {
            let UnitDifference { samples, plausible, .. } = unit;
            let from = unit.first_other_sample.map_or_else(
                || "the same texts".to_owned(),
                |index| format!("another text from sample {index} on"),
            );
            lines.push(format!(
                "{}: {} / {} samples, {from}, {} and {} texts of one only, {} other verdicts, {} / {} plausible",
                unit.unit,
                samples[0],
                samples[1],
                unit.only_first,
                unit.only_second,
                unit.verdicts.len(),
                plausible[0],
                plausible[1]
            ));
            for OtherVerdict { fill, first, second } in &unit.verdicts {
                lines.push(format!(
                    "  {} / {}: {}",
                    shown(*first),
                    shown(*second),
                    fill.trim().replace('\n', " ")
                ));
            }
        }
        lines.extend(self.only_first.iter().map(|name| format!("{name}: only in the first")));
        lines.extend(self.only_second.iter().map(|name| format!("{name}: only in the second")));
        lines.push(format!("{} units compared, {} with another outcome", self.compared, self.units.len()));
        lines.join("\n") + "\n"
    }
}

fn by_name(units: &[Unit]) -> BTreeMap<String, &Unit> {
    units.iter().map(|unit| (format!("{} {} seed {}", unit.bug, unit.variant, unit.seed), unit)).collect()
}

fn shown(outcome: Option<Outcome>) -> String {
    match outcome {
        None => "no verdict".to_owned(),
        Some(Outcome::Uncompilable) => "does not compile".to_owned(),
        Some(Outcome::Failed { stage }) => format!("fails {stage:?}").to_lowercase(),
        Some(Outcome::Plausible) => "plausible".to_owned(),
    }
}

fn other_settings(first: &Value, second: &Value) -> Vec<Setting> {
    let (mut a, mut b) = (BTreeMap::new(), BTreeMap::new());
    flatten("", first, &mut a);
    flatten("", second, &mut b);
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let text = |values: &BTreeMap<String, String>, name| {
        values.get(name).cloned().unwrap_or_else(|| "null".to_owned())
    };
    names
        .into_iter()
        // A prompt differs wherever anything before it does, and fills pages.
        .filter(|name| !name.starts_with("prompt") && a.get(*name) != b.get(*name))
        .map(|name| Setting { name: name.clone(), first: text(&a, name), second: text(&b, name) })
        .collect()
}

fn flatten(name: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten(&name, value, into);
            }
        }
        value => {
            into.insert(name.to_owned(), value.to_string());
        }
    }
}

fn unit_difference(name: &str, a: &Unit, b: &Unit) -> Option<UnitDifference> {
    let fills = |unit: &Unit| unit.samples.iter().map(|line| line.fill.clone()).collect::<Vec<_>>();
    let (of_a, of_b) = (fills(a), fills(b));
    let outcomes = |unit: &Unit| -> BTreeMap<String, Option<Outcome>> {
        unit.samples.iter().map(|line| (line.fill.clone(), unit.outcome(line.index))).collect()
    };
    let (judged_a, judged_b) = (outcomes(a), outcomes(b));
    let verdicts: Vec<OtherVerdict> = judged_a
        .iter()
        .filter_map(|(fill, &first)| {
            let &second = judged_b.get(fill)?;
            (first != second).then(|| OtherVerdict { fill: fill.clone(), first, second })
        })
        .collect();
    if of_a == of_b && verdicts.is_empty() {
        return None;
    }
    let shared = of_a.iter().zip(&of_b).position(|(a, b)| a != b);
    let shorter = of_a.len().min(of_b.len());
    let longer = (of_a.len() != of_b.len()).then_some(shorter);
    Some(UnitDifference {
        unit: name.to_owned(),
        samples: [of_a.len(), of_b.len()],
        first_other_sample: shared.or(longer).map(|at| at + 1),
        only_first: judged_a.keys().filter(|fill| !judged_b.contains_key(*fill)).count(),
        only_second: judged_b.keys().filter(|fill| !judged_a.contains_key(*fill)).count(),
        verdicts,
        plausible: [a.plausible().len(), b.plausible().len()],
    })
}
