//! What one end says of one run; two of these make a record.

use crate::clock::Identity;
use crate::host::cpu::Usage;
use crate::host::environment::Environment;
use crate::host::network::InterfaceCounters;
use crate::host::selfcheck::Instrument;
use crate::statistics::{LatencySummary, SteadyState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything one end knows of a run, counted and timed by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndReport {
    /// Which clock its times are of.
    pub identity: Identity,
    /// The host and how it was set.
    pub environment: Environment,
    /// What the instrument itself can do, measured just before the run.
    pub instrument: Instrument,
    /// The cores its data threads were bound to.
    pub cores: Vec<usize>,
    /// CPU, interrupts and context switches over the window, and the idle baseline.
    pub usage: Usage,
    /// The interface's own counters; absent where the interface is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<InterfaceReport>,
    /// What the system chose for the sockets where the settings left it the choice.
    pub chosen: Chosen,
    /// What it sent, if it sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<SendReport>,
    /// What it received, if it received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<ReceiveReport>,
    /// Round trips and calls, at the end that asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<RoundTripReport>,
    /// What the reader must know, in words of [`crate::flags`].
    pub flags: Vec<String>,
}

/// The counters of the interface a run went through, at four moments.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfaceReport {
    /// Name of the interface.
    pub name: String,
    /// What it counted inside the window.
    pub window: InterfaceCounters,
    /// What it counted from before the first frame of any kind to after the last.
    pub run: InterfaceCounters,
}

/// What a sender of frames counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendReport {
    /// Frames sent inside the window.
    pub window_frames: u64,
    /// Frames sent in all, warm-up and tail included.
    pub run_frames: u64,
    /// Start of the window, own clock.
    pub window_start_ns: u64,
    /// Start of the last send of the window, own clock.
    pub window_end_ns: u64,
    /// Frames whose send failed inside the window (ENOBUFS, EAGAIN past the deadline); they count as not sent.
    pub send_errors: u64,
    /// Time over which frames of the window left, as [`crate::pattern::Span`] says; absent with fewer than two frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_s: Option<f64>,
    /// Frames that left in that time.
    pub span_frames: u64,
    /// How well the schedule was kept; absent for an unlimited rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<PacingReport>,
    /// Pauses longer than a millisecond while waiting for the schedule, inside the window.
    pub stalls: u64,
    /// The longest such pause.
    pub longest_stall_s: f64,
}

/// How well a schedule was kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PacingReport {
    /// Frames per second asked for, over all streams.
    pub asked_fps: f64,
    /// Frames per second achieved inside the window; absent with fewer than two frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub achieved_fps: Option<f64>,
    /// How late frames left, actual less intended time: median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_error_p50_s: Option<f64>,
    /// The 99th percentile of the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_error_p99_s: Option<f64>,
    /// The greatest of the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_error_max_s: Option<f64>,
    /// Time spent waiting actively for the next frame, in cores; not charged to the stream.
    pub spin_cores: f64,
    /// Time inside send calls, in cores.
    pub sending_cores: f64,
    /// Latency from the intended send time: what a late sender hides. Mean, at the receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_from_intended_mean_s: Option<f64>,
}

/// What a receiver of frames counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiveReport {
    /// Distinct frames of the window.
    pub window_frames: u64,
    /// Distinct frames in all, warm-up and tail included.
    pub run_frames: u64,
    /// Copies of frames already received (window). Absent where frames are too short to carry a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<u64>,
    /// Frames that came after a later one (window). Absent where frames are too short to carry a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordered: Option<u64>,
    /// Frames of no run of this session: refused, counted, measured by nobody.
    pub foreign: u64,
    /// Time over which frames of the window came, as [`crate::pattern::Span`] says; absent with fewer than two frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_s: Option<f64>,
    /// Frames that came in that time.
    pub span_frames: u64,
    /// From the first to the last frame of the window, own clock, over all streams.
    pub window_start_ns: u64,
    /// End of the read of the window's last frame, own clock.
    pub window_end_ns: u64,
    /// Payload bytes of the window that the socket's own counters saw delivered, where it has such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_window_bytes: Option<u64>,
    /// Frames the socket dropped for want of buffer, over the run, where it counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_overflow: Option<u64>,
    /// One-way latency of the window's frames; absent where frames carry no stamp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencySummary>,
    /// Frames that came before they were sent, by the clocks as they are known; they are not in the latency.
    pub negative_latencies: u64,
    /// Transient and steady part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyState>,
    /// Mean latency from the intended send time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_from_intended_mean_s: Option<f64>,
    /// Latency of every frame, stream after stream in the order of arrival, where asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_latency_s: Option<Vec<f64>>,
    /// Pauses between frames of the window, longer than a millisecond and eight times the mean gap.
    pub stalls: u64,
    /// The longest such pause.
    pub longest_stall_s: f64,
}

/// What a caller measured of questions and answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundTripReport {
    /// Questions asked inside the window.
    pub asked: u64,
    /// Questions answered; absent where a batch was never confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<u64>,
    /// From the first question to the last answer (or to the proof that all were invoked), in seconds.
    pub elapsed_s: f64,
    /// Time until the last call of a batch was handed over, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_s: Option<f64>,
    /// Round-trip times, where each was timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<LatencySummary>,
    /// Round-trip time of every question, where asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_round_trip_s: Option<Vec<f64>>,
    /// Payload bits a second that were asked and answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<f64>,
    /// Time spent waiting actively for the schedule, in cores; not charged to the asker.
    pub spin_cores: f64,
    /// Pauses longer than a millisecond while waiting for the schedule; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalls: Option<u64>,
    /// The longest such pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_stall_s: Option<f64>,
}

/// What a system chose where the settings left it the choice, by name.
pub type Chosen = BTreeMap<String, serde_json::Value>;

#[cfg(test)]
pub(crate) mod hand_made;
