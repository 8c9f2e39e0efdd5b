//! Between two network namespaces joined by a veth pair: every transport, Ethernet above all.

use super::ends::{DEADLINE, TAG, TOKEN, frame, take};
use icprobe::frame::{Header, Phase};
use icprobe::settings::{Pattern, Protocol, Role, RunSettings, Waiting};
use icprobe::transport::{Announce, Connection, FrameReceiver, FrameSender, Place, prepare};
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Two namespaces with a veth pair; gone when dropped.
struct Pair {
    names: [String; 2],
}

const ADDRESSES: [[u8; 4]; 2] = [[10, 99, 0, 1], [10, 99, 0, 2]];

fn ip(arguments: &str) -> bool {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    status.is_ok_and(|s| s.success())
}

impl Pair {
    /// `None`, with the reason printed, where namespaces cannot be made.
    fn new(test: &str) -> Option<Self> {
        let names = ["a", "b"].map(|end| format!("transport-{test}-{}-{end}", std::process::id()));
        let pair = Self { names };
        let [a, b] = &pair.names;
        let made = ip(&format!("netns add {a}"))
            && ip(&format!("netns add {b}"))
            && ip(&format!(
                "-n {a} link add veth0 type veth peer name veth0 netns {b}"
            ))
            && [(a, 1), (b, 2)].iter().all(|(name, last)| {
                ip(&format!(
                    "-n {name} address add 10.99.0.{last}/24 dev veth0"
                )) && ip(&format!("-n {name} link set veth0 up"))
            });
        if made {
            pair.wait_until_up();
            return Some(pair);
        }
        assert!(
            std::env::var_os("CI").is_none(),
            "CI must be able to make namespaces"
        );
        eprintln!("skipped: network namespaces need root and iproute2");
        None
    }

    /// The kernel lets frames through only some time after both ends are up.
    fn wait_until_up(&self) {
        let until = Instant::now() + DEADLINE;
        let down = |name: &String| {
            let arguments = ["-n", name, "-br", "link", "show", "veth0"];
            let output = Command::new("ip").args(arguments).output().expect("ip");
            !String::from_utf8_lossy(&output.stdout).contains(" UP ")
        };
        while self.names.iter().any(down) {
            assert!(Instant::now() < until, "the veth pair stays down");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Moves this thread into one of the namespaces.
    fn enter(&self, end: usize) {
        let file =
            std::fs::File::open(format!("/run/netns/{}", self.names[end])).expect("namespace");
        // SAFETY: setns takes a descriptor, which is open, and a number.
        let moved = unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) };
        assert_eq!(moved, 0);
    }

    fn run_in(&self, end: usize, command: &str) {
        assert!(
            ip(&format!("netns exec {} {command}", self.names[end])),
            "{command}"
        );
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for name in &self.names {
            ip(&format!("netns delete {name}"));
        }
    }
}

/// One end: prepares inside its namespace, swaps announcements, establishes.
fn end(
    pair: &Pair,
    role: Role,
    settings: &RunSettings,
    to: &Sender<Announce>,
    from: &Receiver<Announce>,
) -> Vec<Connection> {
    let own = usize::from(role == Role::Responder);
    pair.enter(own);
    let place = Place {
        local: IpAddr::from(ADDRESSES[own]),
        peer: IpAddr::from(ADDRESSES[1 - own]),
        interface: Some("veth0".into()),
    };
    let prepared = prepare(role, settings, &place).expect("prepare");
    to.send(prepared.announce().clone()).expect("announce");
    let peer = from.recv_timeout(DEADLINE).expect("announced");
    prepared
        .establish(&peer, &TOKEN, TAG, DEADLINE)
        .expect("establish")
}

/// Both ends in their namespaces; caller first.
fn both(pair: &Pair, settings: &RunSettings) -> (Vec<Connection>, Vec<Connection>) {
    let ((to_b, from_a), (to_a, from_b)) = (channel(), channel());
    std::thread::scope(|scope| {
        let caller = scope.spawn(move || end(pair, Role::Caller, settings, &to_b, &from_b));
        let responder = scope.spawn(move || end(pair, Role::Responder, settings, &to_a, &from_a));
        (
            caller.join().expect("caller"),
            responder.join().expect("responder"),
        )
    })
}

/// A frame as a run sends it: header where it fits.
fn stamped(stream: usize, seq: usize, size: usize) -> Vec<u8> {
    let mut bytes = frame(seq, size);
    let header = Header {
        tag: TAG,
        stream: stream as u16,
        phase: Phase::Window,
        seq: seq as u64,
        intended_ns: 0,
        sent_ns: 0,
    };
    header.write(&mut bytes);
    bytes
}

/// Sends `count` frames on all streams at once and expects each at its own receiver.
fn through(pair: &Pair, settings: &RunSettings, count: usize) {
    let size = settings.payload_bytes as usize;
    let (caller, responder) = both(pair, settings);
    let (senders, receivers) = if settings.reverse {
        (responder, caller)
    } else {
        (caller, responder)
    };
    let mut senders: Vec<_> = senders
        .into_iter()
        .map(|c| c.into_sender().expect("sender"))
        .collect();
    for seq in 0..count {
        for (stream, sender) in senders.iter_mut().enumerate() {
            assert!(sender.send(&stamped(stream, seq, size)).expect("send"));
        }
    }
    senders.iter_mut().for_each(|s| s.flush().expect("flush"));
    for (stream, receiver) in receivers.into_iter().enumerate() {
        let mut receiver = receiver.into_receiver().expect("receiver");
        let frames = take(&mut receiver, count).expect("receive");
        let expected: Vec<_> = (0..count).map(|seq| stamped(stream, seq, size)).collect();
        assert!(frames == expected, "{settings:?}");
        assert_eq!(
            receiver
                .receive(Duration::ZERO, |_, _| {})
                .expect("nothing more"),
            0
        );
        if settings.protocol == Protocol::Ethernet {
            assert_eq!(receiver.overflow(), Some(0));
        }
    }
}

#[test]
fn ethernet_frames_arrive_at_their_stream_and_nothing_else_does() {
    let Some(pair) = Pair::new("ethernet") else {
        return;
    };
    for size in [1, 31, 32, 45, 46, 47, 64, 1499, 1500] {
        let mut settings = RunSettings::new(Protocol::Ethernet, size);
        through(&pair, &settings, 30);
        settings.reverse = true;
        settings.waiting = Waiting::Polling;
        through(&pair, &settings, 30);
        if size >= 32 {
            settings.streams = 3;
            settings.batch_frames = 4;
            through(&pair, &settings, 30);
        }
    }
}

#[test]
fn ethernet_refuses_what_cannot_go() {
    let Some(pair) = Pair::new("refuse") else {
        return;
    };
    pair.enter(0);
    let place = |interface: Option<&str>| Place {
        local: IpAddr::from(ADDRESSES[0]),
        peer: IpAddr::from(ADDRESSES[1]),
        interface: interface.map(str::to_owned),
    };
    let refused = |settings: &RunSettings, interface| {
        let result = prepare(Role::Caller, settings, &place(interface));
        result.err().expect("refused").to_string()
    };
    let settings = RunSettings::new(Protocol::Ethernet, 1501);
    assert!(refused(&settings, Some("veth0")).contains("1500 B"));
    let mut settings = RunSettings::new(Protocol::Ethernet, 16);
    assert!(refused(&settings, Some("absent0")).contains("absent0"));
    assert!(refused(&settings, Some("far too long a name")).contains("far too long"));
    assert!(refused(&settings, None).contains("--interface"));
    settings.streams = 2;
    assert!(refused(&settings, Some("veth0")).contains("told apart"));
}

#[test]
fn ethernet_counts_overflow_and_ignores_another_run() {
    let Some(pair) = Pair::new("overflow") else {
        return;
    };
    let mut settings = RunSettings::new(Protocol::Ethernet, 1000);
    settings.receive_buffer_bytes = Some(4096);
    let (caller, responder) = both(&pair, &settings);
    let mut sender = caller
        .into_iter()
        .next()
        .expect("one")
        .into_sender()
        .expect("sender");
    let mut receiver = responder
        .into_iter()
        .next()
        .expect("one")
        .into_receiver()
        .expect("receiver");
    for seq in 0..100 {
        let mut other = stamped(0, seq, 1000);
        other[0] ^= 1;
        sender.send(&other).expect("send");
    }
    assert_eq!(
        receiver
            .receive(Duration::from_millis(50), |_, _| {})
            .expect("none"),
        0
    );
    assert_eq!(receiver.overflow(), Some(0));
    for seq in 0..100 {
        sender.send(&stamped(0, seq, 1000)).expect("send");
    }
    let mut came = 0;
    while let Ok(count @ 1..) = receiver.receive(Duration::ZERO, |_, _| {}) {
        came += count as u64;
    }
    assert!(came < 100);
    assert_eq!(receiver.overflow(), Some(100 - came));
    assert_eq!(receiver.overflow(), Some(100 - came));
}

#[test]
fn ethernet_waits_where_the_queue_of_the_interface_is_full() {
    let Some(pair) = Pair::new("queue") else {
        return;
    };
    pair.run_in(
        0,
        "tc qdisc add dev veth0 root tbf rate 20mbit burst 3000 limit 6000",
    );
    for batch in [1, 8] {
        let mut settings = RunSettings::new(Protocol::Ethernet, 1000);
        settings.batch_frames = batch;
        settings.receive_buffer_bytes = Some(4 << 20);
        through(&pair, &settings, 160);
    }
}

#[test]
fn ethernet_answers_questions() {
    let Some(pair) = Pair::new("answers") else {
        return;
    };
    let mut settings = RunSettings::new(Protocol::Ethernet, 200);
    settings.pattern = Pattern::Call;
    let (caller, responder) = both(&pair, &settings);
    let mut ask = caller
        .into_iter()
        .next()
        .expect("one")
        .into_duplex()
        .expect("duplex");
    let mut answer = responder
        .into_iter()
        .next()
        .expect("one")
        .into_duplex()
        .expect("duplex");
    for seq in 0..20 {
        ask.send(&stamped(0, seq, 200)).expect("ask");
        assert_eq!(take(&mut answer, 1).expect("asked"), [stamped(0, seq, 200)]);
        answer.send(&stamped(0, seq, 32)).expect("answer");
        assert_eq!(take(&mut ask, 1).expect("answered"), [stamped(0, seq, 32)]);
    }
}

#[test]
fn the_others_work_between_namespaces_too() {
    let Some(pair) = Pair::new("others") else {
        return;
    };
    for protocol in [Protocol::Tcp, Protocol::Udp, Protocol::Zeromq] {
        for reverse in [false, true] {
            for size in [64, 9000] {
                let mut settings = RunSettings::new(protocol, size);
                settings.streams = 2;
                settings.reverse = reverse;
                through(&pair, &settings, 10);
            }
        }
    }
}

#[test]
fn udp_frames_that_the_senders_queue_refuses_are_send_errors() {
    let Some(pair) = Pair::new("errors") else {
        return;
    };
    pair.run_in(
        0,
        "tc qdisc add dev veth0 root tbf rate 10mbit burst 2000 limit 5000",
    );
    let settings = RunSettings::new(Protocol::Udp, 1000);
    let (caller, responder) = both(&pair, &settings);
    let mut sender = caller
        .into_iter()
        .next()
        .expect("one")
        .into_sender()
        .expect("sender");
    let mut receiver = responder
        .into_iter()
        .next()
        .expect("one")
        .into_receiver()
        .expect("receiver");
    let sent = (0..100)
        .filter(|&seq| sender.send(&frame(seq, 1000)).expect("send"))
        .count();
    assert!(sent < 100, "the queue holds 5000 B");
    assert_eq!(take(&mut receiver, sent).expect("receive").len(), sent);
}
