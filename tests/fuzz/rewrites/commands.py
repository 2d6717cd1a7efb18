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
from tests.fuzz.rewrites.generate import Command

_HEADING = re.compile(rb"^# ======== (.*) ========$\n?", re.MULTILINE)
_SIZE = re.compile(rb"^((?:map|variables)_hash_\w+) (\d+);", re.MULTILINE)
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
        sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
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
            path = Path(heading.rpartition(b": ")[0].decode())
            if not heading.endswith(b": nothing to change"):
                _overwrite(path, text)


def _apply_fragment(root: Path, command: Command, ran: Ran) -> None:
    """Include the maps in http, and the sizes of hashes before; sizes that are set there are raised instead."""
    out = root.parent / "out"
    if command.mode == "write":
        notes = [line for line in ran.said.splitlines() if "now add" in line]
        includes = [Path(match[1]) for line in notes for match in _INCLUDE.finditer(line)]
    elif command.mode == "folder":
        includes = [path for path in sorted(out.iterdir()) if path.name in ("hash.conf", "http.conf")]
        _overwrite(root / command.targets[0], (out / "server.conf").read_bytes())
    else:
        includes = []
        for heading, text in _sections(ran.out):
            name = heading.partition(b":")[0].decode()
            path = root / command.targets[0] if name == "server.conf" else root.parent / f"printed-{name}"
            _overwrite(path, text)
            includes += [path] if path.parent == root.parent else []
    main = root / "nginx.conf"
    text = main.read_bytes()
    for path in dict.fromkeys(includes):
        sizes = dict(_SIZE.findall(path.read_bytes())) if "hash" in path.name else {}
        if any(re.search(rb"^ +%s " % name, text, re.MULTILINE) for name in sizes):
            text = _raised(text, sizes)
        elif sizes:
            text = text.replace(b"\nhttp {", b"\nhttp {\n    include %s;" % bytes(path), 1)
        else:
            end = text.rindex(b"}")
            text = text[:end] + b"    include %s;\n" % bytes(path) + text[end:]
    _overwrite(main, text)


def make_room_for_variables(root: Path) -> None:
    """Do what nginx's warning says of a fragment's surroundings: raise the sizes of the table of variables."""
    main = root / "nginx.conf"
    sizes = {b"variables_hash_max_size": b"4096", b"variables_hash_bucket_size": b"256"}
    _overwrite(main, _raised(main.read_bytes(), sizes))


def _raised(text: bytes, sizes: dict[bytes, bytes]) -> bytes:
    """Return http with these sizes of hashes at least."""
    http = text.index(b"\nhttp {")
    before, inside = text[:http], text[http:]
    for name, size in sizes.items():
        match = re.search(rb"^ +%s (\d+);" % name, inside, re.MULTILINE)
        line = b"\n    %s %d;" % (name, max(int(size), int(match[1]) if match else 0))
        inside = inside.replace(match[0], b"", 1) if match else inside
        inside = inside.replace(b"\nhttp {", b"\nhttp {" + line, 1)
    return before + inside


def _sections(printed: bytes) -> list[tuple[bytes, bytes]]:
    parts = _HEADING.split(printed)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def _overwrite(path: Path, text: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)


def _copy(source: str, target: str) -> None:
    _overwrite(Path(target), Path(source).read_bytes())
