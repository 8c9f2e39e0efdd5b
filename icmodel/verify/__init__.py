"""Verification: build a system as a lab network on one machine, run it, and compare it with a prediction made before.

Modules in the order of use: ``lab_system`` (the system as built, scaled to the machine), ``topology`` (the document
for icprobe), ``running`` (all streams at once), ``folder`` (stored results), ``comparing`` and ``result``.
``verifying`` calls all of them.
"""

from icmodel.verify.result import Verification
from icmodel.verify.verifying import VerifyOptions, verify

__all__ = ["Verification", "VerifyOptions", "verify"]
