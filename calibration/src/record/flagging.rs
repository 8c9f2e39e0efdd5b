//! Decides which flags apply to a run.

use super::cpu::share_cores;
use super::{ClockReport, Ends, RunResult};
use crate::flags;
use crate::report::EndReport;

/// Involuntary context switches a second and thread beyond which a run counts as preempted.
const PREEMPTED_PER_S: f64 = 10.0;
/// Fraction of a core's time that the hypervisor may take without a flag.
const STEAL_SHARE: f64 = 0.01;
/// Fraction of a core that other processes may use during the idle baseline without a flag.
const BUSY_SHARE: f64 = 0.1;
/// Relative error of a paced sender's rate without a flag.
const RATE_SHARE: f64 = 1e-3;
/// Fraction of time in send calls above which a sender counts as saturated.
const SENDING_SHARE: f64 = 0.9;

/// Flags reported by the ends and derived from their numbers, in alphabetical order.
pub(super) fn flags(
    ends: &Ends<EndReport>,
    result: &RunResult,
    clock: &ClockReport,
) -> Vec<String> {
    let received = ends.recv.received.as_ref();
    let latency = received.and_then(|r| r.latency.as_ref());
    let steady = received.and_then(|r| r.steady.as_ref());
    let either = |is: fn(&EndReport) -> bool| is(&ends.send) || is(&ends.recv);
    let bound = |mean_s: f64| clock.bound_s.is_some_and(|bound_s| bound_s > mean_s / 2.0);
    let derived = [
        (share_cores(ends), flags::SHARED_CORES),
        (either(preempted), flags::PREEMPTED),
        (
            result.stalls.is_some_and(|stalls| stalls > 0),
            flags::STALLED,
        ),
        (either(stolen), flags::STEAL),
        (
            received.is_some_and(|r| r.negative_latencies > 0),
            flags::NEGATIVE_LATENCY,
        ),
        (latency.is_some_and(|l| bound(l.mean_s)), flags::CLOCK_BOUND),
        (steady.is_some_and(|s| !s.detected), flags::NO_STEADY_STATE),
        (pacing_error(&ends.send), flags::PACING_ERROR),
        (either(busy), flags::BUSY_HOST),
        (foreign(&ends.recv), flags::FOREIGN_FRAMES),
        (result.window_s.is_none(), flags::INCOMPLETE),
    ];
    let derived = derived
        .iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, flag)| (*flag).to_owned());
    let said = ends.send.flags.iter().chain(&ends.recv.flags).cloned();
    let mut all: Vec<String> = derived.chain(said).collect();
    all.sort();
    all.dedup();
    all
}

fn preempted(end: &EndReport) -> bool {
    let threads = end.cores.len().max(1) as f64;
    let most = (PREEMPTED_PER_S * end.usage.window_s * threads).max(1.0);
    end.usage.involuntary_switches as f64 > most
}

fn stolen(end: &EndReport) -> bool {
    let used = end
        .usage
        .cores
        .iter()
        .filter(|core| end.cores.contains(&core.core));
    used.into_iter().any(|core| core.steal > STEAL_SHARE)
}

fn busy(end: &EndReport) -> bool {
    let idle = end
        .usage
        .baseline
        .iter()
        .flat_map(|baseline| &baseline.cores);
    let mut used = idle.filter(|core| end.cores.contains(&core.core));
    used.any(|core| core.busy() > BUSY_SHARE)
}

/// Whether the sender missed its rate without being saturated.
fn pacing_error(end: &EndReport) -> bool {
    let Some(pacing) = end.sent.as_ref().and_then(|sent| sent.pacing.as_ref()) else {
        return false;
    };
    let missed = |fps: f64| (fps / pacing.asked_fps - 1.0).abs() > RATE_SHARE;
    let too_slow = pacing.sending_cores > SENDING_SHARE * end.cores.len().max(1) as f64;
    pacing.achieved_fps.is_some_and(missed) && !too_slow
}

fn foreign(end: &EndReport) -> bool {
    let received = end.received.as_ref();
    received.is_some_and(|received| received.foreign * 1000 > received.run_frames)
}

#[cfg(test)]
mod tests;
