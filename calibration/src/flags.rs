//! Flags: warnings about a run that affect how its numbers may be used.
//!
//! A flagged run is kept and ends with exit code 1. The reader decides whether to use it.

/// Both ends ran on the same cores: the CPU of an end is that of its process only.
pub const SHARED_CORES: &str = "shared-cores";
/// A data thread was preempted more than ten times per second.
pub const PREEMPTED: &str = "preempted";
/// Stall: an unexpected pause in the traffic, not caused by the requested rate.
pub const STALLED: &str = "stalled";
/// Steal: the hypervisor took more than 1 % of the time of a core in use.
pub const STEAL: &str = "steal";
/// A frame arrived before it was sent: the clocks disagree and all latencies of this run are invalid.
pub const NEGATIVE_LATENCY: &str = "negative-latency";
/// The clocks of the ends could not be synchronised; latencies are absent.
pub const CLOCKS_UNKNOWN: &str = "clocks-unknown";
/// The error bound of the clock offset is larger than half the mean latency.
pub const CLOCK_BOUND: &str = "clock-bound";
/// Too many frames to store all timestamps until the clocks were known; only the first frames are included.
pub const LATENCY_TRUNCATED: &str = "latency-truncated";
/// Sender missed its rate because it was descheduled, not because it was saturated.
pub const PACING_ERROR: &str = "pacing-error";
/// The latency had not settled in the first half of the window.
pub const NO_STEADY_STATE: &str = "no-steady-state";
/// More than 0.1 % of the received frames belonged to no run of this session.
pub const FOREIGN_FRAMES: &str = "foreign-frames";
/// The requested real-time priority was refused.
pub const NO_REALTIME: &str = "no-realtime";
/// Receive processing could not be steered to an end's own cores: the CPU of the two ends is mixed.
pub const UNSTEERED: &str = "unsteered";
/// Other processes used more than 10 % of a core in use before the traffic: CPU values are less certain.
pub const BUSY_HOST: &str = "busy-host";
/// Another run was active at the same responder: CPU values include both runs; the interface was not changed.
pub const OVERLAPPING: &str = "overlapping";
/// The window is empty or truncated: the ends timed out before all frames arrived, or nothing was confirmed.
pub const INCOMPLETE: &str = "incomplete";

/// Every flag with its meaning, for documentation and schema.
pub const ALL: [&str; 16] = [
    SHARED_CORES,
    PREEMPTED,
    STALLED,
    STEAL,
    NEGATIVE_LATENCY,
    CLOCKS_UNKNOWN,
    CLOCK_BOUND,
    LATENCY_TRUNCATED,
    PACING_ERROR,
    NO_STEADY_STATE,
    FOREIGN_FRAMES,
    NO_REALTIME,
    UNSTEERED,
    BUSY_HOST,
    OVERLAPPING,
    INCOMPLETE,
];
