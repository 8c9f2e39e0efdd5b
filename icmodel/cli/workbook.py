"""``icmodel workbook``: a spreadsheet that computes the predictions of a dataset by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from icmodel.cli.options import OneDataset, make_app, option
from icmodel.cli.output import check_file, print_text
from icmodel.dataset import load
from icmodel.questions.words import OPTION_HELP, parse_key_values

app = make_app()

File = Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="XLSX file to write.")]
Options = Annotated[list[str] | None, option("option", "KEY=VALUE", OPTION_HELP)]


@app.command(short_help="Write a spreadsheet that predicts by formulas, without icmodel.")
def workbook(dataset: OneDataset, *, output: File, option: Options = None) -> None:
    """Write a spreadsheet for one dataset, with formulas that predict by the model variant 'corrected'.

    Users of the workbook need no icmodel. They type protocol, payload, rate or requested goodput, cores, switches,
    endpoints and the goodput of other senders into cells. The sheet shows goodput, latency, CPU and loss, each with
    interval and basis, and the bottleneck. It also judges a limit typed beside a metric. The workbook has a chart, and
    the dataset rows with their sources. Excel 2016 and LibreOffice compute it without macros.

    \b
    icmodel workbook ethernet-10g-2012 -o model.xlsx
    icmodel workbook ethernet-10g-2012 --option nagle=off -o without-nagle.xlsx
    icmodel workbook path/of/my-dataset -o mine.xlsx
    """  # noqa: D301
    from icmodel.sheets.workbook import write_living_workbook  # the model is slow to import

    check_file(output, (".xlsx",))
    data = load(dataset)
    refused = write_living_workbook(output, data, parse_key_values(option))
    lines = [f"{output}: type a question into the yellow cells of the sheet `question`", *refused]
    print_text("\n".join(lines) + "\n")
