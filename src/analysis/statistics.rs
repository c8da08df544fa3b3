//! Percentiles and histograms of recorded values.
//!
//! A percentile is the nearest rank: the smallest recorded value that at least p % of all values do not exceed, which is
//! definition 1 of R. J. Hyndman and Y. Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50
//! (1996), 361–365. It is always a value that was seen, never one between two.
//!
//! Below 1 / (1 − p) values the nearest rank is the largest value and says nothing of its own: there a percentile is
//! absent. That makes 10 values for p90, 20 for p95 and 100 for p99; the median is told from the first value on.

/// How many bins a histogram has.
pub const BINS: usize = 12;

/// A percentile, and from how many values on it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percentile {
    /// Its place in thousandths.
    pub per_mille: usize,
    /// The fewest values that it is told of.
    pub least: usize,
}

/// The median.
pub const P50: Percentile = Percentile { per_mille: 500, least: 1 };
/// The value that 90 % do not exceed.
pub const P90: Percentile = Percentile { per_mille: 900, least: 10 };
/// The value that 95 % do not exceed.
pub const P95: Percentile = Percentile { per_mille: 950, least: 20 };
/// The value that 99 % do not exceed.
pub const P99: Percentile = Percentile { per_mille: 990, least: 100 };

impl Percentile {
    /// Returns the percentile of values in ascending order, or `None` if there are too few.
    #[must_use]
    pub fn of(self, sorted: &[i64]) -> Option<i64> {
        if sorted.len() < self.least {
            return None;
        }
        // In whole numbers: 0.95 × 20 is a little more than 19 as a floating-point number.
        let rank = (self.per_mille * sorted.len()).div_ceil(1000);
        sorted.get(rank.saturating_sub(1)).copied()
    }
}

/// The figures of a list of values, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// How many values there are.
    pub count: usize,
    /// The smallest.
    pub min: Option<i64>,
    /// The median.
    pub p50: Option<i64>,
    /// The 90th percentile, from 10 values on.
    pub p90: Option<i64>,
    /// The 95th percentile, from 20 values on.
    pub p95: Option<i64>,
    /// The 99th percentile, from 100 values on.
    pub p99: Option<i64>,
    /// The largest.
    pub max: Option<i64>,
}

impl Figures {
    /// Returns the figures of values in ascending order.
    #[must_use]
    pub fn of(sorted: &[i64]) -> Self {
        Self {
            count: sorted.len(),
            min: sorted.first().copied(),
            p50: P50.of(sorted),
            p90: P90.of(sorted),
            p95: P95.of(sorted),
            p99: P99.of(sorted),
            max: sorted.last().copied(),
        }
    }
}

/// The axis of histograms: whole decades, cut into bins of equal width on a logarithmic scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    /// The edges of the bins in ascending order, ns.
    pub edges: [i64; BINS + 1],
}

impl Axis {
    /// Returns the shortest axis that holds both values; what is below a microsecond falls into the first bin.
    #[must_use]
    pub fn holding(min: i64, max: i64) -> Self {
        let mut low = 1_000_i64;
        while low.saturating_mul(10) <= min {
            low = low.saturating_mul(10);
        }
        let mut decades = 1;
        while decades < 15 && low.saturating_mul(10_i64.saturating_pow(decades)) < max {
            decades += 1;
        }
        let mut edges = [low; BINS + 1];
        for (at, edge) in edges.iter_mut().enumerate().skip(1) {
            let exponent = f64::from(decades) * at as f64 / BINS as f64;
            *edge = (low as f64 * 10_f64.powf(exponent)).round() as i64;
        }
        Self { edges }
    }

    /// Returns how many of the values, in ascending order, fall into each bin; a bin holds its lower edge.
    #[must_use]
    pub fn counts(&self, sorted: &[i64]) -> [u64; BINS] {
        let mut counts = [0; BINS];
        let mut from = 0;
        for (at, count) in counts.iter_mut().enumerate() {
            let upto = match self.edges.get(at + 1) {
                // The last bin takes its upper edge too, and whatever is beyond.
                Some(edge) if at + 1 < BINS => sorted.partition_point(|value| value < edge),
                _ => sorted.len(),
            };
            *count = (upto - from) as u64;
            from = upto;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Made by another program, SQLite: the smallest x of k * 7919 % 10007, k from 1 to n, whose
    // `cume_dist() OVER (ORDER BY x)` is at least p.
    #[test]
    fn percentiles_are_the_nearest_rank() {
        let table: [(i64, [i64; 4]); 15] = [
            (1, [7919, 7919, 7919, 7919]),
            (2, [5831, 7919, 7919, 7919]),
            (3, [5831, 7919, 7919, 7919]),
            (7, [5831, 9574, 9574, 9574]),
            (10, [5398, 9141, 9574, 9574]),
            (19, [4965, 9141, 9574, 9574]),
            (20, [4965, 8708, 9141, 9574]),
            (21, [5398, 8708, 9141, 9574]),
            (99, [5167, 9064, 9574, 9930]),
            (100, [4965, 8987, 9497, 9853]),
            (101, [5167, 9064, 9497, 9853]),
            (250, [5013, 8987, 9497, 9901]),
            (999, [5013, 9015, 9516, 9910]),
            (1000, [5003, 9006, 9506, 9901]),
            (1001, [5003, 9006, 9506, 9901]),
        ];
        for (count, expected) in table {
            let mut values: Vec<i64> = (1..=count).map(|k| k * 7919 % 10_007).collect();
            values.sort_unstable();
            let found = [P50, P90, P95, P99].map(|p| Percentile { least: 1, ..p }.of(&values));
            assert_eq!(found, expected.map(Some), "{count}");
        }
    }

    #[test]
    fn the_textbook_list() {
        // By hand: ranks ceil(0.5 × 5) = 3, ceil(0.9 × 5) = 5.
        let values = [15, 20, 35, 40, 50];
        assert_eq!(P50.of(&values), Some(35));
        assert_eq!(Percentile { per_mille: 300, least: 1 }.of(&values), Some(20));
        assert_eq!(Percentile { per_mille: 400, least: 1 }.of(&values), Some(20));
        assert_eq!(Percentile { per_mille: 1000, least: 1 }.of(&values), Some(50));
    }

    #[test]
    fn a_percentile_that_would_be_the_largest_value_is_absent() {
        for percentile in [P90, P95, P99] {
            let values: Vec<i64> = (1..=percentile.least as i64).collect();
            assert_eq!(percentile.of(&values), Some(percentile.least as i64 - 1), "{percentile:?}");
            assert_eq!(percentile.of(&values[1..]), None, "{percentile:?}");
        }
        assert_eq!(P50.of(&[7]), Some(7));
        assert_eq!(P50.of(&[]), None);
        assert_eq!(Figures::of(&[]), Figures::default());
    }

    #[test]
    fn an_axis_has_whole_decades() {
        let axis = Axis::holding(12_000_000, 8_020_000_000);
        let expected = [
            10_000_000,
            17_782_794,
            31_622_777,
            56_234_133,
            100_000_000,
            177_827_941,
            316_227_766,
            562_341_325,
            1_000_000_000,
            1_778_279_410,
            3_162_277_660,
            5_623_413_252,
            10_000_000_000,
        ];
        assert_eq!(axis.edges, expected);
        let values = [9_999_999, 10_000_000, 17_782_793, 17_782_794, 5_623_413_252, 10_000_000_000, 20_000_000_000];
        assert_eq!(axis.counts(&values), [3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3]);
        assert_eq!(Axis::holding(0, 0).edges[12], 10_000);
        assert_eq!(Axis::holding(5, i64::MAX).edges[0], 1_000);
    }
}
