//! Whole runs over loopback, both ends in this process: what is counted must add up.

use icprobe::error::Error;
use icprobe::flags;
use icprobe::host::settings::InterfaceSettings;
use icprobe::interrupt::Stop;
use icprobe::record::Record;
use icprobe::run::{Question, Target, run};
use icprobe::serve::{Responder, respond};
use icprobe::session::Limits;
use icprobe::session::key::Key;
use icprobe::settings::{Body, Pattern, Protocol, RunSettings};
use serde_json::Map;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Runs after which a machine counts as too busy for what is to be seen.
const TRIES: u32 = 10;
/// One run at a time: what they measure is how fast the processors are.
static MACHINE: Mutex<()> = Mutex::new(());

/// A responder on a free port of loopback, and the key it holds.
struct Peer {
    key: Key,
    port: u16,
    folder: PathBuf,
}

impl Peer {
    fn new(name: &str, limits: Limits) -> Self {
        let folder = std::env::temp_dir().join(format!("icprobe-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("key");
        Key::create(&file).unwrap();
        let key = Key::load(&file).unwrap();
        let port = TcpListener::bind((HERE, 0))
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let responder = Responder {
            limits,
            ..Responder::default()
        };
        let its_key = key.clone();
        thread::spawn(move || respond(responder, SocketAddr::new(HERE, port), &its_key));
        thread::sleep(Duration::from_millis(100));
        Self { key, port, folder }
    }

    fn run(&self, settings: RunSettings) -> Result<Record, Error> {
        let question = Question {
            settings,
            target: Target {
                address: HERE,
                port: self.port,
                interface: None,
            },
            cpus: None,
            interface_settings: InterfaceSettings::default(),
            interrupt_cpus: None,
            labels: Map::new(),
        };
        let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        run(&question, &self.key, &Stop::default())
    }
}

impl Peer {
    /// A stream of which all arrived while nothing disturbed it, of several if need be; `None`, said
    /// aloud, where the machine was too busy each time. Whatever happened, its frames are accounted for.
    fn calm_run(&self, settings: &RunSettings) -> Option<Record> {
        for _ in 0..TRIES {
            let record = self.run(settings.clone()).unwrap();
            adds_up(&record);
            if is_calm(&record) {
                assert!(record.result.goodput_bps.unwrap() > 0.0);
                assert_eq!(record.result.loss_rate, Some(0.0));
                return Some(record);
            }
        }
        eprintln!("the machine was never calm in {TRIES} runs: rates were not checked");
        None
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn short(protocol: Protocol, payload_bytes: u32) -> RunSettings {
    RunSettings {
        duration_s: 0.3,
        warmup_s: 0.05,
        baseline_s: 0.02,
        ..RunSettings::new(protocol, payload_bytes)
    }
}

/// What must hold of every stream, however busy the machine: all frames are accounted for.
fn adds_up(record: &Record) {
    let result = &record.result;
    let loss = record.loss.as_ref().unwrap();
    let missing = loss.run_frames_sent - loss.run_frames_received;
    assert_eq!(
        missing,
        loss.socket_overflow.unwrap_or(0),
        "{:?}",
        record.flags
    );
    let (sent, received) = (result.frames_sent.unwrap(), result.frames_received.unwrap());
    assert_eq!(result.frames_lost, Some(sent - received));
    assert!(sent - received <= missing);
    if let Some(histogram) = &record.latency_histogram {
        assert_eq!(histogram.count(), received);
    }
    assert!(record.clock.same);
    assert_eq!(record.schema_version, 1);
}

/// The machine was there for the run: nothing overflowed, nothing waited.
fn is_calm(record: &Record) -> bool {
    let busy = [flags::STALLED, flags::INCOMPLETE];
    record.result.frames_lost == Some(0) && !record.flags.iter().any(|flag| busy.contains(&&**flag))
}

#[test]
fn a_paced_stream_keeps_its_rate_and_loses_nothing() {
    let peer = Peer::new("paced", Limits::default());
    for reverse in [false, true] {
        let settings = RunSettings {
            rate_fps: Some(2000.0),
            reverse,
            raw: true,
            ..short(Protocol::Udp, 700)
        };
        let Some(record) = peer.calm_run(&settings) else {
            continue;
        };
        let sent = record.result.frames_sent.unwrap();
        assert!((580..=620).contains(&sent), "{sent} frames of 600");
        assert_eq!(
            record.raw_latency_s.as_ref().map(Vec::len),
            Some(sent as usize)
        );
        assert!(record.pacing.as_ref().unwrap().asked_fps == 2000.0);
        assert_eq!(record.point.contains_key("reverse"), reverse);
        let mean = record.result.latency_mean_s.unwrap();
        let from_intended = record
            .pacing
            .as_ref()
            .unwrap()
            .latency_from_intended_mean_s
            .unwrap();
        assert!(
            from_intended >= mean * 0.999,
            "a frame is never sent before it is due"
        );
    }
}

#[test]
fn the_socket_counts_what_the_loop_counts() {
    let peer = Peer::new("socket", Limits::default());
    for payload_bytes in [64, 1448, 65_535, 300_000] {
        let Some(record) = peer.calm_run(&short(Protocol::Tcp, payload_bytes)) else {
            continue;
        };
        let window = record.result.frames_received.unwrap() * u64::from(payload_bytes);
        let socket = record.socket_window_bytes.unwrap();
        let apart = window.abs_diff(socket);
        assert!(
            apart <= 2 * u64::from(payload_bytes).max(1000),
            "{window} and {socket} B of {payload_bytes} B frames"
        );
    }
}

#[test]
fn streams_share_a_rate_and_are_added_up() {
    let peer = Peer::new("streams", Limits::default());
    let settings = RunSettings {
        cores: 2,
        streams: 5,
        rate_fps: Some(5000.0),
        ..short(Protocol::Tcp, 500)
    };
    let Some(record) = peer.calm_run(&settings) else {
        return;
    };
    let sent = record.result.frames_sent.unwrap();
    assert!((1450..=1550).contains(&sent), "{sent} frames of 1500");
}

#[test]
fn counted_frames_are_exactly_those() {
    let peer = Peer::new("counted", Limits::default());
    let settings = RunSettings {
        frames: Some(1001),
        warmup_s: 0.0,
        streams: 4,
        cores: 1,
        rate_fps: Some(20_000.0),
        ..short(Protocol::Udp, 100)
    };
    let record = peer.run(settings).unwrap();
    adds_up(&record);
    assert_eq!(record.result.frames_sent, Some(1001));
    assert_eq!(record.loss.unwrap().run_frames_sent, 1001);
}

#[test]
fn frames_too_short_for_a_stamp_are_counted_and_not_timed() {
    let peer = Peer::new("short", Limits::default());
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        for payload_bytes in [1, 31] {
            let settings = RunSettings {
                rate_fps: Some(1000.0),
                ..short(protocol, payload_bytes)
            };
            let record = peer.run(settings).unwrap();
            adds_up(&record);
            assert_eq!(record.result.latency_mean_s, None);
            assert_eq!(record.result.frames_duplicate, None);
            assert!(record.latency_histogram.is_none());
        }
    }
}

#[test]
fn round_trips_are_timed_one_by_one() {
    let peer = Peer::new("ping", Limits::default());
    for (protocol, pattern, payload_bytes) in [
        (Protocol::Udp, Pattern::PingPong, 64),
        (Protocol::Tcp, Pattern::PingPong, 1),
        (Protocol::Tcp, Pattern::Call, 500_000),
    ] {
        let settings = RunSettings {
            pattern,
            frames: Some(50),
            ..short(protocol, payload_bytes)
        };
        let result = peer.run(settings).unwrap().result;
        assert_eq!(result.frames_sent, Some(50));
        if protocol == Protocol::Tcp {
            assert_eq!(result.frames_received, Some(50));
        }
        let half = result.rtt_half_mean_s.unwrap();
        assert!((2.0 * half - result.rtt_mean_s.unwrap()).abs() < 1e-12);
        assert_eq!(
            result.latency_mean_s, None,
            "a round trip is no one-way latency"
        );
        assert_eq!(result.calls_queued_per_s, None);
    }
}

#[test]
fn calls_in_batches_are_all_invoked() {
    let peer = Peer::new("batch", Limits::default());
    for pattern in [Pattern::OnewayBatch, Pattern::TwowayBatch] {
        let settings = RunSettings {
            pattern,
            frames: Some(5000),
            warmup_s: 0.0,
            ..short(Protocol::Tcp, 64)
        };
        let result = peer.run(settings).unwrap().result;
        assert_eq!(
            (result.frames_sent, result.frames_received),
            (Some(5000), Some(5000))
        );
        assert!(result.calls_queued_per_s.unwrap() >= result.frames_per_s.unwrap());
        assert_eq!(result.rtt_mean_s.is_some(), pattern == Pattern::TwowayBatch);
    }
}

#[test]
fn calls_too_short_for_a_number_are_timed_all_the_same() {
    let peer = Peer::new("short-call", Limits::default());
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        for (payload_bytes, reply_bytes) in [(1, None), (31, None), (64, Some(8))] {
            let settings = RunSettings {
                pattern: Pattern::Call,
                reply_bytes,
                frames: Some(50),
                ..short(protocol, payload_bytes)
            };
            let result = peer.run(settings).unwrap().result;
            assert_eq!(result.frames_sent, Some(50));
            // A datagram that waits half a second for a busy machine counts as lost.
            let least = if protocol == Protocol::Tcp { 50 } else { 10 };
            let answered = result.frames_received.unwrap();
            assert!(
                answered >= least,
                "{answered} of {protocol:?} {payload_bytes} B"
            );
            assert!(result.rtt_mean_s.unwrap() > 0.0);
        }
    }
}

#[test]
fn batches_of_datagrams_end_well() {
    let peer = Peer::new("datagrams", Limits::default());
    for pattern in [Pattern::OnewayBatch, Pattern::TwowayBatch] {
        for warmup_s in [0.0, 0.05] {
            let settings = RunSettings {
                pattern,
                warmup_s,
                ..short(Protocol::Udp, 64)
            };
            let result = peer.run(settings).unwrap().result;
            let (sent, received) = (result.frames_sent, result.frames_received);
            assert!(
                sent.is_some() && received <= sent,
                "{received:?} of {sent:?}"
            );
        }
    }
}

#[test]
fn a_schedule_slower_than_the_run_does_not_hold_it() {
    let peer = Peer::new("slow", Limits::default());
    for pattern in [Pattern::Stream, Pattern::PingPong] {
        let settings = RunSettings {
            pattern,
            rate_fps: Some(0.1),
            ..short(Protocol::Udp, 64)
        };
        // The least of some: a busy machine may take its time.
        let mut least = Duration::MAX;
        for _ in 0..TRIES {
            let began = Instant::now();
            let result = peer.run(settings.clone()).unwrap().result;
            least = least.min(began.elapsed());
            assert!(result.frames_sent.unwrap() <= 1);
            if pattern == Pattern::Stream {
                assert_eq!(result.goodput_bps, None, "one frame has no rate");
            }
            if least < Duration::from_secs(2) {
                break;
            }
        }
        assert!(least < Duration::from_secs(2), "{pattern:?} took {least:?}");
    }
}

#[test]
fn a_vector_goes_as_a_call() {
    let peer = Peer::new("vector", Limits::default());
    let settings = RunSettings {
        pattern: Pattern::Call,
        body: Body::Vector,
        frames: Some(20),
        ..short(Protocol::Tcp, 800_032)
    };
    let record = peer.run(settings).unwrap();
    assert_eq!(record.result.frames_received, Some(20));
    assert_eq!(record.point["body"], "vector");
}

#[test]
fn what_the_responder_does_not_allow_is_refused_with_the_reason() {
    let peer = Peer::new(
        "limits",
        Limits {
            duration_s: 1.0,
            ..Limits::default()
        },
    );
    let error = peer
        .run(RunSettings {
            duration_s: 5.0,
            ..short(Protocol::Udp, 64)
        })
        .unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("refused"), "{error}");
    let priority = RunSettings {
        realtime_priority: Some(50),
        ..short(Protocol::Udp, 64)
    };
    assert!(
        peer.run(priority)
            .unwrap_err()
            .to_string()
            .contains("--allow-realtime")
    );
    peer.run(short(Protocol::Udp, 64)).unwrap();
}

#[test]
fn nobody_there_is_a_failure_of_the_peer() {
    let peer = Peer::new("nobody", Limits::default());
    let nobody = Peer {
        port: 1,
        key: peer.key.clone(),
        folder: PathBuf::from("/nonexistent"),
    };
    assert_eq!(
        nobody
            .run(short(Protocol::Udp, 64))
            .unwrap_err()
            .exit_code(),
        3
    );
}
