"""Disguises: an output reads the same inside the wrapping of terminals, mails and log collectors."""

from __future__ import annotations

import html
import random
import re
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from icmodel.errors import RecordError
from icmodel.ingest import Ingested, Labels, ingest, read_labels
from icmodel.ingest.result import Result
from ingest_cases import CASES, in_files, results
from search import times
from test_ingest_corpus import DAMAGED, damaged

RIGHT: Mapping[str, Any] = tomllib.loads((CASES / "right.toml").read_text(encoding="utf-8"))
SAMPLES = sorted(
    path.relative_to(CASES).as_posix()
    for path in CASES.rglob("*")
    if path.is_file() and path.parent.name not in ("table", "ingest", "found")
)


def each(before: Callable[[int], str], *, stripped: bool = False) -> Callable[[str], bytes]:
    """A prefix in front of every line."""

    def disguise(text: str) -> bytes:
        lines = (before(k) + line for k, line in enumerate(text.split("\n")))
        return "\n".join(line.rstrip() if stripped else line for line in lines).encode()

    return disguise


def clock(k: int) -> str:
    return f"{9 + k // 3600 % 14:02}:{k // 60 % 60:02}:{k % 60:02}"


DISGUISES: Mapping[str, Callable[[str], bytes]] = {
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "serial console": lambda text: text.replace("\n", "\r\r\n").encode(),
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "utf-16": lambda text: text.replace("\n", "\r\n").encode("utf-16"),
    "utf-16 without a mark": lambda text: text.encode("utf-16-le"),
    "utf-16 big endian": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "windows-1252": lambda text: text.replace("μ", "µ").encode("cp1252", errors="replace"),
    "colours": lambda text: "\n".join(
        f"\x1b[1;32m{line}\x1b[0m" for line in text.split("\n")
    ).encode(),
    "colours as written": lambda text: "\n".join(
        f"^[[32m{line}^[[m" for line in text.split("\n")
    ).encode(),
    "a window title": lambda text: f"\x1b]0;user@host-a: ~\x07{text}".encode(),
    "a progress line": lambda text: f"waiting 1 s\rwaiting 2 s\rready      \r\n{text}".encode(),
    "indented": each(lambda _: "    "),
    "indented by a tab": each(lambda _: "\t", stripped=True),
    "quoted": each(lambda _: "> ", stripped=True),
    "quoted twice": each(lambda _: ">> "),
    "quoted twice apart": each(lambda _: "> > "),
    "quoted below words": lambda text: (
        b"On Monday Alice wrote:\n" + each(lambda _: "> ")(text) + b"\n\nLooks right to me.\n"
    ),
    "fenced": lambda text: f"Here it is:\n\n```text\n{text}\n```\n".encode(),
    "as html": lambda text: html.escape(text, quote=False).encode(),
    "ts": each(lambda k: f"Nov 25 {clock(k)} "),
    "ts -s": each(lambda k: f"{clock(k)} ", stripped=True),
    "ts with epoch": each(lambda k: f"{1700000000 + k}.123456 "),
    "journalctl": each(lambda k: f"Nov 25 {clock(k)} host-a bench.sh[4711]: "),
    "journalctl -o short-iso": each(
        lambda k: f"2026-11-25T{clock(k)}+0000 host-a perf@1.service[81]: "
    ),
    "kubectl --timestamps": each(lambda k: f"2026-11-25T{clock(k)}.123456789Z "),
    "kubectl --prefix": each(lambda _: "[pod/perf-client-x7k2p/perf] "),
    "kubectl --prefix --timestamps": each(
        lambda k: f"[pod/perf-client-x7k2p/perf] 2026-11-25T{clock(k)}.123456789Z "
    ),
    "docker compose logs": each(lambda _: "client-1  | ", stripped=True),
    "docker compose logs of a name": each(lambda _: "perf_client  | "),
    "docker compose logs -t": each(lambda k: f"client-1  | 2026-11-25T{clock(k)}.1Z "),
    "docker service logs": each(lambda _: "perf_client.1.q5h2@host-a    | "),
    "gh run view --log": each(lambda k: f"bench\tmeasure it\t2026-11-25T{clock(k)}.1234567Z "),
    "a log in brackets": each(lambda k: f"[2026-11-25 {clock(k)}] "),
    "srun --label": each(lambda _: "0: "),
    "mpirun --tag-output": each(lambda _: "[1,0]<stdout>:"),
    "cat -n": lambda text: "\n".join(
        f"{k:6}\t{line}" for k, line in enumerate(text.split("\n"), start=1)
    ).encode(),
    "pdsh": each(lambda _: "host-a: "),
    "any other prefix": each(lambda _: "│out│ "),
    "a prompt": lambda text: (
        f"alice@host-a:~/perf$ cat run.txt\n{text}\nalice@host-a:~/perf$ ".encode()
    ),
    "a prompt of root": lambda text: (
        f"[root@host-a ~]# cat run.txt\n{text}\n[root@host-a ~]# ".encode()
    ),
    "a prompt of windows": lambda text: (
        f"PS C:\\perf> type run.txt\n{text}\nPS C:\\perf> ".encode()
    ),
    "jobs": lambda text: (
        f"[1] 4711\n{text}\n[1]+  Done                    ./server.sh > /dev/null 2>&1\n".encode()
    ),
    "quoted log of a terminal": lambda text: each(lambda k: f"> Nov 25 {clock(k)} \x1b[32m")(
        text
    ).replace(b"\n", b"\r\n"),
    "dmesg": each(lambda k: f"[{100 + 0.007919 * k:12.6f}] "),
    "syslog": each(lambda k: f"<14>1 2026-11-25T{clock(k)}.123456Z host-a perf 4711 - - "),
    "syslog of BSD": each(lambda k: f"<14>Nov 25 {clock(k)} host-a perf[4711]: "),
    "nl": each(lambda k: f"{k + 1}: "),
    "grep -n": each(lambda k: f"{k + 1}:"),
    "a list": each(lambda k: f"{k + 1}. "),
    "an indented quote of a service": each(lambda _: "   > client-1  | "),
}


def labels(name: str) -> Labels:
    return read_labels(RIGHT.get(name, {}).get("labels", {}), name)


def taken(body: bytes, name: str) -> Ingested | str:
    """Result of ingesting a body; only the refusal if it is refused."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / Path(name).name
        file.write_bytes(body)
        try:
            return ingest([file], labels=labels(name))
        except RecordError:
            return "refused"


def seen(got: Ingested | str) -> object:
    """Parts that a disguise must not change: rows without their source, and hosts and notes of each result."""
    if isinstance(got, str):
        return got
    rows = sorted(str(point._replace(source="", line=0)) for point in got.points)
    return rows, [(one.hosts, one.streams, one.assumed) for f in got.taken for one in f.results]


@pytest.mark.sampled
@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_reads_the_same_in_every_disguise(name: str) -> None:
    """Each sample gets five disguises, different from those of the sample before; all under ``thorough``."""
    text = (CASES / name).read_text(encoding="utf-8-sig")
    bare = seen(taken(text.encode(), name))
    first, names = 5 * SAMPLES.index(name), list(DISGUISES)
    worn = {names[k % len(names)] for k in range(first, first + times(5))}
    different = [what for what in worn if seen(taken(DISGUISES[what](text), name)) != bare]
    assert different == []


READABLE = [name for name in SAMPLES if name in RIGHT]


@pytest.mark.parametrize("name", READABLE)
def test_a_sample_twice_under_headings_is_read_twice(name: str) -> None:
    """The same run counts once; a run of another size counts separately."""
    text = (CASES / name).read_text(encoding="utf-8-sig")
    once, twice = (
        taken(body.encode(), name)
        for body in (text, f"# Monday\n\n{text}\n\n## Tuesday:\n\n{text}")
    )
    assert seen(twice) == seen(once)


PAIRS = [
    (one, two)
    for one, two in pairwise(READABLE)
    if one.partition("/")[0] == two.partition("/")[0] and labels(one) == labels(two)
]


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_two_samples_in_one_file_are_read_as_by_themselves(
    one: str, two: str, tmp_path: Path
) -> None:
    """Runs of one point that differ too much to be repeats are refused."""
    texts = [(CASES / name).read_text(encoding="utf-8-sig") for name in (one, two)]
    body = f"=== first ===\n{texts[0]}\n=== second ===\n{texts[1]}"
    [both] = in_files(tmp_path, {"both.txt": body})
    alone = {key(result) for name in (one, two) for result in results(taken_file(name))}
    assert said(both, labels(one)) in (alone, "not repeats")


def said(file: Path, labels: Labels) -> set[str] | str:
    try:
        return {key(result) for result in results(ingest([file], labels=labels))}
    except RecordError as error:
        return "not repeats" if "not repeats" in str(error) else str(error)


def taken_file(name: str) -> Ingested:
    return ingest([CASES / name], labels=labels(name))


def key(result: Result) -> str:
    return str((result.labels.place, result.hosts, result.streams, result.numbers))


POINTED = [
    name
    for name in SAMPLES
    if not name.endswith((".json", ".jsonl", ".xml", ".csv"))
    and "csv" not in name
    and not name.startswith("zperfmq/")
]
"""Outputs for people, whose numbers a tool prints with the comma of a language's decimals."""


@pytest.mark.parametrize("name", POINTED)
def test_a_sample_reads_the_same_with_decimal_commas(name: str) -> None:
    text = (CASES / name).read_text(encoding="utf-8-sig")
    commas = re.sub(r"(?<![\w.#])(\d+)\.(\d+)(?!\d|\.\d)", r"\1,\2", text)
    assert seen(taken(commas.encode(), name)) == seen(taken(text.encode(), name))


@pytest.mark.parametrize(
    "damage", DAMAGED, ids=[f"{damage['file']}: {damage['what']}" for damage in DAMAGED]
)
def test_a_damaged_file_in_a_disguise_is_refused_by_name(
    damage: Mapping[str, Any], tmp_path: Path
) -> None:
    file = damaged(damage, tmp_path)
    text = file.read_text(encoding="utf-8")
    for what in (
        "quoted",
        "indented",
        "journalctl",
        "docker compose logs -t",
        "utf-16",
        "a prompt",
    ):
        file.write_bytes(DISGUISES[what](text))
        with pytest.raises(RecordError, match=re.escape(damage["why"])):
            ingest([file], labels=labels(str(damage["file"])))


ENCODED = {what for what in DISGUISES if what.startswith(("utf-16", "windows-1252", "byte order"))}
INNER = sorted(
    {*DISGUISES}
    - ENCODED
    - {"a progress line", "any other prefix", "pdsh", "crlf", "serial console", "as html"}
)
"""Disguises that another may be put around, such as an indented quote of a log."""


@pytest.mark.sampled
def test_a_sample_in_two_disguises_reads_the_same() -> None:
    rng = random.Random(28)
    long = [name for name in READABLE if (CASES / name).read_bytes().count(b"\n") > 3]
    for _ in range(times(150)):
        name, inner, outer = rng.choice(long), rng.choice(INNER), rng.choice(sorted(DISGUISES))
        text = (CASES / name).read_text(encoding="utf-8-sig")
        disguised = DISGUISES[outer](DISGUISES[inner](text).decode().replace("\r\n", "\n"))
        assert seen(taken(disguised, name)) == seen(taken(text.encode(), name)), (
            name,
            inner,
            outer,
        )


UNKNOWN: Mapping[str, Callable[[int], str]] = {
    "seconds": lambda k: f"+{k}.{37 * k % 1000:03} s ",
    "klog": lambda k: f"I1125 {clock(k)}.123456 1 main.go:{k + 20}] ",
    "docker build": lambda k: f"#12 {k}.123 ",
    "milliseconds": lambda k: f"{13 * k:08} ",
    "a worker": lambda _: "[worker-3] ",
    "a logger": lambda _: "INFO perf: ",
    "a shell": lambda _: "out> ",
    "two words": lambda _: "perf-job-0 perf ",
}


@pytest.mark.sampled
@pytest.mark.parametrize("what", UNKNOWN)
def test_an_unknown_prefix_of_every_line_is_removed_or_named(what: str, tmp_path: Path) -> None:
    """It never looks as if the run was cut off."""
    rng = random.Random(what)
    for name in rng.sample(READABLE, min(times(12), len(READABLE))):
        text = (CASES / name).read_text(encoding="utf-8-sig")
        body = each(UNKNOWN[what])(text)
        why = refusal(body, name, tmp_path)
        if why:
            assert re.search("every line begins like|is not the output of a tool", why)
        else:
            assert seen(taken(body, name)) == seen(taken(text.encode(), name))


def refusal(body: bytes, name: str, folder: Path) -> str:
    """Why a body is refused; empty if it is read."""
    file = folder / Path(name).name
    file.write_bytes(body)
    try:
        ingest([file], labels=labels(name))
    except RecordError as error:
        return str(error)
    return ""


def test_an_unknown_prefix_is_named(tmp_path: Path) -> None:
    text = (CASES / "iperf2/tcp.txt").read_text(encoding="utf-8")
    [file] = in_files(tmp_path, {"log.txt": each(UNKNOWN["docker build"])(text).decode()})
    with pytest.raises(RecordError, match=r"every line begins like '#12 0\.123 '"):
        ingest([file])


def test_numbers_of_lines_are_no_ranks(tmp_path: Path) -> None:
    """Each line would be a text of its own, and so cut off."""
    text = (CASES / "iperf2/tcp.txt").read_text(encoding="utf-8")
    [file] = in_files(tmp_path, {"log.txt": each(lambda k: f"{k + 1}: ")(text).decode()})
    got = ingest([file], labels=labels("iperf2/tcp.txt"))
    assert seen(got) == seen(taken(text.encode(), "iperf2/tcp.txt"))
