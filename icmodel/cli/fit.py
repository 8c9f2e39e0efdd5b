"""``icmodel fit``: make the fits of a dataset once and keep them in its folder."""

from __future__ import annotations

from icmodel.cli.output import json_text, print_text, progress_bar
from icmodel.cli.question import AsJson, OneDataset, room
from icmodel.dataset import load

app = room()


@app.command(short_help="Keep what hybrid fits beside a dataset.")
def fit(dataset: OneDataset, *, as_json: AsJson = False) -> None:
    """Fit a dataset for the variant hybrid, and keep the fit beside its points.

    It takes seconds to a minute; predictions then read it and answer at once. Two files are written:
    fit.json has the numbers, as a text that can be compared, fit.npz the curves drawn from them.
    Both carry a seal over the dataset and the program: once either changes they are not used any
    more, and this command makes them anew. Without them a fit is kept in the user's cache folder
    (the variable ICMODEL_CACHE names another, or none where it is empty).

    \b
    icmodel fit my-dataset
    icmodel predict --dataset my-dataset --variant hybrid --payload "1448 B"
    """  # noqa: D301
    from icmodel.laws.hybrid import fit as made  # scipy, not needed by other commands

    data = load(dataset)
    with progress_bar("fitting") as watch:
        kept = made(data, watch)
    kept.write(data.folder)
    fitted = sorted(name for name, one in kept.metrics.items() if one is not None)
    if as_json:
        document = {
            "schema_version": 1,
            "dataset": {"id": data.id, "sha256": data.sha256},
            "seal": kept.seal,
            "metrics": fitted,
            "curves": len(kept.curves),
        }
        print_text(json_text(document))
    else:
        print_text(f"{data.folder}: {len(fitted)} metrics fitted, {len(kept.curves)} curves kept\n")
