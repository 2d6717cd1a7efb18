"""What a command runs.

`python -m tests.project.way ARGUMENT...` prints the modules in the order of their first call, and with `--to MODULE`
before the arguments the functions between `main` and the first call of a function of that module. The command runs
twice, and the second run counts: the first imports what is imported on first use.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from types import FrameType

from nginxopt.cli import main


def entered(arguments: Sequence[str]) -> list[str]:
    """Return the modules of nginxopt whose functions a command calls."""
    modules: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        name = str(frame.f_globals.get("__name__", ""))
        if event == "call" and name.startswith("nginxopt."):
            modules.setdefault(name)

    _profiled(arguments, note)
    return list(modules)


def frames(arguments: Sequence[str], module: str) -> list[str]:
    """Return the functions of nginxopt that are being called while a module runs for the first time, from `main` on."""
    stack: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or stack or frame.f_globals.get("__name__") != module:
            return
        outer: FrameType | None = frame
        while outer is not None:
            name = str(outer.f_globals.get("__name__", ""))
            if name.partition(".")[0] == "nginxopt":
                stack.insert(0, f"{name}.{outer.f_code.co_name}")
            outer = outer.f_back

    _profiled(arguments, note)
    return stack


def _profiled(arguments: Sequence[str], note: Callable[[FrameType, str, object], None]) -> None:
    _run(arguments)
    sys.setprofile(note)
    try:
        _run(arguments)
    finally:
        sys.setprofile(None)


def _run(arguments: Sequence[str]) -> None:
    """Run a command in a copy of the working directory, without its output, and fail if it does not come to its end."""
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(shutil.copytree(".", folder, dirs_exist_ok=True)),
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
    if sys.argv[1] == "--to":
        print(*frames(sys.argv[3:], sys.argv[2]), sep="\n")
    else:
        print(*entered(sys.argv[1:]), sep="\n")
