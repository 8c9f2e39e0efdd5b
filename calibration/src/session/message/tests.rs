use super::super::text::format_mac;
use super::*;
use crate::settings::Protocol;
use proptest::prelude::*;

const EXCHANGE: Exchange = Exchange {
    sent_ns: 1,
    peer_received_ns: 2,
    peer_sent_ns: 3,
    received_ns: 4,
};

fn setup() -> Setup {
    Setup {
        settings: RunSettings::new(Protocol::Ethernet, 1472),
        identity: Identity::here(),
        mac: Some(format_mac([2, 0, 0, 0, 0, 1])),
        cpus: vec![0, 1],
        ports: vec![],
    }
}

fn accepted() -> Accepted {
    Accepted {
        identity: Identity::here(),
        data_ports: vec![1, 2],
        mac: None,
    }
}

fn every_small_one() -> Vec<Message> {
    vec![
        Message::Setup(setup()),
        Message::Accepted(accepted()),
        Message::Refused {
            reason: "no".into(),
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
            fit: Fit::of(&[EXCHANGE], 0, 10),
        },
        Message::Collect { fit: None },
        Message::Failed {
            reason: "µ \u{1b}".into(),
        },
        Message::Bye,
    ]
}

fn refused(bytes: &[u8]) -> String {
    Message::decode(bytes).unwrap_err().to_string()
}

#[test]
fn every_message_reads_as_it_was_written() {
    for message in every_small_one() {
        let bytes = message.encode().unwrap();
        assert_eq!(Message::decode(&bytes).unwrap(), message);
    }
}

#[test]
fn names_are_the_tags() {
    for message in every_small_one() {
        let Ok(json) = serde_json::to_string(&message) else {
            assert!(message.name().starts_with("clock"));
            continue;
        };
        assert!(
            json.trim_start_matches('{')
                .starts_with(&format!("{:?}", message.name())),
            "{json}"
        );
    }
}

#[test]
fn what_is_absent_is_not_written() {
    let mut plain = setup();
    plain.mac = None;
    let json = serde_json::to_string(&Message::Setup(plain)).unwrap();
    assert!(!json.contains("mac") && !json.contains("port"), "{json}");
}

#[test]
fn the_clock_is_numbers_of_a_fixed_length() {
    assert_eq!(
        Message::Clock { sent_ns: 1 }.encode().unwrap(),
        [1, 1, 0, 0, 0, 0, 0, 0, 0]
    );
    for (first, right) in [(CLOCK, 8), (CLOCK_REPLY, 24)] {
        for length in 0..40 {
            let bytes = [&[first][..], &vec![0; length]].concat();
            assert_eq!(Message::decode(&bytes).is_ok(), length == right);
        }
    }
    assert!(refused(b"{\"clock\":{\"sent_ns\":1}}").contains("unknown variant"));
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
        "{\"ended\":{\"frames\":[-1]}}",
        "{\"ended\":{\"frames\":[1.5]}}",
        "{\"ended\":{\"frames\":[18446744073709551616]}}",
        "{\"start\":{},\"bye\":null}",
        "{\"ended\":{}}",
        "{\"ended\":{\"frames\":[],\"more\":1}}",
        "{\"refused\":{\"reason\":\"\\ud800\"}}",
        "{\"refused\":{\"reason\":\"a\nb\"}}",
    ] {
        assert!(
            refused(body.as_bytes()).contains("cannot be read"),
            "{body}"
        );
    }
    assert!(refused(b"\"\xff\"").contains("cannot be read"));
    assert!(refused(&[b'['; 60_000]).contains("cannot be read"));
}

#[test]
fn lists_texts_and_addresses_are_bounded() {
    let long = Message::Ended {
        frames: vec![0; LIST_MAX + 1],
    };
    assert!(long.check().is_err());
    let long = Message::Failed {
        reason: "x".repeat(TEXT_MAX_BYTES + 1),
    };
    assert!(refused(&long.encode().unwrap()).contains("not possible"));
    for mac in ["ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "eth0"] {
        let mut wrong = setup();
        wrong.mac = Some(mac.into());
        let body = Message::Setup(wrong).encode().unwrap();
        assert!(refused(&body).contains("not possible"), "{mac}");
    }
}

#[test]
fn a_refusal_is_an_error_with_the_peers_reason_made_safe() {
    let refusal = Message::Refused {
        reason: "too\u{1b}[31m much".into(),
    };
    assert_eq!(
        refusal.granted().unwrap_err(),
        Error::Question("the peer refused: too\u{fffd}[31m much".into())
    );
    assert_eq!(Message::Ready.granted(), Ok(Message::Ready));
    assert!(
        Message::Bye
            .unexpected("ready")
            .to_string()
            .contains("\"bye\" where \"ready\"")
    );
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(message) = Message::decode(&bytes) {
            prop_assert_eq!(message.encode().unwrap(), bytes);
        }
    }

    #[test]
    fn any_time_travels(sent_ns in any::<u64>(), received_ns in any::<u64>(), replied_ns in any::<u64>()) {
        let message = Message::ClockReply { sent_ns, received_ns, replied_ns };
        prop_assert_eq!(Message::decode(&message.encode().unwrap()), Ok(message));
    }
}
