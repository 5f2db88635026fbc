//! The instrument: real code through the oracle, token by token, as a model would write it.
//!
//! *Gold replay*: the text that stood in a hole is fed to it again; any refusal is a false prune, for the text compiles.
//! *Counter replay*: one of its names is replaced by one that does not exist, or by another one that does; it should be
//! refused, the sooner the better. Nothing here decides anything: the oracle is the one that repairs use.

mod counter;
mod feed;
mod figures;

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cloze::Cloze;
use crate::decode::oracle::{Guidance, Oracle};
use crate::decode::partial::Refusal;
use crate::engine::{Check, CompletionEngine, EngineError, HolePlace, JdtEngine};
use crate::java::holes::{CodeHole, HoleKind, chance, holes};
use crate::java::project::Project;
use crate::text::{Source, TextError};

pub use counter::{Caught, Swapped, WrongFill};
use feed::Written;
pub use feed::{Fed, Spelling, feed};
pub use figures::{Asked, Figures, Sums};

/// What ends a replay without a result.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The engine cannot go on.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A source cannot be read as text.
    #[error("cannot read `{}` as text", .path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: TextError,
    },
}

/// What is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplaySettings {
    /// Holes in all, evenly over their kinds.
    pub holes: usize,
    /// Decides which.
    pub seed: u64,
    /// Whether wrong names are fed, too.
    pub counter: bool,
}

/// A refusal of code that compiles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FalsePrune {
    /// Below the project's root.
    pub file: PathBuf,
    /// 1-based line on which the hole begins.
    pub line: usize,
    /// What the hole takes out.
    pub kind: HoleKind,
    /// Why it was refused.
    pub refusal: Refusal,
    /// What had been accepted.
    pub accepted: String,
    /// The token that was refused.
    pub token: String,
    /// The list, or what else was known there.
    pub evidence: String,
}

/// One hole that was chosen.
struct Chosen {
    file: PathBuf,
    hole: CodeHole,
    order: u64,
}

/// Replays holes of a project in each spelling. `progress` is told the holes done and false prunes so far; it stops the replay by `true`.
pub fn replay(
    engine: &mut JdtEngine,
    project: &Project,
    spellings: &[Spelling],
    settings: ReplaySettings,
    progress: &mut dyn FnMut(&Figures) -> bool,
) -> Result<Figures, ReplayError> {
    let mut figures = Figures::default();
    let mut chosen = choose(project, settings)?;
    // One file's holes together: its text is read once.
    chosen.sort_by(|a, b| a.file.cmp(&b.file).then(a.order.cmp(&b.order)));
    for file in chosen.chunk_by(|a, b| a.file == b.file) {
        let text = read(project, &file[0].file)?;
        for Chosen { file, hole, order } in file {
            let one = OneHole { project, file, text: &text, hole, settings, order: *order };
            one.replay(engine, spellings, &mut figures)?;
            if progress(&figures) {
                return Ok(figures);
            }
        }
    }
    Ok(figures)
}

/// The first holes of each kind in an order that the seed decides.
fn choose(project: &Project, settings: ReplaySettings) -> Result<Vec<Chosen>, ReplayError> {
    let mut all: Vec<Chosen> = Vec::new();
    for (number, file) in sources(project).into_iter().enumerate() {
        let salt = chance(settings.seed, number as u64);
        for hole in holes(&read(project, &file)?, salt) {
            let order = chance(salt, hole.range.start as u64 * 4 + hole.kind as u64);
            all.push(Chosen { file: file.clone(), hole, order });
        }
    }
    all.sort_by_key(|chosen| chosen.order);
    let kinds = [HoleKind::Expression, HoleKind::Statement, HoleKind::Lines, HoleKind::Part];
    let mut left = kinds.map(|_| settings.holes.div_ceil(kinds.len()));
    all.retain(|chosen| {
        let left = &mut left[chosen.hole.kind as usize];
        let wanted = *left > 0;
        *left = left.saturating_sub(1);
        wanted
    });
    all.truncate(settings.holes);
    Ok(all)
}

/// Main sources that are compiled, in order.
fn sources(project: &Project) -> Vec<PathBuf> {
    let files = project.sources.iter().flat_map(|root| walkdir::WalkDir::new(root).sort_by_file_name());
    let files = files.into_iter().filter_map(Result::ok).map(walkdir::DirEntry::into_path);
    files
        .filter(|path| path.extension().is_some_and(|extension| extension == "java"))
        .filter(|path| !project.excluded.contains(path))
        .collect()
}

/// A file's text with `\n` line ends. What cannot be read has no holes.
fn read(project: &Project, path: &Path) -> Result<String, ReplayError> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let source = Source::new(bytes, &project.encoding);
    let source = source.map_err(|source| ReplayError::Text { path: path.to_owned(), source })?;
    Ok(source.text(0..source.bytes().len()))
}

struct OneHole<'a> {
    project: &'a Project,
    file: &'a Path,
    text: &'a str,
    hole: &'a CodeHole,
    settings: ReplaySettings,
    order: u64,
}

impl OneHole<'_> {
    fn replay(
        &self,
        engine: &mut JdtEngine,
        spellings: &[Spelling],
        figures: &mut Figures,
    ) -> Result<(), ReplayError> {
        let source = Source::new(self.text.into(), "UTF-8")
            .map_err(|source| ReplayError::Text { path: self.file.to_owned(), source })?;
        let cloze = Cloze::within(source, self.hole.range.clone());
        engine.open(self.file, &cloze.prefix, &cloze.original, &cloze.suffix)?;
        figures.holes.entry(self.hole.kind).or_default().add(engine.place() == HolePlace::Body);
        let before = engine.counters();
        let mut oracle = Oracle::new(engine, Guidance::FULL, &cloze).explaining();
        let mut accepted = Vec::new();
        for spelling in spellings {
            if self.replay_spelt(&mut oracle, spelling, &cloze, figures) {
                accepted.push(spelling);
            }
        }
        figures.add_questions(&before, &engine.counters());
        if self.settings.counter && engine.place() == HolePlace::Body {
            for spelling in accepted {
                self.counter(engine, spelling, &cloze, figures);
            }
        }
        Ok(())
    }

    /// Whether the text was accepted. The oracle keeps its lists, as it does for the samples of a repair.
    fn replay_spelt(
        &self,
        oracle: &mut Oracle,
        spelling: &Spelling,
        cloze: &Cloze,
        figures: &mut Figures,
    ) -> bool {
        let Some(written) = Written::new(spelling, cloze, &cloze.original) else {
            figures.skipped += 1;
            return false;
        };
        let (before, questions) = (oracle.n_lists_asked(), oracle.questions());
        let fed = feed(oracle, &written, &mut |oracle, time| figures.decision(oracle, time));
        let line = cloze.prefix.matches('\n').count() + 1;
        let lists = oracle.n_lists_asked() - before;
        let checks = oracle.questions() - questions - lists;
        let asked = Asked { tokens: written.tokens.len() as u64, lists, checks };
        let hole = format!("{}:{line} {:?}", self.file.display(), cloze.original);
        figures.fed(oracle, asked, before == 0, &hole);
        let evidence = oracle.why().to_owned();
        let is_accepted = matches!(fed, Fed::Filled(_));
        if let Fed::Refused { refusal, token, accepted } = fed {
            figures.false_prunes.push(FalsePrune {
                file: self.file.strip_prefix(&self.project.root).unwrap_or(self.file).to_owned(),
                line,
                kind: self.hole.kind,
                refusal,
                accepted,
                token: written
                    .tokens
                    .get(token)
                    .map(|token| String::from_utf8_lossy(token).into_owned())
                    .unwrap_or_default(),
                evidence,
            });
        }
        is_accepted
    }

    /// Feeds the text with a name replaced, once for each way to replace it.
    fn counter(&self, engine: &mut JdtEngine, spelling: &Spelling, cloze: &Cloze, figures: &mut Figures) {
        for swap in counter::swaps(engine, cloze, self.order) {
            let Some(written) = Written::new(spelling, cloze, &swap.fill) else { continue };
            let compiles = engine.check(&swap.fill, false);
            let mut oracle = Oracle::new(engine, Guidance::FULL, cloze);
            let fed = feed(&mut oracle, &written, &mut |_, _| {});
            let caught = counter::judge(&swap, self.text, &written.tokens, &fed);
            let wrong = WrongFill {
                file: self.file.to_owned(),
                range: self.hole.range.clone(),
                fill: swap.fill.clone(),
                how: swap.how,
                caught,
            };
            figures.counter(wrong, &compiles);
            let is_wrong = matches!(&compiles, Check::Problems(problems) if !problems.is_empty());
            let unknown = oracle.words.unknown;
            let told = || {
                format!("{}: `{}` in {:?}, unknown: {unknown:?}", self.file.display(), swap.name, swap.fill)
            };
            match caught {
                Caught::Never if is_wrong => figures.missed.push(told()),
                Caught::AtOnce | Caught::Never => {}
                _ if swap.how == Swapped::Nonexistent => figures.late.push(told()),
                _ => {}
            }
        }
    }
}
