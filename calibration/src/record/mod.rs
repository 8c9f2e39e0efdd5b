//! The record of a run: one JSON object, both ends in it, every value named and in SI units.
//!
//! What a run did not measure is absent, never zero.

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
    /// The other one.
    pub recv: T,
}

/// The tool that measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// How the ends' clocks stand to each other, and how well that is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockReport {
    /// Both ends read the same clock: nothing is corrected.
    pub same: bool,
    /// The clock of each end.
    pub identity: Ends<Identity>,
    /// The receiving end's clock less the sending end's, where they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_s: Option<f64>,
    /// Rate of the receiving end's clock less one, against the sending end's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<f64>,
    /// No latency of this run is wrong by more than this because of the clocks; absent where nothing is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_s: Option<f64>,
    /// Exchanges the fit rests on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchanges: Option<u32>,
    /// Least round trip of these exchanges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_min_s: Option<f64>,
    /// The fit as the caller made it (own clock is the caller's).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
}

/// Where frames were lost, as far as counters tell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LossReport {
    /// Sends that the sending system refused; such frames do not count as sent.
    pub send_errors: u64,
    /// Packets the sending interface dropped, over the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface_send_dropped: Option<u64>,
    /// Packets the receiving interface dropped or missed, over the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface_recv_dropped: Option<u64>,
    /// Frames the receiving socket dropped for want of buffer, over the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_overflow: Option<u64>,
    /// Frames sent in the run, warm-up and tail included.
    pub run_frames_sent: u64,
    /// Distinct frames received in the run.
    pub run_frames_received: u64,
}

/// What crossed the interfaces inside the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireReport {
    /// Packets a frame was sent in, mean, from the interface's counter; one segmented later counts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets_per_frame_sent: Option<f64>,
    /// Mean size of a packet sent, in bytes, as the interface counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_sent_mean_bytes: Option<f64>,
    /// Packets a frame was received in, mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets_per_frame_received: Option<f64>,
    /// Mean size of a packet received, in bytes.
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
    /// When it began (UTC, RFC 3339).
    pub started_utc: String,
    /// What measured.
    pub tool: Tool,
    /// What was asked, in the words of a dataset: the axes and options.
    pub point: Map<String, Value>,
    /// What was asked, every setting.
    pub settings: RunSettings,
    /// What the system of each end chose where it was left to it.
    pub chosen: Ends<Chosen>,
    /// What was measured.
    pub result: RunResult,
    /// Payload bytes of the window that the receiving socket's own counter saw delivered, where it has one.
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
    /// One-way latency of every frame, stream after stream in the order of arrival, where asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_latency_s: Option<Vec<f64>>,
    /// Round trip of every question, where asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_rtt_s: Option<Vec<f64>>,
    /// CPU of each end over the window and over the idle time before.
    pub cpu_modes: Ends<Usage>,
    /// The cores that each end's data threads were bound to.
    pub cores: Ends<Vec<usize>>,
    /// The ends' clocks.
    pub clock: ClockReport,
    /// How well the schedule was kept; absent for an unlimited rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<PacingReport>,
    /// Where frames were lost; absent for round trips.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossReport>,
    /// Packets on the wire.
    pub wire: WireReport,
    /// Counters of the interfaces, over the window and over the run; absent where an interface is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<Ends<InterfaceReport>>,
    /// What the instrument can do on these hosts.
    pub instrument: Ends<Instrument>,
    /// The hosts.
    pub environment: Ends<Environment>,
    /// What the reader must know; empty is good.
    pub flags: Vec<String>,
    /// Place of the run in a campaign.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Value>,
}

#[cfg(test)]
#[path = "golden_tests.rs"]
mod tests;
