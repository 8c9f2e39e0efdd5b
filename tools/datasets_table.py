"""Write the table of data/README.md from the datasets: python tools/datasets_table.py."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
BEGIN, END = "<!-- table of datasets: begin -->", "<!-- table of datasets: end -->"
HEAD = "| dataset | what | protocols | rows |\n| --- | --- | --- | --- |\n"


def table() -> str:
    """Return a table with a line per dataset folder: id, title, protocols and number of rows."""
    return HEAD + "".join(_line(path.parent) for path in sorted(DATA.glob("*/dataset.toml")))


def _line(folder: Path) -> str:
    document = tomllib.loads((folder / "dataset.toml").read_text(encoding="utf-8"))
    with (folder / "points.csv").open(encoding="utf-8", newline="") as handle:
        rows = sum(1 for _ in csv.DictReader(handle))
    protocols = ", ".join(document["protocols"])
    return f"| [`{folder.name}`]({folder.name}/README.md) | {document['title']} | {protocols} | {rows} |\n"


def with_table(text: str) -> str:
    """Return the text with a new table between its two marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}{END}{after}"


if __name__ == "__main__":
    readme = DATA / "README.md"
    readme.write_text(with_table(readme.read_text(encoding="utf-8")), encoding="utf-8")
