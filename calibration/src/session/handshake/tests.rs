use super::*;
use proptest::prelude::*;
use std::net::TcpListener;
use std::thread;

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

fn key(byte: u8) -> Key {
    Key::of([byte; 32])
}

/// Runs the responder on one end and `caller` on the other; what both came to.
fn meet<T>(responder_key: Key, caller: impl FnOnce(TcpStream) -> T) -> (T, Result<Session>) {
    let (one, other) = pair();
    let responder = thread::spawn(move || as_responder(&other, &responder_key));
    (caller(one), responder.join().unwrap())
}

/// Sends `bytes`, says that no more will come and returns all that the other end says.
fn say(mut stream: &TcpStream, bytes: &[u8]) -> Vec<u8> {
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

#[test]
fn two_ends_with_the_key_agree_and_every_session_is_another() {
    let run = || {
        let (caller, responder) = meet(key(1), |stream| as_caller(&stream, &key(1)).unwrap());
        let responder = responder.unwrap();
        assert_eq!(caller.secret, responder.secret);
        assert_eq!(caller.token(), responder.token());
        assert_eq!(caller.tag(), responder.tag());
        caller
    };
    let (first, second) = (run(), run());
    assert_ne!(first.secret, second.secret);
    assert_ne!(first.token(), second.token());
}

#[test]
fn what_is_derived_from_a_session_does_not_tell_of_the_rest() {
    let session = Session::of([3; 32]);
    assert_ne!(session.token()[..4], session.tag().to_le_bytes());
    let caller = code(&session.direction(Role::Caller), &[b"x"]);
    assert_ne!(caller, code(&session.direction(Role::Responder), &[b"x"]));
    assert_eq!(format!("{session:?}"), "Session(not shown)");
}

#[test]
fn another_key_opens_nothing_and_learns_nothing() {
    let (caller, responder) = meet(key(1), |stream| as_caller(&stream, &key(2)));
    let said = caller.unwrap_err().to_string();
    assert!(said.contains("same key file"), "{said}");
    let said = responder.unwrap_err().to_string();
    assert!(said.contains("does not have the key"), "{said}");
}

#[test]
fn the_responder_says_less_than_it_heard_before_the_proof() {
    let hello = Hello {
        version: VERSION,
        nonce: [9; 32],
    }
    .to_bytes();
    let stranger = Hello {
        version: 77,
        nonce: [9; 32],
    }
    .to_bytes();
    let mut padded = hello;
    padded[20] = 1;
    let mut cases: Vec<(Vec<u8>, usize)> = vec![
        (vec![], 0),
        (hello[..63].to_vec(), 0),
        (vec![0; 64], 0),
        (padded.to_vec(), 0),
        (
            b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: everything\r\nX: 0123456789\r\n\r\n"
                .to_vec(),
            0,
        ),
        (hello.to_vec(), CHALLENGE_BYTES),
        (stranger.to_vec(), CHALLENGE_BYTES),
        ([&hello[..], &[0; 31]].concat(), CHALLENGE_BYTES),
        ([&hello[..], &[0; 32]].concat(), CHALLENGE_BYTES),
        ([&hello[..], &[0; 5000]].concat(), CHALLENGE_BYTES),
    ];
    cases.push((stranger.repeat(3), CHALLENGE_BYTES));
    for (bytes, most) in cases {
        let (heard, session) = meet(key(1), |stream| say(&stream, &bytes));
        assert!(session.is_err());
        // Closing with bytes unread may reset the connection before the answer is read.
        assert!(
            heard.len() <= most && heard.len() <= bytes.len(),
            "{} for {}",
            heard.len(),
            bytes.len()
        );
    }
}

#[test]
fn a_recorded_proof_opens_nothing() {
    let (mut recorded, mut caller_end) = (vec![], None);
    let (genuine, responder) = meet(key(1), |stream| {
        let (near, far) = pair();
        let caller = thread::spawn(move || as_caller(&near, &key(1)));
        let mut bytes = [0u8; HELLO_BYTES + CODE_BYTES];
        let (mut from, mut to) = (&far, &stream);
        from.read_exact(&mut bytes[..HELLO_BYTES]).unwrap();
        to.write_all(&bytes[..HELLO_BYTES]).unwrap();
        let mut challenge = [0u8; CHALLENGE_BYTES];
        to.read_exact(&mut challenge).unwrap();
        from.write_all(&challenge).unwrap();
        from.read_exact(&mut bytes[HELLO_BYTES..]).unwrap();
        to.write_all(&bytes[HELLO_BYTES..]).unwrap();
        let mut proof = [0u8; CODE_BYTES];
        to.read_exact(&mut proof).unwrap();
        from.write_all(&proof).unwrap();
        recorded = bytes.to_vec();
        caller_end = Some(challenge);
        caller.join().unwrap()
    });
    assert!(genuine.is_ok() && responder.is_ok());
    let (heard, replayed) = meet(key(1), |stream| say(&stream, &recorded));
    assert!(replayed.is_err());
    assert_eq!(heard.len(), CHALLENGE_BYTES);
    assert_ne!(heard, caller_end.unwrap(), "a challenge came twice");
}

#[test]
fn a_proof_sent_back_to_its_maker_proves_nothing() {
    let (near, far) = pair();
    let caller = thread::spawn(move || as_caller(&near, &key(1)));
    let mut far = &far;
    let mut hello = [0u8; HELLO_BYTES];
    far.read_exact(&mut hello).unwrap();
    let nonce = Hello::read(&hello).unwrap().nonce;
    far.write_all(
        &Challenge {
            version: VERSION,
            nonce,
        }
        .to_bytes(),
    )
    .unwrap();
    let mut proof = [0u8; CODE_BYTES];
    far.read_exact(&mut proof).unwrap();
    far.write_all(&proof).unwrap();
    let said = caller.join().unwrap().unwrap_err().to_string();
    assert!(said.contains("does not have the key"), "{said}");
}

#[test]
fn any_bit_changed_on_the_way_ends_it() {
    let genuine = Hello {
        version: VERSION,
        nonce: [5; 32],
    }
    .to_bytes();
    let challenge = Challenge {
        version: VERSION,
        nonce: [6; 32],
    }
    .to_bytes();
    let right = Agreement::of(&key(1), &genuine, &challenge).caller_proof;
    for bit in 0..8 * HELLO_BYTES {
        let mut changed = genuine;
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_ne!(
            Agreement::of(&key(1), &changed, &challenge).caller_proof,
            right
        );
    }
    for bit in 0..8 * CHALLENGE_BYTES {
        let mut changed = challenge;
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_ne!(
            Agreement::of(&key(1), &genuine, &changed).caller_proof,
            right
        );
    }
}

#[test]
fn other_versions_and_other_programs_are_named() {
    for (bytes, says) in [
        (
            Challenge {
                version: 2,
                nonce: [0; 32],
            }
            .to_bytes()
            .to_vec(),
            "version 2",
        ),
        (
            b"SSH-2.0-OpenSSH_9.9 and more of it than a challenge has\r\n".to_vec(),
            "no icprobe responder",
        ),
        (b"220 mail".to_vec(), "no icprobe responder"),
        (vec![], "no icprobe responder"),
    ] {
        let (near, far) = pair();
        let caller = thread::spawn(move || as_caller(&near, &key(1)));
        say(&far, &bytes);
        let said = caller.join().unwrap().unwrap_err().to_string();
        assert!(said.contains(says), "{said:?} does not say {says:?}");
    }
}

#[test]
fn dripping_does_not_win_time() {
    let (near, far) = pair();
    let time = Duration::from_millis(200);
    let started = Instant::now();
    let reader = thread::spawn(move || Line::within(&far, time).receive::<HELLO_BYTES>());
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
    fn openings_read_as_they_are_written(version in any::<u16>(), nonce in any::<[u8; 32]>()) {
        let hello = Hello { version, nonce };
        prop_assert_eq!(Hello::read(&hello.to_bytes()), Some(hello.clone()));
        let challenge = Challenge { version, nonce };
        prop_assert_eq!(Challenge::read(&challenge.to_bytes()), Some(challenge));
        prop_assert_eq!(Challenge::read(&hello.to_bytes()), None);
    }
}
