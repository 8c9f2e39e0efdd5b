"""Take screenshots of ``icmodel serve`` for the guide: ``python -m tools.page_screenshots``."""

from __future__ import annotations

from pathlib import Path

from benchmarks.served import served_browser

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
"""Name of a picture -> URL fragment, size of the window [px], and colour scheme."""
READY = "html[data-pending='0']:not(:has(.waiting))"


def main() -> None:
    """Start a server, and write every picture."""
    with served_browser() as (browser, address):
        for name, (place, (width, height), colours) in SHOTS.items():
            page = browser.new_page(
                viewport={"width": width, "height": height},
                color_scheme="dark" if colours == "dark" else "light",
            )
            page.goto(address + place)
            page.locator(READY).wait_for(state="attached")
            page.screenshot(path=FOLDER / f"{name}.png")
            page.close()


if __name__ == "__main__":
    main()
