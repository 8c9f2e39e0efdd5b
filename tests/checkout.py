"""The checkout the tests stand in: its files and fresh copies of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROBE = ROOT / "calibration" / "target" / "release" / "icprobe"
BUILT = {
    ".cache",
    ".git",
    ".hypothesis",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".venv",
    "__pycache__",
    "build",
    "dist",
    "site",
    "target",
}


def files() -> list[Path]:
    """Every file that is or would be committed, relative to the root, sorted."""
    git = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(git, capture_output=True, text=True, check=False)
    if (ROOT / ".git").exists() and listed.returncode == 0:
        names = {Path(name) for name in listed.stdout.split("\0") if name}
        return sorted(name for name in names if (ROOT / name).is_file())
    return sorted(
        path.relative_to(ROOT)
        for path in ROOT.rglob("*")
        if path.is_file() and not _built(path.relative_to(ROOT))
    )


def _built(name: Path) -> bool:
    return any(part in BUILT or part.endswith(".egg-info") for part in name.parts)


def copy(target: Path) -> Path:
    """A fresh copy of the checkout in ``target``, without anything built."""
    for name in files():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target / name)
    return target
