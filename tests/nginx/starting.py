"""Starts processes as `nginxopt.system.process` does, but bound by a small program, not in a copy of this process.

A process of tests is large: to copy its page tables, as `preexec_fn` needs, takes longer than nginx takes to start.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

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
    """Start a command as `process.start`, which does it itself if it is to be confined or in another network."""
    if confinement is not None or network.is_own or shutil.which(command[0]) is None:  # raises its `OSError`
        return _start(
            command,
            cwd=cwd,
            output=output,
            errors=errors,
            source=source,
            open_files=open_files,
            confinement=confinement,
            network=network,
        )
    limit = "same" if open_files is None else str(open_files)
    return subprocess.Popen(
        [str(program()), str(os.getpid()), limit, *command],
        cwd=cwd,
        stdin=source,
        stdout=output,
        stderr=output if errors is None else errors,
        start_new_session=True,
    )
