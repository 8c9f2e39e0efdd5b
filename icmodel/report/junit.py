"""Write verdicts as JUnit XML for CI servers: a test case for each requirement.

A test fails if its requirement is undecided or not met. The type of the failure is the outcome. An undecided
requirement is no skipped test, since CI servers show skipped tests as passed.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from xml.etree import ElementTree

from icmodel.report.system_tables import about, reason
from icmodel.report.verdicts import finding_text
from icmodel.requirement import MET
from icmodel.system import SystemPrediction
from icmodel.usecase import Evaluation

_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Pattern of the characters that TOML allows and XML 1.0 forbids."""


class Case(NamedTuple):
    """Test case of a JUnit file: the name of a requirement, its verdict, and the reason for the verdict."""

    name: str
    outcome: str
    text: str


def junit_text(answer: Evaluation | SystemPrediction) -> str:
    """Return the requirements of an evaluation's chosen candidate, or of a system, as JUnit XML.

    The file has no date, host or duration, so the same answer gives the same bytes.
    """
    if isinstance(answer, Evaluation):
        suite, group = answer.usecase.name, answer.candidate
        about_it = {f"dataset {answer.data.id}": answer.data.sha256, "variant": answer.variant}
        cases = [
            Case(one.title, one.outcome, joined(finding_text(one), one.verdict.why))
            for one in answer.chosen.findings
        ]
    else:
        suite, group = answer.system.name, "system"
        about_it = {f"dataset {name}": sha256 for name, sha256 in answer.datasets.items()}
        about_it |= {"variant": ", ".join(answer.variants)}
        cases = [
            Case(
                f"{one.verdict.requirement.name}, {about(one)}",
                one.verdict.outcome,
                joined(reason(one), one.verdict.why),
            )
            for one in answer.judged
        ]
    failures = str(sum(case.outcome != MET for case in cases))
    counts = {"tests": str(len(cases)), "failures": failures, "errors": "0", "skipped": "0"}
    root = ElementTree.Element("testsuites", {"name": "icmodel", **counts})
    inner = ElementTree.SubElement(root, "testsuite", {"name": _clean(suite), **counts})
    properties = ElementTree.SubElement(inner, "properties")
    for name, value in {**about_it, "verdict": answer.verdict}.items():
        ElementTree.SubElement(
            properties, "property", {"name": _clean(name), "value": _clean(value)}
        )
    for case in cases:
        names = {"classname": _clean(f"{suite}.{group}"), "name": _clean(case.name), "time": "0"}
        element = ElementTree.SubElement(inner, "testcase", names)
        if case.outcome != MET:
            failure = {"type": case.outcome, "message": _clean(f"{case.outcome}: {case.text}")}
            ElementTree.SubElement(element, "failure", failure)
        else:
            ElementTree.SubElement(element, "system-out").text = _clean(case.text)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, "unicode")}\n'


def joined(text: str, why: str) -> str:
    """Join the text of a verdict and the text of its reason. Two equal texts become one."""
    return "; ".join(dict.fromkeys(filter(None, (text, why))))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
