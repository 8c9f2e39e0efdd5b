//! A limited link carries what theory says, however the packets look.

use super::alone;
use super::calm::calm_windows;
use crate::lab::standing::{Standing, skipped};
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes and packets received by the only link of the thread's host.
fn received() -> (u64, u64) {
    let text = fs::read_to_string("/proc/thread-self/net/dev").expect("counters");
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("to-"))
        .expect("a link");
    let mut fields = line
        .split_whitespace()
        .skip(1)
        .map(|field| field.parse().expect("a count"));
    (
        fields.next().expect("bytes"),
        fields.next().expect("packets"),
    )
}

/// The least share of theory that a link must carry in its best calm window.
const CARRIED: f64 = 0.99;

/// Shares of theory carried in half-second windows; `share` makes one of the bytes and packets
/// received per second.
fn shares(share: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    thread::sleep(Duration::from_millis(300));
    let window = || {
        let (start, before) = (Instant::now(), received());
        thread::sleep(Duration::from_millis(500));
        let (after, seconds) = (received(), start.elapsed().as_secs_f64());
        let rate = |from: u64, to: u64| (to - from) as f64 / seconds;
        share(rate(before.0, after.0), rate(before.1, after.1))
    };
    calm_windows(2, window, |shares| best(shares) > CARRIED)
}

fn best(shares: &[f64]) -> f64 {
    shares.iter().copied().fold(0.0, f64::max)
}

pub static STOP: AtomicBool = AtomicBool::new(false);

pub fn send_datagrams(from: IpAddr, to: IpAddr, payload_bytes: usize, dscp: u8) {
    let socket = UdpSocket::bind((from, 0)).expect("a socket");
    let field = i32::from(dscp) << 2;
    // SAFETY: the option is as long as it says.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_TOS,
            (&raw const field).cast(),
            4,
        )
    };
    assert_eq!(set, 0);
    socket.connect((to, 9)).expect("an address");
    let payload = vec![0; payload_bytes];
    while !STOP.load(Ordering::Relaxed) {
        let _ = socket.send(&payload);
    }
}

/// Wire bytes of a datagram: IP fragments it (RFC 791), Ethernet adds 38 B to each and pads to 84 B.
fn wire_bytes(payload_bytes: usize) -> (f64, f64) {
    let data = payload_bytes + 8;
    let fragments = data.div_ceil(1480);
    let tail = data - (fragments - 1) * 1480;
    (
        (fragments - 1) as f64 * 1538.0 + (tail + 58).max(84) as f64,
        fragments as f64,
    )
}

/// A disturbance leaves a link idle and never carries more: the best window is asked to reach
/// theory, and none may exceed it.
fn judge(what: &str, shares: &[f64]) {
    eprintln!("{what}: {:.4} of theory", best(shares));
    assert!(
        best(shares) > CARRIED,
        "{what} falls short of theory: {shares:?}"
    );
    assert!(best(shares) < 1.005, "{what} exceeds theory: {shares:?}");
}

fn datagram_rate(topology: &str, payload_bytes: usize) {
    let lab = Standing::of(topology);
    let rate_bps = lab.0.describe().line_rate_bps.expect("a rate");
    let (from, to) = (lab.address("A"), lab.address("B"));
    STOP.store(false, Ordering::Relaxed);
    let sender = lab.inside("A", move || send_datagrams(from, to, payload_bytes, 0));
    let (wire, fragments) = wire_bytes(payload_bytes);
    let receiver = lab.inside("B", move || {
        let _quiet = UdpSocket::bind((to, 9)).expect("a socket");
        shares(|_, packets| packets / fragments * wire * 8.0 / rate_bps)
    });
    let shares = receiver.join();
    STOP.store(true, Ordering::Relaxed);
    sender.join().expect("sends");
    let what = format!("{topology}, UDP {payload_bytes} B");
    judge(&what, &shares.expect("measured"));
}

#[test]
fn datagrams_fill_a_limited_link_as_theory_says() {
    datagram_rates(&[("direct-20m", 1473), ("two-switches-100m", 1472)]);
}

#[test]
#[ignore = "minutes of measuring: make measure"]
fn datagrams_fill_every_limited_link_as_theory_says() {
    datagram_rates(&[
        ("direct-20m", 1472),
        ("direct-50m", 1473),
        ("direct-100m", 1472),
        ("direct-100m", 1473),
        ("direct-20m", 100),
        ("direct-20m", 1),
        ("switch-100m", 1472),
    ]);
}

fn datagram_rates(links: &[(&str, usize)]) {
    if skipped() {
        return;
    }
    let _alone = alone();
    for &(topology, payload_bytes) in links {
        datagram_rate(topology, payload_bytes);
    }
}

/// The first connection, which must come within seconds.
fn soon(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).expect("set");
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(10) {
        if let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(false).expect("set");
            return stream;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("nobody connects");
}

#[test]
fn a_connection_fills_a_limited_link_as_theory_says() {
    connection_rates(&["switch-100m"]);
}

#[test]
#[ignore = "minutes of measuring: make measure"]
fn a_connection_fills_every_limited_link_as_theory_says() {
    connection_rates(&["direct-20m", "direct-100m"]);
}

fn connection_rates(topologies: &[&str]) {
    if skipped() {
        return;
    }
    let _alone = alone();
    for topology in topologies {
        let lab = Standing::of(topology);
        let (rate_bps, to) = (
            lab.0.describe().line_rate_bps.expect("a rate"),
            lab.address("B"),
        );
        let (ready, is_ready) = std::sync::mpsc::channel();
        let receiver = lab.inside("B", move || {
            let listener = TcpListener::bind((to, 9)).expect("a socket");
            ready.send(()).expect("told");
            let mut stream = soon(&listener);
            thread::spawn(move || while stream.read(&mut [0; 65_536]).is_ok_and(|n| n > 0) {});
            // All data packets are full: 1448 B of data in 1514 B that the interface counts.
            shares(|bytes, packets| (bytes + 24.0 * packets) * 8.0 / rate_bps)
        });
        is_ready.recv().expect("listens");
        STOP.store(false, Ordering::Relaxed);
        let sender = lab.inside("A", move || {
            let mut stream = TcpStream::connect((to, 9)).expect("connected");
            while !STOP.load(Ordering::Relaxed) {
                stream.write_all(&[0; 1000]).expect("sent");
            }
        });
        let shares = receiver.join();
        STOP.store(true, Ordering::Relaxed);
        sender.join().expect("sends");
        judge(&format!("{topology}, TCP"), &shares.expect("measured"));
    }
}
