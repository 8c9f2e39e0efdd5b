"""Serve icmodel on a free port, and open a headless Chromium for its pages."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright


@contextmanager
def served_browser() -> Iterator[tuple[Browser, str]]:
    """Yield a browser and the address of a server; both are closed afterwards."""
    command = [sys.executable, "-m", "icmodel", "serve", "--port", "0", "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = server.stdout.readline().strip()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            yield browser, address
    finally:
        server.terminate()
