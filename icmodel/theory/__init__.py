"""Bounds of the wire: a framing and payloads go in; packets, bits, bounds of goodput and latency come out.

``ethernet``, ``infiniband``, ``roce`` and ``rapidio`` each have a frozen ``Framing`` with the parameters of
that link. The functions of this package accept any of them; each link's module has them too.
"""

from icmodel.theory._wire import AnyFraming as AnyFraming
from icmodel.theory._wire import Train as Train
from icmodel.theory.bounds import *  # noqa: F403 - its functions are this package's
