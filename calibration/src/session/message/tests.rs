use super::*;
use crate::clock::fit::Exchange;
use crate::settings::Protocol;

fn setup(mac: Option<[u8; 6]>) -> Message {
    Message::Setup(Setup {
        settings: RunSettings::new(Protocol::Ethernet, 1472),
        identity: Identity::here(),
        cpus: vec![0, 1],
        announce: Announce { ports: vec![], mac },
    })
}

/// One message of each kind except the report, whose test is in `fuzz_parsers`.
fn every_small_one() -> Vec<Message> {
    let exchange = Exchange {
        sent_ns: 1,
        peer_received_ns: 2,
        peer_sent_ns: 3,
        received_ns: 4,
    };
    let reason = "µ \u{1b}".to_string();
    vec![
        setup(Some([2, 0, 0, 0, 0, 1])),
        Message::Accepted(Accepted {
            identity: Identity::here(),
            announce: Announce {
                ports: vec![1, 2],
                mac: None,
            },
        }),
        Message::Refused {
            reason: reason.clone(),
        },
        Message::Clock { sent_ns: u64::MAX },
        Message::ClockReply {
            sent_ns: 1,
            received_ns: 2,
            replied_ns: u64::MAX,
        },
        Message::Measure,
        Message::Measured,
        Message::Start,
        Message::Ready,
        Message::Ended {
            frames: vec![u64::MAX; 3],
        },
        Message::Collect {
            fit: Fit::of(&[exchange], 0, 10),
        },
        Message::Collect { fit: None },
        Message::Failed { reason },
        Message::Bye,
    ]
}

fn refused(bytes: &[u8]) -> String {
    Message::decode(bytes).unwrap_err().to_string()
}

#[test]
fn every_message_reads_as_it_was_written_and_is_named_by_its_tag() {
    for message in every_small_one() {
        let bytes = message.encode().unwrap();
        let tag = format!("{:?}", message.name());
        let json = String::from_utf8_lossy(&bytes);
        assert!(json.trim_start_matches('{').starts_with(&tag), "{json}");
        assert_eq!(Message::decode(&bytes).unwrap(), message);
    }
    let text = Message::Bye.unexpected("ready").to_string();
    assert!(text.contains("\"bye\" instead of \"ready\""), "{text}");
}

#[test]
fn unknown_and_doubled_and_missing_fields_are_refused() {
    for body in [
        "",
        "null",
        "\"hello\"",
        "\"bye\" \"bye\"",
        "{\"bye\":1}",
        "{\"refused\":{\"reason\":\"\",\"reason\":\"\"}}",
        "{\"start\":{\"begin\":1}}",
        "{\"clock\":{\"sent_ns\":-1}}",
        "{\"ended\":{\"frames\":[1.5]}}",
        "{\"ended\":{\"frames\":[18446744073709551616]}}",
        "{\"start\":{},\"bye\":null}",
        "{\"ended\":{}}",
        "{\"ended\":{\"frames\":[],\"more\":1}}",
        "{\"refused\":{\"reason\":\"\\ud800\"}}",
        "{\"refused\":{\"reason\":\"a\nb\"}}",
    ] {
        let text = refused(body.as_bytes());
        assert!(text.contains("cannot be read"), "{body}");
    }
    assert!(refused(b"\"\xff\"").contains("cannot be read"));
    assert!(refused(&[b'['; 60_000]).contains("cannot be read"));
}

#[test]
fn only_the_address_of_one_interface_is_read() {
    let none = setup(None).encode().unwrap();
    assert!(!String::from_utf8_lossy(&none).contains("mac"));
    let nobody = [0; 6];
    let everybody = [0xff; 6];
    let group = [0x01, 0x00, 0x5e, 0, 0, 1];
    for mac in [nobody, everybody, group] {
        let body = setup(Some(mac)).encode().unwrap();
        assert!(refused(&body).contains("no interface's"), "{mac:?}");
    }
}

#[test]
fn what_would_steer_a_terminal_is_not_printed() {
    assert_eq!(printable("no such device"), "no such device");
    assert_eq!(
        printable("a\x1b[2Jb\nc\u{202e}d\u{9b}e"),
        "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d\u{fffd}e"
    );
    assert_eq!(printable("µ — 漢字"), "µ — 漢字");
    assert_eq!(printable(&"x".repeat(500)), "x".repeat(500));
    assert_eq!(printable(&"x".repeat(501)), "x".repeat(500) + "…");
}
