//! Over loopback: every frame arrives whole, once and in order, both ways.

use super::ends::{LOOPBACK, TOKEN, frame, join, pair, place, take};
use icprobe::settings::{Pattern, Protocol, Role, RunSettings, Waiting};
use icprobe::transport::{FrameReceiver, FrameSender, prepare};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// Sends `count` frames of the payload on every stream and expects them at the other end.
fn streams_through(settings: &RunSettings, count: usize) {
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
            sender
        });
        let frames = take(&mut receiver, count).expect("receive");
        assert_eq!(frames.len(), count);
        for (seq, got) in frames.iter().enumerate() {
            assert!(
                *got == frame(stream + seq, size),
                "frame {seq} of stream {stream}"
            );
        }
        if settings.protocol == Protocol::Tcp {
            assert_eq!(receiver.delivered_bytes(), Some((count * size) as u64));
        }
        drop(sending.join().expect("the sender panicked"));
        if settings.protocol == Protocol::Tcp {
            let end = receiver.receive(Duration::from_secs(1), |_, _| {});
            assert_eq!(end.map_err(|e| e.kind()), Err(ErrorKind::UnexpectedEof));
            assert_eq!(receiver.delivered_bytes(), Some((count * size) as u64));
        }
    }
}

#[test]
fn tcp_frames_of_any_size_arrive_whole_and_in_order() {
    for (size, count) in [
        (1, 5000),
        (64, 20_000),
        (1448, 3000),
        (65_535, 200),
        (262_144, 20),
        (500_000, 20),
        (3_000_001, 5),
    ] {
        for nagle in [true, false] {
            let mut settings = RunSettings::new(Protocol::Tcp, size);
            settings.nagle = nagle;
            streams_through(&settings, count);
        }
    }
}

#[test]
fn tcp_goes_both_ways_in_several_streams_polling_and_in_batches() {
    let mut settings = RunSettings::new(Protocol::Tcp, 1000);
    settings.streams = 3;
    settings.reverse = true;
    settings.dscp = Some(46);
    settings.send_buffer_bytes = Some(65_536);
    settings.receive_buffer_bytes = Some(65_536);
    streams_through(&settings, 2000);
    settings.waiting = Waiting::Polling;
    streams_through(&settings, 2000);
    settings.batch_frames = 7;
    settings.reverse = false;
    streams_through(&settings, 2000);
}

#[test]
fn udp_datagrams_up_to_the_largest_arrive() {
    for size in [1, 17, 18, 19, 64, 1472, 1473, 9000, 65_507] {
        let mut settings = RunSettings::new(Protocol::Udp, size);
        settings.receive_buffer_bytes = Some(4 << 20);
        streams_through(&settings, 10);
        settings.reverse = true;
        settings.streams = 2;
        streams_through(&settings, 10);
        settings.batch_frames = 4;
        settings.waiting = Waiting::Polling;
        streams_through(&settings, 10);
    }
}

#[test]
fn ipv6_works_like_ipv4() {
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        let mut settings = RunSettings::new(protocol, 100);
        settings.dscp = Some(10);
        let here = place(Ipv6Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into());
        let caller = prepare(Role::Caller, &settings, &here).expect("caller");
        let responder = prepare(Role::Responder, &settings, &here).expect("responder");
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
        sender.send(&frame(1, 100)).expect("send");
        assert_eq!(take(&mut receiver, 1).expect("receive"), [frame(1, 100)]);
    }
}

#[test]
fn questions_and_answers_share_a_connection() {
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        for reverse in [false, true] {
            let mut settings = RunSettings::new(protocol, 500);
            settings.pattern = Pattern::Call;
            settings.reverse = reverse;
            settings.nagle = false;
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
            let mut answer = answering
                .into_iter()
                .next()
                .expect("one")
                .into_duplex()
                .expect("duplex");
            for seq in 0..100 {
                ask.send(&frame(seq, 500)).expect("ask");
                assert_eq!(take(&mut answer, 1).expect("asked"), [frame(seq, 500)]);
                answer.send(&frame(seq, 32)).expect("answer");
                assert_eq!(take(&mut ask, 1).expect("answered"), [frame(seq, 32)]);
            }
        }
    }
}

#[test]
fn a_timeout_is_no_error_and_is_kept() {
    for (protocol, waiting) in [
        (Protocol::Tcp, Waiting::Blocking),
        (Protocol::Tcp, Waiting::Polling),
        (Protocol::Udp, Waiting::Blocking),
        (Protocol::Udp, Waiting::Polling),
    ] {
        let mut settings = RunSettings::new(protocol, 64);
        settings.waiting = waiting;
        let (_caller, responder) = pair(&settings);
        let mut receiver = responder
            .into_iter()
            .next()
            .expect("one")
            .into_receiver()
            .expect("receiver");
        for millis in [0, 30] {
            let begun = Instant::now();
            let got = receiver.receive(Duration::from_millis(millis), |_, _| {});
            assert_eq!(got.expect("timeout"), 0);
            assert!(begun.elapsed() >= Duration::from_millis(millis));
            assert!(begun.elapsed() < Duration::from_millis(millis + 500));
        }
    }
}

#[test]
fn a_tcp_connection_without_the_token_is_closed_and_holds_nobody_up() {
    let settings = RunSettings::new(Protocol::Tcp, 64);
    let here = place(LOOPBACK, LOOPBACK);
    let caller = prepare(Role::Caller, &settings, &here).expect("caller");
    let responder = prepare(Role::Responder, &settings, &here).expect("responder");
    let port = responder.announce().ports[0];
    let address = SocketAddr::new(LOOPBACK, port);
    let _silent = TcpStream::connect(address).expect("silent stranger");
    let mut wrong = TcpStream::connect(address).expect("stranger");
    wrong.write_all(&[7; 18]).expect("wrong token");
    let mut beyond = TcpStream::connect(address).expect("stream number too high");
    beyond
        .write_all(&[&TOKEN[..], &[9, 9]].concat())
        .expect("opening");
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
    sender.send(&frame(3, 64)).expect("send");
    assert_eq!(take(&mut receiver, 1).expect("receive"), [frame(3, 64)]);
    for mut refused in [wrong, beyond] {
        let mut byte = [0];
        assert!(matches!(refused.read(&mut byte), Ok(0) | Err(_)));
    }
}

#[test]
fn a_udp_stranger_gets_no_byte_and_leaves_none() {
    let settings = RunSettings::new(Protocol::Udp, 64);
    let here = place(LOOPBACK, LOOPBACK);
    let caller = prepare(Role::Caller, &settings, &here).expect("caller");
    let responder = prepare(Role::Responder, &settings, &here).expect("responder");
    let port = responder.announce().ports[0];
    let stranger = UdpSocket::bind((LOOPBACK, 0)).expect("stranger");
    for bytes in [&[7; 18][..], &[0; 64], &[]] {
        stranger.send_to(bytes, (LOOPBACK, port)).expect("send");
    }
    let (caller, responder) = join(caller, responder);
    stranger.send_to(&[9; 64], (LOOPBACK, port)).expect("send");
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
    sender.send(&frame(3, 64)).expect("send");
    assert_eq!(take(&mut receiver, 1).expect("receive"), [frame(3, 64)]);
    stranger.set_nonblocking(true).expect("nonblocking");
    assert!(stranger.recv(&mut [0; 64]).is_err());
}

#[test]
fn udp_counts_what_the_socket_dropped() {
    let mut settings = RunSettings::new(Protocol::Udp, 1000);
    settings.receive_buffer_bytes = Some(4096);
    let (caller, responder) = pair(&settings);
    let mut sender = caller
        .into_iter()
        .next()
        .expect("one")
        .into_sender()
        .expect("sender");
    let mut receiver = responder
        .into_iter()
        .next()
        .expect("one")
        .into_receiver()
        .expect("receiver");
    for seq in 0..100 {
        assert!(sender.send(&frame(seq, 1000)).expect("send"));
    }
    let mut came = 0;
    let end = Instant::now() + Duration::from_secs(2); // the kernel may still hand frames over
    while came + receiver.overflow().unwrap_or(0) < 100 && Instant::now() < end {
        came += receiver.receive(Duration::ZERO, |_, _| {}).unwrap_or(0) as u64;
    }
    assert!(came < 100);
    assert_eq!(receiver.overflow(), Some(100 - came));
}
