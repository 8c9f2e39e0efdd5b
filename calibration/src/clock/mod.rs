//! The measurement clock, CLOCK_MONOTONIC, and whether both ends share it.

pub mod fit;

use rustix::io::Errno;
use rustix::thread::{ClockId, Timespec, clock_nanosleep_absolute, set_current_timer_slack};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fs;
use std::num::NonZeroU64;
use std::os::unix::fs::MetadataExt;

/// Nanoseconds in a second.
pub const NS_PER_S: u64 = 1_000_000_000;

/// The time now, in nanoseconds of CLOCK_MONOTONIC; read without a system call where the vDSO can.
#[inline]
pub fn now_ns() -> u64 {
    read_ns(libc::CLOCK_MONOTONIC)
}

/// CPU time the calling thread has used so far, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    read_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time all threads of this process have used so far, in nanoseconds.
pub fn process_cpu_ns() -> u64 {
    read_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

#[inline]
fn read_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec to write to; Linux has all three clocks asked for here,
    // so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64
}

/// Sleeps until [`now_ns`] reaches `ns`; returns immediately if that time has passed.
pub fn sleep_until(ns: u64) {
    let until = Timespec {
        tv_sec: (ns / NS_PER_S) as i64,
        tv_nsec: (ns % NS_PER_S) as i64,
    };
    while clock_nanosleep_absolute(ClockId::Monotonic, &until) == Err(Errno::INTR) {}
}

/// Reduces the timer slack of the calling thread from 50 µs to 1 ns.
pub fn tighten_timer_slack() {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// Identity of the clock of one end.
///
/// Two processes read the same CLOCK_MONOTONIC when they run under the same kernel since the same
/// boot and in the same time namespace (time_namespaces(7)); only then is no offset to be fitted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Random identifier of the kernel's boot; empty if it cannot be read.
    pub boot_id: String,
    /// Inode of the time namespace; 0 if the kernel has none.
    pub time_namespace: u64,
    /// Clock source of the kernel (tsc, hpet, kvm-clock …).
    pub clock_source: String,
}

impl Identity {
    /// The clock of this process.
    pub fn here() -> Self {
        let text = |path: &str| {
            fs::read_to_string(path)
                .map(|t| t.trim().to_owned())
                .unwrap_or_default()
        };
        Self {
            boot_id: text("/proc/sys/kernel/random/boot_id"),
            time_namespace: fs::metadata("/proc/self/ns/time").map_or(0, |m| m.ino()),
            clock_source: text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        }
    }

    /// Whether both ends run on one host; false if a boot identifier is unknown.
    pub fn same_host(&self, other: &Self) -> bool {
        !self.boot_id.is_empty() && self.boot_id == other.boot_id
    }

    /// Whether both ends read the same clock; false if a boot identifier is unknown.
    ///
    /// Virtual machines resumed from one snapshot may share a boot id without sharing a clock;
    /// [`fit::one_clock`] tells them apart.
    pub fn same_clock(&self, other: &Self) -> bool {
        self.same_host(other) && self.time_namespace == other.time_namespace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_does_not_go_back() {
        let mut last = now_ns();
        for _ in 0..10_000 {
            let now = now_ns();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn a_sleep_ends_after_its_time() {
        tighten_timer_slack();
        let until = now_ns() + 2_000_000;
        sleep_until(until);
        assert!(now_ns() >= until);
    }

    #[test]
    fn a_sleep_into_the_past_returns() {
        let before = now_ns();
        sleep_until(0);
        assert!(now_ns() - before < NS_PER_S);
    }

    #[test]
    fn cpu_time_grows_with_work_and_not_with_sleep() {
        let (thread, process) = (thread_cpu_ns(), process_cpu_ns());
        let end = now_ns() + 5_000_000;
        while now_ns() < end {}
        assert!(thread_cpu_ns() > thread);
        assert!(process_cpu_ns() > process);
        let before = thread_cpu_ns();
        sleep_until(now_ns() + 30_000_000);
        assert!(thread_cpu_ns() - before < 20_000_000);
    }

    #[test]
    fn this_process_shares_its_clock_with_itself() {
        let here = Identity::here();
        assert_eq!(here.boot_id.len(), 36);
        assert!(here.same_clock(&Identity::here()));
    }

    #[test]
    fn another_boot_or_namespace_is_another_clock() {
        let here = Identity::here();
        let mut other = here.clone();
        other.time_namespace += 1;
        assert!(!here.same_clock(&other));
        let mut other = here.clone();
        other.boot_id = "00000000-0000-0000-0000-000000000000".into();
        assert!(!here.same_clock(&other));
        assert!(!Identity::default().same_clock(&Identity::default()));
    }

    #[test]
    fn hosts_without_a_boot_identifier_are_not_taken_for_one() {
        assert!(Identity::here().same_host(&Identity::here()));
        assert!(!Identity::default().same_host(&Identity::default()));
    }
}
