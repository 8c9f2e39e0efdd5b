//! Both ends of a run's connections, established in two threads.

use icprobe::error::Result;
use icprobe::settings::{Role, RunSettings};
use icprobe::transport::{Connection, FrameReceiver, Place, Prepared, Token, prepare};
use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

pub const TOKEN: Token = *b"0123456789abcdef";
pub const TAG: u32 = 0x1234_5678;
pub const DEADLINE: Duration = Duration::from_secs(5);
pub const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

pub fn place(local: IpAddr, peer: IpAddr) -> Place {
    Place {
        local,
        peer,
        interface: Some("lo".into()),
    }
}

/// Establishes both prepared ends; caller first.
pub fn join(
    caller: Prepared,
    responder: Prepared,
) -> (Result<Vec<Connection>>, Result<Vec<Connection>>) {
    let (from_caller, from_responder) = (caller.announce().clone(), responder.announce().clone());
    std::thread::scope(|scope| {
        let responder =
            scope.spawn(move || responder.establish(&from_caller, &TOKEN, TAG, DEADLINE));
        let caller = caller.establish(&from_responder, &TOKEN, TAG, DEADLINE);
        (caller, responder.join().expect("the responder panicked"))
    })
}

/// Both ends over loopback; caller first.
pub fn pair(settings: &RunSettings) -> (Vec<Connection>, Vec<Connection>) {
    let here = place(LOOPBACK, LOOPBACK);
    let caller = prepare(Role::Caller, settings, &here).expect("caller");
    let responder = prepare(Role::Responder, settings, &here).expect("responder");
    let (caller, responder) = join(caller, responder);
    (caller.expect("caller"), responder.expect("responder"))
}

/// Receives until `count` frames came or five seconds passed.
pub fn take(receiver: &mut impl FrameReceiver, count: usize) -> io::Result<Vec<Vec<u8>>> {
    let until = Instant::now() + DEADLINE;
    let mut frames = Vec::new();
    while frames.len() < count && Instant::now() < until {
        receiver.receive(Duration::from_millis(100), |_, frame| {
            frames.push(frame.to_vec());
        })?;
    }
    Ok(frames)
}

/// Frame number `seq` of `size` bytes, different from any other.
pub fn frame(seq: usize, size: usize) -> Vec<u8> {
    (0..size).map(|at| (seq * 31 + at) as u8).collect()
}
