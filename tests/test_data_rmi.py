"""rmi-loopback and rmi-1g-2009 hold what the cxRmi page prints, number by number."""

from __future__ import annotations

import csv
import hashlib
import subprocess
import sys
import tomllib
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "data"
CASES = ROOT / "tests" / "cases" / "cxrmi"
PRINTED = ROOT / "tools" / "transcriptions" / "cxrmi"
NAMES = ("rmi-loopback", "rmi-1g-2009")
OPTIONS = {
    "rmi-loopback": ("argument", "machine", "test"),
    "rmi-1g-2009": ("argument", "direction", "network"),
}
SIZE = {"b": 1, "s": 2, "i": 4, "l": 8, "f": 4, "d": 8}
HENNING = {
    "Ice for C++": "ice-cpp",
    "Ice for .NET": "ice-dotnet",
    "Ice for Java": "ice-java",
    "Microsoft WCF with binary encoding": "wcf-binary",
    "Microsoft WCF with SOAP encoding": "wcf-soap",
    "Java RMI": "java-rmi",
}
Key = tuple[str, ...]


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def points(name: str) -> list[dict[str, str]]:
    return table(DATA / name / "points.csv")


def numbers(name: str, *, basis: str, metric: str = "") -> dict[Key, Decimal]:
    """Values by (protocol, payload, options..., metric); refuses two rows with one key."""
    found: dict[Key, Decimal] = {}
    for row in points(name):
        if row["basis"] != basis or metric not in ("", row["metric"]):
            continue
        options = [row[axis] for axis in OPTIONS[name]]
        key = (row["protocol"], row["payload_bytes"], *options, row["metric"])
        assert key not in found
        found[key] = Decimal(row["value"])
    return found


def si(text: str) -> Decimal:
    """Reads '13.4 M', '34k', '2300'."""
    text = text.strip()
    factor = {"k": Decimal(1000), "M": Decimal(1000000)}.get(text[-1])
    return Decimal(text) if factor is None else Decimal(text[:-1].strip()) * factor


def protocol_of(middleware: str) -> str:
    return "ice" if "ice" in middleware.casefold().split() else "cxrmi"


def payload_of(signature: str) -> str:
    return "" if signature == "v" else str(SIZE[signature[0]] * int(signature[1:]))


# --- the second transcription -----------------------------------------------------------------


def second_signatures(test: str) -> dict[Key, Decimal]:
    return {
        (
            protocol_of(row["middleware"]),
            payload_of(row["signature"]),
            row["signature"][0],
            row["machine"].lower(),
            test,
            "frames_per_s",
        ): si(row["value"])
        for row in table(CASES / f"{test}.csv")
    }


def second_summary() -> dict[Key, Decimal]:
    found: dict[Key, Decimal] = {}
    for row in table(CASES / "summary.csv"):
        if row["value"].strip() in ("", "-"):
            continue
        printed, test = row["machine"].split()[0].lower(), row["test"].split()[0].lower()
        protocol, machine = ("ice", "m5") if printed == "m6" else ("cxrmi", printed)
        payload = {"test6": "500000", "test7": "800000"}.get(test, "")
        argument = "unsaid" if test in ("test1", "test2") else ""
        metric = "goodput_bps" if payload else "frames_per_s"
        found[protocol, payload, argument, machine, test, metric] = si(row["value"])
    return found


def second_henning(name: str, width: int) -> dict[str, list[Decimal]]:
    """Per middleware the numbers in the order of the printed columns."""
    found: dict[str, list[Decimal]] = {}
    rows = table(CASES / f"{name}.csv")
    columns = list(dict.fromkeys(row["column"] for row in rows))
    assert len(columns) == width
    for row in sorted(rows, key=lambda row: columns.index(row["column"])):
        found.setdefault(row["middleware"], []).append(si(row["value"]))
    assert all(len(values) == width for values in found.values())
    return found


@pytest.mark.parametrize("test", ["test1", "test2"])
def test_every_signature_number_equals_the_second_transcription(test: str) -> None:
    expected = second_signatures(test)
    shipped = {
        key: value
        for key, value in numbers("rmi-loopback", basis="tabulated").items()
        if key[4] == test and key[2] != "unsaid"
    }
    assert len(expected) == 100
    assert shipped == expected


def test_every_summary_number_equals_the_second_transcription() -> None:
    expected = second_summary()
    shipped = {
        key: value
        for key, value in numbers("rmi-loopback", basis="tabulated").items()
        if key[2] in ("unsaid", "")
    }
    assert len(expected) == 36
    assert shipped == expected


def test_hennings_empty_calls_equal_the_second_transcription() -> None:
    second = second_henning("henning_latency", 4)
    expected = {
        (HENNING[who], "", "", "", network, "frames_per_s"): values[place]
        for who, values in second.items()
        for place, network in ((2, "loopback"), (3, "gigabit"))
    }
    assert len(expected) == 12
    assert numbers("rmi-1g-2009", basis="tabulated", metric="frames_per_s") == expected


def test_hennings_message_sizes_equal_the_second_transcription() -> None:
    second = second_henning("henning_latency", 4)
    printed = {
        row["middleware"]: [
            Decimal(row["send_message_bytes"]),
            Decimal(row["receive_message_bytes"]),
        ]
        for row in table(PRINTED / "henning_latency.csv")
    }
    assert printed == {who: values[:2] for who, values in second.items()}
    for row in points("rmi-1g-2009"):
        if row["payload_bytes"] == "":
            who = next(name for name, protocol in HENNING.items() if protocol == row["protocol"])
            request, reply = second[who][:2]
            assert f"request {request} B reply {reply} B" in row["source"]


def test_hennings_throughputs_equal_the_second_transcription() -> None:
    columns = [(net, way) for net in ("loopback", "gigabit") for way in ("send", "recv")]
    expected = {
        (HENNING[who], payload, argument, way, network, "goodput_bps"): value * 1000000
        for name, payload, argument in (
            ("henning_500kB", "500000", "bytes"),
            ("henning_struct", "800000", "struct"),
        )
        for who, values in second_henning(name, 4).items()
        for (network, way), value in zip(columns, values, strict=True)
    }
    assert len(expected) == 40
    assert numbers("rmi-1g-2009", basis="tabulated", metric="goodput_bps") == expected


# --- read from the page for this test ---------------------------------------------------------


SPOTS = {
    ("cxrmi", "", "v", "m3", "test1", "frames_per_s"): "51000000",
    ("cxrmi", "1", "b", "m4", "test1", "frames_per_s"): "64000000",
    ("ice", "8", "d", "m5", "test1", "frames_per_s"): "2800000",
    ("cxrmi", "64", "l", "m4", "test1", "frames_per_s"): "10000000",
    ("cxrmi", "", "v", "m5", "test2", "frames_per_s"): "20100000",
    ("cxrmi", "4", "i", "m4", "test2", "frames_per_s"): "10300000",
    ("cxrmi", "16", "f", "m4", "test2", "frames_per_s"): "7500000",
    ("cxrmi", "32", "l", "m3", "test2", "frames_per_s"): "4300000",
    ("ice", "64", "d", "m5", "test2", "frames_per_s"): "1800000",
    ("cxrmi", "", "unsaid", "m5", "test2", "frames_per_s"): "14000000",
    ("cxrmi", "", "", "m4", "test3", "frames_per_s"): "9400000",
    ("cxrmi", "", "", "m1", "test5", "frames_per_s"): "34000",
    ("cxrmi", "500000", "", "m4", "test6", "goodput_bps"): "7600000000",
    ("cxrmi", "800000", "", "m2", "test7", "goodput_bps"): "1520000000",
    ("ice", "", "unsaid", "m5", "test1", "frames_per_s"): "2900000",
    ("ice", "", "", "m5", "test5", "frames_per_s"): "33000",
    ("ice", "800000", "", "m5", "test7", "goodput_bps"): "2500000000",
}
GIGABIT_SPOTS = {
    ("ice-cpp", "", "", "", "gigabit", "frames_per_s"): "2300",
    ("java-rmi", "", "", "", "loopback", "frames_per_s"): "10600",
    ("wcf-soap", "", "", "", "gigabit", "frames_per_s"): "570",
    ("ice-java", "500000", "bytes", "recv", "gigabit", "goodput_bps"): "560000000",
    ("java-rmi", "500000", "bytes", "send", "loopback", "goodput_bps"): "825000000",
    ("ice-dotnet", "800000", "struct", "recv", "gigabit", "goodput_bps"): "205000000",
    ("wcf-soap", "800000", "struct", "recv", "gigabit", "goodput_bps"): "24000000",
}


@pytest.mark.parametrize(("key", "value"), SPOTS.items())
def test_spots_of_the_loopback_tables(key: Key, value: str) -> None:
    assert numbers("rmi-loopback", basis="tabulated")[key] == Decimal(value)


@pytest.mark.parametrize(("key", "value"), GIGABIT_SPOTS.items())
def test_spots_of_hennings_tables(key: Key, value: str) -> None:
    assert numbers("rmi-1g-2009", basis="tabulated")[key] == Decimal(value)


def test_row_counts() -> None:
    counted = {
        name: Counter((row["metric"], row["basis"]) for row in points(name)) for name in NAMES
    }
    assert counted["rmi-loopback"] == {
        ("frames_per_s", "tabulated"): 226,
        ("goodput_bps", "tabulated"): 10,
        ("goodput_bps", "derived"): 96,
        ("rtt_mean_s", "derived"): 6,
    }
    assert counted["rmi-1g-2009"] == {
        ("frames_per_s", "tabulated"): 12,
        ("goodput_bps", "tabulated"): 40,
        ("rtt_mean_s", "derived"): 12,
    }


# --- rules ------------------------------------------------------------------------------------


def test_test1_and_other_undelivered_messages_have_no_goodput() -> None:
    tests = {row["test"] for row in points("rmi-loopback") if row["metric"] == "goodput_bps"}
    assert tests == {"test2", "test6", "test7"}


def test_derived_goodput_is_messages_times_payload() -> None:
    printed = numbers("rmi-loopback", basis="tabulated")
    derived = numbers("rmi-loopback", basis="derived", metric="goodput_bps")
    for key, goodput in derived.items():
        assert goodput == printed[(*key[:5], "frames_per_s")] * int(key[1]) * 8
    wanted = {key[:5] for key in printed if key[4] == "test2" and key[1]}
    assert {key[:5] for key in derived} == wanted


@pytest.mark.parametrize("name", NAMES)
def test_derived_round_trip_times_calls_per_second_is_one(name: str) -> None:
    calls = numbers(name, basis="tabulated", metric="frames_per_s")
    trips = numbers(name, basis="derived", metric="rtt_mean_s")
    assert trips
    for key, seconds in trips.items():
        assert abs(seconds * calls[(*key[:5], "frames_per_s")] - 1) < Decimal("1e-5")


def test_the_row_of_m6_is_named_an_inference_in_source_and_readme() -> None:
    inferred = [row for row in points("rmi-loopback") if "M6" in row["source"]]
    assert {(row["protocol"], row["machine"]) for row in inferred} == {("ice", "m5")}
    assert all("read as Ice on M5" in row["source"] for row in inferred)
    assert len(inferred) == 6
    assert "read as ZeroC Ice on M5" in (DATA / "rmi-loopback" / "README.md").read_text("utf-8")


def test_the_summary_matches_no_single_signature_on_all_machines() -> None:
    printed = numbers("rmi-loopback", basis="tabulated")
    for test in ("test1", "test2"):
        of_summary = {
            m: printed["cxrmi", "", "unsaid", m, test, "frames_per_s"] for m in ("m3", "m4", "m5")
        }
        signatures = {key[1:3] for key in printed if key[4] == test and key[2] != "unsaid"}
        for payload, letter in signatures:
            column = {
                m: printed["cxrmi", payload, letter, m, test, "frames_per_s"] for m in of_summary
            }
            assert column != of_summary


# --- the files --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_document_fits_its_points(name: str) -> None:
    document = tomllib.loads((DATA / name / "dataset.toml").read_text(encoding="utf-8"))
    body = (DATA / name / "points.csv").read_bytes()
    assert document["sha256"] == hashlib.sha256(body).hexdigest()
    assert document["protocols"] == sorted({row["protocol"] for row in points(name)})
    assert set(document["axes"]) == {"payload_bytes", *OPTIONS[name]}
    for axis in OPTIONS[name]:
        assert document["axes"][axis]["default"] in {row[axis] for row in points(name)}


def test_a_question_without_options_meets_one_curve_of_goodput() -> None:
    for protocol in ("cxrmi", "ice"):
        payloads = [
            row["payload_bytes"]
            for row in points("rmi-loopback")
            if row["protocol"] == protocol
            and row["metric"] == "goodput_bps"
            and row["machine"] == "m5"
            and row["test"] == "test2"
            and row["argument"] in ("b", "")
        ]
        assert payloads == ["1", "2", "4", "8"]


def test_a_rebuild_gives_the_shipped_bytes(tmp_path: Path) -> None:
    script = ROOT / "tools" / "build_rmi.py"
    subprocess.run([sys.executable, "-B", str(script), str(tmp_path)], check=True)
    for name in NAMES:
        for file in ("points.csv", "dataset.toml"):
            assert (tmp_path / name / file).read_bytes() == (DATA / name / file).read_bytes()
