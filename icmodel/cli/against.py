"""Options ``--against`` and ``--update``: compare a result with an earlier one, for example in nightly runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from icmodel.cli.output import hanging, json_text, print_text
from icmodel.errors import ScenarioError

if TYPE_CHECKING:
    from icmodel.changes import Changes

Against = Annotated[
    Path | None,
    typer.Option(
        "--against",
        metavar="FILE",
        help="Show the changes since an earlier result, written with --json or -o FILE.json. "
        "The exit code is then 0 for the same verdicts and 1 for a changed verdict.",
    ),
]
Update = Annotated[
    bool,
    typer.Option(
        "--update",
        help="After showing the changes, replace the file of --against with the new result.",
    ),
]


def earlier_result(against: Path | None, *, update: bool) -> Mapping[str, Any] | None:
    """Read the earlier result given with ``--against``; called before anything is computed.

    Raises
    ------
    ScenarioError
        If ``--update`` is given without ``--against``.
    ReportError
        If the file cannot be read.
    """
    if against is None:
        if update:
            raise ScenarioError("--update needs --against: add --against FILE, or remove --update")
        return None
    from icmodel.changes import read_result

    return read_result(against)


def compared(
    earlier: Mapping[str, Any] | None, document: Mapping[str, Any], against: Path | None
) -> Changes | None:
    """Return the changes between an earlier and the new result; ``None`` without ``--against``."""
    if earlier is None:
        return None
    from icmodel.changes import changes_since

    return changes_since(earlier, document, str(against))


def tell(
    changes: Changes, document: Mapping[str, Any], against: Path, *, update: bool, as_json: bool
) -> int:
    """Print the changes since an earlier result, and return the exit code.

    With ``update`` the file of the earlier result is replaced afterwards.
    """
    if as_json:
        print_text(json_text(changes.to_dict()))
    else:
        print_text("\n".join(hanging(changes.lines())) + "\n")
    if update:
        from icmodel.files import write

        write(against, json_text(document).encode("utf-8"))
    return changes.exit_code
