"""``icmodel fit``: fit a dataset, and store the fit in the dataset's folder."""

from __future__ import annotations

from icmodel.cli.options import AsJson, OneDataset, make_app
from icmodel.cli.output import json_text, print_text, progress_bar
from icmodel.dataset import load

app = make_app()


@app.command(short_help="Fit a dataset and store the fit in its folder.")
def fit(dataset: OneDataset, *, as_json: AsJson = False) -> None:
    """Fit a dataset for the variant hybrid, and store the fit in the dataset's folder.

    A fit takes between a few seconds and a minute. Later predictions read the stored fit. The text file fit.json holds
    the fitted numbers, and fit.npz the fitted curves. Both files have a checksum of the dataset and of icmodel's code.
    If the dataset or the code changes, predictions ignore the files until you run this command again. Without these
    files, fits are stored in the user's cache folder. ICMODEL_CACHE names another folder; if it is empty, no fits are
    stored.

    \b
    icmodel fit my-dataset
    icmodel predict --dataset my-dataset --variant hybrid --payload "1448 B"
    """  # noqa: D301
    from icmodel.laws import hybrid  # imported here, since scipy is slow to import

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
        print_text(f"{data.folder}: {len(metrics)} metrics fitted, {count} curves stored\n")
