"""Saihu's physical network: stations, switches, links and flows in the XML of WOPANet.

As the README of Saihu (C.-T. Tsai et al., Saihu: a common interface of worst-case delay analysis tools for
time-sensitive networks, arXiv 2303.14565, 2023) describes it. Links go one way there and both ways here.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from icmodel.errors import NetworkError
from icmodel.system.formats.arrivals import Arrival, stream_table
from icmodel.system.formats.foreign import FAST_BPS, Foreign, Table, needed, plain_cable
from icmodel.system.formats.saihu_units import Units

UNITS = Units(data="B", rate="Mbps", time="us")
"""Of plain numbers: bytes as the README says; the others are rarely plain."""
Element = ElementTree.Element


def imported(text: str, file: str) -> Foreign:
    """The system of a physical network.

    Raises
    ------
    NetworkError
        If it is no XML, or an element lacks what it needs.
    """
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise NetworkError(f"{file} is not valid XML: {error}") from error
    network = root.find("network")
    about = {} if network is None else dict(network.attrib)
    name = about.get("name", file)
    made = Foreign(name, name, f"{file}, a physical network of Saihu")
    _remark_technology(about, made)
    for element in root.iter("station"):
        made.devices.append({"name": made.named(element.get("name"))})
    for element in root.iter("switch"):
        made.switches.append(_switch(element, made))
    made.links.extend(_links(root, made))
    for element in root.iter("flow"):
        made.streams.extend(_flow(element, about, made))
    return made


def _remark_technology(about: dict[str, str], made: Foreign) -> None:
    if technology := about.get("technology"):
        made.remark(
            f"the technology {technology} chooses how Saihu analyses, and is not carried over; every "
            "scheduler is first come, first served"
        )


def _switch(element: Element, made: Foreign) -> Table:
    latency = UNITS.read("time", element.get("service-latency", "0"))
    name = made.named(element.get("name"))
    return {"name": name, "forwarding": "cut-through", "latency_s": latency}


def _links(root: Element, made: Foreign) -> Iterator[Table]:
    """A cable for each link, one for two that lead there and back."""
    nodes = {one.get("name"): one for kind in ("station", "switch") for one in root.iter(kind)}
    there: dict[tuple[str, str], list[float]] = {}
    for element in root.iter("link"):
        where = f"the link {element.get('name', '')}".rstrip()
        ends = [needed(dict(element.attrib), key, where) for key in ("from", "to")]
        for end in ends:
            if end not in nodes:
                raise NetworkError(f"{where} names {end!r}, which is no station and no switch")
        rate = _rate(element, nodes[ends[0]], where, made)
        back = there.get((ends[1], ends[0]))
        if back:
            _check_back(back.pop(0), rate, where, made)
            continue
        there.setdefault((ends[0], ends[1]), []).append(rate)
        yield plain_cable(made.named(ends[0]), made.named(ends[1]), rate)


def _check_back(there_bps: float, back_bps: float, where: str, made: Foreign) -> None:
    if there_bps != back_bps:
        made.remark(
            f"{where} is slower or faster than the way back: the cable has the rate of the first"
        )


def _rate(link: Element, node: Element, where: str, made: Foreign) -> float:
    """The service rate of a link or of the node it leaves, else the capacity, else as good as none."""
    rates = [
        UNITS.read("rate", one.get(key))
        for key in ("service-rate", "transmission-capacity")
        for one in (link, node)
        if one.get(key) is not None
    ]
    if not rates:
        made.remark("links of which the file says no rate have 1 Tb/s")
        return FAST_BPS
    if rates[0] < max(rates):
        made.remark(
            "a transmission capacity above the service rate, which shapes what leaves a port, is not "
            "carried over: the link has the service rate"
        )
    return rates[0]


def _flow(element: Element, about: dict[str, str], made: Foreign) -> Iterator[Table]:
    """A stream for each target; Saihu counts them as flows of their own."""
    where = f"the flow {element.get('name', '')}".rstrip()
    table = dict(element.attrib)
    if table.get("arrival-curve", "leaky-bucket") != "leaky-bucket":
        raise NetworkError(
            f"{where} has the arrival curve {table['arrival-curve']!r}: icmodel reads leaky-bucket"
        )
    packet = table.get("maximum-packet-size", about.get("maximum-packet-size"))
    arrival = Arrival(
        UNITS.read("data", needed(table, "lb-burst", where)),
        UNITS.read("rate", needed(table, "lb-rate", where)),
        UNITS.read("data", packet) if packet else 0.0,
    )
    name, source = (
        made.named(needed(table, "name", where)),
        made.named(needed(table, "source", where)),
    )
    ways = [[made.named(one.get("node")) for one in target] for target in element.iter("target")]
    if not ways or not all(ways):
        raise NetworkError(f"{where} has a target without a path: name its nodes")
    if len(ways) == 1:
        yield {**stream_table(name, arrival, made), "source": source, "sink": ways[0][-1],
               "via": ways[0][:-1]}  # fmt: skip
        return
    sinks = list(dict.fromkeys(way[-1] for way in ways))
    made.remark(f"the ways of the copies of {name} are found anew: those of the file are not kept")
    yield {**stream_table(name, arrival, made), "source": source, "sink": sinks, "multicast": True}
