"""Starts processes as `nginxopt.system.process` does, but bound and confined by a small program, not in a copy of this
process.

A process of tests is large: to copy its page tables, as `preexec_fn` needs, takes longer than nginx takes to start.
`test_starting.py` compares both.
"""

from __future__ import annotations

import functools
import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from nginxopt.system import confinement as confinements
from nginxopt.system import process
from nginxopt.system.confinement import Confinement
from nginxopt.system.network import MACHINE, Network
from tests.support import ROOT

_start = process.start
_SOURCE = Path(__file__).with_name("bound.c")
_BOUND = ROOT / "build" / "bound"


@functools.cache
def program() -> Path | None:
    """Return the program that binds a command to this process, which is compiled if need be; None without a compiler.

    It is linked statically where that can be done, as it then starts in a third of the time.
    """
    if _BOUND.exists() and _BOUND.stat().st_mtime >= _SOURCE.stat().st_mtime:
        return _BOUND
    _BOUND.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_BOUND.parent) as folder:
        new = Path(folder) / "bound"
        if not (_compiled(new, "-static") or _compiled(new)):
            return None
        new.replace(_BOUND)
    return _BOUND


def _compiled(path: Path, *options: str) -> bool:
    command = [os.environ.get("CC", "cc"), "-O1", *options, "-o", str(path), str(_SOURCE)]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def start(
    command: Sequence[str],
    *,
    cwd: Path,
    output: IO[bytes] | int,
    errors: IO[bytes] | int | None = None,
    source: IO[bytes] | int = subprocess.DEVNULL,
    open_files: int | None = None,
    confinement: Confinement | None = None,
    network: Network = MACHINE,
) -> subprocess.Popen[bytes]:
    """Start a command as `process.start`, which does it itself if there is no such command: that raises its error."""
    if shutil.which(command[0]) is None:
        return _start(command, cwd=cwd, output=output, source=source)
    options = _spaces(network) if confinement is None else _confining(confinement)
    limit = "same" if open_files is None else str(open_files)
    return subprocess.Popen(
        [str(program()), str(os.getpid()), limit, *options, "--", *command],
        cwd=cwd,
        stdin=source,
        stdout=output,
        stderr=output if errors is None else errors,
        start_new_session=True,
        env=None if confinement is None else confinement.environment(),
    )


def _confining(confinement: Confinement) -> Iterator[str]:
    """Prepare the folder, and yield the options of the program that do what `Confinement.prepare` returns."""
    confinement.prepare()
    yield from _spaces(confinement.network)
    yield from (f"l{limit}={most}" for limit, most in confinement._limits())
    if user := confinements.trial_user():
        yield "u{}:{}".format(*user)
        yield f"l{resource.RLIMIT_NPROC}={confinements._PROCESSES}"
    yield "p"
    if rights := 0 if confinement.traces else confinements._writes():
        yield from (f"w{rights}={folder}" for folder in (confinement.folder, *confinement.also))
        yield f"w{confinements._WRITE_FILE}=/dev"


def _spaces(network: Network) -> Iterator[str]:
    """Yield the options of the program that enter a network."""
    yield from (f"n{space}" for space in getattr(network, "_spaces", ()))
