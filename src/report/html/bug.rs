//! The page of one unit: the buggy lines, the patches beside them, tokens with their probabilities, what was refused.

use maud::{Markup, html};
use similar::{ChangeTag, TextDiff};

use crate::record::Shown;
use crate::report::judgements::{Judgements, Opinion};
use crate::report::unit::{SampleLine, Unit};
use crate::validate::verdict::Outcome;

/// Patches that are shown with their diff.
const PATCHES: usize = 20;
/// Other samples that are shown with their tokens.
const SAMPLES: usize = 30;

/// The page of a unit, with links to the ones before and after it.
pub fn section(
    unit: &Unit,
    name: &str,
    [before, after]: [Option<String>; 2],
    judgements: &Judgements,
) -> Markup {
    let ranking = unit.ranking();
    let others: Vec<&SampleLine> =
        unit.samples.iter().filter(|line| unit.outcome(line.index) != Some(Outcome::Plausible)).collect();
    html! {
        section.unit id=(name) tabindex="-1" {
            nav aria-label="Bugs" {
                a href="#overview" { "Overview" }
                @if let Some(before) = before { a href={ "#" (before) } rel="prev" { "Previous" } }
                @if let Some(after) = after { a href={ "#" (after) } rel="next" { "Next" } }
            }
            h1 { (unit.bug) }
            p.lead { (place(unit)) }
            @if let Some(failure) = unit.failure() { p.warn { "This unit failed: " (failure) } }
            @if let Some(shown) = &unit.shown { h2 { "Buggy code" } (code(shown)) }
            h2 { "Plausible patches" }
            @if ranking.is_empty() { p { "None of " (unit.samples.len()) " new texts." } }
            @for (rank, line) in (1..).zip(ranking.iter().take(PATCHES)) {
                article {
                    h3 { (rank) ". sample " (line.index) " " (opinion(judgements.of(&unit.bug, &line.fill))) }
                    (measures(unit, line))
                    (diff(unit, line))
                    (tokens(line))
                }
            }
            @if ranking.len() > PATCHES { p.note { (ranking.len() - PATCHES) " further ones are in the run directory." } }
            @if !others.is_empty() {
                details {
                    summary { "Samples that are not plausible (" (others.len()) ")" }
                    @for line in others.iter().take(SAMPLES) {
                        article {
                            h3 { "Sample " (line.index) ": " (outcome(unit.outcome(line.index))) }
                            (tokens(line))
                        }
                    }
                    @if others.len() > SAMPLES { p.note { "The first " (SAMPLES) " are shown." } }
                }
            }
            (refusals(unit))
            @if let Some(shown) = &unit.shown { (chunks(shown)) }
            p.note { "Run directory: " code { (unit.run.display()) } }
        }
    }
}

fn place(unit: &Unit) -> Markup {
    let inputs = &unit.manifest["inputs"];
    let tests: Vec<&str> =
        inputs["tests"].as_array().into_iter().flatten().filter_map(|test| test.as_str()).collect();
    html! {
        @if let Some(file) = inputs["file"].as_str() { code { (file) } " · " }
        (unit.variant) " · seed " (unit.seed)
        @if !tests.is_empty() { " · fails: " code { (tests.join(", ")) } }
    }
}

fn opinion(opinion: Option<Opinion>) -> Markup {
    html! { @match opinion {
        Some(Opinion::Correct) => span.tag.good { "judged correct" },
        Some(Opinion::Wrong) => span.tag.bad { "judged wrong" },
        Some(Opinion::Unsure) => span.tag { "judged unsure" },
        None => span.tag { "not judged" },
    } }
}

fn outcome(outcome: Option<Outcome>) -> String {
    match outcome {
        None => "no verdict yet".to_owned(),
        Some(Outcome::Uncompilable) => "does not compile".to_owned(),
        Some(Outcome::Failed { stage }) => format!("fails at stage {stage:?}").to_lowercase(),
        Some(Outcome::Plausible) => "plausible".to_owned(),
    }
}

fn measures(unit: &Unit, line: &SampleLine) -> Markup {
    let stages = unit.verdicts.get(&line.index).map(|verdict| verdict.stages.as_slice()).unwrap_or_default();
    html! {
        p.note {
            "ln p " (format!("{:.2}", line.log_p)) ", " (line.tokens.len()) " tokens"
            @for stage in stages { " · " (format!("{:?}", stage.stage).to_lowercase()) " " (stage.millis) " ms" }
        }
    }
}

fn code(shown: &Shown) -> Markup {
    html! {
        pre.code tabindex="0" {
            (shown.before)
            @if shown.hole.is_empty() { mark.gap { "(lines are missing here)" } "\n" }
            @else { mark { (shown.hole) } }
            (shown.after)
        }
    }
}

/// Buggy and patched lines side by side; one above the other on a narrow screen.
fn diff(unit: &Unit, line: &SampleLine) -> Markup {
    let Some(shown) = &unit.shown else { return html! { pre.code tabindex="0" { (line.fill) } } };
    let fill = line.fill.strip_prefix('\n').unwrap_or(&line.fill);
    let fill = if line.fill.is_empty() { String::new() } else { format!("{fill}\n") };
    let old = format!("{}{}{}", shown.before, shown.hole, shown.after);
    let new = format!("{}{fill}{}", shown.before, shown.after);
    let first = shown.first_line;
    html! {
        div.diff role="group" aria-label="buggy and patched lines" tabindex="0" {
            @for (left, right) in rows(&old, &new) {
                div.row {
                    (side(left, first, "old"))
                    (side(right, first, "new"))
                }
            }
        }
    }
}

/// A line with its number, from 0, and whether it is changed.
type Side = Option<(usize, String, bool)>;

fn rows(old: &str, new: &str) -> Vec<(Side, Side)> {
    let diff = TextDiff::from_lines(old, new);
    let mut rows = Vec::new();
    let (mut gone, mut come) = (Vec::new(), Vec::new());
    for change in diff.iter_all_changes() {
        let text = change.value().trim_end_matches('\n').to_owned();
        match (change.tag(), change.old_index(), change.new_index()) {
            (ChangeTag::Delete, Some(at), _) => gone.push((at, text, true)),
            (ChangeTag::Insert, _, Some(at)) => come.push((at, text, true)),
            (_, old, new) => {
                pair(&mut gone, &mut come, &mut rows);
                rows.push((old.map(|at| (at, text.clone(), false)), new.map(|at| (at, text, false))));
            }
        }
    }
    pair(&mut gone, &mut come, &mut rows);
    rows
}

/// Puts changed lines beside each other, as far as there are as many.
fn pair(
    gone: &mut Vec<(usize, String, bool)>,
    come: &mut Vec<(usize, String, bool)>,
    rows: &mut Vec<(Side, Side)>,
) {
    let n = gone.len().max(come.len());
    let (mut left, mut right) = (gone.drain(..), come.drain(..));
    rows.extend((0..n).map(|_| (left.next(), right.next())));
}

fn side(side: Side, first: usize, kind: &str) -> Markup {
    html! { @match side {
        None => div class={ "cell empty " (kind) } {},
        Some((at, text, changed)) => div class={ "cell " (kind) @if changed { " changed" } } {
            span.number { (first + at) }
            code { (text) }
        },
    } }
}

/// Tokens, the surer the paler.
fn tokens(line: &SampleLine) -> Markup {
    html! {
        p.tokens aria-label="tokens with their probabilities" {
            @for (text, log_p) in &line.tokens {
                @let p = log_p.exp();
                span class={ "p" (((1.0 - p) * 9.0).round().clamp(0.0, 9.0) as u8) } title=(format!("{:.1} %", 100.0 * p)) {
                    (text.replace('\n', "↵").replace('\t', "⇥"))
                }
            }
        }
    }
}

/// What the engine and the lexer refused, by reason.
fn refusals(unit: &Unit) -> Markup {
    let refused = unit.summary["search"]["refused"].as_object();
    html! { @if let Some(refused) = refused.filter(|refused| !refused.is_empty()) {
        h2 { "What was refused while the model wrote" }
        div.scroll tabindex="0" role="region" aria-label="Refusals" { table {
            thead { tr { th scope="col" { "reason" } th scope="col" { "continuations" } th scope="col" { "probability mass" } } }
            tbody { @for (reason, figures) in refused {
                tr {
                    td { (reason.replace('_', " ")) }
                    td.n { (figures[0]) }
                    td.n { (format!("{:.4}", figures[1].as_f64().unwrap_or(0.0))) }
                }
            } }
        } }
    } }
}

fn chunks(shown: &Shown) -> Markup {
    html! { @if !shown.chunks.is_empty() {
        details {
            summary { "Chunks of the project that the model saw (" (shown.chunks.len()) ")" }
            @for chunk in &shown.chunks {
                h3 { code { (chunk.citation) } }
                pre.code tabindex="0" { (chunk.text) }
            }
        }
    } }
}
