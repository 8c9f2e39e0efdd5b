//! Whole runs over loopback, both ends in this process: what is counted must add up.

mod accounts;

use crate::own_name;
use icprobe::error::Error;
use icprobe::host::settings::InterfaceSettings;
use icprobe::interrupt::Stop;
use icprobe::record::Record;
use icprobe::run::{Question, Target, run};
use icprobe::serve::{Responder, respond};
use icprobe::session::Limits;
use icprobe::session::key::Key;
use icprobe::settings::{Protocol, RunSettings};
use serde_json::Map;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A responder on a free port of loopback, and the key it holds.
pub struct Peer {
    key: Key,
    port: u16,
    folder: PathBuf,
}

impl Peer {
    pub fn new(name: &str, limits: Limits) -> Self {
        let folder = std::env::temp_dir().join(own_name(name));
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

    pub fn run(&self, settings: RunSettings) -> Result<Record, Error> {
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
        run(&question, &self.key, &Stop::default())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

pub fn short(protocol: Protocol, payload_bytes: u32) -> RunSettings {
    RunSettings {
        duration_s: 0.3,
        warmup_s: 0.05,
        baseline_s: 0.02,
        ..RunSettings::new(protocol, payload_bytes)
    }
}

/// What must hold of every stream, however busy the machine: all frames are accounted for.
///
/// A stalled receiver may stop before the last frames, which then are missing without an overflow.
pub fn adds_up(record: &Record) {
    let result = &record.result;
    let loss = record.loss.as_ref().unwrap();
    let missing = loss.run_frames_sent - loss.run_frames_received;
    let dropped = loss.socket_overflow.unwrap_or(0);
    let stalled = record.flags.iter().any(|flag| flag == "stalled");
    assert!(
        missing == dropped || (stalled && missing > dropped),
        "{missing} frames missing, {dropped} dropped: {:?}",
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
