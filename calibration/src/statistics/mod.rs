//! What is kept of many frames: latency as exact moments and a histogram, the course of a run in
//! slices with its steady part, and the confidence of repeated runs.

pub mod confidence;
pub mod latency;
mod moments;
pub mod steady;

pub use confidence::{Judgement, StoppingRule, mean_interval, student_t};
pub use latency::{Histogram, LatencyRecorder, LatencySummary};
pub use steady::{Part, SliceRecorder, SteadyState};
