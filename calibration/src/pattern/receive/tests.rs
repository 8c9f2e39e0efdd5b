use super::*;
use crate::pattern::Span;
use crate::pattern::wire::{Arrivals, Read, STREAM, TAG, frame};
use crate::settings::Protocol;
use std::ops::Range;
use std::thread;

const W: Phase = Phase::WarmUp;
const X: Phase = Phase::Window;
const T: Phase = Phase::Tail;
/// Bytes of a frame.
const SIZE: usize = 64;
/// One-way latency of test frames, in ns.
const LATENCY: u64 = 50_000;

fn settings(protocol: Protocol) -> RunSettings {
    RunSettings {
        streams: 3,
        ..RunSettings::new(protocol, SIZE as u32)
    }
}

/// Returns a receiver's counts for `reads`; its sender announces `announced` frames.
fn received(settings: &RunSettings, announced: Option<u64>, reads: Vec<Read>) -> StreamReceived {
    let shared = Shared::new(3);
    if let Some(frames) = announced {
        shared.announce(usize::from(STREAM), frames);
    }
    task(settings, &shared)
        .run(&mut Arrivals::of(reads))
        .unwrap()
}

fn task<'a>(settings: &'a RunSettings, shared: &'a Shared) -> ReceiveTask<'a> {
    ReceiveTask {
        settings,
        stream: STREAM,
        tag: TAG,
        same_clock: true,
        kept_frames: 1000,
        deadline_ns: clock::now_ns() + 20_000_000_000,
        shared,
    }
}

/// Returns a read at `now` of frames that were sent [`LATENCY`] earlier.
fn at(now: u64, frames: &[(Phase, u64)]) -> Read {
    let frames = frames.iter();
    let frames = frames.map(|&(phase, seq)| frame(phase, seq, now - LATENCY, SIZE));
    Read::At(now, frames.collect())
}

const US: u64 = 1000;
const MS: u64 = 1_000_000;

#[test]
fn a_window_is_placed_between_its_neighbours() {
    let received = received(
        &settings(Protocol::Tcp),
        Some(7),
        vec![
            at(100 * US, &[(W, 0)]),
            at(200 * US, &[(W, 1)]),
            at(300 * US, &[(X, 2), (X, 3)]),
            at(400 * US, &[(X, 4)]),
            at(500 * US, &[(T, 5)]),
            at(600 * US, &[(T, 6)]),
        ],
    );
    let edges = Edges {
        before_ns: 200 * US,
        first_ns: 300 * US,
        last_ns: 400 * US,
        frames: 3,
        first_frames: 2,
    };
    assert_eq!(received.edges(), edges);
    assert_eq!((received.window_frames, received.run_frames), (3, 7));
    let latency = received.latency.summary().unwrap();
    assert_eq!(latency.count, 3);
    assert_eq!((latency.min_s, latency.max_s), (50e-6, 50e-6));
    assert_eq!(received.from_intended_ns, 3 * i128::from(LATENCY));
    assert_eq!((received.duplicates, received.reordered), (0, 0));
    assert_eq!((received.foreign, received.overflow), (0, Some(7)));
    assert_eq!(received.pauses, Pauses::default());
    assert!(!received.truncated && received.raw_ns.is_none());
}

#[test]
fn a_latecomer_behind_the_tail_counts_and_does_not_stretch_the_window() {
    let received = received(
        &settings(Protocol::Udp),
        Some(6),
        vec![
            at(100 * US, &[(X, 0)]),
            at(200 * US, &[(X, 1)]),
            at(300 * US, &[(X, 3)]),
            at(400 * US, &[(T, 4)]),
            at(9 * MS, &[(X, 2)]),
            at(10 * MS, &[(T, 5)]),
        ],
    );
    assert_eq!((received.window_frames, received.run_frames), (4, 6));
    assert_eq!((received.first_ns, received.last_ns), (100 * US, 300 * US));
    assert_eq!(received.reordered, 1);
    assert_eq!(received.latency.summary().unwrap().count, 4);
    assert_eq!(received.pauses, Pauses::default());
}

/// Frames that share their times are recorded together, as if each were recorded alone.
#[test]
fn frames_of_a_batch_are_recorded_as_often_as_they_came() {
    let settings = RunSettings {
        raw: true,
        ..settings(Protocol::Tcp)
    };
    let shared = Shared::new(3);
    shared.announce(usize::from(STREAM), 7);
    let batch = |now, frames: &[(u64, u64)]| {
        let frames = frames.iter();
        let frames = frames.map(|&(seq, sent_ns)| frame(X, seq, sent_ns, SIZE));
        Read::At(now, frames.collect())
    };
    let reads = || {
        let late = [(0, 30 * US), (1, 30 * US), (2, 60 * US), (3, 60 * US)];
        let next = [(4, 60 * US), (5, 99 * US), (6, 99 * US)];
        vec![batch(100 * US, &late), batch(110 * US, &next)]
    };
    let latencies_us = [70, 70, 40, 40, 50, 11, 11];
    let ns = |us: i64| us * US as i64;
    let shared_clock = task(&settings, &shared);
    let other_clock = ReceiveTask {
        same_clock: false,
        ..shared_clock
    };
    for task in [shared_clock, other_clock] {
        let mut got = task.run(&mut Arrivals::of(reads())).unwrap();
        got.correct(SIZE as u32, i128::from);
        assert_eq!(got.raw_ns, Some(latencies_us.map(ns).to_vec()));
        let latency = got.latency.summary().unwrap();
        let rounded = |seconds: f64| (seconds * 1e9).round() as u64;
        assert_eq!(latency.count, 7);
        assert_eq!(rounded(latency.min_s), 11 * US);
        assert_eq!(rounded(latency.max_s), 70 * US);
        assert_eq!(
            got.from_intended_ns,
            i128::from(ns(latencies_us.iter().sum()))
        );
        assert_eq!(got.intended_mean_ns(), Some(438 * US / 7));
    }
    let short = ReceiveTask {
        kept_frames: 3,
        ..other_clock
    };
    let mut got = short.run(&mut Arrivals::of(reads())).unwrap();
    got.correct(SIZE as u32, i128::from);
    assert_eq!(got.raw_ns, Some(vec![ns(70), ns(70), ns(40)]));
    assert!(got.truncated && got.window_frames == 7);
}

#[test]
fn copies_are_counted_inside_the_window_alone() {
    let received = received(
        &settings(Protocol::Udp),
        Some(4),
        vec![
            at(100 * US, &[(W, 0), (W, 0)]),
            at(200 * US, &[(X, 1), (X, 1)]),
            at(300 * US, &[(X, 2), (X, 1)]),
            at(400 * US, &[(T, 3)]),
        ],
    );
    assert_eq!((received.window_frames, received.run_frames), (2, 4));
    assert_eq!((received.duplicates, received.reordered), (2, 0));
    assert_eq!(received.latency.summary().unwrap().count, 2);
}

#[test]
fn a_frame_behind_a_later_one_is_reordered() {
    let received = received(
        &settings(Protocol::Udp),
        Some(6),
        vec![
            at(100 * US, &[(W, 1), (W, 0)]),
            at(200 * US, &[(X, 3), (X, 2)]),
            at(300 * US, &[(X, 5), (X, 4)]),
        ],
    );
    assert_eq!((received.window_frames, received.reordered), (4, 2));
    assert_eq!(received.duplicates, 0);
}

#[test]
fn strangers_are_counted_apart() {
    let mut other_tag = frame(X, 1, 0, SIZE);
    other_tag[0] ^= 1;
    let mut other_stream = frame(X, 1, 0, SIZE);
    other_stream[4] ^= 1;
    let mut other_version = frame(X, 1, 0, SIZE);
    other_version[6] += 1;
    let mut no_phase = frame(X, 1, 0, SIZE);
    no_phase[7] = 3;
    let strangers = vec![
        other_tag,
        other_stream,
        other_version,
        no_phase,
        frame(X, 1, 0, SIZE - 1),
        frame(X, 1, 0, SIZE + 1),
        vec![1; 5],
        vec![],
    ];
    let received = received(
        &settings(Protocol::Udp),
        Some(2),
        vec![
            at(100 * US, &[(X, 0)]),
            Read::At(150 * US, strangers),
            at(200 * US, &[(X, 1)]),
        ],
    );
    assert_eq!((received.window_frames, received.foreign), (2, 8));
    assert_eq!((received.run_frames, received.duplicates), (2, 0));
}

#[test]
fn a_read_across_the_edge_gives_no_time_to_its_frames() {
    let received = received(
        &settings(Protocol::Tcp),
        Some(6),
        vec![
            at(100 * US, &[(W, 0), (W, 1), (X, 2), (X, 3)]),
            at(200 * US, &[(X, 4)]),
            at(300 * US, &[(X, 5)]),
        ],
    );
    assert_eq!(
        (received.before_ns, received.first_ns),
        (100 * US, 100 * US)
    );
    assert_eq!((received.window_frames, received.first_frames), (4, 2));
    let span = Span::of(&[received.edges()]).unwrap();
    assert_eq!((span.frames, span.length_ns), (2, 200 * US));
}

/// Eight of ten frames arrive. The other two follow after a silence that is longer than allowed.
fn with_a_gap(protocol: Protocol) -> StreamReceived {
    let early = (0..8).map(|seq| frame(X, seq, clock::now_ns(), SIZE));
    let late = (8..10).map(|seq| frame(X, seq, clock::now_ns(), SIZE));
    let reads = vec![
        Read::Now(early.collect()),
        Read::Idle(Duration::from_nanos(SILENCE_NS / 2)),
        Read::Idle(Duration::from_nanos(SILENCE_NS)),
        Read::Idle(READ_TIMEOUT),
        Read::Now(late.collect()),
    ];
    received(&settings(protocol), Some(10), reads)
}

#[test]
fn silence_ends_a_stream_only_where_the_layer_may_lose() {
    let (udp, tcp) = (with_a_gap(Protocol::Udp), with_a_gap(Protocol::Tcp));
    assert_eq!((udp.window_frames, udp.run_frames), (8, 8));
    assert_eq!((tcp.window_frames, tcp.run_frames), (10, 10));
}

#[test]
fn a_stall_within_a_read_loses_no_frame() {
    let frames = |seqs: Range<u64>| {
        let frames = seqs.map(|seq| frame(X, seq, clock::now_ns(), SIZE));
        Read::Now(frames.collect())
    };
    let stall = Read::Idle(Duration::from_nanos(2 * SILENCE_NS));
    let reads = vec![frames(0..7), stall, frames(7..10)];
    assert_eq!(
        received(&settings(Protocol::Udp), Some(10), reads).run_frames,
        10
    );
}

#[test]
fn silence_ends_nothing_before_the_sender_is_done() {
    let (settings, shared) = (settings(Protocol::Udp), Shared::new(3));
    let reads = vec![
        Read::Now(vec![frame(X, 0, clock::now_ns(), SIZE)]),
        Read::Idle(Duration::from_nanos(SILENCE_NS + 50 * MS)),
        Read::Now(vec![frame(X, 1, clock::now_ns(), SIZE)]),
    ];
    let received = thread::scope(|scope| {
        let receiving = scope.spawn(|| task(&settings, &shared).run(&mut Arrivals::of(reads)));
        thread::sleep(Duration::from_nanos(SILENCE_NS + 100 * MS));
        shared.announce(usize::from(STREAM), 2);
        receiving.join().unwrap().unwrap()
    });
    assert_eq!(received.window_frames, 2);
}

#[test]
fn strangers_do_not_break_the_silence() {
    let now = clock::now_ns();
    let stranger = |ms| Read::At(now + ms * MS, vec![vec![9; SIZE]]);
    let mut reads = vec![Read::At(now, vec![frame(X, 0, now, SIZE)])];
    reads.extend((1..=50).map(|n| stranger(10 * n)));
    let received = received(&settings(Protocol::Udp), Some(2), reads);
    assert_eq!(received.run_frames, 1);
    assert!(
        (30..=32).contains(&received.foreign),
        "{}",
        received.foreign
    );
}

#[test]
fn a_stream_ends_when_its_peer_closes_or_the_end_says_stop_or_its_time_is_over() {
    let (settings, shared) = (settings(Protocol::Tcp), Shared::new(3));
    shared.leave_window();
    shared.leave_window();
    let one = || at(100 * US, &[(X, 0)]);
    let closed = task(&settings, &shared).run(&mut Arrivals::of(vec![one(), Read::Closed]));
    assert_eq!(closed.unwrap().window_frames, 1);
    assert!(shared.is_closed());
    let broken = task(&settings, &shared).run(&mut Arrivals::of(vec![one(), Read::Nobody]));
    assert_eq!(broken.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    let late = ReceiveTask {
        deadline_ns: 1,
        ..task(&settings, &shared)
    };
    assert_eq!(
        late.run(&mut Arrivals::of(vec![one()])).unwrap().run_frames,
        1
    );
    shared.stop();
    let stopped = task(&settings, &shared).run(&mut Arrivals::of(vec![one()]));
    assert_eq!(stopped.unwrap().run_frames, 0);
}

#[test]
fn short_frames_are_counted_and_not_timed() {
    let settings = RunSettings {
        payload_bytes: 5,
        raw: true,
        ..settings(Protocol::Udp)
    };
    let short = |byte: u8| vec![byte, 0, 0, 0, 0];
    let read = |us, bytes: &[u8]| Read::At(us * US, bytes.iter().map(|b| short(*b)).collect());
    let received = received(
        &settings,
        Some(5),
        vec![
            read(100, &[0]),
            read(200, &[1, 1]),
            Read::At(250 * US, vec![vec![1; 4], vec![1; 6], short(3)]),
            read(300, &[1]),
            read(400, &[2]),
        ],
    );
    assert_eq!((received.window_frames, received.run_frames), (3, 5));
    assert_eq!(received.foreign, 3);
    assert_eq!((received.before_ns, received.last_ns), (100 * US, 300 * US));
    assert!(!received.stamped && received.raw_ns.is_none() && !received.truncated);
    assert!(received.latency.summary().is_none());
    let steady = received.slices.steady(received.first_ns);
    assert_eq!(steady.transient.frames, 3);
    assert_eq!(steady.transient.latency_mean_s, None);
}

fn five(now: u64) -> Vec<Read> {
    (0..5).map(|n| at(now + n * US, &[(X, n)])).collect()
}

#[test]
fn only_so_many_times_are_kept() {
    let settings = RunSettings {
        raw: true,
        ..settings(Protocol::Udp)
    };
    for (kept_frames, same_clock, counted) in
        [(5, true, 5), (5, false, 5), (2, true, 5), (2, false, 2)]
    {
        let shared = Shared::new(3);
        shared.announce(usize::from(STREAM), 5);
        let task = ReceiveTask {
            kept_frames,
            same_clock,
            ..task(&settings, &shared)
        };
        let mut received = task.run(&mut Arrivals::of(five(MS))).unwrap();
        received.correct(SIZE as u32, i128::from);
        assert_eq!(received.window_frames, 5);
        assert_eq!(received.raw_ns, Some(vec![LATENCY as i64; kept_frames]));
        assert_eq!(received.truncated, kept_frames == 2);
        assert_eq!(received.latency.summary().unwrap().count, counted);
        assert_eq!(received.slices.steady(MS).transient.frames, 5);
    }
}

#[test]
fn latencies_on_one_clock_need_no_room() {
    let (settings, shared) = (settings(Protocol::Udp), Shared::new(3));
    shared.announce(usize::from(STREAM), 5);
    let task = ReceiveTask {
        kept_frames: 0,
        ..task(&settings, &shared)
    };
    let received = task.run(&mut Arrivals::of(five(MS))).unwrap();
    assert!(!received.truncated);
    assert_eq!(received.latency.summary().unwrap().count, 5);
}

#[test]
fn a_clock_that_is_off_and_drifts_is_corrected() {
    let settings = settings(Protocol::Udp);
    let begin: u64 = 5_000_000_000_000;
    for (offset_ns, drift) in [
        (1_000_000_000_000_i128, 300e-6),
        (1_000_000_000_000_i128, -300e-6),
        (-1_000_000_000_000, 300e-6),
        (-1_000_000_000_000, -300e-6),
    ] {
        // The own clock less the sender's, when the sender's shows `sent_ns`.
        let theta =
            |sent_ns: u64| offset_ns + (drift * (sent_ns as f64 - begin as f64)).round() as i128;
        let own_ns = |sent_ns: u64| i128::from(sent_ns) + theta(sent_ns);
        let read = |n: u64| {
            let sent_ns = begin + n * 10 * MS;
            let arrives = own_ns(sent_ns) as u64 + LATENCY;
            Read::At(arrives, vec![frame(X, n, sent_ns, SIZE)])
        };
        let shared = Shared::new(3);
        shared.announce(usize::from(STREAM), 1000);
        let task = ReceiveTask {
            same_clock: false,
            ..task(&settings, &shared)
        };
        let mut received = task
            .run(&mut Arrivals::of((0..1000).map(read).collect()))
            .unwrap();
        assert!(
            received.latency.summary().is_none(),
            "not before the clocks are known"
        );
        received.correct(SIZE as u32, own_ns);
        let latency = received.latency.summary().unwrap();
        assert_eq!((latency.count, latency.negative), (1000, 0));
        assert_eq!((latency.min_s, latency.max_s), (50e-6, 50e-6));
        let steady = received.slices.steady(received.first_ns);
        assert_eq!(steady.steady.latency_mean_s, Some(50e-6));
        assert_eq!(received.intended_mean_ns(), Some(begin + 4995 * MS));
    }
}

#[test]
fn a_gap_is_a_pause_where_it_is_long_and_unlike_the_others() {
    let reads = |gap: u64| {
        let mut now = MS;
        let mut reads: Vec<Read> = Vec::new();
        for seq in 0..20 {
            now += if seq == 10 { gap } else { 200 * US };
            reads.push(at(now, &[(X, seq)]));
        }
        reads
    };
    let pauses = |gap| received(&settings(Protocol::Tcp), Some(20), reads(gap)).pauses;
    assert_eq!(pauses(200 * US), Pauses::default());
    // Eight times the mean gap of 200 µs.
    assert_eq!(pauses(1600 * US), Pauses::default());
    assert_eq!(pauses(1601 * US), Pauses::one(1601 * US));
}

#[test]
fn the_sockets_own_count_is_that_of_the_windows_frames() {
    let received = received(
        &settings(Protocol::Tcp),
        Some(9),
        vec![
            at(100 * US, &[(W, 0), (W, 1), (X, 2)]),
            at(200 * US, &[(X, 3), (X, 4)]),
            at(300 * US, &[(X, 5), (T, 6), (T, 7)]),
            at(400 * US, &[(T, 8)]),
        ],
    );
    assert_eq!(received.socket_window_bytes, Some(4 * SIZE as u64));
}

#[test]
fn the_window_opens_and_closes_once() {
    let (settings, shared) = (settings(Protocol::Udp), Shared::new(3));
    shared.announce(usize::from(STREAM), 5);
    for leaves in 1..=3 {
        assert!(!shared.is_closed());
        let reads = vec![
            at(100 * US, &[(W, 0), (X, 1)]),
            at(200 * US, &[(T, 2), (X, 3), (T, 4)]),
        ];
        task(&settings, &shared)
            .run(&mut Arrivals::of(reads))
            .unwrap();
        assert_eq!(shared.is_closed(), leaves == 3);
    }
}
