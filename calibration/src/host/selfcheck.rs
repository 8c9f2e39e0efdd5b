//! Self-check: limits of icprobe on this host. No result can be better.

use crate::clock::{self, NS_PER_S, now_ns, sleep_until};
use rustix::time::{ClockId, clock_getres};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::thread;
use std::time::Duration;

/// Size of the test datagrams, in bytes.
const DATAGRAM_BYTES: usize = 64;
/// Timeout for a datagram over loopback.
const PATIENCE: Duration = Duration::from_millis(20);

/// Limits of icprobe, measured on the calling thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Instrument {
    /// Clock resolution: smallest step between two different readings.
    pub clock_resolution_s: f64,
    /// Mean time of one clock reading.
    pub clock_read_s: f64,
    /// Median lateness of a sleep of 0.5 ms.
    pub sleep_error_p50_s: f64,
    /// Maximum lateness of these sleeps.
    pub sleep_error_max_s: f64,
    /// Maximum send rate of one thread: timestamped datagrams of 64 B per second over loopback, without a
    /// reader; absent without loopback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rate_fps: Option<f64>,
    /// Half of the median round trip of 64 B datagrams between two threads over loopback; absent
    /// without loopback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loopback_rtt_half_s: Option<f64>,
}

impl Instrument {
    /// Runs the self-check; `quick` takes less than 0.1 s, otherwise ten times the samples.
    ///
    /// Also sets the calling thread's timer slack to the minimum, as data threads do.
    pub fn measure(quick: bool) -> Self {
        let times = if quick { 1 } else { 10 };
        let (clock_resolution_s, clock_read_s) = clock_quality(5_000 * times);
        let (sleep_error_p50_s, sleep_error_max_s) = sleep_errors(20 * times);
        Self {
            clock_resolution_s,
            clock_read_s,
            sleep_error_p50_s,
            sleep_error_max_s,
            max_rate_fps: max_rate_fps(10_000_000 * times as u64).ok(),
            loopback_rtt_half_s: loopback_rtt_half_s(100 * times).ok(),
        }
    }
}

/// Smallest step and mean cost of a reading, in seconds.
fn clock_quality(readings: usize) -> (f64, f64) {
    let start = now_ns();
    let (mut last, mut step) = (start, u64::MAX);
    for _ in 0..readings {
        let now = now_ns();
        if now > last {
            step = step.min(now - last);
        }
        last = now;
    }
    // A measured step is never shorter than one clock reading. A resolution stated by the kernel
    // takes precedence, unless it is 1 ns.
    let stated = stated_resolution_ns();
    let step = if stated > 1 {
        stated
    } else {
        step.min(last - start)
    };
    let read_s = (last - start) as f64 * 1e-9 / readings as f64;
    (step as f64 * 1e-9, read_s)
}

fn stated_resolution_ns() -> u64 {
    let resolution = clock_getres(ClockId::Monotonic);
    resolution.tv_sec as u64 * NS_PER_S + resolution.tv_nsec as u64
}

/// Median and greatest lateness of short sleeps, in seconds.
fn sleep_errors(sleeps: usize) -> (f64, f64) {
    clock::tighten_timer_slack();
    let mut late: Vec<u64> = (0..sleeps)
        .map(|_| {
            let until = now_ns() + 500_000;
            sleep_until(until);
            now_ns() - until
        })
        .collect();
    late.sort_unstable();
    (median(&late) * 1e-9, late[sleeps - 1] as f64 * 1e-9)
}

fn median(sorted: &[u64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle] as f64
    } else {
        (sorted[middle - 1] + sorted[middle]) as f64 / 2.0
    }
}

/// Two sockets connected to each other over loopback.
fn pair() -> io::Result<(UdpSocket, UdpSocket)> {
    let socket = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let (one, other) = (socket()?, socket()?);
    one.connect(other.local_addr()?)?;
    other.connect(one.local_addr()?)?;
    one.set_read_timeout(Some(PATIENCE))?;
    other.set_read_timeout(Some(PATIENCE))?;
    Ok((one, other))
}

fn max_rate_fps(for_ns: u64) -> io::Result<f64> {
    let (sender, _nobody) = pair()?;
    let mut datagram = [0; DATAGRAM_BYTES];
    let start = now_ns();
    let (mut now, mut frames) = (start, 0_u64);
    while now - start < for_ns {
        datagram[..8].copy_from_slice(&now.to_le_bytes());
        sender.send(&datagram)?;
        frames += 1;
        now = now_ns();
    }
    Ok(frames as f64 / ((now - start) as f64 * 1e-9))
}

fn loopback_rtt_half_s(rounds: usize) -> io::Result<f64> {
    let (caller, responder) = pair()?;
    thread::scope(|scope| {
        scope.spawn(|| answer(&responder, rounds));
        let mut datagram = [0; DATAGRAM_BYTES];
        let mut round_trips = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let sent_ns = now_ns();
            caller.send(&datagram)?;
            caller.recv(&mut datagram)?;
            round_trips.push(now_ns() - sent_ns);
        }
        round_trips.sort_unstable();
        Ok(median(&round_trips) / 2.0 * 1e-9)
    })
}

/// Sends back `rounds` datagrams, or fewer if no more arrive.
fn answer(socket: &UdpSocket, rounds: usize) {
    let mut datagram = [0; DATAGRAM_BYTES];
    for _ in 0..rounds {
        let Ok(bytes) = socket.recv(&mut datagram) else {
            return;
        };
        if socket.send(&datagram[..bytes]).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_measures_itself_plausibly_and_quickly() {
        let start = now_ns();
        let i = Instrument::measure(true);
        let took_s = (now_ns() - start) as f64 * 1e-9;
        // 0.1 s on an idle host; tests share theirs.
        assert!(took_s < 5.0, "{took_s}");
        assert!(i.clock_resolution_s > 0.0 && i.clock_resolution_s < 0.02);
        assert!(i.clock_read_s > 0.0 && i.clock_read_s < 1e-4);
        assert!(i.sleep_error_p50_s >= 0.0 && i.sleep_error_p50_s <= i.sleep_error_max_s);
        assert!(i.max_rate_fps.is_none_or(|rate| rate > 1000.0));
        assert!(i.loopback_rtt_half_s.is_none_or(|s| s > 0.0 && s < 0.01));
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[1, 2, 9]), 2.0);
        assert_eq!(median(&[1, 2, 4, 9]), 3.0);
    }
}
