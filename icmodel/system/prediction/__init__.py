"""What a whole system does: every stream's goodput, latency, loss; every link's load; every device's CPU."""

from icmodel.system.prediction.predicting import predict as predict
from icmodel.system.prediction.result import SystemPrediction as SystemPrediction
