use super::*;
use crate::settings::ZeromqSocket;

fn names(settings: &RunSettings) -> Vec<String> {
    let point = point(settings, Map::new(), &Environment::default());
    point.keys().cloned().collect()
}

#[test]
fn what_was_left_to_the_system_is_not_in_it() {
    let udp = RunSettings::new(Protocol::Udp, 64);
    assert_eq!(
        names(&udp),
        ["cores", "pattern", "payload_bytes", "protocol"]
    );
    let tcp = RunSettings::new(Protocol::Tcp, 64);
    assert!(names(&tcp).contains(&"nagle".to_owned()));
    let zeromq = RunSettings::new(Protocol::Zeromq, 64);
    assert!(names(&zeromq).contains(&"zeromq_socket".to_owned()));
}

#[test]
fn a_rate_is_a_load_too() {
    let settings = RunSettings {
        rate_fps: Some(1000.0),
        ..RunSettings::new(Protocol::Udp, 125)
    };
    let point = point(&settings, Map::new(), &Environment::default());
    assert_eq!(
        (&point["rate_fps"], &point["load_bps"]),
        (&json!(1000.0), &json!(1e6))
    );
}

#[test]
fn a_load_is_the_one_that_was_asked_for() {
    for (load_bps, payload_bytes) in [(1e8, 1448), (5e9, 1472), (9.4e9, 65_535)] {
        let settings = RunSettings {
            rate_fps: Some(load_bps / 8.0 / f64::from(payload_bytes)),
            ..RunSettings::new(Protocol::Udp, payload_bytes)
        };
        assert_eq!(settings.load_bps(), Some(load_bps));
    }
}

#[test]
fn every_option_that_was_asked_for_is_in_it_under_a_reserved_name() {
    let settings = RunSettings {
        rate_fps: Some(1.0),
        reverse: true,
        cores: 2,
        streams: 3,
        dscp: Some(46),
        send_buffer_bytes: Some(1),
        receive_buffer_bytes: Some(2),
        waiting: Waiting::Polling,
        realtime_priority: Some(9),
        batch_frames: 8,
        io_threads: Some(2),
        high_water_mark: Some(5),
        batch_bytes: Some(6),
        zeromq_socket: ZeromqSocket::PubSub,
        ..RunSettings::new(Protocol::Zeromq, 64)
    };
    let calls = RunSettings {
        pattern: Pattern::Call,
        body: Body::Vector,
        reply_bytes: Some(7),
        ..RunSettings::new(Protocol::Tcp, 64)
    };
    let environment = Environment {
        mtu_bytes: Some(1500),
        ..Environment::default()
    };
    let mut labels = Map::new();
    for name in ["switches", "endpoints", "other_goodput_bps"] {
        labels.insert(name.into(), json!(1));
    }
    let mut all = point(&settings, labels, &environment);
    assert_eq!(
        (&all["dscp"], &all["waiting"]),
        (&json!(46), &json!("polling"))
    );
    assert_eq!(
        (&all["reverse"], &all["zeromq_socket"]),
        (&json!(true), &json!("pub-sub"))
    );
    all.extend(point(&calls, Map::new(), &environment));
    assert_eq!(
        (&all["body"], &all["reply_bytes"]),
        (&json!("vector"), &json!(7))
    );
    let mut reserved = RESERVED.to_vec();
    reserved.sort_unstable();
    let mut names: Vec<&str> = all.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, reserved);
}
