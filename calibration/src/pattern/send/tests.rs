use super::*;
use crate::pattern::wire::{Batches, STREAM, Sends, TAG, counted, headers};
use crate::settings::Protocol;
use std::time::Instant;

fn task<'a>(settings: &'a RunSettings, shared: &'a Shared) -> SendTask<'a> {
    SendTask {
        settings,
        stream: STREAM,
        tag: TAG,
        start_ns: clock::now_ns() + 1_000_000,
        shared,
    }
}

fn timed(duration_s: f64, warmup_s: f64) -> RunSettings {
    RunSettings {
        duration_s,
        warmup_s,
        ..RunSettings::new(Protocol::Udp, 64)
    }
}

fn of_phase(frames: &[Vec<u8>], phase: Phase) -> Vec<Header> {
    let mut all = headers(frames);
    all.retain(|header| header.phase == phase);
    all
}

#[test]
fn the_phases_follow_each_other_and_are_counted() {
    let (settings, shared) = (timed(0.05, 0.02), Shared::new(1));
    let mut wire = Sends::if_taken(|_| true);
    let task = task(&settings, &shared);
    let sent = task.run(&mut wire).unwrap();
    let all = headers(&wire.sent);
    assert!(all.is_sorted_by_key(|h| h.phase as u8));
    assert!(all.iter().zip(0..).all(|(h, n)| h.seq == n));
    assert!(all.iter().all(|h| (h.tag, h.stream) == (TAG, STREAM)));
    assert!(all.is_sorted_by_key(|h| h.sent_ns) && all[0].sent_ns >= task.start_ns);
    assert!(all.iter().all(|h| h.intended_ns == h.sent_ns));
    let window = of_phase(&wire.sent, Phase::Window);
    assert_eq!(sent.counts.window, window.len() as u64);
    assert_eq!(sent.counts.run, all.len() as u64);
    assert_eq!(sent.send_errors, 0);
    assert_eq!(sent.first_ns, window[0].sent_ns);
    assert_eq!(sent.last_ns, window[window.len() - 1].sent_ns);
    let warm = of_phase(&wire.sent, Phase::WarmUp);
    assert_eq!(sent.before_ns, warm.last().map_or(0, |h| h.sent_ns));
    assert!((0..50_000_000).contains(&(sent.last_ns - sent.first_ns)));
    assert!(shared.is_closed());
}

#[test]
fn counted_frames_are_paced_on_a_grid() {
    let settings = RunSettings {
        rate_fps: Some(12_000.0),
        ..counted(Protocol::Udp, 64, 40)
    };
    let shared = Shared::new(1);
    let mut wire = Sends::if_taken(|_| true);
    let task = task(&settings, &shared);
    let sent = task.run(&mut wire).unwrap();
    // A third of the rate, two thirds of a period behind the first stream.
    let due = |n: u64| task.start_ns + 166_666 + n * 250_000;
    let all = headers(&wire.sent);
    assert!(all.iter().all(|h| h.phase == Phase::Window));
    assert!((0..).zip(&all).all(|(n, h)| h.intended_ns == due(n)));
    assert!(all.iter().all(|h| h.sent_ns >= h.intended_ns));
    assert_eq!((sent.counts.window, sent.counts.run), (40, 40));
    let late = sent.send_error.summary().unwrap();
    assert_eq!((late.count, late.negative), (40, 0));
    let latest = all.iter().map(|h| h.sent_ns - h.intended_ns).max();
    assert_eq!((late.max_s * 1e9).round() as u64, latest.unwrap());
    assert_eq!((sent.before_ns, sent.first_ns), (0, all[0].sent_ns));
    assert!(sent.waited.spin_ns <= sent.last_ns - task.start_ns);
}

#[test]
fn a_slow_schedule_ends_with_the_window() {
    let settings = RunSettings {
        rate_fps: Some(0.1),
        ..timed(0.05, 0.0)
    };
    let shared = Shared::new(1);
    let mut wire = Sends::if_taken(|_| true);
    let began = Instant::now();
    let first = SendTask {
        stream: 0,
        ..task(&settings, &shared)
    };
    let sent = first.run(&mut wire).unwrap();
    assert!(began.elapsed().as_secs_f64() < 2.0);
    assert_eq!((sent.counts.window, wire.sent.len()), (1, 1));
}

#[test]
fn refused_frames_were_not_sent_and_leave_no_gap() {
    let settings = counted(Protocol::Udp, 64, 10);
    let shared = Shared::new(1);
    let mut wire = Sends::if_taken(|n| n % 5 != 4);
    let sent = task(&settings, &shared).run(&mut wire).unwrap();
    // Ten tries, two of them refused.
    assert_eq!((sent.counts.window, sent.counts.run), (8, 8));
    assert_eq!(sent.send_errors, 2);
    assert!(headers(&wire.sent).iter().zip(0..).all(|(h, n)| h.seq == n));
}

#[test]
fn refused_frames_of_the_warm_up_are_no_errors_of_the_window() {
    let (settings, shared) = (timed(0.02, 0.02), Shared::new(1));
    let mut wire = Sends::if_taken(|n| n % 2 == 0);
    let sent = task(&settings, &shared).run(&mut wire).unwrap();
    assert_eq!(sent.counts.run, wire.sent.len() as u64);
    let window = of_phase(&wire.sent, Phase::Window).len() as u64;
    assert_eq!(sent.counts.window, window);
    assert!(sent.send_errors.abs_diff(window) <= 1);
}

#[test]
fn frames_refused_with_their_batch_belong_to_their_own_phase() {
    for settings in [counted(Protocol::Udp, 64, 10), timed(0.03, 0.01)] {
        let shared = Shared::new(1);
        let mut wire = Batches::of(4, 1);
        let sent = task(&settings, &shared).run(&mut wire).unwrap();
        let taken = of_phase(&wire.sent, Phase::Window).len() as u64;
        let lost = of_phase(&wire.lost, Phase::Window).len() as u64;
        assert_eq!((sent.counts.window, sent.send_errors), (taken, lost));
        assert_eq!(sent.counts.run, wire.sent.len() as u64);
    }
}

#[test]
fn frames_of_a_batch_share_the_time_at_which_it_was_begun() {
    let (settings, shared) = (counted(Protocol::Tcp, 64, 10), Shared::new(1));
    let mut wire = Batches::of(4, 0);
    let sent = task(&settings, &shared).run(&mut wire).unwrap();
    let all = headers(&wire.sent);
    let batches: Vec<&[Header]> = all.chunk_by(|a, b| a.sent_ns == b.sent_ns).collect();
    assert_eq!(
        batches.iter().map(|b| b.len()).collect::<Vec<_>>(),
        [4, 4, 2]
    );
    assert!(all.iter().all(|h| h.intended_ns == h.sent_ns));
    // The first batch has no gap before it, so its frames are not counted in the rate.
    assert_eq!(sent.edges().first_frames, 4);
    assert_eq!(
        (sent.first_ns, sent.last_ns),
        (all[0].sent_ns, all[9].sent_ns)
    );
}

#[test]
fn counted_frames_in_refused_batches_end() {
    let settings = counted(Protocol::Udp, 64, 12);
    let shared = Shared::new(1);
    let mut wire = Batches::of(4, 4);
    let sent = task(&settings, &shared).run(&mut wire).unwrap();
    assert_eq!((sent.counts.window, sent.counts.run), (0, 0));
    assert_eq!(sent.send_errors, 12);
}

#[test]
fn it_stops_when_told_and_says_what_it_sent() {
    for rate_fps in [None, Some(1000.0)] {
        let settings = RunSettings {
            rate_fps,
            streams: 3,
            ..timed(60.0, 0.0)
        };
        let shared = Shared::new(1);
        let mut wire = Sends::if_taken(|n| {
            if n == 20 {
                shared.stop();
            }
            true
        });
        let sent = task(&settings, &shared).run(&mut wire).unwrap();
        assert_eq!((sent.counts.window, sent.counts.run), (21, 21));
        assert!(shared.is_closed());
    }
}

#[test]
fn a_short_frame_carries_its_phase_alone() {
    let (settings, shared) = (counted(Protocol::Tcp, 3, 5), Shared::new(1));
    let mut wire = Sends::if_taken(|_| true);
    let sent = task(&settings, &shared).run(&mut wire).unwrap();
    assert_eq!(sent.counts.window, 5);
    let filled = [Phase::Window as u8, 1 + STREAM as u8, 2 + STREAM as u8];
    assert!(wire.sent.iter().all(|frame| *frame == filled));
}

/// Passes the window's edges at given times, so that every nanosecond is known.
#[test]
fn waiting_is_charged_from_the_windows_start_to_its_end() {
    let (settings, shared) = (timed(0.2, 0.1), Shared::new(1));
    let task = SendTask {
        start_ns: 0,
        ..task(&settings, &shared)
    };
    let mut wire = Sends::if_taken(|_| true);
    let mut sending = Sending::of(&task);
    let mut at = |ms: u64, spin_ns: u64, sending: &mut Sending<'_>| {
        sending.waited.spin_ns += spin_ns;
        sending.next(ms * 1_000_000, &mut wire).unwrap()
    };
    assert_eq!(at(50, 1000, &mut sending), Some(Phase::WarmUp));
    assert_eq!(at(100, 1000, &mut sending), Some(Phase::Window));
    assert_eq!(at(200, 30, &mut sending), Some(Phase::Window));
    assert_eq!(at(299, 4, &mut sending), Some(Phase::Window));
    assert!(!shared.is_closed());
    assert_eq!(at(301, 5, &mut sending), Some(Phase::Tail));
    assert!(shared.is_closed());
    assert_eq!(at(310, 700, &mut sending), Some(Phase::Tail));
    assert_eq!(at(320, 700, &mut sending), None);
    let sent = sending.finish(0);
    // The wait before the first frame after the window began inside the window.
    assert_eq!(sent.waited.spin_ns, 39);
    assert_eq!(sent.first_ns, 100_000_000);
}
