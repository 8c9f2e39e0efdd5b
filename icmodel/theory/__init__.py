"""Theory of the wire: packets, bits, and bounds of goodput and latency for a link's framing.

``ethernet``, ``infiniband``, ``roce`` and ``rapidio`` each have a frozen ``Framing`` with the
parameters of that link. The functions of this package accept any of them. Each link's module
exports the same functions.
"""

from icmodel.theory.trains import *  # noqa: F403 - the package exports these functions
from icmodel.theory.trains import AnyFraming as AnyFraming
from icmodel.theory.trains import Train as Train
