//! Words for what a reader of a run must know before using its numbers.
//!
//! A run with a flag is kept and ends with exit code 1; what to make of it is the reader's choice.

/// The ends had to work on the same cores: CPU of an end is that of its process alone.
pub const SHARED_CORES: &str = "shared-cores";
/// A data thread lost its core to another process more often than ten times a second.
pub const PREEMPTED: &str = "preempted";
/// The machine stood still: a pause in the traffic that the request does not explain.
pub const STALLED: &str = "stalled";
/// The hypervisor took more than one percent of the time of a core in use.
pub const STEAL: &str = "steal";
/// A frame arrived before it was sent: the clocks do not fit, no latency of this run holds.
pub const NEGATIVE_LATENCY: &str = "negative-latency";
/// The clocks of the ends could not be brought together; latencies are absent.
pub const CLOCKS_UNKNOWN: &str = "clocks-unknown";
/// The bound of the clocks' offset is larger than half the mean latency.
pub const CLOCK_BOUND: &str = "clock-bound";
/// Too many frames to keep all their times until the clocks were known; the first ones are in.
pub const LATENCY_TRUNCATED: &str = "latency-truncated";
/// The rate was missed though the sender had time: it was kept from running.
pub const PACING_ERROR: &str = "pacing-error";
/// The latency had not settled in the first half of the window.
pub const NO_STEADY_STATE: &str = "no-steady-state";
/// More than a thousandth of what was received belonged to no run of this session.
pub const FOREIGN_FRAMES: &str = "foreign-frames";
/// Sending could not be given the priority that was asked for.
pub const NO_REALTIME: &str = "no-realtime";
/// The kernel did not let an end process what it receives on its own cores: the ends' CPU is mixed.
pub const UNSTEERED: &str = "unsteered";
/// The idle hosts were busy for more than a tenth of a core in use: less of the CPU values is the stream's.
pub const BUSY_HOST: &str = "busy-host";
/// Another run went on at the same responder: its CPU values are those of both, its interface was left alone.
pub const OVERLAPPING: &str = "overlapping";
/// The window is empty or cut short: the ends stopped waiting before all had come, or nothing was confirmed.
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
