"""The command line in a process of its own, and what a user does with its result."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from nginxopt import cli
from tests.rewrite_fuzz.generate import Command

_HEADING = re.compile(rb"^# ======== (.*) ========$\n?", re.MULTILINE)
_INCLUDE = re.compile(r"include (\S+);")


@dataclass(frozen=True, slots=True)
class Ran:
    """How the command ended: its status (negative: the signal), what it printed and said, seconds of the processor."""

    status: int
    out: bytes
    said: str
    seconds: float


def rewrite_to_map(root: Path, command: Command, limit: int) -> Ran:
    """Run the command on the tree in `root`; it is killed after `limit` seconds of the processor."""
    targets = ["-"] if command.stdin else [str(root / target) for target in command.targets]
    options = [option.replace("@T@", str(root)) for option in command.options]
    if command.mode == "write":
        options.append("--write")
    elif command.mode == "folder":
        options += ["-o", str(root.parent / "out")]
        shutil.rmtree(root.parent / "out", ignore_errors=True)
    stdin = root / command.targets[0] if command.stdin else Path(os.devnull)
    return run(root, stdin, ["rewrite-to-map", *targets, *options], limit)


def run(root: Path, stdin: Path, arguments: list[str], limit: int) -> Ran:
    """Run a command line of nginxopt as a fork of this process, which has all modules loaded."""
    out, said = root.parent / "stdout", root.parent / "stderr"
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        _child(root, stdin, out, said, arguments, limit)
    _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return Ran(code, out.read_bytes(), said.read_text(errors="replace"), usage.ru_utime + usage.ru_stime)


def _child(root: Path, stdin: Path, out: Path, said: Path, arguments: list[str], limit: int) -> None:
    status = 111
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        os.chdir(root.parent)
        for number, (path, flags) in enumerate(
            (
                (stdin, os.O_RDONLY),
                (out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
                (said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
            )
        ):
            os.dup2(os.open(path, flags), number)
        sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        try:
            cli.main(arguments)
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def apply(root: Path, command: Command, ran: Ran) -> None:
    """Do what the user does with the result: put the printed text into files, and add the includes."""
    if command.kind == "fragment":
        _apply_fragment(root, command, ran)
    elif command.mode == "folder":
        shutil.copytree(root.parent / "out", root, dirs_exist_ok=True, copy_function=_copy)
    elif command.mode == "print":
        for heading, text in _sections(ran.out):
            path = heading.rpartition(b": ")[0].decode()
            _overwrite(Path(path), text)


def _apply_fragment(root: Path, command: Command, ran: Ran) -> None:
    includes: list[str] = []
    if command.mode == "write":
        includes = [
            found[1] for line in ran.said.splitlines() if "now add" in line for found in _INCLUDE.finditer(line)
        ]
    elif command.mode == "folder":
        includes = [str(path) for path in sorted((root.parent / "out").iterdir()) if path.name != "server.conf"]
        _overwrite(root / command.targets[0], (root.parent / "out" / "server.conf").read_bytes())
    else:
        for heading, text in _sections(ran.out):
            if heading.startswith(b"server.conf"):
                _overwrite(root / command.targets[0], text)
            else:
                (root.parent / "printed.conf").write_bytes(text)
                includes.append(str(root.parent / "printed.conf"))
    main = root / "nginx.conf"
    text = main.read_bytes()
    lines = b"".join(b"\n    include %s;" % name.encode() for name in includes)
    _overwrite(main, text.replace(b"\nhttp {", b"\nhttp {" + lines, 1))


def _sections(printed: bytes) -> list[tuple[bytes, bytes]]:
    parts = _HEADING.split(printed)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def _overwrite(path: Path, text: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)


def _copy(source: str, target: str) -> None:
    _overwrite(Path(target), Path(source).read_bytes())
