"""The HTTP API answers what the command line prints, with the same sentences."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from checkout import ROOT
from cli_case import RunIcmodel
from icmodel.dataset import VARIANTS, catalogue, load
from icmodel.questions.words import Question
from icmodel.system import find_system, system_names
from icmodel.usecase import find_usecase, usecase_names
from icmodel.web import bodies
from icmodel.web.bodies import Body, PredictBody, QuestionBody, in_keys
from icmodel.web.place import Place
from icmodel.web.problems import FIXES
from icmodel.web.server import make_app
from ingest_cases import OPTIONS_OF_TOOLS
from recommend_case import SMALL, opened
from search import mostly_long
from test_cli import examples
from test_docs import documents, executed, steps
from web_case import Server, problem, request_of

LONG = (
    "compare --usecase motion-control",
    "compare --usecase imaging --dataset ethernet-10g-2012,mpi-csd3,rapidio-tsi721",
    "compare --usecase cameras --rates 10,25,100",
    'sweep --dataset lab-1g-2026 --protocol tcp --payload "256 B" --app-send "0 s, 1 us, 5 us, 20 us"',
    "recommend imaging",
)
"""Commands that search or fit for seconds; shorter ones of their kind are compared."""
UNKNOWN = "there is no dataset"
"""Beginning of the one sentence that differs: the API offers no paths."""


PATHS = make_app(Place()).openapi()["paths"]
"""Operations of the API, by path."""


def shown() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every command with a request that help, README or docs show: its line and its request, once."""
    lines = [*examples()]
    for name in documents():
        for block in executed(name):
            if block.language == "console":
                lines += [step.command.partition(" # exit")[0] for step in steps(block)]
    known = []
    for line in lines:
        if not line.startswith("icmodel ") or any(sign in line for sign in "|>;&"):
            continue
        request = request_of(line)
        own = "office-25g" in line or line.removeprefix("icmodel ").strip() in LONG
        if request is not None and request not in known and not own:
            known.append(request)
            yield line, *request


SHOWN = list(shown())
FIRST = list(
    {(path, *sorted(body)): (line, path, body) for line, path, body in SHOWN[::-1]}.values()
)
"""The first command of each choice of words; `make measure` compares the others, which have other values."""


def printed(run_icmodel: RunIcmodel, line: str) -> Any:
    """What a command prints with --json; if it fails, its sentence."""
    words = shlex.split(line)[1:]
    if "-o" in words:
        at = words.index("-o")
        words = [*words[:at], *words[at + 2 :]]
    answer = run_icmodel(shlex.join([*(word for word in words if word != "--json"), "--json"]))
    document = answer.json
    return document["error"]["message"] if "error" in document else document


@pytest.mark.parametrize(
    ("line", "path", "body"), mostly_long(SHOWN, FIRST), ids=[line for line, *_ in SHOWN]
)
def test_a_request_answers_what_the_command_prints(
    line: str, path: str, body: dict[str, Any], server: Server, run_icmodel: RunIcmodel
) -> None:
    expected, answer = printed(run_icmodel, line), server.post(path, body)
    if isinstance(expected, str):
        detail = problem(answer)["detail"]
        assert answer.status_code == 422
        assert detail == in_keys(expected) or (
            detail.startswith(UNKNOWN) and expected.startswith(UNKNOWN)
        )
    else:
        assert answer.status_code == 200, answer.text
        assert answer.json() == expected


def test_every_command_is_compared() -> None:
    assert {path for _, path, _ in SHOWN} == {
        "predict",
        "sweep",
        "compare",
        "evaluate",
        "system",
        "recommend",
    }
    assert len(SHOWN) > 50


WRONG = {
    "predict --rate 5/s": ("predict", {"rate": "5/s"}),
    "predict --payload '64 B' --cores 0.5": ("predict", {"payload": "64 B", "cores": "0.5"}),
    "predict --payload '64 B' --solve size": ("predict", {"payload": "64 B", "solve": "size"}),
    "predict --payload '64 B' --goodput '1 Gb/s'": (
        "predict",
        {"payload": "64 B", "goodput": "1 Gb/s"},
    ),
    "predict --payload '64 B' --variant best": ("predict", {"payload": "64 B", "variant": "best"}),
    "predict --payload '64 B' --protocol quic": (
        "predict",
        {"payload": "64 B", "protocol": "quic"},
    ),
    "predict --payload '1 MB'": ("predict", {"payload": "1 MB"}),
    "predict --payload '64 B' --option nagle=maybe": (
        "predict",
        {"payload": "64 B", "option": {"nagle": "maybe"}},
    ),
    "predict --payload '64 B' --solve rate --goodput '1e300 b/s'": (
        "predict",
        {"payload": "64 B", "solve": "rate", "goodput": "1e300 b/s"},
    ),
    "sweep --payload '64 B..1 B'": ("sweep", {"payload": "64 B..1 B"}),
    "sweep --rate 5/s": ("sweep", {"rate": "5/s"}),
    "sweep --payload '64 B' --extrapolate --allow-gaps": (
        "sweep",
        {"payload": "64 B", "extrapolate": True, "allow_gaps": True},
    ),
    "compare --payload '64 B' --protocol quic": (
        "compare",
        {"payload": "64 B", "protocol": ["quic"]},
    ),
    "compare --usecase imaging --payload '64 B'": (
        "compare",
        {"usecase": "imaging", "payload": "64 B"},
    ),
    "compare --usecase imaging --extrapolate": (
        "compare",
        {"usecase": "imaging", "extrapolate": True},
    ),
    "evaluate imaging --candidate none": ("evaluate", {"usecase": "imaging", "candidate": "none"}),
    "system imaging --cycles maybe": ("system", {"system": "imaging", "cycles": "maybe"}),
}


@pytest.mark.parametrize("line", WRONG)
def test_a_refusal_is_the_sentence_of_the_command_line(
    line: str, server: Server, run_icmodel: RunIcmodel
) -> None:
    path, body = WRONG[line]
    answer = server.post(path, body)
    assert answer.status_code == 422
    assert problem(answer)["detail"] == in_keys(printed(run_icmodel, f"icmodel {line}"))


def sentences() -> Iterator[str]:
    """Every refusal in the modules that a request reaches in keys, without its values and its commands in backquotes."""
    packages = ("questions", "model", "ingest", "sweep", "usecase", "system", "recommend")
    files = [one for name in packages for one in (ROOT / "icmodel" / name).rglob("*.py")]
    for file in (*files, *(ROOT / "icmodel").glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Raise) and node.exc is not None:
                parts = [one.value for one in ast.walk(node.exc) if isinstance(one, ast.Constant)]
                yield re.sub("`[^`]*`", "", in_keys("".join(map(str, parts))))


def test_a_refusal_of_a_request_names_no_option_of_the_command_line() -> None:
    every = list(sentences())
    assert len(every) > 200
    named = {name for one in every for name in re.findall(r"--[a-z][\w-]*", one)}
    assert named <= {"--bandwidth", *OPTIONS_OF_TOOLS}


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("predict", {}, 'the question has no payload: give one, e.g. payload "1448 B"'),
        (
            "predict",
            {"payload": "64 B", "message_within": "1 ms"},
            'message_within needs the size of the message: add message "14.7 MB"',
        ),
        (
            "ingest",
            {"files": [{"name": "x.txt", "text": "nothing"}]},
            "name the tool with tool, or map the columns of a table with `icmodel ingest --map`",
        ),
        (
            "predict",
            {"payload": "64 B", "cores": str(10**20)},
            "give a whole number from 1 to 9007199254740992, without a unit",
        ),
        (
            "predict",
            {"payload": "64 B", "cores": 10**20},
            "give at most 9007199254740992, e.g. 4",
        ),
    ],
)
def test_a_refusal_of_a_request_names_its_keys(
    server: Server, path: str, body: object, says: str
) -> None:
    assert problem(server.post(path, body))["detail"].endswith(says)


@pytest.mark.parametrize("name", mostly_long(catalogue(), list(catalogue())[::3]))
def test_every_dataset_is_shown_and_asked(
    name: str, server: Server, run_icmodel: RunIcmodel
) -> None:
    data = load(name)
    document = server.get(f"datasets/{name}").json()
    assert document == printed(run_icmodel, f"icmodel datasets show {name}")
    metric = data.metrics[0]
    points = server.get(f"datasets/{name}/points?metric={metric}").json()
    assert points == printed(run_icmodel, f"icmodel datasets points {name} --metric {metric}")
    sizes = sorted({one.payload_bytes for one in data.points if one.payload_bytes}) or [64]
    for variant in VARIANTS:
        words = f"--dataset {name} --variant {variant} --payload '{sizes[-1]} B'"
        expected = printed(run_icmodel, f"icmodel predict {words}")
        body = {"dataset": name, "variant": variant, "payload": f"{sizes[-1]} B"}
        answer = server.post("predict", body)
        assert (
            problem(answer)["detail"] if isinstance(expected, str) else answer.json()
        ) == expected


def test_what_there_is(server: Server, run_icmodel: RunIcmodel) -> None:
    for path, line in (
        ("datasets", "datasets list"),
        ("usecases", "usecases list"),
        ("systems", "system list"),
    ):
        assert server.get(path).json() == printed(run_icmodel, f"icmodel {line}")
    index = server.get("").json()
    assert index["datasets"] == list(catalogue())
    assert index["usecases"] == list(usecase_names())
    assert index["systems"] == list(system_names())


@pytest.mark.parametrize("name", usecase_names())
def test_a_use_case_is_shown_with_its_text(
    name: str, server: Server, run_icmodel: RunIcmodel
) -> None:
    document = server.get(f"usecases/{name}").json()
    assert document.pop("toml") == find_usecase(name).read_text(encoding="utf-8")
    assert document == printed(run_icmodel, f"icmodel usecases show {name}")


@pytest.mark.parametrize("name", ["imaging", "lab-chain"])
def test_a_system_is_shown_with_its_text(
    name: str, server: Server, run_icmodel: RunIcmodel
) -> None:
    document = server.get(f"systems/{name}").json()
    assert document.pop("toml") == find_system(name).read_text(encoding="utf-8")
    assert document == printed(run_icmodel, f"icmodel system show {name}")


def test_texts_stand_in_for_names(server: Server, run_icmodel: RunIcmodel) -> None:
    case = find_usecase("imaging").read_text(encoding="utf-8")
    assert server.post("evaluate", {"toml": case}).json() == printed(
        run_icmodel, "icmodel evaluate imaging"
    )
    system = find_system("lab-chain").read_text(encoding="utf-8")
    assert server.post("system", {"toml": system}).json() == printed(
        run_icmodel, "icmodel system lab-chain"
    )
    assert server.post("system/check", {"toml": system}).json() == printed(
        run_icmodel, "icmodel system check lab-chain"
    )


def test_recommend_takes_a_text(server: Server, run_icmodel: RunIcmodel, tmp_path: Any) -> None:
    opened(tmp_path, SMALL)
    text = (tmp_path / "own.toml").read_text(encoding="utf-8")
    answer = server.post("recommend", {"toml": text})
    assert answer.json() == printed(run_icmodel, f"icmodel recommend {tmp_path / 'own.toml'}")


def test_unknown_names_are_not_found(server: Server) -> None:
    for path in ("datasets/none", "datasets/none/points", "usecases/none", "systems/none"):
        answer = server.get(path)
        assert answer.status_code == 404
        assert "'none'" in problem(answer)["detail"]
    assert problem(server.get("validation/none"))["status"] == 404
    assert problem(server.get("nothing"))["status"] == 404


@pytest.mark.parametrize(
    "path",
    [path for path, operations in PATHS.items() if "get" in operations],
)
def test_an_unknown_query_key_is_refused_with_the_known_ones(server: Server, path: str) -> None:
    parameters = PATHS[path]["get"].get("parameters", ())
    known = [one["name"] for one in parameters if one["in"] == "query"]
    fix = f"use one of {', '.join(known)}" if known else "leave it out"
    answer = server.get(f"../..{path.format(name='imaging')}?metrics=loss_rate")
    assert answer.status_code == 422
    assert problem(answer)["where"] == "metrics"
    assert problem(answer)["detail"] == f"the query key 'metrics' is unknown: {fix}"


def test_an_unknown_query_key_of_a_post_is_refused(server: Server) -> None:
    answer = server.post("predict?extrapolate=true", {"payload": "64 B"})
    fix = "leave it out"
    assert problem(answer)["detail"] == f"the query key 'extrapolate' is unknown: {fix}"


def test_a_request_has_exactly_the_words_of_the_command_line() -> None:
    assert set(QuestionBody.model_fields) == set(Question.__dataclass_fields__)
    body = PredictBody(payload="64 B", cores=4, option={"nagle": "off"})
    assert body.question() == Question(payload="64 B", cores="4", option=["nagle=off"])


@pytest.mark.parametrize("cores", [2.5, -1, True])
def test_a_wrong_count_is_named_by_its_key(server: Server, cores: object) -> None:
    assert problem(server.post("predict", {"payload": "64 B", "cores": cores}))["where"] == "cores"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"payload": 64}, 'payload 64 is not possible: give a text, e.g. "1448 B"'),
        ({"rate": 6700}, 'rate 6700 is not possible: give a text, e.g. "6700/s"'),
        ({"cores": -1}, "cores -1 is not possible: give 0 or more, e.g. 4"),
        ({"extrapolate": "yes"}, 'extrapolate "yes" is not possible: give true or false'),
        (
            {"option": "nagle=off"},
            'option "nagle=off" is not possible: give an object, e.g. {"nagle": "off"}',
        ),
        ([], "body [] is not possible: give an object"),
    ],
)
def test_a_wrong_value_of_a_request_is_told_with_the_fix(
    server: Server, body: object, says: str
) -> None:
    assert problem(server.post("predict", body))["detail"] == says


def test_a_wrong_list_of_a_request_is_told_with_the_fix(server: Server) -> None:
    told = problem(server.post("sweep", {"payload": "64 B", "protocol": "tcp"}))["detail"]
    assert told == 'protocol "tcp" is not possible: give a list, e.g. ["tcp"]'


@pytest.mark.parametrize(
    "body",
    [one for one in vars(bodies).values() if isinstance(one, type) and issubclass(one, Body)],
)
def test_every_mistake_in_a_request_has_a_fix(body: type[Body]) -> None:
    wrong: list[object] = [None, True, -1, 2.5, "", "?" * 600_000, [], {}, [5], ["a"] * 1000]
    types: set[str] = set()
    for name in body.model_fields:
        for value in wrong:
            try:
                body.model_validate({name: value})
            except ValidationError as error:
                types |= {one["type"] for one in error.errors()}
    assert types <= {*FIXES, "missing"}


def test_a_wrong_path_of_a_post_says_where_the_right_ones_stand(server: Server) -> None:
    assert "/docs lists" in problem(server.post("predicts", {}))["detail"]


def test_a_mistake_in_toml_has_its_line(server: Server) -> None:
    answer = problem(server.post("system/check", {"toml": "schema_version = 1\nname = \n"}))
    assert answer["where"] == "line 2, column 8"


def test_results_of_other_tools_are_taken_or_refused(server: Server) -> None:
    good = "message size: 64 [B]\nroundtrip count: 10000\naverage latency: 21.5 [us]\n"
    files = [{"name": "good.txt", "text": good}, {"name": "bad.txt", "text": "nothing"}]
    answer = server.post("ingest", {"files": files, "name": "own", "line_rate": "1 Gb/s"}).json()
    assert [one["file"] for one in answer["files"]] == ["good.txt"]
    assert [one["file"] for one in answer["refused"]] == ["bad.txt"]
    assert ",0.0000215," in answer["folder"]["points.csv"]
    assert 'id = "own"' in answer["folder"]["dataset.toml"]
    refused = server.post("ingest", {"files": files[1:]})
    assert problem(refused)["detail"].startswith("bad.txt: ")


def test_validation_scores_and_shows_the_stored_coverage(server: Server) -> None:
    answer = server.get(
        "validation/mpi-infiniband-roce?folds=leave-one-out&most=3&variant=corrected"
    )
    document = answer.json()
    assert document["folds"]["leave-one-out"]["folds"] == 3
    assert json.loads(json.dumps(document["kept"])).keys() <= set(VARIANTS)


def test_a_sweep_that_is_too_large_names_the_limit_and_the_command(server: Server) -> None:
    body = {"payload": "64 B..8063 B:8000"}
    told = problem(server.post("sweep", body))
    assert told["status"] == 422
    assert told["detail"] == (
        "the sweep has 8000 points: ask the server for at most 4000, or run the same question with "
        "`icmodel sweep -o grid.csv`"
    )
    document = server.get("../../openapi.json").json()
    assert "up to 4000 points" in document["paths"]["/api/v1/sweep"]["post"]["description"]
