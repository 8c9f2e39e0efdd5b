//! Runs over loopback while nothing else runs: rates are kept, and nothing is lost.

use super::alone;
use crate::runs::{Peer, adds_up, short};
use icprobe::record::Record;
use icprobe::session::Limits;
use icprobe::settings::{Pattern, Protocol, RunSettings};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// Runs that a busy machine may disturb before one must go undisturbed.
const TRIES: usize = 10;

/// A stream of which all arrived, and as many were sent in the window as `frames` says: the first such
/// of several. Whatever happened, the frames of each are accounted for.
fn undisturbed(peer: &Peer, settings: &RunSettings, frames: RangeInclusive<u64>) -> Record {
    let mut disturbed = Vec::new();
    for _ in 0..TRIES {
        let record = peer.run(settings.clone()).unwrap();
        adds_up(&record);
        let (sent, lost) = (record.result.frames_sent, record.result.frames_lost);
        if lost == Some(0) && sent.is_some_and(|sent| frames.contains(&sent)) {
            assert!(record.result.goodput_bps.unwrap() > 0.0);
            assert_eq!(record.result.loss_rate, Some(0.0));
            return record;
        }
        disturbed.push((sent, lost));
    }
    panic!("{frames:?} frames were never sent without loss; sent and lost: {disturbed:?}");
}

#[test]
fn a_paced_stream_keeps_its_rate_and_loses_nothing() {
    let _alone = alone();
    let peer = Peer::new("paced", Limits::default());
    for reverse in [false, true] {
        let settings = RunSettings {
            rate_fps: Some(2000.0),
            reverse,
            raw: true,
            ..short(Protocol::Udp, 700)
        };
        let record = undisturbed(&peer, &settings, 580..=620); // 600 are due
        let sent = record.result.frames_sent.unwrap();
        assert_eq!(
            record.raw_latency_s.as_ref().map(Vec::len),
            Some(sent as usize)
        );
        assert!(record.pacing.as_ref().unwrap().asked_fps == 2000.0);
        assert_eq!(record.point.contains_key("reverse"), reverse);
        let mean = record.result.latency_mean_s.unwrap();
        let from_intended = record
            .pacing
            .as_ref()
            .unwrap()
            .latency_from_intended_mean_s
            .unwrap();
        assert!(
            from_intended >= mean * 0.999,
            "a frame is never sent before it is due"
        );
    }
}

#[test]
fn the_socket_counts_what_the_loop_counts() {
    let _alone = alone();
    let peer = Peer::new("socket", Limits::default());
    for payload_bytes in [64, 1448, 65_535, 300_000] {
        let record = peer.run(short(Protocol::Tcp, payload_bytes)).unwrap();
        adds_up(&record);
        assert_eq!(record.result.loss_rate, Some(0.0));
        let window = record.result.frames_received.unwrap() * u64::from(payload_bytes);
        let socket = record.socket_window_bytes.unwrap();
        let apart = window.abs_diff(socket);
        assert!(
            apart <= 2 * u64::from(payload_bytes).max(1000),
            "{window} and {socket} B of {payload_bytes} B frames"
        );
    }
}

#[test]
fn streams_share_a_rate_and_are_added_up() {
    let _alone = alone();
    let peer = Peer::new("streams", Limits::default());
    let settings = RunSettings {
        cores: 2,
        streams: 5,
        rate_fps: Some(5000.0),
        ..short(Protocol::Tcp, 500)
    };
    undisturbed(&peer, &settings, 1450..=1550); // 1500 are due
}

#[test]
fn a_schedule_slower_than_the_run_does_not_hold_it() {
    let _alone = alone();
    let peer = Peer::new("slow", Limits::default());
    for pattern in [Pattern::Stream, Pattern::PingPong] {
        let settings = RunSettings {
            pattern,
            rate_fps: Some(0.1),
            ..short(Protocol::Udp, 64)
        };
        // The least of some: a busy machine may take its time.
        let mut least = Duration::MAX;
        for _ in 0..TRIES {
            let began = Instant::now();
            let result = peer.run(settings.clone()).unwrap().result;
            least = least.min(began.elapsed());
            assert!(result.frames_sent.unwrap() <= 1);
            if pattern == Pattern::Stream {
                assert_eq!(result.goodput_bps, None, "one frame has no rate");
            }
            if least < Duration::from_secs(2) {
                break;
            }
        }
        assert!(least < Duration::from_secs(2), "{pattern:?} took {least:?}");
    }
}
