//! Combines the reports of both ends into one record.

use super::{ClockReport, Ends, LossReport, RunResult, SCHEMA_VERSION, Tool, WireReport};
use super::{Record, cpu, flagging, point};
use crate::clock::fit::Fit;
use crate::report::{EndReport, PacingReport, ReceiveReport, RoundTripReport, SendReport};
use crate::settings::RunSettings;
use crate::statistics::LatencySummary;
use serde_json::{Map, Value};

/// Inputs of a record, known to the caller after the run.
#[derive(Debug, Clone)]
pub struct Told {
    /// Random name of the run.
    pub run: String,
    /// Start time of the run (UTC, RFC 3339).
    pub started_utc: String,
    /// Settings of the run.
    pub settings: RunSettings,
    /// Labels given by the user, not measured: switches, endpoints, other goodput, options.
    pub labels: Map<String, Value>,
    /// Report of the caller.
    pub caller: EndReport,
    /// Report of the responder.
    pub responder: EndReport,
    /// Fit of the responder's clock relative to the caller's; `None` if no fit exists.
    pub fit: Option<Fit>,
}

/// Builds the record of a run.
pub fn record(told: Told) -> Record {
    let settings = told.settings;
    let ends = Ends::of(told.caller, told.responder, settings.reverse);
    let clock = clock_report(&ends, told.fit, settings.reverse);
    let result = result(&settings, &ends, &clock);
    let received = ends.recv.received.as_ref();
    let asked = ends.send.round_trips.as_ref();
    let latency = received.and_then(|r| r.latency.as_ref());
    let rtt = asked.and_then(|a| a.round_trip.as_ref());
    Record {
        schema_version: SCHEMA_VERSION,
        run: told.run,
        started_utc: told.started_utc,
        tool: tool(),
        point: point::point(&settings, told.labels, &ends.send.environment),
        chosen: ends.map(|end| end.chosen.clone()),
        socket_window_bytes: received.and_then(|r| r.socket_window_bytes),
        steady: received.and_then(|r| r.steady),
        latency_histogram: latency.map(|l| l.histogram.clone()),
        rtt_histogram: rtt.map(|r| r.histogram.clone()),
        raw_latency_s: received.and_then(|r| r.raw_latency_s.clone()),
        raw_rtt_s: asked.and_then(|a| a.raw_round_trip_s.clone()),
        pacing: pacing(&ends),
        loss: loss(&ends),
        wire: wire(&result, &ends),
        cpu_modes: ends.map(|end| end.usage.clone()),
        cores: ends.map(|end| end.cores.clone()),
        interface: interface(&ends),
        instrument: ends.map(|end| end.instrument),
        environment: ends.map(|end| end.environment.clone()),
        flags: flagging::flags(&ends, &result, &clock),
        result,
        settings,
        clock,
        plan: None,
    }
}

fn tool() -> Tool {
    Tool {
        name: "icprobe".into(),
        version: env!("CARGO_PKG_VERSION").into(),
    }
}

impl Ends<EndReport> {
    /// Orders the reports as sender and receiver; the caller sends unless the run is reversed.
    fn of(caller: EndReport, responder: EndReport, reverse: bool) -> Self {
        let (send, recv) = match reverse {
            true => (responder, caller),
            false => (caller, responder),
        };
        Self { send, recv }
    }

    fn map<T>(&self, of: impl Fn(&EndReport) -> T) -> Ends<T> {
        Ends {
            send: of(&self.send),
            recv: of(&self.recv),
        }
    }

    /// Whether both ends are on one host, independent of their clocks.
    pub(super) fn same_host(&self) -> bool {
        self.send.identity.same_host(&self.recv.identity)
    }
}

fn clock_report(ends: &Ends<EndReport>, fit: Option<Fit>, reverse: bool) -> ClockReport {
    let identity = ends.map(|end| end.identity.clone());
    let same = identity.send.same_clock(&identity.recv);
    let fit = fit.filter(|_| !same);
    let sign = if reverse { -1.0 } else { 1.0 };
    ClockReport {
        same,
        identity,
        offset_s: fit.map(|f| sign * f.offset_ns * 1e-9),
        drift: fit.map(|f| sign * f.drift),
        bound_s: if same {
            Some(0.0)
        } else {
            fit.map(|f| f.bound_ns * 1e-9)
        },
        exchanges: fit.map(|f| f.exchanges),
        rtt_min_s: fit.map(|f| f.rtt_min_ns as f64 * 1e-9),
        fit,
    }
}

fn result(settings: &RunSettings, ends: &Ends<EndReport>, clock: &ClockReport) -> RunResult {
    let mut result = RunResult::default();
    if let (Some(sent), Some(received)) = (&ends.send.sent, &ends.recv.received) {
        stream(&mut result, settings, sent, received);
        if let Some(latency) = &received.latency {
            one_way(&mut result, latency);
            result.latency_bound_s = clock.bound_s;
        }
    }
    if let Some(asked) = &ends.send.round_trips {
        questions(&mut result, asked);
        if let Some(rtt) = &asked.round_trip {
            round_trips(&mut result, rtt);
        }
    }
    cpu::add(&mut result, settings, ends);
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
    let bits = f64::from(settings.payload_bytes) * 8.0;
    let arrived_fps = arrived_fps(sent, received, lost);
    let sent_fps = sent.span_s.map(|span| sent.span_frames as f64 / span);
    result.goodput_bps = arrived_fps.map(|fps| fps * bits);
    result.frames_per_s = arrived_fps;
    result.sent_bps = sent_fps.map(|fps| fps * bits);
    let shortfall = |load: f64| sent_fps.map(|fps| (load - fps * bits).max(0.0));
    result.shortfall_bps = settings.load_bps().and_then(shortfall);
    result.window_s = received.span_s;
    result.frames_sent = Some(sent.window_frames);
    result.frames_received = Some(received.window_frames);
    result.frames_lost = Some(lost);
    result.frames_duplicate = received.duplicates;
    result.frames_reordered = received.reordered;
    let some = sent.window_frames > 0;
    result.loss_rate = some.then(|| lost as f64 / sent.window_frames as f64);
    result.stalls = Some(sent.stalls + received.stalls);
    result.longest_stall_s = Some(sent.longest_stall_s.max(received.longest_stall_s));
    if let Some(steady) = received.steady.as_ref().filter(|s| s.detected) {
        result.latency_steady_mean_s = steady.steady.latency_mean_s;
        result.latency_steady_std_s = steady.steady.latency_std_s;
    }
}

/// Rate of arrived frames per second. If frames were lost, the last ones may be among them; then
/// the time is at least that over which the sender sent.
fn arrived_fps(sent: &SendReport, received: &ReceiveReport, lost: u64) -> Option<f64> {
    let span_s = received.span_s?;
    let span_s = match sent.span_s {
        Some(sent_s) if lost > 0 => span_s.max(sent_s),
        _ => span_s,
    };
    Some(received.span_frames as f64 / span_s)
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

fn questions(result: &mut RunResult, asked: &RoundTripReport) {
    let a_second = |count: u64, seconds: f64| (seconds > 0.0).then(|| count as f64 / seconds);
    result.goodput_bps = asked.goodput_bps;
    result.frames_per_s = asked
        .answered
        .and_then(|frames| a_second(frames, asked.elapsed_s));
    result.calls_queued_per_s = asked.queued_s.and_then(|s| a_second(asked.asked, s));
    result.window_s = (asked.elapsed_s > 0.0).then_some(asked.elapsed_s);
    result.frames_sent = Some(asked.asked);
    result.frames_received = asked.answered;
    result.frames_lost = asked
        .answered
        .map(|answered| asked.asked.saturating_sub(answered));
    result.stalls = asked.stalls;
    result.longest_stall_s = asked.longest_stall_s;
}

fn round_trips(result: &mut RunResult, rtt: &LatencySummary) {
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

fn packets(result: &mut RunResult, ends: &Ends<EndReport>) {
    let a_second = |packets: u64, end: &EndReport| {
        (end.usage.window_s > 0.0).then(|| packets as f64 / end.usage.window_s)
    };
    let send = ends.send.interface.as_ref().map(|i| i.window.tx_packets);
    let recv = ends.recv.interface.as_ref().map(|i| i.window.rx_packets);
    result.packets_sent_per_s = send.and_then(|packets| a_second(packets, &ends.send));
    result.packets_received_per_s = recv.and_then(|packets| a_second(packets, &ends.recv));
}

fn pacing(ends: &Ends<EndReport>) -> Option<PacingReport> {
    let mut pacing = ends.send.sent.as_ref()?.pacing.clone()?;
    let received = ends.recv.received.as_ref();
    pacing.latency_from_intended_mean_s = received.and_then(|r| r.latency_from_intended_mean_s);
    Some(pacing)
}

fn loss(ends: &Ends<EndReport>) -> Option<LossReport> {
    let (sent, received) = (ends.send.sent.as_ref()?, ends.recv.received.as_ref()?);
    let (send, recv) = (ends.send.interface.as_ref(), ends.recv.interface.as_ref());
    Some(LossReport {
        send_errors: sent.send_errors,
        interface_send_dropped: send.map(|i| i.run.tx_dropped),
        interface_recv_dropped: recv.map(|i| i.run.rx_dropped + i.run.rx_missed),
        socket_overflow: received.socket_overflow,
        run_frames_sent: sent.run_frames,
        run_frames_received: received.run_frames,
    })
}

fn interface(ends: &Ends<EndReport>) -> Option<Ends<crate::report::InterfaceReport>> {
    let send = ends.send.interface.clone()?;
    Some(Ends {
        send,
        recv: ends.recv.interface.clone()?,
    })
}

fn wire(result: &RunResult, ends: &Ends<EndReport>) -> WireReport {
    let ratio = |over: u64, under: u64| (under > 0 && over > 0).then(|| over as f64 / under as f64);
    let send = ends.send.interface.as_ref().map(|i| i.window);
    let recv = ends.recv.interface.as_ref().map(|i| i.window);
    let (sent, received) = (
        result.frames_sent.unwrap_or(0),
        result.frames_received.unwrap_or(0),
    );
    WireReport {
        packets_per_frame_sent: send.and_then(|i| ratio(i.tx_packets, sent)),
        packet_sent_mean_bytes: send.and_then(|i| ratio(i.tx_bytes, i.tx_packets)),
        packets_per_frame_received: recv.and_then(|i| ratio(i.rx_packets, received)),
        packet_received_mean_bytes: recv.and_then(|i| ratio(i.rx_bytes, i.rx_packets)),
    }
}

#[cfg(test)]
mod tests;
