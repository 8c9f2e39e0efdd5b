"""Verified systems: bundled ones with new requests, and systems at other rates than measured."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from icmodel.documents import toml_text
from icmodel.system import Producer, Stream, System, load
from icmodel.system.files import read_system
from icmodel.units import parse_bps, parse_ratio

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Asked:
    """System with certain requests, and the name of this combination."""

    name: str
    system: System


@dataclass(frozen=True, slots=True)
class Campaign:
    """Systems that are predicted from one dataset and then measured.

    Parameters
    ----------
    dataset : str
        Dataset of the lab's hosts.
    slower : float
        Factor by which the lab divides every rate.
    repeats : int
        Passes of each system.
    folder : str
        Folder of predictions and measurements, below ``predicted`` and ``measured``.
    aims : mapping
        Target of the relative error of medians, by metric.
    """

    dataset: str
    slower: float
    repeats: int
    folder: str
    aims: Mapping[str, float]

    @property
    def predicted(self) -> Path:
        """Folder of the predictions."""
        return HERE / "predicted" / self.folder

    @property
    def measured(self) -> Path:
        """Folder of the measurements."""
        return HERE / "measured" / self.folder

    def asked(self) -> Iterator[Asked]:
        """Yield every system with its requests."""
        return other_rates() if self.folder else fresh_requests()


MEETING = Campaign(str(HERE / "lab-20m"), 5.0, 5, "", {"goodput_bps": 0.1, "latency_mean_s": 0.2})
"""Streams that share links, at the rate at which their hosts were measured.

It is a fifth of each bundled system's rate.
"""
RATES = Campaign("lab-1g-2026", 1.0, 3, "rates", {"goodput_bps": 0.03, "latency_mean_s": 0.3})
"""Links with a tenth and with half of the rate at which the hosts were measured."""
SAME_HOSTS = replace(RATES, dataset=str(HERE / "lab-250m"), slower=4.0, folder="rates-same-hosts")
"""The same systems at a quarter of these rates, with hosts of the same machine.

These hosts were measured at 250 Mb/s. So the links have a tenth and half of the measured rate.
"""
CAMPAIGNS = {"meeting": MEETING, "rates": RATES, "rates-same-hosts": SAME_HOSTS}


def fresh_requests() -> Iterator[Asked]:
    """Yield every bundled lab system with each set of its new requests."""
    document = tomllib.loads((HERE / "requests.toml").read_text(encoding="utf-8"))
    for system, variants in document.items():
        for name, requests in variants.items():
            yield Asked(f"{system}-{name}", asking(load(system), requests))


def asking(system: System, requests: Sequence[str]) -> System:
    """Return a system whose streams request these goodputs, in the order of the streams."""
    pairs = zip(system.streams.items(), requests, strict=True)
    return replace(system, streams={name: _stream(one, text) for (name, one), text in pairs})


def _stream(stream: Stream, request: str) -> Stream:
    if request == "unlimited":
        return replace(stream, producer=None, paced_fps=None)
    goodput = parse_bps(request)
    assert math.isfinite(goodput)
    size = float(stream.payload_bytes)
    return replace(stream, producer=Producer("goodput", 8 * size / goodput, size), paced_fps=None)


# --- other rates ------------------------------------------------------------------------------


def other_rates() -> Iterator[Asked]:
    """Yield every system of ``rates.toml`` at each of its rates."""
    document = tomllib.loads((HERE / "rates.toml").read_text(encoding="utf-8"))
    for name, one in document.items():
        for rate in one["rates"]:
            full = f"{name}-{rate.split()[0]}m"
            text = toml_text(_document(full, one, rate))
            yield Asked(full, read_system(text, f"{full}.toml", HERE)[0])


def _document(name: str, one: Mapping[str, Sequence[str]], rate: str) -> dict[str, object]:
    pairs = [link.split("-") for link in one["links"]]
    nodes = sorted({node for pair in pairs for node in pair})
    switches = [node for node in nodes if node in ("S", "T")]
    strict = str(one.get("strict", "")).partition("-")
    return {
        "schema_version": 1,
        "name": name,
        "title": f"{len(one['streams'])} streams on links of {rate}",
        "source": "ours, to be verified in the lab (icmodel verify)",
        "devices": [{"name": node, "cores": 1} for node in nodes if node not in switches],
        "switches": [
            {
                "name": node,
                "forwarding": "store-and-forward",
                "latency": "0 s",
                "buffer": "128 KiB",
                **(
                    {"ports": [{"to": strict[2], "scheduler": {"kind": "strict-priority"}}]}
                    if strict[0] == node
                    else {}
                ),
            }
            for node in switches
        ],
        "links": [{"between": pair, "rate": rate} for pair in pairs],
        "streams": [_stream_table(text, parse_bps(rate)) for text in one["streams"]],
    }


def _stream_table(text: str, rate_bps: float) -> dict[str, object]:
    ends, protocol, payload, request, *more = text.replace(" %", "%").split()
    source, sink = ends.split(">")
    paced = request != "unlimited"
    lossy = paced and protocol == "udp"  # received goodput is compared, whatever the loss
    goodput = f"{parse_ratio(request) * rate_bps:.0f} b/s" if paced else ""
    return {
        "name": f"{source}-{sink}",
        "source": source,
        "sink": sink,
        "produces": {"kind": "goodput", "goodput": goodput} if paced else {"kind": "unlimited"},
        "protocol": protocol,
        "payload": f"{payload} B",
        **({"allowed_shortfall": "100 %"} if lossy else {}),
        "cores": 1,
        **({"priority": int(more[0])} if more else {}),
    }
