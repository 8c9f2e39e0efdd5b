"""Process that fuzzes one target: ``python -m benchmarks.fuzzing.session TARGET SECONDS [blind]``.

With atheris, libFuzzer prefers inputs that reach new code of icmodel, and ends the process. In
blind mode, inputs come from mutations alone; several times as many are run in the same time.
"""

from __future__ import annotations

import importlib
import mmap
import os
import random
import resource
import shutil
import struct
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.fuzzing.mutation import SEPARATOR, mutated

if TYPE_CHECKING:
    from benchmarks.fuzzing.targets import Target

PACKAGE = f"{Path(__file__).resolve().parents[2] / 'icmodel'}/"
"""Folder of icmodel's code."""
FOLDER = Path(".cache/fuzzing")
"""Folder with corpus, seeds, faults and counts of each target."""
LONGEST_S = 5.0
"""Greatest CPU time of one input [s]."""
HANGS_S = 60
"""Time after which libFuzzer ends the process that reads an input [s]."""
MOST_MEMORY = 3 * 2**30
"""Greatest address space of the process [B]."""
LONGEST_INPUT = 100_000
"""Greatest length of an input [B]."""
MOST_KEPT = 300
"""Maximum number of accepted inputs that a blind session mutates further."""
COUNTS = struct.Struct("QQd")
"""Format of the file ``counts``: executions, refused executions, and CPU time [s]."""


class Session:
    """Fuzzing of one target: runs inputs, counts them, and stores faults."""

    def __init__(self, target: Target, folder: Path, counts: mmap.mmap) -> None:
        self.target, self.folder, self.counts = target, folder, counts
        self.place = importlib.import_module("benchmarks.fuzzing.targets").place()
        self.refusal = importlib.import_module("icmodel.errors").IcmodelError

    def read(self, body: bytes) -> bool:
        """Run the target on one input and store a fault; return whether the input was accepted."""
        own = self.place / "input"
        own.mkdir()
        (self.folder / "last").write_bytes(body)  # in case the process crashes
        began, refused, faulty = time.process_time(), False, False
        try:
            self.target.ask(body.split(SEPARATOR), own)
        except self.refusal as error:
            refused = True
            if not str(error).strip():
                self.keep("no-sentence", "an error without a sentence", body)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a Rust panic is no Exception
            faulty = True
            self.keep(fault_name(error), "".join(traceback.format_exception(error)), body)
        took_s = time.process_time() - began
        if took_s > LONGEST_S:
            self.keep("slow", f"{took_s:.1f} s of CPU time", body)
        shutil.rmtree(own, ignore_errors=True)
        executed, refusals, spent_s = COUNTS.unpack_from(self.counts)
        COUNTS.pack_into(self.counts, 0, executed + 1, refusals + refused, spent_s + took_s)
        return not refused and not faulty

    def keep(self, name: str, told: str, body: bytes) -> None:
        """Store a fault with its input, unless a shorter input is stored."""
        kept = self.folder / "faults" / name
        if not kept.exists() or kept.stat().st_size > len(body):
            kept.write_bytes(body)
            kept.with_name(f"{name}.txt").write_text(told, encoding="utf-8", errors="replace")


def fault_name(error: BaseException) -> str:
    """Name a fault by the class of its error, and by icmodel's innermost line in the traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if frame.filename.startswith(PACKAGE)]
    if not inside:
        return f"{type(error).__name__}-outside"
    module = inside[-1].filename.removeprefix(PACKAGE).removesuffix(".py").replace("/", ".")
    return f"{type(error).__name__}-{module}-{inside[-1].lineno}"


def opened_counts(folder: Path) -> mmap.mmap:
    """Return the counts of a target as a memory-mapped file, which outlives the process."""
    path = folder / "counts"
    if not path.exists():
        path.write_bytes(bytes(COUNTS.size))
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), COUNTS.size)


def guided(session: Session, seconds: float) -> None:
    """Fuzz with libFuzzer, which ends the process."""
    import atheris

    def mutate(body: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.25:
            return bytes(atheris.Mutate(body, most))
        return mutated(body, rng)[:most]

    def read(body: bytes) -> None:
        session.read(body)

    options = (
        f"-max_total_time={seconds:.0f} -timeout={HANGS_S} -rss_limit_mb=0 -max_len={LONGEST_INPUT} "
        f"-artifact_prefix={session.folder}/faults/ {session.folder}/corpus {session.folder}/seeds"
    )
    atheris.Setup([sys.argv[0], *options.split()], read, custom_mutator=mutate)
    atheris.Fuzz()


def blind(session: Session, seconds: float) -> None:
    """Fuzz with mutations of the seeds and of accepted inputs."""
    rng, ends_s = random.Random(), time.monotonic() + seconds
    bodies = [path.read_bytes() for path in sorted((session.folder / "seeds").iterdir())]
    most = len(bodies) + MOST_KEPT
    while time.monotonic() < ends_s:
        body = mutated(rng.choice(bodies), rng)[:LONGEST_INPUT]
        if session.read(body) and len(bodies) < most:
            bodies.append(body)


def fuzz(name: str, seconds: float, *, is_blind: bool) -> None:
    """Fuzz a target in this process."""
    folder = FOLDER / name
    for part in ("corpus", "faults", "seeds"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    os.environ["ICMODEL_CACHE"] = ""
    if not is_blind:
        import atheris

        with atheris.instrument_imports(include=["icmodel"], enable_loader_override=False):
            importlib.import_module("benchmarks.fuzzing.targets")
    target = importlib.import_module("benchmarks.fuzzing.targets").TARGETS[name]
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", RuntimeWarning)
    for number, parts in enumerate(target.seeds()):
        (folder / "seeds" / f"{number:03d}").write_bytes(SEPARATOR.join(parts))
    session = Session(target, folder, opened_counts(folder))
    try:
        (blind if is_blind else guided)(session, seconds)
    finally:
        shutil.rmtree(session.place, ignore_errors=True)


if __name__ == "__main__":
    fuzz(sys.argv[1], float(sys.argv[2]), is_blind=sys.argv[3:] == ["blind"])
