"""Find and read systems: bundled ones by name, others by path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from icmodel.dataset import shipped
from icmodel.errors import IcmodelError, NetworkError
from icmodel.reading import Form, read_file, read_text
from icmodel.system.checking import Finding, check, refusal
from icmodel.system.document import PRODUCERS, SCHEDULERS, SCHEMA_VERSION, SystemDocument
from icmodel.system.expansion import expand
from icmodel.system.network import System
from icmodel.system.required import derived_anew, wanted
from icmodel.usecase import UseCase, load_usecase, usecase_names
from icmodel.usecase.derivation import Derivations

FORM = Form(
    SystemDocument,
    SCHEMA_VERSION,
    NetworkError,
    kinds={"scheduler": SCHEDULERS, "produces": PRODUCERS},
    example="the reference of system files lists each key",
)


def system_names() -> tuple[str, ...]:
    """The names of the bundled systems, sorted."""
    return tuple(sorted(path.stem for path in _folder().glob("*.toml")))


def _folder() -> Path:
    return shipped("usecases") / "systems"


def find_system(name: str | Path) -> Path:
    """The file of a system, given by bundled name or by path.

    Raises
    ------
    NetworkError
        If neither exists.
    """
    if str(name) in system_names():
        return _folder() / f"{name}.toml"
    if Path(name).is_file():
        return Path(name)
    *others, last = system_names()
    raise NetworkError(
        f"there is no system {str(name)!r}: take {', '.join(others)} or {last}, or give the path of a "
        "TOML file"
    )


def load(name: str | Path) -> System:
    """Load a system by bundled name or path: groups expanded, streams on their routes.

    Raises
    ------
    NetworkError
        If it is missing, breaks the format, or has an unconnected or contradictory part; an
        overload is allowed, since it can be predicted.
    """
    system, findings = load_checked(name)
    if wrong := refusal(findings):
        raise NetworkError(f"{find_system(name).name}: {wrong}")
    return system


def load_checked(name: str | Path) -> tuple[System, tuple[Finding, ...]]:
    """A system by bundled name or path, and all findings about it.

    Raises
    ------
    NetworkError
        If it is missing or breaks the format, so that there is no system to check.
    """
    path = find_system(name)
    system, findings = read_system(read_file(path, NetworkError), path.name, path.parent)
    own = path.parent != _folder()
    return (replace(system, file=path.name) if own else system), findings


def read_system(
    text: str, file: str = "the system", folder: Path = Path()
) -> tuple[System, tuple[Finding, ...]]:
    """The system of a TOML text, and all findings about it.

    Parameters
    ----------
    file : str
        Name in messages.
    folder : Path
        Folder in which a use case's path starts.

    Raises
    ------
    NetworkError
        As `load_checked`.
    """
    system = _read(text, file, folder).system()
    return system, check(system)


@dataclass(frozen=True, slots=True)
class OpenSystem:
    """A system with its document, whose tables can be changed.

    Parameters
    ----------
    file : str
        Name in messages.
    derived : mapping
        Numbers of the use case, derived from what the system's streams produce.
    """

    document: SystemDocument
    usecase: UseCase | None
    file: str
    derived: Derivations = field(default_factory=dict)

    def system(self) -> System:
        """Groups expanded, streams on their routes.

        Raises
        ------
        NetworkError
            If groups do not pair, or a stream has no route.
        """
        try:
            return expand(self.document, wanted(self.document, self.usecase, self.derived))
        except IcmodelError as error:
            raise NetworkError(f"{self.file}: {error}") from error


def load_open(name: str | Path) -> OpenSystem:
    """A system by bundled name or path, with its document.

    Raises
    ------
    NetworkError
        If it is missing or breaks the format.
    """
    path = find_system(name)
    return _read(read_file(path, NetworkError), path.name, path.parent)


def _read(text: str, file: str, folder: Path) -> OpenSystem:
    document = read_text(text, file, FORM)
    try:
        usecase = _usecase(document, folder)
        derived = {} if usecase is None else derived_anew(usecase, document)
        return OpenSystem(document, usecase, file, derived)
    except IcmodelError as error:
        raise NetworkError(f"{file}: {error}") from error


def _usecase(document: SystemDocument, folder: Path) -> UseCase | None:
    """The use case that a system names: a bundled one, else a file in the same folder."""
    name = document.usecase
    if name is None:
        return None
    return load_usecase(name if name in usecase_names() else folder / name)


def system_schema() -> Mapping[str, Any]:
    """The JSON Schema of a system, both spellings of every quantity in it."""
    return SystemDocument.model_json_schema()
