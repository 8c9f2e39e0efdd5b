use super::*;
use crate::host::cpu::Baseline;
use crate::report::PacingReport;
use crate::report::hand_made::{asker, idle, modes, receiver, sender};

/// Sender on core 0 and receiver on core 1, busy for the given shares of a second.
fn ends(hosts: [&str; 2], busy: [f64; 2]) -> Ends<EndReport> {
    let (mut send, mut recv) = (sender(hosts[0]), receiver(hosts[1]));
    for end in [&mut send, &mut recv] {
        end.usage.cores[0] = modes(0, busy[0]);
        end.usage.cores[1] = modes(1, busy[1]);
        end.usage.thread_cores = 0.25;
        end.usage.process_cores = 0.75;
    }
    Ends { send, recv }
}

fn cpu(ends: &Ends<EndReport>) -> RunResult {
    cpu_over(Protocol::Udp, ends)
}

fn cpu_over(protocol: Protocol, ends: &Ends<EndReport>) -> RunResult {
    let mut result = RunResult::default();
    add(&mut result, &RunSettings::new(protocol, 64), ends);
    result
}

fn near(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() < 1e-12)
}

#[test]
fn each_end_is_charged_with_its_own_cores() {
    let result = cpu(&ends(["a", "a"], [0.5, 0.25]));
    assert!(near(result.cpu_send, 0.5) && near(result.cpu_recv, 0.25));
    assert!(near(result.cpu_send_user, 0.5) && near(result.cpu_send_system, 0.0));
    assert_eq!(result.cpu_quantum, Some(0.01));
    // If both ends are on one host, its busy cores belong to neither end.
    assert_eq!((result.cpu_send_cores, result.cpu_recv_cores), (None, None));
}

#[test]
fn on_two_hosts_all_busy_cores_are_told_too() {
    let result = cpu(&ends(["a", "b"], [0.5, 0.25]));
    assert!(near(result.cpu_send_cores, 0.75) && near(result.cpu_recv_cores, 0.75));
}

#[test]
fn a_window_shorter_than_a_tick_says_nothing_of_cores() {
    for (window_s, known) in [(0.01, true), (0.0099, false)] {
        for short_end in [0, 1] {
            let mut ends = ends(["a", "b"], [0.5, 0.25]);
            let end = [&mut ends.send, &mut ends.recv];
            end[short_end].usage.window_s = window_s;
            let result = cpu(&ends);
            assert_eq!(result.cpu_send.is_some(), known);
            assert_eq!(result.cpu_recv.is_some(), known);
            assert_eq!(result.cpu_quantum.is_some(), known);
            assert_eq!(result.cpu_send_cores.is_some(), known);
            assert!(result.cpu_send_process_cores.is_some());
        }
    }
}

#[test]
fn shared_cores_leave_the_processes_own_time_alone() {
    let mut ends = ends(["a", "a"], [0.5, 0.25]);
    ends.recv.cores = vec![1, 0];
    assert!(share_cores(&ends));
    let result = cpu(&ends);
    assert_eq!((result.cpu_send, result.cpu_recv), (None, None));
    assert_eq!((result.cpu_send_steal, result.cpu_quantum), (None, None));
    assert!(near(result.cpu_send_process_cores, 0.25));
    assert!(near(result.cpu_recv_process_cores, 0.25));
    // The same numbers on two hosts are two cores.
    ends.recv.identity.boot_id = "b".into();
    assert!(!share_cores(&ends) && cpu(&ends).cpu_send.is_some());
}

#[test]
fn a_process_that_used_nothing_known_is_absent() {
    let mut ends = ends(["a", "a"], [0.5, 0.25]);
    ends.recv.usage.window_s = 0.0;
    let result = cpu(&ends);
    assert_eq!(result.cpu_recv_process_cores, None);
    assert!(result.cpu_send_process_cores.is_some());
}

#[test]
fn waiting_for_the_schedule_is_not_charged() {
    let mut paced = ends(["a", "b"], [0.5, 0.25]);
    paced.send.sent.as_mut().unwrap().pacing = Some(PacingReport {
        spin_cores: 0.125,
        ..PacingReport::default()
    });
    let mut asking = ends(["a", "b"], [0.5, 0.25]);
    asking.send = EndReport {
        usage: asking.send.usage.clone(),
        ..asker("a")
    };
    asking.send.round_trips.as_mut().unwrap().spin_cores = 0.125;
    for ends in [paced, asking] {
        let result = cpu(&ends);
        assert!(near(result.cpu_send, 0.375) && near(result.cpu_send_user, 0.375));
        assert!(near(result.cpu_send_process_cores, 0.125));
        assert!(near(result.cpu_send_cores, 0.625));
        assert!(near(result.cpu_recv, 0.25) && near(result.cpu_recv_process_cores, 0.25));
    }
}

#[test]
fn zeromq_works_in_threads_of_the_library() {
    let result = cpu_over(Protocol::Zeromq, &ends(["a", "a"], [0.5, 0.25]));
    assert!(near(result.cpu_send_process_cores, 0.75));
}

#[test]
fn the_idle_hosts_load_is_taken_off() {
    let mut ends = ends(["a", "a"], [0.5, 0.25]);
    ends.send.usage.baseline = Some(Baseline {
        window_s: 0.5,
        cores: vec![modes(0, 0.1), modes(1, 0.2)],
    });
    let result = cpu(&ends);
    assert!(near(result.cpu_send, 0.4) && near(result.cpu_recv, 0.25));
}

#[test]
fn cores_that_nobody_watched_are_absent() {
    let mut ends = ends(["a", "a"], [0.5, 0.25]);
    ends.recv = EndReport {
        cores: vec![9],
        ..idle("a", 9)
    };
    let result = cpu(&ends);
    assert!(result.cpu_send.is_some() && result.cpu_recv.is_none());
}
