//! Time slices of a run, and detection of its steady state.
//!
//! Detection is MSER (White, An effective truncation heuristic for bias reduction in simulation
//! output, Simulation 69, 1997). Of the slices' means y₀ … yₙ₋₁, it drops the first d for which the
//! squared standard error of the rest, Σ(yᵢ − ȳ)² / (n − d)², is least. If this d is half of the
//! slices, the run was still changing, and no steady state is detected.

use super::latency::LONGEST_NS;
use super::moments::Moments;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Greatest number of slices; if there are more, they are merged in pairs.
const SLICES_MAX: usize = 256;
/// Least number of slices from which a steady state can be detected.
const SLICES_MIN: usize = 8;

/// Statistics of one part of a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its length.
    pub duration_s: f64,
    /// Frames received in it.
    pub frames: u64,
    /// Received goodput, in b/s; absent for an empty part. The frame whose arrival starts the window is not
    /// counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<f64>,
    /// Mean latency of its frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_mean_s: Option<f64>,
    /// Standard deviation of its frames' latency, divided by count − 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_std_s: Option<f64>,
    /// Least latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_min_s: Option<f64>,
    /// Greatest latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_max_s: Option<f64>,
}

/// The transient and the steady part of a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SteadyState {
    /// Whether a steady part was found. If not, the whole window is transient and the steady part empty.
    pub detected: bool,
    /// Start of the steady part, from the start of the window; absent if none was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady_from_s: Option<f64>,
    /// Transient part.
    pub transient: Part,
    /// Steady part, up to the last frame.
    pub steady: Part,
}

/// Counts of one time slice.
#[derive(Debug, Clone, Copy)]
struct Slice {
    frames: u64,
    bytes: u64,
    latency: Moments,
    min_ns: i64,
    max_ns: i64,
}

impl Slice {
    const EMPTY: Self = Self {
        frames: 0,
        bytes: 0,
        latency: Moments::NOTHING,
        min_ns: i64::MAX,
        max_ns: i64::MIN,
    };

    fn merge(&mut self, other: &Self) {
        self.frames += other.frames;
        self.bytes += other.bytes;
        self.latency.merge(&other.latency);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    fn part(&self, duration_ns: u64) -> Part {
        let timed = self.latency.count > 0;
        let seconds = |ns: i64| ns as f64 * 1e-9;
        let duration_s = duration_ns as f64 * 1e-9;
        Part {
            duration_s,
            frames: self.frames,
            goodput_bps: (self.frames > 0 && duration_ns > 0)
                .then(|| self.bytes as f64 * 8.0 / duration_s),
            latency_mean_s: self.latency.mean().map(|ns| ns * 1e-9),
            latency_std_s: self.latency.deviation().map(|ns| ns * 1e-9),
            latency_min_s: timed.then(|| seconds(self.min_ns)),
            latency_max_s: timed.then(|| seconds(self.max_ns)),
        }
    }
}

/// Sums up frames by the time of their arrival, in at most 256 slices of equal width.
///
/// Slices start at whole multiples of their width on the clock, so recorders of several streams merge.
#[derive(Debug, Clone)]
pub struct SliceRecorder {
    width_ns: u64,
    /// Number of the first slice since the clock's zero.
    first: u64,
    slices: Vec<Slice>,
    /// Index, start and end of the slice of the last frame, so that most frames need no division.
    current: usize,
    current_from_ns: u64,
    current_to_ns: u64,
    first_ns: u64,
    first_bytes: u64,
    last_ns: u64,
}

impl SliceRecorder {
    /// An empty recorder that starts with slices of `slice_ns` (at least 1) nanoseconds.
    pub fn new(slice_ns: u64) -> Self {
        Self {
            width_ns: slice_ns.max(1),
            first: 0,
            slices: Vec::with_capacity(SLICES_MAX),
            current: 0,
            current_from_ns: 1,
            current_to_ns: 0,
            first_ns: u64::MAX,
            first_bytes: 0,
            last_ns: 0,
        }
    }

    /// Counts `frames` frames of `bytes` payload that arrived at `now_ns`; `latency_ns` is `None` for
    /// frames without timestamps.
    ///
    /// Latencies keep their sign here; beyond an hour they count as an hour.
    #[inline]
    pub fn record(&mut self, now_ns: u64, latency_ns: Option<i64>, bytes: u32, frames: u64) {
        let bytes = u64::from(bytes) * frames;
        if now_ns < self.current_from_ns || now_ns >= self.current_to_ns {
            self.enter(now_ns);
        }
        if now_ns < self.first_ns {
            (self.first_ns, self.first_bytes) = (now_ns, 0);
        }
        if now_ns == self.first_ns {
            self.first_bytes += bytes;
        }
        self.last_ns = self.last_ns.max(now_ns);
        let slice = &mut self.slices[self.current];
        slice.frames += frames;
        slice.bytes += bytes;
        if let Some(latency_ns) = latency_ns {
            let latency_ns = latency_ns.clamp(-(LONGEST_NS as i64), LONGEST_NS as i64);
            slice.latency.add(latency_ns, frames);
            slice.min_ns = slice.min_ns.min(latency_ns);
            slice.max_ns = slice.max_ns.max(latency_ns);
        }
    }

    /// Makes the slice of a time the current one.
    #[cold]
    fn enter(&mut self, now_ns: u64) {
        self.cover(now_ns, now_ns);
        let number = now_ns / self.width_ns;
        self.current = (number - self.first) as usize;
        self.current_from_ns = number * self.width_ns;
        self.current_to_ns = self.current_from_ns.saturating_add(self.width_ns);
    }

    /// Widens and adds slices until both times are inside a slice.
    fn cover(&mut self, from_ns: u64, to_ns: u64) {
        if self.slices.is_empty() {
            self.first = from_ns / self.width_ns;
        }
        loop {
            let first = self.first.min(from_ns / self.width_ns);
            let end = (self.first + self.slices.len() as u64).max(to_ns / self.width_ns + 1);
            if end - first <= SLICES_MAX as u64 {
                let before = (self.first - first) as usize;
                self.slices
                    .splice(0..0, std::iter::repeat_n(Slice::EMPTY, before));
                self.slices.resize((end - first) as usize, Slice::EMPTY);
                self.first = first;
                return;
            }
            self.widen();
        }
    }

    /// Doubles the width: neighbours become one.
    fn widen(&mut self) {
        let first = self.first / 2;
        let mut wider = Vec::with_capacity(SLICES_MAX);
        for (number, slice) in (self.first..).zip(&self.slices) {
            let place = (number / 2 - first) as usize;
            if place == wider.len() {
                wider.push(*slice);
            } else {
                wider[place].merge(slice);
            }
        }
        (self.first, self.slices) = (first, wider);
        self.width_ns *= 2;
        // No slice is current any more.
        (self.current_from_ns, self.current_to_ns) = (1, 0);
    }

    /// Adds all counts of another recorder, which must have been created with the same width.
    pub fn merge(&mut self, other: &Self) {
        if other.slices.is_empty() {
            return;
        }
        let mut other = other.clone();
        while self.width_ns < other.width_ns {
            self.widen();
        }
        self.cover(other.first_ns, other.last_ns);
        while other.width_ns < self.width_ns {
            other.widen();
        }
        for (number, slice) in (other.first..).zip(&other.slices) {
            if slice.frames > 0 {
                self.slices[(number - self.first) as usize].merge(slice);
            }
        }
        if other.first_ns < self.first_ns {
            (self.first_ns, self.first_bytes) = (other.first_ns, other.first_bytes);
        } else if other.first_ns == self.first_ns {
            self.first_bytes += other.first_bytes;
        }
        self.last_ns = self.last_ns.max(other.last_ns);
        (self.current_from_ns, self.current_to_ns) = (1, 0);
    }

    /// The steady part of the window that starts at `window_start_ns` and ends with the last frame.
    pub fn steady(&self, window_start_ns: u64) -> SteadyState {
        let start_ns = window_start_ns.min(self.first_ns).min(self.last_ns);
        let Some(dropped) = self.truncation(start_ns) else {
            return SteadyState {
                transient: self.part(0, self.slices.len(), start_ns),
                ..SteadyState::default()
            };
        };
        let steady_ns = self.start_of(dropped).clamp(start_ns, self.last_ns);
        SteadyState {
            detected: true,
            steady_from_s: Some((steady_ns - start_ns) as f64 * 1e-9),
            transient: self.part(0, dropped, start_ns),
            steady: self.part(dropped, self.slices.len(), start_ns),
        }
    }

    fn start_of(&self, slice: usize) -> u64 {
        (self.first + slice as u64).saturating_mul(self.width_ns)
    }

    /// Combines the slices `from … to`, excluding `to`.
    fn part(&self, from: usize, to: usize, start_ns: u64) -> Part {
        if from == to {
            return Part::default();
        }
        let mut sum = Slice::EMPTY;
        self.slices[from..to].iter().for_each(|s| sum.merge(s));
        let from_ns = if from == 0 {
            start_ns
        } else {
            self.start_of(from)
        };
        let to_ns = self.start_of(to).min(self.last_ns);
        if from_ns == self.first_ns {
            sum.bytes -= self.first_bytes;
        }
        sum.part(to_ns.saturating_sub(from_ns))
    }

    /// Number of leading slices to drop; `None` if the run did not become steady.
    fn truncation(&self, start_ns: u64) -> Option<usize> {
        let timed = self.slices.iter().any(|s| s.latency.count > 0);
        let means: Vec<(usize, f64)> = if timed {
            let mean = |(i, s): (usize, &Slice)| Some((i, s.latency.mean()?));
            self.slices.iter().enumerate().filter_map(mean).collect()
        } else {
            self.rates(start_ns)
        };
        let dropped = mser(&means.iter().map(|m| m.1).collect::<Vec<_>>())?;
        Some(if dropped == 0 { 0 } else { means[dropped].0 })
    }

    /// Bytes per nanosecond of the slices inside the window, as pairs (slice, rate). The first
    /// slice counts with its part inside the window, if that is more than half. The last slice is
    /// left out.
    fn rates(&self, start_ns: u64) -> Vec<(usize, f64)> {
        let inside = |i: usize| {
            let from = self.start_of(i).max(start_ns);
            self.start_of(i + 1).saturating_sub(from)
        };
        let whole = self.slices.len().saturating_sub(1);
        (0..whole)
            .filter(|&i| inside(i) > self.width_ns / 2)
            .map(|i| (i, self.slices[i].bytes as f64 / inside(i) as f64))
            .collect()
    }
}

/// MSER: number of leading means to drop; `None` if there are too few, or the least error lies at
/// half of them.
fn mser(means: &[f64]) -> Option<usize> {
    let n = means.len();
    if n < SLICES_MIN {
        return None;
    }
    let half = n / 2;
    // Values relative to the last mean keep the digits of small differences.
    let origin = means[n - 1];
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for d in (0..n).rev() {
        let y = means[d] - origin;
        sum += y;
        squares += y * y;
        let left = (n - d) as f64;
        let error = (squares - sum * sum / left).max(0.0) / (left * left);
        // Of equal errors, take the one that drops fewest means.
        if d <= half && error <= best.0 {
            best = (error, d);
        }
    }
    (best.1 < half).then_some(best.1)
}

#[cfg(test)]
mod tests;
