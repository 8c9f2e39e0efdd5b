"""JSON Schemas of the output of each command with ``--json``.

Programs may rely on the required keys; within a ``schema_version`` keys are only added. The output of
`icmodel plot --json` is Vega-Lite, which has a schema of its own.

A schema has the shape of the document that it describes: ``TEXT("id title") | {"points": [POINT]}`` is
an object with two texts and a list of points. A key that ends in ``?`` is optional. The key ``*`` stands
for all other keys; see `schema_of`.
"""

from __future__ import annotations

from typing import Any

from icmodel.errors import ScenarioError
from icmodel.estimate import BASES, BOTTLENECKS
from icmodel.ranges import WORK
from icmodel.requirement import OUTCOMES

Schema = dict[str, object]
Keys = dict[str, Any]
"""Keys of an object, each with its schema.

A schema is a `Value`, the keys of an inner object, or a list that holds one schema.
"""


class Value(Schema):
    """A JSON schema; calling it with names makes keys that all have this schema."""

    def __call__(self, names: str) -> Keys:
        """Return keys with this schema; ``names`` are separated by spaces."""
        return dict.fromkeys(names.split(), self)


def schema_of(of: Any) -> Value:
    """Return the schema of a value, list or object; objects without ``*`` allow further keys.

    Examples
    --------
    >>> schema_of({"id": TEXT, "rows?": COUNT})["required"]
    ['id']
    """
    if isinstance(of, Value):
        return of
    if isinstance(of, list):
        return Value(type="array", items=schema_of(of[0]))
    known = {name.removesuffix("?"): schema_of(one) for name, one in of.items() if name != "*"}
    schema = Value(type="object")
    if known:
        schema |= {"properties": known, "required": [name for name in of if name in known]}
    if "*" in of:
        schema["additionalProperties"] = schema_of(of["*"])
    return schema


def described(of: Keys, text: str) -> Value:
    """Return the schema of an object, with a description."""
    return Value({**schema_of(of), "description": text})


def reference(name: str) -> Value:
    """Return a reference to a schema of `PARTS` or `COMMANDS`."""
    return Value({"$ref": f"#/$defs/{name}"})


def or_null(of: Any) -> Value:
    """Return the schema of a value that may be null."""
    return Value(anyOf=[schema_of(of), {"type": "null"}])


GROUNDS = ("measured here", "published", "extrapolated", "theory only")
"""Possible grounds of a row in a comparison of interconnects.

They are copied from `icmodel.interconnects`, which is slow to import.
"""
DIALECT = "https://json-schema.org/draft/2020-12/schema"
TEXT, NUMBER, BOOLEAN = (Value(type=name) for name in ("string", "number", "boolean"))
NUMBER_OR_NULL, TEXT_OR_NULL, BOOLEAN_OR_NULL, INTEGER_OR_NULL = (
    Value(type=[name, "null"]) for name in ("number", "string", "boolean", "integer")
)
COUNT = Value(type="integer", minimum=0)
NUMBER_OR_INF = Value(anyOf=[NUMBER_OR_NULL, {"const": "inf"}])
BASIS = Value(enum=[*BASES, ""], description="Basis of a value; empty if there is none.")
OUTCOME = Value(enum=list(OUTCOMES))
ANYTHING, TEXTS = schema_of({}), schema_of([TEXT])
TEXTS_BY_NAME, NUMBERS_BY_NAME = schema_of({"*": TEXT}), schema_of({"*": NUMBER_OR_NULL})
ESTIMATE, DATASET, QUESTION = (reference(name) for name in ("estimate", "dataset", "scenario"))
PREDICTION = or_null(reference("predict"))

# --- what several commands print alike --------------------------------------------------------

ANSWER = {"schema_version": Value(const=1)}
OF_DATASET = ANSWER | DATASET("dataset")
USECASE = TEXT("name title question")
REQUIREMENT = TEXT("name metric") | NUMBER_OR_NULL("at_least at_most") | TEXT("kind")
VERDICT = {"requirement": REQUIREMENT, "outcome": OUTCOME, "estimate": ESTIMATE}
SCENARIO = {
    **TEXT("protocol"),
    **COUNT("payload_bytes"),
    **NUMBER_OR_NULL("rate_fps requested_goodput_bps cores distance_m line_rate_bps"),
    **COUNT("switches endpoints"),
    **NUMBER(f"other_goodput_bps cpu_clock_ratio {' '.join(WORK)}"),
    **TEXTS_BY_NAME("options"),
}
USED_ROW = {
    **COUNT("line"),
    **TEXT("metric"),
    **NUMBER_OR_NULL("payload_bytes"),
    **NUMBER_OR_INF("load_bps"),
    **NUMBER_OR_NULL("value"),
    **BASIS("basis"),
    **TEXT("source"),
}
PARTS: Keys = {
    "error": described(
        {"error": TEXT("kind message where")},
        "An error of any command: its class, its sentence, and the place in a file or the command.",
    ),
    "dataset": {"id": TEXT, "sha256": Value(type="string", pattern="^[0-9a-f]{64}$")},
    "estimate": described(
        NUMBER_OR_NULL("value low high") | {"basis": BASIS, "bases": [BASIS], "why": TEXT},
        "A metric in SI: value, 90 % interval, basis, and why if it is absent.",
    ),
    "point-estimate": NUMBER_OR_NULL("value low? high?") | BASIS("basis?"),
    "scenario": SCENARIO,
    "used-row": USED_ROW,
    "bottleneck": Value(enum=list(BOTTLENECKS)),
}

# --- use cases --------------------------------------------------------------------------------

DERIVATION = TEXT("name text formula meaning") | NUMBER_OR_NULL("value")
FINDING = {
    "requirement": REQUIREMENT,
    **TEXT("limiting why stream device remedy others_beyond"),
    "outcome": OUTCOME,
    "estimate": ESTIMATE,
    "rests_on": {"basis": BASIS, "bases": [BASIS], **TEXTS("sources"), **TEXT("settle")},
    **NUMBER_OR_NULL("margin asked_margin least_rate_fps"),
    **COUNT("streams"),
}
FINDINGS = schema_of([FINDING])
STREAM_ANSWER = QUESTION("scenario asked") | PREDICTION("prediction") | TEXT("stream why")
CANDIDATE = {
    **TEXT("name description"),
    "outcome": OUTCOME,
    "answers": [STREAM_ANSWER | TEXTS("notes")],
    **FINDINGS("findings readings"),
    **TEXTS("notes"),
    "derivations": [DERIVATION],
}
CHANGE = {
    "kind": Value(enum=["verdict", "added", "removed", "limit", "question", "dataset", "value"]),
    **TEXT("what where text"),
    "old": Value(type=["string", "number", "null"]),
    "new": Value(type=["string", "number", "null"]),
}
GROUND = {"ground": Value(enum=list(GROUNDS)), "outcome": OUTCOME, "basis": BASIS}
SOURCE = {
    **GROUND,
    **TEXT("dataset variant choice"),
    **NUMBER_OR_NULL("measured_line_rate_bps"),
    **TEXTS("protocols"),
    "scenarios": {"*": QUESTION},
    **FINDINGS("findings"),
    **TEXTS("notes"),
}
LINK = {
    **GROUND,
    **TEXT("interconnect protocol decided_by"),
    **NUMBER_OR_NULL("line_rate_bps"),
    **BOOLEAN("refuted_by_theory"),
    **TEXTS("measurements"),
    "source": SOURCE,
    "others": [SOURCE],
    "silent": [TEXT("dataset why")],
}

RANKED = {
    **COUNT("rank"),
    "class": Value(enum=["carries", "hosts open", "hosts fail", "impossible"]),
    **TEXT("interconnect protocol sentence"),
    "outcome": OUTCOME,
    "ground": Value(enum=list(GROUNDS)),
    "basis": BASIS,
    **NUMBER_OR_NULL("line_rate_bps wire_headroom host_headroom"),
    **INTEGER_OR_NULL("least_cores"),
}

# --- systems ----------------------------------------------------------------------------------

SYSTEM = TEXT("name title") | COUNT("devices switches links streams")
OF_SYSTEM = ANSWER | {"system": SYSTEM}
CHECK_FINDING = {
    "kind": Value(enum=["unconnected", "contradictory", "overloaded", "looped"]),
    "text": TEXT,
}
MODELS = TEXTS_BY_NAME("datasets") | TEXTS("variants")
QUEUE = NUMBER("load_ratio") | NUMBER_OR_NULL("backlog_bound_bytes")
PORT = QUEUE | NUMBER("asked_ratio") | ESTIMATE("backlog_mean_bytes")
STREAM = {
    **TEXT("group"),
    **TEXTS("path"),
    **ESTIMATE("goodput_bps latency_mean_s latency_p99_s message_latency_s loss_rate"),
    "latency_bound_s": or_null(
        NUMBER("value")
        | TEXT("method")
        | TEXTS("covers")
        | BOOLEAN("whole")
        | NUMBER_OR_NULL("network_s hosts_s application_s")
    ),
    **TEXT("no_bound bottleneck bottleneck_at"),
    **NUMBERS_BY_NAME("terms"),
    **TEXTS("notes"),
    **NUMBER("allowed_shortfall_ratio"),
    "arrival": {"outcome": OUTCOME} | TEXT("why late"),
    "message_times": {"*": ANYTHING},
}
JUDGED = VERDICT | NUMBER_OR_NULL("margin") | TEXT("limiting why")
DESIGN = {
    **TEXTS_BY_NAME("changed chosen"),
    **NUMBER_OR_NULL("cpu_cores cpu_send_cores cpu_recv_cores latency_mean_s fullest_ratio"),
    **NUMBER_OR_NULL("headroom_ratio interfaces cost"),
    **COUNT("changes"),
    "verdict": OUTCOME,
    "basis": BASIS,
    "open": [JUDGED | TEXT("where settle")],
}
DESIGNS = schema_of([DESIGN])
SEARCHED = {
    **COUNT("designs scored contradictory dominated not_looked_at may_meet"),
    **COUNT("undecided fail checked unchecked unpredicted"),
    **BOOLEAN("exhaustive"),
    **INTEGER_OR_NULL("tables_changed_at_most"),
}
LATE_BY_PHYSICS = {
    **TEXT("requirement streams port"),
    **NUMBER("bits rate_bps cable_m cable_s limit_s least_s total_bits"),
}
COMPARED = {
    **NUMBER_OR_NULL("predicted low high measured least most ratio"),
    **COUNT("passes"),
    **BOOLEAN_OR_NULL("inside"),
    **TEXT("why"),
}
BOUNDED = {
    **NUMBER_OR_NULL("bound measured measured_stolen"),
    **TEXTS("covers"),
    **BOOLEAN_OR_NULL("held"),
    **COUNT("passes_stolen"),
}
VERIFIED_STREAM = {
    **schema_of(COMPARED)("goodput_bps latency_mean_s latency_p99_s loss_rate?"),
    "latency_max_s": BOUNDED,
}

# --- the commands -----------------------------------------------------------------------------

METRIC = reference("point-estimate")
SWEPT = {"bottleneck?": reference("bottleneck"), "*": Value(anyOf=[METRIC, NUMBER_OR_NULL, TEXT])}
ROW = {
    **COUNT("line"),
    **TEXT("protocol"),
    **NUMBER_OR_INF("load_bps"),
    **NUMBER_OR_NULL("payload_bytes cores switches endpoints other_goodput_bps std low high n"),
    **TEXT("metric"),
    **NUMBER("value"),
    **BASIS("basis"),
    **TEXT("source *"),
}
SCORE = TEXT("error") | COUNT("n") | NUMBER_OR_NULL("median coverage")
LIMITS = {
    **COUNT("payload_bytes packets"),
    **NUMBER("wire_bits max_goodput_bps send_interval_s min_latency_s"),
    **BOOLEAN("aligned"),
}
COMMANDS: Keys = {
    "predict": described(
        {
            **ANSWER,
            "scenario": QUESTION,
            "dataset": DATASET,
            **TEXT("variant"),
            "bottleneck": reference("bottleneck"),
            **NUMBERS_BY_NAME("terms bounds"),
            "rows": [reference("used-row")],
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
        "ranking": [RANKED],
        **TEXTS("known_limits"),
    },
    "evaluate": {
        **ANSWER,
        **TEXT("variant candidate"),
        **BOOLEAN("strict"),
        "verdict": OUTCOME,
        **TEXTS("notes known_limits"),
        "usecase": USECASE,
        "derivations": [DERIVATION],
        "candidates": [CANDIDATE],
        "dataset": TEXT("id sha256") | TEXTS("known_limits"),
    },
    "evaluate --against": {
        **ANSWER,
        **TEXT("subject"),
        **BOOLEAN("verdict_changed"),
        "verdict": OUTCOME("old new"),
        "changes": [CHANGE],
    },
    "datasets list": {
        **ANSWER,
        "datasets": [
            TEXT("id title kind")
            | NUMBER_OR_NULL("line_rate_bps")
            | TEXTS("protocols")
            | COUNT("rows")
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
    | {"points": [described(ROW, "Every other key is an option axis.")]},
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
        **TEXTS_BY_NAME("asked"),
    },
    "system list": ANSWER | {"systems": [SYSTEM]},
    "system show": {
        **OF_SYSTEM,
        **TEXTS_BY_NAME("nodes"),
        "links": {"*": TEXTS("ends") | NUMBER("rate_bps") | TEXT_OR_NULL("dataset")},
        "ports": {"*": NUMBER("load_bps load_ratio") | TEXTS("streams")},
        "streams": {"*": TEXT("group source sink kind") | TEXTS("path") | COUNT("priority")},
    },
    "system check": OF_SYSTEM | {"findings": [CHECK_FINDING]},
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
        "physics": [LATE_BY_PHYSICS],
        **TEXT_OR_NULL("currency"),
    },
    "verify": {
        **ANSWER,
        **TEXT("system title folder"),
        "copy": NUMBER("slower")
        | INTEGER_OR_NULL("members")
        | TEXT("rule")
        | TEXTS("not_verified"),
        "prediction": TEXT("sha256 icmodel made_utc") | MODELS | TEXTS("differs_now"),
        "passes": [
            COUNT("number") | NUMBER("overlap_ratio") | BOOLEAN("counts") | {"flags": {"*": COUNT}}
        ],
        "streams": {"*": VERIFIED_STREAM},
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
        "points": [LIMITS],
    },
}


def output_schemas() -> Schema:
    """One JSON Schema document with the schema of each command under ``$defs``, by name."""
    return {
        "$schema": DIALECT,
        "title": "What icmodel prints with --json, by command",
        "$defs": {name: schema_of(of) for name, of in (PARTS | COMMANDS).items()},
    }


def output_schema(command: str) -> Schema:
    """JSON Schema of the output of one command with ``--json``.

    Raises
    ------
    ScenarioError
        If the command has no schema.

    Examples
    --------
    >>> output_schema("predict")["title"]
    'icmodel predict --json'
    """
    if command not in COMMANDS:
        raise ScenarioError(f"{command!r} has no schema: use one of {', '.join(COMMANDS)}")
    return {**output_schemas(), "title": f"icmodel {command} --json", **reference(command)}
