"""Plain text: wrapping around a tool's lines is removed, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.ingest.source import decoded, named_apart, plain, with_points


@pytest.mark.parametrize(
    "body",
    [
        "a µ\nb\n".encode(),
        "a µ\r\nb\r\n".encode("utf-8-sig"),
        "a µ\r\r\nb\r\r\n".encode("utf-16"),
        "a µ\nb\n".encode("utf-16-le"),
        "a µ\nb\n".encode("utf-16-be"),
        b"\xfe\xff" + "a µ\nb\n".encode("utf-16-be"),
        "a µ\nb\n".encode("cp1252"),
        "a µ\rb\r".encode(),
    ],
)
def test_encodings_and_line_ends_are_normalised(body: bytes) -> None:
    assert decoded(body) == "a µ\nb\n"


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ("> > text", "text"),
        (">text", "text"),
        ("Nov  3 08:15:00 text", "text"),
        ("Nov 13 08:15:00 host-a unit[12]: text", "text"),
        ("2026-11-03T08:15:00.123456789Z text", "text"),
        ("2026-11-03T08:15:00+01:00 host-a unit@1.service[12]: text", "text"),
        ("2026-11-03 08:15:00,123 text", "text"),
        ("[2026-11-03 08:15:00] text", "text"),
        ("[pod/name-x/box] 2026-11-03T08:15:00Z text", "text"),
        ("client-1  | text", "text"),
        ("client_1 | text", "text"),
        ("[1,0]<stdout>:text", "text"),
        ("\x1b[1;31mtext\x1b[0m", "text"),
        ("^[[32mtext^[[m", "text"),
        ("tezt\x08\x08xt", "text"),
        ("[1] 4711", ""),
        ("[1]+  Done                    iperf3 -s", ""),
        ("[2]-  Exit 1                  iperf3 -s", ""),
        ("[1]  + 4711 done       iperf3 -s", ""),
        ("build\trun iperf3\t2026-11-03T08:15:00.1234567Z text", "text"),
        ("```console", ""),
        ("</pre>", ""),
        ("alice@host-a:~/dir$ iperf3 -s", "$ iperf3 -s"),
        ("[root@host-a ~]# iperf3 -s", "$ iperf3 -s"),
        ("(env) alice@host-a ~ % iperf3 -s", "$ iperf3 -s"),
        ("C:\\tools>ntttcp.exe -s", "$ ntttcp.exe -s"),
        ("PS C:\\tools> ntttcp.exe -s", "$ ntttcp.exe -s"),
        ("host-a:/root # ./ntttcp -r", "$ ./ntttcp -r"),
        # lines that tools print themselves
        ("[  5] 0.0-10.0 sec", "[  5] 0.0-10.0 sec"),
        ("[ *1] 0.0000-1.0 sec", "[ *1] 0.0000-1.0 sec"),
        ("[ 0] IP = 192.0.2.2", "[ 0] IP = 192.0.2.2"),
        ("sockperf: ---> <MAX> observation", "sockperf: ---> <MAX> observation"),
        ("nuttcp-t: buflen=8000", "nuttcp-t: buflen=8000"),
        ("# OSU MPI Latency Test v7.3", "# OSU MPI Latency Test v7.3"),
        ("20261103081510,192.0.2.1,40100", "20261103081510,192.0.2.1,40100"),
        ('{"start": [1]}', '{"start": [1]}'),
    ],
)
def test_prefixes_and_prompts_are_removed(line: str, bare: str) -> None:
    assert plain(f"first\n{line}\nlast") == [f"first\n{bare}\nlast"]


def test_lines_keep_their_numbers() -> None:
    text = "```\nNov 25 09:00:00 a\n[1] 12\n\n> b\n```\n"
    [bare] = plain(text)
    assert bare.split("\n") == ["", "a", "", "", "b", "", ""]


def test_lines_of_several_sources_are_separated_and_keep_their_numbers() -> None:
    text = "Attaching\nclient-1  | a\nserver-1  | b\nclient-1  | c"
    assert plain(text) == ["\na\n\nc", "\n\nb\n", "Attaching\n\n\n"]
    assert plain("0: a\n1: b\n0: c") == ["a\n\nc", "\nb\n", "\n\n"]


def test_a_name_before_most_lines_is_a_prefix_only_as_a_last_resort() -> None:
    text = "host-a: x 1\nhost-a: y 2"
    assert plain(text) == [text]
    assert named_apart(text) == ["x 1\ny 2"]
    assert named_apart("<< x\n<< y") == ["x\ny"]


def test_a_block_is_moved_left_by_its_common_indentation() -> None:
    [bare] = plain("words\n\n    head\n      row\n\n    row\nwords")
    assert bare == "words\n\nhead\n  row\n\nrow\nwords"


@pytest.mark.parametrize(
    ("text", "pointed"),
    [
        ("1118,0400 MB / 10,00 sec", "1118.0400 MB / 10.00 sec"),
        ("average latency: 21,500 [us]", "average latency: 21.500 [us]"),
        ("1,5 and 2.5 and 3.5", "1,5 and 2.5 and 3.5"),  # most numbers have a point
        ("1,048,576 bytes", "1,048,576 bytes"),
        (
            "20261103,192.0.2.1,5001,3,0.0-10.0,125,100",
            "20261103,192.0.2.1,5001,3,0.0-10.0,125,100",
        ),
        ("192.0.2.1 took 1,5 s", "192.0.2.1 took 1.5 s"),
    ],
)
def test_decimal_commas_become_points_if_most_numbers_have_one(text: str, pointed: str) -> None:
    assert with_points(text, thousands=False) == pointed


def test_commas_between_thousands_stay_if_the_tool_prints_them() -> None:
    text = "81,9 KB in 81,927 messages of 1,5 us"
    assert with_points(text, thousands=True) == "81.9 KB in 81,927 messages of 1.5 us"


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_any_text_has_as_many_lines_as_before(text: str) -> None:
    lines = decoded(text.encode()).count("\n")
    for bare in (*plain(decoded(text.encode())), *named_apart(decoded(text.encode()))):
        assert bare.count("\n") == lines
