"""Build the wheel and the source archive of a release: the same commit gives the same bytes.

``python tools/build_release.py DIST`` builds the committed state. All times in the archives are
those of the commit. The wheel gets a software bill of materials (CycloneDX, in ``.dist-info/sboms``
as PEP 770 says).
"""

from __future__ import annotations

import argparse
import base64
import csv
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import uuid
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VENDORED = {"uPlot": ("1.6.32", "MIT", "pkg:npm/uplot@1.6.32", "icmodel/web/static/vendor")}
"""Libraries inside the wheel -> version, licence, package URL, and folder."""


def main(arguments: list[str] | None = None) -> int:
    """Build a release into a folder, and print the hashes of its files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dist", type=Path, help="folder of the wheel and the source archive")
    dist = parser.parse_args(arguments).dist
    for path in build(ROOT, dist):
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path}")
    return 0


def build(root: Path, dist: Path) -> tuple[Path, Path]:
    """Build the commit that is checked out at ``root``; return the wheel and the source archive."""

    def git(*words: str) -> bytes:
        return subprocess.run(["git", "-C", root, *words], check=True, capture_output=True).stdout

    epoch = int(git("show", "-s", "--format=%ct", "HEAD"))
    commit = git("rev-parse", "HEAD").decode().strip()
    dist.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        source, built = Path(scratch, "icmodel"), Path(scratch, "dist")
        with tarfile.open(fileobj=io.BytesIO(git("archive", "HEAD"))) as tree:
            tree.extractall(source, filter="data")
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
        command = [
            sys.executable,
            "-m",
            "build",
            "--no-isolation",
            "--outdir",
            str(built),
            str(source),
        ]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        (sdist,), (wheel,) = built.glob("*.tar.gz"), built.glob("*.whl")
        bill = bill_of_materials(source, commit, epoch)
        made = dist / wheel.name, dist / sdist.name
        made[0].write_bytes(with_bill(wheel, bill, epoch))
        made[1].write_bytes(normalised(sdist, epoch))
    return made


def normalised(sdist: Path, epoch: int) -> bytes:
    """Return a source archive with sorted members, one timestamp and no owner."""
    packed = io.BytesIO()
    with (
        tarfile.open(sdist) as old,
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=epoch, filename="") as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda one: one.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = epoch, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    return packed.getvalue()


def with_bill(wheel: Path, bill: dict[str, Any], epoch: int) -> bytes:
    """Return a wheel with a bill of materials, listed in its RECORD."""
    packed = io.BytesIO()
    stamp = time.gmtime(epoch)[:6]
    with (
        zipfile.ZipFile(wheel) as old,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        (record,) = (name for name in old.namelist() if name.endswith(".dist-info/RECORD"))
        folder = record.removesuffix("/RECORD")
        contents = {name: old.read(name) for name in sorted(old.namelist()) if name != record}
        contents[f"{folder}/sboms/icmodel.cdx.json"] = (
            json.dumps(bill, indent=2, sort_keys=True).encode() + b"\n"
        )
        lines = io.StringIO()
        writer = csv.writer(lines, lineterminator="\n")
        for name, content in contents.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            writer.writerow([name, f"sha256={digest.decode()}", len(content)])
        writer.writerow([record, "", ""])
        for name, content in {**contents, record: lines.getvalue().encode()}.items():
            entry = zipfile.ZipInfo(name, stamp)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            new.writestr(entry, content)
    return packed.getvalue()


def bill_of_materials(source: Path, commit: str, epoch: int) -> dict[str, Any]:
    """Return a CycloneDX 1.6 document: icmodel, the libraries inside the wheel, and its requirements."""
    project = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = version_of(source)
    inside = [
        {
            "type": "library",
            "bom-ref": url,
            "name": name,
            "version": number,
            "purl": url,
            "licenses": [{"license": {"id": licence}}],
        }
        for name, (number, licence, url, folder) in VENDORED.items()
        if (source / folder).is_dir()
    ]
    extras = project["optional-dependencies"]
    required = dict.fromkeys(project["dependencies"], "required")
    for extra, requirements in extras.items():
        if extra not in ("all", "probe"):
            required |= dict.fromkeys((r for r in requirements if r not in required), "optional")
    outside = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name_of(requirement)}",
            "name": name_of(requirement),
            "purl": f"pkg:pypi/{name_of(requirement)}",
            "scope": scope,
            "properties": [{"name": "icmodel:requirement", "value": requirement}],
        }
        for requirement, scope in required.items()
    ]
    this = f"pkg:generic/icmodel@{version}"  # on PyPI the name belongs to another program
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{this}#{commit}')}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
            "component": {
                "type": "application",
                "bom-ref": this,
                "name": "icmodel",
                "version": version,
                "purl": this,
                "licenses": [{"license": {"id": project["license"]}}],
            },
        },
        "components": [*inside, *outside],
        "dependencies": [
            {"ref": this, "dependsOn": sorted(one["bom-ref"] for one in (*inside, *outside))}
        ],
    }


def version_of(source: Path) -> str:
    """Return the version of a checkout, as ``icmodel/__init__.py`` states it."""
    text = (source / "icmodel" / "__init__.py").read_text(encoding="utf-8")
    return text.split('__version__ = "')[1].split('"')[0]


def name_of(requirement: str) -> str:
    """Return the name of the package that a requirement asks for."""
    from packaging.requirements import Requirement

    return Requirement(requirement).name.lower()


if __name__ == "__main__":
    sys.exit(main())
