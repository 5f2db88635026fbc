//! Distances by bucket: small ones each have their own, larger ones share, on a scale of logarithms.

/// Which keys a token sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::model) enum Direction {
    /// Those before it and those after it; half of the buckets each.
    Both,
    /// Those before it only.
    Past,
}

/// The buckets of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::model) struct Buckets {
    pub(in crate::model) number: usize,
    /// From here on all distances share the last bucket.
    pub(in crate::model) max_distance: usize,
}

impl Buckets {
    /// The bucket of a key at one position for a query at another.
    pub(super) fn of(self, query: u32, key: u32, way: Direction) -> u32 {
        let ahead = i64::from(key) - i64::from(query);
        let (number, first, distance) = match way {
            Direction::Past => (self.number as u32, 0, (-ahead).max(0)),
            Direction::Both => {
                let half = self.number as u32 / 2;
                (half, if ahead > 0 { half } else { 0 }, ahead.abs())
            }
        };
        first + self.within(number, distance as u32)
    }

    fn within(self, number: u32, distance: u32) -> u32 {
        let exact = number / 2;
        if distance < exact {
            return distance;
        }
        // In single precision like the reference, whose buckets change where its rounding says so.
        let ratio = (distance as f32 / exact as f32).ln() / (self.max_distance as f32 / exact as f32).ln();
        (exact + (ratio * (number - exact) as f32) as u32).min(number - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUCKETS: Buckets = Buckets { number: 32, max_distance: 128 };

    fn check(way: Direction, ahead: [i64; 8], expected: [u32; 8]) {
        assert_eq!(ahead.map(|ahead| BUCKETS.of(1000, (1000 + ahead) as u32, way)), expected);
    }

    #[test]
    fn the_past_has_all_buckets_and_the_future_shares_the_first() {
        check(Direction::Past, [5, 0, -1, -15, -16, -20, -127, -900], [0, 0, 1, 15, 16, 17, 31, 31]);
    }

    #[test]
    fn both_directions_have_half_of_the_buckets_each() {
        check(Direction::Both, [0, -1, 1, -7, -8, 9, -200, 200], [0, 1, 17, 7, 8, 24, 15, 31]);
    }
}
