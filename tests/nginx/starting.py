"""Starts processes as `nginxopt.system.process` does, but bound by setpriv (util-linux), not in a copy of this process.

A process of tests is large: to copy its page tables, as `preexec_fn` needs, takes longer than nginx takes to start.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from nginxopt.system import process

_start = process.start
# The parent may have died before setpriv bound the process to it.
_IF_IT_LIVES = '[ "$PPID" = "$0" ] && exec "$@"'


def start(
    command: Sequence[str],
    *,
    cwd: Path,
    output: IO[bytes] | int,
    errors: IO[bytes] | int | None = None,
    open_files: int | None = None,
) -> subprocess.Popen[bytes]:
    """Start a command as `process.start`, which starts those with a limit of open files."""
    if open_files is not None:
        return _start(command, cwd=cwd, output=output, errors=errors, open_files=open_files)
    bound = ["setpriv", "--pdeathsig", "TERM", "--", "sh", "-c", _IF_IT_LIVES, str(os.getpid())]
    return subprocess.Popen(
        [*bound, *command],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output if errors is None else errors,
        start_new_session=True,
    )
