"""`python -m tests.project.way ARGUMENT...` prints the modules that a command runs, in the order of their first call.

The command runs twice, and the second run counts: the first imports what is imported on first use.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from types import FrameType

from nginxopt.cli import main


def entered(arguments: Sequence[str]) -> list[str]:
    """Return the modules of nginxopt whose functions a command calls."""
    modules: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        name = str(frame.f_globals.get("__name__", ""))
        if event == "call" and name.startswith("nginxopt."):
            modules.setdefault(name)

    _run(arguments)
    sys.setprofile(note)
    try:
        _run(arguments)
    finally:
        sys.setprofile(None)
    return list(modules)


def _run(arguments: Sequence[str]) -> None:
    """Run a command without its output, and fail if it does not come to its end."""
    with (
        open(os.devnull, "w") as nothing,  # noqa: PTH123 - os.devnull is a name
        contextlib.redirect_stdout(nothing),
        contextlib.redirect_stderr(nothing),
    ):
        try:
            main(arguments)
        except SystemExit as end:
            status = end.code
    if status not in (0, 1):
        raise RuntimeError(f"{arguments}: exit status {status}")


if __name__ == "__main__":
    print(*entered(sys.argv[1:]), sep="\n")
