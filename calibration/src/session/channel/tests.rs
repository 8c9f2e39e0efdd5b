use super::super::framing::REPORT_MAX_BYTES;
use super::super::tests::{channels, key, proved, says, sockets};
use super::*;
use crate::clock::fit::{Fit, one_clock};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const SOON: Duration = Duration::from_secs(5);

/// Caller that completes the handshake and can then send any bytes, and the channel of its
/// responder.
fn hostile() -> (TcpStream, Sealed, Channel) {
    let [(near, (noise, _)), (far, secrets)] = proved();
    (
        near,
        Sealed::new(noise),
        Channel::new(far, secrets).unwrap(),
    )
}

/// Seals a short message into its only part.
fn part(sealed: &mut Sealed, message: &[u8]) -> Vec<u8> {
    sealed.seal(message).unwrap().next().unwrap().unwrap()
}

#[test]
fn messages_arrive_whole_and_in_order_both_ways() {
    let [mut caller, mut responder] = channels();
    let exchange = Exchange {
        sent_ns: 1,
        peer_received_ns: 2,
        peer_sent_ns: 3,
        received_ns: 4,
    };
    let frames = vec![9; 1000];
    let said = [
        Message::Measure,
        Message::Ended { frames },
        Message::Clock { sent_ns: 1 },
        Message::Start,
        Message::Collect {
            fit: Fit::of(&[exchange], 0, 10),
        },
        Message::Bye,
    ];
    for message in &said {
        caller.send(message).unwrap();
    }
    for message in &said {
        assert_eq!(&responder.receive(SOON).unwrap(), message);
    }
    for message in &said {
        responder.send(message).unwrap();
        assert_eq!(&caller.receive(SOON).unwrap(), message);
    }
}

#[test]
fn both_ends_know_who_they_are() {
    let [caller, responder] = channels();
    assert_eq!(
        (caller.peer, caller.local),
        (responder.local, responder.peer)
    );
    assert!(caller.session == responder.session);
    assert!(caller.stream.nodelay().unwrap() && responder.stream.nodelay().unwrap());
}

#[test]
fn waiting_has_an_end_and_loses_nothing() {
    let (mut stream, mut sealed, mut responder) = hostile();
    let started = Instant::now();
    says(
        responder.receive(Duration::from_millis(50)),
        "sent nothing for 0.05 s",
    );
    assert!(started.elapsed() >= Duration::from_millis(50) && started.elapsed() < SOON);
    let part = part(&mut sealed, &Message::Measure.encode().unwrap());
    for byte in &part[..part.len() - 1] {
        stream.write_all(&[*byte]).unwrap();
        assert_eq!(responder.poll(Duration::ZERO).unwrap(), None);
    }
    let before_ns = now_ns();
    stream.write_all(&part[part.len() - 1..]).unwrap();
    assert_eq!(responder.receive(SOON), Ok(Message::Measure));
    assert!((before_ns..=now_ns()).contains(&responder.read_ns));
}

#[test]
fn what_cannot_be_believed_or_read_ends_the_channel_at_once() {
    let ready = Message::Ready.encode().unwrap();
    let length = |_: &mut Sealed| u16::MAX.to_be_bytes().to_vec();
    let forged = |sealed: &mut Sealed| {
        let mut part = part(sealed, &ready);
        *part.last_mut().unwrap() ^= 1;
        part
    };
    let repeated = |sealed: &mut Sealed| part(sealed, &ready).repeat(2);
    let unreadable = |sealed: &mut Sealed| part(sealed, b"{\"ready\":");
    type Say<'a> = &'a dyn Fn(&mut Sealed) -> Vec<u8>;
    let said: [(Say, &str); 4] = [
        (&length, "length is not allowed"),
        (&forged, "code is wrong"),
        (&repeated, "code is wrong"),
        (&unreadable, "cannot be read"),
    ];
    for (say, what) in said {
        let (mut stream, mut sealed, mut responder) = hostile();
        stream.write_all(&say(&mut sealed)).unwrap();
        let started = Instant::now();
        let refused = match responder.receive(SOON) {
            Ok(Message::Ready) => responder.receive(SOON),
            other => other,
        };
        says(refused, what);
        assert!(started.elapsed() < SOON / 2);
        says(responder.poll(SOON), "is over");
        says(responder.send(&Message::Ready), "is over");
    }
}

#[test]
fn a_peer_that_refuses_or_fails_or_closes_is_an_error_with_its_reason_made_safe() {
    let reason = "too\u{1b}[31m much".to_string();
    for (message, said) in [
        (
            Message::Refused {
                reason: reason.clone(),
            },
            Error::question("the peer refused: too\u{fffd}[31m much"),
        ),
        (
            Message::Failed { reason },
            Error::peer("the peer failed: too\u{fffd}[31m much"),
        ),
    ] {
        let [mut caller, mut responder] = channels();
        responder.send(&message).unwrap();
        assert_eq!(caller.receive(SOON), Err(said));
    }
    let [mut caller, responder] = channels();
    drop(responder);
    says(caller.receive(SOON), "is lost, it closed");
}

#[test]
fn looking_without_waiting_does_not_wait() {
    let [mut caller, mut responder] = channels();
    let started = Instant::now();
    for _ in 0..100 {
        assert_eq!(responder.poll(Duration::ZERO), Ok(None));
    }
    // If each call waited for a kernel tick (1 to 10 ms), this would take at least 100 ms.
    assert!(
        started.elapsed() < Duration::from_millis(80),
        "{:?}",
        started.elapsed()
    );
    caller.send(&Message::Ready).unwrap();
    assert_eq!(responder.receive(Duration::MAX), Ok(Message::Ready));
}

#[test]
fn a_peer_that_keeps_talking_does_not_win_time() {
    let [mut caller, mut responder] = channels();
    responder.end_within(Duration::from_millis(100));
    responder.end_within(SOON);
    let started = Instant::now();
    let talker = thread::spawn(move || {
        while caller.send(&Message::Clock { sent_ns: 1 }).is_ok() {
            thread::sleep(Duration::from_millis(5));
        }
    });
    let mut heard = 0;
    let over = loop {
        match responder.receive(SOON) {
            Ok(_) => heard += 1,
            Err(error) => break error,
        }
    };
    assert!(started.elapsed() >= Duration::from_millis(100) && started.elapsed() < SOON);
    assert!(heard > 0, "{over}");
    says(responder.send(&Message::Bye), "over");
    drop(responder);
    talker.join().unwrap();
}

#[test]
fn a_peer_that_takes_nothing_does_not_hold_the_sender() {
    let [_caller, mut responder] = channels();
    responder.allow_raw();
    responder.end_within(Duration::from_millis(500));
    let started = Instant::now();
    let frames = vec![u64::MAX; 3 << 20];
    says(
        responder.send(&Message::Ended { frames }),
        "is lost, it did nothing in time",
    );
    assert!(started.elapsed() < SOON);
    says(responder.send(&Message::Ready), "is over");
}

#[test]
fn clocks_are_exchanged_in_order_while_other_threads_work() {
    let [mut caller, mut responder] = channels();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        scope.spawn(move || {
            while let Message::Clock { sent_ns } = responder.receive(SOON).unwrap() {
                responder.answer_clock(sent_ns).unwrap();
            }
        });
        let exchanges = [(); 200].map(|()| caller.exchange(SOON).unwrap());
        caller.send(&Message::Bye).unwrap();
        done.store(true, Ordering::Relaxed);
        assert!(one_clock(&exchanges));
        assert!(
            exchanges
                .windows(2)
                .all(|two| two[0].received_ns <= two[1].sent_ns)
        );
    });
}

#[test]
fn an_answer_to_an_earlier_question_is_passed_over() {
    let [mut caller, mut responder] = channels();
    let answer = thread::spawn(move || {
        for stale in [true, false] {
            let question = responder.receive(SOON).unwrap();
            let Message::Clock { sent_ns } = question else {
                panic!("{question:?}")
            };
            if stale {
                responder.answer_clock(1).unwrap();
            }
            responder.answer_clock(sent_ns).unwrap();
        }
    });
    for _ in 0..2 {
        let before_ns = now_ns();
        let exchange = caller.exchange(SOON).unwrap();
        assert!((before_ns..=exchange.received_ns).contains(&exchange.sent_ns));
    }
    answer.join().unwrap();
}

#[test]
fn what_is_no_answer_to_a_question_for_the_time_is_refused() {
    let never_asked = Message::ClockReply {
        sent_ns: u64::MAX,
        received_ns: 1,
        replied_ns: 2,
    };
    for (answer, what) in [
        (Message::Ready, "\"ready\" instead of \"clock-reply\""),
        (never_asked, "without a request"),
    ] {
        let [mut caller, mut responder] = channels();
        responder.send(&answer).unwrap();
        says(caller.exchange(SOON), what);
    }
}

#[test]
fn answers_to_earlier_questions_win_no_time() {
    let [mut caller, mut responder] = channels();
    let talker = thread::spawn(move || while responder.answer_clock(1).is_ok() {});
    let started = Instant::now();
    let patience = Duration::from_millis(100);
    says(caller.exchange(patience), "no clock reply");
    assert!(started.elapsed() >= patience && started.elapsed() < SOON);
    drop(caller);
    talker.join().unwrap();
}

#[test]
fn a_large_report_travels_to_the_caller_and_its_memory_is_given_back() {
    let [(near, secrets), (mut far, (noise, _))] = proved();
    let mut caller = Channel::new(near, secrets).unwrap();
    // The message is read as a whole and only then refused, since it is not a report.
    let writer = thread::spawn(move || {
        for part in Sealed::new(noise)
            .seal(&vec![b' '; REPORT_MAX_BYTES])
            .unwrap()
        {
            far.write_all(&part.unwrap()).unwrap();
        }
    });
    says(caller.receive(SOON), "cannot be read");
    writer.join().unwrap();
    assert!(caller.inbox.capacity() <= 2 * (usize::from(u16::MAX) + READ_BYTES));
}

#[test]
fn a_message_that_is_too_large_ends_nothing() {
    let [mut caller, mut responder] = channels();
    let reason = "x".repeat(1 << 16);
    says(caller.send(&Message::Failed { reason }), "too large");
    caller.send(&Message::Ready).unwrap();
    assert_eq!(responder.receive(SOON), Ok(Message::Ready));
}

#[test]
fn nobody_listening_is_said_so() {
    let (near, _) = sockets();
    says(connect(near.local_addr().unwrap(), &key()), "icprobe serve");
}
