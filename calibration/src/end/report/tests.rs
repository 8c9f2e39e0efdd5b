use super::*;
use crate::clock;
use crate::frame::{Header, Phase};
use crate::pattern::receive::ReceiveTask;
use crate::pattern::wire::{Arrivals, Read, STREAM, TAG, header};
use crate::pattern::{Counts, Shared, pacing::Waited};
use crate::report::hand_made::idle;
use crate::settings::Protocol;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// One-way latency of a frame, and its lateness (send time minus due time), in ns.
const LATENCY: u64 = 40_000;
const LATE: u64 = 2_000;

fn settings() -> RunSettings {
    RunSettings {
        streams: 3,
        ..RunSettings::new(Protocol::Udp, 64)
    }
}

/// Fit of the peer's clock: a drift of 100 ppm, and an offset of a day at own time 0.
fn fit() -> Fit {
    Fit {
        epoch_ns: 0,
        offset_ns: 86_400e9,
        drift: 1e-4,
        bound_ns: 1000.0,
        bound_epoch_ns: 1000.0,
        from_ns: 0,
        to_ns: 100 * SECOND,
        exchanges: 1,
        rtt_min_ns: 1,
    }
}

/// Returns the counts of a receiver for a stream of 101 frames, 10 ms apart, with a latency of 40
/// µs. At time t, the sender's clock shows `sender(t)` and the receiver's clock `receiver(t)`.
fn received(
    sender: impl Fn(u64) -> u64,
    receiver: impl Fn(u64) -> u64,
    same_clock: bool,
) -> StreamReceived {
    let read = |n: u64| {
        let left = SECOND + n * 10 * MS;
        let header = Header {
            intended_ns: sender(left - LATE),
            ..header(Phase::Window, n, sender(left))
        };
        let mut frame = vec![0; 64];
        header.write(&mut frame);
        Read::At(receiver(left + LATENCY), vec![frame])
    };
    let shared = Shared::new(3);
    shared.announce(usize::from(STREAM), 101);
    let task = ReceiveTask {
        settings: &settings(),
        stream: STREAM,
        tag: TAG,
        same_clock,
        kept_frames: 1000,
        deadline_ns: clock::now_ns() + 10 * SECOND,
        shared: &shared,
    };
    task.run(&mut Arrivals::of((0..101).map(read).collect()))
        .unwrap()
}

/// The peer's clock of [`fit`] when the own one shows `own_ns`.
fn peers(own_ns: u64) -> u64 {
    own_ns + 86_400 * SECOND + own_ns / 10_000
}

fn reported(received: StreamReceived, clocks: Clocks<'_>) -> EndReport {
    let mut report = idle("a", 0);
    add_streams(
        &mut report,
        &settings(),
        vec![Stream::Received(Box::new(received))],
        clocks,
    );
    report
}

fn near(value: f64, expected: f64, by: f64) -> bool {
    (value - expected).abs() <= by
}

#[test]
fn one_clock_needs_no_correction() {
    let report = reported(received(|t| t, |t| t, true), Clocks::Same);
    let received = report.received.unwrap();
    assert_eq!(received.latency.unwrap().mean_s, 40e-6);
    assert!(near(
        received.latency_from_intended_mean_s.unwrap(),
        42e-6,
        1e-12
    ));
    assert_eq!((received.window_frames, received.span_frames), (101, 100));
    assert!(near(received.span_s.unwrap(), 1.0, 1e-12));
    assert!(report.flags.is_empty());
}

#[test]
fn either_end_reads_the_others_clock_by_the_same_fit() {
    let fit = fit();
    for (stream, clocks) in [
        (received(peers, |t| t, false), Clocks::OwnFit(&fit)),
        (received(|t| t, peers, false), Clocks::PeersFit(&fit)),
    ] {
        let received = reported(stream, clocks).received.unwrap();
        let latency = received.latency.unwrap();
        assert_eq!((latency.count, latency.negative), (101, 0));
        // A clock that is 100 ppm faster shows 4 ns more; stamps are whole nanoseconds.
        for seconds in [latency.min_s, latency.max_s, latency.mean_s] {
            assert!(near(seconds, 40e-6, 6e-9), "{seconds} s");
        }
        let intended = received.latency_from_intended_mean_s.unwrap();
        assert!(near(intended - latency.mean_s, 2e-6, 3e-9), "{intended} s");
    }
}

#[test]
fn the_wrong_sign_would_be_seen() {
    let fit = fit();
    let report = reported(received(peers, |t| t, false), Clocks::PeersFit(&fit));
    let received = report.received.unwrap();
    assert_eq!((received.negative_latencies, received.latency), (101, None));
}

#[test]
fn without_known_clocks_there_is_no_latency() {
    let report = reported(received(peers, |t| t, false), Clocks::Unknown);
    let received = report.received.unwrap();
    assert_eq!(
        (received.window_frames, received.duplicates),
        (101, Some(0))
    );
    assert_eq!((received.latency, received.steady), (None, None));
    assert_eq!(received.latency_from_intended_mean_s, None);
    assert_eq!(
        (received.raw_latency_s, received.negative_latencies),
        (None, 0)
    );
}

#[test]
fn the_streams_of_an_end_are_added_up() {
    let mut report = idle("a", 0);
    let streams = (0..3).map(|_| Stream::Received(Box::new(received(|t| t, |t| t, true))));
    add_streams(&mut report, &settings(), streams.collect(), Clocks::Same);
    let received = report.received.unwrap();
    assert_eq!((received.window_frames, received.run_frames), (303, 303));
    assert_eq!(received.latency.unwrap().count, 303);
    assert_eq!(received.socket_overflow, Some(21));
    assert_eq!(
        received.steady.unwrap().transient.frames + received.steady.unwrap().steady.frames,
        303
    );
    assert_eq!(received.window_end_ns, 2 * SECOND + LATENCY);
}

#[test]
fn frames_whose_times_were_not_kept_are_said() {
    let mut stream = received(|t| t, |t| t, true);
    stream.truncated = true;
    let report = reported(stream, Clocks::Same);
    assert_eq!(report.flags, [flags::LATENCY_TRUNCATED]);
}

fn sent(first_ns: u64, last_ns: u64, frames: u64) -> StreamSent {
    let mut sent = StreamSent {
        counts: Counts {
            window: frames,
            run: frames + 10,
        },
        first_ns,
        first_frames: 1,
        last_ns,
        sending_ns: SECOND / 10,
        waited: Waited {
            spin_ns: SECOND / 4,
            pauses: Pauses::one(2 * MS),
        },
        ..StreamSent::default()
    };
    (0..frames).for_each(|_| sent.send_error.record(1000, 1));
    sent
}

#[test]
fn what_was_sent_is_added_up_over_the_common_span() {
    let streams = [
        sent(SECOND, 2 * SECOND, 101),
        sent(SECOND + 5, 2 * SECOND - 5, 100),
    ];
    let report = send_report(&settings(), &streams, 1.0);
    assert_eq!((report.window_frames, report.run_frames), (201, 221));
    assert_eq!(
        (report.window_start_ns, report.window_end_ns),
        (SECOND, 2 * SECOND)
    );
    assert_eq!((report.span_s, report.span_frames), (Some(1.0), 200));
    assert_eq!((report.stalls, report.longest_stall_s), (2, 2e-3));
    assert_eq!(report.pacing, None);
}

#[test]
fn a_schedule_is_judged_by_how_it_was_kept() {
    let settings = RunSettings {
        rate_fps: Some(200.0),
        ..settings()
    };
    let streams = [
        sent(SECOND, 2 * SECOND, 101),
        sent(SECOND + 5, 2 * SECOND - 5, 100),
    ];
    let pacing = send_report(&settings, &streams, 2.0).pacing.unwrap();
    assert_eq!(
        (pacing.asked_fps, pacing.achieved_fps),
        (200.0, Some(200.0))
    );
    assert!(near(pacing.send_error_p50_s.unwrap(), 1e-6, 1e-12));
    assert!(near(pacing.spin_cores, 0.25, 1e-12) && near(pacing.sending_cores, 0.1, 1e-12));
    let nothing = send_report(&settings, &[StreamSent::default()], 0.0);
    let pacing = nothing.pacing.unwrap();
    assert_eq!((nothing.span_s, pacing.achieved_fps), (None, None));
    assert_eq!(
        (pacing.send_error_p50_s, pacing.send_error_max_s),
        (None, None)
    );
    assert_eq!((pacing.spin_cores, pacing.sending_cores), (0.0, 0.0));
}

fn asked(confirmed: bool) -> StreamAsked {
    let mut asked = StreamAsked {
        counts: Counts {
            window: 10,
            run: 12,
        },
        answered: if confirmed { 9 } else { 0 },
        first_ns: SECOND,
        last_ns: 3 * SECOND,
        confirmed,
        waited: Waited {
            spin_ns: SECOND,
            pauses: Pauses::one(5 * MS),
        },
        raw_ns: Some(vec![3, 4]),
        ..StreamAsked::default()
    };
    asked.round_trip.record(30_000, 1);
    asked
}

#[test]
fn round_trips_are_told_over_the_time_from_first_to_last() {
    let report = round_trip_report(&settings(), &[asked(true), asked(true)]);
    assert_eq!((report.asked, report.answered), (20, Some(18)));
    assert_eq!((report.elapsed_s, report.queued_s), (2.0, None));
    assert!(near(report.goodput_bps.unwrap(), 18.0 * 512.0 / 2.0, 1e-9));
    assert_eq!(report.round_trip.unwrap().count, 2);
    assert_eq!(report.raw_round_trip_s.unwrap().len(), 4);
    assert_eq!(report.spin_cores, 1.0);
    // Without a schedule nothing was waited for.
    assert_eq!((report.stalls, report.longest_stall_s), (None, None));
    let paced = RunSettings {
        rate_fps: Some(10.0),
        ..settings()
    };
    let report = round_trip_report(&paced, &[asked(true)]);
    assert_eq!(
        (report.stalls, report.longest_stall_s),
        (Some(1), Some(5e-3))
    );
}

#[test]
fn a_batch_is_queued_before_it_is_done_and_known_only_when_confirmed() {
    let mut known = asked(true);
    known.queued_ns = 2 * SECOND;
    assert_eq!(round_trip_report(&settings(), &[known]).queued_s, Some(1.0));
    let report = round_trip_report(&settings(), &[asked(true), asked(false)]);
    assert_eq!((report.asked, report.answered), (20, None));
    assert_eq!(report.goodput_bps, None);
    let mut end = idle("a", 0);
    add_streams(
        &mut end,
        &settings(),
        vec![Stream::Asked(asked(false))],
        Clocks::Same,
    );
    assert_eq!(end.flags, [flags::INCOMPLETE]);
    assert!(end.sent.is_none() && end.received.is_none());
}

#[test]
fn nothing_asked_is_no_goodput() {
    let report = round_trip_report(
        &settings(),
        &[StreamAsked {
            confirmed: true,
            ..StreamAsked::default()
        }],
    );
    assert_eq!((report.answered, report.goodput_bps), (Some(0), None));
    assert_eq!((report.round_trip, report.raw_round_trip_s), (None, None));
    assert_eq!(report.elapsed_s, 0.0);
}

#[test]
fn the_answering_end_says_what_it_was_asked() {
    let answered = |first_ns, last_ns| StreamAnswered {
        window_frames: 5,
        run_frames: 7,
        foreign: 1,
        first_ns,
        last_ns,
        ..StreamAnswered::default()
    };
    let mut end = idle("a", 0);
    // A stream without a question has no time.
    let streams = [answered(30, 40), answered(0, 0), answered(20, 35)].map(Stream::Answered);
    add_streams(&mut end, &settings(), streams.into(), Clocks::Same);
    let received = end.received.unwrap();
    assert_eq!((received.window_frames, received.run_frames), (15, 21));
    assert_eq!(received.foreign, 3);
    assert_eq!((received.window_start_ns, received.window_end_ns), (20, 40));
    assert_eq!((received.duplicates, received.span_s), (None, None));
}
