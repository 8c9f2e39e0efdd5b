"""``icmodel fit``: fit a dataset once, and keep the fit in the dataset's folder."""

from __future__ import annotations

from icmodel.cli.options import AsJson, OneDataset, make_app
from icmodel.cli.output import json_text, print_text, progress_bar
from icmodel.dataset import load

app = make_app()


@app.command(short_help="Fit a dataset and keep the fit in its folder.")
def fit(dataset: OneDataset, *, as_json: AsJson = False) -> None:
    """Fit a dataset for the variant hybrid, and keep the fit in the dataset's folder.

    A fit takes between a few seconds and a minute; later predictions read the stored fit immediately. The fitted
    numbers are written to fit.json, a text file, and the fitted curves to fit.npz. Both files hold a checksum of the
    dataset and of icmodel's code. If the dataset or the code changes, predictions ignore the files until you run this
    command again. Without these files, fits are kept in the user's cache folder. Set ICMODEL_CACHE to use another
    folder; set it to an empty text to keep no fits.

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
        print_text(f"{data.folder}: {len(metrics)} metrics fitted, {count} curves kept\n")
