"""``icmodel recommend``: of all that may still be chosen in a system, the designs that meet every requirement."""

from __future__ import annotations

from icmodel.cli.output import Answer, emit, progress_bar
from icmodel.cli.question import AsJson, NoCache, Output, Speaks, SystemName, VariantName, room

app = room()


@app.command(short_help="What to choose in a system so that it meets its requirements.")
def recommend(
    name: SystemName,
    *,
    dataset: Speaks = None,
    variant: VariantName = None,
    no_cache: NoCache = False,
    as_json: AsJson = False,
    output: Output = None,
) -> int:
    """Search what may be chosen in a system: the designs that meet all, and what would mend one that does not.

    The file's [choices] say what is searched; without them it is the protocols and cores that its datasets
    measured, and payloads that fill packets. Every design is scored, the best are predicted in full, and
    those are told: the front over CPU, latency, headroom, interfaces and cost, and the fewest changes that
    mend the file's own design. Exit code: 0 a design surely meets all, 3 one may, 1 none does.

    \b
    icmodel recommend imaging
    icmodel recommend motion-control
    icmodel recommend my-system.toml --dataset path/of/my-dataset --json
    """  # noqa: D301
    from icmodel.cli.recommended import sections
    from icmodel.recommend import recommend as search

    with progress_bar("predicting designs") as watch:
        found = search(name, dataset, variant, cache=not no_cache, watch=watch)
    emit(
        Answer(sections=lambda: sections(found), document=found.to_dict),
        as_json=as_json,
        output=output,
    )
    return found.exit_code
