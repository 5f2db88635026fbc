//! Tables 1 to 4 of the Repilot paper (ESEC/FSE 2023) in its own layout, with the variants of the report below its rows.
//!
//! The paper's figures are given data, and so are its sets of bugs: 138 of Defects4J 1.2, 135 of 2.0, 76 of them of one
//! line. A variant's row says how many bugs of a set were run; a count over fewer bugs is no comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::figures::{UnitFigures, VariantFigures};
use super::rates::{CUTS, Rates};
use super::table::Table;
use super::{Report, ReportError};

/// What stands where the paper gives nothing.
const NONE: &str = "-";

/// A line of a file, by column.
type Row = BTreeMap<String, String>;

/// What the paper says.
#[derive(Debug)]
pub struct Paper {
    /// A row for each tool, variant, model and subject of Tables 1 to 4.
    tables: Vec<Row>,
    /// The bugs that it considers.
    bugs: Vec<Row>,
}

impl Paper {
    /// Reads `paper_tables.csv` (columns `table`, `variant`, `model`, `subject` and the figures) and `considered_bugs.csv`
    /// (`bug`, `benchmark`, `in_d4j2_single_line`) in a directory.
    pub fn read(dir: &Path) -> Result<Self, ReportError> {
        Ok(Self {
            tables: read(&dir.join("paper_tables.csv"), &["table", "variant", "subject"])?,
            bugs: read(&dir.join("considered_bugs.csv"), &["bug", "benchmark", "in_d4j2_single_line"])?,
        })
    }

    fn rows(&self, table: &str) -> impl Iterator<Item = &Row> {
        self.tables.iter().filter(move |row| row["table"] == table)
    }

    /// Bugs of the paper's sets: `1.2`, `2.0`, `2.0-single-line`.
    fn set(&self, name: &str) -> BTreeSet<String> {
        let (version, is_line) = (&name[..3], name.ends_with("line"));
        let of_version = self.bugs.iter().filter(|row| row["benchmark"].ends_with(version));
        let own = of_version.filter(|row| !is_line || row["in_d4j2_single_line"] == "1");
        own.map(|row| row["bug"].clone()).collect()
    }
}

/// The rows of a file that must have the columns.
fn read(file: &Path, columns: &[&str]) -> Result<Vec<Row>, ReportError> {
    let malformed = |reason: String| ReportError::List { file: file.to_owned(), reason };
    let mut reader = csv::Reader::from_path(file).map_err(|error| malformed(error.to_string()))?;
    let rows: Vec<Row> =
        reader.deserialize().collect::<Result<_, _>>().map_err(|error| malformed(error.to_string()))?;
    let lacks = |column: &&&str| !rows.iter().all(|row| row.contains_key(**column));
    match columns.iter().find(lacks) {
        Some(column) => Err(malformed(format!("it has no column `{column}`"))),
        None => Ok(rows),
    }
}

fn cell(row: &Row, column: &str) -> String {
    row.get(column).filter(|text| !text.is_empty()).map_or(NONE.to_owned(), Clone::clone)
}

/// The paper's tables with a report's variants.
pub fn tables(report: &Report, paper: &Paper) -> Vec<Table> {
    vec![
        fixes(report, paper),
        compile_rates(report, paper),
        studied(report, paper, "paper-3", "T3", "Table 3: ablation on Defects4J 1.2", &[("", "1.2")]),
        models(report, paper),
    ]
}

fn fixes(report: &Report, paper: &Paper) -> Table {
    let (old, new) = (paper.set("1.2"), paper.set("2.0-single-line"));
    let mut of_tools: Vec<(String, [String; 2])> = Vec::new();
    for row in paper.rows("T1") {
        let fixes = cell(row, "correct_fixes");
        let cells = match (row["subject"].as_str(), fixes.split_once('/')) {
            (_, Some((first, second))) => [first.to_owned(), second.to_owned()],
            (subject, None) if subject.contains("2.0") => [NONE.to_owned(), fixes],
            _ => [fixes, NONE.to_owned()],
        };
        let given = of_tools.iter_mut().find(|(tool, _)| *tool == row["variant"]);
        match given {
            Some((_, known)) => known[1].clone_from(&cells[1]),
            None => of_tools.push((cell(row, "variant"), cells)),
        }
    }
    let mut rows: Vec<Vec<String>> =
        of_tools.into_iter().map(|(tool, [first, second])| vec![tool, first, second]).collect();
    rows.extend(report.variants.iter().map(|figures| {
        vec![own_name(figures), correct(report, figures, &old), correct(report, figures, &new)]
    }));
    Table {
        name: "paper-1",
        title: "Table 1: correct fixes".to_owned(),
        note: OWN.to_owned(),
        columns: words(&["tool", "Defects4J 1.2 single-hunk (138)", "Defects4J 2.0 single-line (76)"]),
        rows,
    }
}

fn compile_rates(report: &Report, paper: &Paper) -> Table {
    let mut rows: Vec<Vec<String>> = paper
        .rows("T2")
        .map(|row| {
            ["variant", "top30", "top100", "top1000", "top5000"].map(|column| cell(row, column)).into()
        })
        .collect();
    let old = paper.set("1.2");
    for figures in &report.variants {
        let units = units_of(report, figures, &old);
        let mut row = vec![own_name(figures)];
        row.extend(CUTS.map(|top| {
            let mut sum = Rates::default();
            for cut in units.iter().flat_map(|unit| &unit.cuts).filter(|cut| cut.top == top) {
                sum += cut.rates;
            }
            sum.unique.compile_rate().map_or(NONE.to_owned(), |rate| format!("{:.0}", 100.0 * rate))
        }));
        rows.push(row);
    }
    Table {
        name: "paper-2",
        title: "Table 2: compile rate on Defects4J 1.2 in %, of the first patches".to_owned(),
        note: "Repilot's rates are pooled over bugs and leave out what did not end and what was drawn before, AlphaRepair's \
               are means of bugs, RewardRepair's third is of the first 200; ours are pooled over new texts, and the table \
               `rates` gives the others"
            .to_owned(),
        columns: words(&["tool", "top 30", "top 100", "top 1000", "top 5000"]),
        rows,
    }
}

fn models(report: &Report, paper: &Paper) -> Table {
    let title = "Table 4: models and Defects4J 2.0";
    studied(report, paper, "paper-4", "T4", title, &[("on 1.2", "1.2"), ("on 2.0", "2.0")])
}

/// Time, shares and counts, as Tables 3 and 4 have them.
fn studied(
    report: &Report,
    paper: &Paper,
    name: &'static str,
    table: &str,
    title: &str,
    sets: &[(&str, &str)],
) -> Table {
    let columns = ["gen_time_s", "compilable_pct", "plausible_pct", "plausible_fixes", "correct_fixes"];
    let mut out: Vec<Vec<String>> = paper
        .rows(table)
        .map(|row| {
            let what = [cell(row, "variant"), cell(row, "model"), cell(row, "subject")].join(", ");
            std::iter::once(what).chain(columns.map(|column| cell(row, column))).collect()
        })
        .collect();
    for figures in &report.variants {
        for (suffix, name) in sets {
            let bugs = paper.set(name);
            let units = units_of(report, figures, &bugs);
            let mut sum = Rates::default();
            let seconds: f64 = units.iter().map(|unit| unit.costs.drawing_seconds).sum();
            for unit in &units {
                sum += unit.all;
            }
            let unique = sum.unique;
            let percent =
                |rate: Option<f64>| rate.map_or(NONE.to_owned(), |rate| format!("{:.1}", 100.0 * rate));
            let plausible = figures.plausible_bugs.intersection(&bugs).count();
            let per_sample = (unique.of > 0).then(|| seconds / unique.of as f64);
            out.push(vec![
                format!("{} {suffix}", own_name(figures)).trim_end().to_owned(),
                per_sample.map_or(NONE.to_owned(), |seconds| format!("{seconds:.3}")),
                percent(unique.compile_rate()),
                percent(unique.plausible_rate()),
                if units.is_empty() { NONE.to_owned() } else { plausible.to_string() },
                correct(report, figures, &bugs),
            ]);
        }
    }
    Table {
        name,
        title: title.to_owned(),
        note: OWN.to_owned(),
        columns: words(&[
            "tool",
            "s per patch",
            "compile %",
            "plausible %",
            "plausible fixes",
            "correct fixes",
        ]),
        rows: out,
    }
}

const OWN: &str = "rows with `run:` are of this report, over the bugs of the set that it has; correct only where a person said so";

fn own_name(figures: &VariantFigures) -> String {
    format!("run: {}", figures.variant)
}

fn units_of<'a>(
    report: &'a Report,
    figures: &VariantFigures,
    bugs: &BTreeSet<String>,
) -> Vec<&'a UnitFigures> {
    report.units.iter().filter(|unit| unit.variant == figures.variant && bugs.contains(&unit.bug)).collect()
}

/// Correct fixes of a set, and of how many bugs that were run.
fn correct(report: &Report, figures: &VariantFigures, bugs: &BTreeSet<String>) -> String {
    let run: BTreeSet<&str> =
        units_of(report, figures, bugs).into_iter().map(|unit| unit.bug.as_str()).collect();
    let correct = figures.correct_bugs.intersection(bugs).count();
    match (run.len(), report.is_judged) {
        (0, _) => NONE.to_owned(),
        (n, false) => format!("not judged, {n} bugs"),
        (n, true) => format!("{correct} of {n} bugs"),
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::judgements::Judgements;
    use crate::report::venn::Lists;

    /// The data that the project's tests are given; not part of the tree.
    fn given() -> Option<Paper> {
        let dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data"));
        if !dir.is_dir() {
            eprintln!("skipped: `{}` is not there", dir.display());
            return None;
        }
        Some(Paper::read(dir).unwrap())
    }

    #[test]
    fn the_sets_have_as_many_bugs_as_the_paper_says() {
        let Some(paper) = given() else { return };
        let sizes = ["1.2", "2.0", "2.0-single-line"].map(|name| paper.set(name).len());
        assert_eq!(sizes, [138, 135, 76]);
    }

    #[test]
    fn the_tables_are_the_papers() {
        let Some(paper) = given() else { return };
        let report = Report::of(&[], &Judgements::default(), &Lists::new());
        let tables = tables(&report, &paper);
        assert!(tables[0].rows.contains(&words(&["Repilot", "66", "50"])), "{:?}", tables[0].rows);
        assert!(tables[0].rows.contains(&words(&["AlphaRepair", "52", "34"])));
        assert!(tables[1].rows.contains(&words(&["Repilot", "66", "62", "58", "59"])));
        let full = ["full, CodeT5-large, D4J1.2 (138)", "0.248", "63.4", "5.21", "63", "42"];
        assert!(tables[2].rows.contains(&words(&full)));
        assert_eq!(tables[3].rows.len(), 6);
    }

    #[test]
    fn a_file_without_its_columns_is_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("paper_tables.csv"), "table,variant\nT1,a\n").unwrap();
        let error = Paper::read(dir.path()).unwrap_err().to_string();
        assert!(error.contains("paper_tables.csv") && error.contains("no column `subject`"), "{error}");
    }
}
