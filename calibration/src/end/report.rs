//! Builds the report of an end from the counts of its threads.

use super::threads::{Finished, Sample, Stream};
use crate::clock::fit::Fit;
use crate::flags;
use crate::host::cpu::{ThreadUsage, Usage};
use crate::pattern::call::{StreamAnswered, StreamAsked};
use crate::pattern::receive::StreamReceived;
use crate::pattern::send::StreamSent;
use crate::pattern::{Pauses, Span};
use crate::report::{
    EndReport, InterfaceReport, PacingReport, ReceiveReport, RoundTripReport, SendReport,
};
use crate::settings::{Pattern, RunSettings};
use crate::statistics::LatencyRecorder;

/// Conversion from the sender's clock to the own clock.
#[derive(Debug, Clone, Copy)]
pub enum Clocks<'a> {
    /// Both ends read the same clock.
    Same,
    /// Fit made by this end: the peer's clock less its own.
    OwnFit(&'a Fit),
    /// Fit made by the peer: this end's clock less the peer's.
    PeersFit(&'a Fit),
    /// The relation is unknown.
    Unknown,
}

impl Clocks<'_> {
    /// Converts a time of the peer's clock to the own clock; unchanged if the relation is unknown.
    fn own_ns(self, peer_ns: u64) -> i128 {
        match self {
            Self::Same | Self::Unknown => i128::from(peer_ns),
            Self::OwnFit(fit) => fit.own_time_ns(peer_ns),
            Self::PeersFit(fit) => i128::from(peer_ns) + fit.offset_at(peer_ns).round() as i128,
        }
    }
}

impl Finished {
    /// Creates the conversion from the caller's `fit`; `mine`: this end made the fit.
    pub fn clocks<'a>(&self, fit: Option<&'a Fit>, mine: bool) -> Clocks<'a> {
        match fit {
            _ if self.end.same_clock() => Clocks::Same,
            Some(fit) if mine => Clocks::OwnFit(fit),
            Some(fit) => Clocks::PeersFit(fit),
            None => Clocks::Unknown,
        }
    }

    /// Builds the report. `clocks` converts times of the sender's clock.
    pub fn report(mut self, clocks: Clocks<'_>) -> EndReport {
        let streams = std::mem::take(&mut self.streams);
        let mut report = self.without_streams(streams.iter().map(Stream::usage).sum());
        if matches!(clocks, Clocks::Unknown) && self.end.settings.pattern == Pattern::Stream {
            report.flags.push(flags::CLOCKS_UNKNOWN.into());
        }
        add_streams(&mut report, &self.end.settings, streams, clocks);
        report
    }

    fn without_streams(&self, threads: ThreadUsage) -> EndReport {
        let end = &self.end;
        let [opened, closed] = &self.window;
        let baseline = end.baseline.as_ref().map(|(before, after)| (before, after));
        let mut flags = end.flags.clone();
        if !self.complete {
            flags.push(flags::INCOMPLETE.into());
        }
        EndReport {
            identity: end.identity.clone(),
            environment: self.environment.clone(),
            instrument: end.instrument,
            cores: end.layout.cores.clone(),
            usage: Usage::between(&opened.cpu, &closed.cpu, baseline, threads),
            interface: self.interface(),
            chosen: self.chosen.clone(),
            sent: None,
            received: None,
            round_trips: None,
            flags,
        }
    }

    fn interface(&self) -> Option<InterfaceReport> {
        let between = |samples: &[Sample; 2]| Some(samples[1].interface? - samples[0].interface?);
        Some(InterfaceReport {
            name: self.end.interface.clone()?,
            window: between(&self.window)?,
            run: between(&self.run)?,
        })
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
            Stream::Received(stream) => received.push(*stream),
            Stream::Asked(stream) => asked.push(stream),
            Stream::Answered(stream) => answered.push(stream),
        }
    }
    if !sent.is_empty() {
        report.sent = Some(send_report(settings, &sent, report.usage.window_s));
    }
    if !received.is_empty() {
        correct(&mut received, settings.payload_bytes, clocks);
        if received.iter().any(|stream| stream.truncated) {
            report.flags.push(flags::LATENCY_TRUNCATED.into());
        }
        report.received = Some(receive_report(received, clocks));
    }
    if asked.iter().any(|stream| !stream.confirmed) {
        report.flags.push(flags::INCOMPLETE.into());
    }
    if !asked.is_empty() {
        report.round_trips = Some(round_trip_report(settings, &asked));
    }
    if !answered.is_empty() {
        report.received = Some(answer_report(&answered));
    }
}

fn earliest(times_ns: impl Iterator<Item = u64>) -> u64 {
    times_ns.filter(|ns| *ns > 0).min().unwrap_or(0)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

fn send_report(settings: &RunSettings, sent: &[StreamSent], window_s: f64) -> SendReport {
    let span = Span::of(&sent.iter().map(StreamSent::edges).collect::<Vec<_>>());
    let pauses = sent.iter().map(|s| s.waited.pauses);
    let pauses = pauses.fold(Pauses::default(), Pauses::and);
    let pacing = |asked| pacing_report(asked, span.map(|s| s.rate_fps()), sent, window_s);
    SendReport {
        window_frames: sent.iter().map(|s| s.counts.window).sum(),
        run_frames: sent.iter().map(|s| s.counts.run).sum(),
        window_start_ns: earliest(sent.iter().map(|s| s.first_ns)),
        window_end_ns: sent.iter().map(|s| s.last_ns).max().unwrap_or(0),
        send_errors: sent.iter().map(|s| s.send_errors).sum(),
        span_s: span.map(|s| seconds(s.length_ns)),
        span_frames: span.map_or(0, |s| s.frames),
        pacing: settings.rate_fps.map(pacing),
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

/// Computes latencies from timestamps stored until the clocks were known.
fn correct(received: &mut [StreamReceived], payload_bytes: u32, clocks: Clocks<'_>) {
    if !matches!(clocks, Clocks::Unknown) {
        for stream in received {
            stream.correct(payload_bytes, |peer_ns| clocks.own_ns(peer_ns));
        }
    }
}

fn receive_report(received: Vec<StreamReceived>, clocks: Clocks<'_>) -> ReceiveReport {
    let span = Span::of(
        &received
            .iter()
            .map(StreamReceived::edges)
            .collect::<Vec<_>>(),
    );
    let pauses = received.iter().map(|s| s.pauses);
    let pauses = pauses.fold(Pauses::default(), Pauses::and);
    let stamped = received.iter().all(|s| s.stamped);
    let numbered = |count: u64| stamped.then_some(count);
    let known = stamped && !matches!(clocks, Clocks::Unknown);
    let mut report = ReceiveReport {
        window_frames: received.iter().map(|s| s.window_frames).sum(),
        run_frames: received.iter().map(|s| s.run_frames).sum(),
        duplicates: numbered(received.iter().map(|s| s.duplicates).sum()),
        reordered: numbered(received.iter().map(|s| s.reordered).sum()),
        foreign: received.iter().map(|s| s.foreign).sum(),
        span_s: span.map(|s| seconds(s.length_ns)),
        span_frames: span.map_or(0, |s| s.frames),
        window_start_ns: earliest(received.iter().map(|s| s.first_ns)),
        window_end_ns: received.iter().map(|s| s.last_ns).max().unwrap_or(0),
        socket_window_bytes: sum_known(received.iter().map(|s| s.socket_window_bytes)),
        socket_overflow: sum_known(received.iter().map(|s| s.overflow)),
        stalls: pauses.count,
        longest_stall_s: seconds(pauses.longest_ns),
        ..ReceiveReport::default()
    };
    if known {
        report.latency_from_intended_mean_s = from_intended_mean_s(&received, clocks);
    }
    if known || !stamped {
        add_times(&mut report, received);
    }
    report
}

/// Adds the latency, and the transient and steady part of the window.
fn add_times(report: &mut ReceiveReport, received: Vec<StreamReceived>) {
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
    let some = report.window_frames > 0;
    report.negative_latencies = all.latency.negative();
    report.latency = all.latency.summary();
    report.steady = some.then(|| all.slices.steady(report.window_start_ns));
    report.raw_latency_s = all.raw_ns.map(in_seconds);
}

/// Mean of receive time minus intended time, in seconds. The clocks' offset is linear in time, so
/// its mean over the frames is the offset at the frames' mean time.
fn from_intended_mean_s(received: &[StreamReceived], clocks: Clocks<'_>) -> Option<f64> {
    let frames: u64 = received.iter().map(|s| s.window_frames).sum();
    let total = |stream: &StreamReceived| {
        let intended_ns = stream.intended_mean_ns()?;
        let offset_ns = clocks.own_ns(intended_ns) - i128::from(intended_ns);
        Some(stream.from_intended_ns - i128::from(stream.window_frames) * offset_ns)
    };
    let total_ns: i128 = received.iter().filter_map(total).sum();
    (frames > 0).then(|| total_ns as f64 / frames as f64 * 1e-9)
}

fn sum_known(values: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    values.sum()
}

fn round_trip_report(settings: &RunSettings, asked: &[StreamAsked]) -> RoundTripReport {
    let first_ns = earliest(asked.iter().map(|s| s.first_ns));
    let last_ns = asked.iter().map(|s| s.last_ns).max().unwrap_or(0);
    let queued_ns = asked.iter().map(|s| s.queued_ns).max().unwrap_or(0);
    let elapsed_s = seconds(last_ns.saturating_sub(first_ns));
    let per_elapsed = |value: f64| {
        if elapsed_s > 0.0 {
            value / elapsed_s
        } else {
            0.0
        }
    };
    let confirmed = asked.iter().all(|s| s.confirmed);
    let answered = confirmed.then(|| asked.iter().map(|s| s.answered).sum::<u64>());
    let bits = f64::from(settings.payload_bytes) * 8.0;
    let mut round_trip = LatencyRecorder::new();
    asked
        .iter()
        .for_each(|stream| round_trip.merge(&stream.round_trip));
    let pauses = asked.iter().map(|s| s.waited.pauses);
    let pauses = pauses.fold(Pauses::default(), Pauses::and);
    let paced = settings.rate_fps.is_some();
    let spin_ns: u64 = asked.iter().map(|s| s.waited.spin_ns).sum();
    RoundTripReport {
        asked: asked.iter().map(|s| s.counts.window).sum(),
        answered,
        elapsed_s,
        queued_s: (queued_ns > first_ns).then(|| seconds(queued_ns - first_ns)),
        round_trip: round_trip.summary(),
        raw_round_trip_s: raw_round_trips(asked),
        goodput_bps: answered
            .filter(|_| elapsed_s > 0.0)
            .map(|frames| per_elapsed(frames as f64 * bits)),
        spin_cores: per_elapsed(seconds(spin_ns)),
        stalls: paced.then_some(pauses.count),
        longest_stall_s: paced.then(|| seconds(pauses.longest_ns)),
    }
}

/// All round trips; `None` if none was timed.
fn raw_round_trips(asked: &[StreamAsked]) -> Option<Vec<f64>> {
    let all = asked.iter().map(|s| s.raw_ns.clone());
    let all = all.collect::<Option<Vec<_>>>()?.concat();
    (!all.is_empty()).then(|| in_seconds(all))
}

fn in_seconds(times_ns: Vec<i64>) -> Vec<f64> {
    times_ns.into_iter().map(|ns| ns as f64 * 1e-9).collect()
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

#[cfg(test)]
mod tests;
