"""Replacement of Python parameters in error messages by options of the command line.

Error messages of the package name parameters of Python functions. The command line shows options instead.
`icmodel.web.bodies.in_keys` does the same for keys of HTTP requests.
"""

from __future__ import annotations

import re

OPTIONS = {
    r'tool="NAME"': "--tool",
    r"columns=ColumnMap\(\.\.\.\)": "`icmodel ingest --map`",
    r'labels=Labels\(protocol="NAME"\)': "--protocol NAME",
    r"labels=Labels\(payload_bytes=SIZE\)": '--payload "SIZE"',
    r"labels=Labels\(load_bps=RATE\)": "--load RATE",
    r"labels=Labels\(host_cores=N\)": "--host-cores",
    r"for each file with by_file=\{\.\.\.\}": "in a file with `icmodel ingest --labels`",
    r'apart=\("(\w+)",\)': r"--apart \1",
    r"Setup\(cores=(\d+)\)": r"--cores \1",
    r'Grid\(protocols=\("(\w+)",\)\)': r"--protocol \1",
    r"SshPair\(address=\.\.\.\)": "--address",
}
"""Pattern of a Python parameter in an error message -> option of the command line."""


def in_options(text: str) -> str:
    """Replace Python parameters in an error message by options of the command line.

    Examples
    --------
    >>> in_options('keep them apart by an axis with apart=("kernel",)')
    'keep them apart by an axis with --apart kernel'
    """
    for pattern, option in OPTIONS.items():
        text = re.sub(pattern, option, text)
    return text
