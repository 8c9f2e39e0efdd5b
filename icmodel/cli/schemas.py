"""Schemas: the output of each command with ``--json``, as JSON Schema.

Programs may rely on the required keys; within a ``schema_version`` keys are only added. The output of
`icmodel plot --json` is Vega-Lite, which has a schema of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from icmodel.errors import ScenarioError
from icmodel.estimate import BASES, BOTTLENECKS
from icmodel.possible import WORK
from icmodel.requirement import OUTCOMES

Schema = dict[str, object]

GROUNDS = ("measured here", "published", "extrapolated", "theory only")
"""Sources of a row of a comparison; copied from `icmodel.interconnects`, which is slow to import."""
DIALECT = "https://json-schema.org/draft/2020-12/schema"
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
TRUTH: Schema = {"type": "boolean"}
UNKNOWN: Schema = {"type": ["number", "null"]}
UNLIMITED: Schema = {"anyOf": [UNKNOWN, {"const": "inf"}]}
BASIS: Schema = {"enum": [*BASES, ""], "description": "What a value rests on; empty where none is."}
OUTCOME: Schema = {"enum": list(OUTCOMES)}
VERSION: Schema = {"const": 1}


def _object(
    required: Mapping[str, Schema], rest: Schema | None = None, optional: tuple[str, ...] = ()
) -> Schema:
    """An object with these keys; further ones are like ``rest``, or anything."""
    needed = [name for name in required if name not in optional]
    schema: Schema = {"type": "object", "properties": dict(required), "required": needed}
    return schema if rest is None else {**schema, "additionalProperties": rest}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _by_name(of: Schema) -> Schema:
    return {"type": "object", "additionalProperties": of}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _question() -> Schema:
    numbers = ("rate_fps", "requested_goodput_bps", "cores", "distance_m", "line_rate_bps")
    known: dict[str, Schema] = {"protocol": TEXT, "payload_bytes": COUNT}
    known |= dict.fromkeys(numbers, UNKNOWN)
    known |= {"switches": COUNT, "endpoints": COUNT, "other_goodput_bps": NUMBER}
    known |= dict.fromkeys(("cpu_clock_ratio", *WORK), NUMBER)
    return _object({**known, "options": _by_name(TEXT)})


def _parts() -> dict[str, Schema]:
    """What several commands print alike."""
    ends = {"value": UNKNOWN, "low": UNKNOWN, "high": UNKNOWN, "basis": BASIS}
    return {
        "dataset": _object({"id": TEXT, "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}),
        "estimate": {
            **_object({**ends, "bases": _list(BASIS), "why": TEXT}),
            "description": "A metric in SI: value, 90 % interval, basis, and why where it is absent.",
        },
        "point-estimate": _object(ends, optional=("low", "high", "basis")),
        "scenario": _question(),
        "used-row": _object(
            {
                "line": COUNT,
                "metric": TEXT,
                "payload_bytes": UNKNOWN,
                "load_bps": UNLIMITED,
                "value": UNKNOWN,
                "basis": BASIS,
                "source": TEXT,
            }
        ),
        "bottleneck": {"enum": list(BOTTLENECKS)},
    }


def _answered(names: tuple[str, ...]) -> dict[str, Schema]:
    return {name: _ref(name) for name in names}


def _commands() -> dict[str, Schema]:
    listed = _object({"id": TEXT, "title": TEXT, "kind": TEXT, "line_rate_bps": UNKNOWN,
                      "protocols": _list(TEXT), "rows": COUNT})  # fmt: skip
    case = _object({"name": TEXT, "title": TEXT, "question": TEXT, "candidates": _list(TEXT)})
    return {
        "predict": _predict(),
        "sweep": _sweep(),
        "compare": _compare(),
        "compare --usecase": _compare_usecase(),
        "evaluate": _evaluate(),
        "datasets list": _object({"schema_version": VERSION, "datasets": _list(listed)}),
        "datasets show": _show(),
        "datasets points": _points(),
        "datasets check": _object(
            {
                "schema_version": VERSION,
                **_answered(("dataset",)),
                "rows": COUNT,
                "metrics": _list(TEXT),
            }
        ),
        "fit": _object(
            {
                "schema_version": VERSION,
                **_answered(("dataset",)),
                "seal": TEXT,
                "metrics": _list(TEXT),
                "curves": COUNT,
            }
        ),
        "usecases list": _object({"schema_version": VERSION, "usecases": _list(case)}),
        **_systems(),
        "recommend": _recommend(),
        "verify": _verify(),
        "validate": _validate(),
        "theory": _theory(),
    }


def _predict() -> Schema:
    known: dict[str, Schema] = {"schema_version": VERSION, **_answered(("scenario", "dataset"))}
    known |= {"variant": TEXT, "bottleneck": _ref("bottleneck"), "terms": _by_name(UNKNOWN)}
    known |= {
        "bounds": _by_name(UNKNOWN),
        "rows": _list(_ref("used-row")),
        "notes": _list(TEXT),
        "goodput_bps": _ref("estimate"),
    }
    return {**_object(known, _ref("estimate")), "description": "Every other key is a metric."}


def _sweep() -> Schema:
    value: Schema = {"anyOf": [_ref("point-estimate"), UNKNOWN, TEXT]}
    point = _object({"bottleneck": _ref("bottleneck")}, value, optional=("bottleneck",))
    known: dict[str, Schema] = {"schema_version": VERSION, **_answered(("dataset",))}
    fixed = _by_name({"type": ["string", "number", "null"]})
    return _object(
        {
            **known,
            "variant": TEXT,
            "fixed": fixed,
            "swept": _list(TEXT),
            "notes": _list(TEXT),
            "points": _list(point),
        }
    )


def _compare() -> Schema:
    prediction: Schema = {"anyOf": [_ref("predict"), {"type": "null"}]}
    column = _object(
        {"dataset": TEXT, "variant": TEXT, "protocol": TEXT, "why": TEXT, "prediction": prediction}
    )
    return _object({"schema_version": VERSION, "columns": _list(column)})


def _compare_usecase() -> Schema:
    source: dict[str, Schema] = {
        "ground": {"enum": list(GROUNDS)},
        "outcome": OUTCOME,
        "basis": BASIS,
    }
    texts = dict.fromkeys(("dataset", "variant", "choice"), TEXT)
    speaker = _object(
        {
            **source,
            **texts,
            "measured_line_rate_bps": UNKNOWN,
            "protocols": _list(TEXT),
            "scenarios": _by_name(_ref("scenario")),
            "findings": _list(_finding()),
            "notes": _list(TEXT),
        }
    )
    row = _object(
        {
            **source,
            **dict.fromkeys(("interconnect", "protocol", "decided_by"), TEXT),
            "line_rate_bps": UNKNOWN,
            "refuted_by_theory": TRUTH,
            "measurements": _list(TEXT),
            "source": speaker,
            "others": _list(speaker),
            "silent": _list(_object({"dataset": TEXT, "why": TEXT})),
        }
    )
    usecase = _object({"name": TEXT, "title": TEXT, "question": TEXT})
    known: dict[str, Schema] = {"schema_version": VERSION, "usecase": usecase, "verdict": OUTCOME}
    return _object({**known, "rows": _list(row), "known_limits": _list(TEXT)})


def _evaluate() -> Schema:
    texts = ("variant", "candidate")
    known: dict[str, Schema] = {"schema_version": VERSION, **dict.fromkeys(texts, TEXT)}
    known |= {"strict": TRUTH, "verdict": OUTCOME, "known_limits": _list(TEXT)}
    known |= {"usecase": _object({"name": TEXT, "title": TEXT, "question": TEXT})}
    known |= {"derivations": _list(_derivation()), "candidates": _list(_candidate())}
    dataset = _object({"id": TEXT, "sha256": TEXT, "known_limits": _list(TEXT)})
    return _object({**known, "dataset": dataset})


def _derivation() -> Schema:
    texts = dict.fromkeys(("name", "text", "formula", "meaning"), TEXT)
    return _object({**texts, "value": UNKNOWN})


def _candidate() -> Schema:
    prediction: Schema = {"anyOf": [_ref("predict"), {"type": "null"}]}
    scenarios = _answered(("scenario",)) | {"asked": _ref("scenario"), "prediction": prediction}
    answer = _object({**scenarios, "stream": TEXT, "why": TEXT, "notes": _list(TEXT)})
    known: dict[str, Schema] = {"name": TEXT, "description": TEXT, "outcome": OUTCOME}
    known |= {
        "answers": _list(answer),
        "findings": _list(_finding()),
        "readings": _list(_finding()),
        "notes": _list(TEXT),
    }
    return _object({**known, "derivations": _list(_derivation())})


def _finding() -> Schema:
    rests = _object({"basis": BASIS, "bases": _list(BASIS), "sources": _list(TEXT), "settle": TEXT})
    requirement = _object(
        {"name": TEXT, "metric": TEXT, "at_least": UNKNOWN, "at_most": UNKNOWN, "kind": TEXT}
    )
    texts = ("limiting", "why", "stream", "device", "remedy", "others_beyond")
    known: dict[str, Schema] = {"requirement": requirement, **dict.fromkeys(texts, TEXT)}
    known |= {"outcome": OUTCOME, "estimate": _ref("estimate"), "rests_on": rests}
    numbers = ("margin", "asked_margin", "least_rate_fps")
    return _object({**known, **dict.fromkeys(numbers, UNKNOWN), "streams": COUNT})


def _show() -> Schema:
    texts = ("id", "title", "sha256", "default_variant", "default_protocol", "licence", "citation")
    known: dict[str, Schema] = {"schema_version": VERSION, **dict.fromkeys(texts, TEXT)}
    known |= {"protocols": _list(TEXT), "rows": COUNT, "metrics": _by_name(_by_name(COUNT))}
    return _object({**known, "interconnect": _object({"kind": TEXT}), "bases": _by_name(COUNT)})


def _points() -> Schema:
    axes = ("payload_bytes", "cores", "switches", "endpoints", "other_goodput_bps")
    known: dict[str, Schema] = {"line": COUNT, "protocol": TEXT, "load_bps": UNLIMITED}
    known |= dict.fromkeys((*axes, "std", "low", "high", "n"), UNKNOWN)
    known |= {"metric": TEXT, "value": NUMBER, "basis": BASIS, "source": TEXT}
    point = {**_object(known, TEXT), "description": "Every other key is an option axis."}
    dataset = _answered(("dataset",))
    return _object({"schema_version": VERSION, **dataset, "points": _list(point)})


def _systems() -> dict[str, Schema]:
    things = dict.fromkeys(("devices", "switches", "links", "streams"), COUNT)
    counts = _object({"name": TEXT, "title": TEXT, **things})
    known = {"schema_version": VERSION, "system": counts}
    kinds = ["unconnected", "contradictory", "overloaded", "looped"]
    finding = _object({"kind": {"enum": kinds}, "text": TEXT})
    link = _object(
        {"ends": _list(TEXT), "rate_bps": NUMBER, "dataset": {"type": ["string", "null"]}}
    )
    port = _object({"load_bps": NUMBER, "load_ratio": NUMBER, "streams": _list(TEXT)})
    stream = _object(
        {
            **dict.fromkeys(("group", "source", "sink", "kind"), TEXT),
            "path": _list(TEXT),
            "priority": COUNT,
        }
    )
    parts = {"nodes": _by_name(TEXT), "links": _by_name(link), "ports": _by_name(port)}
    return {
        "system predict": _system_predicted(),
        "system list": _object({"schema_version": VERSION, "systems": _list(counts)}),
        "system show": _object({**known, **parts, "streams": _by_name(stream)}),
        "system check": _object({**known, "findings": _list(finding)}),
    }


def _system_predicted() -> Schema:
    metric = _ref("estimate")
    bound = _object({"value": NUMBER, "method": TEXT, "covers": _list(TEXT)})
    metrics = ("goodput_bps", "latency_mean_s", "latency_p99_s", "message_latency_s", "loss_rate")
    stream = _object(
        {
            "group": TEXT,
            "path": _list(TEXT),
            **dict.fromkeys(metrics, metric),
            "latency_bound_s": {"anyOf": [bound, {"type": "null"}]},
            **dict.fromkeys(("no_bound", "bottleneck", "bottleneck_at"), TEXT),
            "terms": _by_name(UNKNOWN),
            "notes": _list(TEXT),
        }
    )
    queue: dict[str, Schema] = {"load_ratio": NUMBER, "backlog_bound_bytes": UNKNOWN}
    port = _object({**queue, "asked_ratio": NUMBER, "backlog_mean_bytes": metric})
    device = _object({"cpu": metric, "cpu_cores": metric, "by_core": _list(NUMBER)})
    return _object(
        {
            "schema_version": VERSION,
            **dict.fromkeys(("system", "title"), TEXT),
            "datasets": _by_name(TEXT),
            "variants": _list(TEXT),
            "streams": _by_name(stream),
            "links": _by_name(_object({**queue, "ports": _by_name(port)})),
            "devices": _by_name(device),
            "requirements": _list({"type": "object"}),
            "verdict": OUTCOME,
            "notes": _list(TEXT),
        }
    )


def _design(verdict: Mapping[str, Schema]) -> Schema:
    numbers = ("cpu_cores", "cpu_send_cores", "cpu_recv_cores", "latency_mean_s", "fullest_ratio")
    return _object(
        {
            **dict.fromkeys(("changed", "chosen"), _by_name(TEXT)),
            **dict.fromkeys((*numbers, "headroom_ratio", "interfaces", "cost"), UNKNOWN),
            "changes": COUNT,
            "verdict": OUTCOME,
            "basis": BASIS,
            "open": _list(_object({**verdict, "where": TEXT, "settle": TEXT})),
        }
    )


def _recommend() -> Schema:
    limits = {"name": TEXT, "metric": TEXT, "at_least": UNKNOWN, "at_most": UNKNOWN, "kind": TEXT}
    verdict: dict[str, Schema] = {
        "requirement": _object(limits),
        "outcome": OUTCOME,
        "estimate": _ref("estimate"),
        "margin": UNKNOWN,
        **dict.fromkeys(("limiting", "why"), TEXT),
    }
    design = _design(verdict)
    counts = ("designs", "scored", "contradictory", "dominated", "not_looked_at", "may_meet")
    searched = dict.fromkeys(
        (*counts, "undecided", "fail", "checked", "unchecked", "unpredicted"), COUNT
    )
    tables: Schema = {"type": ["integer", "null"]}
    lengths = ("bits", "rate_bps", "cable_m", "cable_s", "limit_s", "least_s", "total_bits")
    late = _object(
        {
            **dict.fromkeys(("requirement", "streams", "port"), TEXT),
            **dict.fromkeys(lengths, NUMBER),
        }
    )
    return _object(
        {
            "schema_version": VERSION,
            **dict.fromkeys(("system", "title"), TEXT),
            "datasets": _by_name(TEXT),
            "variants": _list(TEXT),
            "verdict": OUTCOME,
            "searched": _object(
                {**searched, "exhaustive": TRUTH, "tables_changed_at_most": tables}
            ),
            "scores_leave_out": _list(TEXT),
            "own": design,
            **dict.fromkeys(("front", "mends", "undecided"), _list(design)),
            "nearest": _list(_object({**verdict, "stream": TEXT})),
            "physics": _list(late),
            "currency": {"type": ["string", "null"]},
        }
    )


def _verify() -> Schema:
    numbers = ("predicted", "low", "high", "measured", "least", "most", "ratio")
    unsure: Schema = {"type": ["boolean", "null"]}
    compared = _object(
        {**dict.fromkeys(numbers, UNKNOWN), "passes": COUNT, "inside": unsure, "why": TEXT}
    )
    latencies = dict.fromkeys(("bound", "measured", "measured_stolen"), UNKNOWN)
    bound = _object({**latencies, "covers": _list(TEXT), "held": unsure, "passes_stolen": COUNT})
    metrics = ("goodput_bps", "latency_mean_s", "latency_p99_s", "loss_rate")
    stream = _object(
        {**dict.fromkeys(metrics, compared), "latency_max_s": bound}, optional=("loss_rate",)
    )
    copy: dict[str, Schema] = {
        "slower": NUMBER,
        "members": {"type": ["integer", "null"]},
        "rule": TEXT,
        "not_verified": _list(TEXT),
    }
    predicted: dict[str, Schema] = {
        **dict.fromkeys(("sha256", "icmodel", "made_utc"), TEXT),
        "datasets": _by_name(TEXT),
        "variants": _list(TEXT),
        "differs_now": _list(TEXT),
    }
    one_pass = _object(
        {"number": COUNT, "overlap_ratio": NUMBER, "counts": TRUTH, "flags": _by_name(COUNT)}
    )
    return _object(
        {
            "schema_version": VERSION,
            **dict.fromkeys(("system", "title", "folder"), TEXT),
            "copy": _object(copy),
            "prediction": _object(predicted),
            "passes": _list(one_pass),
            "streams": _by_name(stream),
            "devices": _by_name(_object({"cpu_process_cores": compared})),
            "judged": COUNT,
            "inside": COUNT,
            "exceeded": _list(TEXT),
            "verdict": {"enum": ["agrees", "does not agree", "undecided"]},
        }
    )


def _validate() -> Schema:
    score = _object({"error": TEXT, "n": COUNT, "median": UNKNOWN, "coverage": UNKNOWN})
    fold = _object({"folds": COUNT, "metrics": _by_name(score)})
    known: dict[str, Schema] = {"schema_version": VERSION, **_answered(("dataset",))}
    return _object({**known, "variant": TEXT, "folds": _by_name(fold)})


def _theory() -> Schema:
    point = _object(
        {
            "payload_bytes": COUNT,
            "packets": COUNT,
            "wire_bits": NUMBER,
            "max_goodput_bps": NUMBER,
            "send_interval_s": NUMBER,
            "min_latency_s": NUMBER,
            "aligned": TRUTH,
        }
    )
    anything: Schema = {"type": "object"}
    known: dict[str, Schema] = {"schema_version": VERSION, "kind": TEXT, "line_rate_bps": NUMBER}
    known |= {"framing": anything, "path": anything, "stream_goodput_bps": NUMBER}
    return _object({**known, "points": _list(point)})


def output_schemas() -> Schema:
    """One JSON Schema document with what each command prints under ``$defs``, by its name."""
    return {
        "$schema": DIALECT,
        "title": "What icmodel prints with --json, by command",
        "$defs": {**_parts(), **_commands()},
    }


def output_schema(command: str) -> Schema:
    """The JSON Schema of what one command prints with ``--json``.

    Raises
    ------
    ScenarioError
        If the command has none.
    """
    known = _commands()
    if command not in known:
        raise ScenarioError(f"{command!r} has no schema: it is one of {', '.join(known)}")
    return {**output_schemas(), "title": f"icmodel {command} --json", **_ref(command)}
