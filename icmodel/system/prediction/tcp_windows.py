"""Windows of TCP streams: what each lets pass, by its round trip."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from icmodel.arrays import Floats
from icmodel.system.network import System
from icmodel.system.packing import Packing
from icmodel.system.prediction import path_times
from icmodel.system.prediction.asking import Speaker, Spoken, ask
from icmodel.system.prediction.lanes import is_elastic
from icmodel.system.sharing.windows import Windows


def windows(system: System, packed: Packing, said: Spoken) -> Windows:
    """The windows that the system's file names, and the round trips of their streams.

    An acknowledgement is taken to need as long as a frame that meets nothing; theory's least time of a frame
    stands in where no dataset has its latency.
    """
    streams = list(system.streams.values())
    bits = np.array(
        [
            np.inf if one.window_bytes is None or not is_elastic(one) else 8.0 * one.window_bytes
            for one in streams
        ]
    )
    if not np.isfinite(bits).any():
        return Windows(bits, np.ones(len(streams)))
    lone = ask(said, {"rate_fps": np.ones(len(streams))}).value("latency_mean_s")
    added = np.array([sum(one.values()) for one in path_times.shifts(system, packed, said)])
    least = np.array([path_times.least_s(system, packed, one) for one in streams])
    return Windows(bits, 2 * np.where(np.isnan(lone), least, lone + added))


def paced(said: Spoken, limit_bps: Floats) -> Spoken:
    """The questions, none of them for more than a limit of its stream [b/s], (streams,)."""
    return replace(
        said, speakers=tuple(_paced(one, limit_bps[one.streams]) for one in said.speakers)
    )


def _paced(speaker: Speaker, limit_bps: Floats) -> Speaker:
    columns = dict(speaker.columns)
    most_fps = limit_bps / (8 * columns["payload_bytes"])
    return replace(
        speaker, columns={**columns, "rate_fps": np.minimum(columns["rate_fps"], most_fps)}
    )
