"""``icmodel fit``: fit a dataset once and keep the fit in its folder."""

from __future__ import annotations

from icmodel.cli.options import AsJson, OneDataset, make_app
from icmodel.cli.output import json_text, print_text, progress_bar
from icmodel.dataset import load

app = make_app()


@app.command(short_help="Fit a dataset and keep the fit in its folder.")
def fit(dataset: OneDataset, *, as_json: AsJson = False) -> None:
    """Fit a dataset for the variant hybrid, and keep the fit in the dataset's folder.

    A fit takes seconds to a minute; later predictions read it and answer at once. The numbers go
    to fit.json, a text that can be compared, and the curves drawn from them to fit.npz. A seal in
    both files covers the dataset and the program. If either changes, predictions ignore the files
    until this command writes them again. Without these files, fits are kept in the user's cache
    folder; set ICMODEL_CACHE to use another folder, or to nothing for none.

    \b
    icmodel fit my-dataset
    icmodel predict --dataset my-dataset --variant hybrid --payload "1448 B"
    """  # noqa: D301
    from icmodel.laws import hybrid  # scipy, not needed by other commands

    data = load(dataset)
    with progress_bar("fitting") as watch:
        fitted = hybrid.fit(data, watch)
    fitted.write(data.folder)
    metrics = sorted(name for name, one in fitted.metrics.items() if one is not None)
    if as_json:
        document = {
            "schema_version": 1,
            "dataset": {"id": data.id, "sha256": data.sha256},
            "seal": fitted.seal,
            "metrics": metrics,
            "curves": len(fitted.curves),
        }
        print_text(json_text(document))
    else:
        count = len(fitted.curves)
        print_text(f"{data.folder}: {len(metrics)} metrics fitted, {count} curves kept\n")
