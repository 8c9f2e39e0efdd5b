//! Marked packets before others.

use super::alone;
use super::calm::calm_windows;
use super::limits::{STOP, send_datagrams};
use crate::lab::standing::{Standing, skipped};
use std::net::{IpAddr, UdpSocket};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A window of 2000 packets: the shorter, the likelier is it that no core stands still in it.
const WINDOW: Duration = Duration::from_millis(250);

/// Payload bits per second that arrive on a socket of the thread's host within a window, and the
/// share of them that one host sent.
fn arriving(socket: &UdpSocket, of: IpAddr) -> (f64, f64) {
    let mut payload = [0; 2048];
    let (mut own, mut all, begin) = (0, 0, Instant::now());
    while begin.elapsed() < WINDOW {
        if let Ok((bytes, source)) = socket.recv_from(&mut payload) {
            all += bytes;
            own += if source.ip() == of { bytes } else { 0 };
        }
    }
    let rate_bps = all as f64 * 8.0 / begin.elapsed().as_secs_f64();
    (rate_bps, own as f64 / all as f64)
}

fn share_of_two_senders(topology: &str) -> f64 {
    let lab = Standing::of(topology);
    let to = lab.address("B");
    STOP.store(false, Ordering::Relaxed);
    let senders = [("A", 46), ("C", 0)].map(|(host, dscp)| {
        let from = lab.address(host);
        lab.inside(host, move || send_datagrams(from, to, 1472, dscp))
    });
    let first = lab.address("A");
    let receiver = lab.inside("B", move || {
        let socket = UdpSocket::bind((to, 9)).expect("a socket");
        let wait = Some(Duration::from_millis(100));
        socket.set_read_timeout(wait).expect("set");
        arriving(&socket, first);
        calm_windows(3, || arriving(&socket, first), |_| true)
    });
    let windows = receiver.join();
    STOP.store(true, Ordering::Relaxed);
    for sender in senders {
        sender.join().expect("sends");
    }
    let windows = windows.expect("measured");
    let rate_bps = median(windows.iter().map(|window| window.0).collect());
    assert!(
        (rate_bps - 95.7e6).abs() < 2e6,
        "{rate_bps} b/s arrive over a link of 100 Mb/s"
    );
    median(windows.iter().map(|window| window.1).collect())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn a_class_is_served_first() {
    if skipped() {
        return;
    }
    let _alone = alone();
    let plain = share_of_two_senders("two-senders-100m");
    let classes = share_of_two_senders("dscp-100m");
    eprintln!("share of the marked sender: {plain:.3} without classes, {classes:.3} with");
    assert!((plain - 0.5).abs() < 0.01, "{plain}");
    // The link less the 5 Mb/s that all other packets are guaranteed.
    assert!((classes - 0.95).abs() < 0.01, "{classes}");
}
