//! CPU time per core and mode over a window, from /proc/stat, and of the data threads themselves.

mod sample;

pub use sample::{CoreCounters, CpuSample, ThreadUsage};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// CPU modes of one core as fractions of the window; they sum to 1 up to rounding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoreModes {
    /// Number of the core.
    pub core: usize,
    /// User mode including niced programs, without guests.
    pub user: f64,
    /// System mode.
    pub system: f64,
    /// Hardware interrupts.
    pub irq: f64,
    /// Software interrupts: most of the network stack's receive processing.
    pub softirq: f64,
    /// Steal: taken by the hypervisor; neither busy nor idle.
    pub steal: f64,
    /// Guest: virtual machines run by this host, including niced ones.
    pub guest: f64,
    /// Idle or waiting for a disk.
    pub idle: f64,
    /// Interrupts of this core per second; absent if the kernel does not report them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupts_per_s: Option<f64>,
    /// Software interrupts of this core per second; absent if the kernel does not report them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub softirqs_per_s: Option<f64>,
}

impl CoreModes {
    /// Busy time: all modes except idle and steal.
    pub fn busy(&self) -> f64 {
        self.user + self.system + self.irq + self.softirq + self.guest
    }

    fn between(before: &CoreCounters, after: &CoreCounters, window_s: f64) -> Self {
        let ticks = after.less(before);
        let share = |value: u64| value as f64 / ticks.total().max(1) as f64;
        let rate = |new: Option<u64>, old: Option<u64>| match (new, old) {
            (Some(new), Some(old)) if window_s > 0.0 => {
                Some(new.saturating_sub(old) as f64 / window_s)
            }
            _ => None,
        };
        Self {
            core: after.core,
            user: share(ticks.user),
            system: share(ticks.system),
            irq: share(ticks.irq),
            softirq: share(ticks.softirq),
            steal: share(ticks.steal),
            guest: share(ticks.guest),
            idle: share(ticks.idle + ticks.iowait),
            interrupts_per_s: rate(after.interrupts, before.interrupts),
            softirqs_per_s: rate(after.softirqs, before.softirqs),
        }
    }
}

/// Idle baseline before the traffic.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Length of the baseline.
    pub window_s: f64,
    /// CPU modes of its cores in that time.
    pub cores: Vec<CoreModes>,
}

/// CPU usage of the host over a window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Length of the window between the two readings.
    pub window_s: f64,
    /// Length of the kernel's tick, the resolution of all core times.
    pub tick_s: f64,
    /// Cores that were online at both ends of the window.
    pub cores: Vec<CoreModes>,
    /// Interrupts of the whole host.
    pub interrupts_per_s: f64,
    /// Soft interrupts of the whole host.
    pub softirqs_per_s: f64,
    /// Context switches of the whole host.
    pub context_switches_per_s: f64,
    /// CPU time of this process (user and system), in cores.
    pub process_cores: f64,
    /// CPU time of the data threads alone, in cores.
    pub thread_cores: f64,
    /// Voluntary context switches of the data threads.
    pub voluntary_switches: u64,
    /// Involuntary context switches of the data threads (preemptions).
    pub involuntary_switches: u64,
    /// Idle baseline before the traffic; absent if not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
}

impl Usage {
    /// Computes the usage between two readings around a window. `baseline` holds two readings of
    /// the idle host before the traffic, and `threads` the usage of the data threads inside the
    /// window.
    pub fn between(
        before: &CpuSample,
        after: &CpuSample,
        baseline: Option<(&CpuSample, &CpuSample)>,
        threads: ThreadUsage,
    ) -> Self {
        let window_s = window_s(before, after);
        let rate = |new: u64, old: u64| {
            if window_s > 0.0 {
                new.saturating_sub(old) as f64 / window_s
            } else {
                0.0
            }
        };
        let share = |cpu_s: f64| {
            if window_s > 0.0 {
                cpu_s.max(0.0) / window_s
            } else {
                0.0
            }
        };
        Self {
            window_s,
            tick_s: after.tick_s,
            cores: cores_between(before, after),
            interrupts_per_s: rate(after.interrupts, before.interrupts),
            softirqs_per_s: rate(after.softirqs, before.softirqs),
            context_switches_per_s: rate(after.context_switches, before.context_switches),
            process_cores: share(after.process_cpu_s - before.process_cpu_s),
            thread_cores: share(threads.cpu_s),
            voluntary_switches: threads.voluntary,
            involuntary_switches: threads.involuntary,
            baseline: baseline.map(|(first, last)| Baseline {
                window_s: self::window_s(first, last),
                cores: cores_between(first, last),
            }),
        }
    }
}

fn window_s(before: &CpuSample, after: &CpuSample) -> f64 {
    after.at_ns.saturating_sub(before.at_ns) as f64 * 1e-9
}

fn cores_between(before: &CpuSample, after: &CpuSample) -> Vec<CoreModes> {
    let window_s = window_s(before, after);
    let pair = |new: &CoreCounters| {
        let old = before.cores.iter().find(|old| old.core == new.core)?;
        Some(CoreModes::between(old, new, window_s))
    };
    after.cores.iter().filter_map(pair).collect()
}

/// Utilisation of a stream's cores, 0…1 each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Utilisation {
    /// All modes except idle, waiting for disks and steal.
    pub cpu: f64,
    /// User mode, less the baseline and the pacing spin.
    pub user: f64,
    /// System mode, less the baseline.
    pub system: f64,
    /// Hardware interrupts, less the baseline.
    pub irq: f64,
    /// Software interrupts, less the baseline.
    pub softirq: f64,
    /// Steal, taken by the hypervisor; the baseline is not subtracted.
    pub steal: f64,
}

/// Utilisation of `cores` by the traffic: busy time less the idle baseline and less `spin_cores`,
/// divided by the number of cores and clipped to 0…1. `spin_cores` is the time of busy waiting
/// (user time, in cores). The modes, including guests, sum to the whole.
///
/// Returns `None` if none of the cores was measured.
pub fn utilisation(usage: &Usage, cores: &[usize], spin_cores: f64) -> Option<Utilisation> {
    let chosen = |all: &[CoreModes]| -> Vec<CoreModes> {
        let mine = |c: &&CoreModes| cores.contains(&c.core);
        all.iter().filter(mine).copied().collect()
    };
    let now = chosen(&usage.cores);
    if now.is_empty() {
        return None;
    }
    let idle = usage
        .baseline
        .as_ref()
        .map_or(Vec::new(), |b| chosen(&b.cores));
    let n = now.len() as f64;
    let mean = |all: &[CoreModes], mode: fn(&CoreModes) -> f64| -> f64 {
        all.iter().map(mode).sum::<f64>() / n
    };
    let net = |mode: fn(&CoreModes) -> f64| mean(&now, mode) - mean(&idle, mode);
    let share = |value: f64| value.clamp(0.0, 1.0);
    let spin = spin_cores / n;
    let cpu = share(net(CoreModes::busy) - spin);
    let [user, system, irq, softirq, _guest] = parts_of(
        cpu,
        [
            net(|c| c.user) - spin,
            net(|c| c.system),
            net(|c| c.irq),
            net(|c| c.softirq),
            net(|c| c.guest),
        ],
    );
    Some(Utilisation {
        cpu,
        user,
        system,
        irq,
        softirq,
        steal: share(mean(&now, |c| c.steal)),
    })
}

/// Clips negative modes to 0, and scales the others down if they sum to more than `cpu`. Ticks are
/// coarse, so a mode can take more time in the baseline than in the window, and be negative.
fn parts_of(cpu: f64, modes: [f64; 5]) -> [f64; 5] {
    let parts = modes.map(|mode| mode.max(0.0));
    let sum: f64 = parts.iter().sum();
    let scale = if sum > cpu { cpu / sum } else { 1.0 };
    parts.map(|part| part * scale)
}

#[cfg(test)]
mod tests;
