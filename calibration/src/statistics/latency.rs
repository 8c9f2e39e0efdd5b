//! One-way latencies and round-trip times of many frames.

use super::moments::Moments;
use hdrhistogram::Histogram as Hdr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest recorded latency, in nanoseconds: one hour. Longer latencies count as one hour.
pub const LONGEST_NS: u64 = 3_600_000_000_000;
/// Number of significant digits of a histogram bucket.
const DIGITS: u8 = 3;

/// Latency recorder for the receiving loop.
#[derive(Debug, Clone)]
pub struct LatencyRecorder {
    histogram: Hdr<u64>,
    moments: Moments,
    min_ns: u64,
    max_ns: u64,
    negative: u64,
}

impl Default for LatencyRecorder {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyRecorder {
    /// An empty recorder; some 270 kB, of which only the counters used are touched.
    pub fn new() -> Self {
        Self {
            histogram: Hdr::new_with_bounds(1, LONGEST_NS, DIGITS)
                .expect("1 ns to 1 h with 3 digits are bounds the histogram allows"),
            moments: Moments::default(),
            min_ns: u64::MAX,
            max_ns: 0,
            negative: 0,
        }
    }

    /// Counts the latency of `frames` frames, in nanoseconds. A negative latency is impossible, and
    /// is counted separately.
    #[inline]
    pub fn record(&mut self, latency_ns: i64, frames: u64) {
        if latency_ns < 0 {
            self.negative += frames;
            return;
        }
        let value = (latency_ns as u64).min(LONGEST_NS);
        self.histogram.saturating_record_n(value, frames);
        self.moments.add(value as i64, frames);
        self.min_ns = self.min_ns.min(value);
        self.max_ns = self.max_ns.max(value);
    }

    /// Number of negative latencies.
    pub fn negative(&self) -> u64 {
        self.negative
    }

    /// Adds all counts of another recorder.
    pub fn merge(&mut self, other: &Self) {
        self.histogram
            .add(&other.histogram)
            .expect("both histograms have the same bounds");
        self.moments.merge(&other.moments);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.negative += other.negative;
    }

    /// Summary of the recorded latencies; `None` if there are none.
    pub fn summary(&self) -> Option<LatencySummary> {
        let buckets: Vec<[u64; 3]> = self
            .histogram
            .iter_recorded()
            .map(|step| {
                let value = step.value_iterated_to();
                let lower = self.histogram.lowest_equivalent(value);
                let upper = self.histogram.highest_equivalent(value);
                [lower, upper, step.count_at_value()]
            })
            .collect();
        let limits = (self.min_ns as f64, self.max_ns as f64);
        let mean = self.moments.mean()?;
        let histogram = Histogram::new(buckets);
        Some(histogram.summarise(mean, self.moments.deviation(), limits, self.negative))
    }
}

/// Histogram of latencies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Histogram {
    /// Unit of the buckets' ends: always `ns`.
    pub unit: String,
    /// Significant digits of a bucket: always 3.
    pub significant_digits: u8,
    /// Buckets as `[lower, upper, count]`, both ends included, in ascending order, without empty ones.
    pub buckets: Vec<[u64; 3]>,
}

impl Histogram {
    fn new(buckets: Vec<[u64; 3]>) -> Self {
        Self {
            unit: "ns".into(),
            significant_digits: DIGITS,
            buckets,
        }
    }

    /// Sum of all counts.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|b| b[2]).sum()
    }

    /// The quantile `numerator / denominator` in nanoseconds: the upper end of the first bucket
    /// whose cumulative count reaches ⌈count · numerator / denominator⌉, in whole numbers.
    /// `None` for an empty histogram.
    pub fn quantile_ns(&self, numerator: u32, denominator: u32) -> Option<u64> {
        let share = u128::from(self.count()) * u128::from(numerator);
        let rank = share.div_ceil(u128::from(denominator)).max(1);
        let mut cumulative = 0;
        let reached = self.buckets.iter().find(|bucket| {
            cumulative += u128::from(bucket[2]);
            cumulative >= rank
        });
        reached.map(|bucket| bucket[1])
    }

    fn summarise(
        self,
        mean_ns: f64,
        deviation_ns: Option<f64>,
        (min_ns, max_ns): (f64, f64),
        negative: u64,
    ) -> LatencySummary {
        let quantile_s = |numerator, denominator| {
            let upper = self.quantile_ns(numerator, denominator).unwrap_or(0);
            seconds((upper as f64).min(max_ns))
        };
        LatencySummary {
            count: self.count(),
            mean_s: seconds(mean_ns),
            std_s: deviation_ns.map(seconds),
            min_s: seconds(min_ns),
            max_s: seconds(max_ns),
            p50_s: quantile_s(1, 2),
            p99_s: quantile_s(99, 100),
            p999_s: quantile_s(999, 1000),
            negative,
            histogram: self,
        }
    }
}

/// Latency of the frames of a window, in seconds.
///
/// Mean, deviation, minimum and maximum are exact; quantiles are upper ends of histogram buckets
/// (see [`Histogram::quantile_ns`]), at most 0.1 % too high and never above the maximum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencySummary {
    /// Latencies counted; equals the sum of the histogram's counts.
    pub count: u64,
    /// Arithmetic mean.
    pub mean_s: f64,
    /// Sample standard deviation (divisor count − 1); absent for a single value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub std_s: Option<f64>,
    /// Minimum.
    pub min_s: f64,
    /// Maximum.
    pub max_s: f64,
    /// Median.
    pub p50_s: f64,
    /// 99th percentile.
    pub p99_s: f64,
    /// 99.9th percentile.
    pub p999_s: f64,
    /// Number of negative latencies, caused by disagreeing clocks. Excluded from all other values.
    pub negative: u64,
    /// Histogram of all latencies.
    pub histogram: Histogram,
}

fn seconds(ns: f64) -> f64 {
    ns * 1e-9
}

#[cfg(test)]
mod tests;
