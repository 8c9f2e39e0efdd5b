"""Photograph the pages of ``icmodel serve`` for the guide, with a headless Chromium."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "guides"
QUESTION = "#/?dataset=ethernet-10g-2012&payload=1448+B"
COMPARED = (
    f"{QUESTION}&requested_goodput=5+Gb%2Fs&show=latency_mean_s&log=1"
    "&need=mean+latency+%E2%89%A4+100+us&need=goodput+%E2%89%A5+3+Gb%2Fs"
    "&with=ethernet-10g-2012%7Chybrid%7Ctcp&pin=dataset%3Dlab-1g-2026%26protocol%3Dtcp%26payload%3D1448%2BB"
)
DESK, PHONE = (1280, 800), (390, 780)
SHOTS = {
    "what-if": (QUESTION, DESK, "light"),
    "what-if-compared": (COMPARED, (1200, 880), "light"),
    "what-if-phone": (QUESTION, PHONE, "dark"),
    "what-if-system": ("#/systems?name=imaging&stream=picture-1", (1200, 800), "light"),
}
"""Name of a picture -> place, size of the window [px], and colours."""
READY = "html[data-pending='0']:not(:has(.waiting))"


def photograph(page: Page, address: str, place: str, file: Path) -> None:
    """Open a place, and write a picture of the window."""
    page.goto(address + place)
    page.locator(READY).wait_for(state="attached")
    page.screenshot(path=file)


def main() -> None:
    """Serve, and write every picture."""
    command = [sys.executable, "-m", "icmodel", "serve", "--port", "0", "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = server.stdout.readline().strip()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            for name, (place, (width, height), colours) in SHOTS.items():
                page = browser.new_page(
                    viewport={"width": width, "height": height},
                    color_scheme="dark" if colours == "dark" else "light",
                )
                photograph(page, address, place, FOLDER / f"{name}.png")
                page.close()
    finally:
        server.terminate()


if __name__ == "__main__":
    main()
