"""The server process: its first line, its end, many clients, and work that is bounded."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread

import anyio
import httpx
import pytest

from hard_work import hoard, sleep
from icmodel.system import find_system
from icmodel.web import server as server_module
from icmodel.web import work
from icmodel.web.place import Place, listen
from icmodel.web.problems import Problem
from icmodel.web.work import Executor
from web_case import Server, problem, serving

QUESTION = {"payload": "1448 B", "rate": "6700/s"}


def test_the_first_line_is_the_address_and_ctrl_c_ends_with_0() -> None:
    with serving() as server:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", server.address)
        assert server.get("").status_code == 200
        assert server.stop() == 0
        assert server.process.stdout is not None
        assert server.process.stderr is not None
        assert server.process.stdout.read() == ""
        assert server.process.stderr.read() == ""


def test_ctrl_c_at_the_start_ends_with_0_too() -> None:
    with serving() as server:
        assert server.stop() == 0


def test_ctrl_c_ends_long_work_too() -> None:
    with serving() as server, ThreadPoolExecutor(1) as client:
        client.submit(server.post, "recommend", {"system": "imaging"})
        time.sleep(2)
        assert server.stop() == 0
        assert server.process.stderr is not None
        said = server.process.stderr.read()
        assert not said, said


def test_a_closed_connection_ends_its_work(server: Server) -> None:
    assert server.post("system/check", {"toml": "x"}).status_code == 422  # a worker has started
    with pytest.raises(httpx.ReadTimeout), server.client as client:
        client.post("api/v1/recommend", json={"system": "imaging"}, timeout=3)
    deadline = time.monotonic() + 10
    while (busy := workers(server.process.pid)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert busy == []


def workers(server: int) -> list[int]:
    """Worker processes of a server that have used a second of CPU since their start and still run."""
    tick, found = os.sysconf("SC_CLK_TCK"), []
    for child in Path(f"/proc/{server}/task/{server}/children").read_text().split():
        status = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        if status[0] == "R" and int(status[11]) > tick:
            found.append(int(child))
    return found


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127", b"GET / HTTP/1.1\r\n"])
def test_a_head_that_does_not_arrive_is_given_up(quick: int, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", quick), 20) as link:
        link.sendall(sent)
        assert link.recv(4096) == b""


def test_a_slow_head_after_an_answer_is_given_up_and_an_idle_connection_too(quick: int) -> None:
    whole = f"GET /api/v1/ HTTP/1.1\r\nHost: 127.0.0.1:{quick}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", quick), 20) as link:
        link.sendall(whole)
        assert link.recv(65536).startswith(b"HTTP/1.1 200 ")
        for at in range(len(whole)):  # a byte now and then does not move the deadline
            try:
                link.sendall(whole[at : at + 1])
            except OSError:
                break
            time.sleep(0.05)
        else:
            pytest.fail("the connection was not closed")
    with socket.create_connection(("127.0.0.1", quick), 20) as link:
        link.sendall(whole)
        answer = b""
        while part := link.recv(65536):  # until the server closes the idle connection
            answer += part
        assert answer.startswith(b"HTTP/1.1 200 ")


@pytest.fixture(scope="module")
def quick() -> Iterator[int]:
    """Port of a server in this process that waits for a head half a second, and for a further one a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server_module, "HEAD_S", 0.5)
        patch.setattr(server_module, "IDLE_S", 1)
        listening = listen("127.0.0.1", 0)
        port = int(listening.getsockname()[1])
        server = server_module.make_server(Place("127.0.0.1", port))
        thread = Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield port
        server.should_exit = True
        thread.join(30)
        listening.close()


def test_on_other_addresses_the_printed_link_brings_the_token() -> None:
    with serving("--host", "0.0.0.0") as server:
        port, token = re.fullmatch(r"http://0\.0\.0\.0:(\d+)/\?token=(.+)", server.address).groups()  # type: ignore[union-attr]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", follow_redirects=True) as client:
            assert client.get("/api/v1/").status_code == 401
            assert client.get(f"/?token={token}").status_code == 200
            assert client.get("/api/v1/").status_code == 200


def test_a_hundred_clients_at_once_are_answered_or_told_to_wait(server: Server) -> None:
    with server.client as client:
        expected = client.post("api/v1/predict", json=QUESTION).json()

    def ask(number: int) -> int:
        with server.client as one:
            answer = one.post("api/v1/predict", json=QUESTION)
            if answer.status_code == 200:
                assert answer.json() == expected
            else:
                assert problem(answer)["status"] == 429
                assert answer.headers["retry-after"] == "1"
            return answer.status_code

    with ThreadPoolExecutor(100) as clients:
        statuses = list(clients.map(ask, range(300)))
    assert statuses.count(200) >= 64, "as many as may wait are answered"
    assert server.get("").status_code == 200


def test_large_answers_are_compressed(server: Server) -> None:
    with server.client as client:
        answer = client.get("api/v1/datasets/ethernet-10g-2012/points")
        assert answer.headers["content-encoding"] == "gzip"
        assert int(answer.headers.get("content-length", "0")) < len(answer.content) / 5


def test_a_system_of_a_million_devices_is_given_up(server: Server) -> None:
    text = find_system("lab-two-senders").read_text(encoding="utf-8")
    grown = re.sub(r'(\[\[devices\]\]\nname = "[^"]+")', r"\1\ncount = 9007199254740991", text)
    assert grown != text
    answer = server.post("system/check", {"toml": grown})
    assert problem(answer)["status"] in (422, 503)
    assert server.get("").status_code == 200


# --- bounded work -------------------------------------------------------------------------------


def test_long_work_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "LONGEST_S", 3.0)

    async def ask() -> float:
        executor, start = Executor(), time.monotonic()
        with pytest.raises(Problem, match="takes longer than 3 s") as refused:
            await executor.long(sleep, 60.0)
        assert refused.value.status == 503
        return time.monotonic() - start

    assert anyio.run(ask) < 20


def test_hungry_work_is_refused() -> None:
    async def ask() -> None:
        executor = Executor()
        with pytest.raises(Problem, match="needs more than 2 GiB") as refused:
            await executor.long(hoard, 2 * work.MOST_MEMORY)
        assert refused.value.status == 503
        assert await executor.long(sleep, 0.0) == b"done"

    anyio.run(ask)


def test_a_full_queue_says_so() -> None:
    async def ask() -> None:
        executor = Executor(threads=1, processes=1, waiting=2)
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(executor.quick, sleep, 0.5)
            await anyio.sleep(0.1)
            with pytest.raises(Problem, match="2 requests wait already") as refused:
                await executor.quick(sleep, 0.0)
            assert refused.value.status == 429

    anyio.run(ask)
