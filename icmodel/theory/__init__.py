"""What the wire allows: a framing and payloads come in, packets, bits, bounds of goodput and latency go out.

``ethernet``, ``infiniband``, ``roce`` and ``rapidio`` each have a frozen ``Framing`` with the parameters of
that link. The functions of this room take any of them; each link's module has them too.
"""

from icmodel.theory._wire import AnyFraming as AnyFraming
from icmodel.theory._wire import Train as Train
from icmodel.theory.bounds import *  # noqa: F403 - its functions are this room's
