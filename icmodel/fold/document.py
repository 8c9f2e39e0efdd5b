"""Document (dataset.toml) of a folded dataset, and the settings that the user chooses for folding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from icmodel.dataset.rows import Point
from icmodel.errors import RecordError
from icmodel.fold.axes import APART, OptionAxes, axis_entries, most_frequent
from icmodel.fold.records import LEAST_DIGITS, MOST_DIGITS, SPOILS, WITHHELD, Record

VIRTUAL = ("veth", "tun", "bridge", "dummy")
"""Names of the drivers of virtual links; the speed that they state is meaningless."""
AXIS_MEANINGS: Mapping[str, tuple[str, str]] = {
    "payload_bytes": ("useful bytes of one frame", "B"),
    "load_bps": ("requested goodput of all streams; inf: unlimited", "b/s"),
    "cores": ("cores of each end, one data thread and one connection each", "1"),
    "switches": ("switches on the path", "1"),
    "endpoints": ("streams that send to the receiving interface, this one included", "1"),
    "other_goodput_bps": ("requested goodput of the other endpoints", "b/s"),
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
        Name of an axis -> its meaning, for each axis that tells different hosts or networks apart.
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
    """Merge the user's keys (``about``) into the generated document of dataset.toml (``made``).

    The user's value replaces a generated value. But tables are merged key by key, and in the list ``known_limits``, the
    generated limits follow those of the user.
    """
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
    """Write one sentence on each known limit of a dataset, such as virtual hosts or disturbed runs.

    The limits follow from the records.
    """
    host = records[0].host("caller")
    limits = []
    if host.get("driver") in VIRTUAL:
        limits.append(
            "The hosts share a virtual link of one machine: no wire, no network card and no "
            "interrupts; both ends share memory and caches."
        )
    if host.get("hypervisor") is True:
        limits.append("The hosts run in a virtual machine.")
    counts = Counter(
        flag for record in records for flag in record.flags if not SPOILS.get(flag, ("",))
    )
    if counts:
        disturbed = [f"{flag} in {n} of {len(records)} runs" for flag, n in sorted(counts.items())]
        limits.append(
            f"The hosts were disturbed, and the spread includes this: {', '.join(disturbed)}."
        )
    if axes.fixed:
        said = ", ".join(f"{name} {value}" for name, value in axes.fixed.items())
        limits.append(f"Every run had {said}; the dataset has no other values.")
    limits.append(
        "IPv4 and TCP time stamps are assumed, as the systems' defaults: the records do not state them."
    )
    return limits


WORKED_OUT = ("schema_version", "id", "sha256", "protocols", "held_out", "tool")
"""Keys of dataset.toml that the user cannot set, since they follow from the records or the folder."""


@dataclass(frozen=True)
class Settings:
    """Settings for folding records into a dataset.

    Parameters
    ----------
    id : str
        Id of the dataset and name of its folder.
    title : str
        Title in one line; generated from the records if empty.
    default_variant : str
        Variant of the model that predicts by default.
    line_rate_bps : float, optional
        Line rate [b/s]; by default the rate that the network card states, unless the card is virtual.
    tolerate, refuse : tuple of str
        Flags to ignore, and flags that make a whole run unusable.
    apart : tuple of str
        Properties of the hosts that become option axes; other properties must not differ between runs.
    most_steal : float, optional
        Greatest share of time, 0…1, that the hypervisor may take from a core in use. A run above this limit is used in
        no row of the dataset. No limit by default.
    withhold : tuple of str
        Properties of the hosts that are withheld from the stored records.
    histogram_digits : int, optional
        Significant digits of histograms in the stored records.
    about : mapping
        Keys of dataset.toml that replace the generated ones.
    """

    id: str = "folded"
    title: str = ""
    default_variant: str = "corrected"
    line_rate_bps: float | None = None
    tolerate: tuple[str, ...] = ()
    refuse: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    most_steal: float | None = None
    withhold: tuple[str, ...] = ()
    histogram_digits: int | None = None
    about: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_names("tolerate", self.tolerate, SPOILS, "is not a flag")
        _check_names("refuse", self.refuse, SPOILS, "is not a flag")
        _check_names("withhold", self.withhold, WITHHELD, "is not possible")
        _check_names("apart", self.apart, APART, "is not compared")
        if both := sorted(set(self.withhold) & set(self.apart)):
            raise RecordError(
                f"{both[0]!r} is in both `apart` and `withhold`: leave it out of one of them"
            )
        if self.most_steal is not None and not 0 <= self.most_steal < 1:
            raise RecordError(
                f"most_steal {self.most_steal:g} is not possible: give a share of CPU time of at least 0 and below 1"
            )
        if self.line_rate_bps is not None and not self.line_rate_bps > 0:
            raise RecordError(
                f"line_rate_bps {self.line_rate_bps:g} is not possible: give a rate above 0 b/s, or leave it out"
            )
        digits = self.histogram_digits
        if digits is not None and not LEAST_DIGITS <= digits <= MOST_DIGITS:
            raise RecordError(
                f"histogram_digits {digits} is not possible: give {LEAST_DIGITS} to {MOST_DIGITS}"
            )
        for key in WORKED_OUT:
            if key in self.about:
                raise RecordError(
                    f"{key!r} in `about` is not possible: it follows from the records and the folder, so leave it out"
                )

    def document(self) -> dict[str, object]:
        """Convert the settings to a JSON document; settings at their defaults are left out."""
        said = {item.name: getattr(self, item.name) for item in fields(self)}
        lists = {name: list(v) if isinstance(v, tuple) else v for name, v in said.items()}
        return {name: value for name, value in lists.items() if value not in ("", None, [], {})}


def _check_names(setting: str, names: Iterable[str], known: Collection[str], problem: str) -> None:
    for name in names:
        if name not in known:
            raise RecordError(f"{setting} {name!r} {problem}: it can be one of {', '.join(known)}")


def settings_of(document: Mapping[str, object]) -> Settings:
    """Read settings from a document made by `Settings.document`.

    Raises
    ------
    RecordError
        If a key is not the name of a setting.
    """
    known = {item.name for item in fields(Settings)}
    unknown = sorted(set(document) - known)
    if unknown:
        raise RecordError(
            f"folded.json has the setting {unknown[0]!r}, which this icmodel does not know: fold "
            "the records again with -o"
        )
    said = {name: tuple(v) if isinstance(v, list) else v for name, v in document.items()}
    return Settings(**said)  # type: ignore[arg-type]
