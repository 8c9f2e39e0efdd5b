use super::super::tests::{key, says, sockets};
use super::*;
use proptest::prelude::*;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::thread;

/// Returns a responder's answer to a caller that sends `bytes`, and the responder's result.
fn hear(bytes: &[u8]) -> (Vec<u8>, Result<Secrets>) {
    let (mut near, far) = sockets();
    let responder = thread::spawn(move || as_responder(&far, &key()));
    let _ = near.write_all(bytes);
    let _ = near.shutdown(Shutdown::Write);
    let mut heard = vec![];
    let _ = near.read_to_end(&mut heard);
    (heard, responder.join().unwrap())
}

/// Returns a caller's result if the responder sends `bytes`.
fn answer(bytes: &[u8]) -> Result<Secrets> {
    let (near, mut far) = sockets();
    let caller = thread::spawn(move || as_caller(&near, &key()));
    far.write_all(bytes).unwrap();
    far.shutdown(Shutdown::Write).unwrap();
    caller.join().unwrap()
}

/// Runs a handshake whose three messages `change` may modify. Returns these messages, and the
/// results of caller and responder.
fn relay(change: impl Fn(usize, &mut [u8])) -> ([Vec<u8>; 3], [Result<Secrets>; 2]) {
    let ((near, far), (here, there)) = (sockets(), sockets());
    let caller = thread::spawn(move || as_caller(&near, &key()));
    let responder = thread::spawn(move || as_responder(&there, &key()));
    let pass = |number, mut from: &TcpStream, mut to: &TcpStream, length| {
        let mut message = vec![0; length];
        if from.read_exact(&mut message).is_ok() {
            change(number, &mut message);
            let _ = to.write_all(&message);
        } else {
            let _ = to.shutdown(Shutdown::Write);
        }
        message
    };
    let messages = [
        pass(0, &far, &here, HELLO_BYTES),
        pass(1, &here, &far, ANSWER_BYTES),
        pass(2, &far, &here, PROOF_BYTES),
    ];
    (messages, [caller, responder].map(|end| end.join().unwrap()))
}

#[test]
fn two_ends_with_the_key_agree_and_every_session_is_another() {
    let [(first, one), (second, other)] = [(); 2].map(|()| {
        let (messages, ends) = relay(|_, _| ());
        let [caller, responder] = ends.map(|end| end.ok().unwrap().1);
        assert!(caller == responder);
        assert_ne!(caller.token()[..4], caller.tag().to_le_bytes());
        (messages, caller)
    });
    assert_ne!(one.token(), other.token());
    assert_ne!(one.tag(), other.tag());
    for (one, other) in first.iter().zip(&second) {
        assert_ne!(
            one[one.len() - PROOF_BYTES..],
            other[other.len() - PROOF_BYTES..]
        );
    }
}

#[test]
fn another_key_opens_nothing_and_hears_nothing() {
    let (mut near, far) = sockets();
    let responder = thread::spawn(move || as_responder(&far, &key()));
    says(as_caller(&near, &Key::of([2; 32])), "same key file");
    says(responder.join().unwrap(), "does not have the key");
    assert_eq!(near.read_to_end(&mut vec![]).unwrap(), 0);
}

#[test]
fn strangers_hear_nothing_and_other_versions_less_than_they_say() {
    let ([hello, answer, proof], _) = relay(|_, _| ());
    let with = |at: usize, byte: u8| {
        let mut bytes = hello.clone();
        bytes[at] = byte;
        bytes
    };
    let other = with(8, 1);
    let without_key = [&hello[..HELLO_HEAD_BYTES], &[9; NOISE_BYTES]].concat();
    let web = b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: everything\r\nX: 0123456789\r\n\r\n";
    for (bytes, most) in [
        (vec![], 0),
        (hello[..HELLO_BYTES - 1].to_vec(), 0),
        (vec![0; HELLO_BYTES], 0),
        (with(20, 1), 0),
        (without_key.repeat(5), 0),
        (without_key, 0),
        (web.repeat(2), 0),
        (other[..HELLO_HEAD_BYTES - 1].to_vec(), 0),
        (other[..HELLO_HEAD_BYTES].to_vec(), ANSWER_HEAD_BYTES),
        (other.repeat(3), ANSWER_HEAD_BYTES),
        (hello.repeat(5), ANSWER_BYTES),
        (hello.clone(), ANSWER_BYTES),
    ] {
        let (heard, session) = hear(&bytes);
        assert!(session.is_err());
        // Closing with bytes unread may reset the connection before the answer is read.
        let less = heard.is_empty() || heard.len() < bytes.len();
        assert!(
            less && heard.len() <= most,
            "{} for {}",
            heard.len(),
            bytes.len()
        );
    }
    let (heard, replayed) = hear(&[hello, proof].concat());
    says(replayed, "repeated a recorded hello");
    assert_eq!(heard.len(), ANSWER_BYTES);
    assert_ne!(heard, answer, "an answer came twice");
}

#[test]
fn a_hello_sent_back_to_its_maker_proves_nothing() {
    let (near, mut far) = sockets();
    let caller = thread::spawn(move || as_caller(&near, &key()));
    let mut hello = [0; HELLO_BYTES];
    far.read_exact(&mut hello).unwrap();
    far.write_all(&head::<ANSWER_HEAD_BYTES>()).unwrap();
    far.write_all(&hello[HELLO_HEAD_BYTES..]).unwrap();
    says(caller.join().unwrap(), "does not have the key");
}

#[test]
fn any_byte_changed_on_the_way_ends_it() {
    for (number, length) in [HELLO_BYTES, ANSWER_BYTES, PROOF_BYTES].iter().enumerate() {
        for byte in 0..*length {
            let (_, [caller, responder]) = relay(|relayed, message| {
                if relayed == number {
                    message[byte] ^= 1 << (byte % 8);
                }
            });
            // The caller's part ends when it sends the proof (message 2).
            let ended = (caller.is_err() || number == 2) && responder.is_err();
            assert!(ended, "byte {byte} of message {number}");
        }
    }
}

#[test]
fn other_versions_and_other_programs_are_named() {
    says(
        answer(b"ICPROBE1\x01\0\0\0\0\0\0\0 and what version 1 asks"),
        "version 1",
    );
    says(
        answer(b"SSH-2.0-OpenSSH_9.9 and more"),
        "no icprobe responder",
    );
    says(answer(b"220 mail"), "no icprobe responder");
    says(answer(b""), "no icprobe responder");
    let mut other = head::<HELLO_HEAD_BYTES>();
    other[8] = 1;
    let (heard, responder) = hear(&other);
    assert_eq!(heard, b"ICPROBE1\x03\0\0\0\0\0\0\0");
    says(responder, "version 1");
}

#[test]
fn dripping_does_not_win_time() {
    let (mut near, far) = sockets();
    let time = Duration::from_millis(200);
    let started = Instant::now();
    let deadline = started + time;
    let reader = thread::spawn(move || {
        let stream = &far;
        Line { stream, deadline }.receive::<HELLO_BYTES>()
    });
    while !reader.is_finished() && started.elapsed() < 20 * time {
        let _ = near.write_all(b"I");
        thread::sleep(Duration::from_millis(20));
    }
    let error = reader.join().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(started.elapsed() < 10 * time, "{:?}", started.elapsed());
}

proptest! {
    #[test]
    fn only_a_head_has_a_version(bytes in any::<[u8; ANSWER_HEAD_BYTES]>(), version in any::<u16>()) {
        prop_assert_eq!(version_of(&bytes), None);
        let mut right = head::<ANSWER_HEAD_BYTES>();
        right[8..10].copy_from_slice(&version.to_le_bytes());
        prop_assert_eq!(version_of(&right), Some(version));
    }
}
