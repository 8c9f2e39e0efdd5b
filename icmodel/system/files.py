"""Find and read systems: bundled systems by name, others by path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from icmodel.dataset import catalogue, shipped
from icmodel.errors import NetworkError, UseCaseError
from icmodel.mistakes import Fault, Mistakes, Place
from icmodel.reading import Form, SourceFile, read_document, read_file, source_file
from icmodel.system.checking import Finding, check
from icmodel.system.document import SCHEMA_VERSION, SystemDocument
from icmodel.system.expansion import expand_sound_part
from icmodel.system.network import System
from icmodel.system.requirements import derive_for_system, stream_requirements
from icmodel.system.schedulers import SCHEDULERS
from icmodel.system.traffic_sources import PRODUCERS
from icmodel.usecase import UseCase, load_usecase, usecase_names
from icmodel.usecase.derivation import Derivations

SAMPLES: Mapping[str, Any] = {
    **dict.fromkeys(("name", "title", "source"), "x"),
    "devices": {"source": "x"},
    "switches": {"forwarding": "store-and-forward", "latency_s": 0.0},
    "links": {"rate_bps": 1e12},
    "streams": {
        "produces": {"kind": "goodput", "goodput_bps": 1.0},
        "protocol": "udp",
        "payload_bytes": 1,
    },
    "requirements": {"metric": "goodput_bps", "at_least": "0 b/s"},
}
"""Valid sample values that replace wrong values, so that the rest of a file can be checked."""
FORM = Form(
    SystemDocument,
    SCHEMA_VERSION,
    NetworkError,
    kinds={"scheduler": SCHEDULERS, "produces": PRODUCERS},
    example="`icmodel system new` shows an example of most keys",
    samples=lambda _: SAMPLES,
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
    path = find_system(name)
    opened = read_open(read_file(path, NetworkError), path.name, path.parent)
    return _with_file(opened.checked(), path)


def load_checked(name: str | Path) -> tuple[System, tuple[Finding, ...]]:
    """Load a system by bundled name or path, and check it; return the system and all findings.

    Raises
    ------
    NetworkError
        If the file is missing or breaks the format, so that no system can be checked.
    """
    path = find_system(name)
    system, findings = read_system(read_file(path, NetworkError), path.name, path.parent)
    return _with_file(system, path), findings


def _with_file(system: System, path: Path) -> System:
    """Copy a system with the hash of its file, and with the name of the file unless the system is bundled."""
    made_of = source_file(path, _bundled_folder(), NetworkError)
    own = path.name if path.name == made_of.name else ""
    return replace(system, file=own, sha256=made_of.sha256)


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
        Folder to which the path of a use case is relative; if None, only bundled use cases and datasets are
        read.

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
    blank : Mistakes
        Empty collection of mistakes for this file. Each later check collects its mistakes in a copy.
    derived : mapping
        Numbers of the use case, derived from the system's sources.
    """

    document: SystemDocument
    usecase: UseCase | None
    blank: Mistakes
    derived: Derivations = field(default_factory=dict)

    @property
    def file(self) -> str:
        """Name of the file in error messages."""
        return self.blank.file

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
            If two groups cannot be paired, or a stream has no route. The message lists all mistakes of the file.
        """
        mistakes = replace(self.blank)
        system = self._sound_part(mistakes)
        mistakes.refuse(NetworkError)
        return system

    def checked(self) -> System:
        """Make the system, and refuse it if a part is unconnected or contradictory.

        Raises
        ------
        NetworkError
            As `system`, or if `check` finds an unconnected or contradictory part.
        """
        mistakes = replace(self.blank)
        system = self._sound_part(mistakes)
        _add_findings(system, mistakes)
        mistakes.refuse(NetworkError)
        return system

    def _sound_part(self, mistakes: Mistakes) -> System:
        """Make the system from its valid parts, and add the mistakes of all parts to ``mistakes``.

        If there is a mistake, `check` also examines the valid parts, and its findings are added.
        """
        requirements = stream_requirements(self.document, self.usecase, self.derived, mistakes)
        system = expand_sound_part(self.document, requirements, mistakes)
        if mistakes:
            _add_findings(system, mistakes)
        return system


def _add_findings(system: System, mistakes: Mistakes) -> None:
    for finding in check(system):
        if finding.refused:
            mistakes.add(finding.fault)


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
        If the text breaks the format. The message has all mistakes of the file.
    """
    document, mistakes = read_document(text, file, FORM)
    if document is None:
        mistakes.refuse(NetworkError)
    assert document is not None  # without a document, `refuse` has raised an error
    if folder is None:
        document = _with_bundled_datasets(document, mistakes)
    usecase: UseCase | None = None
    derived: Derivations = {}
    if document.usecase is not None:
        with mistakes.at("usecase"):
            usecase = _usecase(document.usecase, folder)
            derived = derive_for_system(usecase, document)
    opened = OpenSystem(document, usecase, Mistakes(file, text, mistakes.document), derived)
    if mistakes:
        opened._sound_part(mistakes)
        mistakes.refuse(NetworkError)
    return opened


def _with_bundled_datasets(document: SystemDocument, mistakes: Mistakes) -> SystemDocument:
    """Remove datasets that are not bundled from a document, and add a mistake for each; their files are not read."""

    def bundled(name: str | None, place: Place) -> str | None:
        if name is None or name in catalogue():
            return name
        text = f"there is no dataset {name!r}: use one of {', '.join(catalogue())}"
        mistakes.add(Fault(text, place))
        return None

    changed = {
        part: tuple(
            table.model_copy(update={"dataset": bundled(table.dataset, (part, at, "dataset"))})
            for at, table in enumerate(getattr(document, part))
        )
        for part in ("links", "devices")
    }
    for key, choice in document.choices.links.items() if document.choices else ():
        for name in choice.dataset:
            bundled(name, ("choices", "links", key, "dataset"))
    return document.model_copy(update=changed)


def _usecase(name: str, folder: Path | None) -> UseCase:
    """Find a use case: a bundled one, otherwise a file in ``folder``. If ``folder`` is None, no file is read.

    Raises
    ------
    UseCaseError
        If there is no such use case.
    """
    if name in usecase_names():
        return load_usecase(name)
    if folder is None:
        raise UseCaseError(
            f"usecase = {name!r} is not bundled: use one of {', '.join(usecase_names())}"
        )
    return load_usecase(folder / name)


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
