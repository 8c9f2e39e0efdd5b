"""Check a system for unconnected, contradictory, overloaded or looped parts.

A finding is one sentence. Equal faults of several members of a group are combined into one finding. The
finding names the worst fault and counts the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from icmodel.estimate import plural
from icmodel.mistakes import Fault
from icmodel.system import rules
from icmodel.system.loads import port_cycle
from icmodel.system.network import System

REFUSED = ("unconnected", "contradictory")
"""Kinds of findings that make a system invalid; systems with other findings can be predicted."""
KINDS = (*REFUSED, "overloaded", "looped")
"""All kinds of findings about a system."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check: a sentence with names and numbers.

    ``kind`` is ``unconnected``, ``contradictory``, ``overloaded`` or ``looped``. ``fault`` has the place in
    the file, and the values that the finding follows from.
    """

    kind: str
    fault: Fault

    @property
    def text(self) -> str:
        """Sentence that states the fault and its fix."""
        return self.fault.text

    @property
    def refused(self) -> bool:
        """Whether the finding makes the system invalid."""
        return self.kind in REFUSED

    def to_dict(self) -> dict[str, str]:
        """Convert the finding to a dict for JSON."""
        return {"kind": self.kind, "text": self.text}


def check(system: System) -> tuple[Finding, ...]:
    """Check a system, and return all findings.

    Loads and cycles are checked only if no part is unconnected or contradictory. A cycle of ports is
    allowed, but reported.

    Examples
    --------
    >>> from icmodel.system import load
    >>> check(load("imaging"))
    ()
    """
    headers, missing = rules.headers_of(system)
    refused = (
        *_findings("unconnected", "node", rules.unlinked_nodes(system)),
        *_findings("contradictory", "node", rules.too_many_links(system)),
        *_findings("contradictory", "dataset", missing),
        *_findings("contradictory", "link", rules.datasets_of_other_kinds(system, headers)),
        *_findings("contradictory", "stream", rules.unmeasured_protocols(system, headers)),
        *_findings("contradictory", "stream", rules.misspelt_protocols(system, headers)),
        *_findings("contradictory", "requirement", rules.missing_subjects(system)),
        *_findings("contradictory", "stream", rules.too_large_frames(system)),
        *_findings("contradictory", "stream", rules.too_small_mtus(system)),
        *_findings("contradictory", "stream", rules.unserved_priorities(system)),
        *_findings("contradictory", "port", rules.too_steep_slopes(system)),
    )
    if refused:
        return refused

    findings = list(_findings("overloaded", "port", rules.overloaded_ports(system)))
    if cycle := port_cycle(system.streams.values()):
        text = (
            f"the routes of streams form a cycle of ports, {', then '.join(cycle)} and again: means "
            "are predicted, but for worst-case bounds, give one of the streams another route"
        )
        findings.append(Finding("looped", Fault(text)))
    return tuple(findings)


def refusal(findings: Iterable[Finding]) -> str:
    """Text of the first finding that makes a system invalid; empty if the system is valid."""
    return next((finding.text for finding in findings if finding.refused), "")


def _findings(kind: str, part: str, faults: Iterable[rules.PartFault]) -> Iterator[Finding]:
    """Combine faults with equal keys into one finding: the text of the most severe, and the number of others."""
    by_key: dict[object, list[rules.PartFault]] = {}
    for fault in faults:
        by_key.setdefault(fault.key, []).append(fault)
    for alike in by_key.values():
        worst = max(alike, key=lambda fault: fault.severity).fault
        more = f" (likewise {plural(len(alike) - 1, part)} more)" if alike[1:] else ""
        yield Finding(kind, worst._replace(text=worst.text + more))
