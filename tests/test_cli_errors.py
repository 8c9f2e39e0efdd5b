"""Bad input: one sentence that names the value, what is allowed and what to do; nothing else."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import checkout
from cli_case import RunIcmodel
from conftest import clean_environment
from icmodel.cli import main
from icmodel.usecase import find_usecase, new_usecase_text

CENTRAL = "ethernet-10g-2012"
Refused = Callable[..., str]


@pytest.fixture
def refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Refused:
    """The one sentence a command line ends with; code 2, nothing printed, nothing written."""
    monkeypatch.chdir(tmp_path)

    def run(line: str) -> str:
        before = contents(tmp_path)
        code = main(shlex.split(line))
        said = capsys.readouterr()
        assert (code, said.out) == (2, ""), said
        assert contents(tmp_path) == before
        assert said.err.startswith("icmodel: ")
        assert said.err.endswith("\n")
        assert said.err.count("\n") == 1, said.err
        assert "Traceback" not in said.err
        assert not said.err.rstrip("\n").endswith((".", ":"))
        return said.err

    return run


def contents(folder: Path) -> dict[str, bytes]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


QUESTIONS = {
    "unknown protocol": ("--protocol sctp --payload '64 B'", ["'sctp'", "ethernet, tcp, udp"]),
    "payload 0": ("--payload '0 B'", ["0", "1 to 9007199254740992"]),
    "payload 65536 of TCP": (
        "--payload '65536 B'",
        ["65536 B", "1 to 65535 B", "use a payload in this range, or set extrapolate of predict"],
    ),
    "payload 65536 of UDP": (
        "--protocol udp --payload '65536 B'",
        ["65536 B", "65507 B", "split the frame"],
    ),
    "payload over the MTU": (
        "--protocol ethernet --payload '1501 B'",
        ["1501 B", "1500 B", "split the frame"],
    ),
    "negative payload": ("--payload '-64 B'", ["'-64 B'", "negative", "65535 B or 64 KiB"]),
    "no payload": ("--rate 1/s", ["no payload", '--payload "1448 B"']),
    "negative rate": ("--payload '64 B' --rate -5/s", ["'-5/s'", "negative", "6700/s"]),
    "infinite rate": ("--payload '64 B' --rate inf/s", ["'inf/s'", "finite", "6700/s"]),
    "rate nan": ("--payload '64 B' --rate nan", ["'nan'", "finite", "6700/s"]),
    "rate 0": ("--payload '64 B' --rate 0/s", ["0", "above 0", "leave it out"]),
    "bare rate": ("--payload '64 B' --rate 6700", ["'6700'", "no unit", "6700/s"]),
    "5 cores": (
        "--payload '64 B' --cores 5",
        ["5 cores", "1, 2, 3, 4", "use one of these counts, or set extrapolate of"],
    ),
    "0 cores": ("--payload '64 B' --cores 0", ["--cores '0'", "1 to 9007199254740992"]),
    "cores with a unit": ("--payload '64 B' --cores '2 cores'", ["'2 cores'", "without a unit"]),
    "half a switch": ("--payload '64 B' --switches 0.5", ["'0.5'", "whole number"]),
    "0 endpoints": ("--payload '64 B' --endpoints 0", ["--endpoints '0'", "1 to 9007199254740992"]),
    "bytes for a rate": (
        "--payload '64 B' --requested-goodput '9.4 GB'",
        ["'9.4 GB'", "'/s' is missing", "9.4 Gb/s or 100 MB/s"],
    ),
    "bits for a size": ("--payload '64 kb'", ["'64 kb'", "unknown unit", "64 KiB"]),
    "unclear prefix": ("--payload '64 KB'", ["'64 KB'", "kB (1000) or KiB (1024)"]),
    "bare payload": ("--payload 64", ["'64'", "no unit", "65535 B or 64 KiB"]),
    "thousands": ("--payload '65,535 B'", ["'65,535 B'", "decimal point"]),
    "others alone": (
        "--payload '64 B' --other-goodput '1 Gb/s'",
        ["endpoints is 1", "endpoints = 2"],
    ),
    "rate said twice": (
        "--payload '64 B' --rate 1/s --requested-goodput '1 b/s'",
        ["both given", "keep one"],
    ),
    "bare distance": ("--payload '64 B' --distance 50", ["'50'", "no unit", "50 m"]),
    "unknown dataset": (
        "--payload '64 B' --dataset ethernet-11g",
        ["'ethernet-11g'", "icmodel datasets list", "path of a folder"],
    ),
    "unknown variant": (
        "--payload '64 B' --variant hybird",
        ["'hybird'", "appendix-h, corrected"],
    ),
    "unknown option": (
        "--payload '64 B' --option colour=red",
        ["'colour'", "nagle, priority, read, test", "leave colour out"],
    ),
    "unknown option value": ("--payload '64 B' --option nagle=maybe", ["'maybe'", "off, on"]),
    "option without value": ("--payload '64 B' --option nagle", ["'nagle'", "KEY=VALUE"]),
    "option twice": (
        "--payload '64 B' --option nagle=on --option nagle=off",
        ["nagle is given twice", "keep one"],
    ),
}


OTHERWISE_IN_A_SWEEP = {"cores with a unit", "half a switch", "no payload", "thousands"}
"""What a sweep reads as a range, and refuses in words of its own."""
ASKED = [
    (command, what)
    for command in ("predict", "compare", "sweep")
    for what in QUESTIONS
    if command != "sweep" or what not in OTHERWISE_IN_A_SWEEP
]


@pytest.mark.parametrize(("command", "what"), ASKED)
def test_a_bad_question_is_one_sentence(refused: Refused, command: str, what: str) -> None:
    line, told = QUESTIONS[what]
    sentence = refused(f"{command} {line} -o answer.json")
    for text in told:
        assert text in sentence


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("pred", ["'pred'", "predict, sweep, evaluate"]),
        ("--foo", ["--foo", "icmodel --help"]),
        ("predict --payloda '64 B'", ["--payloda", "--payload", "icmodel predict --help"]),
        ("predict --payload", ["--payload", "--help"]),
        ("predict everything --payload '64 B'", ["everything", "icmodel predict --help"]),
        ("datasets", ["icmodel datasets --help"]),
        ("datasets remove", ["'remove'", "icmodel datasets --help"]),
        ("datasets show", ["NAME", "icmodel datasets show --help"]),
        ("datasets points dds-1g --metric speed", ["'speed'", "frames_per_s, goodput_bps"]),
        ("datasets points dds-1g --protocol tcp", ["'tcp'", "it has dds"]),
        ("datasets points dds-1g --option mode=x", ["'x'", "async0-mode-1"]),
        ("datasets points dds-1g --metric ''", ["''", "leave the option out"]),
        ("validate dds-1g --folds ' ,'", ["' ,'", "contains no name"]),
        ("validate dds-1g --folds held-out", ["dds-1g", "no held-out runs", "leave-one-out"]),
        ("fold none.jsonl -o 'Bad Name'", ["'Bad Name'", "letters"]),
        ("ingest none.txt -o 'Bad Name'", ["'Bad Name'", "letters"]),
        ("ingest none.txt -o new --tool ping", ["'ping'", "iperf3, libzmq"]),
        ("ingest . -o new", ["cannot be read"]),
        ("evaluate", ["USECASE", "icmodel evaluate --help"]),
        (
            "evaluate imagine",
            ["'imagine'", "cameras, imaging or motion-control", "icmodel usecases new"],
        ),
        ("evaluate imaging --candidate best", ["'best'", "original", "udp-aligned"]),
        ("evaluate imaging --dataset nowhere -o imaging.html", ["'nowhere'"]),
        (
            "evaluate imaging -o imaging.doc",
            ["'imaging.doc'", ".html, .json, .md, .pdf, .xlsx or .xml"],
        ),
        ("evaluate imaging -o nowhere/imaging.html", ["nowhere/imaging.html"]),
        ("calibrate -o here --hosts a", ["'--hosts'", "icmodel calibrate --help"]),
        ("validate dds-1g -o nowhere/rows.csv", ["nowhere/rows.csv", "no folder nowhere"]),
        ("usecases new 'My Case'", ["'My Case'", "lower-case", "my-use-case"]),
        ("usecases show imagine", ["'imagine'", "imaging"]),
        ("predict --payload '64 B' -o answer.xls", ["'answer.xls'", ".csv, .json, .txt or .xlsx"]),
        ("predict --payload '64 B' -o answer", ["'answer'", ".csv, .json, .txt or .xlsx"]),
        ("predict --payload '64 B' -o nowhere/answer.csv", ["nowhere/answer.csv", "another place"]),
        (
            "sweep --payload '64 B' -o grid.html",
            ["'grid.html'", ".csv, .json, .nc, .parquet, .txt, .xlsx or .zarr"],
        ),
        ("predict --payload '64 B' --payload '1 B'", ["--payload", "given twice"]),
        ("compare --rates 10 --rates 25", ["--rates", "given twice"]),
        ("predict --from s.csv -o a.csv --solve rate", ["--solve", "--from", "only one"]),
        ("predict --from s.csv -o a.csv --all", ["--all", "--from"]),
        ("predict --template s.csv --payload '1 B'", ["--template", "column"]),
        ("predict --template s.csv -o a.csv", ["-o", "--template"]),
        ("predict --template .", [". already exists", "another name"]),
        ("system export imaging -o imaging.xml", ["imaging.xml", ".json"]),
        ("sweep --rate 1/s", ["no payload", '--payload "64 B..65535 B"']),
        ("sweep --payload '64 B' --cores '2 cores'", ["'2 cores'", "1,4", "1..4"]),
        ("sweep --payload '64 B' --switches 0.5", ["'0.5'", "whole number"]),
        ("sweep --payload '9 B..1 B:3'", ["'9 B..1 B:3'", "lesser value first"]),
        ("sweep --payload '1 B..9 B:x'", ["'x'", ":25log"]),
        ("sweep --payload '64 B' --rate 1/s..9/s", ["rate_fps", "1/s..9/s:25"]),
        ("sweep --payload '64 B' --metric speed", ["'speed'", "goodput_bps"]),
        ("sweep --payload '64 B' --allow-gaps --extrapolate", ["both given", "give only one"]),
        (
            "sweep --payload '1 B..60 kB:60000' --rate 1/s..9/s:60000",
            ["3600000000", "-o grid.zarr"],
        ),
        ("compare --payload '64 B' --protocol sctp", ["'sctp'", "ethernet, tcp, udp"]),
        ("theory", ["icmodel theory --help"]),
        ("theory token-ring", ["'token-ring'", "icmodel theory --help"]),
        ("theory ethernet", ["payloads are missing", '--payload "1472 B, 1473 B"']),
        ("theory ethernet --payload '0 B'", ["0", "at least 1 B"]),
        ("theory ethernet --protocol udp --payload '65508 B'", ["65508", "65507"]),
        ("theory ethernet --protocol sctp --payload '1 B'", ["'sctp'", "tcp, udp, ethernet"]),
        ("theory ethernet --payload '1 B' --mtu '10 B'", ["10", "68 to 65535"]),
        ("theory ethernet --payload '1 B' --line-rate 10", ["'10'", "9.4 Gb/s"]),
        ("theory ethernet --payload '1 B..2 B'", ["'1 B..2 B'", ":25"]),
        ("theory infiniband --generation xdr --payload '1 B'", ["'xdr'", "qdr"]),
        ("theory rapidio --lanes 3 --payload '1 B'", ["3", "1, 2, 4, 8, 16"]),
        ("plot goodput_bps", ["-o plot.svg", "--json"]),
        ("plot goodput_bps -o plot.pdf", ["'plot.pdf'", ".json, .png or .svg"]),
        ("plot goodput_bps --over time -o plot.svg", ["'time'", "payload, load, cores"]),
        ("plot goodput_bps --over load -o plot.svg", ["no payload", "--payload"]),
        ("plot goodput_bps --rate 1/s -o plot.svg", ["--rate", "--requested-goodput"]),
        ("plot speed -o plot.svg", ["speed", "goodput_bps"]),
        ("plot goodput_bps --protocol sctp -o plot.svg", ["'sctp'", "tcp"]),
    ],
)
def test_a_bad_command_line_is_one_sentence(refused: Refused, line: str, told: list[str]) -> None:
    sentence = refused(line)
    for text in told:
        assert text in sentence


@pytest.mark.parametrize(
    ("module", "line", "told"),
    [
        ("h5netcdf", "sweep --payload '64 B' -o grid.nc", "icmodel[netcdf]"),
        ("vl_convert", "plot goodput_bps -o plot.svg", "icmodel[report]"),
    ],
)
def test_a_missing_extra_is_one_sentence_that_names_it(
    refused: Refused, monkeypatch: pytest.MonkeyPatch, module: str, line: str, told: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert told in refused(line)


# --- damaged files ----------------------------------------------------------------------------


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """A copy of a dataset, to be damaged."""
    return shutil.copytree(checkout.ROOT / "data" / "ethernet-1g-2010", tmp_path / "copy")


def truncate(dataset: Path) -> None:
    points = dataset / "points.csv"
    points.write_bytes(points.read_bytes()[:-20])


def tamper(dataset: Path) -> None:
    points = dataset / "points.csv"
    points.write_bytes(points.read_bytes().replace(b"0.00002996", b"0.00001996"))


def empty(dataset: Path) -> None:
    (dataset / "points.csv").write_bytes(b"")


def remove(dataset: Path) -> None:
    (dataset / "points.csv").unlink()


def break_toml(dataset: Path) -> None:
    (dataset / "dataset.toml").write_text("title = ", encoding="utf-8")


DAMAGES: dict[Callable[[Path], None], list[str]] = {
    truncate: ["points.csv", "sha256", "--seal"],
    tamper: ["points.csv", "sha256", "--seal"],
    empty: ["points.csv", "sha256", "--seal"],
    remove: ["points.csv", "cannot be read"],
    break_toml: ["dataset.toml", "TOML"],
}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize(
    "command",
    [
        "predict --dataset copy --payload '64 B' -o answer.json",
        "sweep --dataset copy --payload '64 B' -o answer.csv",
        "evaluate imaging --dataset copy -o answer.html",
        "compare --dataset copy --payload '64 B'",
        "plot goodput_bps --dataset copy -o answer.svg",
        "datasets show copy",
        "datasets check copy",
    ],
)
def test_damaged_data_is_one_sentence(
    refused: Refused, dataset: Path, damage: Callable[[Path], None], command: str
) -> None:
    damage(dataset)
    sentence = refused(command)
    for text in DAMAGES[damage]:
        assert text in sentence


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            'kind = "image"\n',
            'kind = "image"\ncolour = "red"\n',
            ["'colour'", "width_px", "remove it"],
        ),
        ('metric = "latency_mean_s"', "", ["metric", "needed"]),
        ('metric = "latency_mean_s"', 'metric = "speed"', ["'speed'", "goodput_bps"]),
        ('at_most = "80 %"', 'at_most = "80"', ["'80'", "%"]),
        ('rate = "50 Hz"', "rate = 50", ["50", "no unit"]),
        ("schema_version = 1", "schema_version = 9", ["9", "schema_version = 1"]),
        ('default_candidate = "tcp"', 'default_candidate = "best"', ["'best'", "tcp, udp"]),
        ('protocol = "tcp"', "protocol = ", ["not valid TOML"]),
    ],
)
def test_a_bad_usecase_is_one_sentence(
    refused: Refused, tmp_path: Path, old: str, new: str, told: list[str]
) -> None:
    text = new_usecase_text("own")
    assert old in text
    (tmp_path / "own.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    sentence = refused("evaluate own.toml -o own.html")
    for part in ("own.toml", *told):
        assert part in sentence


# --- as a process -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("predict", "--protocol", "sctp", "--payload", "64 B"),
        ("predict", "--cores"),
        ("nonsense",),
    ],
)
def test_the_process_ends_with_2_and_nothing_on_standard_output(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "icmodel", *words],
        cwd=tmp_path,
        env={**clean_environment(), "PYTHONPATH": str(checkout.ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_defect_differs_from_a_wrong_question(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A damaged installation is no question of the user's: its own exit code, still no traceback."""
    monkeypatch.setitem(sys.modules, "icmodel.dataset.check", None)
    code = main(["datasets", "check", "ethernet-1g-2010"])
    said = capsys.readouterr()
    assert code == 70
    assert said.err.startswith("icmodel: icmodel has a defect, ModuleNotFoundError: ")
    assert "ICMODEL_TRACEBACK=1" in said.err
    monkeypatch.setenv("ICMODEL_TRACEBACK", "1")
    with pytest.raises(ModuleNotFoundError):
        main(["datasets", "check", "ethernet-1g-2010"])


def test_a_closed_standard_output_is_no_defect(tmp_path: Path) -> None:
    """The answer in a file is whole, and the exit code is that of the verdict."""
    command = f"{shlex.quote(sys.executable)} -m icmodel evaluate imaging -o answer.json >&-"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert (
        json.loads((tmp_path / "answer.json").read_text(encoding="utf-8"))["verdict"] == "not met"
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--payload '0 B'", "--payload '0 B' is not possible: give a whole number of bytes, 1"),
        ("--payload='0 B'", "--payload '0 B' is not possible: give a whole number of bytes, 1"),
        ("--payload '1.4 KiB'", "but 1433.6 B: write 1433 B or 1434 B"),
        ("--payload '0.5 B'", "but 0.5 B: write 1 B"),
        ("--payload '1 B' --endpoints 0", "--endpoints '0' is not possible: give a whole number"),
        ("--payload '1 B' --cores 0", "--cores '0' is not possible: give a whole number"),
        ("--payload '1 B' --rate 0/s", "--rate '0/s' is not a rate: give a finite number"),
        ("--payload '1 B' --line-rate '0 b/s'", "--line-rate '0 b/s' is not a line rate: give"),
        ("--payload '1 B' --app-send '2e9 s'", "--app-send '2e9 s' is not a time: give"),
        ("--payload '1 B' --other-goodput '1 Gb/s'", "the other goodput is above 0 but endpoints"),
        ("--payload '1 B' --rate 1e308/s", "--rate 1e+308 is not a rate: give"),
    ],
)
@pytest.mark.parametrize("command", ["predict", "sweep", "compare"])
def test_an_impossible_value_is_told_with_the_option_as_it_was_typed(
    command: str, options: str, says: str, run_icmodel: RunIcmodel
) -> None:
    printed = run_icmodel(f"{command} {options}")
    assert printed.code == 2
    assert says in printed.err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        *(
            (f"{command} --payload '64 B' --{count} {{}}", "to 9007199254740992")
            for command in ("predict", "sweep", "compare", "plot goodput_bps -o x.svg")
            for count in ("cores", "switches", "endpoints")
        ),
        ("sweep --payload '64 B' --switches 1..{}", "a whole number of switches, 0 to 9007199254"),
        ("ingest none.json -o made --cores {}", "from 1 to 9007199254740992"),
        ("ingest none.json -o made --switches {}", "from 0 to 9007199254740992"),
        ("ingest none.json -o made --host-cores {}", "from 1 to 9007199254740992"),
        ("theory ethernet --payload '64 B' --switches {}", "from 0 to 9007199254740992"),
        ("theory infiniband --lanes {}", "from 1 to 12"),
        ("theory rapidio --lanes {}", "from 1 to 16"),
        ("validate dds-1g --most {}", "from 1 to 9007199254740992"),
        ("recommend imaging --workers {}", "give 1 to 1000"),
        ("calibrate --lab -o made --cores {}", "give 1 to 64"),
        ("verify lab-direct -o made --repeats {}", "give at most 996"),
        ("fold none.jsonl -o made --histogram-digits {}", "give 1 to"),
        ("serve --port {}", "0 to 65535"),
    ],
)
def test_a_huge_count_is_told_its_maximum(line: str, says: str, refused: Refused) -> None:
    huge = str(10**20)
    sentence = refused(line.format(huge))
    assert huge in sentence
    assert says in sentence


@pytest.mark.parametrize(
    ("usecase", "key"),
    [
        ("cameras", "count"),
        ("cameras", "interfaces"),
        ("cameras", "cores"),
        ("imaging", "switches"),
        ("imaging", "endpoints"),
        ("motion-control", "connections"),
    ],
)
def test_a_count_of_a_use_case_is_told_its_maximum(
    usecase: str, key: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = find_usecase(usecase).read_text(encoding="utf-8")
    huge = re.sub(rf"^({key} *= *)\d+", rf"\g<1>{10**20}", text, count=1, flags=re.M)
    assert huge != text
    (tmp_path / "own.toml").write_text(huge, encoding="utf-8")
    assert main(["evaluate", str(tmp_path / "own.toml")]) == 2
    sentence = capsys.readouterr().err
    assert f"{key} " in sentence
    assert "9007199254740992" in sentence


def test_theory_tells_an_impossible_payload_with_its_option(run_icmodel: RunIcmodel) -> None:
    printed = run_icmodel("theory ethernet --payload '0 B'")
    assert printed.err.startswith("icmodel: --payload 0 is too small: give at least 1 B")
