//! Statistics: latency moments and histograms, time slices of a run with its steady part, and confidence of
//! repeated runs.

pub mod confidence;
pub mod latency;
mod moments;
pub mod steady;

pub use confidence::{Judgement, StoppingRule, mean_interval, student_t};
pub use latency::{Histogram, LatencyRecorder, LatencySummary};
pub use steady::{Part, SliceRecorder, SteadyState};
