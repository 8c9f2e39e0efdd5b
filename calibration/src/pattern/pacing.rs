//! Schedule of a paced stream: due times of frames, and waiting for them.

use super::Pauses;
use crate::clock;

/// Longest gap between two clock readings that counts as busy waiting. In longer gaps something else ran on
/// the core: interrupts, other processes, the hypervisor.
const SPIN_STEP_MAX_NS: u64 = 2_000;
/// A pause longer than this is a stall.
pub const STALL_NS: u64 = 1_000_000;
/// Waits longer than this sleep first and look at the clock only towards the end.
const SLEEP_MARGIN_NS: u64 = 250_000;
/// Maximum length of a sleep, so that a stream reacts to the stop flag.
const SLEEP_MAX_NS: u64 = 50_000_000;

/// Due times on an absolute grid, so that a late frame does not move the ones after it.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    start_ns: u64,
    period_ns: f64,
}

impl Schedule {
    /// Schedule of one of `streams` streams that share `rate_fps`, staggered evenly over the period.
    pub fn of(start_ns: u64, rate_fps: f64, streams: u16, stream: u16) -> Self {
        let period_ns = 1e9 * f64::from(streams) / rate_fps;
        let behind = period_ns * f64::from(stream) / f64::from(streams);
        Self {
            start_ns: start_ns + behind as u64,
            period_ns,
        }
    }

    /// Due time of frame `number`, in ns.
    #[inline]
    pub fn due_ns(&self, number: u64) -> u64 {
        self.start_ns + (number as f64 * self.period_ns) as u64
    }
}

/// Time of busy waiting, and stalls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waited {
    /// Time spent looking at the clock, in ns.
    pub spin_ns: u64,
    /// Pauses longer than a millisecond.
    pub pauses: Pauses,
}

impl Waited {
    /// Waits until `due_ns`, or until `stopped` returns true between two sleeps. Returns the time,
    /// which is past `due_ns` if the stream is late.
    #[inline]
    pub fn until(&mut self, due_ns: u64, mut now: u64, stopped: impl Fn() -> bool) -> u64 {
        while due_ns > now + SLEEP_MARGIN_NS {
            if stopped() {
                return now;
            }
            now = self.sleep((due_ns - SLEEP_MARGIN_NS).min(now + SLEEP_MAX_NS));
        }
        while now < due_ns {
            std::hint::spin_loop();
            let next = clock::now_ns();
            let step = next - now;
            if step <= SPIN_STEP_MAX_NS {
                self.spin_ns += step;
            } else {
                self.pause(step);
            }
            now = next;
        }
        now
    }

    fn sleep(&mut self, until_ns: u64) -> u64 {
        clock::sleep_until(until_ns);
        let now = clock::now_ns();
        self.pause(now.saturating_sub(until_ns));
        now
    }

    fn pause(&mut self, pause_ns: u64) {
        if pause_ns > STALL_NS {
            self.pauses = self.pauses.and(Pauses::one(pause_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_share_a_rate_evenly() {
        let due: Vec<u64> = (0..4)
            .flat_map(|stream| (0..3).map(move |n| Schedule::of(1000, 1e6, 4, stream).due_ns(n)))
            .collect();
        let mut sorted = due.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..12).map(|n| 1000 + 1000 * n).collect::<Vec<_>>());
    }

    #[test]
    fn a_long_schedule_does_not_drift() {
        let schedule = Schedule::of(0, 3.0, 1, 0);
        assert_eq!(schedule.due_ns(3_000_000_000), 1_000_000_000_000_000_000);
    }

    #[test]
    fn waiting_ends_at_the_due_time() {
        let mut waited = Waited::default();
        let start = clock::now_ns();
        let due = start + 3_000_000;
        let now = waited.until(due, start, || false);
        assert!(now >= due);
        assert!(waited.spin_ns <= now - start);
    }

    #[test]
    fn a_late_frame_does_not_wait() {
        let mut waited = Waited::default();
        let now = clock::now_ns();
        assert_eq!(waited.until(now - 5, now, || false), now);
        assert_eq!(waited, Waited::default());
    }
}
