//! CPU of both ends: utilisation of the used cores, and time of their own threads.

use super::{Ends, RunResult};
use crate::host::cpu::utilisation;
use crate::report::EndReport;
use crate::settings::{Protocol, RunSettings};

/// Adds CPU to `result`: core utilisation if the ends use separate cores, thread time always.
///
/// A window shorter than the kernel's tick gives no core utilisation.
pub(super) fn add(result: &mut RunResult, settings: &RunSettings, ends: &Ends<EndReport>) {
    let (send_spin, recv_spin) = (spin_cores(&ends.send), spin_cores(&ends.recv));
    result.cpu_send_process_cores = own_cores(settings, &ends.send, send_spin);
    result.cpu_recv_process_cores = own_cores(settings, &ends.recv, recv_spin);
    let ends_share = share_cores(ends);
    let short = |end: &EndReport| end.usage.window_s < end.usage.tick_s;
    if ends_share || short(&ends.send) || short(&ends.recv) {
        return;
    }
    result.cpu_quantum = Some(quantum(&ends.send).max(quantum(&ends.recv)));
    if let Some(send) = utilisation(&ends.send.usage, &ends.send.cores, send_spin) {
        result.cpu_send = Some(send.cpu);
        result.cpu_send_user = Some(send.user);
        result.cpu_send_system = Some(send.system);
        result.cpu_send_irq = Some(send.irq);
        result.cpu_send_softirq = Some(send.softirq);
        result.cpu_send_steal = Some(send.steal);
    }
    if let Some(recv) = utilisation(&ends.recv.usage, &ends.recv.cores, recv_spin) {
        result.cpu_recv = Some(recv.cpu);
        result.cpu_recv_user = Some(recv.user);
        result.cpu_recv_system = Some(recv.system);
        result.cpu_recv_irq = Some(recv.irq);
        result.cpu_recv_softirq = Some(recv.softirq);
        result.cpu_recv_steal = Some(recv.steal);
    }
    if !ends.same_host() {
        result.cpu_send_cores = busy_cores(&ends.send, send_spin);
        result.cpu_recv_cores = busy_cores(&ends.recv, recv_spin);
    }
}

/// Whether both ends had data threads on the same core.
pub(super) fn share_cores(ends: &Ends<EndReport>) -> bool {
    let shared = |core: &usize| ends.recv.cores.contains(core);
    ends.same_host() && ends.send.cores.iter().any(shared)
}

/// Cores kept busy by the run's own threads. For ZeroMQ, which uses threads of the library, the whole process
/// counts.
fn own_cores(settings: &RunSettings, end: &EndReport, spin_cores: f64) -> Option<f64> {
    let cores = match settings.protocol {
        Protocol::Zeromq => end.usage.process_cores,
        _ => end.usage.thread_cores,
    };
    (end.usage.window_s > 0.0).then(|| (cores - spin_cores).max(0.0))
}

/// One tick of one core, as utilisation of all cores of an end.
fn quantum(end: &EndReport) -> f64 {
    end.usage.tick_s / end.usage.window_s / end.cores.len().max(1) as f64
}

/// Busy cores of a whole host, less idle baseline and pacing spin.
fn busy_cores(end: &EndReport, spin_cores: f64) -> Option<f64> {
    let all: Vec<usize> = end.usage.cores.iter().map(|core| core.core).collect();
    let of_all = utilisation(&end.usage, &all, spin_cores)?;
    Some(of_all.cpu * all.len() as f64)
}

fn spin_cores(end: &EndReport) -> f64 {
    let paced = end.sent.as_ref().and_then(|sent| sent.pacing.as_ref());
    let asked = end.round_trips.as_ref().map(|asked| asked.spin_cores);
    paced
        .map(|pacing| pacing.spin_cores)
        .or(asked)
        .unwrap_or(0.0)
}

#[cfg(test)]
mod tests;
