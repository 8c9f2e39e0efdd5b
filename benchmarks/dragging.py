"""Response times in the browser while two pages of ``icmodel serve`` are dragged at once.

python -m benchmarks.dragging
"""

from __future__ import annotations

from statistics import quantiles

from playwright.sync_api import Page

from benchmarks.served import served_browser

PLACES = (
    "#/?dataset=ethernet-10g-2012&payload=1448+B",
    "#/?dataset=lab-1g-2026&payload=1448+B&protocol=tcp&requested_goodput=100+Mb/s",
)
"""A page with the variant `corrected`, and a page with `hybrid`."""
MOVES, PAUSE_MS = 300, 12
TIMES = """performance.getEntriesByType("resource").filter(one => one.name.endsWith("pages/answers")).map(one => one.duration)"""


def dragged(pages: list[Page]) -> list[list[float]]:
    """Drag the marker of each page in turn; return the response times by page [ms]."""
    boxes = []
    for page in pages:
        page.evaluate(
            "performance.clearResourceTimings(); performance.setResourceTimingBufferSize(9999)"
        )
        box = page.get_by_role("slider", name="operating point").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 11, box["y"] + 40)
        page.mouse.down()
        boxes.append(box)
    for move in range(MOVES):
        for page, box in zip(pages, boxes, strict=True):
            page.mouse.move(box["x"] + 11 - 3 * (move % 100), box["y"] + 40)
        pages[0].wait_for_timeout(PAUSE_MS)
    for page in pages:
        page.mouse.up()
        page.wait_for_timeout(300)
    return [page.evaluate(TIMES) for page in pages]


def main() -> None:
    """Serve, drag, and print median and 95th percentile for each page."""
    with served_browser() as (browser, address):
        pages = []
        for place in PLACES:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(address + place)
            page.locator("html[data-pending='0'] .marker").wait_for()
            pages.append(page)
        for place, times in zip(PLACES, dragged(pages), strict=True):
            cuts = quantiles(times, n=20)
            print(
                f"{place}: {len(times)} answers, median {cuts[9]:.1f} ms, 95 % within {cuts[18]:.1f} ms"
            )


if __name__ == "__main__":
    main()
