"""Flags that icprobe sets on a run, and the metrics that each flag makes unusable (spoils).

Some flags mean that a metric is wrong, or is not the quantity that its name states. Such metrics are left out. Other
flags mean that the hosts were disturbed. Such runs are used. Leaving them out would select runs by their results. It
would also understate the spread of a new run on these hosts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

EVERY = ("",)
"""Prefixes that match every metric."""
CPU = ("cpu_send", "cpu_recv")
LATENCIES = ("latency_",)
BESIDE = "overlapping"
"""Flag of a run whose responder served two runs at once."""
BESIDE_ON_PURPOSE = ("cpu_recv", "packets_received")
"""Metrics that the flag ``overlapping`` spoils if the plan itself has other streams to the same interface."""
BUSY = "busy-host"
"""Flag of a run whose sending or receiving host was busy before the run; it does not state which host."""
THROUGH = ("goodput_bps", "loss_rate")
"""Metrics of a run that stay usable if other streams were sent from the sender's own cores."""

_FLAGS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "incomplete": (EVERY, "the window is empty or cut short"),
    "overlapping": (EVERY, "another run went on at the same responder"),
    "shared-cores": (EVERY, "the ends worked on the same cores, so they are not two hosts"),
    "pacing-error": (EVERY, "the load that the point names was not offered"),
    "no-realtime": (EVERY, "the run did not have the priority that its point names"),
    "negative-latency": (LATENCIES, "the clocks do not fit"),
    "clocks-unknown": (LATENCIES, "the clocks could not be brought together"),
    "clock-bound": (LATENCIES, "the clocks may be wrong by more than half the latency"),
    "latency-truncated": (LATENCIES, "only the first frames were timed"),
    "no-steady-state": (
        LATENCIES,
        "the latency had not settled, so its mean depends on the window's length",
    ),
    "unsteered": (CPU, "the CPU of the two ends is mixed"),
    "foreign-frames": ((*CPU, "packets_"), "frames of others were received and worked on"),
    "busy-host": ((), "the hosts had other work, whose mean is taken off the CPU values"),
    "preempted": ((), "a data thread lost its core to other work"),
    "stalled": ((), "the machine stood still for a while"),
    "steal": ((), "the hypervisor took time from a core"),
}
SPOILS = {flag: prefixes for flag, (prefixes, _) in _FLAGS.items()}
"""Prefixes of the metrics that each flag makes unusable; empty for a flag that only reports a disturbed host."""
WHY = {flag: why for flag, (_, why) in _FLAGS.items()}
"""Explanation of each flag of a run, by flag: what disturbed the run or its measurement."""

PROCESS_CPU = ("cpu_send_process_cores", "cpu_recv_process_cores")
"""Metrics of the CPU time of the process alone, which other work on the same cores does not change."""
SPARE_PROCESS_CPU = ("shared-cores", "unsteered", "foreign-frames")
"""Flags that spoil CPU metrics, but not the CPU time of the process alone (`PROCESS_CPU`)."""


def spoilt_by(flag: str, metric: str, *, others: bool = False, same_cores: bool = False) -> bool:
    """Whether a flag of a run makes a metric unusable; an unknown flag makes every metric unusable.

    Parameters
    ----------
    flag, metric : str
        Names of the flag and the metric.
    others : bool
        Whether the point has other streams to the same interface.
    same_cores : bool
        Whether these other streams are sent from the sender's own cores.
    """
    if same_cores and flag == BUSY:
        return metric not in THROUGH
    prefixes = BESIDE_ON_PURPOSE if others and flag == BESIDE else SPOILS.get(flag, EVERY)
    spared = metric in PROCESS_CPU and flag in SPARE_PROCESS_CPU
    return metric.startswith(prefixes) and not spared


def spoilers(
    flags: Sequence[str],
    metric: str,
    tolerate: Sequence[str],
    refuse: Sequence[str],
    *,
    others: bool = False,
    same_cores: bool = False,
) -> tuple[str, ...]:
    """Find the flags because of which a metric of a run is left out.

    Parameters
    ----------
    flags : sequence of str
        The run's flags.
    metric : str
        Name of the metric.
    tolerate : sequence of str
        Flags to ignore.
    refuse : sequence of str
        Flags that spoil every metric.
    others : bool
        Whether the point has other streams to the same interface.
    same_cores : bool
        Whether these other streams are sent from the sender's own cores.
    """

    def spoils(flag: str) -> bool:
        return spoilt_by(flag, metric, others=others, same_cores=same_cores)

    return tuple(
        flag for flag in flags if flag in refuse or (flag not in tolerate and spoils(flag))
    )
