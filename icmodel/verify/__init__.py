"""Verification: systems built in the lab, played, and compared with what was predicted before.

``fitting`` (how much slower) -> ``copying`` (what is built) -> ``topology`` (as the lab reads it) -> ``playing`` (all
streams at once) -> ``folder`` (what is kept) -> ``comparing`` -> ``result``; ``verifying`` does all of it.
"""

from icmodel.verify.result import Verification
from icmodel.verify.verifying import Wish, verify

__all__ = ["Verification", "Wish", "verify"]
