"""Theory of the wire: packets, bits, and bounds of goodput and latency for a link's framing.

``ethernet``, ``infiniband``, ``roce`` and ``rapidio`` each have a frozen ``Framing`` with the
parameters of that link. The functions of this package accept any of them. Each link's module
exports the same functions.
"""

from icmodel.theory._wire import AnyFraming as AnyFraming
from icmodel.theory._wire import Train as Train
from icmodel.theory.bounds import *  # noqa: F403 - the package exports these functions
