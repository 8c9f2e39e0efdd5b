//! Report of one end about one run; two reports make a record.

use crate::clock::Identity;
use crate::host::cpu::Usage;
use crate::host::environment::Environment;
use crate::host::network::InterfaceCounters;
use crate::host::selfcheck::Instrument;
use crate::statistics::{LatencySummary, SteadyState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Report of one end: everything it counted and timed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndReport {
    /// Clock of its timestamps.
    pub identity: Identity,
    /// Hardware and settings of the host.
    pub environment: Environment,
    /// Limits of icprobe on this host, measured just before the run.
    pub instrument: Instrument,
    /// Cores to which its data threads were pinned.
    pub cores: Vec<usize>,
    /// CPU, interrupts and context switches over the window, and the idle baseline.
    pub usage: Usage,
    /// Counters of the interface; absent if the interface is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<InterfaceReport>,
    /// Values that the system chose for unset socket settings.
    pub chosen: Chosen,
    /// Sender's counters, if it sent frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<SendReport>,
    /// Receiver's counters, if it received frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<ReceiveReport>,
    /// Round trips and calls, at the end that sent requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<RoundTripReport>,
    /// Flags, from [`crate::flags`].
    pub flags: Vec<String>,
}

/// The counters of the interface a run went through, at four moments.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfaceReport {
    /// Name of the interface.
    pub name: String,
    /// Counters over the window.
    pub window: InterfaceCounters,
    /// Counters over the whole run, including warm-up and cool-down.
    pub run: InterfaceCounters,
}

/// Counters of the sending end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendReport {
    /// Frames sent inside the window.
    pub window_frames: u64,
    /// Frames sent in total, including warm-up and cool-down.
    pub run_frames: u64,
    /// Start of the window, own clock.
    pub window_start_ns: u64,
    /// Start of the last send of the window, own clock.
    pub window_end_ns: u64,
    /// Failed sends inside the window (ENOBUFS, EAGAIN past the deadline); they do not count as sent.
    pub send_errors: u64,
    /// Time over which frames of the window were sent, see [`crate::pattern::Span`]; absent with fewer than
    /// two frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_s: Option<f64>,
    /// Frames sent in that time.
    pub span_frames: u64,
    /// Accuracy of the send schedule; absent for an unlimited rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<PacingReport>,
    /// Stalls: pauses longer than 1 ms while waiting for the schedule, inside the window.
    pub stalls: u64,
    /// Longest stall.
    pub longest_stall_s: f64,
}

/// Accuracy of the send schedule.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PacingReport {
    /// Requested frames per second, over all streams.
    pub asked_fps: f64,
    /// Frames per second achieved inside the window; absent with fewer than two frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub achieved_fps: Option<f64>,
    /// Median lateness of sends: actual less scheduled time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_error_p50_s: Option<f64>,
    /// 99th percentile of the lateness.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_error_p99_s: Option<f64>,
    /// Maximum lateness.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_error_max_s: Option<f64>,
    /// Time of busy waiting for the next frame, in cores; not charged to the stream.
    pub spin_cores: f64,
    /// Time inside send calls, in cores.
    pub sending_cores: f64,
    /// Mean latency from the scheduled send time, at the receiver. Includes the lateness of the sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_from_intended_mean_s: Option<f64>,
}

/// Counters of the receiving end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiveReport {
    /// Distinct frames of the window.
    pub window_frames: u64,
    /// Distinct frames in total, including warm-up and cool-down.
    pub run_frames: u64,
    /// Duplicates inside the window. Absent if frames are too short for a sequence number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<u64>,
    /// Reordered frames inside the window. Absent if frames are too short for a sequence number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordered: Option<u64>,
    /// Frames of no run of this session: dropped and counted here, but not measured.
    pub foreign: u64,
    /// Time over which frames of the window arrived, see [`crate::pattern::Span`]; absent with fewer than two
    /// frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_s: Option<f64>,
    /// Frames received in that time.
    pub span_frames: u64,
    /// Arrival of the first frame of the window over all streams, own clock.
    pub window_start_ns: u64,
    /// End of the read of the window's last frame, own clock.
    pub window_end_ns: u64,
    /// Payload bytes delivered in the window, from the socket's own counters, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_window_bytes: Option<u64>,
    /// Frames dropped by the socket because its buffer was full, over the run, if it counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_overflow: Option<u64>,
    /// One-way latency of the window's frames; absent if frames carry no timestamp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencySummary>,
    /// Frames with negative latency according to the clocks; excluded from the latency.
    pub negative_latencies: u64,
    /// Transient and steady part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyState>,
    /// Mean latency from the scheduled send time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_from_intended_mean_s: Option<f64>,
    /// Latency of every frame, by stream and order of arrival, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_latency_s: Option<Vec<f64>>,
    /// Stalls: gaps between frames of the window longer than 1 ms and than eight times the mean gap.
    pub stalls: u64,
    /// Longest stall.
    pub longest_stall_s: f64,
}

/// Measurements of requests and replies at the caller.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundTripReport {
    /// Requests sent inside the window.
    pub asked: u64,
    /// Requests answered; absent if a batch was never confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<u64>,
    /// Time from the first request to the last reply (or to the confirmation that all calls were invoked), in
    /// seconds.
    pub elapsed_s: f64,
    /// Time until the last call of a batch was handed over, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_s: Option<f64>,
    /// Round-trip times, if each was timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<LatencySummary>,
    /// Round-trip time of every request, if requested by the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_round_trip_s: Option<Vec<f64>>,
    /// Payload bits per second of answered requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<f64>,
    /// Time of busy waiting for the schedule, in cores; not charged to the caller.
    pub spin_cores: f64,
    /// Stalls: pauses longer than 1 ms while waiting for the schedule; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalls: Option<u64>,
    /// Longest stall.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_stall_s: Option<f64>,
}

/// Values that a system chose for unset settings, by name.
pub type Chosen = BTreeMap<String, serde_json::Value>;

#[cfg(test)]
pub(crate) mod hand_made;
