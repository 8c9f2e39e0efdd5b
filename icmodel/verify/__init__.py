"""Verify a prediction: build the system as a lab network on one machine, measure it, and compare.

Modules in the order of use, called by ``verifying``:

- ``lab_system``: scales the system to the machine.
- ``running``: builds the lab and runs all streams together.
- ``folder``: stores the prediction and the records.
- ``comparing``: the result.
"""

from icmodel.verify.comparing import Verification
from icmodel.verify.verifying import VerifyOptions, verify

__all__ = ["Verification", "VerifyOptions", "verify"]
