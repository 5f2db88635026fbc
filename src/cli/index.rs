//! `repair index DIR` and `repair search QUERY`: an index that outlives the process.

use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::path::Path;

use serde_json::{Value, json};

use crate::cli::Exit;
use crate::cli::repair::absolute;
use crate::cloze::OutOfRange;
use crate::config::flags::{Format, IndexFlags, SearchFlags, StoreFlags, Switch};
use crate::config::{self, ConfigError, Environment};
use crate::console::Console;
use crate::model::Embedder;
use crate::retrieval::{Embedded, Found, Query, Snapshot, Store, embed_missing, read, refresh, search};

/// Chunks between two notes of progress.
const NOTE_EVERY: usize = 1024;
/// Chunks asked for beyond those wanted, since some may hold the hole.
const SPARE: usize = 16;
/// Lines on either side of a hole whose meaning is searched for, too.
const AROUND: usize = 5;

/// Brings the index of a directory up to date.
pub fn index(
    flags: &IndexFlags,
    environment: &Environment,
    here: Option<&Path>,
    console: &Console,
) -> anyhow::Result<Exit> {
    if flags.max_size == 0 {
        let (name, allowed) = ("--max-size", "at least 1");
        return Err(ConfigError::Range { name, value: "0".to_owned(), allowed }.into());
    }
    let root = absolute(&flags.dir, here);
    let mut store = open(environment)?;
    let snapshot = snapshot(&flags.store, &root);
    let refreshed = refresh(store.as_mut(), &snapshot, &root, flags.max_size)?;
    let embedded = if flags.store.dense == Switch::On {
        let embedder = embedder(&flags.store, environment)?;
        let mut embed = |texts: &[&str]| embedder.embed(texts).map_err(Into::into);
        let mut progress = |done: usize, of: usize| {
            if done.is_multiple_of(NOTE_EVERY) {
                console.note(&format!("{done} of {of} chunks embedded"));
            }
        };
        embed_missing(store.as_mut(), &snapshot, embedder.sha256(), &mut embed, &mut progress)?
    } else {
        0
    };
    let chunks = store.chunks(&snapshot)?.len();
    console.data(&match flags.format {
        Format::Json => {
            let done = json!({
                "repository": snapshot.repository,
                "revision": snapshot.revision,
                "files": refreshed.files,
                "cut": refreshed.cut,
                "removed": refreshed.removed,
                "chunks": chunks,
                "embedded": embedded,
            });
            format!("{}\n", serde_json::to_string_pretty(&done)?)
        }
        Format::Text => format!(
            "{} files, {chunks} chunks: {} cut, {} removed, {embedded} embedded\n",
            refreshed.files, refreshed.cut, refreshed.removed
        ),
    });
    Ok(Exit::Success)
}

/// Searches an index.
pub fn find(
    flags: &SearchFlags,
    environment: &Environment,
    here: Option<&Path>,
    console: &Console,
) -> anyhow::Result<Exit> {
    let root = absolute(&flags.project, here);
    let mut store = open(environment)?;
    let snapshot = snapshot(&flags.store, &root);
    let wanted = Wanted::of(flags, &root)?;
    let dense = match flags.store.dense {
        Switch::On => {
            let embedder = embedder(&flags.store, environment)?;
            let vector = embedder.embed(&[&wanted.text])?.swap_remove(0);
            Some((embedder.sha256().to_owned(), vector))
        }
        Switch::Off => None,
    };
    let dense = dense.as_ref().map(|(model, vector)| (model.as_str(), vector.as_slice()));
    let mut found = search(store.as_mut(), &snapshot, &wanted.query, dense, flags.n + SPARE)?;
    found.retain(|found| !wanted.holds_hole(found));
    found.truncate(flags.n);
    console.data(&match flags.format {
        Format::Json => {
            format!("{}\n", serde_json::to_string_pretty(&found.iter().map(as_json).collect::<Vec<_>>())?)
        }
        Format::Text => (1..).zip(&found).map(|(rank, found)| text(rank, found)).collect(),
    });
    Ok(Exit::Success)
}

/// What is searched for.
struct Wanted {
    query: Query,
    text: String,
    /// File and lines that nothing that is found may hold.
    hole: Option<(String, RangeInclusive<usize>)>,
}

impl Wanted {
    fn of(flags: &SearchFlags, root: &Path) -> anyhow::Result<Self> {
        let Some(location) = &flags.at else {
            let text = flags.query.clone().expect("clap requires a query or a place");
            return Ok(Self { query: Query::from_words(&text), text, hole: None });
        };
        let bytes = read(&root.join(&location.file))?;
        let file = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = file.split_inclusive('\n').collect();
        let (first, last) = (location.first, location.last);
        if last > lines.len() {
            return Err(OutOfRange { line: last, n_lines: lines.len() }.into());
        }
        let part = |from: usize, to: usize| lines[from..to].concat();
        let around = first.saturating_sub(1 + AROUND)..(last + AROUND).min(lines.len());
        let (before, after) = (part(0, first - 1), part(last, lines.len()));
        Ok(Self {
            query: Query::from_hole(&before, &part(first - 1, last), &after),
            text: part(around.start, around.end),
            hole: Some((slashed(&location.file), first..=last)),
        })
    }

    fn holds_hole(&self, found: &Found) -> bool {
        self.hole.as_ref().is_some_and(|(path, lines)| {
            let (first, last) = found.chunk.lines;
            *found.chunk.path == **path && first <= *lines.end() && *lines.start() <= last
        })
    }
}

fn slashed(path: &Path) -> String {
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn open(environment: &Environment) -> anyhow::Result<Box<dyn Store>> {
    Ok(Box::new(Embedded::new(config::index_dir(environment)?)))
}

/// What the flags say, or else the directory as it is.
fn snapshot(flags: &StoreFlags, root: &Path) -> Snapshot {
    Snapshot {
        repository: flags.repository.clone().unwrap_or_else(|| root.to_string_lossy().into_owned()),
        revision: flags.revision.clone(),
    }
}

fn embedder(flags: &StoreFlags, environment: &Environment) -> anyhow::Result<Embedder> {
    let dir = config::embedder_dir(Some(flags), environment)?;
    Ok(Embedder::load(&dir, None)?)
}

fn as_json(found: &Found) -> Value {
    let lexical = found.lexical.as_ref();
    json!({
        "citation": found.chunk.citation(),
        "score": found.score,
        "scopes": found.chunk.scopes,
        "lexical": lexical.map(|by| json!({ "rank": by.rank, "score": by.score, "terms": by.terms })),
        "dense": found.dense.map(|by| json!({ "rank": by.rank, "similarity": by.similarity })),
        "text": found.chunk.text,
    })
}

fn text(rank: usize, found: &Found) -> String {
    let mut out = format!("{rank:>3}. {}  {:.4}", found.chunk.citation(), found.score);
    if !found.chunk.scopes.is_empty() {
        out += "  in ";
        out += &found.chunk.scopes.join(".");
    }
    let mut why = Vec::new();
    if let Some(by) = &found.lexical {
        let terms: Vec<&str> = by.terms.iter().map(|(term, _)| term.as_str()).collect();
        why.push(format!("words: rank {}, {:.2} ({})", by.rank, by.score, terms.join(", ")));
    }
    if let Some(by) = &found.dense {
        why.push(format!("meaning: rank {}, {:.3}", by.rank, by.similarity));
    }
    writeln!(out, "\n     {}", why.join("; ")).expect("writing to memory does not fail");
    out
}
