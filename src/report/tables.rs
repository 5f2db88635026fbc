//! The tables of a report.

use super::Report;
use super::estimate::Estimate;
use super::figures::{State, UnitFigures, VariantFigures};
use super::rates::Rate;
use super::table::Table;
use super::venn::Region;

/// What stands where there is no value.
const NONE: &str = "-";

impl Report {
    /// All tables, the overview first.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables =
            vec![self.variants_table(), self.rates_table(), self.costs_table(), self.units_table()];
        if self.units.iter().any(|unit| unit.failure.is_some()) {
            tables.push(self.failures_table());
        }
        if self.variants.len() > 1 {
            let title = "Bugs with a plausible patch, by the variants that have one";
            tables.push(venn_table("venn-plausible", title, &self.venn_plausible));
        }
        if !self.venn_correct.is_empty() {
            let title = "Bugs with a correct patch, by the variants and tools that have one";
            tables.push(venn_table("venn-correct", title, &self.venn_correct));
        }
        tables
    }

    fn variants_table(&self) -> Table {
        let row = |figures: &VariantFigures| {
            let open = figures.opinions.none + figures.opinions.unsure;
            vec![
                figures.variant.clone(),
                figures.bugs.to_string(),
                figures.seeds.len().to_string(),
                format!("{} ({} failed, {} open)", figures.units, figures.failed, figures.unfinished),
                figures.all.unique.of.to_string(),
                estimate(figures.compile_rate, 100.0),
                estimate(figures.plausible_rate, 100.0),
                figures.plausible_bugs.len().to_string(),
                estimate(figures.plausible_bugs_by_seed, 1.0),
                if self.is_judged { figures.correct_bugs.len().to_string() } else { NONE.to_owned() },
                format!("{open} of {}", figures.all.unique.plausible),
            ]
        };
        Table {
            name: "variants",
            title: "Variants".to_owned(),
            note: "new texts: of all draws that were finished, no two alike; compile and plausible: share of the new \
                   texts, pooled over bugs, mean over seeds with its 95 % interval; correct: called so by a person, \
                   never inferred"
                .to_owned(),
            columns: words(&[
                "variant", "bugs", "seeds", "units", "new texts", "compile %", "plausible %",
                "bugs with a plausible patch", "the same by seed", "bugs with a correct patch",
                "plausible patches not judged",
            ]),
            rows: self.variants.iter().map(row).collect(),
        }
    }

    fn rates_table(&self) -> Table {
        let mut rows = Vec::new();
        for figures in &self.variants {
            for cut in &figures.cuts {
                let rates = [cut.rates.started, cut.rates.finished, cut.rates.unique];
                let mut row = vec![
                    figures.variant.clone(),
                    cut.top.to_string(),
                    format!("{} of {}", cut.full, figures.units),
                ];
                row.extend(rates.iter().map(share));
                row.push(
                    cut.mean_compile_rate.map_or(NONE.to_owned(), |rate| format!("{:.1}", 100.0 * rate)),
                );
                row.push(rates[2].unjudged.to_string());
                rows.push(row);
            }
        }
        Table {
            name: "rates",
            title: "Compile rate of the first samples".to_owned(),
            note: "each rate with its own count below the line: draws begun, draws that came to an end, new texts; a unit \
                   with fewer gives what it has; mean of bugs: of the last rate, each unit weighing the same; a text \
                   without a verdict does not count as compiling"
                .to_owned(),
            columns: words(&[
                "variant", "top", "units with as many", "% of started", "% of finished", "% of unique", "mean of bugs %",
                "not judged",
            ]),
            rows,
        }
    }

    fn costs_table(&self) -> Table {
        let row = |figures: &VariantFigures| {
            let (costs, n) = (&figures.costs, figures.all.unique.of.max(1) as f64);
            vec![
                figures.variant.clone(),
                costs.tokens.to_string(),
                costs.positions.to_string(),
                costs.questions.to_string(),
                format!("{:.1}", costs.drawing_seconds),
                format!("{:.3}", costs.drawing_seconds / n),
                format!("{:.1}", costs.compile_seconds),
                format!("{:.1}", costs.test_seconds),
                format!("{:.3}", (costs.compile_seconds + costs.test_seconds) / n),
            ]
        };
        Table {
            name: "costs",
            title: "What was spent".to_owned(),
            note: "seconds of the wall clock, summed over units; drawing and validation overlap; start of model, server \
                   and baseline left out"
                .to_owned(),
            columns: words(&[
                "variant", "tokens", "positions", "questions", "drawing s", "a new text", "compiling s", "tests s",
                "validation of a text",
            ]),
            rows: self.variants.iter().map(row).collect(),
        }
    }

    fn units_table(&self) -> Table {
        let row = |unit: &UnitFigures| {
            let unique = unit.all.unique;
            vec![
                unit.bug.clone(),
                unit.variant.clone(),
                unit.seed.to_string(),
                state(unit),
                unit.all.started.of.to_string(),
                unit.all.finished.of.to_string(),
                unique.of.to_string(),
                unique.compilable.to_string(),
                unique.plausible.to_string(),
                unit.first_plausible.map_or(NONE.to_owned(), |index| index.to_string()),
                if self.is_judged { unit.opinions.correct.to_string() } else { NONE.to_owned() },
                unit.costs.tokens.to_string(),
                unit.costs.questions.to_string(),
                format!("{:.1}", unit.costs.drawing_seconds),
                format!("{:.1}", unit.costs.compile_seconds + unit.costs.test_seconds),
            ]
        };
        Table {
            name: "units",
            title: "Bugs".to_owned(),
            note: "first: the first plausible sample; correct: called so by a person".to_owned(),
            columns: words(&[
                "bug",
                "variant",
                "seed",
                "state",
                "started",
                "finished",
                "unique",
                "compile",
                "plausible",
                "first",
                "correct",
                "tokens",
                "questions",
                "drawing s",
                "validation s",
            ]),
            rows: self.units.iter().map(row).collect(),
        }
    }

    fn failures_table(&self) -> Table {
        let failed = self.units.iter().filter_map(|unit| {
            let failure = unit.failure.clone()?;
            Some(vec![unit.bug.clone(), unit.variant.clone(), unit.seed.to_string(), failure])
        });
        Table {
            name: "failures",
            title: "Units that failed".to_owned(),
            note: String::new(),
            columns: words(&["bug", "variant", "seed", "why"]),
            rows: failed.collect(),
        }
    }
}

fn venn_table(name: &'static str, title: &str, regions: &[Region]) -> Table {
    let row = |region: &Region| {
        vec![region.tools.join(" + "), region.bugs.len().to_string(), region.bugs.join(" ")]
    };
    Table {
        name,
        title: title.to_owned(),
        note: "each bug counts once: for all that have it, and no others".to_owned(),
        columns: words(&["only by", "bugs", "which"]),
        rows: regions.iter().map(row).collect(),
    }
}

fn state(unit: &UnitFigures) -> String {
    match (unit.state, &unit.stop) {
        (State::Failed, _) => "failed".to_owned(),
        (State::Unfinished, _) => "unfinished".to_owned(),
        (State::Finished, stop) => stop.clone().unwrap_or_else(|| "finished".to_owned()),
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

/// A rate with what it is a rate of.
fn share(rate: &Rate) -> String {
    rate.compile_rate()
        .map_or(NONE.to_owned(), |share| format!("{:.1} ({}/{})", 100.0 * share, rate.compilable, rate.of))
}

fn estimate(estimate: Option<Estimate>, factor: f64) -> String {
    let Some(Estimate { mean, margin, .. }) = estimate else { return NONE.to_owned() };
    let margin = margin.map_or(String::new(), |margin| format!(" ± {:.1}", factor * margin));
    format!("{:.1}{margin}", factor * mean)
}
