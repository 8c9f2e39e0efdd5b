"""Folders of the reference pages and of the probe."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
PROBE = ROOT / "calibration"
BINARY = PROBE / "target" / "release" / "icprobe"
