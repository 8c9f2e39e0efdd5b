"""Requirements of a system: its own, those of its use case, and the numbers a limit can name."""

from __future__ import annotations

import tomllib

import pytest

from icmodel.errors import NetworkError
from icmodel.system import StreamRequirement, find_system, read_system
from icmodel.system.document import SystemDocument
from icmodel.system.requirements import derive_for_system
from icmodel.usecase import find_usecase, read_usecase


def requirements_of(name: str, extra: str, usecase: bool = True) -> tuple[StreamRequirement, ...]:
    """The requirements of a bundled system with more of its own."""
    path = find_system(name)
    text = path.read_text(encoding="utf-8") + extra
    if not usecase:
        text = text.replace('usecase = "imaging"\n', "")
    system, findings = read_system(text, path.name, path.parent)
    assert not any(finding.refused for finding in findings)
    return system.requirements


def required(limit: str, metric: str = "goodput_bps", stream: str = "picture") -> str:
    return (
        f'\n[[requirements]]\nname = "own"\nmetric = "{metric}"\n{limit}\nstream = "{stream}"\n'
        'kind = "firm"\nsource = "a test"\n'
    )


def test_own_requirements_stand_behind_those_of_the_use_case() -> None:
    found = requirements_of("imaging", required('at_least = "3 Gb/s"'))
    assert len(found) == 8
    assert found[-1].requirement.name == "own"
    assert found[-1].requirement.limit == 3e9
    assert (found[-1].stream, found[-1].requirement.kind) == ("picture", "firm")
    assert len(requirements_of("imaging", required('at_least = "3 Gb/s"'), usecase=False)) == 2


@pytest.mark.parametrize(
    ("limit", "metric", "value"),
    [
        ('at_least = "picture.goodput_bps"', "goodput_bps", 3.538944e9),
        ('at_most = "picture.period_s"', "latency_max_s", 1 / 30),
        ('at_most = "response.interconnect_s"', "latency_max_s", 0.017),  # of the use case
    ],
)
def test_a_limit_can_name_what_follows(limit: str, metric: str, value: float) -> None:
    found = requirements_of("imaging", required(limit, metric))
    assert found[-1].requirement.limit == pytest.approx(value)


def test_a_number_of_the_use_case_is_that_of_the_system() -> None:
    """The use case states 512 kb/s for the control data, and the system 640 B every ms."""
    text = (
        find_system("imaging")
        .read_text(encoding="utf-8")
        .replace('size = "64 B"', 'size = "640 B"')
    )
    document = SystemDocument.model_validate(tomllib.loads(text))
    usecase = read_usecase(find_usecase("imaging").read_text(encoding="utf-8"))
    derived = derive_for_system(usecase, document)
    assert derived["control.goodput_bps"].value == pytest.approx(5.12e6)


def test_the_goodput_of_what_is_due_is_that_within_its_time() -> None:
    extra = required('at_least = "sample.goodput_bps"', stream="sample")
    assert requirements_of("motion-control", extra)[-1].requirement.limit == pytest.approx(
        3200 / 3e-6
    )


def test_a_requirement_without_a_stream_is_about_the_only_one() -> None:
    own = required('at_least = "1 Mb/s"').replace('stream = "picture"\n', "")
    assert requirements_of("lab-direct", own)[-1].stream == "measured"
    with pytest.raises(NetworkError, match="needs a stream: name one of measured, other"):
        requirements_of("lab-two-senders", own)


def test_a_limit_of_another_kind_is_refused() -> None:
    with pytest.raises(NetworkError, match="name a number with the unit of the metric"):
        requirements_of("imaging", required('at_most = "picture.goodput_bps"', "latency_max_s"))
