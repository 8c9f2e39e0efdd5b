"""Long computations of the HTTP API, for worker processes.

Each function takes the parameters of a request, and returns the answer as JSON in bytes.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from icmodel.dataset import load
from icmodel.errors import IcmodelError, NetworkError, UseCaseError
from icmodel.questions.ingesting import DatasetOptions, LabelOptions
from icmodel.system import OpenSystem, find_system, read_open, system_names
from icmodel.system.checking import check
from icmodel.usecase import UseCase, load_usecase, read_usecase, usecase_names
from icmodel.web.bodies import in_keys
from icmodel.web.work import check_dataset

TEXT = "the TOML text"
"""Name of an uploaded text in error messages."""


def body_of(document: Mapping[str, object]) -> bytes:
    """Encode a document as compact JSON in UTF-8."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode()


# --- use case and system of a request ---------------------------------------------------------


def require_exactly_one(
    kind: str, name: str | None, toml: str | None, error: type[IcmodelError]
) -> None:
    """Raise an error unless exactly one of a name and a text is given."""
    if (name is None) == (toml is None):
        given = "nothing" if name is None else "both"
        raise error(
            f"the request gives {given}: give either {kind} (a bundled name) or toml (a text)"
        )


def usecase_of(name: str | None, toml: str | None) -> UseCase:
    """Return the use case of a request: bundled, or from a text.

    Raises
    ------
    UseCaseError
        If there is no such use case, or the text is invalid.
    """
    require_exactly_one("usecase", name, toml, UseCaseError)
    if toml is not None:
        return read_usecase(toml, TEXT)
    if name not in usecase_names():
        raise UseCaseError(
            f"there is no use case {name!r}: use one of {', '.join(usecase_names())}"
        )
    return load_usecase(str(name))


def system_of(name: str | None, toml: str | None) -> OpenSystem:
    """Return the system of a request: bundled, or from a text with bundled datasets only.

    Raises
    ------
    NetworkError
        If there is no such system, the text is invalid, or a dataset is not bundled.
    """
    require_exactly_one("system", name, toml, NetworkError)
    if toml is None:
        if name not in system_names():
            raise NetworkError(
                f"there is no system {name!r}: use one of {', '.join(system_names())}"
            )
        toml = find_system(str(name)).read_text(encoding="utf-8")
        return read_open(toml, f"{name}.toml", None)
    return read_open(toml, TEXT, None)


# --- the jobs ---------------------------------------------------------------------------------


def evaluate(
    usecase: str | None,
    toml: str | None,
    dataset: str,
    variant: str | None,
    candidate: str | None,
    strict: bool,
) -> bytes:
    """Return the JSON answer of `icmodel evaluate`."""
    from icmodel.system.files import with_system_notes
    from icmodel.usecase import evaluate as evaluate_usecase

    check_dataset(dataset)
    case = usecase_of(usecase, toml)
    found = evaluate_usecase(case, load(dataset), variant, candidate, strict=strict)
    return body_of(with_system_notes(found).to_dict())


def compare_usecase(
    usecase: str | None, toml: str | None, datasets: list[str], rates: str | None
) -> bytes:
    """Return the JSON answer of `icmodel compare --usecase`."""
    from icmodel.interconnects import compare_interconnects, ranked_document
    from icmodel.questions.predicting import parse_rates

    for name in datasets:
        check_dataset(name)
    case, rates_bps = usecase_of(usecase, toml), None if rates is None else parse_rates(rates)
    return body_of(
        ranked_document(compare_interconnects(case, datasets or None, rates_bps=rates_bps))
    )


def predict_system(
    name: str | None, toml: str | None, dataset: str | None, variant: str | None, cycles: str
) -> bytes:
    """Return the JSON answer of `icmodel system predict`."""
    from icmodel.system import predict

    if dataset is not None:
        check_dataset(dataset)
    return body_of(
        predict(system_of(name, toml).checked(), dataset, variant, cycles=cycles).to_dict()
    )


def recommend(
    name: str | None, toml: str | None, dataset: str | None, variant: str | None
) -> bytes:
    """Return the JSON answer of `icmodel recommend`."""
    from icmodel.recommend import recommend as search

    if dataset is not None:
        check_dataset(dataset)
    return body_of(search(system_of(name, toml), dataset, variant).to_dict())


def check_system(toml: str) -> bytes:
    """Return the JSON answer of `icmodel system check` for a TOML text."""
    from icmodel.questions.showing import check_document

    system = system_of(None, toml).system()
    return body_of(check_document(system, check(system)))


def show_system(name: str) -> bytes:
    """Return the JSON answer of `icmodel system show`, with the TOML text of the system."""
    from icmodel.questions.showing import system_document
    from icmodel.system.traffic import port_loads

    opened = system_of(name, None)
    system = opened.system()
    text = find_system(name).read_text(encoding="utf-8")
    return body_of({**system_document(system, tuple(port_loads(system))), "toml": text})


def ingest(
    files: list[tuple[str, str]],
    name: str,
    tool: str | None,
    labels: LabelOptions,
    description: DatasetOptions,
) -> bytes:
    """Return the JSON answer of `icmodel ingest` for uploaded texts.

    The key ``folder`` of the answer holds the files of the dataset. The temporary folder is removed at the end, and
    messages do not name it.
    """
    from icmodel.ingest import dataset_of, name_in, write_ingested
    from icmodel.ingest import ingest as ingest_files
    from icmodel.questions.ingesting import ingested_document
    from icmodel.validate import choose

    with TemporaryDirectory() as sandbox:
        uploads, output = Path(sandbox, "uploads"), Path(sandbox, "made", name)
        uploads.mkdir()
        output.parent.mkdir()
        try:
            for file, text in files:
                (uploads / file).write_text(text, encoding="utf-8")
            paths = sorted(uploads.iterdir())
            name_in(output)
            about = description.about(f"icmodel ingest {shlex.join(one.name for one in paths)}")
            ingested = ingest_files(paths, tool, labels=labels.labels(), link=about.link).in_words(
                in_keys
            )
            if description.default_variant is None:
                choice = choose(dataset_of(ingested, output, about))
                about = replace(about, default_variant=choice.variant, notes=(choice.why,))
            write_ingested(ingested, output, about)
            folder = {one.name: one.read_text(encoding="utf-8") for one in sorted(output.iterdir())}
        except IcmodelError as error:
            raise type(error)(
                str(error).replace(f"{output.parent}/", "").replace(f"{uploads}/", "")
            ) from None
    return body_of({**ingested_document(ingested, name, about), "folder": folder})


def validate(name: str, variant: str | None, kinds: Sequence[str], most: int) -> bytes:
    """Return the JSON answer of `icmodel validate`; its key ``kept`` has the coverage stored in the dataset.

    Coverage is the share of left-out rows inside their predicted intervals. A fold is a split into training and test
    rows; of each kind of fold, at most ``most`` folds are used.
    """
    from icmodel.validate import ValidationOptions, document
    from icmodel.validate import validate as score
    from icmodel.validate.validation import KINDS

    check_dataset(name)
    data = load(name)
    options = ValidationOptions(kinds=tuple(kinds) or KINDS, most=most)
    return body_of({**document(score(data, variant, options)), "kept": data.coverage})
