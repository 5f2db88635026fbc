//! Plots as inline SVG. Lines are told apart by colour and by dashes, and every plot has its figures as text.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use crate::report::Report;
use crate::report::unit::Unit;
use crate::validate::verdict::Outcome;

/// Of the drawing, in its own units.
const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 44.0;
const BOTTOM: f64 = 34.0;
const TOP: f64 = 26.0;
const RIGHT: f64 = 12.0;
/// Points of a line at most: more cannot be seen, and make the file large.
const POINTS: usize = 200;

/// A line of a plot.
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
    /// Whether it goes from point to point in steps.
    steps: bool,
}

/// Share of the first n new texts that compile, pooled over units.
pub fn compile_rates(units: &[Unit]) -> Markup {
    let lines = by_variant(units).into_iter().map(|(name, units)| {
        let longest = units.iter().map(|unit| unit.samples.len()).max().unwrap_or(0);
        let (mut of, mut compilable) = (0_u64, 0_u64);
        let mut points = Vec::new();
        for index in 1..=longest {
            for unit in units.iter().filter(|unit| unit.samples.len() >= index) {
                of += 1;
                let outcome = unit.outcome(index);
                compilable += u64::from(outcome.is_some_and(|outcome| outcome != Outcome::Uncompilable));
            }
            points.push((index as f64, 100.0 * compilable as f64 / of.max(1) as f64));
        }
        Line { name, points: thinned(points), steps: false }
    });
    plot(
        "Compile rate of the first samples",
        "new texts of each unit",
        "% that compile",
        &lines.collect::<Vec<_>>(),
        Some(100.0),
    )
}

/// Bugs with a plausible patch over the time of drawing, the first seed that has one counting.
pub fn plausible_bugs(units: &[Unit]) -> Markup {
    let lines = by_variant(units).into_iter().map(|(name, units)| {
        let mut firsts: BTreeMap<&str, f64> = BTreeMap::new();
        let mut longest: f64 = 0.0;
        for unit in units {
            longest = longest.max(unit.clock.last().map_or(0.0, |line| line.seconds));
            let first = unit.plausible().iter().map(|line| line.index).min();
            let spent = first.and_then(|first| unit.clock.iter().find(|line| line.index >= first));
            if let Some(spent) = spent {
                let known = firsts.entry(&unit.bug).or_insert(spent.seconds);
                *known = known.min(spent.seconds);
            }
        }
        let mut times: Vec<f64> = firsts.into_values().collect();
        times.sort_by(f64::total_cmp);
        let mut points = vec![(0.0, 0.0)];
        points.extend((1..).zip(&times).map(|(n, &time)| (time, f64::from(n))));
        points.push((longest, times.len() as f64));
        Line { name, points: thinned(points), steps: true }
    });
    plot(
        "Bugs with a plausible patch over time",
        "seconds of drawing for the bug",
        "bugs",
        &lines.collect::<Vec<_>>(),
        None,
    )
}

/// Where the time went, a bar for each variant.
pub fn times(report: &Report) -> Markup {
    let parts = ["drawing", "compiling", "tests"];
    let of = |figures: &crate::report::figures::VariantFigures| {
        let costs = &figures.costs;
        [costs.drawing_seconds, costs.compile_seconds, costs.test_seconds]
    };
    let longest = report.variants.iter().map(|figures| of(figures).iter().sum::<f64>()).fold(0.001, f64::max);
    html! {
        figure {
            figcaption { "Where the time went" }
            @for figures in &report.variants {
                @let seconds = of(figures);
                p.bar-name { (figures.variant) " – " (format!("{:.0} s", seconds.iter().sum::<f64>())) }
                div.bar role="img" aria-label=(parts.iter().zip(seconds).map(|(part, s)| format!("{part} {s:.1} s")).collect::<Vec<_>>().join(", ")) {
                    @for (at, seconds) in seconds.iter().enumerate() {
                        span class={ "part-" (at) } style={ "width:" (format!("{:.2}", 100.0 * seconds / longest)) "%" } {}
                    }
                }
            }
            ul.legend { @for (at, part) in parts.iter().enumerate() {
                li { span class={ "swatch part-" (at) } {} (part) }
            } }
        }
    }
}

fn by_variant(units: &[Unit]) -> BTreeMap<String, Vec<&Unit>> {
    let mut variants: BTreeMap<String, Vec<&Unit>> = BTreeMap::new();
    for unit in units {
        variants.entry(unit.variant.clone()).or_default().push(unit);
    }
    variants
}

/// Every k-th point and the last one.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let every = points.len().div_ceil(POINTS).max(1);
    let last = points.len().saturating_sub(1);
    points
        .into_iter()
        .enumerate()
        .filter(|(at, _)| at % every == 0 || *at == last)
        .map(|(_, point)| point)
        .collect()
}

fn plot(title: &str, across: &str, up: &str, lines: &[Line], top: Option<f64>) -> Markup {
    let points = || lines.iter().flat_map(|line| &line.points);
    let x_max = points().map(|point| point.0).fold(1.0, f64::max);
    let y_max = top.unwrap_or_else(|| points().map(|point| point.1).fold(1.0, f64::max).ceil());
    let x = |value: f64| LEFT + value / x_max * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - value / y_max * (HEIGHT - BOTTOM - TOP);
    let summary: Vec<String> = lines
        .iter()
        .filter_map(|line| {
            line.points.last().map(|last| format!("{}: {} at {}", line.name, short(last.1), short(last.0)))
        })
        .collect();
    html! {
        figure {
            figcaption { (title) }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label={ (title) ". " (summary.join("; ")) } {
                @for at in grid(y_max, if top.is_some() { 0.0 } else { 1.0 }) {
                    line.grid x1=(LEFT) x2=(WIDTH - RIGHT) y1=(short(y(at))) y2=(short(y(at))) {}
                    text x=(LEFT - 6.0) y=(short(y(at) + 4.0)) text-anchor="end" { (short(at)) }
                }
                @for at in grid(x_max, 0.0) {
                    text x=(short(x(at))) y=(HEIGHT - BOTTOM + 15.0) text-anchor="middle" { (short(at)) }
                }
                text x=(WIDTH - RIGHT) y=(HEIGHT - 4.0) text-anchor="end" { (across) }
                text x="4" y="12" { (up) }
                @for (at, line) in lines.iter().enumerate() {
                    polyline class={ "line line-" (at % 6) } points=(path(line, x, y)) {}
                }
            }
            ul.legend { @for (at, line) in lines.iter().enumerate() {
                li { svg.key viewBox="0 0 28 8" aria-hidden="true" { line class={ "line line-" (at % 6) } x1="0" x2="28" y1="4" y2="4" {} } (line.name) }
            } }
        }
    }
}

fn path(line: &Line, x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64) -> String {
    let mut path: Vec<String> = Vec::new();
    let mut before: Option<f64> = None;
    for &(across, up) in &line.points {
        if let Some(level) = before.filter(|_| line.steps) {
            path.push(format!("{:.1},{:.1}", x(across), y(level)));
        }
        path.push(format!("{:.1},{:.1}", x(across), y(up)));
        before = Some(up);
    }
    path.join(" ")
}

/// Round values from 0 to `max`, some five of them, each once and at least `least` apart.
fn grid(max: f64, least: f64) -> Vec<f64> {
    let raw = (max / 4.0).max(least);
    let power = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|unit| unit * power)
        .find(|&step| step >= raw)
        .unwrap_or(raw);
    let mut seen = BTreeSet::new();
    (0..=5).map(|n| f64::from(n) * step).filter(|&at| at <= max * 1.001 && seen.insert(short(at))).collect()
}

/// Without digits that say nothing.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_round_and_within_the_plot() {
        let shown =
            |max: f64, least: f64| grid(max, least).into_iter().map(short).collect::<Vec<_>>().join(" ");
        assert_eq!(shown(100.0, 0.0), "0 25 50 75 100");
        assert_eq!(shown(1.0, 0.0), "0 0.2 0.5 0.8 1");
        assert_eq!(shown(37.0, 0.0), "0 10 20 30");
        assert_eq!(shown(2.0, 1.0), "0 1 2");
    }

    #[test]
    fn a_long_line_is_thinned_and_keeps_its_end() {
        let points: Vec<(f64, f64)> = (0..5000).map(|n| (f64::from(n), 0.0)).collect();
        let thin = thinned(points);
        assert!(thin.len() <= POINTS + 1);
        assert_eq!(short(thin.last().unwrap().0), "4999");
    }
}
