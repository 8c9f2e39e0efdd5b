"""What a flag of a run does to each of its metrics.

A flag of one kind says that a number is wrong, or is another quantity than its name: the metrics it
spoils are left out. A flag of the other kind says that the hosts were disturbed: such runs stay,
since leaving them out would choose runs by their results and make the tail look better than it is;
what a model predicts is one more run on these hosts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from icmodel.errors import RecordError

EVERY = ("",)
"""A prefix of every metric."""
CPU = ("cpu_send", "cpu_recv")
LATENCIES = ("latency_",)
BESIDE = "overlapping"
"""The flag of a responder that answered two runs at once."""
BESIDE_ON_PURPOSE = ("cpu_recv", "packets_received")
"""What it spoils where the plan itself lets others send to the same interface."""
BUSY = "busy-host"
"""The flag of an end that was busy before the run; it does not say which end."""
THROUGH = ("goodput_bps", "loss_rate")
"""What is left where others sent from the sender's own cores: whether a load came through."""

SPOILS: Mapping[str, tuple[str, ...]] = {
    "incomplete": EVERY,
    "overlapping": EVERY,
    "shared-cores": EVERY,
    "pacing-error": EVERY,
    "no-realtime": EVERY,
    "negative-latency": LATENCIES,
    "clocks-unknown": LATENCIES,
    "clock-bound": LATENCIES,
    "latency-truncated": LATENCIES,
    "no-steady-state": LATENCIES,
    "unsteered": CPU,
    "foreign-frames": (*CPU, "packets_"),
    "busy-host": (),
    "preempted": (),
    "stalled": (),
    "steal": (),
}
"""Flag -> beginnings of the metrics it spoils; none where it only tells of a disturbed host."""

WHY: Mapping[str, str] = {
    "incomplete": "the window is empty or cut short",
    "overlapping": "another run went on at the same responder",
    "shared-cores": "the ends worked on the same cores, so they are not two hosts",
    "pacing-error": "the load that the point names was not offered",
    "no-realtime": "the run did not have the priority that its point names",
    "negative-latency": "the clocks do not fit",
    "clocks-unknown": "the clocks could not be brought together",
    "clock-bound": "the clocks may be wrong by more than half the latency",
    "latency-truncated": "only the first frames were timed",
    "no-steady-state": "the latency had not settled, so its mean depends on the window's length",
    "unsteered": "the CPU of the two ends is mixed",
    "foreign-frames": "frames of others were received and worked on",
    "busy-host": "the hosts had other work, whose mean is taken off the CPU values",
    "preempted": "a data thread lost its core to other work",
    "stalled": "the machine stood still for a while",
    "steal": "the hypervisor took time from a core",
}

PROCESS_CPU = ("cpu_send_process_cores", "cpu_recv_process_cores")
"""Time of the process alone, which is not touched by what soils the time of whole cores."""
SPARE_PROCESS_CPU = ("shared-cores", "unsteered", "foreign-frames")
"""Flags that leave it alone though they spoil what else begins like it."""


def spoilt_by(flag: str, metric: str, *, others: bool = False, same_cores: bool = False) -> bool:
    """Whether a flag spoils a metric; one that is not known spoils all.

    Parameters
    ----------
    flag, metric : str
        Their names.
    others : bool
        Whether the point itself says that others send to the same interface.
    same_cores : bool
        Whether these do so from the sender's own cores.
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
    """The flags for which a metric of a run is left out.

    Parameters
    ----------
    flags : sequence of str
        The run's.
    metric : str
        Its name.
    tolerate : sequence of str
        Flags that spoil nothing this time.
    refuse : sequence of str
        Flags that spoil everything this time.
    others : bool
        Whether the point itself says that others send to the same interface.
    same_cores : bool
        Whether these do so from the sender's own cores.
    """

    def spoils(flag: str) -> bool:
        return spoilt_by(flag, metric, others=others, same_cores=same_cores)

    return tuple(
        flag for flag in flags if flag in refuse or (flag not in tolerate and spoils(flag))
    )


def check_flags(names: Sequence[str], option: str) -> None:
    """Refuse a flag that is none.

    Raises
    ------
    RecordError
        If a name is no flag of icprobe.
    """
    for name in names:
        if name not in SPOILS:
            raise RecordError(f"{option} {name!r} is no flag: the flags are {', '.join(SPOILS)}")
