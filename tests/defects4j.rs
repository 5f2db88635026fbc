//! Real bugs of Defects4J, where `DEFECTS4J_HOME` says where it is; without it each test says that it was skipped.
//!
//! The long test takes `REPAIR_BUGS`, names of bugs separated by spaces, and `REPAIR_CHECKOUTS`, a directory of checkouts
//! by name; those that are not there are made.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use repair::bug::BugId;
use repair::bug::change::{Change, Kind};
use repair::campaign::subject::{self, CheckoutPlace, Subject};
use repair::cloze::Cloze;
use repair::cloze::template::{TemplateKind, paper_quotas, paper_templates};
use repair::config::flags::{BenchmarkFlags, Flags};
use repair::config::{self, Config, Environment};
use repair::defects4j::Framework;
use repair::defects4j::sets::{PaperSet, sets_of};
use repair::java::project::Project;
use repair::process::Interrupt;
use repair::programs::{HUMANEVAL, Programs, QUIXBUGS};
use repair::text::Source;
use repair::validate::sandbox::Sandbox;
use repair::validate::{Candidate, Validator};

#[path = "defects4j/gold.rs"]
mod gold;

fn framework() -> Option<Framework> {
    let place = config::defects4j(&BenchmarkFlags::default(), &Environment::read());
    let home = place.home.filter(|home| home.join("framework/projects").is_dir());
    if home.is_none() {
        eprintln!("skipped: DEFECTS4J_HOME names no Defects4J");
    }
    home.map(|home| Framework::open(&home).unwrap())
}

#[test]
fn every_active_bug_is_read_and_counted_as_it_was() {
    let Some(framework) = framework() else { return };
    if framework.version().as_deref() != Some("3.0.1") {
        eprintln!("skipped: the figures are those of release 3.0.1");
        return;
    }
    let (mut kinds, mut sets, mut projects) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let bugs = framework.bugs().unwrap();
    for bug in &bugs {
        let changes = framework.changes(bug).unwrap();
        assert!(!changes.runs.is_empty(), "{bug}");
        assert!(!framework.triggers(bug).unwrap().is_empty(), "{bug}");
        if let ([run], []) = (changes.runs.as_slice(), changes.whole_files.as_slice()) {
            *kinds.entry(run.kind().to_string()).or_insert(0) += 1;
            *projects.entry(bug.project.clone()).or_insert(0) += 1;
        }
        for set in sets_of(bug, &changes) {
            *sets.entry(set).or_insert(0) += 1;
        }
    }
    assert_eq!(bugs.len(), 854);
    assert_eq!(
        kinds,
        BTreeMap::from([("delete", 10), ("insert", 91), ("replace", 200)].map(|(k, n)| (k.to_owned(), n)))
    );
    assert_eq!(["Closure", "Jsoup", "Math", "Chart", "Mockito"].map(|p| projects[p]), [61, 42, 36, 13, 13]);
    // The paper has 138 of 1.2; Lang-25 was taken out since.
    let paper = [(PaperSet::SingleHunk12, 137), (PaperSet::SingleHunk20, 135), (PaperSet::SingleLine20, 76)];
    assert_eq!(sets, BTreeMap::from(paper));
}

/// What the test needs of the settings.
fn config(root: &Path) -> Config {
    #[derive(clap::Parser)]
    struct Words {
        #[command(flatten)]
        flags: Flags,
    }
    let words = <Words as clap::Parser>::parse_from(["repair", "--bug", "P-1"]);
    config::resolve(&words.flags, &Environment::read(), root).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the bugs of a long test are named by the environment alone")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// One line of the report.
struct Row {
    hunk: String,
    replay: String,
    baseline: String,
    verdict: String,
}

#[test]
#[ignore = "minutes for each bug: set DEFECTS4J_HOME, REPAIR_BUGS and REPAIR_CHECKOUTS"]
fn the_human_patch_is_accepted_and_plausible() {
    let Some(framework) = framework() else { return };
    let names = variable("REPAIR_BUGS").expect("REPAIR_BUGS names bugs");
    let checkouts = PathBuf::from(variable("REPAIR_CHECKOUTS").expect("REPAIR_CHECKOUTS names a directory"));
    let mut n_wrong = 0;
    println!("| bug | hunk | replay | baseline | human patch |\n|---|---|---|---|---|");
    for name in names.split_whitespace() {
        let bug: BugId = name.parse().unwrap();
        let row = check(&framework, &bug, &checkouts).unwrap_or_else(|error| Row {
            hunk: "-".to_owned(),
            replay: "-".to_owned(),
            baseline: format!("ERROR {}", error.to_string().lines().next().unwrap_or_default()),
            verdict: "-".to_owned(),
        });
        println!("| {bug} | {} | {} | {} | {} |", row.hunk, row.replay, row.baseline, row.verdict);
        n_wrong += usize::from(!row.replay.starts_with("accepted") || !row.verdict.starts_with("plausible"));
    }
    assert_eq!(n_wrong, 0, "bugs whose human patch was not accepted or not plausible");
}

fn check(framework: &Framework, bug: &BugId, checkouts: &Path) -> anyhow::Result<Row> {
    let interrupt = Interrupt::default();
    let place = CheckoutPlace {
        dir: checkouts.join(bug.to_string()),
        generated: checkouts.join(format!("{bug}.generated")),
    };
    let subject = subject::of_defects4j(framework, &framework.command(), bug, &place, &interrupt)?;
    let config = config(&subject.root);
    let scratch = tempfile::tempdir()?;
    let project =
        subject::inspect(&subject.root, Some(&subject.benchmark), &config, scratch.path(), &interrupt)?;
    let changes = framework.changes(bug)?.runs;
    let clozes = clozes(&subject, &project)?;
    let kinds: Vec<String> = changes.iter().map(|change: &Change| change.kind().to_string()).collect();
    let hunks: Vec<String> = subject.hunks.iter().map(|hunk| hunk.lines.to_string()).collect();
    let mut row = Row {
        hunk: format!("{} {}", kinds.join(" "), hunks.join(" ")),
        replay: "several hunks".to_owned(),
        baseline: "-".to_owned(),
        verdict: "-".to_owned(),
    };
    if let [cloze] = clozes.as_slice() {
        let file = subject.root.join(&subject.hunks[0].file);
        row.replay =
            gold::replay(&project, &file, cloze, &answer(cloze, &changes[0]), &config.parts, scratch.path());
    }
    let sandbox = Sandbox::detect(config.parts.bwrap.as_deref(), &interrupt)?.0;
    let settings = subject::validate_settings(
        Some(&subject.benchmark),
        &config.parts,
        scratch.path().join("v"),
        sandbox,
    );
    let mut validator = Validator::new(&project, settings, interrupt);
    let baseline = match validator.baseline(&subject.triggers()) {
        Ok(baseline) => baseline,
        Err(error) => {
            row.baseline =
                format!("ERROR {}", error.to_string().lines().take(4).collect::<Vec<_>>().join(" "));
            return Ok(row);
        }
    };
    let as_recorded = subject.benchmark.require_recorded(&baseline);
    row.baseline = format!(
        "{}, {} tests, {} fail anyway, {} + {} + {} ms",
        as_recorded.map_or_else(|error| error.to_string(), |()| "as recorded".to_owned()),
        baseline.suite_records.len(),
        baseline.known_failures.len(),
        baseline.millis.compile,
        baseline.millis.trigger,
        baseline.millis.full
    );
    if let [cloze] = clozes.as_slice() {
        let candidate =
            Candidate { file: subject.hunks[0].file.clone(), text: cloze.fill(&answer(cloze, &changes[0]))? };
        let verdict = validator.validate(&candidate)?;
        let last = verdict.stages.last().unwrap();
        let failed: Vec<String> =
            last.failed.iter().take(3).map(|failure| failure.test.to_string()).collect();
        let tail = if last.tests_run == 0 { last.output_tail.lines().next().unwrap_or_default() } else { "" };
        row.verdict = format!("{:?} {} {tail}", verdict.outcome, failed.join(" ")).to_lowercase();
        row.verdict.truncate(300);
    }
    Ok(row)
}

fn clozes(subject: &Subject, project: &Project) -> anyhow::Result<Vec<Cloze>> {
    let of_hunk = |hunk: &repair::bug::Hunk| {
        let bytes = std::fs::read(subject.root.join(&hunk.file))?;
        Ok(Cloze::new(Source::new(bytes, &project.encoding)?, hunk.lines)?)
    };
    subject.hunks.iter().map(of_hunk).collect()
}

/// `REPAIR_TEMPLATE_COUNTS`: columns bug, set, tokens, conditions, arguments, several, callees, templates, each, rest;
/// `REPAIR_TOKENIZER`: a directory with the vocabulary and the merges of CodeT5.
#[test]
fn templates_are_as_many_as_the_paper_has() {
    let Some(framework) = framework() else { return };
    let (Some(counts), Some(tokenizer)) = (variable("REPAIR_TEMPLATE_COUNTS"), variable("REPAIR_TOKENIZER"))
    else {
        eprintln!("skipped: REPAIR_TEMPLATE_COUNTS and REPAIR_TOKENIZER are not set");
        return;
    };
    let file = |name: &str| Path::new(&tokenizer).join(name).to_string_lossy().into_owned();
    let bpe =
        tokenizers::models::bpe::BPE::from_file(&file("vocab.json"), &file("merges.txt")).build().unwrap();
    let mut tokenizer = tokenizers::Tokenizer::new(bpe);
    tokenizer.with_pre_tokenizer(Some(
        tokenizers::pre_tokenizers::byte_level::ByteLevel::default().add_prefix_space(false),
    ));
    let (mut n, mut differing) = (0, Vec::new());
    for line in std::fs::read_to_string(counts).unwrap().lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let expected: Vec<usize> = fields[2..].iter().map(|field| field.parse().unwrap()).collect();
        let bug: BugId = fields[0].parse().unwrap();
        if framework.require(&bug).is_err() {
            eprintln!("{bug} is no longer active");
            continue;
        }
        let found = template_counts(&framework, &bug, &tokenizer);
        n += 1;
        if found != expected {
            differing.push(format!("{bug}: {found:?}, the paper has {expected:?}"));
        }
    }
    eprintln!("{n} bugs, {} differ: {differing:#?}", differing.len());
    assert!(differing.is_empty());
}

/// Kinds that the table counts, in its order.
const COUNTED: [TemplateKind; 4] =
    [TemplateKind::Condition, TemplateKind::Arguments, TemplateKind::SeveralArguments, TemplateKind::Callee];

/// The columns of the paper's table for one bug.
fn template_counts(framework: &Framework, bug: &BugId, tokenizer: &tokenizers::Tokenizer) -> Vec<usize> {
    // Of two runs the line between them is an empty one.
    let runs: Vec<String> = framework.changes(bug).unwrap().runs.iter().map(buggy_text).collect();
    let buggy = runs.join("\n\n");
    let buggy = buggy.trim_start();
    let encoding = tokenizer.encode(buggy, false).unwrap();
    let offsets = encoding.get_offsets();
    let tokens: Vec<String> = offsets.iter().map(|&(start, end)| buggy[start..end].to_owned()).collect();
    let templates = paper_templates(buggy, &tokens);
    let of = |kind| templates.iter().filter(|template| template.kind == kind).count();
    let quotas = paper_quotas(templates.len(), 5000);
    let kinds = COUNTED.map(of);
    [&[tokens.len()][..], &kinds, &[templates.len() - 1, quotas[0], quotas[templates.len() - 1]]].concat()
}

fn buggy_text(change: &Change) -> String {
    let text = String::from_utf8_lossy(&change.buggy.concat()).replace("\r\n", "\n");
    text.strip_suffix('\n').unwrap_or(&text).to_owned()
}

/// `REPAIR_PROGRAMS`: bugs, or a collection; its directory by `QUIXBUGS_HOME` or `HUMANEVAL_HOME`.
#[test]
#[ignore = "seconds for each program: set REPAIR_PROGRAMS and the collection's directory"]
fn programs_fail_as_buggy_and_pass_as_correct() {
    let name = variable("REPAIR_PROGRAMS").expect("REPAIR_PROGRAMS names a collection");
    let (flags, environment) = (BenchmarkFlags::default(), Environment::read());
    let programs = if name == QUIXBUGS.name {
        Programs::open(QUIXBUGS, &config::quixbugs(&flags, &environment).unwrap()).unwrap()
    } else {
        Programs::open(HUMANEVAL, &config::humaneval(&flags, &environment).unwrap()).unwrap()
    };
    let (mut n_right, bugs) = (0, programs.bugs().unwrap());
    for bug in &bugs {
        let result = check_program(&programs, bug).unwrap_or_else(|error| format!("ERROR {error}"));
        println!("{bug}: {}", result.lines().take(3).collect::<Vec<_>>().join(" "));
        n_right += usize::from(result == "Plausible");
    }
    println!("{n_right} of {} programs fail as buggy and pass as correct", bugs.len());
    assert!(n_right + 3 >= bugs.len());
}

fn check_program(programs: &Programs, bug: &BugId) -> anyhow::Result<String> {
    let (scratch, interrupt) = (tempfile::tempdir()?, Interrupt::default());
    let place =
        CheckoutPlace { dir: scratch.path().join("tree"), generated: scratch.path().join("generated") };
    let subject = subject::of_programs(programs, bug, &place)?;
    let config = config(&subject.root);
    let project =
        subject::inspect(&subject.root, Some(&subject.benchmark), &config, scratch.path(), &interrupt)?;
    let sandbox = Sandbox::detect(config.parts.bwrap.as_deref(), &interrupt)?.0;
    let settings = subject::validate_settings(
        Some(&subject.benchmark),
        &config.parts,
        scratch.path().join("v"),
        sandbox,
    );
    let mut validator = Validator::new(&project, settings, interrupt);
    validator.baseline(&subject.triggers())?;
    let verdict = validator.validate(&Candidate { file: programs.file(bug), text: programs.fixed(bug)? })?;
    Ok(format!("{:?}", verdict.outcome))
}

/// The human fix as a fill of the hole.
fn answer(cloze: &Cloze, change: &Change) -> String {
    if change.kind() == Kind::Delete {
        return String::new();
    }
    let source = Source::new(change.fixed.concat(), cloze.source().encoding()).unwrap();
    let text = source.text(0..source.bytes().len());
    let text = text.strip_suffix('\n').unwrap_or(&text);
    if cloze.leads_with_newline() { format!("\n{text}") } else { text.to_owned() }
}
