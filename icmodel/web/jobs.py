"""Long computations, as functions that a worker process calls: words in, the bytes of a JSON document out."""

from __future__ import annotations

import json
from collections.abc import Mapping

from icmodel.dataset import load
from icmodel.errors import IcmodelError, NetworkError, UseCaseError
from icmodel.system import OpenSystem, System, find_system, read_open, system_names
from icmodel.system.checking import check, refusal
from icmodel.usecase import UseCase, load_usecase, read_usecase, usecase_names
from icmodel.web.work import check_dataset

TEXT = "the TOML text"
"""Name of an uploaded text in messages."""


def body_of(document: Mapping[str, object]) -> bytes:
    """Write a document as JSON without blanks, in UTF-8."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode()


# --- what is asked ----------------------------------------------------------------------------


def one_of(kind: str, name: str | None, toml: str | None, error: type[IcmodelError]) -> None:
    """Raise an error unless exactly one of a name and a text is given."""
    if (name is None) == (toml is None):
        given = "nothing" if name is None else "both"
        raise error(f"the request gives {given}: give {kind}, a bundled name, or toml, a text")


def usecase_of(name: str | None, toml: str | None) -> UseCase:
    """Return the use case of a request: bundled, or read from its text.

    Raises
    ------
    UseCaseError
        If there is no such use case, or the text breaks the format.
    """
    one_of("usecase", name, toml, UseCaseError)
    if toml is not None:
        return read_usecase(toml, TEXT)
    if name not in usecase_names():
        raise UseCaseError(
            f"there is no use case {name!r}: use one of {', '.join(usecase_names())}"
        )
    return load_usecase(str(name))


def system_of(name: str | None, toml: str | None) -> OpenSystem:
    """Return the system of a request: bundled, or read from its text, which names bundled datasets only.

    Raises
    ------
    NetworkError, DatasetError
        If there is no such system, the text breaks the format, or a dataset is not bundled.
    """
    one_of("system", name, toml, NetworkError)
    if toml is None:
        if name not in system_names():
            raise NetworkError(
                f"there is no system {name!r}: use one of {', '.join(system_names())}"
            )
        toml = find_system(str(name)).read_text(encoding="utf-8")
        return read_open(toml, f"{name}.toml", None)
    opened = read_open(toml, TEXT, None)
    for one in opened.datasets:
        check_dataset(one)
    return opened


def checked(opened: OpenSystem) -> System:
    """Expand a system and check it.

    Raises
    ------
    NetworkError
        If a part is unconnected or contradictory.
    """
    system = opened.system()
    if wrong := refusal(check(system)):
        raise NetworkError(f"{opened.file}: {wrong}")
    return system


# --- the jobs ---------------------------------------------------------------------------------


def evaluate(
    usecase: str | None,
    toml: str | None,
    dataset: str,
    variant: str | None,
    candidate: str | None,
    strict: bool,
) -> bytes:
    """Answer `icmodel evaluate`."""
    from icmodel.questions.judging import evaluate_with_notes

    check_dataset(dataset)
    case = usecase_of(usecase, toml)
    return body_of(
        evaluate_with_notes(case, load(dataset), variant, candidate, strict=strict).to_dict()
    )


def compare_usecase(usecase: str | None, toml: str | None, datasets: list[str]) -> bytes:
    """Answer `icmodel compare --usecase`."""
    from icmodel.interconnects import compare_interconnects

    for name in datasets:
        check_dataset(name)
    return body_of(compare_interconnects(usecase_of(usecase, toml), datasets or None).to_dict())


def predict_system(
    name: str | None, toml: str | None, dataset: str | None, variant: str | None, cycles: str
) -> bytes:
    """Answer `icmodel system predict`."""
    from icmodel.system import predict

    if dataset is not None:
        check_dataset(dataset)
    return body_of(
        predict(checked(system_of(name, toml)), dataset, variant, cycles=cycles).to_dict()
    )


def recommend(
    name: str | None, toml: str | None, dataset: str | None, variant: str | None
) -> bytes:
    """Answer `icmodel recommend`."""
    from icmodel.recommend import recommend as search

    if dataset is not None:
        check_dataset(dataset)
    return body_of(search(system_of(name, toml), dataset, variant).to_dict())


def check_system(toml: str) -> bytes:
    """Answer `icmodel system check` for a text."""
    from icmodel.questions.showing import check_document

    system = system_of(None, toml).system()
    return body_of(check_document(system, check(system)))


def show_system(name: str) -> bytes:
    """Answer `icmodel system show`, with the text of the system."""
    from icmodel.questions.showing import system_document
    from icmodel.system.loads import loads

    opened = system_of(name, None)
    system = opened.system()
    text = find_system(name).read_text(encoding="utf-8")
    return body_of({**system_document(system, tuple(loads(system))), "toml": text})
