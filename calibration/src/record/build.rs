//! Making one record of what the two ends say.

use super::{ClockReport, Ends, LossReport, RunResult, SCHEMA_VERSION, Tool, WireReport};
use super::{Record, point};
use crate::clock::fit::Fit;
use crate::flags;
use crate::host::cpu::utilisation;
use crate::host::network::InterfaceCounters;
use crate::report::{EndReport, ReceiveReport, RoundTripReport, SendReport};
use crate::settings::RunSettings;
use crate::statistics::LatencySummary;
use serde_json::{Map, Value};

/// What the caller of a run knows in the end.
#[derive(Debug, Clone)]
pub struct Told {
    /// Random name of the run.
    pub run: String,
    /// When it began (UTC, RFC 3339).
    pub started_utc: String,
    /// What was asked.
    pub settings: RunSettings,
    /// Words of the asker that nobody measures: switches, endpoints, other goodput, options.
    pub labels: Map<String, Value>,
    /// What the system chose where it was left to it.
    pub chosen: Map<String, Value>,
    /// The end that called.
    pub caller: EndReport,
    /// The end that was called.
    pub responder: EndReport,
    /// The responder's clock against the caller's; `None` where no exchange fits.
    pub fit: Option<Fit>,
}

/// The record of a run.
pub fn record(told: Told) -> Record {
    let Told {
        run,
        started_utc,
        settings,
        labels,
        chosen,
        caller,
        responder,
        fit,
    } = told;
    let ends = if settings.reverse {
        Ends {
            send: responder,
            recv: caller,
        }
    } else {
        Ends {
            send: caller,
            recv: responder,
        }
    };
    let clock = clock_report(&ends, fit, settings.reverse);
    let result = result(&settings, &ends, &clock);
    let flags = all_flags(&ends, &result, &clock);
    let Ends { send, recv } = ends;
    let received = recv.received.clone().unwrap_or_default();
    let asked = send.round_trips.clone();
    let histogram =
        |summary: &Option<LatencySummary>| summary.as_ref().map(|s| s.histogram.clone());
    Record {
        schema_version: SCHEMA_VERSION,
        run,
        started_utc,
        tool: Tool {
            name: "icprobe".into(),
            version: env!("CARGO_PKG_VERSION").into(),
        },
        point: point::point(&settings, labels, &send.environment),
        chosen,
        socket_window_bytes: received.socket_window_bytes,
        steady: received.steady,
        latency_histogram: histogram(&received.latency),
        rtt_histogram: asked.as_ref().and_then(|a| histogram(&a.round_trip)),
        raw_latency_s: received.raw_latency_s.clone(),
        raw_rtt_s: asked.and_then(|a| a.raw_round_trip_s),
        pacing: pacing(&send, &received),
        loss: send
            .sent
            .as_ref()
            .map(|sent| loss(sent, &received, &send, &recv)),
        wire: wire(&result, &send.interface.window, &recv.interface.window),
        result,
        settings,
        clock,
        cpu_modes: Ends {
            send: send.usage,
            recv: recv.usage,
        },
        interface: Ends {
            send: send.interface,
            recv: recv.interface,
        },
        instrument: Ends {
            send: send.instrument,
            recv: recv.instrument,
        },
        environment: Ends {
            send: send.environment,
            recv: recv.environment,
        },
        flags,
        plan: None,
    }
}

fn clock_report(ends: &Ends<EndReport>, fit: Option<Fit>, reverse: bool) -> ClockReport {
    let identity = Ends {
        send: ends.send.identity.clone(),
        recv: ends.recv.identity.clone(),
    };
    let same = identity.send.same_clock(&identity.recv);
    let fit = fit.filter(|_| !same);
    let sign = if reverse { -1.0 } else { 1.0 };
    ClockReport {
        same,
        identity,
        offset_s: fit.as_ref().map(|f| sign * f.offset_ns * 1e-9),
        drift: fit.as_ref().map(|f| sign * f.drift),
        bound_s: fit.as_ref().map_or(0.0, |f| f.bound_ns * 1e-9),
        exchanges: fit.as_ref().map(|f| f.exchanges),
        rtt_min_s: fit.as_ref().map(|f| f.rtt_min_ns as f64 * 1e-9),
        fit,
    }
}

fn result(settings: &RunSettings, ends: &Ends<EndReport>, clock: &ClockReport) -> RunResult {
    let mut result = RunResult::default();
    if let (Some(sent), Some(received)) = (&ends.send.sent, &ends.recv.received) {
        stream(&mut result, settings, sent, received);
        if result.latency_mean_s.is_some() {
            result.latency_bound_s = Some(clock.bound_s);
        }
    }
    if let Some(asked) = &ends.send.round_trips {
        round_trips(&mut result, asked);
    }
    cpu(&mut result, ends);
    packets(&mut result, ends);
    result
}

fn stream(
    result: &mut RunResult,
    settings: &RunSettings,
    sent: &SendReport,
    received: &ReceiveReport,
) {
    let lost = sent.window_frames.saturating_sub(received.window_frames);
    result.goodput_bps = received.goodput_bps;
    result.sent_bps = sent.sent_bps;
    result.shortfall_bps = settings
        .load_bps()
        .zip(sent.sent_bps)
        .map(|(load, sent)| (load - sent).max(0.0));
    result.frames_per_s = received
        .goodput_bps
        .map(|bps| bps / 8.0 / f64::from(settings.payload_bytes));
    result.window_s = Some(span_s(received.window_start_ns, received.window_end_ns));
    result.frames_sent = Some(sent.window_frames);
    result.frames_received = Some(received.window_frames);
    result.frames_lost = Some(lost);
    result.frames_duplicate = received.duplicates;
    result.frames_reordered = received.reordered;
    result.loss_rate = (sent.window_frames > 0).then(|| lost as f64 / sent.window_frames as f64);
    result.stalls = Some(sent.stalls + received.stalls);
    result.longest_stall_s = Some(sent.longest_stall_s.max(received.longest_stall_s));
    if let Some(latency) = &received.latency {
        one_way(result, latency);
    }
    if let Some(steady) = received.steady.as_ref().filter(|s| s.detected) {
        result.latency_steady_mean_s = steady.steady.latency_mean_s;
        result.latency_steady_std_s = steady.steady.latency_std_s;
    }
}

fn one_way(result: &mut RunResult, latency: &LatencySummary) {
    result.latency_mean_s = Some(latency.mean_s);
    result.latency_std_s = latency.std_s;
    result.latency_min_s = Some(latency.min_s);
    result.latency_max_s = Some(latency.max_s);
    result.latency_p50_s = Some(latency.p50_s);
    result.latency_p99_s = Some(latency.p99_s);
    result.latency_p999_s = Some(latency.p999_s);
}

fn round_trips(result: &mut RunResult, asked: &RoundTripReport) {
    let a_second = |count: u64, seconds: f64| (seconds > 0.0).then(|| count as f64 / seconds);
    result.goodput_bps = asked.goodput_bps;
    result.frames_per_s = a_second(asked.answered, asked.elapsed_s);
    result.calls_queued_per_s = asked.queued_s.and_then(|s| a_second(asked.asked, s));
    result.window_s = Some(asked.elapsed_s);
    result.frames_sent = Some(asked.asked);
    result.frames_received = Some(asked.answered);
    result.frames_lost = Some(asked.asked.saturating_sub(asked.answered));
    result.stalls = Some(asked.stalls);
    result.longest_stall_s = Some(asked.longest_stall_s);
    let Some(rtt) = &asked.round_trip else { return };
    result.rtt_mean_s = Some(rtt.mean_s);
    result.rtt_std_s = rtt.std_s;
    result.rtt_min_s = Some(rtt.min_s);
    result.rtt_max_s = Some(rtt.max_s);
    result.rtt_p50_s = Some(rtt.p50_s);
    result.rtt_p99_s = Some(rtt.p99_s);
    result.rtt_p999_s = Some(rtt.p999_s);
    result.rtt_half_mean_s = Some(rtt.mean_s / 2.0);
    result.rtt_half_std_s = rtt.std_s.map(|std| std / 2.0);
    result.rtt_half_min_s = Some(rtt.min_s / 2.0);
    result.rtt_half_max_s = Some(rtt.max_s / 2.0);
    result.rtt_half_p50_s = Some(rtt.p50_s / 2.0);
    result.rtt_half_p99_s = Some(rtt.p99_s / 2.0);
    result.rtt_half_p999_s = Some(rtt.p999_s / 2.0);
}

fn cpu(result: &mut RunResult, ends: &Ends<EndReport>) {
    let (send_spin, recv_spin) = (spin_cores(&ends.send), spin_cores(&ends.recv));
    result.cpu_send_process_cores = Some((ends.send.usage.process_cores - send_spin).max(0.0));
    result.cpu_recv_process_cores = Some((ends.recv.usage.process_cores - recv_spin).max(0.0));
    let window_s = ends.send.usage.window_s.min(ends.recv.usage.window_s);
    let cores = ends.send.cores.len().min(ends.recv.cores.len()).max(1);
    result.cpu_quantum = (window_s > 0.0).then(|| ends.send.usage.tick_s / window_s / cores as f64);
    if share_cores(ends) {
        return;
    }
    if let Some(send) = utilisation(&ends.send.usage, &ends.send.cores, send_spin) {
        result.cpu_send = Some(send.cpu);
        result.cpu_send_user = Some(send.user);
        result.cpu_send_system = Some(send.system);
        result.cpu_send_irq = Some(send.irq);
        result.cpu_send_softirq = Some(send.softirq);
        result.cpu_send_steal = Some(send.steal);
    }
    if let Some(recv) = utilisation(&ends.recv.usage, &ends.recv.cores, recv_spin) {
        result.cpu_recv = Some(recv.cpu);
        result.cpu_recv_user = Some(recv.user);
        result.cpu_recv_system = Some(recv.system);
        result.cpu_recv_irq = Some(recv.irq);
        result.cpu_recv_softirq = Some(recv.softirq);
        result.cpu_recv_steal = Some(recv.steal);
    }
    if !same_host(ends) {
        result.cpu_send_cores = busy_cores(&ends.send, send_spin);
        result.cpu_recv_cores = busy_cores(&ends.recv, recv_spin);
    }
}

/// Busy cores of a whole host, less idle baseline and pacing spin.
fn busy_cores(end: &EndReport, spin_cores: f64) -> Option<f64> {
    let all: Vec<usize> = end.usage.cores.iter().map(|core| core.core).collect();
    utilisation(&end.usage, &all, spin_cores).map(|all_of_it| all_of_it.cpu * all.len() as f64)
}

fn spin_cores(end: &EndReport) -> f64 {
    let paced = end
        .sent
        .as_ref()
        .and_then(|s| s.pacing.as_ref())
        .map(|p| p.spin_cores);
    paced
        .or(end.round_trips.as_ref().map(|r| r.spin_cores))
        .unwrap_or(0.0)
}

fn same_host(ends: &Ends<EndReport>) -> bool {
    ends.send.identity.boot_id == ends.recv.identity.boot_id
}

fn share_cores(ends: &Ends<EndReport>) -> bool {
    same_host(ends)
        && ends
            .send
            .cores
            .iter()
            .any(|core| ends.recv.cores.contains(core))
}

fn packets(result: &mut RunResult, ends: &Ends<EndReport>) {
    let a_second = |packets: u64, end: &EndReport| {
        let known = !end.interface.name.is_empty() && end.usage.window_s > 0.0;
        known.then(|| packets as f64 / end.usage.window_s)
    };
    result.packets_sent_per_s = a_second(ends.send.interface.window.tx_packets, &ends.send);
    result.packets_received_per_s = a_second(ends.recv.interface.window.rx_packets, &ends.recv);
}

fn pacing(send: &EndReport, received: &ReceiveReport) -> Option<crate::report::PacingReport> {
    let mut pacing = send.sent.as_ref()?.pacing.clone()?;
    pacing.latency_from_intended_mean_s = received.latency_from_intended_mean_s;
    Some(pacing)
}

fn loss(
    sent: &SendReport,
    received: &ReceiveReport,
    send: &EndReport,
    recv: &EndReport,
) -> LossReport {
    LossReport {
        send_errors: sent.send_errors,
        interface_send_dropped: send.interface.run.tx_dropped,
        interface_recv_dropped: recv.interface.run.rx_dropped + recv.interface.run.rx_missed,
        socket_overflow: received.socket_overflow,
        run_frames_sent: sent.run_frames,
        run_frames_received: received.run_frames,
    }
}

fn wire(result: &RunResult, send: &InterfaceCounters, recv: &InterfaceCounters) -> WireReport {
    let ratio = |over: u64, under: Option<u64>| {
        under
            .filter(|u| *u > 0 && over > 0)
            .map(|u| over as f64 / u as f64)
    };
    WireReport {
        packets_per_frame_sent: ratio(send.tx_packets, result.frames_sent),
        packet_sent_mean_bytes: ratio(send.tx_bytes, Some(send.tx_packets)),
        packets_per_frame_received: ratio(recv.rx_packets, result.frames_received),
        packet_received_mean_bytes: ratio(recv.rx_bytes, Some(recv.rx_packets)),
    }
}

/// Involuntary context switches a second and thread beyond which a run counts as preempted.
const PREEMPTED_PER_S: f64 = 10.0;
/// Share of a core's time that the hypervisor may take unremarked.
const STEAL_SHARE: f64 = 0.01;
/// Share of a core's idle time that others may use unremarked.
const BUSY_SHARE: f64 = 0.1;
/// Share by which a paced sender may miss its rate unremarked.
const RATE_SHARE: f64 = 1e-3;

fn all_flags(ends: &Ends<EndReport>, result: &RunResult, clock: &ClockReport) -> Vec<String> {
    let latency = ends.recv.received.as_ref().and_then(|r| r.latency.as_ref());
    let steady = ends.recv.received.as_ref().and_then(|r| r.steady.as_ref());
    let derived = [
        (share_cores(ends), flags::SHARED_CORES),
        (
            preempted(&ends.send) || preempted(&ends.recv),
            flags::PREEMPTED,
        ),
        (result.stalls.is_some_and(|s| s > 0), flags::STALLED),
        (stolen(&ends.send) || stolen(&ends.recv), flags::STEAL),
        (
            latency.is_some_and(|l| l.negative > 0),
            flags::NEGATIVE_LATENCY,
        ),
        (
            latency.is_some_and(|l| clock.bound_s > l.mean_s / 2.0),
            flags::CLOCK_BOUND,
        ),
        (steady.is_some_and(|s| !s.detected), flags::NO_STEADY_STATE),
        (pacing_error(&ends.send), flags::PACING_ERROR),
        (busy(&ends.send) || busy(&ends.recv), flags::BUSY_HOST),
        (foreign(&ends.recv), flags::FOREIGN_FRAMES),
    ];
    let said = ends.send.flags.iter().chain(&ends.recv.flags).cloned();
    let mut all: Vec<String> = derived
        .iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, flag)| (*flag).to_owned())
        .chain(said)
        .collect();
    all.sort();
    all.dedup();
    all
}

fn preempted(end: &EndReport) -> bool {
    let threads = end.cores.len().max(1) as f64;
    end.usage.involuntary_switches as f64
        > (PREEMPTED_PER_S * end.usage.window_s * threads).max(1.0)
}

fn stolen(end: &EndReport) -> bool {
    end.usage
        .cores
        .iter()
        .any(|core| end.cores.contains(&core.core) && core.steal > STEAL_SHARE)
}

fn busy(end: &EndReport) -> bool {
    let idle = end
        .usage
        .baseline
        .iter()
        .flat_map(|baseline| &baseline.cores);
    idle.filter(|core| end.cores.contains(&core.core))
        .any(|core| core.busy() > BUSY_SHARE)
}

/// The rate was missed though less than nine tenths of the time went into send calls.
fn pacing_error(end: &EndReport) -> bool {
    let Some(pacing) = end.sent.as_ref().and_then(|s| s.pacing.as_ref()) else {
        return false;
    };
    let missed = |fps: f64| (fps / pacing.asked_fps - 1.0).abs() > RATE_SHARE;
    pacing.achieved_fps.is_some_and(missed)
        && pacing.sending_cores < 0.9 * end.cores.len().max(1) as f64
}

fn foreign(end: &EndReport) -> bool {
    let Some(received) = &end.received else {
        return false;
    };
    received.foreign * 1000 > received.run_frames
}

fn span_s(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 * 1e-9
}
