"""Predict a whole system: ask the datasets, share the resources, compute queues and bounds, and judge.

`predict` calls these modules in order: ``stated``, ``answers`` (datasets), ``path_times``, ``windows``, ``throughput``
with ``resources``, ``queues``, ``bounding``, ``buffers``, ``delays``, ``combining`` with ``goodput`` and ``latency``,
``judging``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from icmodel.dataset import Dataset
from icmodel.errors import NetworkError
from icmodel.keywords import checks_keywords
from icmodel.model import Model
from icmodel.system.files import notes_on_usecase
from icmodel.system.network import System
from icmodel.system.prediction.answers import DatasetChoice, stream_questions
from icmodel.system.prediction.bounding import (
    NOT_REQUESTED,
    REFUSE,
    host_times,
    worst_case,
)
from icmodel.system.prediction.buffers import stated_buffers
from icmodel.system.prediction.combining import (
    StageResults,
    device_usage,
    link_usage,
    stream_predictions,
)
from icmodel.system.prediction.delays import added_latencies
from icmodel.system.prediction.judging import judge_requirements
from icmodel.system.prediction.path_times import path_times
from icmodel.system.prediction.queues import port_queues
from icmodel.system.prediction.result import SystemPrediction
from icmodel.system.prediction.stated import stated_times
from icmodel.system.prediction.throughput import throughput
from icmodel.system.prediction.windows import stated_windows
from icmodel.system.traffic import overloads, packing, port_loads

__all__ = ["SystemPrediction", "predict"]


@checks_keywords
def predict(
    system: System,
    dataset: Model | Dataset | str | Path | Mapping[str, Model] | None = None,
    variant: str | None = None,
    *,
    cache: bool = True,
    worst: bool = True,
    cycles: str = REFUSE,
) -> SystemPrediction:
    """Predict each stream's goodput, latency and loss, each link's load and queue, and each device's CPU.

    Each dataset is asked about its streams three times: alone at an unlimited rate, alone at the requested rate, and
    while the other streams send. The resources are shared among the streams before the third time.

    Parameters
    ----------
    system : System
        System returned by `icmodel.system.load`, or made in Python.
    dataset : Model, Dataset, str, Path or mapping of Model, optional
        Used for all streams, in place of the datasets that the system names for hosts and links. A Model
        keeps its tables for the next system. A mapping has one Model for each dataset name in the
        system.
    variant : str, optional
        Variant of the model; by default the default variant of each dataset.
    cache : bool
        Whether fits of the variant ``hybrid`` are kept in the user's cache folder.
    worst : bool
        Whether to bound latency and queues in the worst case.
    cycles : str
        Treatment of streams that wait for each other in a cycle (A for B, and B for A). ``refuse`` gives no bound;
        ``fixed-point`` gives a bound if a fixed point exists.

    Returns
    -------
    SystemPrediction
        Predictions by stream, link and device, in SI units as the suffix of each metric states. A metric
        that no dataset gives is absent, with the reason.

    Raises
    ------
    NetworkError
        If the system has no streams.
    DatasetError, ScenarioError
        If a dataset is missing or damaged, or has no such variant.
    BoundsError
        If ``cycles`` is neither ``refuse`` nor ``fixed-point``.

    Examples
    --------
    Two TCP senders share the link to one receiver. The system names no dataset, so theory alone answers:

    >>> from icmodel.system import load, predict
    >>> found = predict(load("lab-two-senders"))
    >>> found
    SystemPrediction('lab-two-senders', 2 streams: undecided)
    >>> stream = found.streams["other"]
    >>> stream.bottleneck, stream.bottleneck_at
    ('share', 'S->B')
    >>> round(stream.goodput_bps.value / 1e6, 2)
    47.07
    >>> round(found.links["B<->S"].load_ratio, 6)
    1.0
    """
    if not system.streams:
        raise NetworkError(f"the system {system.name} has no streams: add [[streams]] to predict")
    choice = DatasetChoice(dataset, variant, cache)
    packets = packing(system)
    at_ports = tuple(port_loads(system, packets))
    overloaded = tuple(overloads(at_ports))
    stated = stated_times(system)

    # ask the datasets for each stream alone
    questions = stream_questions(system, choice)
    notes = (*questions.gaps(system), *notes_on_usecase(system), *questions.assumptions)
    paths = path_times(system, packets, questions)
    windows = stated_windows(questions, paths, stated)
    questions = questions.limited_to(windows.limit_bps)
    alone = questions.ask_alone()

    # share the resources among the streams
    rates = throughput(system, packets, questions, alone, windows)

    # waits at ports: the average, the worst case, and the limits of stated buffers
    queues = port_queues(system, packets, rates)
    bounds = NOT_REQUESTED
    if worst:
        hosts = host_times(stated, alone.requested, paths)
        bounds = worst_case(system, packets, hosts, cycles)
    buffers = stated_buffers(system, packets, rates, queues, bounds, paths)
    added = added_latencies(system, rates, buffers, paths)

    # put the results together, and judge the requirements
    streams = stream_predictions(
        system, StageResults(questions, stated, paths, rates, overloaded, buffers, added)
    )
    models = [answering.model for answering in questions.datasets]
    result = SystemPrediction(
        system=system,
        datasets={model.data.id: model.data.sha256 for model in models},
        variants=tuple(dict.fromkeys(model.variant for model in models)),
        streams=streams,
        links=link_usage(system, rates, at_ports, buffers),
        devices=device_usage(system, streams, rates.resources.flows.sent_with),
        notes=tuple(dict.fromkeys(notes)),
        asked=choice.options() | ({} if cycles == REFUSE else {"cycles": cycles}),
    )
    return replace(result, judged=judge_requirements(result))
