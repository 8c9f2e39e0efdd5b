"""Commands that predict, judge and report need no part of Python that Windows lacks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from icmodel.dataset import load

HIDDEN = """
import asyncio, json, multiprocessing.context, os, signal, subprocess, sys

for module in ("fcntl", "grp", "pty", "pwd", "resource", "termios"):
    sys.modules[module] = None
for name in ("SIGALRM", "SIGHUP", "SIGKILL", "alarm", "setitimer"):
    delattr(signal, name)
for name in ("fork", "geteuid", "getuid", "killpg", "sched_getaffinity", "setsid"):
    delattr(os, name)
os.process_cpu_count = os.cpu_count  # from Python 3.13 on, as where sched_getaffinity is missing

from icmodel.__main__ import main

codes = {}
for command in json.loads(sys.stdin.read()):
    sys.argv = ["icmodel", *command.split()]
    codes[command] = main()
print(json.dumps(codes), file=sys.stderr)
"""
"""Program of several commands after what Windows lacks was removed; Python's own modules keep what they hold."""
COMMANDS = {
    "predict --protocol tcp --payload 1448B --json": 0,
    "predict --from scenarios.csv -o answers.xlsx": 0,
    "evaluate imaging": 1,
    "system motion-control -o motion-control.html": 1,
    "sweep --protocol udp --payload 64B..1472B:9 -o swept.csv": 0,
    "datasets check own": 0,
    "theory ethernet --protocol udp --payload 1473B": 0,
    "workbook rapidio-tsi721 -o model.xlsx": 0,
}
"""Command -> exit code."""


def test_commands_work_without_what_windows_lacks(tmp_path: Path) -> None:
    (tmp_path / "scenarios.csv").write_text("protocol,payload [B]\nudp,64\n", encoding="utf-8")
    (tmp_path / "own").symlink_to(load("rapidio-tsi721").folder)
    told = subprocess.run(
        [sys.executable, "-W", "error", "-c", HIDDEN],
        input=json.dumps(list(COMMANDS)),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    written, codes = told.stderr.splitlines()
    assert (written, json.loads(codes)) == ("swept.csv: written", COMMANDS)
    for command in COMMANDS:
        if " -o " in command:
            assert (tmp_path / command.split()[-1]).stat().st_size > 50, command
