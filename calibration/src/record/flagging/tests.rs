use super::*;
use crate::host::cpu::Baseline;
use crate::record::build::{Told, record};
use crate::report::hand_made::{latency, modes, receiver, sender};
use crate::report::{PacingReport, ReceiveReport};
use crate::settings::{Protocol, RunSettings};
use crate::statistics::SteadyState;
use serde_json::Map;

/// Flags of a run between two hosts after `change`; the unchanged run has none.
fn raised(change: impl FnOnce(&mut Ends<EndReport>)) -> Vec<String> {
    raised_with_bound(None, change)
}

fn raised_with_bound(
    bound_s: Option<f64>,
    change: impl FnOnce(&mut Ends<EndReport>),
) -> Vec<String> {
    let mut ends = Ends {
        send: sender("a"),
        recv: receiver("b"),
    };
    change(&mut ends);
    let whole = record(Told {
        run: String::new(),
        started_utc: String::new(),
        settings: RunSettings::new(Protocol::Udp, 64),
        labels: Map::new(),
        caller: ends.send.clone(),
        responder: ends.recv.clone(),
        fit: None,
    });
    let clock = ClockReport {
        bound_s,
        ..whole.clock
    };
    flags(&ends, &whole.result, &clock)
}

fn received(ends: &mut Ends<EndReport>) -> &mut ReceiveReport {
    ends.recv.received.as_mut().unwrap()
}

/// Checks that `over` raises this flag alone, and that `under` raises none.
fn only(
    flag: &str,
    over: impl FnOnce(&mut Ends<EndReport>),
    under: impl FnOnce(&mut Ends<EndReport>),
) {
    assert_eq!(raised(over), [flag]);
    assert_eq!(raised(under), [""; 0], "{flag} at its threshold");
}

#[test]
fn a_run_without_fault_has_no_flag() {
    assert!(raised(|_| {}).is_empty());
}

#[test]
fn preempted_more_than_ten_times_a_second_and_thread() {
    let switches =
        |count: u64| move |ends: &mut Ends<EndReport>| ends.recv.usage.involuntary_switches = count;
    only(flags::PREEMPTED, switches(11), switches(10));
    let two_threads = |count: u64| {
        move |ends: &mut Ends<EndReport>| {
            ends.send.cores = vec![0, 2];
            ends.send.usage.involuntary_switches = count;
        }
    };
    only(flags::PREEMPTED, two_threads(21), two_threads(20));
    // One preemption raises no flag, even in a very short window.
    let short = |count: u64| {
        move |ends: &mut Ends<EndReport>| {
            ends.recv.usage.window_s = 0.01;
            ends.recv.usage.involuntary_switches = count;
        }
    };
    only(flags::PREEMPTED, short(2), short(1));
}

#[test]
fn a_pause_at_either_end_is_a_stall() {
    let none = |_: &mut Ends<EndReport>| {};
    only(flags::STALLED, |ends| received(ends).stalls = 1, none);
    only(
        flags::STALLED,
        |ends| ends.send.sent.as_mut().unwrap().stalls = 1,
        none,
    );
}

#[test]
fn stolen_time_counts_on_cores_in_use() {
    let stolen = |core: usize, steal: f64| {
        move |ends: &mut Ends<EndReport>| ends.send.usage.cores[core].steal = steal
    };
    only(flags::STEAL, stolen(0, 0.0101), stolen(0, 0.01));
    only(flags::STEAL, stolen(0, 0.5), stolen(3, 0.5));
}

#[test]
fn a_busy_host_counts_on_cores_in_use() {
    let before = |core: usize, busy: f64| {
        move |ends: &mut Ends<EndReport>| {
            ends.recv.usage.baseline = Some(Baseline {
                window_s: 0.5,
                cores: vec![modes(core, busy)],
            });
        }
    };
    only(flags::BUSY_HOST, before(1, 0.11), before(1, 0.1));
    only(flags::BUSY_HOST, before(1, 0.9), before(0, 0.9));
}

#[test]
fn a_frame_that_came_before_it_was_sent() {
    let negative =
        |count: u64| move |ends: &mut Ends<EndReport>| received(ends).negative_latencies = count;
    only(flags::NEGATIVE_LATENCY, negative(1), negative(0));
}

#[test]
fn a_bound_above_half_the_mean_latency() {
    let timed = |ends: &mut Ends<EndReport>| received(ends).latency = Some(latency(&[50_000]));
    assert_eq!(
        raised_with_bound(Some(25.1e-6), timed),
        [flags::CLOCK_BOUND]
    );
    assert!(raised_with_bound(Some(24.9e-6), timed).is_empty());
    assert!(raised_with_bound(None, timed).is_empty());
    assert!(raised_with_bound(Some(1.0), |_| {}).is_empty());
}

#[test]
fn a_window_that_never_settled() {
    let steady = |detected: bool| {
        move |ends: &mut Ends<EndReport>| {
            received(ends).steady = Some(SteadyState {
                detected,
                ..SteadyState::default()
            });
        }
    };
    only(flags::NO_STEADY_STATE, steady(false), steady(true));
}

#[test]
fn a_rate_that_was_missed_though_there_was_time() {
    let paced = |achieved_fps: Option<f64>, sending_cores: f64| {
        move |ends: &mut Ends<EndReport>| {
            ends.send.sent.as_mut().unwrap().pacing = Some(PacingReport {
                asked_fps: 1000.0,
                achieved_fps,
                sending_cores,
                ..PacingReport::default()
            });
        }
    };
    only(
        flags::PACING_ERROR,
        paced(Some(998.9), 0.1),
        paced(Some(999.1), 0.1),
    );
    only(
        flags::PACING_ERROR,
        paced(Some(1001.1), 0.1),
        paced(Some(1000.9), 0.1),
    );
    // A sender that spends its time in send calls is saturated, not descheduled.
    only(
        flags::PACING_ERROR,
        paced(Some(500.0), 0.9),
        paced(Some(500.0), 0.91),
    );
    assert!(raised(paced(None, 0.1)).is_empty());
}

#[test]
fn strangers_beyond_a_thousandth() {
    let foreign = |count: u64| {
        move |ends: &mut Ends<EndReport>| {
            received(ends).run_frames = 1000;
            received(ends).foreign = count;
        }
    };
    only(flags::FOREIGN_FRAMES, foreign(2), foreign(1));
}

#[test]
fn an_empty_window_is_incomplete() {
    assert_eq!(
        raised(|ends| received(ends).span_s = None),
        [flags::INCOMPLETE]
    );
}

#[test]
fn cores_that_both_ends_use() {
    let same_host = |cores: Vec<usize>| {
        move |ends: &mut Ends<EndReport>| {
            ends.recv.identity.boot_id = "a".into();
            ends.recv.cores = cores;
        }
    };
    only(
        flags::SHARED_CORES,
        same_host(vec![0, 1]),
        same_host(vec![1]),
    );
}

#[test]
fn what_an_end_says_itself_is_passed_on_once_and_in_order() {
    let all = raised(|ends| {
        ends.send.flags = flags::ALL
            .iter()
            .rev()
            .map(|flag| (*flag).to_owned())
            .collect();
        ends.recv.flags = ends.send.flags.clone();
    });
    let mut sorted = flags::ALL.to_vec();
    sorted.sort_unstable();
    assert_eq!(all, sorted);
}
