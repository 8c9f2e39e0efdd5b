use super::*;
use crate::report::hand_made::{asker, idle, interface, latency, receiver, sender};
use crate::settings::{Pattern, Protocol};
use crate::statistics::{Part, SteadyState};

fn told(settings: RunSettings, caller: EndReport, responder: EndReport) -> Told {
    Told {
        run: "name".into(),
        started_utc: "2026-01-01T00:00:00Z".into(),
        settings,
        labels: Map::new(),
        caller,
        responder,
        fit: None,
    }
}

fn settings() -> RunSettings {
    RunSettings::new(Protocol::Udp, 1000)
}

/// Record of a stream between hand-made ends, after `change`.
fn stream(change: impl FnOnce(&mut SendReport, &mut ReceiveReport)) -> Record {
    let (mut send, mut recv) = (sender("a"), receiver("a"));
    if let (Some(sent), Some(received)) = (&mut send.sent, &mut recv.received) {
        change(sent, received);
    }
    record(told(settings(), send, recv))
}

fn near(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value / expected - 1.0).abs() < 1e-12)
}

fn fit() -> Fit {
    Fit {
        epoch_ns: 5,
        offset_ns: 3e9,
        drift: 2e-6,
        bound_ns: 700.0,
        bound_epoch_ns: 500.0,
        from_ns: 0,
        to_ns: 10,
        exchanges: 80,
        rtt_min_ns: 900,
    }
}

#[test]
fn a_stream_without_loss_has_the_receivers_goodput() {
    let result = stream(|_, _| {}).result;
    assert!(near(result.goodput_bps, 1000.0 * 8000.0 / 1.25));
    assert!(near(result.frames_per_s, 800.0) && near(result.sent_bps, 8e6));
    assert_eq!(result.window_s, Some(1.25));
    assert_eq!(
        (result.frames_sent, result.frames_lost),
        (Some(1000), Some(0))
    );
    assert_eq!(result.loss_rate, Some(0.0));
    assert_eq!(
        (result.stalls, result.longest_stall_s),
        (Some(0), Some(0.0))
    );
}

#[test]
fn a_lost_second_half_does_not_count_as_full_goodput() {
    let half = |_: &mut SendReport, received: &mut ReceiveReport| {
        (received.window_frames, received.span_frames) = (500, 500);
        received.span_s = Some(0.5);
    };
    let result = stream(half).result;
    // 500 frames came in half a second, but the sender sent for a second.
    assert!(near(result.goodput_bps, 500.0 * 8000.0));
    assert_eq!(
        (result.frames_lost, result.loss_rate),
        (Some(500), Some(0.5))
    );
}

#[test]
fn what_was_not_measured_is_absent() {
    let record = stream(|sent, received| {
        (received.duplicates, received.reordered) = (None, None);
        (received.span_s, received.span_frames) = (None, 0);
        (sent.window_frames, received.window_frames) = (0, 0);
        sent.span_s = None;
    });
    let json = serde_json::to_value(&record).unwrap();
    let result = json["result"].as_object().unwrap();
    for (name, value) in result {
        assert!(!value.is_null(), "{name}");
    }
    for name in [
        "goodput_bps",
        "sent_bps",
        "shortfall_bps",
        "frames_per_s",
        "window_s",
        "loss_rate",
        "frames_duplicate",
        "frames_reordered",
        "latency_mean_s",
        "latency_bound_s",
        "rtt_mean_s",
        "rtt_half_mean_s",
        "calls_queued_per_s",
        "packets_sent_per_s",
        "cpu_send_cores",
    ] {
        assert!(!result.contains_key(name), "{name}");
    }
    assert_eq!(result["frames_sent"], 0);
    for name in [
        "pacing",
        "interface",
        "latency_histogram",
        "raw_latency_s",
        "socket_window_bytes",
    ] {
        assert!(json.get(name).is_none(), "{name}");
    }
    assert_eq!(json["wire"], serde_json::json!({}));
    assert!(json["loss"].get("interface_send_dropped").is_none());
    assert!(json["loss"].get("socket_overflow").is_none());
    assert!(json["clock"].get("offset_s").is_none());
    let again: Record = serde_json::from_value(json).unwrap();
    assert_eq!(again, record);
}

#[test]
fn a_missed_rate_is_a_shortfall() {
    for (rate_fps, shortfall) in [(1250.0, 2e6), (800.0, 0.0)] {
        let settings = RunSettings {
            rate_fps: Some(rate_fps),
            ..settings()
        };
        let result = record(told(settings, sender("a"), receiver("a"))).result;
        assert!((result.shortfall_bps.unwrap() - shortfall).abs() < 1e-6);
    }
}

#[test]
fn one_way_latency_carries_the_clocks_bound() {
    let timed = || {
        let mut recv = receiver("b");
        recv.received.as_mut().unwrap().latency = Some(latency(&[40_000, 60_000]));
        recv
    };
    let of = |recv: EndReport, fit: Option<Fit>| {
        record(Told {
            fit,
            ..told(settings(), sender("a"), recv)
        })
    };
    let known = of(timed(), Some(fit()));
    assert!(near(known.result.latency_mean_s, 50e-6));
    assert!(near(known.result.latency_bound_s, 700e-9));
    assert_eq!(known.latency_histogram.as_ref().unwrap().count(), 2);
    assert_eq!(of(timed(), None).result.latency_bound_s, None);
    // Without a latency there is nothing that could be wrong.
    assert_eq!(of(receiver("b"), Some(fit())).result.latency_bound_s, None);
}

#[test]
fn the_clocks_are_one_or_fitted_or_unknown() {
    let clock = |boot: &str, fit| {
        record(Told {
            fit,
            ..told(settings(), sender("a"), receiver(boot))
        })
        .clock
    };
    let same = clock("a", Some(fit()));
    assert_eq!((same.same, same.bound_s, same.fit), (true, Some(0.0), None));
    assert_eq!((same.offset_s, same.exchanges), (None, None));
    let fitted = clock("b", Some(fit()));
    assert!(!fitted.same && near(fitted.offset_s, 3.0) && near(fitted.drift, 2e-6));
    assert!(near(fitted.bound_s, 700e-9) && near(fitted.rtt_min_s, 900e-9));
    assert_eq!((fitted.exchanges, fitted.fit), (Some(80), Some(fit())));
    let unknown = clock("b", None);
    assert_eq!((unknown.same, unknown.bound_s), (false, None));
    assert_eq!((unknown.offset_s, unknown.drift), (None, None));
}

#[test]
fn the_other_way_round_ends_and_signs_change() {
    let told = Told {
        fit: Some(fit()),
        ..told(
            RunSettings {
                reverse: true,
                ..settings()
            },
            receiver("caller"),
            sender("responder"),
        )
    };
    let record = record(told);
    assert_eq!(record.clock.identity.send.boot_id, "responder");
    assert_eq!(record.clock.identity.recv.boot_id, "caller");
    assert_eq!((record.cores.send, record.cores.recv), (vec![0], vec![1]));
    assert!(near(record.clock.offset_s, -3.0) && near(record.clock.drift, -2e-6));
    // The fit stays as the caller made it.
    assert_eq!(record.clock.fit, Some(fit()));
    assert_eq!(record.result.frames_received, Some(1000));
}

fn calls(change: impl FnOnce(&mut RoundTripReport)) -> Record {
    let mut send = asker("a");
    change(send.round_trips.as_mut().unwrap());
    let settings = RunSettings {
        pattern: Pattern::PingPong,
        ..RunSettings::new(Protocol::Udp, 64)
    };
    let mut recv = idle("a", 1);
    recv.received = Some(ReceiveReport::default());
    record(told(settings, send, recv))
}

#[test]
fn round_trips_are_no_latencies_and_have_halves() {
    let record = calls(|_| {});
    let result = &record.result;
    assert!(near(result.rtt_mean_s, 30e-6) && near(result.rtt_half_mean_s, 15e-6));
    assert!(near(result.rtt_half_min_s, 10e-6) && near(result.rtt_half_max_s, 20e-6));
    assert_eq!(result.latency_mean_s, None);
    assert_eq!((result.loss_rate, result.sent_bps), (None, None));
    assert_eq!((result.stalls, result.longest_stall_s), (None, None));
    assert_eq!(result.frames_per_s, Some(10.0));
    assert_eq!(
        (result.frames_received, result.frames_lost),
        (Some(10), Some(0))
    );
    assert!(record.loss.is_none() && record.latency_histogram.is_none());
    assert_eq!(record.rtt_histogram.unwrap().count(), 2);
}

#[test]
fn a_batch_that_nobody_confirmed_has_no_answers() {
    let record = calls(|asked| {
        asked.answered = None;
        asked.goodput_bps = None;
        asked.round_trip = None;
        asked.queued_s = Some(0.5);
    });
    let result = record.result;
    assert_eq!(
        (result.frames_sent, result.frames_received),
        (Some(10), None)
    );
    assert_eq!((result.frames_lost, result.goodput_bps), (None, None));
    assert_eq!((result.frames_per_s, result.rtt_mean_s), (None, None));
    assert_eq!(result.calls_queued_per_s, Some(20.0));
}

#[test]
fn packets_are_counted_by_the_interfaces() {
    let (mut send, mut recv) = (sender("a"), receiver("a"));
    send.interface = Some(interface(2000, 3_000_000));
    recv.interface = Some(interface(500, 1_000_000));
    let record = record(told(settings(), send, recv));
    assert_eq!(record.result.packets_sent_per_s, Some(2000.0));
    assert_eq!(record.result.packets_received_per_s, Some(1000.0));
    assert_eq!(record.wire.packets_per_frame_sent, Some(2.0));
    assert_eq!(record.wire.packet_sent_mean_bytes, Some(1500.0));
    assert_eq!(record.wire.packets_per_frame_received, Some(1.0));
    assert_eq!(record.wire.packet_received_mean_bytes, Some(4000.0));
    let loss = record.loss.unwrap();
    assert_eq!(loss.interface_send_dropped, Some(3));
    assert_eq!(loss.interface_recv_dropped, Some(9));
    assert_eq!(
        (loss.run_frames_sent, loss.run_frames_received),
        (1100, 1100)
    );
    assert!(record.interface.is_some());
}

#[test]
fn the_steady_part_counts_where_there_is_one() {
    for detected in [false, true] {
        let record = stream(|_, received| {
            received.steady = Some(SteadyState {
                detected,
                steady: Part {
                    latency_mean_s: Some(1e-3),
                    ..Part::default()
                },
                ..SteadyState::default()
            });
        });
        let mean = record.result.latency_steady_mean_s;
        assert_eq!(mean, detected.then_some(1e-3));
    }
}

#[test]
fn how_late_frames_came_by_the_schedule_stands_with_the_pacing() {
    let record = stream(|sent, received| {
        sent.pacing = Some(PacingReport {
            asked_fps: 1000.0,
            ..PacingReport::default()
        });
        received.latency_from_intended_mean_s = Some(2e-3);
    });
    let pacing = record.pacing.unwrap();
    assert_eq!(pacing.asked_fps, 1000.0);
    assert_eq!(pacing.latency_from_intended_mean_s, Some(2e-3));
}
