"""Verification: systems built in the lab, run, and compared with the prediction made before.

``lab_system`` (as the lab builds it, at a scale that fits the machine) -> ``topology`` (as the lab reads it) ->
``running`` (all streams at once) -> ``folder`` (stored results) -> ``comparing`` -> ``result``; ``verifying`` does all
of it.
"""

from icmodel.verify.result import Verification
from icmodel.verify.verifying import VerifyOptions, verify

__all__ = ["Verification", "VerifyOptions", "verify"]
