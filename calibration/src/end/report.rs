//! From what the threads of an end counted to what the end reports.

use super::threads::{Finished, Stream};
use crate::clock::fit::Fit;
use crate::flags;
use crate::host::cpu::Usage;
use crate::host::environment::Environment;
use crate::pattern::Pauses;
use crate::pattern::call::{StreamAnswered, StreamAsked};
use crate::pattern::receive::StreamReceived;
use crate::pattern::send::StreamSent;
use crate::report::{
    EndReport, InterfaceReport, PacingReport, ReceiveReport, RoundTripReport, SendReport,
};
use crate::settings::{Pattern, RunSettings};
use crate::statistics::LatencyRecorder;
use std::path::Path;

/// How to turn a time of the sender's clock into one of the own clock.
#[derive(Debug, Clone, Copy)]
pub enum Clocks<'a> {
    /// Both ends read the same clock.
    Same,
    /// This end made the fit: the peer's clock less its own.
    OwnFit(&'a Fit),
    /// The peer made the fit: this end's clock less the peer's.
    PeersFit(&'a Fit),
    /// Nobody knows.
    Unknown,
}

impl Clocks<'_> {
    /// The own clock less the peer's when the own clock shows `own_ns`, in ns.
    fn offset_ns(self, own_ns: u64) -> f64 {
        match self {
            Self::Same | Self::Unknown => 0.0,
            Self::OwnFit(fit) => -fit.offset_at(own_ns),
            Self::PeersFit(fit) => {
                let peers = fit.own_time_ns(own_ns).clamp(0, i128::from(u64::MAX));
                fit.offset_at(peers as u64)
            }
        }
    }
}

impl Finished {
    /// What this end says of the run. Times of the sender's clock are read by `clocks`.
    pub fn report(mut self, clocks: Clocks<'_>) -> EndReport {
        let threads = self.threads();
        let streams = std::mem::take(&mut self.streams);
        let end = self.end;
        let (opened, closed) = (&self.window[0], &self.window[1]);
        let baseline = end.baseline.as_ref().map(|(before, after)| (before, after));
        let mut report = EndReport {
            environment: Environment::read(Path::new(super::ROOT), end.interface.as_deref()),
            instrument: end.instrument,
            cores: end.layout.cores.clone(),
            usage: Usage::between(&opened.cpu, &closed.cpu, baseline, threads),
            interface: InterfaceReport {
                name: end.interface.clone().unwrap_or_default(),
                window: closed.interface - opened.interface,
                run: self.run[1].interface - self.run[0].interface,
            },
            identity: end.identity,
            sent: None,
            received: None,
            round_trips: None,
            flags: end.flags,
        };
        add_streams(&mut report, &end.settings, streams, clocks);
        report
    }
}

fn add_streams(
    report: &mut EndReport,
    settings: &RunSettings,
    streams: Vec<Stream>,
    clocks: Clocks<'_>,
) {
    let (mut sent, mut received, mut asked, mut answered) = (vec![], vec![], vec![], vec![]);
    for stream in streams {
        match stream {
            Stream::Sent(stream) => sent.push(stream),
            Stream::Received(stream) => received.push(stream),
            Stream::Asked(stream) => asked.push(stream),
            Stream::Answered(stream) => answered.push(stream),
        }
    }
    if !sent.is_empty() {
        report.sent = Some(send_report(settings, &sent, report.usage.window_s));
    }
    if !received.is_empty() {
        if received.iter().any(|stream| stream.truncated) {
            report.flags.push(flags::LATENCY_TRUNCATED.into());
        }
        report.received = Some(receive_report(settings, received, clocks));
    }
    if !asked.is_empty() {
        report.round_trips = Some(round_trip_report(settings, &asked));
    }
    if !answered.is_empty() {
        report.received = Some(answer_report(&answered));
    }
}

/// Frames a second of a stream's window.
///
/// Each frame brings the gap before it: n frames from the last one before the window on make n gaps,
/// so that a pause at the window's start counts. Without a frame before, the first one has no gap.
fn rate_fps(frames: u64, before_ns: u64, first_ns: u64, last_ns: u64) -> Option<f64> {
    let (gaps, from_ns) = match before_ns {
        0 => (frames.saturating_sub(1), first_ns),
        _ => (frames, before_ns),
    };
    let known = gaps > 0 && last_ns > from_ns;
    known.then(|| gaps as f64 / (last_ns - from_ns) as f64 * 1e9)
}

/// The sum of the streams' rates; `None` where no stream has one.
fn total(rates: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    rates.flatten().reduce(|a, b| a + b)
}

fn earliest(times_ns: impl Iterator<Item = u64>) -> u64 {
    times_ns.filter(|ns| *ns > 0).min().unwrap_or(0)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

fn send_report(settings: &RunSettings, sent: &[StreamSent], window_s: f64) -> SendReport {
    let bits = f64::from(settings.payload_bytes) * 8.0;
    let fps = total(
        sent.iter()
            .map(|s| rate_fps(s.counts.window, s.before_ns, s.first_ns, s.last_ns)),
    );
    let pauses = sent
        .iter()
        .map(StreamSent::pauses)
        .fold(Pauses::default(), Pauses::and);
    SendReport {
        window_frames: sent.iter().map(|s| s.counts.window).sum(),
        run_frames: sent.iter().map(|s| s.counts.run).sum(),
        window_start_ns: earliest(sent.iter().map(|s| s.first_ns)),
        window_end_ns: sent.iter().map(|s| s.last_ns).max().unwrap_or(0),
        send_errors: sent.iter().map(|s| s.send_errors).sum(),
        sent_bps: fps.map(|fps| fps * bits),
        pacing: settings
            .rate_fps
            .map(|asked| pacing_report(asked, fps, sent, window_s)),
        stalls: pauses.count,
        longest_stall_s: seconds(pauses.longest_ns),
    }
}

fn pacing_report(
    asked_fps: f64,
    achieved: Option<f64>,
    sent: &[StreamSent],
    window_s: f64,
) -> PacingReport {
    let mut errors = LatencyRecorder::new();
    sent.iter()
        .for_each(|stream| errors.merge(&stream.send_error));
    let errors = errors.summary();
    let cores = |ns: u64| {
        if window_s > 0.0 {
            seconds(ns) / window_s
        } else {
            0.0
        }
    };
    PacingReport {
        asked_fps,
        achieved_fps: achieved,
        send_error_p50_s: errors.as_ref().map(|e| e.p50_s),
        send_error_p99_s: errors.as_ref().map(|e| e.p99_s),
        send_error_max_s: errors.as_ref().map(|e| e.max_s),
        spin_cores: cores(sent.iter().map(|s| s.waited.spin_ns).sum()),
        sending_cores: cores(sent.iter().map(|s| s.sending_ns).sum()),
        latency_from_intended_mean_s: None,
    }
}

fn receive_report(
    settings: &RunSettings,
    mut received: Vec<StreamReceived>,
    clocks: Clocks<'_>,
) -> ReceiveReport {
    let bits = f64::from(settings.payload_bytes) * 8.0;
    for stream in &mut received {
        stream.correct(settings.payload_bytes, |own_ns| clocks.offset_ns(own_ns));
    }
    let goodput = received
        .iter()
        .map(|s| rate_fps(s.window_frames, s.before_ns, s.first_ns, s.last_ns));
    let goodput_bps = total(goodput).map(|fps| fps * bits);
    let pauses = received
        .iter()
        .map(|s| s.pauses)
        .fold(Pauses::default(), Pauses::and);
    let stamped = received.iter().all(|s| s.stamped);
    let numbered = |count: u64| stamped.then_some(count);
    let mut report = ReceiveReport {
        window_frames: received.iter().map(|s| s.window_frames).sum(),
        run_frames: received.iter().map(|s| s.run_frames).sum(),
        duplicates: numbered(received.iter().map(|s| s.duplicates).sum()),
        reordered: numbered(received.iter().map(|s| s.reordered).sum()),
        foreign: received.iter().map(|s| s.foreign).sum(),
        goodput_bps,
        window_start_ns: earliest(received.iter().map(|s| s.first_ns)),
        window_end_ns: received.iter().map(|s| s.last_ns).max().unwrap_or(0),
        socket_window_bytes: sum_known(received.iter().map(|s| s.socket_window_bytes)),
        socket_overflow: sum_known(received.iter().map(|s| s.overflow)),
        stalls: pauses.count,
        longest_stall_s: seconds(pauses.longest_ns),
        ..ReceiveReport::default()
    };
    if stamped && !matches!(clocks, Clocks::Unknown) {
        add_latency(&mut report, received, clocks);
    }
    report
}

fn add_latency(report: &mut ReceiveReport, received: Vec<StreamReceived>, clocks: Clocks<'_>) {
    let from_intended = from_intended_mean_s(&received, clocks);
    let mut streams = received.into_iter();
    let Some(mut all) = streams.next() else {
        return;
    };
    for stream in streams {
        all.latency.merge(&stream.latency);
        all.slices.merge(&stream.slices);
        if let (Some(raw), Some(more)) = (&mut all.raw_ns, stream.raw_ns) {
            raw.extend(more);
        }
    }
    report.latency = all.latency.summary();
    report.steady = report
        .latency
        .is_some()
        .then(|| all.slices.steady(report.window_start_ns));
    report.raw_latency_s = all
        .raw_ns
        .map(|raw| raw.iter().map(|ns| *ns as f64 * 1e-9).collect());
    report.latency_from_intended_mean_s = from_intended;
}

/// Mean of receive less intended time; the clocks are taken as they stood in the middle of the window.
fn from_intended_mean_s(received: &[StreamReceived], clocks: Clocks<'_>) -> Option<f64> {
    let frames: u64 = received.iter().map(|s| s.window_frames).sum();
    let total: f64 = received
        .iter()
        .map(|s| {
            let middle = s.first_ns + (s.last_ns - s.first_ns) / 2;
            s.from_intended_ns as f64 - s.window_frames as f64 * clocks.offset_ns(middle)
        })
        .sum();
    (frames > 0).then(|| total / frames as f64 * 1e-9)
}

fn sum_known(values: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    values.sum()
}

fn round_trip_report(settings: &RunSettings, asked: &[StreamAsked]) -> RoundTripReport {
    let first_ns = earliest(asked.iter().map(|s| s.first_ns));
    let last_ns = asked.iter().map(|s| s.last_ns).max().unwrap_or(0);
    let elapsed_s = seconds(last_ns.saturating_sub(first_ns));
    let answered: u64 = asked.iter().map(|s| s.answered).sum();
    let bits = f64::from(settings.payload_bytes) * 8.0;
    let mut round_trip = LatencyRecorder::new();
    asked
        .iter()
        .for_each(|stream| round_trip.merge(&stream.round_trip));
    let batch = matches!(
        settings.pattern,
        Pattern::OnewayBatch | Pattern::TwowayBatch
    );
    let queued_ns = asked.iter().map(|s| s.queued_ns).max().unwrap_or(0);
    let pauses = asked
        .iter()
        .map(|s| s.pauses)
        .fold(Pauses::default(), Pauses::and);
    let spin_ns: u64 = asked.iter().map(|s| s.waited.spin_ns).sum();
    let raw = asked
        .iter()
        .map(|s| s.raw_ns.clone())
        .collect::<Option<Vec<_>>>();
    RoundTripReport {
        asked: asked.iter().map(|s| s.counts.window).sum(),
        answered,
        elapsed_s,
        queued_s: (batch && queued_ns > first_ns).then(|| seconds(queued_ns - first_ns)),
        round_trip: round_trip.summary(),
        raw_round_trip_s: raw.map(|all| {
            all.into_iter()
                .flatten()
                .map(|ns| ns as f64 * 1e-9)
                .collect()
        }),
        goodput_bps: (elapsed_s > 0.0).then(|| answered as f64 * bits / elapsed_s),
        spin_cores: if elapsed_s > 0.0 {
            seconds(spin_ns) / elapsed_s
        } else {
            0.0
        },
        stalls: pauses.count,
        longest_stall_s: seconds(pauses.longest_ns),
    }
}

fn answer_report(answered: &[StreamAnswered]) -> ReceiveReport {
    ReceiveReport {
        window_frames: answered.iter().map(|s| s.window_frames).sum(),
        run_frames: answered.iter().map(|s| s.run_frames).sum(),
        foreign: answered.iter().map(|s| s.foreign).sum(),
        window_start_ns: earliest(answered.iter().map(|s| s.first_ns)),
        window_end_ns: answered.iter().map(|s| s.last_ns).max().unwrap_or(0),
        ..ReceiveReport::default()
    }
}
