"""Notes on a whole system: who does not answer and why, its use case, what datasets do not know."""

from __future__ import annotations

from icmodel.grouping import together
from icmodel.system.namesake import beside_usecase
from icmodel.system.network import System
from icmodel.system.prediction.asking import Spoken


def notes(system: System, said: Spoken) -> tuple[str, ...]:
    """Sentences, those that bear on verdicts first, each once."""
    streams = list(system.streams.values())
    silent = together((why, streams[index].group) for index, why in said.silent.items())
    refused = (f"{', '.join(dict.fromkeys(groups))}: {why}" for why, groups in silent.items())
    known = (note for one in said.speakers for note in one.notes)
    return tuple(dict.fromkeys((*refused, *beside_usecase(system), *known)))
