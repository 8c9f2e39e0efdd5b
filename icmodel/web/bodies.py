"""Bodies of requests: the options of the command line as JSON.

A quantity is a text with its unit, a count is a number, and a name is a text. A question has the fields and
descriptions of `icmodel.questions.words.Question`.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from icmodel.questions.doors import in_options
from icmodel.questions.ingesting import DatasetOptions, LabelOptions
from icmodel.questions.predicting import Extras
from icmodel.questions.sweeping import GridOptions
from icmodel.questions.words import (
    DEFAULT_DATASET,
    PROTOCOL_HELP,
    VARIANT_HELP,
    Question,
    split_names,
)
from icmodel.ranges import MOST

Word = Annotated[str, StringConstraints(min_length=1, max_length=200)]
"""Text such as "1448 B", or range such as "64 B..65535 B"."""
Toml = Annotated[str, StringConstraints(min_length=1, max_length=500_000)]
Count = Annotated[int, Field(ge=0, le=MOST)] | Word
"""Whole number, or range such as "1,4" or "0..2"."""
Names = Annotated[list[Word], Field(max_length=64)]
TEXTS = {
    (kind, one.name): one.metadata["description"]
    for kind in (Question, LabelOptions, DatasetOptions)
    for one in fields(kind)
}
"""Dataclass of options and name of a field -> description of the field."""
LARGEST_FILE = 4 * 2**20
"""Maximum number of characters in an uploaded file."""
DATASET = Field(
    DEFAULT_DATASET, description="Name of a bundled dataset.", examples=[DEFAULT_DATASET]
)
VARIANT = Field(None, description=VARIANT_HELP, examples=["corrected"])
PROTOCOL = Field(None, description=PROTOCOL_HELP, examples=["tcp"])
EXTRAPOLATE = Field(
    False, description="Also answer beyond the measured range, marked extrapolated."
)
SEVERAL: Any = Field([], description="List of names. An empty list stands for the default.")


class Body(BaseModel):
    """Request body. Unknown keys are errors, and a number is not accepted as a text."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def described(name: str, *examples: object) -> Any:
    """Make the pydantic field of a question's parameter. Its description is the help text of the command-line option."""
    return Field(None, description=TEXTS[Question, name], examples=list(examples) or None)


def labelled(name: str, *examples: object) -> Any:
    """Make the pydantic field of an option of `icmodel ingest`, such as a label of the results or the dataset's title.

    The description of the field is the help text of the option.
    """
    text = TEXTS.get((LabelOptions, name)) or TEXTS[DatasetOptions, name]
    return Field(None, description=text, examples=list(examples) or None)


def words_of(body: Body, kind: type[Any]) -> dict[str, Any]:
    """Convert the keys of a request to texts, as they would be typed on the command line.

    ``kind`` is a dataclass of command-line options; only keys that are its fields are converted.
    """
    words = {one.name: getattr(body, one.name) for one in fields(kind)}
    texts: dict[str, Any] = {n: str(word) for n, word in words.items() if word is not None}
    if "option" in texts:
        texts["option"] = [f"{axis}={value}" for axis, value in words["option"].items()] or None
    return texts


class QuestionBody(Body):
    """Parameters of a question. A missing parameter has its default."""

    payload: Word | None = described("payload", "1448 B", "64 KiB")
    rate: Word | None = described("rate", "6700/s")
    requested_goodput: Word | None = described("requested_goodput", "3.5 Gb/s")
    cores: Count | None = described("cores", 4)
    switches: Count | None = described("switches", 1)
    endpoints: Count | None = described("endpoints", 2)
    other_goodput: Word | None = described("other_goodput", "3.6 Gb/s")
    distance: Word | None = described("distance", "50 m")
    line_rate: Word | None = described("line_rate", "25 Gb/s")
    cpu_clock: Word | None = described("cpu_clock", "1.5")
    app_send: Word | None = described("app_send", "2 us")
    app_recv: Word | None = described("app_recv", "2 us")
    app_send_per_byte: Word | None = described("app_send_per_byte", "0.3 ns")
    app_recv_per_byte: Word | None = described("app_recv_per_byte", "0.3 ns")
    option: dict[Word, Word] = Field(
        {},
        description="Values of option axes of the dataset, by axis.",
        examples=[{"nagle": "off"}],
    )

    def question(self) -> Question:
        """Return the question as the command line takes it: each value as a text, such as ``1448 B``."""
        return Question(**words_of(self, Question))


class PredictBody(QuestionBody):
    """Input of `icmodel predict`."""

    dataset: Word = DATASET
    variant: Word | None = VARIANT
    protocol: Word | None = PROTOCOL
    extrapolate: bool = EXTRAPOLATE
    message: Word | None = Field(
        None, description='Size of a whole message, e.g. "14.7 MB".', examples=["14.7 MB"]
    )
    message_within: Word | None = Field(
        None,
        description='Time over which the frames of the message are sent, e.g. "33 ms".',
        examples=["33 ms"],
    )
    solve: Word | None = Field(
        None,
        description=(
            "Find the least value of this parameter (rate, payload or cores) that reaches the goodput; "
            "needs goodput."
        ),
        examples=["rate"],
    )
    goodput: Word | None = Field(
        None, description="Goodput that the stream must reach; needs solve.", examples=["3.5 Gb/s"]
    )

    def extras(self) -> Extras:
        """Return the options beyond a plain prediction, as texts.

        ``message`` (size of a message) and ``message_within`` (time in which the source captures the message) ask for
        the latency of a whole message. ``solve`` (a parameter) and ``goodput`` ask for the value of this parameter with
        which the stream reaches this goodput.
        """
        return Extras(self.message, self.message_within, self.solve, self.goodput)


class SweepBody(QuestionBody):
    """Input of `icmodel sweep`. Each parameter may be a text with a list or a range."""

    dataset: Word = DATASET
    variant: Word | None = VARIANT
    protocol: Names = SEVERAL
    metric: Names = SEVERAL
    extrapolate: bool = EXTRAPOLATE
    allow_gaps: bool = Field(False, description="Leave points outside the measured range empty.")

    def grid_options(self) -> GridOptions:
        """Return the options of the sweep: metrics to predict, and how to treat points outside the measured range."""
        return GridOptions(tuple(split_names(self.metric)), self.extrapolate, self.allow_gaps)


class CompareBody(QuestionBody):
    """Input of `icmodel compare`: a question, or a use case for every interconnect."""

    dataset: Names = SEVERAL
    variant: Names = SEVERAL
    protocol: Names = SEVERAL
    extrapolate: bool = EXTRAPOLATE
    usecase: Word | None = Field(None, description="Name of a bundled use case.")
    toml: Toml | None = Field(None, description="TOML text of a use case, in place of a name.")
    rates: Word | None = Field(
        None,
        description="Line rates of the interconnects; needs a use case.",
        examples=["10,25,100"],
    )


class EvaluateBody(Body):
    """Input of `icmodel evaluate`. The use case is a bundled name or a TOML text."""

    usecase: Word | None = Field(
        None, description="Name of a bundled use case.", examples=["imaging"]
    )
    toml: Toml | None = Field(None, description="TOML text of a use case, in place of a name.")
    dataset: Word = DATASET
    variant: Word | None = VARIANT
    candidate: Word | None = Field(None, description="Candidate that determines the verdict.")
    strict: bool = Field(
        False,
        description="Count a requirement as undecided if it is met only on assumed or extrapolated rows.",
    )


class SystemBody(Body):
    """Input of `icmodel system` and `icmodel recommend`, with a bundled name or a TOML text."""

    system: Word | None = Field(
        None, description="Name of a bundled system.", examples=["lab-direct"]
    )
    toml: Toml | None = Field(
        None,
        description="TOML text of a system, in place of a name. Its datasets and use case must be bundled.",
    )
    dataset: Word | None = Field(None, description="Bundled dataset for all streams.")
    variant: Word | None = VARIANT


class PredictSystemBody(SystemBody):
    """Input of `icmodel system predict`."""

    cycles: Word = Field(
        "refuse",
        description="Latency bounds if streams wait for each other in a cycle: refuse or fixed-point.",
    )


class CheckBody(Body):
    """Input of `icmodel system check`: the TOML text of a system."""

    toml: Toml


class UploadedFile(Body):
    """File with results of another tool: its name without a folder, and its text."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_ .,+=@-]{0,120}$")]
    text: Annotated[str, StringConstraints(max_length=LARGEST_FILE)]


class IngestBody(Body):
    """Input of `icmodel ingest`. Labels apply to all files."""

    files: Annotated[list[UploadedFile], Field(min_length=1, max_length=500)]
    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")] = Field(
        "uploaded", description="Id of the dataset."
    )
    tool: Word | None = Field(None, description="Tool that wrote all files.")
    protocol: Word | None = labelled("protocol")
    payload: Word | None = labelled("payload")
    load: Word | None = labelled("load", "1 Gb/s")
    cores: Count | None = labelled("cores")
    switches: Count | None = labelled("switches")
    endpoints: Count | None = labelled("endpoints")
    other_goodput: Word | None = labelled("other_goodput")
    host_cores: Count | None = labelled("host_cores", 4)
    option: dict[Word, Word] = Field({}, description="Values of option axes, by axis.")
    interconnect: Word | None = labelled("interconnect", "ethernet")
    line_rate: Word | None = labelled("line_rate")
    mtu: Word | None = labelled("mtu", "1500 B")
    title: Word | None = labelled("title")
    licence: Word | None = labelled("licence")
    citation: Word | None = labelled("citation")
    default_variant: Word | None = labelled("default_variant")

    def arguments(self) -> tuple[Any, ...]:
        """Return the arguments with which a worker process calls `icmodel.web.jobs.ingest`."""
        labels = LabelOptions(**words_of(self, LabelOptions))
        description = DatasetOptions(**words_of(self, DatasetOptions))
        files = [(file.name, file.text) for file in self.files]
        return files, self.name, self.tool, labels, description


FIELDS = {
    name
    for body in (SweepBody, PredictBody, CompareBody, EvaluateBody, PredictSystemBody, IngestBody)
    for name in body.model_fields
}
"""Keys of requests that are also options of the command line."""
_OPTION = re.compile(r"`[^`]*`|--([a-z]+(?:-[a-z]+)*)(?![\w-])")
"""Pattern of a whole command in backquotes, or of an option outside commands."""


def in_keys(text: str) -> str:
    """Replace Python parameters and command-line options in an error message by keys of a request.

    Commands in backquotes are not changed.

    Examples
    --------
    >>> in_keys("--message-within needs --message")
    'message_within needs message'
    """

    def key(found: re.Match[str]) -> str:
        name = (found[1] or "").replace("-", "_")
        return name if name in FIELDS else found[0]

    return _OPTION.sub(key, in_options(text))
