"""Schemas: the output of each command with ``--json``, as JSON Schema.

Programs may rely on the required keys; within a ``schema_version`` keys are only added. The output of
`icmodel plot --json` is Vega-Lite, which has a schema of its own.

A schema is written like what it describes: ``TEXT("id title") | {"points": [POINT]}`` is an object with two texts and
a list of points. A key that ends in ``?`` may be missing, and ``*`` stands for all other keys; see `_schema`.
"""

from __future__ import annotations

from typing import Any

from icmodel.errors import ScenarioError
from icmodel.estimate import BASES, BOTTLENECKS
from icmodel.ranges import WORK
from icmodel.requirement import OUTCOMES

Schema = dict[str, object]
Keys = dict[str, Any]
"""The keys of an object, each with what it holds: a `Value`, keys again, or a list of one of these."""


class Value(Schema):
    """A schema as it stands; called with names, the keys that hold it."""

    def __call__(self, names: str) -> Keys:
        """The keys of these names, which blanks separate."""
        return dict.fromkeys(names.split(), self)


def _schema(of: Any) -> Value:
    """The schema of a value, of a list or of an object; an object without ``*`` may have any further keys."""
    if isinstance(of, Value):
        return of
    if isinstance(of, list):
        return Value(type="array", items=_schema(of[0]))
    known = {name.removesuffix("?"): _schema(one) for name, one in of.items() if name != "*"}
    schema = Value(type="object")
    if known:
        schema |= {"properties": known, "required": [name for name in of if name in known]}
    if "*" in of:
        schema["additionalProperties"] = _schema(of["*"])
    return schema


def _described(of: Keys, text: str) -> Value:
    return Value({**_schema(of), "description": text})


def _part(name: str) -> Value:
    return Value({"$ref": f"#/$defs/{name}"})


def _or_null(of: Any) -> Value:
    return Value(anyOf=[_schema(of), {"type": "null"}])


GROUNDS = ("measured here", "published", "extrapolated", "theory only")
"""Sources of a row of a comparison; copied from `icmodel.interconnects`, which is slow to import."""
DIALECT = "https://json-schema.org/draft/2020-12/schema"
TEXT, NUMBER, TRUTH = (Value(type=name) for name in ("string", "number", "boolean"))
UNKNOWN, SAID, UNSURE, MEMBERS = (
    Value(type=[name, "null"]) for name in ("number", "string", "boolean", "integer")
)
COUNT = Value(type="integer", minimum=0)
UNLIMITED = Value(anyOf=[UNKNOWN, {"const": "inf"}])
BASIS = Value(enum=[*BASES, ""], description="What a value rests on; empty where none is.")
OUTCOME = Value(enum=list(OUTCOMES))
ANYTHING, TEXTS = _schema({}), _schema([TEXT])
TEXT_BY_NAME, UNKNOWN_BY_NAME = _schema({"*": TEXT}), _schema({"*": UNKNOWN})
ESTIMATE, DATASET, QUESTION = (_part(name) for name in ("estimate", "dataset", "scenario"))
PREDICTION = _or_null(_part("predict"))

# --- what several commands print alike --------------------------------------------------------

ANSWER = {"schema_version": Value(const=1)}
OF_DATASET = ANSWER | DATASET("dataset")
USECASE = TEXT("name title question")
REQUIREMENT = TEXT("name metric") | UNKNOWN("at_least at_most") | TEXT("kind")
VERDICT = {"requirement": REQUIREMENT, "outcome": OUTCOME, "estimate": ESTIMATE}
SCENARIO = {
    **TEXT("protocol"),
    **COUNT("payload_bytes"),
    **UNKNOWN("rate_fps requested_goodput_bps cores distance_m line_rate_bps"),
    **COUNT("switches endpoints"),
    **NUMBER(f"other_goodput_bps cpu_clock_ratio {' '.join(WORK)}"),
    **TEXT_BY_NAME("options"),
}
USED_ROW = {
    **COUNT("line"),
    **TEXT("metric"),
    **UNKNOWN("payload_bytes"),
    **UNLIMITED("load_bps"),
    **UNKNOWN("value"),
    **BASIS("basis"),
    **TEXT("source"),
}
PARTS: Keys = {
    "dataset": {"id": TEXT, "sha256": Value(type="string", pattern="^[0-9a-f]{64}$")},
    "estimate": _described(
        UNKNOWN("value low high") | {"basis": BASIS, "bases": [BASIS], "why": TEXT},
        "A metric in SI: value, 90 % interval, basis, and why where it is absent.",
    ),
    "point-estimate": UNKNOWN("value low? high?") | BASIS("basis?"),
    "scenario": SCENARIO,
    "used-row": USED_ROW,
    "bottleneck": Value(enum=list(BOTTLENECKS)),
}

# --- use cases --------------------------------------------------------------------------------

DERIVATION = TEXT("name text formula meaning") | UNKNOWN("value")
FINDING = {
    "requirement": REQUIREMENT,
    **TEXT("limiting why stream device remedy others_beyond"),
    "outcome": OUTCOME,
    "estimate": ESTIMATE,
    "rests_on": {"basis": BASIS, "bases": [BASIS], **TEXTS("sources"), **TEXT("settle")},
    **UNKNOWN("margin asked_margin least_rate_fps"),
    **COUNT("streams"),
}
FINDINGS = _schema([FINDING])
STREAM_ANSWER = QUESTION("scenario asked") | PREDICTION("prediction") | TEXT("stream why")
CANDIDATE = {
    **TEXT("name description"),
    "outcome": OUTCOME,
    "answers": [STREAM_ANSWER | TEXTS("notes")],
    **FINDINGS("findings readings"),
    **TEXTS("notes"),
    "derivations": [DERIVATION],
}
GROUND = {"ground": Value(enum=list(GROUNDS)), "outcome": OUTCOME, "basis": BASIS}
SPEAKER = {
    **GROUND,
    **TEXT("dataset variant choice"),
    **UNKNOWN("measured_line_rate_bps"),
    **TEXTS("protocols"),
    "scenarios": {"*": QUESTION},
    **FINDINGS("findings"),
    **TEXTS("notes"),
}
LINK = {
    **GROUND,
    **TEXT("interconnect protocol decided_by"),
    **UNKNOWN("line_rate_bps"),
    **TRUTH("refuted_by_theory"),
    **TEXTS("measurements"),
    "source": SPEAKER,
    "others": [SPEAKER],
    "silent": [TEXT("dataset why")],
}

# --- systems ----------------------------------------------------------------------------------

SYSTEM = TEXT("name title") | COUNT("devices switches links streams")
OF_SYSTEM = ANSWER | {"system": SYSTEM}
FLAW = {"kind": Value(enum=["unconnected", "contradictory", "overloaded", "looped"]), "text": TEXT}
MODELS = TEXT_BY_NAME("datasets") | TEXTS("variants")
QUEUE = NUMBER("load_ratio") | UNKNOWN("backlog_bound_bytes")
PORT = QUEUE | NUMBER("asked_ratio") | ESTIMATE("backlog_mean_bytes")
STREAM = {
    **TEXT("group"),
    **TEXTS("path"),
    **ESTIMATE("goodput_bps latency_mean_s latency_p99_s message_latency_s loss_rate"),
    "latency_bound_s": _or_null(
        NUMBER("value") | TEXT("method") | TEXTS("covers") | TRUTH("whole") | UNKNOWN("network_s")
    ),
    **TEXT("no_bound bottleneck bottleneck_at"),
    **UNKNOWN_BY_NAME("terms"),
    **TEXTS("notes"),
    **NUMBER("allowed_shortfall_ratio"),
    "arrival": {"outcome": OUTCOME} | TEXT("why late"),
    "message_times": {"*": ANYTHING},
}
JUDGED = VERDICT | UNKNOWN("margin") | TEXT("limiting why")
DESIGN = {
    **TEXT_BY_NAME("changed chosen"),
    **UNKNOWN("cpu_cores cpu_send_cores cpu_recv_cores latency_mean_s fullest_ratio"),
    **UNKNOWN("headroom_ratio interfaces cost"),
    **COUNT("changes"),
    "verdict": OUTCOME,
    "basis": BASIS,
    "open": [JUDGED | TEXT("where settle")],
}
DESIGNS = _schema([DESIGN])
SEARCHED = {
    **COUNT("designs scored contradictory dominated not_looked_at may_meet"),
    **COUNT("undecided fail checked unchecked unpredicted"),
    **TRUTH("exhaustive"),
    **MEMBERS("tables_changed_at_most"),
}
TOO_LATE = {
    **TEXT("requirement streams port"),
    **NUMBER("bits rate_bps cable_m cable_s limit_s least_s total_bits"),
}
COMPARED = {
    **UNKNOWN("predicted low high measured least most ratio"),
    **COUNT("passes"),
    **UNSURE("inside"),
    **TEXT("why"),
}
BOUNDED = {
    **UNKNOWN("bound measured measured_stolen"),
    **TEXTS("covers"),
    **UNSURE("held"),
    **COUNT("passes_stolen"),
}
PLAYED = {
    **_schema(COMPARED)("goodput_bps latency_mean_s latency_p99_s loss_rate?"),
    "latency_max_s": BOUNDED,
}

# --- the commands -----------------------------------------------------------------------------

METRIC = _part("point-estimate")
SWEPT = {"bottleneck?": _part("bottleneck"), "*": Value(anyOf=[METRIC, UNKNOWN, TEXT])}
ROW = {
    **COUNT("line"),
    **TEXT("protocol"),
    **UNLIMITED("load_bps"),
    **UNKNOWN("payload_bytes cores switches endpoints other_goodput_bps std low high n"),
    **TEXT("metric"),
    **NUMBER("value"),
    **BASIS("basis"),
    **TEXT("source *"),
}
SCORE = TEXT("error") | COUNT("n") | UNKNOWN("median coverage")
BY_PAYLOAD = {
    **COUNT("payload_bytes packets"),
    **NUMBER("wire_bits max_goodput_bps send_interval_s min_latency_s"),
    **TRUTH("aligned"),
}
COMMANDS: Keys = {
    "predict": _described(
        {
            **ANSWER,
            "scenario": QUESTION,
            "dataset": DATASET,
            **TEXT("variant"),
            "bottleneck": _part("bottleneck"),
            **UNKNOWN_BY_NAME("terms bounds"),
            "rows": [_part("used-row")],
            **TEXTS("notes"),
            **ESTIMATE("goodput_bps *"),
        },
        "Every other key is a metric.",
    ),
    "sweep": {
        **OF_DATASET,
        **TEXT("variant"),
        "fixed": {"*": Value(type=["string", "number", "null"])},
        **TEXTS("swept notes"),
        "points": [SWEPT],
    },
    "compare": ANSWER
    | {"columns": [TEXT("dataset variant protocol why") | PREDICTION("prediction")]},
    "compare --usecase": {
        **ANSWER,
        "usecase": USECASE,
        "verdict": OUTCOME,
        "rows": [LINK],
        **TEXTS("known_limits"),
    },
    "evaluate": {
        **ANSWER,
        **TEXT("variant candidate"),
        **TRUTH("strict"),
        "verdict": OUTCOME,
        **TEXTS("notes known_limits"),
        "usecase": USECASE,
        "derivations": [DERIVATION],
        "candidates": [CANDIDATE],
        "dataset": TEXT("id sha256") | TEXTS("known_limits"),
    },
    "datasets list": {
        **ANSWER,
        "datasets": [
            TEXT("id title kind") | UNKNOWN("line_rate_bps") | TEXTS("protocols") | COUNT("rows")
        ],
    },
    "datasets show": {
        **ANSWER,
        **TEXT("id title sha256 default_variant default_protocol licence citation"),
        **TEXTS("protocols"),
        **COUNT("rows"),
        "metrics": {"*": {"*": COUNT}},
        "interconnect": TEXT("kind"),
        "bases": {"*": COUNT},
    },
    "datasets points": OF_DATASET
    | {"points": [_described(ROW, "Every other key is an option axis.")]},
    "datasets check": OF_DATASET | COUNT("rows") | TEXTS("metrics"),
    "fit": OF_DATASET | TEXT("seal") | TEXTS("metrics") | COUNT("curves"),
    "usecases list": ANSWER | {"usecases": [USECASE | TEXTS("candidates")]},
    "system predict": {
        **ANSWER,
        **TEXT("system title"),
        **MODELS,
        "streams": {"*": STREAM},
        "links": {"*": QUEUE | {"ports": {"*": PORT}}},
        "devices": {"*": ESTIMATE("cpu cpu_cores") | {"by_core": [NUMBER]}},
        "requirements": [ANYTHING],
        "verdict": OUTCOME,
        **TEXTS("notes"),
        **TEXT_BY_NAME("asked"),
    },
    "system list": ANSWER | {"systems": [SYSTEM]},
    "system show": {
        **OF_SYSTEM,
        **TEXT_BY_NAME("nodes"),
        "links": {"*": TEXTS("ends") | NUMBER("rate_bps") | SAID("dataset")},
        "ports": {"*": NUMBER("load_bps load_ratio") | TEXTS("streams")},
        "streams": {"*": TEXT("group source sink kind") | TEXTS("path") | COUNT("priority")},
    },
    "system check": OF_SYSTEM | {"findings": [FLAW]},
    "recommend": {
        **ANSWER,
        **TEXT("system title"),
        **MODELS,
        "verdict": OUTCOME,
        "searched": SEARCHED,
        **TEXTS("scores_leave_out"),
        "own": DESIGN,
        **DESIGNS("front mends undecided"),
        "nearest": [JUDGED | TEXT("stream")],
        "physics": [TOO_LATE],
        **SAID("currency"),
    },
    "verify": {
        **ANSWER,
        **TEXT("system title folder"),
        "copy": NUMBER("slower") | MEMBERS("members") | TEXT("rule") | TEXTS("not_verified"),
        "prediction": TEXT("sha256 icmodel made_utc") | MODELS | TEXTS("differs_now"),
        "passes": [
            COUNT("number") | NUMBER("overlap_ratio") | TRUTH("counts") | {"flags": {"*": COUNT}}
        ],
        "streams": {"*": PLAYED},
        "devices": {"*": {"cpu_process_cores": COMPARED}},
        **COUNT("judged inside"),
        **TEXTS("exceeded"),
        "verdict": Value(enum=["agrees", "does not agree", "undecided"]),
    },
    "validate": {
        **OF_DATASET,
        **TEXT("variant"),
        "folds": {"*": COUNT("folds") | {"metrics": {"*": SCORE}}},
    },
    "theory": {
        **ANSWER,
        **TEXT("kind"),
        **NUMBER("line_rate_bps"),
        **ANYTHING("framing path"),
        **NUMBER("stream_goodput_bps"),
        "points": [BY_PAYLOAD],
    },
}


def output_schemas() -> Schema:
    """One JSON Schema document with what each command prints under ``$defs``, by its name."""
    return {
        "$schema": DIALECT,
        "title": "What icmodel prints with --json, by command",
        "$defs": {name: _schema(of) for name, of in (PARTS | COMMANDS).items()},
    }


def output_schema(command: str) -> Schema:
    """The JSON Schema of what one command prints with ``--json``.

    Raises
    ------
    ScenarioError
        If the command has none.
    """
    if command not in COMMANDS:
        raise ScenarioError(f"{command!r} has no schema: it is one of {', '.join(COMMANDS)}")
    return {**output_schemas(), "title": f"icmodel {command} --json", **_part(command)}
