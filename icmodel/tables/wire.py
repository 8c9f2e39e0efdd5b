"""Wire of a dataset: theoretical bounds for frames on its link, chosen by the kind of link and the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from icmodel import theory
from icmodel.arrays import Floats, Ints
from icmodel.dataset import Dataset, Interconnect
from icmodel.errors import DatasetError
from icmodel.theory import AnyFraming, ethernet

ZEROMQ = "zeromq"
FRAMED = ("udp", "ethernet")
"""Protocols on Ethernet that never put two frames into one packet; other protocols may merge frames."""


@dataclass(frozen=True, slots=True)
class Wire:
    """Link of a dataset, with theory's bounds for the frames of one protocol.

    If the dataset does not state the rate (loopback, unknown port speed), the goodput has no bound and the
    serialisation time is 0.

    Parameters
    ----------
    protocol : str
        Protocol as the dataset names it.
    link : Interconnect
        Kind, rate and packet size of the link.
    with_headers : bool
        Whether bytes on the wire include the message header of ZeroMQ.  It is true for the model variant ``hybrid``,
        and false for the published variants, which follow IC2012 and neglect this header.

    Examples
    --------
    >>> import numpy as np
    >>> from icmodel import load
    >>> path = wire(load("ethernet-10g-2012"), "udp", {})
    >>> path.packets(np.array([1472.0, 1473.0])).tolist()
    [1.0, 2.0]
    """

    protocol: str
    link: Interconnect
    with_headers: bool = False

    @property
    def framing(self) -> AnyFraming | None:
        """Framing of frames that are sent alone, so that no packet has data of two frames.

        On Ethernet, every protocol except UDP and direct Ethernet has the framing of TCP. If theory does not cover the
        kind of link, and the dataset states no line rate, the result is ``None``.

        Raises
        ------
        DatasetError
            If theory does not cover the kind of link, but the dataset states a line rate: a line rate is only of use
            with theory.
        """
        link, mtu = self.link, self.link.mtu_bytes
        if link.kind == "ethernet":
            carrier = self.protocol if self.protocol in FRAMED else "tcp"
            version = 6 if link.ip_version == 6 else 4
            return ethernet.Framing(carrier, mtu or 1500, version, timestamps=link.tcp_timestamps)
        if link.kind == "infiniband":
            from icmodel.theory import infiniband  # few datasets need this, or the imports below

            return infiniband.Framing(mtu or 4096)
        if link.kind == "roce":
            from icmodel.theory import roce

            return roce.Framing(mtu_bytes=mtu or 4096)
        if link.kind == "rapidio":
            from icmodel.theory import rapidio

            return rapidio.Framing()
        if link.line_rate_bps is None:
            return None
        raise DatasetError(
            f"interconnect kind {link.kind!r} has a line rate but no theory: use ethernet, infiniband, "
            "roce or rapidio, or leave line_rate_bps out"
        )

    @property
    def merges(self) -> bool:
        """Whether a stream of this protocol merges frames of any size into full packets (IC2012 §6.1.1)."""
        return self.link.kind == "ethernet" and self.protocol not in FRAMED

    def serialisation_s(self, payload_bytes: Floats) -> Floats:
        """Time [s] for which a frame occupies the wire, with the gaps between packets, for each payload [B].

        Use this time for the rate of frames that follow each other, and `lone_frame_s` for the delay of a single frame.
        """
        rate, framing = self.link.line_rate_bps, self.framing
        if rate is None or framing is None:
            return np.zeros_like(payload_bytes)
        return theory.send_interval_s(self._carried(payload_bytes), framing, rate)

    def lone_frame_s(self, payload_bytes: Floats) -> Floats:
        """Least time [s] from the first to the last bit of a lone frame, for each payload [B].

        The gap behind the last packet is not included.  If a token bucket limits the link, a full bucket passes the
        bytes of its burst at once.  So the time of these bytes is subtracted (traffic with burst σ and rate ρ:
        R. L. Cruz, A calculus for network delay, IEEE Trans. Information Theory 37, 1991).
        """
        rate, framing = self.link.line_rate_bps, self.framing
        if rate is None or framing is None:
            return np.zeros_like(payload_bytes)
        whole_s = theory.min_latency_s(self._carried(payload_bytes), framing, rate)
        return np.maximum(whole_s - 8 * (self.link.burst_bytes or 0) / rate, 0.0)

    def packets(self, payload_bytes: Floats) -> Floats:
        """Number of packets of a frame that is sent alone, for each payload [B].

        It is 1 if theory does not cover the link's kind.
        """
        framing = self.framing
        if framing is None:
            return np.ones_like(payload_bytes)
        return theory.packets(self._carried(payload_bytes), framing).astype(np.float64)

    def least_packets(self, payload_bytes: Floats) -> Floats:
        """Packets per frame in a stream, for each payload [B].

        If the protocol merges frames, all packets are taken as full, so small frames need less than one packet each.
        """
        if not self.merges:
            return self.packets(payload_bytes)
        full = self._full_packets()
        return self._carried(payload_bytes) / float(full.aligned_payloads(full.mtu_bytes)[0])

    def packet_breaks(self, up_to_bytes: int) -> Ints:
        """Payloads above which a frame needs one more packet [B], ascending; empty if the link has no theory."""
        framing = self.framing
        if framing is None:
            return np.empty(0, dtype=np.int64)
        breaks = theory.packet_breaks(framing, up_to_bytes)
        return ethernet.payload_of(breaks) if self._has_header else breaks

    def goodput_bound_bps(self, payload_bytes: Floats, serialisation_s: Floats) -> Floats:
        """Greatest goodput [b/s] that the wire allows, for each payload [B].

        TCP, protocols on top of TCP, and protocols that batch frames can merge small frames. So their bound is the
        goodput of full packets, even for a small payload.
        """
        rate = self.link.line_rate_bps
        if rate is None:
            return np.full_like(payload_bytes, np.inf)
        if self.merges:
            stream_bps = theory.stream_goodput_bps(self._full_packets(), rate)
            return stream_bps * (payload_bytes / self._carried(payload_bytes))
        return payload_bytes * 8 / serialisation_s

    def greatest_payload_bytes(self) -> int | None:
        """Greatest payload of the protocol on Ethernet [B]; ``None`` if the protocol has no limit."""
        framing = self.framing
        return framing.max_payload_bytes if isinstance(framing, ethernet.Framing) else None

    @property
    def _has_header(self) -> bool:
        return self.with_headers and self.protocol == ZEROMQ

    def _carried(self, payload_bytes: Floats) -> Ints:
        """Payload of the transport protocol [B]: the frame, with the messaging library's header if there is one."""
        framed = ethernet.framed_bytes(payload_bytes) if self._has_header else payload_bytes
        return framed.astype(np.int64)

    def _full_packets(self) -> ethernet.Framing:
        """Framing of a stream that fills its packets.

        Headers are known only for TCP, and for ZeroMQ if ``with_headers``.  For any other protocol, the data are assumed
        to fill the whole MTU, without headers of the protocol, so a goodput from this framing is an upper bound.
        """
        framing = self.framing
        over_tcp = self.protocol == "tcp" or self._has_header
        if over_tcp and isinstance(framing, ethernet.Framing):
            return framing
        return ethernet.Framing("ethernet", self.link.mtu_bytes or 1500)


def wire(
    data: Dataset, protocol: str, options: Mapping[str, str], *, with_headers: bool = False
) -> Wire:
    """Make the wire (link and theoretical bounds) of a protocol in a dataset.

    If the dataset has several fabrics, ``options`` choose one.
    """
    return Wire(protocol, data.link(options), with_headers)


def frames_on_wire(
    data: Dataset, protocol: str, options: Mapping[str, str], payload_bytes: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Compute how frames of a protocol travel on the wire of a dataset, for each payload [B].

    Headers count as part of the frames.  If a payload is too large, the greatest possible payload is used.

    Returns
    -------
    packets, least_packets : arrays
        Packets of a frame that is sent alone, and packets per frame in a stream at line rate, which may merge frames
        into full packets.
    delay_s : array
        Time from the first to the last bit of a lone frame [s].  If a token bucket limits the link, the bytes within
        its burst take no time.
    least_interval_s : array
        Least time between two frames of a stream at line rate [s].
    """
    path = wire(data, protocol, options, with_headers=True)
    possible = np.minimum(payload_bytes, path.greatest_payload_bytes() or np.inf)
    bound_bps = path.goodput_bound_bps(possible, path.serialisation_s(possible))
    packets = path.packets(possible), path.least_packets(possible)
    return *packets, path.lone_frame_s(possible), payload_bytes * 8 / bound_bps
