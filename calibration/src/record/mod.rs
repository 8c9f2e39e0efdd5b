//! Record of a run: one JSON object with both ends; all values in SI units.
//!
//! Unmeasured values are absent, never zero.

mod build;
mod cpu;
mod flagging;
pub mod point;
mod result;

pub use build::{Told, record};
pub use result::RunResult;

use crate::clock::Identity;
use crate::clock::fit::Fit;
use crate::host::cpu::Usage;
use crate::host::environment::Environment;
use crate::host::selfcheck::Instrument;
use crate::report::{Chosen, InterfaceReport, PacingReport};
use crate::settings::RunSettings;
use crate::statistics::{Histogram, SteadyState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Version of the record's layout.
pub const SCHEMA_VERSION: u32 = 1;

/// One value for each end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ends<T> {
    /// The end that sends (streams) or asks (ping-pong, calls).
    pub send: T,
    /// The end that receives (streams) or answers (ping-pong, calls).
    pub recv: T,
}

/// Name and version of the tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// Relation of the ends' clocks, with its error bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockReport {
    /// Both ends read the same clock: latencies are not corrected.
    pub same: bool,
    /// The clock of each end.
    pub identity: Ends<Identity>,
    /// Offset: the receiving end's clock less the sending end's, if they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_s: Option<f64>,
    /// Drift: rate of the receiving end's clock relative to the sending end's, less one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<f64>,
    /// Upper bound of the latency error caused by the clocks; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_s: Option<f64>,
    /// Number of exchanges used by the fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchanges: Option<u32>,
    /// Shortest round trip of these exchanges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_min_s: Option<f64>,
    /// Fit made by the caller (own clock: the caller's).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
}

/// Places where frames were lost, from the available counters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LossReport {
    /// Sends refused by the sending system; these frames do not count as sent.
    pub send_errors: u64,
    /// Packets the sending interface dropped, over the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface_send_dropped: Option<u64>,
    /// Packets the receiving interface dropped or missed, over the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface_recv_dropped: Option<u64>,
    /// Frames dropped by the receiving socket because its buffer was full, over the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_overflow: Option<u64>,
    /// Frames sent in the run, including warm-up and cool-down.
    pub run_frames_sent: u64,
    /// Distinct frames received in the run.
    pub run_frames_received: u64,
}

/// Packets through the interfaces inside the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireReport {
    /// Mean packets per frame at the sending interface; a packet segmented later counts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets_per_frame_sent: Option<f64>,
    /// Mean size of a sent packet, in bytes, from the interface's counters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_sent_mean_bytes: Option<f64>,
    /// Mean packets per frame at the receiving interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets_per_frame_received: Option<f64>,
    /// Mean size of a received packet, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_received_mean_bytes: Option<f64>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Version of this layout.
    pub schema_version: u32,
    /// Random name of the run.
    pub run: String,
    /// Start time of the run (UTC, RFC 3339).
    pub started_utc: String,
    /// Tool that measured.
    pub tool: Tool,
    /// Requested point: axes and options, named as in a dataset.
    pub point: Map<String, Value>,
    /// All requested settings.
    pub settings: RunSettings,
    /// Values that the system of each end chose for unset settings.
    pub chosen: Ends<Chosen>,
    /// Measured values.
    pub result: RunResult,
    /// Payload bytes delivered in the window, from the receiving socket's own counter, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_window_bytes: Option<u64>,
    /// Transient and steady part of the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyState>,
    /// One-way latency of every frame of the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_histogram: Option<Histogram>,
    /// Round trips of the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_histogram: Option<Histogram>,
    /// One-way latency of every frame, by stream and order of arrival, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_latency_s: Option<Vec<f64>>,
    /// Round trip of every request, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_rtt_s: Option<Vec<f64>>,
    /// CPU of each end over the window and the idle baseline.
    pub cpu_modes: Ends<Usage>,
    /// Cores to which each end's data threads were pinned.
    pub cores: Ends<Vec<usize>>,
    /// The ends' clocks.
    pub clock: ClockReport,
    /// Accuracy of the send schedule; absent for an unlimited rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<PacingReport>,
    /// Places where frames were lost; absent for round trips.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossReport>,
    /// Packets on the wire.
    pub wire: WireReport,
    /// Counters of the interfaces, over the window and over the run; absent if an interface is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<Ends<InterfaceReport>>,
    /// Limits of icprobe on these hosts.
    pub instrument: Ends<Instrument>,
    /// Hardware and settings of the hosts.
    pub environment: Ends<Environment>,
    /// Warnings about the run; empty if there are none.
    pub flags: Vec<String>,
    /// Place of the run in a campaign.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Value>,
}

#[cfg(test)]
#[path = "golden_tests.rs"]
mod tests;
