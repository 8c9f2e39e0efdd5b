"""Prediction of whole systems: every stream's goodput, latency and loss; every link's load; every device's CPU.

Read ``predicting`` first. It calls these modules in order: ``stated``, ``answers`` (datasets), ``path_times``,
``windows``, ``throughput`` with ``resources``, ``queues``, ``bounding``, ``buffers``, ``delays``, ``combining`` with
``goodput`` and ``latency``, ``judging``.
"""

from icmodel.system.prediction.predicting import predict as predict
from icmodel.system.prediction.result import SystemPrediction as SystemPrediction
