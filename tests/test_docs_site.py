"""The site of docs/: every page is built, found by the search, dark on request, and accessible in a browser."""

from __future__ import annotations

import functools
import http.server
import json
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import checkout
import gallery
from conftest import run
from search import mostly_long

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SEEN = {"start/measurements/": "light", "guides/what-if/": "dark", "gallery/": "light"}
"""Pages opened in a browser, and their scheme: code, tables, pictures."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the built site."""
    source = tmp_path_factory.mktemp("source")
    shutil.copytree(checkout.ROOT / "docs", source / "docs")
    shutil.copy(checkout.ROOT / "mkdocs.yml", source)
    run(sys.executable, "-m", "zensical", "build", "--strict", "--clean", cwd=source)
    return source / "site"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Address of a server of the site."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_every_page_is_built_and_in_the_navigation(site: Path) -> None:
    docs = checkout.ROOT / "docs"
    pages = [page.relative_to(docs) for page in docs.rglob("*.md")]
    for page in pages:
        folder = page.parent if page.stem == "index" else page.with_suffix("")
        assert (site / folder / "index.html").is_file(), page
    nav = (checkout.ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert sorted(re.findall(r"[\w/-]+\.md", nav)) == sorted(page.as_posix() for page in pages)


def test_the_search_finds_the_words_of_others(site: Path) -> None:
    items = json.loads((site / "search.json").read_text(encoding="utf-8"))["items"]
    found = {item["location"]: item["text"] for item in items}
    words = found["reference/metrics/#words-of-other-tools-and-papers"]
    for word in ("throughput", "bandwidth", "jitter", "PPS", "one-way delay", "RTT", "utilisation"):
        assert word in words


def test_the_gallery_shows_every_picture_that_its_commands_write() -> None:
    names = gallery.names()
    page = (checkout.ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = re.findall(r"\(gallery/([\w.-]+)\)", page)
    assert shown == names
    assert {file.name for file in (checkout.ROOT / "docs" / "gallery").iterdir()} == set(names)


@pytest.mark.parametrize("place", mostly_long(SEEN, ("gallery/", "guides/what-if/")))
def test_a_page_is_accessible_and_asks_nobody_else(
    browser: Browser, address: str, place: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    scheme = SEEN[place]
    page = browser.new_page(color_scheme="dark" if scheme == "dark" else "light")
    heard: list[str] = []
    page.on("request", lambda request: heard.append(request.url))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.goto(address + place, wait_until="networkidle")
    expected = "slate" if scheme == "dark" else "default"
    assert page.locator("body").get_attribute("data-md-color-scheme") == expected
    assert page.locator("label[for^='__palette_']").count() == 3  # switches of the scheme
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    bad = [
        f"{one['id']}: {one['nodes'][0]['html'][:160]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert bad == []
    assert [url for url in heard if not url.startswith((address, "data:", "blob:"))] == []
    page.close()
