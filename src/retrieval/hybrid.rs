//! Search by words and by meaning: two rankings fused by reciprocal ranks (Cormack et al. 2009).

use std::collections::BTreeMap;

use super::index::{Chunk, Index};
use super::query::Query;
use super::store::{Digest, Snapshot, Store, StoreError};

/// The constant of the fusion, as its authors give it.
const K: f32 = 60.0;
/// Chunks of each ranking that are fused; more than anybody looks at.
const DEPTH: usize = 100;
/// Terms that a chunk is said to be found by.
const N_TERMS: usize = 5;

/// A chunk that was found, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The chunk.
    pub chunk: Chunk,
    /// Sum over both rankings of 1 / (60 + rank).
    pub score: f32,
    /// By its words.
    pub lexical: Option<Lexically>,
    /// By its meaning.
    pub dense: Option<Densely>,
}

/// How a chunk was found by its words.
#[derive(Debug, Clone, PartialEq)]
pub struct Lexically {
    /// Place among all, from 1.
    pub rank: usize,
    /// BM25.
    pub score: f32,
    /// The terms that add most to the score, with what they add.
    pub terms: Vec<(String, f32)>,
}

/// How a chunk was found by its meaning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Densely {
    /// Place among all, from 1.
    pub rank: usize,
    /// Cosine of the angle between the chunk's vector and the query's.
    pub similarity: f32,
}

/// The `n` best chunks of a snapshot for `query`; with the name of a model and its vector of the query by meaning, too.
/// Equal scores stand in the order of paths and places.
pub fn search(
    store: &mut dyn Store,
    snapshot: &Snapshot,
    query: &Query,
    dense: Option<(&str, &[f32])>,
    n: usize,
) -> Result<Vec<Found>, StoreError> {
    let nearest = match dense {
        Some((model, vector)) => store.nearest(snapshot, model, vector, DEPTH)?,
        None => Vec::new(),
    };
    let index = Index::of_chunks(store.chunks(snapshot)?);
    Ok(fuse(&index, query, &nearest, n))
}

fn fuse(index: &Index, query: &Query, nearest: &[(Digest, f32)], n: usize) -> Vec<Found> {
    let names: Vec<&str> = query.terms().map(|(term, _)| term).collect();
    let mut places: BTreeMap<usize, (Option<Lexically>, Option<Densely>)> = BTreeMap::new();
    for (rank, hit) in (1..).zip(index.search(query, DEPTH)) {
        let mut parts = hit.parts;
        parts.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let terms = parts.iter().take(N_TERMS);
        let terms = terms.map(|&(term, amount)| (names[term as usize].to_owned(), amount)).collect();
        places.entry(hit.place).or_default().0 = Some(Lexically { rank, score: hit.score, terms });
    }
    for (rank, (digest, similarity)) in (1..).zip(nearest) {
        let same = index.chunks().iter().enumerate().filter(|(_, chunk)| chunk.hash == *digest);
        for (place, _) in same {
            places.entry(place).or_default().1 = Some(Densely { rank, similarity: *similarity });
        }
    }
    let mut found: Vec<Found> = places
        .into_iter()
        .map(|(place, (lexical, dense))| {
            let ranks = [lexical.as_ref().map(|by| by.rank), dense.map(|by| by.rank)];
            let score = ranks.into_iter().flatten().map(|rank| 1.0 / (K + rank as f32)).sum();
            Found { chunk: index.chunks()[place].clone(), score, lexical, dense }
        })
        .collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    found.truncate(n);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieval::index::Source;

    /// Paths found in files of these words, of which some are near in meaning.
    fn check(files: &[&str], words: &str, near: &[usize], expected: &[usize]) -> Vec<Found> {
        let source = |(n, text): (usize, &&str)| Source { path: n.to_string(), text: (*text).to_owned() };
        let index = Index::build(files.iter().enumerate().map(source), &[]);
        let nearest: Vec<_> =
            near.iter().map(|&file| (index.chunks()[file].hash, 0.9 - file as f32 / 100.0)).collect();
        let found = fuse(&index, &Query::from_words(words), &nearest, 10);
        let paths: Vec<usize> = found.iter().map(|found| found.chunk.path.parse().unwrap()).collect();
        assert_eq!(paths, expected);
        found
    }

    const FILES: [&str; 4] = ["open file", "file", "shut door", "other"];

    #[test]
    fn what_both_rankings_know_comes_first() {
        let found = check(&FILES, "open file", &[2, 1], &[1, 0, 2]);
        assert_eq!((found[0].lexical.as_ref().unwrap().rank, found[0].dense.unwrap().rank), (2, 2));
        assert!((found[0].score - 2.0 / 62.0).abs() < 1e-7);
        assert!(found[2].lexical.is_none());
    }

    #[test]
    fn without_vectors_words_decide() {
        let found = check(&FILES, "open file", &[], &[0, 1]);
        let terms: Vec<&str> =
            found[0].lexical.as_ref().unwrap().terms.iter().map(|(term, _)| term.as_str()).collect();
        assert_eq!(terms, ["open", "file"]);
    }

    #[test]
    fn equal_texts_are_found_in_every_place() {
        check(&["a", "b", "a"], "x", &[0], &[0, 2]);
    }
}
