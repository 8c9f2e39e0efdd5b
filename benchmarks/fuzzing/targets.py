"""Fuzz targets: each reader of icmodel as a function of input bytes, with valid seed inputs."""

from __future__ import annotations

import asyncio
import io
import json
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Unpack

import anyio.to_thread
import httpx

from icmodel import calibrate, fold, ingest, sheets, system, usecase
from icmodel.calibrate.state import Folder as Calibrated
from icmodel.calibrate.state import opened
from icmodel.cli.against import changes_since, read_result
from icmodel.dataset import load, shipped
from icmodel.dataset.check import check_dataset
from icmodel.fits.store import read
from icmodel.model import Model
from icmodel.report.masthead import masthead as read_masthead
from icmodel.system.formats import EXPORTS, export_system, import_system
from icmodel.verify import folder as verified
from icmodel.web import guard
from icmodel.web.place import Place
from icmodel.web.server import make_app
from icmodel.web.work import Executor, Ts

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "cases"
GOLDEN = ROOT / "calibration" / "tests" / "golden"
SMALL = "zeromq-100g-2019"
"""Dataset with few rows, which a model reads in milliseconds."""


@dataclass(frozen=True)
class Target:
    """Reader to fuzz: ``ask`` runs it on the files of an input; ``seeds`` yields valid inputs."""

    ask: Callable[[Sequence[bytes], Path], object]
    seeds: Callable[[], Iterator[Sequence[bytes]]]


def place() -> Path:
    """Make a new folder, in memory if /dev/shm exists."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="icmodel-fuzz-", dir=memory if memory.is_dir() else None))


def files_of(parts: Sequence[bytes], names: Sequence[str], folder: Path) -> list[Path]:
    """Write the parts of an input as files with these names; a missing part makes no file."""
    written = []
    for name, part in zip(names, parts, strict=False):
        (folder / name).write_bytes(part)
        written.append(folder / name)
    return written


def archive(names: Sequence[str], parts: Sequence[bytes]) -> bytes:
    """Pack parts into a ZIP archive under their names; return a single part unchanged."""
    if len(parts) == 1:
        return parts[0]
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as packed:
        for name, part in zip(names, parts, strict=False):
            packed.writestr(name, part)
    return body.getvalue()


def members(body: bytes, names: Sequence[str]) -> list[bytes]:
    """Return the named files of a ZIP archive."""
    with zipfile.ZipFile(io.BytesIO(body)) as packed:
        return [packed.read(name) for name in names]


# --- datasets ---------------------------------------------------------------------------------

OF_DATASET = ("dataset.toml", "points.csv", "coverage.json", "held-out.csv")
SEAL = re.compile(rb'(?m)^sha256 = "[0-9a-f]*"')


def dataset(parts: Sequence[bytes], folder: Path) -> None:
    """Load, ask and check a dataset, after its seals are set to fit its files."""
    document, *rest = parts
    for part in (rest[:1] + rest[2:])[:2]:
        document = SEAL.sub(
            b'sha256  = "%s"' % sha256(part).hexdigest().encode(), document, count=1
        )
    own = folder / "own"
    own.mkdir()
    files_of([document, *rest], OF_DATASET, own)
    data = load(own)
    _ = data.coverage, data.held, data.held_out_runs, data.between_sessions, data.known_limits
    model = (
        Model(data, cache=False) if data.default_variant != "hybrid" else Model(data, "corrected")
    )
    payload = next(one.payload_bytes for one in data.points if one.payload_bytes)
    model.predict(protocol=data.default_protocol, payload_bytes=payload)
    check_dataset(own)


def datasets() -> Iterator[Sequence[bytes]]:
    """Yield small datasets, one with held-out runs."""
    for folder in sorted(one.parent for one in shipped("data").glob("*/dataset.toml")):
        text = re.sub(rb'(?m)^id = ".*"', b'id = "own"', (folder / "dataset.toml").read_bytes())
        rows = (folder / "points.csv").read_bytes().splitlines(keepends=True)
        coverage = folder / "coverage.json"
        more = coverage.read_bytes() if coverage.exists() else b""
        if (folder / "held-out.csv").exists():
            held = (folder / "held-out.csv").read_bytes().splitlines(keepends=True)[:30]
            runs = {line.split(b",", 1)[0] for line in held[1:]}
            text = re.sub(rb"(?m)^runs = [0-9]+", b"runs = %d" % len(runs), text)
            yield text, b"".join(rows[:1] + rows[1::80]), more, b"".join(held)
        elif len(rows) < 150:
            yield text, b"".join(rows), more


# --- sheets -----------------------------------------------------------------------------------

OF_SHEET = (
    "xl/worksheets/sheet1.xml",
    "xl/sharedStrings.xml",
    "xl/workbook.xml",
    "xl/_rels/workbook.xml.rels",
    "[Content_Types].xml",
    "_rels/.rels",
    "xl/styles.xml",
)
SHEET = b"""camera,payload [B],rate [1/s],cores,switches,nagle
left,1448,1000,1,0,off
right,64 B,unlimited,2,1,
,"1,5 kB",1e3,,,
"""
SHEETS = (
    SHEET,
    SHEET.replace(b",", b";"),
    SHEET.replace(b",", b"\t"),
    b"payload_bytes,rate_fps,protocol,dataset,variant,requested_goodput_bps,line_rate_bps,app_recv_s,distance_m\n1448,1000,tcp,tcp-connectx7,corrected,1e9,1e10,1e-6,3\n65535,,zeromq,%s,,,,,\n"
    % SMALL.encode(),
)


def sheet(parts: Sequence[bytes], folder: Path) -> None:
    """Read a CSV or XLSX sheet, answer it, and write the answers in both formats."""
    name, body = (
        ("own.csv", parts[0]) if len(parts) == 1 else ("own.xlsx", archive(OF_SHEET, parts[1:]))
    )
    (folder / name).write_bytes(body)
    read_in = sheets.read_sheet(folder / name)
    answered = sheets.answer_sheet(replace(read_in, rows=read_in.rows[:30]), SMALL, cache=False)
    sheets.write_sheet(answered, folder / "answered.csv")
    sheets.write_sheet(answered, folder / "answered.xlsx")
    sheets.read_sheet(folder / "answered.csv")
    sheets.read_sheet(folder / "answered.xlsx")


def scenario_sheets() -> Iterator[Sequence[bytes]]:
    """Yield CSV texts, parts of XLSX files with the same rows, and one whole XLSX file."""
    folder = place()
    for number, text in enumerate(SHEETS):
        yield (text,)
        (folder / "own.csv").write_bytes(text)
        sheets.write_sheet(sheets.read_sheet(folder / "own.csv"), folder / "own.xlsx")
        body = (folder / "own.xlsx").read_bytes()
        yield b"", *members(body, OF_SHEET)
        if not number:
            yield b"", body
    shutil.rmtree(folder)


# --- records ----------------------------------------------------------------------------------


def records(parts: Sequence[bytes], folder: Path) -> None:
    """Fold records into a dataset, and rebuild its folder."""
    files = files_of(parts, ("a.jsonl", "b.jsonl", "c.jsonl"), folder)
    fold.fold_files(files, folder / "folded", fold.Settings())
    fold.rebuild(folder / "folded")


def folded_records() -> Iterator[Sequence[bytes]]:
    """Yield records of icprobe: up to three in one file, and two in separate files."""
    for path in sorted(GOLDEN.glob("*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        yield (b"".join(lines[:3]),)
        yield b"".join(lines[:1]), b"".join(lines[1:2])


def folded_folder(parts: Sequence[bytes], folder: Path) -> None:
    """Rebuild a folded dataset whose folded.json or README.md was mutated."""
    shutil.copytree(_folded(), folder / "folded")
    files_of(parts, ("folded.json", "README.md"), folder / "folded")
    fold.rebuild(folder / "folded")


@cache
def _folded() -> Path:
    made = place() / "folded"
    fold.fold_files([GOLDEN / "tcp-unlimited.jsonl"], made, fold.Settings())
    return made


def folded_folders() -> Iterator[Sequence[bytes]]:
    """Yield folded.json and README.md of a folded dataset."""
    yield (_folded() / "folded.json").read_bytes(), (_folded() / "README.md").read_bytes()


# --- results of other tools -------------------------------------------------------------------


def results(parts: Sequence[bytes], folder: Path) -> None:
    """Ingest output of another tool, and write the dataset.

    One part is ingested with labels, two parts without.
    """
    files = files_of(parts, ("a.txt", "b.txt"), folder)
    labels = ingest.read_labels(
        {"payload": "1448 B", "protocol": "tcp", "host_cores": 2}, "fuzzing"
    )
    taken = ingest.ingest(
        files, labels=ingest.Labels(payload_bytes=None) if len(parts) > 1 else labels
    )
    ingest.write_ingested(taken, folder / "own", ingest.About())
    load(folder / "own")


def outputs() -> Iterator[Sequence[bytes]]:
    """Yield outputs of all tools in the tests."""
    for path in sorted((*CASES.glob("ingest/*/*"), *CASES.glob("ingest_found/*"))):
        body = path.read_bytes()
        if path.suffix not in (".gz", ".xlsx", ".toml") and len(body) < 30_000:
            yield (body,)
            yield body, b""


OF_TABLE = ("xl/worksheets/sheet2.xml", "xl/workbook.xml", "xl/_rels/workbook.xml.rels")


def table(parts: Sequence[bytes], folder: Path) -> None:
    """Ingest a table with a mapping of its columns, and with labels by file."""
    mapping, labels, *rest = (*parts, *[b""] * (3 - len(parts)))
    name, body = (
        ("own.csv", rest[0]) if len(rest) == 1 else ("own.xlsx", archive(OF_TABLE, rest[1:]))
    )
    paths = files_of([mapping, labels, body], ("map.toml", "labels.toml", name), folder)
    taken = ingest.ingest(
        paths[2:],
        columns=ingest.read_mapping(paths[0]),
        by_file=ingest.read_labels_file(paths[1]) if labels else None,
        labels=ingest.Labels(protocol="tcp"),
    )
    ingest.write_ingested(taken, folder / "own", ingest.About())


def tables() -> Iterator[Sequence[bytes]]:
    """Yield tables as CSV and XLSX with their mappings."""
    for path in sorted(CASES.glob("ingest/table/*.csv")):
        mapping = path.with_suffix(".toml").read_bytes()
        yield (
            mapping,
            b'["own.*"]\nswitches = "1"\noptions = { nagle = "off" }\n',
            path.read_bytes(),
        )
    book = (CASES / "ingest" / "table" / "goodput.xlsx").read_bytes()
    mapping = (CASES / "ingest" / "table" / "goodput_sheet.toml").read_bytes()
    yield mapping, b"", b"", *members(book, OF_TABLE)
    yield mapping, b"", b"", book


# --- stored fits ------------------------------------------------------------------------------

OF_FIT = ("seal.npy", "keys.npy", "points.npy", "ends.npy")


def fit(parts: Sequence[bytes], folder: Path) -> None:
    """Read a stored fit, and write it again if it is valid."""
    (folder / "fit.json").write_bytes(parts[0])
    (folder / "fit.npz").write_bytes(archive(OF_FIT, parts[1:]) if len(parts) > 1 else b"")
    found = read(folder, "0" * 64)
    if found is not None:
        found.write(folder)


def fits() -> Iterator[Sequence[bytes]]:
    """Yield the stored fit of the lab's dataset, with few of its metrics and curves."""
    folder = shipped("data") / "lab-1g-2026"
    text = re.sub(
        rb'"seal": "[0-9a-f]*"', b'"seal": "%s"' % (b"0" * 64), (folder / "fit.json").read_bytes()
    )
    document = json.loads(text)
    document["metrics"] = dict(list(document["metrics"].items())[:2])
    kept = read_few(document, folder / "fit.npz")
    yield json.dumps(document).encode(), *kept
    yield json.dumps(document).encode(), archive(OF_FIT, kept)


def read_few(document: dict[str, Any], path: Path) -> list[bytes]:
    """Return three curves of a stored fit, each array as the bytes of a .npy file."""
    import numpy as np

    with np.load(path) as arrays:
        points = arrays["points"][:3]
        parts = {
            "seal": np.frombuffer(document["seal"].encode(), dtype=np.uint8),
            "keys": arrays["keys"][: 16 * 3],
            "points": points,
            "ends": arrays["ends"][:, : int(points.sum())],
        }
    bodies = []
    for one in parts.values():
        body = io.BytesIO()
        np.save(body, one)
        bodies.append(body.getvalue())
    return bodies


# --- systems and use cases --------------------------------------------------------------------


def system_file(parts: Sequence[bytes], folder: Path) -> None:
    """Load, check, predict and export a system."""
    (folder / "own.toml").write_bytes(parts[0])
    found = system.load(folder / "own.toml")
    for form in EXPORTS:
        export_system(found, form)
    if len(found.streams) <= 40:
        json.dumps(system.predict(found).to_dict(), allow_nan=False)


def system_files() -> Iterator[Sequence[bytes]]:
    """Yield the bundled systems, and an example with most keys."""
    yield (system.new_system_text("own").encode(),)
    for path in sorted((shipped("usecases") / "systems").glob("*.toml")):
        yield (path.read_bytes(),)


def imported(parts: Sequence[bytes], folder: Path) -> None:
    """Import a system from a file of another tool, and load the result."""
    (folder / "own.json").write_bytes(parts[0])
    text, _ = import_system(folder / "own.json")
    system.read_system(text, folder=None)


def imports() -> Iterator[Sequence[bytes]]:
    """Yield files in Saihu's two formats and in node-link JSON, from the tests and from exports."""
    for path in sorted(CASES.glob("formats/*")):
        yield (path.read_bytes(),)
    for name in ("lab-switch", "lab-four-senders"):
        for form in EXPORTS:
            yield (export_system(system.load(name), form)[0].encode(),)


def use_case(parts: Sequence[bytes], folder: Path) -> None:
    """Read a use case, and evaluate it."""
    (folder / "own.toml").write_bytes(parts[0])
    case = usecase.load_usecase(folder / "own.toml")
    if len(case.candidates) * len(case.streams) <= 60:
        json.dumps(usecase.evaluate(case, _ethernet(), "corrected").to_dict(), allow_nan=False)


@cache
def _ethernet() -> Any:
    return load("ethernet-10g-2012")


def use_cases() -> Iterator[Sequence[bytes]]:
    """Yield the bundled use cases, and an example with most keys."""
    yield (usecase.new_usecase_text("own").encode(),)
    for path in sorted(shipped("usecases").glob("*.toml")):
        yield (path.read_bytes(),)


# --- states of calibrations, verifications and reports ----------------------------------------


def state(parts: Sequence[bytes], folder: Path) -> None:
    """Continue a calibration whose files were mutated."""
    own = folder / "calibration"
    own.mkdir()
    files_of(parts, ("loop.json", "records.jsonl", "refused.jsonl"), own)
    with opened(own, calibrate.Settings("lab direct")) as found:
        assert isinstance(found, Calibrated)
        found.done()


def states() -> Iterator[Sequence[bytes]]:
    """Yield settings, records and refused runs of a calibration."""
    settings = calibrate.Settings("lab direct")
    lines = []
    for step, line in enumerate((GOLDEN / "tcp-unlimited.jsonl").read_bytes().splitlines()[:2]):
        record = json.loads(line)
        record["plan"] = {
            "name": f"calibrate, step {step + 1}",
            "digest": settings.digest,
            "point": "p",
            "repeat": 0,
            "kind": "grid",
            "held_out": False,
        }
        lines.append(json.dumps(record).encode() + b"\n")
    refused = {
        "point": {"protocol": "tcp", "payload_bytes": 64, "load_bps": 1e6, "cores": 1},
        "plan": {"name": "calibrate, step 3", "repeat": 0},
        "why": "no",
    }
    yield settings.to_json().encode(), b"".join(lines), json.dumps(refused).encode() + b"\n"


def verification(parts: Sequence[bytes], folder: Path) -> None:
    """Continue a verification whose files were mutated."""
    own = folder / "verification"
    own.mkdir()
    files_of(parts, ("verification.json", "prediction.json", "pass-001.jsonl"), own)
    with verified.opened(own, {"schema_version": 1, "system": "lab"}, "name = 'lab'\n") as found:
        stored = found.prediction({"streams": {}})
        found.passes(replace(stored, sha256="0"), ("s",))


def verifications() -> Iterator[Sequence[bytes]]:
    """Yield settings, prediction and one pass of a verification."""
    record = json.loads((GOLDEN / "udp-paced.jsonl").read_bytes().splitlines()[0])
    record["verification"] = {
        "stream": "s",
        "pass": 1,
        "overlap_ratio": 1.0,
        "prediction_sha256": "0",
    }
    yield (
        b'{"schema_version": 1, "system": "lab"}',
        b'{"schema_version": 1, "prediction": {"streams": {}}}',
        json.dumps(record).encode() + b"\n",
    )


@cache
def _result(kind: str) -> dict[str, Any]:
    if kind == "system":
        return dict(json.loads(json.dumps(system.predict(system.load("lab-switch")).to_dict())))
    return dict(
        json.loads(
            json.dumps(
                usecase.evaluate(
                    usecase.load_usecase("motion-control"), _ethernet(), "corrected"
                ).to_dict()
            )
        )
    )


def against(parts: Sequence[bytes], folder: Path) -> None:
    """Compare an earlier result with a new one."""
    (folder / "old.json").write_bytes(parts[0])
    old = read_result(folder / "old.json")
    kind = "system" if "streams" in old else "usecase"
    changes_since(old, _result(kind), "old.json").to_dict()


def earlier_results() -> Iterator[Sequence[bytes]]:
    """Yield results of a system and of a use case."""
    for kind in ("system", "usecase"):
        yield (json.dumps(_result(kind)).encode(),)


TEMPLATE = b"""organisation = "Lab \xc2\xb5"
accent = "#0055aa"
logo = "logo.svg"
"""


def masthead(parts: Sequence[bytes], folder: Path) -> None:
    """Read the template of a report, with its logo."""
    paths = files_of(parts, ("template.toml", "logo.svg"), folder)
    read_masthead(template=paths[0])


def mastheads() -> Iterator[Sequence[bytes]]:
    """Yield a template and a logo."""
    yield (
        TEMPLATE,
        b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
    )


# --- the HTTP API -----------------------------------------------------------------------------


class Here(Executor):
    """Executor that runs long jobs in this process, so that coverage and memory are seen."""

    async def long(self, function: Callable[[Unpack[Ts]], bytes], *words: *Ts) -> bytes:
        """Answer in a thread."""
        return await anyio.to_thread.run_sync(function, *words)


@cache
def _client() -> tuple[asyncio.AbstractEventLoop, httpx.AsyncClient]:
    at = Place()
    vars(guard)["traceback"] = SimpleNamespace(print_exc=admit)
    transport = httpx.ASGITransport(make_app(at, Here()), raise_app_exceptions=True)
    return asyncio.new_event_loop(), httpx.AsyncClient(
        transport=transport, base_url=at.address, timeout=600
    )


class WrongAnswerError(Exception):
    """Answer of the server in a wrong format."""


DEFECTS: list[BaseException] = []
"""Unhandled errors of the server, with their tracebacks."""


def admit(**_: object) -> None:
    """Store the unhandled error of the server in `DEFECTS`, instead of printing it."""
    error = sys.exception()
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert error is not None
    DEFECTS.append(error)


def request(parts: Sequence[bytes], folder: Path) -> None:
    """Send a body to a route; the answer must be a document or problem details."""
    loop, client = _client()
    head, body = (*parts, b"")[:2]
    try:
        path = head.decode("ascii")
        target = httpx.URL(f"http://127.0.0.1:8000/api/v1/{path}")
    except (UnicodeDecodeError, httpx.InvalidURL):
        return
    sent = client.request(
        "POST" if body else "GET",
        target,
        content=body,
        headers={"content-type": "application/json"},
    )
    answered = loop.run_until_complete(sent)
    if DEFECTS:
        raise DEFECTS.pop()
    if answered.status_code >= 400 and answered.status_code not in (404, 405):
        document = json.loads(answered.text)
        if not document["detail"] or document["status"] != answered.status_code:
            raise WrongAnswerError(answered.text)
    elif answered.status_code == 200 and answered.headers["content-type"] == "application/json":
        json.loads(answered.text)


def requests() -> Iterator[Sequence[bytes]]:
    """Yield requests of the routes."""
    question = {
        "payload": "1448 B",
        "rate": "1000/s",
        "cores": 1,
        "switches": 1,
        "endpoints": 2,
        "other_goodput": "1 Gb/s",
        "distance": "3 m",
        "option": {},
    }
    case = usecase.new_usecase_text("own")
    lab = (shipped("usecases") / "systems" / "lab-switch.toml").read_text(encoding="utf-8")
    iperf = (CASES / "ingest" / "iperf3" / "tcp.json").read_text(encoding="utf-8")
    sockperf = (CASES / "tools" / "sockperf_ping_pong.txt").read_text(encoding="utf-8")
    bodies: dict[str, list[Any]] = {
        "predict": [
            question,
            {"dataset": "tcp-connectx7", "solve": "rate", "goodput": "1 Gb/s", "payload": "64 KiB"},
            {
                "message": "14.7 MB",
                "message_within": "33 ms",
                "payload": "1448 B",
                "protocol": "udp",
            },
            {
                "payload": "1448 B",
                "line_rate": "1 Gb/s",
                "cpu_clock": "1.5",
                "variant": "hybrid",
                "app_recv": "2 us",
                "app_send_per_byte": "0.3 ns",
            },
        ],
        "sweep": [
            {
                "payload": "64 B..1448 B:4",
                "cores": "1,2",
                "protocol": ["tcp", "udp"],
                "metric": ["goodput_bps"],
            },
            {"payload": "64 B", "rate": "1/s..1000/s:3", "allow_gaps": True, "extrapolate": True},
        ],
        "compare": [
            {"payload": "1448 B", "dataset": ["tcp-connectx7", SMALL], "variant": ["corrected"]}
        ],
        "evaluate": [
            {"usecase": "motion-control", "strict": True},
            {"toml": case, "dataset": "tcp-connectx7"},
        ],
        "system": [{"system": "lab-direct"}, {"toml": lab, "cycles": "fixed-point"}],
        "system/check": [{"toml": lab}],
        "ingest": [
            {"files": [{"name": "a.json", "text": iperf}]},
            {
                "files": [{"name": "b.txt", "text": sockperf}],
                "payload": "64 B",
                "default_variant": "corrected",
                "line_rate": "10 Gb/s",
                "interconnect": "ethernet",
            },
        ],
        "pages/answers": [
            {
                "questions": [{**question, "dataset": "tcp-connectx7", "variant": "corrected"}],
                "requirements": ["goodput >= 1 Gb/s"],
            }
        ],
        "pages/curves": [
            {"questions": [{"payload": "1448 B"}], "over": "payload", "metric": "goodput_bps"}
        ],
        "pages/usecase": [{"toml": case, "dataset": "tcp-connectx7"}],
        "pages/system": [{"toml": lab}],
    }
    for path, asked in bodies.items():
        for one in asked:
            yield path.encode(), json.dumps(one).encode()
    for path in (
        f"datasets/{SMALL}",
        f"datasets/{SMALL}/points?metric=goodput_bps&option=a%3Db",
        "usecases/imaging",
        "systems/lab-direct",
        "pages/form?dataset=tcp-connectx7",
        "pages/dataset?id=tcp-connectx7",
    ):
        yield path.encode(), b""


TARGETS = {
    "dataset": Target(dataset, datasets),
    "sheet": Target(sheet, scenario_sheets),
    "records": Target(records, folded_records),
    "folded": Target(folded_folder, folded_folders),
    "results": Target(results, outputs),
    "table": Target(table, tables),
    "fit": Target(fit, fits),
    "system": Target(system_file, system_files),
    "import": Target(imported, imports),
    "usecase": Target(use_case, use_cases),
    "calibration": Target(state, states),
    "verification": Target(verification, verifications),
    "against": Target(against, earlier_results),
    "masthead": Target(masthead, mastheads),
    "request": Target(request, requests),
}
