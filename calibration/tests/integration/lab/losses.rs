//! What is lost is what the rule dropped, exactly.

use super::standing::{Standing, skipped};
use std::fs::File;
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, RawFd};
use std::thread;
use std::time::Duration;

/// Frames that are sent before the sender looks whether the receiver has taken them: far fewer
/// than a socket's buffer holds, so that only the rule loses some, whoever is not let run.
const UNSEEN: u32 = 20;

/// Waits until a receiving socket holds nothing.
fn wait_until_empty(socket: RawFd) {
    let mut bytes: libc::c_int = 1;
    while bytes > 0 {
        thread::sleep(Duration::from_micros(500));
        // SAFETY: FIONREAD writes one int.
        let status = unsafe { libc::ioctl(socket, libc::FIONREAD, &raw mut bytes) };
        assert_eq!(status, 0);
    }
}

/// Sends datagrams and returns how many arrived.
pub fn exchange(lab: &Standing, count: u32, payload_bytes: usize) -> u64 {
    let (from, to) = (lab.address("A"), lab.address("B"));
    let (ready, is_ready) = std::sync::mpsc::channel();
    let receiver = lab.inside("B", move || {
        let socket = UdpSocket::bind((to, 9)).expect("a socket");
        socket
            .set_read_timeout(Some(Duration::from_millis(500)))
            .expect("set");
        ready.send(socket.as_raw_fd()).expect("told");
        let mut payload = vec![0; 65_536];
        (0..)
            .find(|_| socket.recv(&mut payload).is_err())
            .expect("an end")
    });
    let reads = is_ready.recv().expect("listens");
    let sender = lab.inside("A", move || {
        let socket = UdpSocket::bind((from, 0)).expect("a socket");
        for number in 0..count {
            socket
                .send_to(&vec![0; payload_bytes], (to, 9))
                .expect("sent");
            if number % UNSEEN == 0 {
                wait_until_empty(reads);
            }
        }
    });
    sender.join().expect("sent");
    receiver.join().expect("received")
}

fn dropped(lab: &Standing) -> u64 {
    lab.0.loss_counters().expect("counted")[0].dropped_packets
}

#[test]
fn lost_datagrams_are_those_the_rule_dropped() {
    if skipped() {
        return;
    }
    for (topology, every) in [
        ("loss-udp-10", 10),
        ("loss-udp-100", 100),
        ("loss-udp-1000", 1000),
    ] {
        let lab = Standing::of(topology);
        assert_eq!(exchange(&lab, 2005, 1000), 2005 - 2005 / every);
        assert_eq!(dropped(&lab), 2005 / every);
        assert_eq!(exchange(&lab, 100, 16), 100, "small packets pass");
        assert_eq!(dropped(&lab), 2005 / every, "and uncounted");
    }
    let lab = Standing::of("loss-udp-10");
    // Three fragments each: of 30 packets the 10th, 20th and 30th are those of three datagrams.
    assert_eq!(exchange(&lab, 1000, 4000), 1000 - 300);
    assert_eq!(dropped(&lab), 300);
}

fn raw_socket(interface: &str) -> (File, libc::sockaddr_ll) {
    use std::os::fd::FromRawFd;
    let name = std::ffi::CString::new(interface).expect("a name");
    // SAFETY: socket takes numbers only, the name ends with zero, zeros are a valid address, the
    // address is as long as it says, and the descriptor is owned by nobody else.
    unsafe {
        let protocol = 0x88b5u16.to_be();
        let socket = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, i32::from(protocol));
        assert!(socket >= 0);
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol;
        address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
        let bound = libc::bind(
            socket,
            (&raw const address).cast(),
            size_of_val(&address) as u32,
        );
        assert_eq!(bound, 0);
        (File::from_raw_fd(socket), address)
    }
}

#[test]
fn lost_ethernet_frames_are_those_the_rule_dropped() {
    if skipped() {
        return;
    }
    for (topology, every) in [("loss-ethernet-10", 10), ("loss-ethernet-1000", 1000)] {
        let lab = Standing::of(topology);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let receiver = lab.inside("B", move || {
            let (mut socket, _) = raw_socket("to-A");
            ready.send(socket.as_raw_fd()).expect("told");
            let mut wait = libc::pollfd {
                fd: socket.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            let mut count = 0u64;
            // SAFETY: one descriptor.
            while unsafe { libc::poll(&raw mut wait, 1, 500) } == 1 {
                count += u64::from(socket.read(&mut [0; 2048]).is_ok());
            }
            count
        });
        let reads = is_ready.recv().expect("listens");
        let sender = lab.inside("A", move || {
            let (mut socket, _) = raw_socket("to-B");
            let mut frame = [0u8; 114];
            frame[..6].copy_from_slice(&[2, 0, 0, 0, 1, 2]);
            frame[6..14].copy_from_slice(&[2, 0, 0, 0, 1, 1, 0x88, 0xb5]);
            for number in 0..2005 {
                socket.write_all(&frame).expect("sent");
                if number % UNSEEN == 0 {
                    wait_until_empty(reads);
                }
            }
        });
        sender.join().expect("sent");
        assert_eq!(receiver.join().expect("received"), 2005 - 2005 / every);
        assert_eq!(dropped(&lab), 2005 / every);
    }
}
