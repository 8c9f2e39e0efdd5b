//! ZeroMQ over loopback: every pair of sockets, both directions, and strangers kept out.

use super::ends::{LOOPBACK, TAG, TOKEN, frame, join, pair, place, take};
use icprobe::settings::{Pattern, Protocol, Role, RunSettings, Waiting, ZeromqSocket};
use icprobe::transport::{FrameReceiver, FrameSender, prepare};
use std::time::{Duration, Instant};

fn settings(payload_bytes: u32) -> RunSettings {
    let mut settings = RunSettings::new(Protocol::Zeromq, payload_bytes);
    settings.high_water_mark = Some(5000);
    settings
}

fn stream_through(settings: &RunSettings, count: usize) {
    let size = settings.payload_bytes as usize;
    let (caller, responder) = pair(settings);
    let (senders, receivers) = if settings.reverse {
        (responder, caller)
    } else {
        (caller, responder)
    };
    assert_eq!(senders.len(), usize::from(settings.streams));
    for (stream, (sender, receiver)) in senders.into_iter().zip(receivers).enumerate() {
        let mut sender = sender.into_sender().expect("sender");
        let mut receiver = receiver.into_receiver().expect("receiver");
        let sending = std::thread::spawn(move || {
            for seq in 0..count {
                assert!(sender.send(&frame(stream + seq, size)).expect("send"));
            }
            sender.flush().expect("flush");
        });
        let frames = take(&mut receiver, count).expect("receive");
        assert_eq!(frames.len(), count, "{settings:?}");
        for (seq, got) in frames.iter().enumerate() {
            assert!(
                *got == frame(stream + seq, size),
                "frame {seq} of stream {stream}"
            );
        }
        sending.join().expect("the sender panicked");
    }
}

#[test]
fn every_pair_of_sockets_carries_streams_both_ways() {
    for socket in [
        ZeromqSocket::PushPull,
        ZeromqSocket::PubSub,
        ZeromqSocket::ReqRep,
    ] {
        for reverse in [false, true] {
            for waiting in [Waiting::Blocking, Waiting::Polling] {
                for (size, count) in [(1, 300), (64, 1000), (500_000, 20)] {
                    let mut settings = settings(size);
                    settings.zeromq_socket = socket;
                    settings.reverse = reverse;
                    settings.waiting = waiting;
                    settings.streams = 2;
                    settings.cores = 2;
                    settings.io_threads = Some(2);
                    settings.dscp = Some(46);
                    stream_through(&settings, count);
                }
            }
        }
    }
}

#[test]
fn calls_go_in_lockstep_and_batches_both_ways_at_once() {
    for pattern in [
        Pattern::PingPong,
        Pattern::Call,
        Pattern::OnewayBatch,
        Pattern::TwowayBatch,
    ] {
        for reverse in [false, true] {
            let mut settings = settings(500);
            settings.pattern = pattern;
            settings.reverse = reverse;
            let answer = if pattern == Pattern::PingPong {
                500
            } else {
                32
            };
            let (caller, responder) = pair(&settings);
            let (asking, answering) = if reverse {
                (responder, caller)
            } else {
                (caller, responder)
            };
            let mut ask = asking
                .into_iter()
                .next()
                .expect("one")
                .into_duplex()
                .expect("duplex");
            let mut reply = answering
                .into_iter()
                .next()
                .expect("one")
                .into_duplex()
                .expect("duplex");
            for seq in 0..50 {
                ask.send(&frame(seq, 500)).expect("ask");
                assert_eq!(take(&mut reply, 1).expect("asked"), [frame(seq, 500)]);
                reply.send(&frame(seq, answer)).expect("answer");
                let answers = take(&mut ask, 1).expect("answered");
                assert_eq!(answers, [frame(seq, answer)], "{pattern:?} {reverse} {seq}");
            }
            if pattern == Pattern::TwowayBatch {
                for seq in 0..50 {
                    ask.send(&frame(seq, 500)).expect("ask");
                }
                assert_eq!(take(&mut reply, 50).expect("asked").len(), 50);
            }
        }
    }
}

#[test]
fn a_timeout_is_no_error() {
    for waiting in [Waiting::Blocking, Waiting::Polling] {
        let mut settings = settings(64);
        settings.waiting = waiting;
        let (_caller, responder) = pair(&settings);
        let mut receiver = responder
            .into_iter()
            .next()
            .expect("one")
            .into_receiver()
            .expect("receiver");
        let begun = Instant::now();
        let got = receiver.receive(Duration::from_millis(30), |_, _| {});
        assert_eq!(got.expect("timeout"), 0);
        assert!(begun.elapsed() >= Duration::from_millis(29));
        assert_eq!(
            receiver
                .receive(Duration::ZERO, |_, _| {})
                .expect("timeout"),
            0
        );
    }
}

#[test]
fn what_was_chosen_is_said() {
    let mut settings = settings(64);
    settings.io_threads = Some(3);
    let (caller, _responder) = pair(&settings);
    let sender = caller
        .into_iter()
        .next()
        .expect("one")
        .into_sender()
        .expect("sender");
    let chosen = sender.chosen();
    assert_eq!(chosen["high_water_mark"], 5000);
    assert_eq!(chosen["io_threads"], 3);
    assert!(
        chosen["libzmq"]
            .as_str()
            .is_some_and(|v| v.starts_with('4'))
    );
}

#[test]
fn a_peer_with_another_token_is_not_let_in() {
    let settings = settings(64);
    let here = place(LOOPBACK, LOOPBACK);
    let caller = prepare(Role::Caller, &settings, &here).expect("caller");
    let stranger = prepare(Role::Responder, &settings, &here).expect("stranger");
    let responder = prepare(Role::Responder, &settings, &here).expect("responder");
    let ports = caller.announce().clone();
    let short = Duration::from_millis(500);
    let refused = std::thread::spawn(move || {
        let joined = stranger.establish(&ports, b"another token 16", TAG, short);
        let mut receiver = joined
            .expect("waits for nobody")
            .remove(0)
            .into_receiver()
            .expect("receiver");
        take(&mut receiver, 1).expect("receive")
    });
    std::thread::sleep(short);
    let (caller, responder) = join(caller, responder);
    let mut sender = caller
        .expect("caller")
        .remove(0)
        .into_sender()
        .expect("sender");
    let mut receiver = responder
        .expect("responder")
        .remove(0)
        .into_receiver()
        .expect("receiver");
    for seq in 0..10 {
        sender.send(&frame(seq, 64)).expect("send");
    }
    let frames = take(&mut receiver, 10).expect("receive");
    assert_eq!(
        frames,
        (0..10).map(|seq| frame(seq, 64)).collect::<Vec<_>>()
    );
    assert!(refused.join().expect("the stranger panicked").is_empty());
}

#[test]
fn an_absent_peer_is_said_in_time() {
    for socket in [ZeromqSocket::PushPull, ZeromqSocket::PubSub] {
        let mut settings = settings(64);
        settings.zeromq_socket = socket;
        let here = place(LOOPBACK, LOOPBACK);
        for role in [Role::Caller, Role::Responder] {
            settings.reverse = role == Role::Responder;
            let end = prepare(role, &settings, &here).expect("end");
            let absent = icprobe::transport::Announce {
                ports: vec![1],
                mac: None,
            };
            let begun = Instant::now();
            let joined = end.establish(&absent, &TOKEN, TAG, Duration::from_millis(300));
            assert!(joined.is_err());
            assert!(begun.elapsed() < Duration::from_secs(2));
        }
    }
}

#[test]
fn options_that_libzmq_lacks_are_refused_with_their_names() {
    let here = place(LOOPBACK, LOOPBACK);
    let mut batch = settings(64);
    batch.batch_bytes = Some(65_536);
    if let Err(e) = prepare(Role::Caller, &batch, &here) {
        assert!(e.to_string().contains("ZMQ_IN_BATCH_SIZE"), "{e}");
        assert_eq!(e.exit_code(), 2);
    }
    let mut several = settings(64);
    several.batch_frames = 2;
    assert!(prepare(Role::Caller, &several, &here).is_err());
    let mut calls = settings(64);
    calls.pattern = Pattern::Call;
    calls.zeromq_socket = ZeromqSocket::PubSub;
    assert!(prepare(Role::Caller, &calls, &here).is_err());
}
