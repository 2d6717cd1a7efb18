//! Counts of durations in buckets that grow with them.

use serde::Serialize;

/// The bits of a duration that a bucket keeps behind the first: a bucket is at most 1/16 wider than its beginning.
const BITS: u32 = 4;

/// Durations in milliseconds, by buckets. Those below 32 are exact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Histogram {
    /// The number of durations, and their sum.
    pub count: u64,
    pub sum: u64,
    /// The number in each bucket (see [`bucket`]), without empty buckets at the end.
    pub buckets: Vec<u64>,
}

impl Histogram {
    /// Adds a duration.
    pub fn add(&mut self, duration: u32) {
        self.count += 1;
        self.sum += u64::from(duration);
        let bucket = bucket(duration);
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
    }
}

/// Returns the bucket of a duration: log-linear, 16 for each power of two.
pub fn bucket(duration: u32) -> usize {
    let shift = (u32::BITS - duration.leading_zeros()).saturating_sub(BITS + 1);
    ((shift << BITS) + (duration >> shift)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other() {
        let mut before = 0;
        for duration in 0..100_000 {
            let of = bucket(duration);
            assert!(of == before || of == before + 1, "{duration}");
            assert!(duration >= 32 || of == duration as usize);
            before = of;
        }
        assert!(bucket(u32::MAX) < 512);
    }
}
