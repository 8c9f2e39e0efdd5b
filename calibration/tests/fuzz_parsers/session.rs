//! The control connection: openings, frames, messages, keys and the texts in them.

use crate::fuzz;
use icprobe::clock::fit::{Exchange, Fit};
use icprobe::clock::{Identity, now_ns};
use icprobe::host::cpu::{CpuSample, ThreadUsage, Usage};
use icprobe::host::environment::Environment;
use icprobe::host::selfcheck::Instrument;
use icprobe::report::{InterfaceReport, ReceiveReport, RoundTripReport, SendReport};
use icprobe::session::framing::{HEADER_BYTES, Kind, Opener, Sealer};
use icprobe::session::handshake::{Challenge, Hello, Session, as_caller, as_responder};
use icprobe::session::key::Key;
use icprobe::session::limits::Limits;
use icprobe::session::message::{Accepted, Message, Setup};
use icprobe::session::text::{format_mac, parse_mac, printable};
use icprobe::settings::{Protocol, Role, RunSettings};
use icprobe::statistics::{LatencyRecorder, SliceRecorder};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

const EXCHANGE: Exchange = Exchange {
    sent_ns: 1,
    peer_received_ns: 2,
    peer_sent_ns: 3,
    received_ns: 4,
};

#[test]
fn openings_of_a_session() {
    let nonce = [0xa5; 32];
    let right = vec![
        Hello { version: 1, nonce }.to_bytes().to_vec(),
        Challenge { version: 1, nonce }.to_bytes().to_vec(),
    ];
    fuzz("hello and challenge", &right, |bytes| {
        if let Some(hello) = Hello::read(bytes) {
            assert_eq!(&hello.to_bytes()[..], bytes);
        }
        if let Some(challenge) = Challenge::read(bytes) {
            assert_eq!(&challenge.to_bytes()[..], bytes);
        }
    });
}

#[test]
fn frames_of_a_session() {
    let session = session();
    let bodies: Vec<(Kind, Vec<u8>)> = messages()
        .into_iter()
        .filter(|message| message.kind() != Kind::Report)
        .take(8)
        .map(|message| (message.kind(), message.encode().unwrap()))
        .collect();
    let mut sealer = Sealer::new(&session, Role::Caller);
    let right: Vec<u8> = bodies
        .iter()
        .flat_map(|(kind, body)| sealer.seal(*kind, body).unwrap())
        .collect();
    fuzz("framing", &[right], |bytes| {
        let mut opener = Opener::new(&session, Role::Caller);
        let mut opened = vec![];
        let mut rest = bytes;
        while let Ok(needs) = opener.needs(rest) {
            let Some(frame) = rest.get(..needs).filter(|_| needs > HEADER_BYTES) else {
                break;
            };
            let Ok((kind, body)) = opener.open(frame) else {
                break;
            };
            opened.push((kind, body.to_vec()));
            rest = &rest[needs..];
        }
        assert!(
            bodies.starts_with(&opened),
            "opened what was not sent in this order"
        );
    });
}

#[test]
fn messages_of_a_proved_peer() {
    let right: Vec<Vec<u8>> = messages()
        .iter()
        .map(|message| message.encode().unwrap())
        .collect();
    let limits = Limits::default();
    fuzz("messages", &right, |bytes| {
        for kind in [Kind::Clock, Kind::ClockReply, Kind::Control, Kind::Report] {
            let Ok(message) = Message::decode(kind, bytes) else {
                continue;
            };
            assert_eq!(message.kind(), kind);
            let again = Message::decode(kind, &message.encode().unwrap());
            assert_eq!(again.map(|again| again.name()), Ok(message.name()));
            if let Message::Setup(setup) = &message {
                let _ = limits.check(&setup.settings);
                let _ = limits.longest_run(&setup.settings);
            }
        }
    });
}

#[test]
fn keys_addresses_and_reasons() {
    let right = vec![
        [b"0123456789abcdef".repeat(4), b"\n".to_vec()].concat(),
        format_mac([2, 0, 0, 0, 0, 1]).into_bytes(),
        "the run needs 2 GiB, above the responder's limit of 1 GiB".into(),
    ];
    fuzz("keys, addresses, reasons", &right, |bytes| {
        let _ = Key::read(bytes);
        let text = String::from_utf8_lossy(bytes);
        if let Some(mac) = parse_mac(&text) {
            assert_eq!(format_mac(mac), text.to_lowercase());
        }
        assert!(!printable(&text).chars().any(char::is_control));
    });
}

/// A session as two ends agree on it.
fn session() -> Session {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let other = listener.accept().unwrap().0;
    let responder = std::thread::spawn(move || as_responder(&other, &Key::of([1; 32])).unwrap());
    let session = as_caller(&one, &Key::of([1; 32])).unwrap();
    responder.join().unwrap();
    session
}

/// One of each, with every part that can be there.
fn messages() -> Vec<Message> {
    vec![
        Message::Setup(Setup {
            settings: RunSettings::new(Protocol::Zeromq, 1472),
            identity: Identity::here(),
            mac: Some(format_mac([2, 0, 0, 0, 0, 1])),
            cpus: vec![0, 1],
            ports: vec![1, 2],
        }),
        Message::Clock { sent_ns: now_ns() },
        Message::ClockReply {
            sent_ns: 1,
            received_ns: 2,
            replied_ns: 3,
        },
        Message::Accepted(Accepted {
            identity: Identity::here(),
            data_ports: vec![1, 2],
            mac: Some(format_mac([2, 0, 0, 0, 0, 2])),
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
        latency.record(1000 + n);
        slices.record(n.unsigned_abs() * 500, Some(1000 + n), 64);
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
    Message::decode(Kind::Report, json.to_string().as_bytes())
        .expect("a report of this host can be read")
}
