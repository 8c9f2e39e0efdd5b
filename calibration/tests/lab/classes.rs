//! Marked packets before others.

use crate::rates::{STOP, send_datagrams};
use crate::standing::{Standing, alone, skipped};
use std::net::UdpSocket;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Payload bytes per second that arrive on a socket of the thread's host within a second and a half.
fn arriving(socket: &UdpSocket) -> f64 {
    socket
        .set_read_timeout(Some(Duration::from_millis(100)))
        .expect("set");
    let mut payload = [0; 2048];
    let until = |end: Instant, payload: &mut [u8]| {
        let mut bytes = 0;
        while Instant::now() < end {
            bytes += socket.recv(payload).unwrap_or(0);
        }
        bytes
    };
    until(Instant::now() + Duration::from_millis(500), &mut payload);
    until(Instant::now() + Duration::from_millis(1500), &mut payload) as f64 / 1.5
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
    let both = lab.inside("B", move || {
        let others = UdpSocket::bind((to, 9)).expect("a socket");
        let all = arriving(&others);
        let mut buffer = [0; 2048];
        let (mut own, mut sum) = (0.0, 0.0);
        let end = Instant::now() + Duration::from_secs(1);
        while Instant::now() < end {
            if let Ok((bytes, source)) = others.recv_from(&mut buffer) {
                sum += bytes as f64;
                own += if source.ip() == first {
                    bytes as f64
                } else {
                    0.0
                };
            }
        }
        assert!(
            (all * 8.0 - 95.7e6).abs() < 2e6,
            "{all} B/s arrive over a link of 100 Mb/s"
        );
        own / sum
    });
    let share = both.join();
    STOP.store(true, Ordering::Relaxed);
    for sender in senders {
        sender.join().expect("sends");
    }
    share.expect("measured")
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
