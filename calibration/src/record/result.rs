//! Measured values of a run, named like the metrics of a dataset.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! optional_values {
    ($(#[doc = $about:literal] $name:ident: $kind:ty,)*) => {
        /// Measured values; absent if the pattern does not measure them.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct RunResult {
            $(
                #[doc = $about]
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $name: Option<$kind>,
            )*
        }
    };
}

optional_values! {
    /// Goodput: payload bits per second, counted by the receiver inside the window.
    goodput_bps: f64,
    /// Payload bits per second sent inside the window.
    sent_bps: f64,
    /// Requested less sent goodput, in b/s, if a rate was requested.
    shortfall_bps: f64,
    /// Frames received, or round trips or calls completed, per second.
    frames_per_s: f64,
    /// Calls handed over per second, before confirmation (batches).
    calls_queued_per_s: f64,
    /// Packets per second sent by the sending interface.
    packets_sent_per_s: f64,
    /// Packets per second received by the receiving interface.
    packets_received_per_s: f64,
    /// Length of the window at the receiver, in seconds.
    window_s: f64,
    /// Frames sent in the window.
    frames_sent: u64,
    /// Distinct frames of the window that arrived.
    frames_received: u64,
    /// Frames of the window that never arrived.
    frames_lost: u64,
    /// Duplicates: copies of frames that had already arrived.
    frames_duplicate: u64,
    /// Reordered frames: arrived after a later one.
    frames_reordered: u64,
    /// Loss rate: lost / sent, 0…1.
    loss_rate: f64,
    /// Mean one-way latency, from the start of the write to the end of the read.
    latency_mean_s: f64,
    /// Standard deviation of the one-way latency.
    latency_std_s: f64,
    /// Minimum of the one-way latency.
    latency_min_s: f64,
    /// Maximum of the one-way latency.
    latency_max_s: f64,
    /// Median of the one-way latency.
    latency_p50_s: f64,
    /// 99th percentile of the one-way latency.
    latency_p99_s: f64,
    /// 99.9th percentile of the one-way latency.
    latency_p999_s: f64,
    /// Upper bound of the latency error caused by the clocks.
    latency_bound_s: f64,
    /// Mean of the latency in the steady part of the window.
    latency_steady_mean_s: f64,
    /// Standard deviation of the latency in the steady part of the window.
    latency_steady_std_s: f64,
    /// Mean of the round trip.
    rtt_mean_s: f64,
    /// Standard deviation of the round trip.
    rtt_std_s: f64,
    /// Minimum of the round trip.
    rtt_min_s: f64,
    /// Maximum of the round trip.
    rtt_max_s: f64,
    /// Median of the round trip.
    rtt_p50_s: f64,
    /// 99th percentile of the round trip.
    rtt_p99_s: f64,
    /// 99.9th percentile of the round trip.
    rtt_p999_s: f64,
    /// Half the mean round trip, which is not a one-way latency.
    rtt_half_mean_s: f64,
    /// Half the standard deviation of the round trip.
    rtt_half_std_s: f64,
    /// Half the minimum of the round trip.
    rtt_half_min_s: f64,
    /// Half the maximum of the round trip.
    rtt_half_max_s: f64,
    /// Half the median of the round trip.
    rtt_half_p50_s: f64,
    /// Half the 99th percentile of the round trip.
    rtt_half_p99_s: f64,
    /// Half the 99.9th percentile of the round trip.
    rtt_half_p999_s: f64,
    /// Utilisation of the cores the sending end used, 0…1, less idle baseline and pacing spin.
    cpu_send: f64,
    /// Part of `cpu_send` in user mode.
    cpu_send_user: f64,
    /// Part of `cpu_send` in system mode.
    cpu_send_system: f64,
    /// Part of `cpu_send` in hardware interrupts.
    cpu_send_irq: f64,
    /// Part of `cpu_send` in software interrupts.
    cpu_send_softirq: f64,
    /// Time the hypervisor took from these cores; not part of `cpu_send`.
    cpu_send_steal: f64,
    /// Utilisation of the cores the receiving end used, 0…1, less idle baseline.
    cpu_recv: f64,
    /// Part of `cpu_recv` in user mode.
    cpu_recv_user: f64,
    /// Part of `cpu_recv` in system mode.
    cpu_recv_system: f64,
    /// Part of `cpu_recv` in hardware interrupts.
    cpu_recv_irq: f64,
    /// Part of `cpu_recv` in software interrupts.
    cpu_recv_softirq: f64,
    /// Time the hypervisor took from these cores; not part of `cpu_recv`.
    cpu_recv_steal: f64,
    /// Busy cores of the whole sending host, where the ends are on two hosts.
    cpu_send_cores: f64,
    /// Busy cores of the whole receiving host, where the ends are on two hosts.
    cpu_recv_cores: f64,
    /// Cores kept busy by the sending process's data threads alone, less pacing spin.
    cpu_send_process_cores: f64,
    /// Cores kept busy by the receiving process's data threads alone.
    cpu_recv_process_cores: f64,
    /// Error of the CPU values caused by the kernel's tick, 0…1.
    cpu_quantum: f64,
    /// Number of stalls: unexpected pauses inside the window.
    stalls: u64,
    /// Longest stall.
    longest_stall_s: f64,
}
