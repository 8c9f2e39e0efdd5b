//! One reading of the kernel's CPU counters.

use crate::clock::{now_ns, process_cpu_ns, thread_cpu_ns};
use crate::error::{Context, Error, Result};
use std::fs;
use std::ops::{Add, Sub};
use std::path::Path;

/// CPU modes of one core since boot, in ticks; each tick counts in exactly one mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CoreCounters {
    /// Number of the core.
    pub core: usize,
    /// User mode including niced programs, without guests.
    pub user: u64,
    /// System mode.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Idle while waiting for a disk (iowait).
    pub iowait: u64,
    /// Interrupts.
    pub irq: u64,
    /// Software interrupts.
    pub softirq: u64,
    /// Steal, taken by the hypervisor.
    pub steal: u64,
    /// Guests and niced guests.
    pub guest: u64,
    /// Interrupts handled; `None` if /proc/interrupts does not list them.
    pub interrupts: Option<u64>,
    /// Software interrupts handled; `None` if /proc/softirqs does not list them.
    pub softirqs: Option<u64>,
}

impl CoreCounters {
    /// Parses a `cpuN …` line of /proc/stat (proc_stat(5)): user nice system idle iowait irq
    /// softirq steal guest guest_nice. The kernel counts guests in user and nice as well; they are
    /// subtracted there.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let core = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        let mut ticks = [0_u64; 10];
        for (tick, word) in ticks.iter_mut().zip(words) {
            *tick = word.parse().ok()?;
        }
        let [
            user,
            nice,
            system,
            idle,
            iowait,
            irq,
            softirq,
            steal,
            guest,
            guest_nice,
        ] = ticks;
        Some(Self {
            core,
            user: user.saturating_sub(guest) + nice.saturating_sub(guest_nice),
            system,
            idle,
            iowait,
            irq,
            softirq,
            steal,
            guest: guest + guest_nice,
            interrupts: None,
            softirqs: None,
        })
    }

    /// Difference to `before`; a counter that decreased (idle may) counts as unchanged.
    pub(super) fn less(&self, before: &Self) -> Self {
        Self {
            core: self.core,
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
            idle: self.idle.saturating_sub(before.idle),
            iowait: self.iowait.saturating_sub(before.iowait),
            irq: self.irq.saturating_sub(before.irq),
            softirq: self.softirq.saturating_sub(before.softirq),
            steal: self.steal.saturating_sub(before.steal),
            guest: self.guest.saturating_sub(before.guest),
            interrupts: None,
            softirqs: None,
        }
    }

    /// Sum of all modes, in ticks.
    pub(super) fn total(&self) -> u64 {
        let busy = self.user + self.system + self.irq + self.softirq + self.guest;
        busy + self.idle + self.iowait + self.steal
    }
}

/// One reading of all cores' counters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CpuSample {
    /// Time of the reading, from [`now_ns`].
    pub at_ns: u64,
    /// Length of a tick.
    pub tick_s: f64,
    /// Every core that is online.
    pub cores: Vec<CoreCounters>,
    /// Interrupts of the host since boot.
    pub interrupts: u64,
    /// Soft interrupts of the host since boot.
    pub softirqs: u64,
    /// Context switches of the host since boot.
    pub context_switches: u64,
    /// CPU time of this process so far.
    pub process_cpu_s: f64,
}

impl CpuSample {
    /// Reads the counters below `root` (`/` for the live system).
    ///
    /// Fails if /proc/stat cannot be read or names no core.
    pub fn read(root: &Path) -> Result<Self> {
        let process_cpu_s = process_cpu_ns() as f64 * 1e-9;
        let before_ns = now_ns();
        let stat = fs::read_to_string(root.join("proc/stat")).or_peer("cannot read /proc/stat")?;
        let at_ns = before_ns + (now_ns() - before_ns) / 2;
        let mut sample = Self::parse(&stat)?;
        sample.at_ns = at_ns;
        sample.process_cpu_s = process_cpu_s;
        let table = |name: &str| fs::read_to_string(root.join("proc").join(name)).ok();
        let interrupts = table("interrupts").map(|text| column_sums(&text));
        let softirqs = table("softirqs").map(|text| column_sums(&text));
        for core in &mut sample.cores {
            let sum = |sums: &Option<Vec<(usize, u64)>>| {
                let mine = sums.as_ref()?.iter().find(|(n, _)| *n == core.core)?;
                Some(mine.1)
            };
            (core.interrupts, core.softirqs) = (sum(&interrupts), sum(&softirqs));
        }
        Ok(sample)
    }

    fn parse(stat: &str) -> Result<Self> {
        let first_number = |name: &str| {
            let line = stat.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_ascii_whitespace().next()?.parse().ok()
        };
        let cores: Vec<_> = stat.lines().filter_map(CoreCounters::parse).collect();
        if cores.is_empty() {
            return Err(Error::peer(
                "/proc/stat names no core: CPU load cannot be measured here",
            ));
        }
        Ok(Self {
            tick_s: tick_s(),
            cores,
            interrupts: first_number("intr ").unwrap_or(0),
            softirqs: first_number("softirq ").unwrap_or(0),
            context_switches: first_number("ctxt ").unwrap_or(0),
            ..Self::default()
        })
    }
}

/// Sums each column of a table with the heading `CPU0 CPU1 …` and a row of counts per source;
/// returns pairs (core, sum). Rows with fewer numbers than cores (ERR, MIS) are skipped.
fn column_sums(table: &str) -> Vec<(usize, u64)> {
    let mut lines = table.lines();
    let head = lines.next().unwrap_or("").split_ascii_whitespace();
    let mut sums: Vec<(usize, u64)> = head
        .filter_map(|word| Some((word.strip_prefix("CPU")?.parse().ok()?, 0)))
        .collect();
    for line in lines {
        let counts: Vec<u64> = line
            .split_ascii_whitespace()
            .skip(1)
            .map_while(|word| word.parse().ok())
            .take(sums.len())
            .collect();
        if counts.len() == sums.len() {
            sums.iter_mut().zip(counts).for_each(|(sum, n)| sum.1 += n);
        }
    }
    sums
}

/// Length of the ticks of /proc/stat: 1 / USER_HZ.
fn tick_s() -> f64 {
    1.0 / rustix::param::clock_ticks_per_second() as f64
}

/// CPU usage of one or several threads.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ThreadUsage {
    /// CPU time, user and system.
    pub cpu_s: f64,
    /// Voluntary context switches.
    pub voluntary: u64,
    /// Involuntary context switches (preemptions).
    pub involuntary: u64,
}

impl ThreadUsage {
    /// Returns the usage of the calling thread since its start (getrusage(2), RUSAGE_THREAD). The
    /// CPU time is read from the thread's own clock.
    pub fn here() -> Self {
        // SAFETY: a rusage is plain numbers, for which zero is a value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is a valid rusage to write to; RUSAGE_THREAD concerns the caller.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
        Self {
            cpu_s: thread_cpu_ns() as f64 * 1e-9,
            voluntary: u64::try_from(usage.ru_nvcsw).unwrap_or(0),
            involuntary: u64::try_from(usage.ru_nivcsw).unwrap_or(0),
        }
    }
}

impl Sub for ThreadUsage {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            cpu_s: self.cpu_s - before.cpu_s,
            voluntary: self.voluntary.saturating_sub(before.voluntary),
            involuntary: self.involuntary.saturating_sub(before.involuntary),
        }
    }
}

impl Add for ThreadUsage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            cpu_s: self.cpu_s + other.cpu_s,
            voluntary: self.voluntary + other.voluntary,
            involuntary: self.involuntary + other.involuntary,
        }
    }
}

impl std::iter::Sum for ThreadUsage {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}
