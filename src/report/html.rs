//! A report as one HTML file: an overview with plots, and a page for every bug.
//!
//! Nothing is loaded from anywhere and there is no script: pages are sections that their links show, so the file works
//! offline, by keyboard, on a phone, and in print. Light and dark follow the reader's system.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::Report;
use super::judgements::Judgements;
use super::table::Table;
use super::unit::Unit;

mod bug;
mod plot;

const STYLE: &str = include_str!("html/style.css");

/// The whole file.
pub fn page(report: &Report, units: &[Unit], judgements: &Judgements) -> String {
    let bugs = report.units.iter().map(|unit| unit.bug.as_str()).collect::<std::collections::BTreeSet<_>>();
    let title = format!("repair: {} bugs, {} units", bugs.len(), units.len());
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                // A browser asks for an icon otherwise.
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#overview" { "To the overview" }
                main {
                    @for (at, unit) in units.iter().enumerate() {
                        (bug::section(unit, &name(at), neighbours(at, units.len()), judgements))
                    }
                    (overview(report, units, &title))
                }
            }
        }
    };
    markup.into_string()
}

/// The name of a unit's page.
fn name(at: usize) -> String {
    format!("unit-{}", at + 1)
}

fn neighbours(at: usize, n: usize) -> [Option<String>; 2] {
    [at.checked_sub(1).map(name), (at + 1 < n).then(|| name(at + 1))]
}

fn overview(report: &Report, units: &[Unit], title: &str) -> Markup {
    html! {
        section #overview tabindex="-1" {
            h1 { (title) }
            p.lead {
                "A plausible patch compiles, mends the failing test and breaks no other. Whether it is correct is for a person to \
                 say; this report calls a patch correct only where somebody did."
            }
            div.tiles { @for figures in &report.variants {
                div.tile {
                    h2 { (figures.variant) }
                    p { b { (figures.plausible_bugs.len()) } " of " (figures.bugs) " bugs with a plausible patch" }
                    @if report.is_judged { p { b { (figures.correct_bugs.len()) } " with a correct one" } }
                    p { b { (percent(figures.all.unique.compile_rate())) } " of " (figures.all.unique.of) " new texts compile" }
                    @if figures.failed + figures.unfinished > 0 {
                        p.warn { (figures.failed) " units failed, " (figures.unfinished) " are not finished" }
                    }
                }
            } }
            div.plots {
                (plot::compile_rates(units))
                (plot::plausible_bugs(units))
                (plot::times(report))
            }
            (unit_table(report))
            @for table in report.tables() {
                @if table.name != "units" { (table_markup(&table)) }
            }
        }
    }
}

fn unit_table(report: &Report) -> Markup {
    html! {
        h2 { "Bugs" }
        div.scroll tabindex="0" role="region" aria-label="Bugs" { table {
            thead { tr {
                @for heading in ["bug", "variant", "seed", "state", "new texts", "compile", "plausible", "first", "drawing s"] {
                    th scope="col" { (heading) }
                }
            } }
            tbody { @for (at, unit) in report.units.iter().enumerate() {
                tr {
                    td { a href={ "#" (name(at)) } { (unit.bug) } }
                    td { (unit.variant) }
                    td.n { (unit.seed) }
                    td { @if unit.failure.is_some() { span.bad { "failed" } } @else { (unit.stop.as_deref().unwrap_or("open")) } }
                    td.n { (unit.all.unique.of) }
                    td.n { (percent(unit.all.unique.compile_rate())) }
                    td.n { @if unit.all.unique.plausible > 0 { b.good { (unit.all.unique.plausible) } } @else { "0" } }
                    td.n { (unit.first_plausible.map_or("–".to_owned(), |index| index.to_string())) }
                    td.n { (format!("{:.1}", unit.costs.drawing_seconds)) }
                }
            } }
        } }
    }
}

fn table_markup(table: &Table) -> Markup {
    html! {
        h2 { (table.title) }
        div.scroll tabindex="0" role="region" aria-label=(table.title) { table {
            thead { tr { @for heading in &table.columns { th scope="col" { (heading) } } } }
            tbody { @for row in &table.rows { tr {
                @for (at, cell) in row.iter().enumerate() {
                    td.n[at > 0 && cell.starts_with(|c: char| c.is_ascii_digit() || c == '-')] { (cell) }
                }
            } } }
        } }
        @if !table.note.is_empty() { p.note { (table.note) "." } }
    }
}

/// A share in percent; a dash of nothing.
fn percent(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), |share| format!("{:.1} %", 100.0 * share))
}
