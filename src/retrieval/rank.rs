//! Lexical scores: BM25 over code terms, with a weight for each term of the query.

use bm25::{Embedder, EmbedderBuilder, Embedding, Scorer, TokenEmbedder, TokenEmbedding, Tokenizer};

use super::query::Query;
use super::terms::terms;

/// The crate's defaults and the literature's; varied in none of our measurements.
const K1: f32 = 1.2;
const B: f32 = 0.75;

struct CodeTerms;

impl Tokenizer for CodeTerms {
    fn tokenize(&self, text: &str) -> Vec<String> {
        terms(text)
    }
}

/// Scores of the documents that hold terms of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// Index of the document.
    pub document: u32,
    /// Sum of its parts.
    pub score: f32,
    /// What each term adds: index into the query's terms, amount above 0.
    pub parts: Vec<(u32, f32)>,
}

/// A BM25 index of documents, which are numbered in order. Terms are kept as 64-bit hashes.
pub struct Lexical {
    scorer: Scorer<u32, u64>,
}

impl Lexical {
    /// Indexes `documents`.
    pub fn new(documents: &[&str]) -> Self {
        let embedder: Embedder<u64, CodeTerms> =
            EmbedderBuilder::with_tokenizer_and_fit_to_corpus(CodeTerms, documents).k1(K1).b(B).build();
        let mut scorer = Scorer::new();
        for (document, text) in (0..).zip(documents) {
            let mut embedding = embedder.embed(text);
            // The crate repeats a term's (equal) entry for each occurrence and looks entries up one by one.
            embedding.0.sort_unstable_by_key(|term| term.index);
            embedding.0.dedup_by_key(|term| term.index);
            embedding.0.shrink_to_fit();
            scorer.upsert(&document, embedding);
        }
        Self { scorer }
    }

    /// All documents that hold a term of `query`, best first; equal scores in order of documents.
    pub fn search(&self, query: &Query) -> Vec<Scored> {
        let mut scored: std::collections::BTreeMap<u32, Scored> = std::collections::BTreeMap::new();
        for (part, (term, weight)) in (0..).zip(query.terms()) {
            // One term at a time: the crate does not weigh the terms of a query.
            let one = Embedding(vec![TokenEmbedding { index: u64::embed(term), value: 1.0 }]);
            for found in self.scorer.matches(&one) {
                let amount = weight * found.score;
                let document = found.id;
                let entry =
                    scored.entry(document).or_insert(Scored { document, score: 0.0, parts: Vec::new() });
                entry.score += amount;
                entry.parts.push((part, amount));
            }
        }
        let mut scored: Vec<Scored> = scored.into_values().collect();
        scored.sort_by(|a, b| b.score.total_cmp(&a.score));
        scored
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(documents: &[&str], query: &Query, expected: &[u32]) {
        let found: Vec<u32> =
            Lexical::new(documents).search(query).iter().map(|scored| scored.document).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn rare_terms_count_more_than_common_ones() {
        check(
            &["int count", "int count", "int token", "int x"],
            &Query::from_words("count token"),
            &[2, 0, 1],
        );
    }

    #[test]
    fn a_part_of_a_name_is_found() {
        check(&["other()", "readTokenStream()"], &Query::from_words("token_stream"), &[1]);
    }

    #[test]
    fn weights_of_the_query_decide() {
        let documents = ["alpha", "beta", "gamma"];
        check(&documents, &Query::from_hole("beta();\n", "alpha();", ""), &[0, 1]);
        check(&documents, &Query::from_hole("alpha();\n", "beta();", ""), &[1, 0]);
    }

    #[test]
    fn the_parts_sum_up_to_the_score() {
        let found = Lexical::new(&["a b a", "b c", "d"]).search(&Query::from_words("a b c"));
        for scored in &found {
            let sum: f32 = scored.parts.iter().map(|part| part.1).sum();
            assert!((sum - scored.score).abs() < 1e-6, "{scored:?}");
        }
        assert_eq!(found.len(), 2);
    }
}
