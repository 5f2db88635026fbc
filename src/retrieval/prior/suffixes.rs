//! Counts of all n-grams of some token sequences by a suffix array: exact, any order up to a limit, eight bytes a token
//! beside the tokens themselves.

use std::ops::Range;

use crate::token::TokenId;

/// Longest context that can be looked up: n-grams of order 8.
pub const MAX_CONTEXT: usize = 7;
/// Stands after each sequence, so that no n-gram reaches from one into the next. No vocabulary is so large.
const END: TokenId = TokenId::MAX;

/// All suffixes in the order of their first [`MAX_CONTEXT`] + 1 tokens.
#[derive(Debug, Clone)]
pub struct Suffixes {
    ids: Vec<TokenId>,
    /// Starts of the suffixes.
    order: Vec<u32>,
    /// `sums[i]`: weight of the first `i` suffixes in order.
    sums: Vec<u32>,
}

/// What follows a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continuations {
    /// Each token once, in the order of the ids, with the weight of its occurrences.
    pub tokens: Vec<(TokenId, u32)>,
    /// Number of occurrences, unweighted.
    pub n: usize,
}

impl Suffixes {
    /// Sorts the suffixes of `sequences`, given with the weight of an occurrence in each.
    pub fn new<'a>(sequences: impl IntoIterator<Item = (&'a [TokenId], u32)>) -> Self {
        let (mut ids, mut weights) = (Vec::new(), Vec::new());
        for (sequence, weight) in sequences {
            ids.extend_from_slice(sequence);
            ids.push(END);
            weights.push((ids.len(), weight));
        }
        let mut order: Vec<u32> = (0..ids.len() as u32).filter(|&at| ids[at as usize] != END).collect();
        let key = |at: u32| &ids[at as usize..ids.len().min(at as usize + MAX_CONTEXT + 1)];
        order.sort_unstable_by(|&a, &b| key(a).cmp(key(b)).then(a.cmp(&b)));
        let mut sum = 0;
        let mut sums = Vec::with_capacity(order.len() + 1);
        sums.push(sum);
        for &at in &order {
            sum += weights[weights.partition_point(|&(end, _)| end <= at as usize)].1;
            sums.push(sum);
        }
        Self { ids, order, sums }
    }

    /// What follows each occurrence of `context`, which has at most [`MAX_CONTEXT`] tokens.
    pub fn after(&self, context: &[TokenId]) -> Continuations {
        let Range { mut start, end } = self.range(context);
        let mut found = Continuations { tokens: Vec::new(), n: 0 };
        while start < end {
            let token = self.next(start, context.len());
            let stop = self.run_end(start..end, context.len(), token);
            if token != END {
                found.tokens.push((token, self.sums[stop] - self.sums[start]));
                found.n += stop - start;
            }
            start = stop;
        }
        found
    }

    /// Whether any token follows `context` anywhere.
    pub fn knows(&self, context: &[TokenId]) -> bool {
        let range = self.range(context);
        // `END` is the greatest of all ids, so it stands last.
        !range.is_empty() && self.next(range.start, context.len()) != END
    }

    /// Where the suffixes that begin with `context` stand in the order.
    fn range(&self, context: &[TokenId]) -> Range<usize> {
        let start = self.order.partition_point(|&at| self.head(at, context.len()) < context);
        let length = self.order[start..].partition_point(|&at| self.head(at, context.len()) == context);
        start..start + length
    }

    /// End of the suffixes at the start of `range` that go on with `token`: strides that double, then a search in the
    /// last one.
    fn run_end(&self, range: Range<usize>, length: usize, token: TokenId) -> usize {
        let (mut low, mut stride) = (range.start, 1);
        while low + stride < range.end && self.next(low + stride, length) == token {
            low += stride;
            stride *= 2;
        }
        let high = range.end.min(low + stride);
        low + self.order[low..high].partition_point(|&at| self.ids[at as usize + length] == token)
    }

    fn next(&self, rank: usize, length: usize) -> TokenId {
        self.ids[self.order[rank] as usize + length]
    }

    fn head(&self, at: u32, length: usize) -> &[TokenId] {
        &self.ids[at as usize..self.ids.len().min(at as usize + length)]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Compares with counting by hand.
    fn check(sequences: &[(Vec<TokenId>, u32)], context: &[TokenId]) {
        let mut tokens = BTreeMap::new();
        let mut n = 0;
        for (sequence, weight) in sequences {
            for window in sequence.windows(context.len() + 1).filter(|window| window.starts_with(context)) {
                *tokens.entry(window[context.len()]).or_insert(0) += weight;
                n += 1;
            }
        }
        let suffixes = Suffixes::new(sequences.iter().map(|(sequence, weight)| (&sequence[..], *weight)));
        let expected = Continuations { tokens: tokens.into_iter().collect(), n };
        assert_eq!(suffixes.after(context), expected, "{sequences:?} {context:?}");
        assert_eq!(suffixes.knows(context), n > 0);
    }

    #[test]
    fn counts_are_exact_at_every_order() {
        let mut state = 1_u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        for length in 0..=MAX_CONTEXT {
            for _ in 0..60 {
                let sequences: Vec<(Vec<TokenId>, u32)> =
                    (0..3).map(|_| ((0..random(60)).map(|_| random(2)).collect(), 1 + random(8))).collect();
                let context: Vec<TokenId> = (0..length).map(|_| random(2)).collect();
                check(&sequences, &context);
            }
        }
    }

    #[test]
    fn no_count_reaches_from_one_sequence_into_the_next() {
        check(&[(vec![1, 2], 1), (vec![3, 4], 1)], &[2]);
        check(&[(vec![], 1), (vec![5], 1), (vec![], 1)], &[5]);
    }
}
