"""What the wire of a dataset allows: its theory module, chosen by kind and protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset, Interconnect
from icmodel.errors import DatasetError
from icmodel.theory import ethernet, infiniband, rapidio, roce

Floats = NDArray[np.float64]

FRAMED = ("udp", "ethernet")
"""Protocols on Ethernet that put every frame into packets of its own; the others may merge."""


@dataclass(frozen=True, slots=True)
class Wire:
    """The link of one protocol, and theory's bounds for a frame on it.

    A link whose rate the dataset does not say (loopback, unknown port speed) bounds no goodput and
    its serialisation takes no time.
    """

    protocol: str
    link: Interconnect

    def serialisation_s(self, payload_bytes: Floats) -> Floats:
        """Time [s] the bits of a frame take on the wire, shape of the payloads [B]."""
        rate = self.link.line_rate_bps
        if rate is None:
            return np.zeros_like(payload_bytes)
        whole = payload_bytes.astype(np.int64)
        kind, mtu = self.link.kind, self.link.mtu_bytes
        if kind == "ethernet":
            return ethernet.send_interval_s(whole, self._packets(), rate)
        if kind == "infiniband":
            return infiniband.send_interval_s(whole, infiniband.Framing(mtu or 4096), rate)
        if kind == "roce":
            return roce.send_interval_s(whole, roce.Framing(mtu_bytes=mtu or 4096), rate)
        if kind == "rapidio":
            return rapidio.send_interval_s(whole, rapidio.Framing(), rate)
        raise DatasetError(
            f"interconnect kind {kind!r} has a line rate but no theory: use ethernet, infiniband, "
            "roce or rapidio, or leave line_rate_bps out"
        )

    def lone_frame_s(self, payload_bytes: Floats) -> Floats:
        """Least time [s] a frame takes that comes alone, shape of the payloads [B].

        A token bucket lets its depth pass at once: traffic of burst σ and rate ρ (R. L. Cruz,
        A calculus for network delay, IEEE Trans. Information Theory 37, 1991).
        """
        return less_burst(self.link, self.serialisation_s(payload_bytes))

    def packets(self, payload_bytes: Floats) -> Floats:
        """Packets a frame becomes, shape of the payloads [B]; 1 where there is no theory."""
        whole = payload_bytes.astype(np.int64)
        kind, mtu = self.link.kind, self.link.mtu_bytes
        if kind == "ethernet":
            return ethernet.packets(whole, self._packets()).astype(np.float64)
        if kind == "infiniband":
            framing = infiniband.Framing(mtu or 4096)
            return infiniband.packets(whole, framing).astype(np.float64)
        if kind == "roce":
            return roce.packets(whole, roce.Framing(mtu_bytes=mtu or 4096)).astype(np.float64)
        if kind == "rapidio":
            return rapidio.packets(whole, rapidio.Framing()).astype(np.float64)
        return np.ones_like(payload_bytes)

    def least_packets(self, payload_bytes: Floats) -> Floats:
        """Packets a frame becomes at least, shape of the payloads [B]: merged streams fill theirs."""
        if self.link.kind == "ethernet" and self.protocol not in FRAMED:
            full = self._full_packets()
            return payload_bytes / float(ethernet.aligned_payloads(full, full.mtu_bytes)[0])
        return self.packets(payload_bytes)

    def goodput_bound_bps(self, payload_bytes: Floats, serialisation_s: Floats) -> Floats:
        """Greatest goodput [b/s] the wire allows, shape of the payloads [B].

        Merged streams fill their packets whatever the frame (IC2012 §6.1.1): for TCP and for what
        runs over it or batches, the bound is that of full packets.
        """
        rate = self.link.line_rate_bps
        if rate is None:
            return np.full_like(payload_bytes, np.inf)
        if self.link.kind == "ethernet" and self.protocol not in FRAMED:
            return np.full_like(
                payload_bytes, ethernet.stream_goodput_bps(self._full_packets(), rate)
            )
        return payload_bytes * 8 / serialisation_s

    def greatest_payload_bytes(self) -> int | None:
        """The protocol's own limit [B]; ``None`` where it has none."""
        if self.link.kind == "ethernet" and self.protocol in FRAMED:
            return ethernet.max_payload_bytes(self._packets())
        return None

    def _packets(self) -> ethernet.Framing:
        """The frame in packets of its own; what is neither UDP nor direct counts as TCP."""
        link = self.link
        mtu = link.mtu_bytes or 1500
        version: Literal[4, 6] = 6 if link.ip_version == 6 else 4
        if self.protocol == "udp":
            return ethernet.Framing("udp", mtu, version)
        if self.protocol == "ethernet":
            return ethernet.Framing("ethernet", mtu, version)
        return ethernet.Framing("tcp", mtu, version, timestamps=link.tcp_timestamps)

    def _full_packets(self) -> ethernet.Framing:
        """Full packets of the stream; of an unknown carrier those without any header above IP."""
        if self.protocol == "tcp":
            return self._packets()
        return ethernet.Framing("ethernet", self.link.mtu_bytes or 1500)


def less_burst(link: Interconnect, serialisation_s: Floats) -> Floats:
    """What is left of a serialisation [s] when a burst passes at once."""
    if not link.burst_bytes or link.line_rate_bps is None:
        return serialisation_s
    return np.maximum(serialisation_s - 8 * link.burst_bytes / link.line_rate_bps, 0.0)


def wire(data: Dataset, protocol: str, options: Mapping[str, str]) -> Wire:
    """The wire of a protocol; of a dataset with several fabrics, that of the chosen one."""
    return Wire(protocol, data.link(options))


def frames_on_wire(
    data: Dataset, protocol: str, options: Mapping[str, str], payload_bytes: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Packets, least packets, wire time [s] and least interval [s] of frames.

    Of impossible frames those of the greatest.  The wire time is that of a frame alone, in which a
    burst takes none.  Least packets and interval are less than those of a frame alone where a stream
    is merged into full packets.
    """
    path = wire(data, protocol, options)
    possible = np.minimum(payload_bytes, path.greatest_payload_bytes() or np.inf)
    wire_s = path.serialisation_s(possible)
    least_s = payload_bytes * 8 / path.goodput_bound_bps(possible, wire_s)
    packets = path.packets(possible), path.least_packets(possible)
    return *packets, less_burst(path.link, wire_s), least_s
