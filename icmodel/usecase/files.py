"""Find, read and create use cases, bundled or the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from icmodel.dataset import shipped
from icmodel.errors import UseCaseError
from icmodel.reading import Form, SourceFile, TomlFiles, read_document, read_file
from icmodel.usecase.derivation import Derivations, checked_requirement, derive_sound_part
from icmodel.usecase.document import SCHEMA_VERSION, UseCase


def placeholders(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return valid values by key, to replace wrong or missing values of a file, so that the rest can be checked.

    ``given`` is the parsed TOML file.
    """
    candidates = given.get("candidates")
    tables = candidates if isinstance(candidates, list) else []
    names = [table.get("name") for table in tables if isinstance(table, dict)]
    return {
        **dict.fromkeys(("name", "title", "question", "source"), "x"),
        "default_candidate": next(filter(None, names), "x"),
        "budgets": {"total_s": 1.0, "parts": {"x": "rest"}},
        "streams": {
            "kind": "goodput",
            "goodput_bps": 1.0,
            "width_px": 1,
            "height_px": 1,
            "depth_bits": 1.0,
            "rate_hz": 1.0,
            "size_bits": 1.0,
            "within_s": 1.0,
        },
        "scenarios": {"protocol": "tcp", "payload_bytes": 1},
        "requirements": {"metric": "goodput_bps", "at_least": "0 b/s"},
        "readings": {"metric": "goodput_bps", "at_least": "0 b/s"},
    }


FORM = Form(
    UseCase,
    SCHEMA_VERSION,
    UseCaseError,
    kinds={"streams": ("image", "samples", "goodput")},
    example="`icmodel usecases new` shows an example of each key",
    samples=placeholders,
)


USECASES = TomlFiles("use case", "icmodel usecases new", shipped("usecases"), UseCaseError)


def usecase_names() -> tuple[str, ...]:
    """Return the names of the bundled use cases, sorted."""
    return USECASES.names()


def find_usecase(name: str | Path) -> Path:
    """Find the file of a use case by bundled name or by path.

    Raises
    ------
    UseCaseError
        If there is no bundled use case and no file of that name, or the file cannot be read.
    """
    return USECASES.find(name)


def usecase_file(name: str | Path) -> SourceFile:
    """Return name and hash of a use case's file, by bundled name or by path."""
    return USECASES.source(name)


def load_usecase(name: str | Path) -> UseCase:
    """Load a use case by bundled name or path, and check its keys, units, names and sums.

    Raises
    ------
    UseCaseError
        If the use case is missing or breaks the format. The message names the file, the key and the allowed values.

    Examples
    --------
    >>> from icmodel.usecase import load_usecase
    >>> load_usecase("imaging").title
    'Imaging systems'
    """
    return load_derived(name)[0]


def load_derived(name: str | Path) -> tuple[UseCase, Derivations]:
    """Load a use case by bundled name or path, and compute its derived numbers."""
    path = find_usecase(name)
    return _derived(read_file(path, UseCaseError), path.name)


def read_usecase(text: str, file: str = "the use case") -> UseCase:
    """Check a use case given as TOML text; ``file`` is the name used in messages.

    Raises
    ------
    UseCaseError
        If the text breaks the format.
    """
    return _derived(text, file)[0]


def _derived(text: str, file: str) -> tuple[UseCase, Derivations]:
    usecase, mistakes = read_document(text, file, FORM)
    derived: Derivations = {}
    if usecase is not None:
        derived = derive_sound_part(usecase, mistakes)
        for limit, place in usecase.placed_limits():
            checked_requirement(limit, place, derived, mistakes)
    mistakes.refuse(UseCaseError)
    assert usecase is not None  # mistakes were refused above
    return usecase, derived


def usecase_schema() -> dict[str, Any]:
    """Return the JSON Schema of a use case. Each quantity has two keys: a number in SI, and a text with a unit."""
    return UseCase.model_json_schema()


def new_usecase_text(name: str) -> str:
    """Return a commented use case in TOML, as a starting point; it can be evaluated unchanged.

    Raises
    ------
    UseCaseError
        If the name has other characters than lower-case letters, digits and hyphens, or does not start with a letter.
    """
    return USECASES.new_text(name, TEMPLATE)


TEMPLATE = """\
# A use case for icmodel: streams, requirements, and the candidates that could carry them.
# Evaluate it with:  icmodel evaluate NAME.toml
# A quantity is a text with its unit ("50 m", "9.4 Gb/s", "64 KiB", "50 us", "30 Hz", "0.1 %").

schema_version = 1
name = "NAME"
title = "One camera, one display"
question = "Can one interface carry the camera's pictures to the display in time?"
source = "who needs this, and where it is written down"
default_candidate = "tcp"            # its verdict is the verdict of the use case
minimise = ["cpu_recv"]              # metrics to minimise, without a limit

# The longest cable, and its delay per metre. Leave this table out if distance does not matter.
[medium]
distance_m = 10
propagation_s_per_m = 4.27e-9        # Cat 6a

# A total time and its parts; "rest" is the total less the other parts.
# This budget gives the derived number response.interconnect_s.
[[budgets]]
name = "response"
total = "50 ms"
parts = { capture = "33 ms", interconnect = "rest" }

# Kinds of devices: the number of such devices, and how many streams one such device sends or receives.
# Core time of the application for each frame of a stream (only the variant hybrid uses it):
#   app_send = { video = "20 us" }, app_recv, and for each byte app_send_per_byte = { video = "0.3 ns" }, ...
[[devices]]
name = "camera"
count = 1
sends = { video = 1 }

[[devices]]
name = "display"
count = 1
receives = { video = 1 }

# Streams, described by their source:
#   kind = "image":   width_px, height_px, depth, rate          -> video.goodput_bps
#   kind = "samples": size, within (or cycle), connections, ... -> STREAM.goodput_bps
#   kind = "goodput": goodput
# All data must arrive, except for a share of allowed_shortfall, such as "5 %".
[[streams]]
name = "video"
kind = "image"
width_px = 1920
height_px = 1080
depth = "24 bit"
rate = "50 Hz"

# Requirements. The limit is a quantity, or the name of a derived number.
# kind is hard, firm or soft. A hard requirement on latency limits latency_max_s, a firm one latency_p99_s.
# The kind is only shown: every requirement counts the same.
# If a dataset lacks a quantile, the maximum is its upper bound.
[[requirements]]
name = "the stream arrives"
metric = "goodput_bps"
at_least = "video.goodput_bps"
kind = "firm"

[[requirements]]
name = "it arrives in time"
metric = "latency_mean_s"
at_most = "response.interconnect_s"

[[requirements]]
name = "the display can take it"
metric = "cpu_recv"
device = "display"                   # the limit is for all streams of one display together
at_most = "80 %"

# Candidates to choose from: a scenario for each stream, with the parameters of `icmodel predict`.
# Without a rate, the least rate that carries the stream is used.
[[candidates]]
name = "tcp"
description = "TCP in whole frames of 64 kB, one switch."

[candidates.scenarios.video]
protocol = "tcp"
payload = "65535 B"
rate = "4750/s"                      # 4750 x 65535 B x 8 carries 2.49 Gb/s
cores = 4
switches = 1

[[candidates]]
name = "udp"
description = "UDP in frames that fill their packets."

[candidates.scenarios.video]
protocol = "udp"
payload = "1472 B"
rate = "212000/s"
cores = 4
switches = 1
"""
