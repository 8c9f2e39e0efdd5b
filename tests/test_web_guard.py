"""Foreign, malicious, slow and oversized requests are refused or bounded."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.datastructures import Headers
from starlette.types import Message

import checkout
from icmodel.errors import ReportError
from icmodel.questions import showing
from icmodel.web import guard
from icmodel.web.place import Place, is_loopback, listen
from icmodel.web.problems import Problem
from search import times
from web_case import Inside, Server, inside, problem

PLACE = Place("127.0.0.1", 8000)
QUESTION = {"payload": "1448 B"}


@pytest.fixture(scope="module")
def client() -> Iterator[Inside]:
    """A client inside this process."""
    with inside(PLACE) as started:
        yield started


# --- who may ask ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "127.0.0.1:9000",
        "127.0.0.1.evil.example",
        "",
        "[::2]:8000",
    ],
)
def test_another_host_is_refused_so_that_dns_cannot_be_rebound(client: Inside, host: str) -> None:
    for path in ("/", "/api/v1/datasets", "/openapi.json"):
        assert problem(client.get(path, headers={"Host": host}))["status"] == 403


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8000", "localhost:8000", "LOCALHOST:8000", "[::1]:8000"]
)
def test_every_name_of_this_machine_is_known(client: Inside, host: str) -> None:
    assert client.get("/api/v1/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9000"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
    ],
)
def test_another_origin_is_refused(client: Inside, headers: dict[str, str]) -> None:
    answer = client.post("/api/v1/predict", json=QUESTION, headers=headers)
    assert problem(answer)["status"] == 403
    if "Sec-Fetch-Mode" not in headers:
        assert client.get("/api/v1/datasets", headers=headers).status_code == 403


def test_own_pages_and_links_from_elsewhere_are_answered(client: Inside) -> None:
    own = {"Origin": "http://127.0.0.1:8000", "Sec-Fetch-Site": "same-origin"}
    assert client.post("/api/v1/predict", json=QUESTION, headers=own).status_code == 200
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.get("/", headers=link).status_code == 200


def test_no_other_site_may_read_an_answer(client: Inside) -> None:
    answer = client.get("/api/v1/", headers={"Origin": "http://127.0.0.1:8000"})
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_every_answer_has_the_headers(client: Inside) -> None:
    for path in ("/", "/docs", "/nothing", "/api/v1/", "/api/v1/datasets/none"):
        headers = client.get(path).headers
        assert (
            headers.items() >= {name.lower(): text for name, text in guard.HEADERS.items()}.items()
        )
        assert "unsafe" not in headers["content-security-policy"]
        assert "server" not in headers


# --- token ------------------------------------------------------------------------------------


def test_others_than_this_machine_need_a_token() -> None:
    place = Place.of("0.0.0.0", 8000)
    with inside(place, "http://192.168.1.5:8000") as client:
        refused = client.get("/api/v1/")
        assert problem(refused)["status"] == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert client.get("/?token=wrong").status_code == 401
        assert client.post("/api/v1/predict?token=" + place.token, json=QUESTION).status_code == 401
        bearer = {"Authorization": f"Bearer {place.token}"}
        assert client.get("/api/v1/", headers=bearer).status_code == 200
        first = client.get(
            f"http://192.168.1.5:8000//evil.example/?token={place.token}&q=1",
            follow_redirects=False,
        )
        assert first.headers["location"] == "/evil.example/?q=1"
        cookie = first.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert client.get("/api/v1/").status_code == 200  # by the cookie
        assert client.get("/api/v1/", headers={"Host": "evil.example:8000"}).status_code == 403


def test_only_loopback_needs_no_token() -> None:
    hosts = {"127.0.0.1": True, "localhost": True, "::1": True, "0.0.0.0": False, "lab": False}
    assert {host: is_loopback(host) for host in hosts} == hosts
    assert Place.of("127.0.0.1", 1).address == "http://127.0.0.1:1/"
    assert Place.of("::", 1).address.startswith("http://[::]:1/?token=")
    assert Place.of("0.0.0.0", 1).token not in repr(Place.of("0.0.0.0", 1))


def test_a_taken_port_is_named() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ReportError, match=f"cannot listen on .*, port {port}: "):
            listen("127.0.0.1", port)
        with pytest.raises(ReportError, match="port 99999"):
            listen("127.0.0.1", 99999)


# --- what is asked ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/../server.py",
        "/..%2fserver.py",
        "/%2e%2e/%2e%2e/errors.py",
        "/static/../../api.py",
        "//etc/passwd",
        "/api/v1/datasets/..%2f..%2fetc%2fpasswd",
        "/api/v1/usecases/..%2fsystems%2fimaging",
        "/api/v1/systems/%2fetc%2fpasswd",
        "/api/v1/validation/..",
    ],
)
def test_no_path_leads_out(server: Server, path: str) -> None:
    with connect(server) as link:
        host = server.address.removeprefix("http://").rstrip("/")
        link.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(partial(link.recv, 4096), b""))
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"application/problem+json" in answer


SECRET = "root:"


@pytest.mark.parametrize("name", ["/etc/passwd", "../../etc/passwd", "/usr", "data", "."])
def test_names_are_no_paths(client: Inside, name: str) -> None:
    for path, body in (
        ("predict", {"dataset": name, "payload": "64 B"}),
        ("sweep", {"dataset": name, "payload": "64 B"}),
        ("compare", {"dataset": [name], "payload": "64 B"}),
        ("compare", {"dataset": [name], "usecase": "imaging"}),
        ("compare", {"usecase": name}),
        ("evaluate", {"usecase": name}),
        ("evaluate", {"usecase": "imaging", "dataset": name}),
        ("system", {"system": name}),
        ("system", {"system": "lab-direct", "dataset": name}),
        ("recommend", {"system": name}),
        ("ingest", {"files": [{"name": "a.txt", "text": "1"}], "name": name}),
        ("ingest", {"files": [{"name": name, "text": "1"}]}),
    ):
        answer = client.post(f"/api/v1/{path}", json=body)
        assert problem(answer)["status"] == 422, (path, body)
        assert SECRET not in answer.text


@pytest.mark.parametrize(
    "change",
    [
        ('usecase = "imaging"', 'usecase = "/etc/passwd"'),
        ('usecase = "imaging"', 'usecase = "../../../../etc/passwd"'),
        ('dataset = "ethernet-10g-2012"', 'dataset = "/etc"'),
        ('dataset = "ethernet-10g-2012"', 'dataset = "../data/ethernet-10g-2012"'),
    ],
)
@pytest.mark.parametrize("path", ["system", "recommend", "system/check"])
def test_a_text_names_bundled_data_only(client: Inside, path: str, change: tuple[str, str]) -> None:
    text = client.get("/api/v1/systems/imaging").json()["toml"]
    assert change[0] in text
    answer = client.post(f"/api/v1/{path}", json={"toml": text.replace(*change)})
    assert problem(answer)["status"] == 422
    assert SECRET not in answer.text


@pytest.mark.parametrize(
    "body",
    [
        {"payload": "1 B..65535 B:20000"},
        {"payload": "1 B..65535 B:1000", "rate": "1/s..100000/s:1000"},
        {"payload": "64 B", "rate": "1/s..2/s:999999999"},
        {"payload": "64 B", "endpoints": "1..999999999999"},
        {"payload": ",".join(["1 B..65535 B:1000000"] * 8)},
    ],
)
def test_a_huge_grid_is_refused_at_once(client: Inside, body: dict[str, str]) -> None:
    start = time.monotonic()
    answer = client.post("/api/v1/sweep", json=body)
    assert problem(answer)["status"] == 422
    assert time.monotonic() - start < 5


SCRIPT = "<script>alert(1)</script>"


def test_script_is_text_and_never_html(client: Inside) -> None:
    text = client.get("/api/v1/usecases/imaging").json()["toml"]
    title = text.replace('title = "Imaging systems"', f"title = '{SCRIPT}'")
    answer = client.post("/api/v1/evaluate", json={"toml": title})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["usecase"]["title"] == SCRIPT
    for path, body in (
        ("predict", {"dataset": SCRIPT, "payload": "64 B"}),
        ("predict", {SCRIPT: 1}),
        ("evaluate", {"toml": SCRIPT}),
        ("ingest", {"files": [{"name": "a.txt", "text": SCRIPT}], "tool": SCRIPT}),
    ):
        problem(client.post(f"/api/v1/{path}", json=body))
    problem(client.get(f"/{SCRIPT}"))
    assert SCRIPT not in client.get("/docs").text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=times(30), deadline=None)
@given(key=st.sampled_from(["payload", "rate", "cores", "option", "dataset", "new"]), value=JSON)
def test_any_value_is_answered_or_refused(client: Inside, key: str, value: Any) -> None:
    body = json.dumps({**QUESTION, key: value})
    headers = {"Content-Type": "application/json"}
    answer = client.post("/api/v1/predict", content=body, headers=headers)
    assert answer.status_code in (200, 400, 422)
    if answer.status_code != 200:
        problem(answer)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[" * 100_000, 400),
        (b'{"payload": 1' + b"0" * 10_000 + b"}", 400),
        (b'{"payload": "\\ud800"}', 422),
        (b'{"payload": NaN}', 422),
        (b"[]", 422),
    ],
    ids=["empty", "cut", "no text", "deep", "digits", "surrogate", "nan", "list"],
)
def test_a_broken_body_is_refused(client: Inside, body: bytes, status: int) -> None:
    headers = {"Content-Type": "application/json"}
    answer = client.post("/api/v1/predict", content=body, headers=headers)
    assert problem(answer)["status"] == status


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded"])
def test_another_type_of_body_is_refused(client: Inside, kind: str) -> None:
    answer = client.post("/api/v1/predict", content=b"{}", headers={"Content-Type": kind})
    assert problem(answer)["status"] == 415


def test_a_defect_is_told_without_its_place(
    client: Inside, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(str(checkout.ROOT))

    monkeypatch.setattr(showing, "dataset_entry", broken)
    answer = client.get("/api/v1/datasets")
    assert problem(answer)["status"] == 500
    assert "RuntimeError" not in answer.text
    assert "RuntimeError" in capsys.readouterr().err


def test_another_method_is_refused(client: Inside) -> None:
    answer = client.request("PUT", "/api/v1/predict", json={})
    assert problem(answer)["status"] == 405
    assert answer.headers["allow"] == "POST"


# --- how much and how slowly --------------------------------------------------------------------


def connect(server: Server) -> socket.socket:
    """A raw connection to a server."""
    return socket.create_connection(("127.0.0.1", int(server.address.rpartition(":")[2][:-1])), 60)


HEAD = "POST /api/v1/predict HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n{length}\r\n\r\n"


def head(server: Server, length: str) -> bytes:
    host = server.address.removeprefix("http://").rstrip("/")
    return HEAD.format(host=host, length=length).encode()


def test_a_large_body_is_refused_before_it_is_read(server: Server) -> None:
    with connect(server) as link:
        link.sendall(head(server, f"Content-Length: {2**40}"))
        assert link.recv(4096).startswith(b"HTTP/1.1 413 ")


def test_an_endless_body_is_refused(server: Server) -> None:
    with connect(server) as link:
        link.sendall(head(server, "Transfer-Encoding: chunked"))
        chunk = b"10000\r\n" + b" " * 2**16 + b"\r\n"
        try:
            for _ in range(2 * guard.LARGEST_BODY // 2**16):
                link.sendall(chunk)
        except OSError:
            return  # the server has closed the connection
        assert link.recv(4096).startswith(b"HTTP/1.1 413 ")


def test_a_slow_body_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "BODY_S", 0.2)

    async def never() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    async def read() -> bytes:
        return await guard.read_body({"path": "/api/v1/predict"}, Headers({}), never)

    with pytest.raises(Problem, match=r"did not arrive within 0.2 s") as refused:
        anyio.run(read)
    assert refused.value.status == 408
