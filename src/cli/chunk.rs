//! `repair chunk PATH..`: files cut along their syntax.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli::Exit;
use crate::config::ConfigError;
use crate::config::flags::{ChunkFlags, Format};
use crate::console::Console;
use crate::digest::sha256;
use crate::retrieval::{self, Cut, Piece, SourcesError, cut, header, overlap, source_files};

/// One chunk as JSON shows it. Texts that are no UTF-8 are shown with replacement characters; `bytes` is exact.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<&'static str>,
    /// First byte and one past the last.
    bytes: [usize; 2],
    /// First and last line, counted from 1.
    lines: [usize; 2],
    scopes: &'a [String],
    size: usize,
    torn: bool,
    /// The file has syntax errors.
    has_errors: bool,
    sha256: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    header: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    before: String,
    text: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    after: String,
}

/// Cuts the files and prints their chunks, file by file.
pub fn run(flags: &ChunkFlags, here: Option<&Path>, console: &Console) -> anyhow::Result<Exit> {
    if flags.max_size == 0 {
        let (name, allowed) = ("--max-size", "at least 1");
        return Err(ConfigError::Range { name, value: "0".to_owned(), allowed }.into());
    }
    let mut printed = 0;
    for path in files(&flags.paths, here)? {
        let source = retrieval::read(&here.map_or_else(|| path.clone(), |here| here.join(&path)))?;
        let name = path.to_string_lossy();
        let cut = cut(&name, &source, flags.max_size);
        for piece in &cut.pieces {
            let shown = show(flags, &name, &source, &cut, piece);
            console.data(&match flags.format {
                Format::Text => text(&shown)?,
                Format::Json => {
                    let separator = if printed == 0 { "[\n" } else { ",\n" };
                    format!("{separator}{}", serde_json::to_string(&shown)?)
                }
            });
            printed += 1;
        }
    }
    if flags.format == Format::Json {
        console.data(if printed == 0 { "[]\n" } else { "\n]\n" });
    }
    Ok(Exit::Success)
}

/// The files that are named, and those below the directories that are, as the user would write them.
fn files(paths: &[PathBuf], here: Option<&Path>) -> Result<Vec<PathBuf>, SourcesError> {
    let mut files = Vec::new();
    for path in paths {
        let root = here.map_or_else(|| path.clone(), |here| here.join(path));
        if !root.is_dir() {
            files.push(path.clone());
            continue;
        }
        let below = source_files(&root)?;
        files.extend(below.iter().map(|file| path.join(file.strip_prefix(&root).unwrap_or(file))));
    }
    Ok(files)
}

fn show<'a>(flags: &ChunkFlags, path: &'a str, source: &[u8], cut: &Cut, piece: &'a Piece) -> Shown<'a> {
    let text = |bytes: std::ops::Range<usize>| String::from_utf8_lossy(&source[bytes]).into_owned();
    let (before, after) = overlap(source, &piece.bytes, flags.overlap);
    Shown {
        path,
        language: cut.language,
        bytes: [piece.bytes.start, piece.bytes.end],
        lines: [piece.lines.0, piece.lines.1],
        scopes: &piece.scopes,
        size: piece.size,
        torn: piece.torn,
        has_errors: cut.has_errors,
        sha256: sha256(&source[piece.bytes.clone()]),
        header: if flags.header { header(path, &piece.scopes) } else { String::new() },
        before: text(before),
        text: text(piece.bytes.clone()),
        after: text(after),
    }
}

fn text(shown: &Shown) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    write!(out, "--- {}:{}-{}  {}", shown.path, shown.lines[0], shown.lines[1], shown.size)?;
    if !shown.scopes.is_empty() {
        write!(out, "  in {}", shown.scopes.join("."))?;
    }
    writeln!(out, "{}", if shown.torn { "  torn" } else { "" })?;
    write!(out, "{}{}{}{}", shown.header, shown.before, shown.text, shown.after)?;
    if !out.ends_with('\n') {
        out.push('\n');
    }
    Ok(out)
}
