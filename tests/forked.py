"""Commands in copies of one process that has imported them: a new Python takes five times as long to begin."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support import ROOT

_MAIN = """
import json, os, resource, sys
from importlib import import_module
from nginxopt import cli

for name in cli._COMMANDS.values():
    import_module(name)
for line in sys.stdin:
    call = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(call["folder"])
        os.environ.update(call["environment"])
        for number, path in enumerate(["/dev/null", *call["output"]]):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOCTTY), number)
        resource.setrlimit(resource.RLIMIT_AS, (call["memory"], call["memory"]))
        sys.argv[1:] = call["arguments"]
        cli.main()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""

Run = Callable[..., int]
"""Runs a command in a folder and returns its status; see `commands`."""


@contextmanager
def commands() -> Iterator[Run]:
    """Yield a function `run(arguments, folder, output, errors, environment={}, memory=...)`.

    The command writes to the paths `output` and `errors`, or to that of a terminal. `memory` limits its addresses,
    in bytes.
    """
    with subprocess.Popen(
        [sys.executable, "-c", _MAIN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:

        def run(
            arguments: Sequence[str],
            folder: Path,
            output: str,
            errors: str,
            environment: Mapping[str, str] | None = None,
            memory: int = resource.RLIM_INFINITY,
        ) -> int:
            assert process.stdin
            assert process.stdout
            call = {
                "arguments": arguments,
                "folder": str(folder),
                "output": [output, errors],
                "environment": environment or {},
                "memory": memory,
            }
            print(json.dumps(call), file=process.stdin, flush=True)
            return int(process.stdout.readline())

        yield run
