"""Serve icmodel on a free port, and open a headless Chromium for its pages."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
"""Path of Chromium's headless shell, which needs a third less CPU, or of the whole browser."""


@contextmanager
def headless_browser() -> Iterator[Browser]:
    """Yield a headless Chromium without background networking; it is closed afterwards."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield browser
        browser.close()


@contextmanager
def served_browser() -> Iterator[tuple[Browser, str]]:
    """Yield a browser and the address of a server; both are closed afterwards."""
    command = [sys.executable, "-m", "icmodel", "serve", "--port", "0", "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = server.stdout.readline().strip()
    try:
        with headless_browser() as browser:
            yield browser, address
    finally:
        server.terminate()
