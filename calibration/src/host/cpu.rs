//! CPU time per core and mode over a window, from /proc/stat, and of the data threads themselves.

mod sample;

pub use sample::{CoreCounters, CpuSample, ThreadUsage};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one core did, in shares of the window: all but rounding sums to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoreModes {
    /// Number of the core.
    pub core: usize,
    /// Programs, niced ones among them; guests not.
    pub user: f64,
    /// The kernel on behalf of programs.
    pub system: f64,
    /// Interrupts.
    pub irq: f64,
    /// Soft interrupts: most of the network stack's receiving side.
    pub softirq: f64,
    /// Taken by the hypervisor for others: neither busy nor idle.
    pub steal: f64,
    /// Virtual machines run by this host, niced ones among them.
    pub guest: f64,
    /// Nothing to do, or waiting for a disk.
    pub idle: f64,
    /// Interrupts of this core per second; absent where the kernel does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupts_per_s: Option<f64>,
    /// Soft interrupts of this core per second; absent where the kernel does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub softirqs_per_s: Option<f64>,
}

impl CoreModes {
    /// Everything that is work of this host: all but idle and steal.
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

/// The idle host before the traffic.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// How long it was watched.
    pub window_s: f64,
    /// What its cores did meanwhile.
    pub cores: Vec<CoreModes>,
}

/// What the host's CPUs did over a window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Length of the window between the two readings.
    pub window_s: f64,
    /// The kernel's unit of account: no time of a core is known more finely.
    pub tick_s: f64,
    /// Every core that was online at both ends of the window.
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
    /// Times the data threads waited of their own accord.
    pub voluntary_switches: u64,
    /// Times the data threads were preempted.
    pub involuntary_switches: u64,
    /// The idle host before the traffic; absent where it was not watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
}

impl Usage {
    /// The difference of two readings around a window, with the idle host before it and what the
    /// data threads themselves used inside the window.
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
    /// All modes but idle, waiting for disks and steal.
    pub cpu: f64,
    /// Programs, less the baseline and the pacing spin.
    pub user: f64,
    /// The kernel for programs, less the baseline.
    pub system: f64,
    /// Interrupts, less the baseline.
    pub irq: f64,
    /// Soft interrupts, less the baseline.
    pub softirq: f64,
    /// Taken by the hypervisor; as it was, no baseline taken off.
    pub steal: f64,
}

/// What the traffic cost on `cores`: busy time less the idle baseline and less `spin_cores` of
/// active waiting (user time, in cores), divided by the number of cores and clipped to 0…1. The
/// modes, guests among them, sum to the whole.
///
/// `None` where none of the cores was watched.
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

/// The modes as parts of their sum `cpu`, none below 0. A mode that took more of the idle host than
/// of the traffic's window (ticks are coarse) leaves too much to the others, who share what is wrong.
fn parts_of(cpu: f64, modes: [f64; 5]) -> [f64; 5] {
    let parts = modes.map(|mode| mode.max(0.0));
    let sum: f64 = parts.iter().sum();
    let scale = if sum > cpu { cpu / sum } else { 1.0 };
    parts.map(|part| part * scale)
}

#[cfg(test)]
mod tests;
