use super::super::framing::{CONTROL_MAX_BYTES, REPORT_MAX_BYTES};
use super::*;
use crate::clock::fit::Fit;
use std::io::Write;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const SOON: Duration = Duration::from_secs(5);
const EXCHANGE: Exchange = Exchange {
    sent_ns: 1,
    peer_received_ns: 2,
    peer_sent_ns: 3,
    received_ns: 4,
};

fn key() -> Key {
    Key::of([1; 32])
}

fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

/// The caller's and the responder's end of one channel.
fn ends() -> (Channel, Channel) {
    let (one, other) = sockets();
    let responder = thread::spawn(move || Channel::as_responder(other, &key()).unwrap());
    (
        Channel::as_caller(one, &key()).unwrap(),
        responder.join().unwrap(),
    )
}

/// A caller that keeps to the handshake and then says what it likes.
fn hostile() -> (TcpStream, Sealed, Channel) {
    let (one, other) = sockets();
    let responder = thread::spawn(move || Channel::as_responder(other, &key()).unwrap());
    let (noise, _) = handshake::as_caller(&one, &key()).unwrap();
    let sealed = Sealed::new(noise, Role::Caller);
    (one, sealed, responder.join().unwrap())
}

fn says<T: std::fmt::Debug>(result: Result<T>, what: &str) {
    let text = result.unwrap_err().to_string();
    assert!(text.contains(what), "{text:?} does not say {what:?}");
}

#[test]
fn messages_arrive_whole_and_in_order_both_ways() {
    let (mut caller, mut responder) = ends();
    let frames = vec![9; 1000];
    let said = [
        Message::Measure,
        Message::Ended { frames },
        Message::Clock { sent_ns: 1 },
        Message::Start,
        Message::Collect {
            fit: Fit::of(&[EXCHANGE], 0, 10),
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
    let (caller, responder) = ends();
    assert_eq!(
        (caller.peer(), caller.local()),
        (responder.local(), responder.peer())
    );
    assert_eq!(caller.session().token(), responder.session().token());
    assert!(caller.stream.nodelay().unwrap() && responder.stream.nodelay().unwrap());
}

#[test]
fn waiting_has_an_end_and_loses_nothing() {
    let (mut stream, mut sealed, mut responder) = hostile();
    let started = Instant::now();
    says(
        responder.receive(Duration::from_millis(50)),
        "said nothing for 0.05 s",
    );
    assert!(started.elapsed() >= Duration::from_millis(50) && started.elapsed() < SOON);
    let part = sealed.seal(&Message::Measure.encode().unwrap()).unwrap();
    for byte in &part[..part.len() - 1] {
        stream.write_all(&[*byte]).unwrap();
        assert_eq!(responder.poll(Duration::ZERO).unwrap(), None);
    }
    let before_ns = now_ns();
    stream.write_all(&part[part.len() - 1..]).unwrap();
    let (message, received_ns) = responder.receive_stamped(SOON).unwrap();
    assert_eq!(message, Message::Measure);
    assert!((before_ns..=now_ns()).contains(&received_ns));
}

#[test]
fn a_forged_length_is_refused_at_once_and_the_channel_is_over() {
    let (mut stream, _, mut responder) = hostile();
    stream.write_all(&u16::MAX.to_be_bytes()).unwrap();
    let started = Instant::now();
    says(responder.receive(SOON), "length is not allowed");
    assert!(started.elapsed() < SOON / 2);
    says(responder.receive(SOON), "is over");
    says(responder.send(&Message::Ready), "is over");
}

#[test]
fn a_forged_or_repeated_or_unreadable_message_ends_the_channel() {
    let ready = Message::Ready.encode().unwrap();
    let (mut stream, mut sealed, mut responder) = hostile();
    let mut part = sealed.seal(&ready).unwrap();
    let last = part.len() - 1;
    part[last] ^= 1;
    stream.write_all(&part).unwrap();
    says(responder.receive(SOON), "code is wrong");

    let (mut stream, mut sealed, mut responder) = hostile();
    let part = sealed.seal(&ready).unwrap();
    stream.write_all(&part.repeat(2)).unwrap();
    assert_eq!(responder.receive(SOON).unwrap(), Message::Ready);
    says(responder.receive(SOON), "code is wrong");

    let (mut stream, mut sealed, mut responder) = hostile();
    let part = sealed.seal(b"{\"ready\":").unwrap();
    stream.write_all(&part).unwrap();
    says(responder.receive(SOON), "cannot be read");
    says(responder.poll(SOON), "is over");
}

#[test]
fn a_peer_that_closes_is_gone() {
    let (mut caller, responder) = ends();
    drop(responder);
    says(caller.receive(SOON), "is gone");
}

#[test]
fn looking_without_waiting_does_not_wait() {
    let (mut caller, mut responder) = ends();
    let started = Instant::now();
    for _ in 0..100 {
        assert_eq!(responder.poll(Duration::ZERO), Ok(None));
    }
    // With a tick of the kernel (1 to 10 ms) for each this would be 100 ms at least.
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
    let (mut caller, mut responder) = ends();
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
    let (_stream, _, mut responder) = hostile();
    let started = Instant::now();
    let much = vec![0; 64 << 20];
    says(
        responder.write(&much, started + Duration::from_millis(200)),
        "takes no message",
    );
    assert!(started.elapsed() < SOON);
    says(responder.send(&Message::Ready), "is over");
}

#[test]
fn clocks_are_exchanged_in_order_while_other_threads_work() {
    let (mut caller, mut responder) = ends();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        scope.spawn(move || {
            while let (Message::Clock { sent_ns }, received_ns) =
                responder.receive_stamped(SOON).unwrap()
            {
                responder.answer_clock(sent_ns, received_ns).unwrap();
            }
        });
        let mut exchanges = vec![];
        for _ in 0..200 {
            exchanges.push(caller.exchange(SOON).unwrap());
        }
        caller.send(&Message::Bye).unwrap();
        done.store(true, Ordering::Relaxed);
        assert!(crate::clock::fit::one_clock(&exchanges));
        assert!(
            exchanges
                .windows(2)
                .all(|two| two[0].received_ns <= two[1].sent_ns)
        );
    });
}

#[test]
fn an_answer_to_an_earlier_question_is_passed_over() {
    let (mut caller, mut responder) = ends();
    let answer = thread::spawn(move || {
        for stale in [true, false] {
            let (question, read_ns) = responder.receive_stamped(SOON).unwrap();
            let Message::Clock { sent_ns } = question else {
                panic!("{question:?}")
            };
            if stale {
                responder.answer_clock(1, read_ns).unwrap();
            }
            responder.answer_clock(sent_ns, read_ns).unwrap();
        }
        responder
    });
    for _ in 0..2 {
        let before_ns = now_ns();
        let exchange = caller.exchange(SOON).unwrap();
        assert!((before_ns..=exchange.received_ns).contains(&exchange.sent_ns));
    }
    drop(answer.join());
}

#[test]
fn what_is_no_answer_to_a_question_for_the_time_is_refused() {
    let never_asked = Message::ClockReply {
        sent_ns: u64::MAX,
        received_ns: 1,
        replied_ns: 2,
    };
    let failed = Message::Failed {
        reason: "no power".into(),
    };
    for (answer, what) in [
        (Message::Ready, "\"ready\" where \"clock-reply\""),
        (failed, "no power"),
        (never_asked, "never asked"),
    ] {
        let (mut caller, mut responder) = ends();
        responder.send(&answer).unwrap();
        says(caller.exchange(SOON), what);
    }
}

#[test]
fn answers_to_earlier_questions_win_no_time() {
    let (mut caller, mut responder) = ends();
    let talker = thread::spawn(move || while responder.answer_clock(1, now_ns()).is_ok() {});
    let started = Instant::now();
    let patience = Duration::from_millis(100);
    says(caller.exchange(patience), "did not tell the time");
    assert!(started.elapsed() >= patience && started.elapsed() < SOON);
    drop(caller);
    talker.join().unwrap();
}

#[test]
fn a_large_report_travels_to_the_caller_and_its_memory_is_given_back() {
    let (one, other) = sockets();
    let responder = thread::spawn(move || {
        let (noise, _) = handshake::as_responder(&other, &key()).unwrap();
        (other, Sealed::new(noise, Role::Responder))
    });
    let mut caller = Channel::as_caller(one, &key()).unwrap();
    let (mut other, mut sealed) = responder.join().unwrap();
    // It is read whole, and only then refused, for it is no report.
    let writer = thread::spawn(move || {
        for content in sealed.parts(&vec![b' '; REPORT_MAX_BYTES]).unwrap() {
            other.write_all(&sealed.seal(content).unwrap()).unwrap();
        }
    });
    says(caller.receive(SOON), "cannot be read");
    writer.join().unwrap();
    assert!(caller.inbox.capacity() <= 2 * (CONTROL_MAX_BYTES + READ_BYTES));
}

#[test]
fn a_message_that_is_too_large_ends_nothing() {
    let (mut caller, mut responder) = ends();
    let reason = "x".repeat(CONTROL_MAX_BYTES);
    says(caller.send(&Message::Failed { reason }), "too large");
    caller.send(&Message::Ready).unwrap();
    assert_eq!(responder.receive(SOON), Ok(Message::Ready));
}

#[test]
fn nobody_listening_is_said_so() {
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    says(connect(address, &key()).map(|_| ()), "icprobe serve");
}
