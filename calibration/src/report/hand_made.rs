//! Hand-made reports of ends, for tests.

use super::{EndReport, InterfaceReport, ReceiveReport, RoundTripReport, SendReport};
use crate::clock::Identity;
use crate::host::cpu::{CoreModes, Usage};
use crate::host::environment::Environment;
use crate::host::network::InterfaceCounters;
use crate::host::selfcheck::Instrument;
use crate::report::Chosen;
use crate::statistics::{LatencyRecorder, LatencySummary};

/// End on a host with its own boot identifier, and with one core that is idle for a second.
pub(crate) fn idle(boot_id: &str, core: usize) -> EndReport {
    EndReport {
        identity: Identity {
            boot_id: boot_id.into(),
            ..Identity::default()
        },
        environment: Environment::default(),
        instrument: Instrument::default(),
        cores: vec![core],
        usage: Usage {
            window_s: 1.0,
            tick_s: 0.01,
            cores: (0..4).map(|core| modes(core, 0.0)).collect(),
            ..Usage::default()
        },
        interface: None,
        chosen: Chosen::default(),
        sent: None,
        received: None,
        round_trips: None,
        flags: Vec::new(),
    }
}

/// Core that was in user mode for the given share of the time.
pub(crate) fn modes(core: usize, user: f64) -> CoreModes {
    CoreModes {
        core,
        user,
        idle: 1.0 - user,
        ..CoreModes::default()
    }
}

/// End that sent 1000 frames of a window in a second.
pub(crate) fn sender(boot_id: &str) -> EndReport {
    EndReport {
        sent: Some(SendReport {
            window_frames: 1000,
            run_frames: 1100,
            span_s: Some(1.0),
            span_frames: 1000,
            ..SendReport::default()
        }),
        ..idle(boot_id, 0)
    }
}

/// End that received all frames of [`sender`], in a little more than a second.
pub(crate) fn receiver(boot_id: &str) -> EndReport {
    EndReport {
        received: Some(ReceiveReport {
            window_frames: 1000,
            run_frames: 1100,
            duplicates: Some(0),
            reordered: Some(0),
            span_s: Some(1.25),
            span_frames: 1000,
            ..ReceiveReport::default()
        }),
        ..idle(boot_id, 1)
    }
}

/// End that sent ten requests in a second, all of them answered.
pub(crate) fn asker(boot_id: &str) -> EndReport {
    EndReport {
        round_trips: Some(RoundTripReport {
            asked: 10,
            answered: Some(10),
            elapsed_s: 1.0,
            round_trip: Some(latency(&[20_000, 40_000])),
            goodput_bps: Some(5120.0),
            ..RoundTripReport::default()
        }),
        ..idle(boot_id, 0)
    }
}

/// Latency summary of the given values.
pub(crate) fn latency(values_ns: &[i64]) -> LatencySummary {
    let mut recorder = LatencyRecorder::new();
    values_ns
        .iter()
        .for_each(|value| recorder.record(*value, 1));
    recorder.summary().expect("some latency")
}

/// Interface that sent and received the given numbers of packets and bytes inside the window.
pub(crate) fn interface(packets: u64, bytes: u64) -> InterfaceReport {
    let window = InterfaceCounters {
        tx_packets: packets,
        tx_bytes: bytes,
        rx_packets: 2 * packets,
        rx_bytes: 4 * bytes,
        ..InterfaceCounters::default()
    };
    let run = InterfaceCounters {
        tx_dropped: 3,
        rx_dropped: 4,
        rx_missed: 5,
        ..window
    };
    InterfaceReport {
        name: "eth0".into(),
        window,
        run,
    }
}
