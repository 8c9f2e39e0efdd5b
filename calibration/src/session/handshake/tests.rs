use super::*;
use proptest::prelude::*;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener};
use std::thread;

type Ended = Result<(TransportState, Session)>;

/// Opening of version 1: a hello in 64 bytes, a challenge in 48.
fn version_1<const N: usize>() -> [u8; N] {
    let mut bytes = [9; N];
    bytes[..N - 32].fill(0);
    bytes[..10].copy_from_slice(b"ICPROBE1\x01\0");
    bytes
}

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

fn key(byte: u8) -> Key {
    Key::of([byte; 32])
}

/// Runs both ends of a handshake: caller, responder.
pub(crate) fn agree(stream: (TcpStream, TcpStream)) -> (Ended, Ended) {
    let responder = thread::spawn(move || as_responder(&stream.1, &key(1)));
    let caller = as_caller(&stream.0, &key(1));
    (caller, responder.join().unwrap())
}

/// Ciphers of both ends after a handshake: caller, responder.
pub(crate) fn ciphers() -> (TransportState, TransportState) {
    let (caller, responder) = agree(pair());
    (caller.unwrap().0, responder.unwrap().0)
}

/// Runs the responder on one end and `caller` on the other; results of both.
fn meet<T>(caller: impl FnOnce(TcpStream) -> T) -> (T, Ended) {
    let (one, other) = pair();
    let responder = thread::spawn(move || as_responder(&other, &key(1)));
    (caller(one), responder.join().unwrap())
}

/// Sends `bytes` and their end, and returns everything that the other end says.
fn say(mut stream: &TcpStream, bytes: &[u8]) -> Vec<u8> {
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// Three messages of a handshake, recorded while `change` may change the one of a number.
struct Relayed {
    messages: Vec<Vec<u8>>,
    caller: Ended,
    responder: Ended,
}

fn relay(change: impl Fn(usize, &mut Vec<u8>)) -> Relayed {
    let (near, far) = pair();
    let caller = thread::spawn(move || as_caller(&near, &key(1)));
    let mut messages = vec![];
    let ((), responder) = meet(|stream| {
        for (number, length) in [HELLO_BYTES, ANSWER_BYTES, PROOF_BYTES].iter().enumerate() {
            let (mut from, mut to) = if number == 1 {
                (&stream, &far)
            } else {
                (&far, &stream)
            };
            let mut message = vec![0; *length];
            if from.read_exact(&mut message).is_err() {
                let _ = to.shutdown(Shutdown::Write);
                return;
            }
            change(number, &mut message);
            to.write_all(&message).unwrap();
            messages.push(message);
        }
    });
    drop(far);
    Relayed {
        messages,
        caller: caller.join().unwrap(),
        responder,
    }
}

fn says(ended: Ended, what: &str) {
    let text = ended.unwrap_err().to_string();
    assert!(text.contains(what), "{text:?} does not say {what:?}");
}

#[test]
fn two_ends_with_the_key_agree_and_every_session_is_another() {
    let run = || {
        let Relayed {
            messages,
            caller,
            responder,
        } = relay(|_, _| ());
        let ((_, caller), (_, responder)) = (caller.unwrap(), responder.unwrap());
        assert_eq!(caller, responder);
        assert_eq!(format!("{caller:?}"), "Session(not shown)");
        assert_ne!(caller.token()[..4], caller.tag().to_le_bytes());
        (messages, caller)
    };
    let ((first_messages, first), (second_messages, second)) = (run(), run());
    assert_ne!(first.token(), second.token());
    assert_ne!(first.tag(), second.tag());
    for (one, other) in first_messages.iter().zip(&second_messages) {
        assert_ne!(
            one[one.len() - PROOF_BYTES..],
            other[other.len() - PROOF_BYTES..]
        );
    }
}

#[test]
fn another_key_opens_nothing_and_hears_nothing() {
    let ((caller, heard), responder) = meet(|stream| {
        let caller = as_caller(&stream, &key(2));
        (caller, say(&stream, &[]).len())
    });
    says(caller, "same key file");
    says(responder, "does not have the key");
    assert_eq!(heard, 0);
}

#[test]
fn strangers_hear_nothing_and_other_versions_less_than_they_say() {
    let hello = relay(|_, _| ()).messages.remove(0);
    let other = version_1::<64>();
    let mut padded = hello.clone();
    padded[20] = 1;
    let without_key = [&hello[..HELLO_HEAD_BYTES], &[9; NOISE_BYTES]].concat();
    let web = b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: everything\r\nX: 0123456789\r\n\r\n";
    for (bytes, most) in [
        (vec![], 0),
        (hello[..64].to_vec(), 0),
        (hello[..HELLO_BYTES - 1].to_vec(), 0),
        (vec![0; HELLO_BYTES], 0),
        (padded, 0),
        (without_key.clone(), 0),
        (without_key.repeat(5), 0),
        (web.repeat(2), 0),
        (other[..63].to_vec(), 0),
        (other.to_vec(), OTHER_VERSION_BYTES),
        (other.repeat(3), OTHER_VERSION_BYTES),
        (hello.clone(), ANSWER_BYTES),
        (hello.repeat(5), ANSWER_BYTES),
    ] {
        let (heard, session) = meet(|stream| say(&stream, &bytes));
        assert!(session.is_err());
        // Closing with bytes unread may reset the connection before the answer is read.
        assert!(
            heard.len() <= most && (heard.is_empty() || heard.len() < bytes.len()),
            "{} for {}",
            heard.len(),
            bytes.len()
        );
    }
}

#[test]
fn a_recorded_session_stays_closed_also_to_who_has_the_key() {
    let recorded = relay(|_, _| ());
    assert!(recorded.caller.is_ok() && recorded.responder.is_ok());
    let bytes = [&recorded.messages[0][..], &recorded.messages[2]].concat();
    let (heard, replayed) = meet(|stream| say(&stream, &bytes));
    says(replayed, "repeated a recorded hello");
    assert_eq!(heard.len(), ANSWER_BYTES);
    assert_ne!(heard, recorded.messages[1], "an answer came twice");
}

#[test]
fn a_hello_sent_back_to_its_maker_proves_nothing() {
    let (near, mut far) = pair();
    let caller = thread::spawn(move || as_caller(&near, &key(1)));
    let mut hello = [0; HELLO_BYTES];
    far.read_exact(&mut hello).unwrap();
    let answer = [&head::<ANSWER_HEAD_BYTES>()[..], &hello[HELLO_HEAD_BYTES..]];
    far.write_all(&answer.concat()).unwrap();
    says(caller.join().unwrap(), "does not have the key");
}

#[test]
fn any_byte_changed_on_the_way_ends_it() {
    for (number, length) in [(0, HELLO_BYTES), (1, ANSWER_BYTES), (2, PROOF_BYTES)] {
        for byte in 0..length {
            let changed = relay(|relayed, message| {
                if relayed == number {
                    message[byte] ^= 1 << (byte % 8);
                }
            });
            // The caller has done its part when it sends the proof.
            let ended = (changed.caller.is_err() || number == 2) && changed.responder.is_err();
            assert!(ended, "byte {byte} of message {number}");
        }
    }
}

#[test]
fn other_versions_and_other_programs_are_named() {
    for (bytes, what) in [
        (version_1::<48>().to_vec(), "version 1"),
        (
            b"SSH-2.0-OpenSSH_9.9 and more of it than an answer's head has\r\n".to_vec(),
            "no icprobe responder",
        ),
        (b"220 mail".to_vec(), "no icprobe responder"),
        (vec![], "no icprobe responder"),
    ] {
        let (near, far) = pair();
        let caller = thread::spawn(move || as_caller(&near, &key(1)));
        say(&far, &bytes);
        says(caller.join().unwrap(), what);
    }
}

#[test]
fn a_caller_of_version_1_reads_the_version_in_its_challenge() {
    let (heard, responder) = meet(|stream| say(&stream, &version_1::<64>()));
    assert_eq!(heard.len(), 48);
    assert_eq!(&heard[..16], b"ICPROBE1\x02\0\0\0\0\0\0\0");
    says(responder, "version 1");
}

#[test]
fn dripping_does_not_win_time() {
    let (near, far) = pair();
    let time = Duration::from_millis(200);
    let started = Instant::now();
    let reader = thread::spawn(move || Line::until(&far, started + time).receive::<HELLO_BYTES>());
    while !reader.is_finished() && started.elapsed() < 20 * time {
        let _ = (&near).write_all(b"I");
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
