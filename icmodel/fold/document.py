"""Document (dataset.toml) of a dataset folded from records: its hosts, link, axes and known limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from icmodel.dataset.rows import Point
from icmodel.fold.axes import OptionAxes, axis_entries, most_frequent
from icmodel.fold.records import SPOILS, Record
from icmodel.fold.settings import Settings

VIRTUAL = ("veth", "tun", "bridge", "dummy")
"""Names of the drivers of virtual links; the speed that they state is meaningless."""
AXIS_MEANINGS: Mapping[str, tuple[str, str]] = {
    "payload_bytes": ("useful bytes of one frame", "B"),
    "load_bps": ("goodput that was asked for, over all streams; inf: as fast as it goes", "b/s"),
    "cores": ("cores of each end, one data thread and one connection each", "1"),
    "switches": ("switches on the way", "1"),
    "endpoints": ("streams that send to the receiving interface, this one included", "1"),
    "other_goodput_bps": ("goodput that the other endpoints asked for", "b/s"),
}


def dataset_document(
    settings: Settings,
    records: Sequence[Record],
    points: Sequence[Point],
    axes: OptionAxes,
    apart: Mapping[str, str],
) -> dict[str, object]:
    """Make the document of dataset.toml, without checksums, from records and rows.

    Parameters
    ----------
    records, points
        Records of the runs used, and rows made from these runs.
    apart : mapping
        Meanings of the axes that distinguish environments.
    """
    host = records[0].host("caller")
    protocols = sorted({str(record.point["protocol"]) for record in records})
    title = f"{', '.join(protocols)} measured with icprobe on {host.get('cpu_model', 'own hosts')}"
    versions = ", ".join(sorted({record.document.tool.version for record in records}))
    days = sorted({record.document.started_utc[:10] for record in records})
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    measured_axes = {
        axis: {"meaning": meaning, "unit": unit}
        for axis, (meaning, unit) in AXIS_MEANINGS.items()
        if any(getattr(point, axis) is not None for point in points)
    }
    made: dict[str, object] = {
        "id": settings.id,
        "title": settings.title or title,
        "edition": "1",
        "default_variant": settings.default_variant,
        "default_protocol": most_frequent(point.protocol for point in points),
        "licence": "Not stated.",
        "citation": f"Own measurement with icprobe {versions}, {span}.",
        "known_limits": known_limits(records, axes),
        "tool": {"name": "icprobe", "version": versions},
        "interconnect": interconnect(settings, records[0]),
        "hosts": [host_entry(records[0].host(end), end) for end in ("caller", "responder")],
        "axes": measured_axes | axis_entries(axes, apart),
    }
    return _over(made, settings.about)


def _over(made: Mapping[str, object], about: Mapping[str, object]) -> dict[str, object]:
    """Merge the user's keys into the generated document of dataset.toml; lists of known limits are joined."""
    merged: dict[str, object] = dict(made)
    for key, said in about.items():
        before = merged.get(key)
        if isinstance(before, Mapping) and isinstance(said, Mapping):
            merged[key] = _over(before, said)
        elif key == "known_limits" and isinstance(before, list) and isinstance(said, list):
            merged[key] = [*said, *before]
        else:
            merged[key] = said
    return merged


def interconnect(settings: Settings, record: Record) -> dict[str, object]:
    """Describe the link for dataset.toml: kind, line rate [b/s] and MTU [B].

    The speed that a virtual network card states is ignored.
    """
    host = record.host("caller")
    loopback = host.get("interface") == "lo"
    link: dict[str, object] = {"kind": "loopback" if loopback else "ethernet"}
    rate = settings.line_rate_bps
    if rate is None and not loopback and host.get("driver") not in VIRTUAL:
        rate = _positive(host.get("link_speed_bps"))
    if rate is not None:
        link["line_rate_bps"] = rate
    mtu = record.point.get("mtu_bytes", host.get("mtu_bytes"))
    if _positive(mtu) is not None:
        link["mtu_bytes"] = mtu
    return link


def _positive(value: object) -> float | None:
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
    return float(value) if good else None  # type: ignore[arg-type]


def host_entry(host: Mapping[str, Any], role: str) -> dict[str, str]:
    """Describe a host for dataset.toml: name, processor, network card and kernel; unknown entries are left out."""
    driver, firmware = host.get("driver"), host.get("firmware")
    nic = " ".join(str(part) for part in (driver, firmware) if part)
    cpu = f"{host.get('cpu_model', '')}, {host.get('cpus', '?')} cores"
    said = {
        "name": f"{host.get('hostname', 'host')} ({role})",
        "cpu": cpu,
        "nic": nic,
        "os": f"Linux {host.get('kernel', '')}".strip(),
    }
    return {key: value for key, value in said.items() if value}


def known_limits(records: Sequence[Record], axes: OptionAxes) -> list[str]:
    """Write the known limits of a dataset that follow from its records, one sentence each."""
    host = records[0].host("caller")
    limits = []
    if host.get("driver") in VIRTUAL:
        limits.append(
            "The hosts are joined by a virtual link of one machine: no wire, no network card, no "
            "interrupt, and the ends share memory and caches."
        )
    if host.get("hypervisor") is True:
        limits.append("The hosts are virtual machines themselves.")
    counts = Counter(
        flag for record in records for flag in record.flags if not SPOILS.get(flag, ("",))
    )
    if counts:
        disturbed = [f"{flag} in {n} of {len(records)} runs" for flag, n in sorted(counts.items())]
        limits.append(
            f"The hosts were disturbed, which is part of the spread: {', '.join(disturbed)}."
        )
    if axes.fixed:
        said = ", ".join(f"{name} {value}" for name, value in axes.fixed.items())
        limits.append(f"Every run was made with {said}; the dataset says nothing of other values.")
    limits.append(
        "IPv4 and TCP time stamps are taken for granted, as the systems' defaults: the records do "
        "not say."
    )
    return limits
