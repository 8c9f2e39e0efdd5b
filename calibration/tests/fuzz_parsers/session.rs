//! Control connection: handshakes, parts, messages, keys and reasons.

use crate::damage::Chance;
use crate::{cases, fuzz, fuzz_times, seed};
use icprobe::clock::fit::{Exchange, Fit};
use icprobe::clock::{Identity, now_ns};
use icprobe::host::cpu::{CpuSample, ThreadUsage, Usage};
use icprobe::host::environment::Environment;
use icprobe::host::selfcheck::Instrument;
use icprobe::report::{InterfaceReport, ReceiveReport, RoundTripReport, SendReport};
use icprobe::session::framing::Sealed;
use icprobe::session::handshake::{
    ANSWER_BYTES, HELLO_BYTES, PROOF_BYTES, as_caller, as_responder,
};
use icprobe::session::key::Key;
use icprobe::session::limits::Limits;
use icprobe::session::message::{Accepted, Message, Setup, printable};
use icprobe::settings::{Protocol, RunSettings};
use icprobe::statistics::{LatencyRecorder, SliceRecorder};
use icprobe::transport::Announce;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;

const EXCHANGE: Exchange = Exchange {
    sent_ns: 1,
    peer_received_ns: 2,
    peer_sent_ns: 3,
    received_ns: 4,
};

#[test]
fn answers_to_a_caller() {
    let times = (cases() / 50).max(100);
    fuzz_times(times, "answers", &[recorded().1], |answer| {
        let (near, mut far) = sockets();
        std::thread::scope(|scope| {
            let caller = scope.spawn(move || as_caller(&near, &key()).is_ok());
            far.read_exact(&mut [0; HELLO_BYTES]).unwrap();
            let _ = far.write_all(answer);
            let _ = far.shutdown(Shutdown::Write);
            assert!(!caller.join().unwrap(), "took an answer to another hello");
        });
    });
}

#[test]
fn proofs_of_a_stranger_with_a_recorded_session() {
    let (hello, _, proof) = recorded();
    let times = (cases() / 50).max(100);
    fuzz_times(times, "proofs", &[proof], |proof| {
        let (mut near, far) = sockets();
        std::thread::scope(|scope| {
            let responder = scope.spawn(move || as_responder(&far, &key()).is_ok());
            near.write_all(&hello).unwrap();
            near.read_exact(&mut [0; ANSWER_BYTES]).unwrap();
            let _ = near.write_all(proof);
            let _ = near.shutdown(Shutdown::Write);
            assert!(
                !responder.join().unwrap(),
                "took a proof of another session"
            );
        });
    });
}

#[test]
fn parts_of_a_session() {
    let sent: Vec<Vec<u8>> = messages()
        .iter()
        .filter(|message| !matches!(message, Message::Report(_)))
        .map(|message| message.encode().unwrap())
        .collect();
    // A session opens each part once, so every case needs a session of its own.
    let times = (cases() / 20).max(100);
    let mut chance = Chance::of(seed());
    for _ in 0..times {
        let (mut caller, mut responder) = ends();
        let mut right = vec![];
        for message in &sent {
            right.extend(caller.seal(message).unwrap().flat_map(Result::unwrap));
        }
        let mut inbox = chance.damaged(&[right]);
        let mut opened = vec![];
        while let Ok(Some(message)) = responder.open(&mut inbox) {
            opened.push(message);
        }
        assert!(
            sent.starts_with(&opened),
            "opened what was not sent in this order"
        );
    }
}

#[test]
fn messages_of_a_proved_peer() {
    let right: Vec<Vec<u8>> = messages()
        .iter()
        .map(|message| message.encode().unwrap())
        .collect();
    let limits = Limits::default();
    fuzz("messages", &right, |bytes| {
        let Ok(message) = Message::decode(bytes) else {
            return;
        };
        let again = Message::decode(&message.encode().unwrap());
        assert_eq!(again.map(|again| again.name()), Ok(message.name()));
        if let Message::Setup(setup) = &message {
            let _ = limits.check(&setup.settings);
            let _ = limits.longest_run(&setup.settings);
        }
    });
}

#[test]
fn keys_and_reasons() {
    let right = vec![
        [b"0123456789abcdef".repeat(4), b"\n".to_vec()].concat(),
        "the run needs 2 GiB, above the responder's limit of 1 GiB".into(),
    ];
    fuzz("keys, reasons", &right, |bytes| {
        let digits = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let right = digits.len() == 64 && digits.iter().all(u8::is_ascii_hexdigit);
        assert_eq!(Key::read(bytes).is_some(), right);
        let safe = printable(&String::from_utf8_lossy(bytes));
        assert!(safe.chars().count() <= 501 && !safe.chars().any(char::is_control));
    });
}

pub fn key() -> Key {
    Key::of([1; 32])
}

fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

/// Caller and responder of a new session.
fn ends() -> (Sealed, Sealed) {
    let (one, other) = sockets();
    let responder = std::thread::spawn(move || as_responder(&other, &key()).unwrap().0);
    let caller = as_caller(&one, &key()).unwrap().0;
    (Sealed::new(caller), Sealed::new(responder.join().unwrap()))
}

/// Hello, answer and proof of a handshake.
pub fn recorded() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let ((near, mut far), (mut here, there)) = (sockets(), sockets());
    let caller = std::thread::spawn(move || as_caller(&near, &key()).is_ok());
    let responder = std::thread::spawn(move || as_responder(&there, &key()).is_ok());
    let pass = |from: &mut TcpStream, to: &mut TcpStream, length| {
        let mut bytes = vec![0; length];
        from.read_exact(&mut bytes).unwrap();
        to.write_all(&bytes).unwrap();
        bytes
    };
    let hello = pass(&mut far, &mut here, HELLO_BYTES);
    let answer = pass(&mut here, &mut far, ANSWER_BYTES);
    let proof = pass(&mut far, &mut here, PROOF_BYTES);
    assert!(caller.join().unwrap() && responder.join().unwrap());
    (hello, answer, proof)
}

/// One of each, with every part that can be there.
fn messages() -> Vec<Message> {
    let announce = Announce {
        ports: vec![1, 2],
        mac: Some([2, 0, 0, 0, 0, 1]),
    };
    vec![
        Message::Setup(Setup {
            settings: RunSettings::new(Protocol::Zeromq, 1472),
            identity: Identity::here(),
            cpus: vec![0, 1],
            announce: announce.clone(),
        }),
        Message::Clock { sent_ns: now_ns() },
        Message::ClockReply {
            sent_ns: 1,
            received_ns: 2,
            replied_ns: 3,
        },
        Message::Accepted(Accepted {
            identity: Identity::here(),
            announce,
        }),
        Message::Start,
        Message::Ended { frames: vec![2; 2] },
        Message::Collect {
            fit: Fit::of(&[EXCHANGE], 0, 10),
        },
        Message::Failed {
            reason: "no \"route\"\n".into(),
        },
        Message::Bye,
        report(),
    ]
}

/// A report of this host, with every part that can be there.
fn report() -> Message {
    let root = Path::new("/");
    let sample = CpuSample::read(root).unwrap();
    let mut latency = LatencyRecorder::new();
    let mut slices = SliceRecorder::new(1000);
    for n in 0..100 {
        latency.record(1000 + n, 1);
        slices.record(n.unsigned_abs() * 500, Some(1000 + n), 64, 1);
    }
    let received = ReceiveReport {
        duplicates: Some(1),
        latency: latency.summary(),
        steady: Some(slices.steady(0)),
        raw_latency_s: Some(vec![1e-6; 10]),
        ..ReceiveReport::default()
    };
    let round_trips = RoundTripReport {
        round_trip: latency.summary(),
        ..RoundTripReport::default()
    };
    let sent = SendReport {
        pacing: Some(Default::default()),
        ..SendReport::default()
    };
    let json = serde_json::json!({"report": {
        "identity": Identity::here(),
        "environment": Environment::read(root, Some("lo")),
        "instrument": Instrument::measure(true),
        "cores": [0],
        "usage": Usage::between(&sample, &sample, Some((&sample, &sample)), ThreadUsage::here()),
        "interface": InterfaceReport::default(),
        "chosen": {"nagle": true},
        "sent": sent,
        "received": received,
        "round_trips": round_trips,
        "flags": ["stall"],
    }});
    Message::decode(json.to_string().as_bytes()).expect("a report of this host can be read")
}
