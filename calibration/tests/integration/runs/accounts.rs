//! What must hold of every run, however busy the machine.

use super::{Peer, adds_up, short};
use icprobe::session::Limits;
use icprobe::settings::{Body, Pattern, Protocol, RunSettings};
use std::path::PathBuf;

#[test]
fn counted_frames_are_exactly_those() {
    let peer = Peer::new("counted", Limits::default());
    let settings = RunSettings {
        frames: Some(1001),
        warmup_s: 0.0,
        streams: 4,
        cores: 1,
        rate_fps: Some(20_000.0),
        ..short(Protocol::Udp, 100)
    };
    let record = peer.run(settings).unwrap();
    adds_up(&record);
    assert_eq!(record.result.frames_sent, Some(1001));
    assert_eq!(record.loss.unwrap().run_frames_sent, 1001);
}

#[test]
fn frames_too_short_for_a_stamp_are_counted_and_not_timed() {
    let peer = Peer::new("short", Limits::default());
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        for payload_bytes in [1, 31] {
            let settings = RunSettings {
                rate_fps: Some(1000.0),
                ..short(protocol, payload_bytes)
            };
            let record = peer.run(settings).unwrap();
            adds_up(&record);
            assert_eq!(record.result.latency_mean_s, None);
            assert_eq!(record.result.frames_duplicate, None);
            assert!(record.latency_histogram.is_none());
        }
    }
}

#[test]
fn round_trips_are_timed_one_by_one() {
    let peer = Peer::new("ping", Limits::default());
    for (protocol, pattern, payload_bytes) in [
        (Protocol::Udp, Pattern::PingPong, 64),
        (Protocol::Tcp, Pattern::PingPong, 1),
        (Protocol::Tcp, Pattern::Call, 500_000),
    ] {
        let settings = RunSettings {
            pattern,
            frames: Some(50),
            ..short(protocol, payload_bytes)
        };
        let result = peer.run(settings).unwrap().result;
        assert_eq!(result.frames_sent, Some(50));
        if protocol == Protocol::Tcp {
            assert_eq!(result.frames_received, Some(50));
        }
        let half = result.rtt_half_mean_s.unwrap();
        assert!((2.0 * half - result.rtt_mean_s.unwrap()).abs() < 1e-12);
        assert_eq!(
            result.latency_mean_s, None,
            "a round trip is no one-way latency"
        );
        assert_eq!(result.calls_queued_per_s, None);
    }
}

#[test]
fn calls_in_batches_are_all_invoked() {
    let peer = Peer::new("batch", Limits::default());
    for pattern in [Pattern::OnewayBatch, Pattern::TwowayBatch] {
        let settings = RunSettings {
            pattern,
            frames: Some(5000),
            warmup_s: 0.0,
            ..short(Protocol::Tcp, 64)
        };
        let result = peer.run(settings).unwrap().result;
        assert_eq!(
            (result.frames_sent, result.frames_received),
            (Some(5000), Some(5000))
        );
        assert!(result.calls_queued_per_s.unwrap() >= result.frames_per_s.unwrap());
        assert_eq!(result.rtt_mean_s.is_some(), pattern == Pattern::TwowayBatch);
    }
}

#[test]
fn calls_too_short_for_a_number_are_timed_all_the_same() {
    let peer = Peer::new("short-call", Limits::default());
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        for (payload_bytes, reply_bytes) in [(1, None), (31, None), (64, Some(8))] {
            let settings = RunSettings {
                pattern: Pattern::Call,
                reply_bytes,
                frames: Some(50),
                ..short(protocol, payload_bytes)
            };
            let result = peer.run(settings).unwrap().result;
            assert_eq!(result.frames_sent, Some(50));
            // A datagram that waits half a second for a busy machine counts as lost.
            let least = if protocol == Protocol::Tcp { 50 } else { 10 };
            let answered = result.frames_received.unwrap();
            assert!(
                answered >= least,
                "{answered} of {protocol:?} {payload_bytes} B"
            );
            assert!(result.rtt_mean_s.unwrap() > 0.0);
        }
    }
}

#[test]
fn batches_of_datagrams_end_well() {
    let peer = Peer::new("datagrams", Limits::default());
    for pattern in [Pattern::OnewayBatch, Pattern::TwowayBatch] {
        for warmup_s in [0.0, 0.05] {
            let settings = RunSettings {
                pattern,
                warmup_s,
                ..short(Protocol::Udp, 64)
            };
            let result = peer.run(settings).unwrap().result;
            let (sent, received) = (result.frames_sent, result.frames_received);
            assert!(
                sent.is_some() && received <= sent,
                "{received:?} of {sent:?}"
            );
        }
    }
}

#[test]
fn a_vector_goes_as_a_call() {
    let peer = Peer::new("vector", Limits::default());
    let settings = RunSettings {
        pattern: Pattern::Call,
        body: Body::Vector,
        frames: Some(20),
        ..short(Protocol::Tcp, 800_032)
    };
    let record = peer.run(settings).unwrap();
    assert_eq!(record.result.frames_received, Some(20));
    assert_eq!(record.point["body"], "vector");
}

#[test]
fn what_the_responder_does_not_allow_is_refused_with_the_reason() {
    let peer = Peer::new(
        "limits",
        Limits {
            duration_s: 1.0,
            ..Limits::default()
        },
    );
    let error = peer
        .run(RunSettings {
            duration_s: 5.0,
            ..short(Protocol::Udp, 64)
        })
        .unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("refused"), "{error}");
    let priority = RunSettings {
        realtime_priority: Some(50),
        ..short(Protocol::Udp, 64)
    };
    assert!(
        peer.run(priority)
            .unwrap_err()
            .to_string()
            .contains("--allow-realtime")
    );
    peer.run(short(Protocol::Udp, 64)).unwrap();
}

#[test]
fn nobody_there_is_a_failure_of_the_peer() {
    let peer = Peer::new("nobody", Limits::default());
    let nobody = Peer {
        port: 1,
        key: peer.key.clone(),
        folder: PathBuf::from("/nonexistent"),
    };
    assert_eq!(
        nobody
            .run(short(Protocol::Udp, 64))
            .unwrap_err()
            .exit_code(),
        3
    );
}
