//! The chunks of a project's sources, held in memory and ranked for a query.
//!
//! Invariant: no line of an excluded hole is in any chunk. Nothing is read here.

use std::ops::Range;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::chunk::{self, Span};
use super::piece::Syntax;
use super::query::Query;
use super::rank::Lexical;

/// Budget of a chunk in non-whitespace characters. At equal budgets of prompt tokens 250 and 500 found most of the names
/// that fixes need (0.618 and 0.611 of them at 2,000 tokens; 1,000: 0.526), and 500 halves the number of chunks.
pub const CHUNK_SIZE: usize = 500;

/// A source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Path relative to the project, with `/`.
    pub path: String,
    /// Its text as decoded.
    pub text: String,
}

/// A hole, whose text must not be known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exclusion<'a> {
    /// Path of its file, spelt as in [`Source`].
    pub path: &'a str,
    /// Bytes of its text in the file.
    pub bytes: Range<usize>,
}

/// A part of a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Path of its file.
    pub path: Arc<str>,
    /// Its bytes in the file.
    pub bytes: Range<usize>,
    /// First and last line, counted from 1.
    pub lines: (usize, usize),
    /// Names of the classes and methods around it, outermost first.
    pub scopes: Vec<String>,
    /// Its text, a slice of the file.
    pub text: String,
    /// SHA-256 of the text.
    pub hash: [u8; 32],
    /// Whether it ends within a literal or comment that was too large for one chunk.
    pub torn: bool,
}

impl Chunk {
    /// `path:first-last`.
    pub fn citation(&self) -> String {
        format!("{}:{}-{}", self.path, self.lines.0, self.lines.1)
    }
}

/// A chunk that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit<'a> {
    /// The chunk.
    pub chunk: &'a Chunk,
    /// Its place among all chunks.
    pub place: usize,
    /// Its score for the query, above 0.
    pub score: f32,
    /// What each term of the query adds to the score: index of the term, amount.
    pub parts: Vec<(u32, f32)>,
}

/// A searchable set of chunks.
pub struct Index {
    chunks: Vec<Chunk>,
    lexical: Lexical,
}

impl Index {
    /// Chunks and indexes `sources`, without the lines of `holes`.
    pub fn build(sources: impl IntoIterator<Item = Source>, holes: &[Exclusion]) -> Self {
        let cut = |source| chunk_source(&source, holes, CHUNK_SIZE);
        Self::of_chunks(sources.into_iter().flat_map(cut).collect())
    }

    /// Indexes chunks that were cut before.
    pub fn of_chunks(chunks: Vec<Chunk>) -> Self {
        let texts: Vec<&str> = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
        let lexical = Lexical::new(&texts);
        Self { chunks, lexical }
    }

    /// All chunks in the order of the sources.
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// The `n` best chunks for `query`, best first.
    pub fn search(&self, query: &Query, n: usize) -> Vec<Hit<'_>> {
        let scored = self.lexical.search(query).into_iter().take(n);
        let hit = |scored: super::rank::Scored| Hit {
            chunk: &self.chunks[scored.document as usize],
            place: scored.document as usize,
            score: scored.score,
            parts: scored.parts,
        };
        scored.map(hit).collect()
    }
}

/// Cuts one file into chunks of at most `max` non-whitespace characters: along its syntax if there is a grammar for it, at
/// lines otherwise. Without holes the texts of the chunks are the file's.
pub fn chunk_source(source: &Source, holes: &[Exclusion], max: usize) -> Vec<Chunk> {
    let bytes = source.text.as_bytes();
    let syntax = Syntax::of(&source.path, bytes);
    let mut spans = syntax.spans(max);
    for hole in holes.iter().filter(|hole| hole.path == source.path) {
        let hole = whole_lines(&source.text, &hole.bytes);
        spans = spans.into_iter().flat_map(|span| without(span, &hole)).collect();
        spans.retain(|span| chunk::size(&bytes[span.bytes.clone()]) > 0);
    }
    let path: Arc<str> = source.path.as_str().into();
    let chunk = |span: Span| {
        let piece = syntax.piece(span);
        let text = &source.text[piece.bytes.clone()];
        Chunk {
            path: Arc::clone(&path),
            lines: piece.lines,
            scopes: piece.scopes,
            text: text.to_owned(),
            hash: Sha256::digest(text).into(),
            torn: piece.torn,
            bytes: piece.bytes,
        }
    };
    spans.into_iter().map(chunk).collect()
}

/// The lines that `hole` touches. The line break before a hole that begins with one ends a line outside it.
fn whole_lines(text: &str, hole: &Range<usize>) -> Range<usize> {
    let mut start = hole.start;
    if !hole.is_empty() {
        let inside = &text[hole.clone()];
        start += inside
            .strip_prefix("\r\n")
            .or(inside.strip_prefix('\n'))
            .map_or(0, |rest| inside.len() - rest.len());
    }
    let begins_line = |at: usize| at == 0 || text.as_bytes()[at - 1] == b'\n';
    let first = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    if begins_line(hole.end) {
        return first.min(hole.end)..hole.end;
    }
    first..text[hole.end..].find('\n').map_or(text.len(), |newline| hole.end + newline + 1)
}

/// What is left of a span on either side of `hole`.
fn without(span: Span, hole: &Range<usize>) -> Vec<Span> {
    let Range { start, end } = span.bytes;
    if hole.is_empty() || hole.end <= start || end <= hole.start {
        return vec![span];
    }
    let parts = [start..hole.start.max(start), hole.end.min(end)..end];
    parts.into_iter().filter(|part| !part.is_empty()).map(|bytes| Span { bytes, torn: span.torn }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.into(), text: text.into() }
    }

    /// Chunks a Java file whose hole stands between bars; `|` in `expected` stands between chunks.
    fn check(marked: &str, expected: &str) {
        let parts: Vec<&str> = marked.split('|').collect();
        let hole = Exclusion { path: "A.java", bytes: parts[0].len()..parts[0].len() + parts[1].len() };
        let chunks = chunk_source(&source("A.java", &parts.concat()), &[hole], 40);
        let texts: Vec<&str> = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
        assert_eq!(texts.join("|"), expected);
    }

    #[test]
    fn lines_of_the_hole_are_in_no_chunk() {
        check("class A {\n|  int a;\n|  int b;\n}\n", "class A {\n|  int b;\n}\n");
        check("class A {|\n  int a;|\n  int b;\n}\n", "class A {\n|  int b;\n}\n");
        check("class A {\r\n|  int a;|\r\n  int b;\r\n}\r\n", "class A {\r\n|  int b;\r\n}\r\n");
        check("class A {\n  int a = |1|;\n  int b;\n}\n", "class A {\n|  int b;\n}\n");
        check("class A {\n  int a;\n||  int b;\n}\n", "class A {\n  int a;\n  int b;\n}\n");
        check("|class A {\n  int a;\n}|", "");
    }

    #[test]
    fn another_files_hole_does_not_matter() {
        let hole = Exclusion { path: "B.java", bytes: 0..5 };
        assert_eq!(chunk_source(&source("A.java", "class A {}"), &[hole], 40)[0].text, "class A {}");
    }

    #[test]
    fn a_chunk_knows_its_place() {
        let text = "package a;\n\nclass A {\n  void m() {\n    first(1, 2, 3, 4);\n    second(1, 2, 3, 4);\n  }\n}\n";
        let chunks = chunk_source(&source("a/A.java", text), &[], 29);
        let shown: Vec<String> =
            chunks.iter().map(|chunk| format!("{} {}", chunk.citation(), chunk.scopes.join("."))).collect();
        assert_eq!(shown, ["a/A.java:1-3 ", "a/A.java:4-5 A.m", "a/A.java:6-8 A"]);
        assert_eq!(chunks.iter().map(|chunk| chunk.text.as_str()).collect::<String>(), text);
        assert!(chunks.iter().all(|chunk| text[chunk.bytes.clone()] == chunk.text));
        assert_eq!(chunks[1].hash, <[u8; 32]>::from(Sha256::digest(&chunks[1].text)));
    }

    #[test]
    fn text_without_a_grammar_is_cut_at_lines() {
        let chunks = chunk_source(&source("notes.txt", "one line\ntwo line\nthree line\n"), &[], 14);
        assert_eq!(
            chunks.iter().map(Chunk::citation).collect::<Vec<_>>(),
            ["notes.txt:1-2", "notes.txt:3-3"]
        );
    }

    #[test]
    fn the_best_chunk_comes_first_with_its_citation() {
        let files = [
            "class A { void sendMail() {} }\n",
            "class B { int port; }\n",
            "class C { Mail mail; int port; }\n",
        ];
        let sources = files.iter().enumerate().map(|(n, text)| source(&format!("{n}.java"), text));
        let index = Index::build(sources, &[]);
        let hits = index.search(&Query::from_words("mail port"), 2);
        assert_eq!(
            hits.iter().map(|hit| hit.chunk.citation()).collect::<Vec<_>>(),
            ["2.java:1-1", "1.java:1-1"]
        );
        assert!(hits[0].score > hits[1].score);
    }
}
