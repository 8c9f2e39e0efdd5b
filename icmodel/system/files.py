"""Find and read systems: bundled systems by name, others by path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from icmodel.dataset import shipped
from icmodel.errors import IcmodelError, NetworkError, UseCaseError
from icmodel.reading import (
    Form,
    SourceFile,
    mistakes_text,
    read_file,
    read_text,
    source_file,
)
from icmodel.system.checking import Finding, check
from icmodel.system.document import SCHEMA_VERSION, SystemDocument
from icmodel.system.expansion import expand
from icmodel.system.network import System
from icmodel.system.requirements import derive_for_system, stream_requirements
from icmodel.system.schedulers import SCHEDULERS
from icmodel.system.traffic_sources import PRODUCERS
from icmodel.usecase import UseCase, load_usecase, usecase_names
from icmodel.usecase.derivation import Derivations

FORM = Form(
    SystemDocument,
    SCHEMA_VERSION,
    NetworkError,
    kinds={"scheduler": SCHEDULERS, "produces": PRODUCERS},
    example="`icmodel system new` shows an example of most keys",
)


def load(name: str | Path) -> System:
    """Load a system by bundled name or path. Its groups are expanded, and its streams are routed.

    Raises
    ------
    NetworkError
        If the file is missing or breaks the format, or the system has an unconnected or contradictory
        part. An overload is allowed, since an overloaded system can be predicted.

    Examples
    --------
    >>> load("imaging")
    System('imaging': 15 devices, 1 switches, 17 links, 14 streams)
    """
    system, findings = load_checked(name)
    if wrong := [finding.text for finding in findings if finding.refused]:
        raise NetworkError(mistakes_text(system.file or name, wrong))
    return system


def load_checked(name: str | Path) -> tuple[System, tuple[Finding, ...]]:
    """Load a system by bundled name or path, and check it; return the system and all findings.

    Raises
    ------
    NetworkError
        If the file is missing or breaks the format, so that no system can be checked.
    """
    path = find_system(name)
    system, findings = read_system(read_file(path, NetworkError), path.name, path.parent)
    made_of = source_file(path, _bundled_folder(), NetworkError)
    own = path.name if path.name == made_of.name else ""
    return replace(system, file=own, sha256=made_of.sha256), findings


def system_file(name: str | Path) -> SourceFile:
    """Name and hash of the file of a system, by bundled name or by path."""
    return source_file(find_system(name), _bundled_folder(), NetworkError)


def read_system(
    text: str, file: str = "the system", folder: Path | None = Path()
) -> tuple[System, tuple[Finding, ...]]:
    """Read a system from a TOML text, and check it; return the system and all findings.

    Parameters
    ----------
    file : str
        Name of the file in error messages.
    folder : Path, optional
        Folder to which the path of a use case is relative; if None, only bundled use cases are read.

    Raises
    ------
    NetworkError
        If the text breaks the format.
    """
    system = read_open(text, file, folder).system()
    return system, check(system)


@dataclass(frozen=True, slots=True)
class OpenSystem:
    """A system before it is expanded: its document, whose tables can be changed, and its use case.

    Parameters
    ----------
    document : SystemDocument
        Tables of the file.
    usecase : UseCase, optional
        Use case that the document names.
    file : str
        Name of the file in error messages.
    derived : mapping
        Numbers of the use case, derived from the system's sources.
    """

    document: SystemDocument
    usecase: UseCase | None
    file: str
    derived: Derivations = field(default_factory=dict)

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of all datasets that the document names for links and devices, sorted.

        Alternatives in ``choices`` are included.
        """
        document = self.document
        names = {link.dataset for link in document.links}
        names |= {device.dataset for device in document.devices}
        if document.choices is not None:
            names |= {one for links in document.choices.links.values() for one in links.dataset}
        return tuple(sorted(filter(None, names)))

    def system(self) -> System:
        """Make the system from the document: expand groups into members, and route the streams.

        Raises
        ------
        NetworkError
            If groups do not pair, or a stream has no route.
        """
        try:
            requirements = stream_requirements(self.document, self.usecase, self.derived)
            return expand(self.document, requirements)
        except IcmodelError as error:
            raise NetworkError(f"{self.file}: {error}") from error


def load_open(name: str | Path) -> OpenSystem:
    """Load a system by bundled name or path, as an `OpenSystem` whose tables can be changed.

    Raises
    ------
    NetworkError
        If the file is missing or breaks the format.
    """
    path = find_system(name)
    return read_open(read_file(path, NetworkError), path.name, path.parent)


def read_open(text: str, file: str, folder: Path | None = Path()) -> OpenSystem:
    """Read a system from a TOML text, as an `OpenSystem` whose tables can be changed; see `read_system`.

    Raises
    ------
    NetworkError
        If the text breaks the format.
    """
    document = read_text(text, file, FORM)
    name = document.usecase
    if name is None:
        return OpenSystem(document, None, file)
    try:
        # A bundled use case, otherwise a file in the same folder.
        if name not in usecase_names() and folder is None:
            raise UseCaseError(
                f"usecase = {name!r} is not bundled: use one of {', '.join(usecase_names())}"
            )
        usecase = load_usecase(name if folder is None or name in usecase_names() else folder / name)
        return OpenSystem(document, usecase, file, derive_for_system(usecase, document))
    except IcmodelError as error:
        raise NetworkError(f"{file}: {error}") from error


def find_system(name: str | Path) -> Path:
    """Path of a system's file, given a bundled name or a path.

    Raises
    ------
    NetworkError
        If no bundled system and no file has this name, or the file cannot be read.
    """
    if str(name) in system_names():
        return _bundled_folder() / f"{name}.toml"
    try:
        if Path(name).is_file():
            return Path(name)
    except OSError as error:
        raise NetworkError(f"{name} cannot be read: {error.strerror}") from error
    *others, last = system_names()
    raise NetworkError(
        f"there is no system {str(name)!r}: use {', '.join(others)} or {last}, give the path of a TOML "
        "file, or start one with `icmodel system new`"
    )


def system_names() -> tuple[str, ...]:
    """Names of the bundled systems, sorted.

    >>> "imaging" in system_names()
    True
    """
    return tuple(sorted(path.stem for path in _bundled_folder().glob("*.toml")))


def _bundled_folder() -> Path:
    return shipped("usecases") / "systems"


def system_schema() -> Mapping[str, Any]:
    """JSON Schema of a system file; each quantity has two keys, a number in SI or a text with a unit."""
    return SystemDocument.model_json_schema()
