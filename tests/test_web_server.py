"""The server process: its first line, its end, many clients, and work that is bounded."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor

import anyio
import httpx
import pytest

from icmodel.system import find_system
from icmodel.web import work
from icmodel.web.problems import Problem
from icmodel.web.work import Workshop
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
        assert server.process.stderr.read() == ""


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
    assert statuses.count(200) >= 200
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


def sleep(seconds: float) -> bytes:
    """Work that takes long."""
    time.sleep(seconds)
    return b"done"


def hoard(number: int) -> bytes:
    """Work that takes much memory."""
    return bytes(len(bytearray(number)) % 2)


def test_long_work_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "LONGEST_S", 3.0)

    async def ask() -> float:
        shop, start = Workshop(), time.monotonic()
        with pytest.raises(Problem, match="takes longer than 3 s") as refused:
            await shop.long(sleep, 60.0)
        assert refused.value.status == 503
        return time.monotonic() - start

    assert anyio.run(ask) < 20


def test_hungry_work_is_refused() -> None:
    async def ask() -> None:
        shop = Workshop()
        with pytest.raises(Problem, match="needs more than 2 GiB") as refused:
            await shop.long(hoard, 2 * work.MOST_MEMORY)
        assert refused.value.status == 503
        assert await shop.long(sleep, 0.0) == b"done"

    anyio.run(ask)


def test_a_full_queue_says_so() -> None:
    async def ask() -> None:
        shop = Workshop(threads=1, processes=1, waiting=2)
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(shop.quick, sleep, 0.5)
            await anyio.sleep(0.1)
            with pytest.raises(Problem, match="2 requests wait already") as refused:
                await shop.quick(sleep, 0.0)
            assert refused.value.status == 429

    anyio.run(ask)
