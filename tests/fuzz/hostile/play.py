"""Runs a command on a hostile configuration, in a fork of this process with limits, and says what is wrong with it."""

from __future__ import annotations

import os
import random
import re
import resource
import select
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.hostile.generate import access_log, archive, manifests, write

MEMORY = 512 * 1024**2
"""Bytes of address space that a command may take beyond what Python and its modules had before."""

SECONDS = 20
"""Seconds of the processor that a command may take: 10 on a processor of its own, twice that on a busy machine."""

_PATIENCE = 600.0
"""Seconds after which a command that waits for something is killed: that is a fault, too. A busy machine waits long."""

_ALLOWED = {0, 1, 2, 3, 5}
_TRACES = re.compile(rb"Traceback|panicked|internal-error|RecursionError|This is a bug|memory allocation of")

COMMANDS: dict[str, list[str]] = {
    "lint": ["lint", "--isolated", "nginx.conf"],
    "fix": ["lint", "--isolated", "--fix", "--unsafe-fixes", "nginx.conf"],
    "diff": ["lint", "--isolated", "--diff", "."],
    "sarif": ["lint", "--isolated", "--format", "sarif", "."],
    "check": ["check", "nginx.conf"],
    "format": ["format", "--isolated", "nginx.conf"],
    "trace": ["trace", "nginx.conf", "http://a.test/a/b?c=d"],
    "test": ["test", "nginx.conf", "table.csv"],
    "verify": ["verify", "nginx.conf", "other.conf"],
    "record": ["test", "--record", "nginx.conf", "table.csv"],
    "requests": ["trace", "nginx.conf", "--requests", "urls.txt"],
    "rewrite-to-map": ["rewrite-to-map", "--check", "nginx.conf"],
    "plan": ["rewrite-to-map", "--plan-only", "-v", "nginx.conf"],
    "written": ["rewrite-to-map", "--write", "nginx.conf"],
    "tar": ["hosts.tar.gz"],
    "zip": ["hosts.zip"],
    "tree": ["host"],
    "lsp": ["lsp"],
    "page": ["lint", "--isolated", "--format", "html", "nginx.conf"],
    "review": ["verify", "--format", "markdown", "nginx.conf", "other.conf"],
    "profile": ["profile", "nginx.conf", "access.log", "--html", "profile.html", "--save", "saved.profile"],
    "ingress": ["ingress", "manifests.yaml", "--output", "made.conf"],
    "printed": ["ingress", "printed.conf", "--tls", "all"],
}
"""The commands by name; the hosts of a fleet are judged in this process, as a worker does."""


class Outcome(NamedTuple):
    """What came of a run: its status, what is wrong or nothing, and its output."""

    status: str
    fault: str
    output: bytes


def play(seed: int, kind: str, command: str, top: Path, memory: int = MEMORY, seconds: int = SECONDS) -> Outcome:
    """Run a command on the configuration of a seed, in the new folder `top`, with so much memory and time."""
    rng = random.Random(f"{seed} {kind}")
    folder = top / "work"
    folder.mkdir(parents=True)
    write(rng, kind, folder)
    (folder / "table.csv").write_text("from,to,status\nhttp://a.test/a,,200\n")
    (folder / "urls.txt").write_text("http://a.test/a\nhttp://a.test/old/1?b=%00\n")
    if command == "profile":
        (folder / "access.log").write_bytes(access_log(rng))
    if command == "ingress":
        (folder / "manifests.yaml").write_bytes(manifests(rng, (folder / "nginx.conf").read_bytes()))
    if command == "printed":
        text = (folder / "nginx.conf").read_bytes()
        (folder / "printed.conf").write_bytes(b"# configuration file /etc/nginx/nginx.conf:\n# lua/nginx/\n" + text)
    if command in ("tar", "zip"):
        archive(rng, folder, top / COMMANDS[command][0])
        shutil.move(top / COMMANDS[command][0], folder / COMMANDS[command][0])
    (folder / "other.conf").write_bytes((folder / "nginx.conf").read_bytes() + b"\n")
    before = set(_names(top, folder))
    status, output = _forked(folder, command, memory, seconds)
    made = [name for name in _names(top, folder) if name not in before]
    fault = ""
    if _TRACES.search(output):
        fault = "trace"
    elif not status.isdigit():
        fault = status
    elif int(status) not in _ALLOWED:
        fault = f"status {status}"
    elif status == "3" and not output.strip():
        fault = "no message"
    elif made:
        fault = f"outside: {made}"
    return Outcome(status, fault, output)


def _names(top: Path, folder: Path) -> Iterator[str]:
    """Yield what is in `top` outside of the folder."""
    return (path.name for path in top.iterdir() if path != folder)


def _forked(folder: Path, command: str, memory: int, seconds: int) -> tuple[str, bytes]:
    """Return the exit status, or how it died, and the output of a command."""
    readable, writable = os.pipe()
    pid = os.fork()
    if not pid:
        status = 99
        try:
            os.close(readable)
            os.dup2(writable, 1)
            os.dup2(writable, 2)
            os.chdir(folder)
            null = os.open("/dev/null", os.O_RDONLY)
            os.dup2(null, 0)
            _limit(memory, seconds)
            status = _run(command)
        except BaseException:
            os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
            raise
        finally:
            os._exit(status)
    os.close(writable)
    output = _output(readable, pid)
    _, waited, usage = os.wait4(pid, 0)
    os.close(readable)
    if os.WIFSIGNALED(waited):
        number = os.WTERMSIG(waited)
        why = "too long" if number in (signal.SIGXCPU, signal.SIGKILL) else signal.Signals(number).name
        return f"{why} after {usage.ru_utime + usage.ru_stime:.0f} s", output
    return str(os.WEXITSTATUS(waited)), output


def _output(readable: int, pid: int) -> bytes:
    """Return what a process writes, its end at least, and kill it if it waits too long."""
    parts: list[bytes] = []
    ends = time.monotonic() + _PATIENCE
    while True:
        ready, _, _ = select.select([readable], [], [], max(0.0, ends - time.monotonic()))
        if not ready:
            os.kill(pid, signal.SIGKILL)
            return b"".join(parts)
        data = os.read(readable, 1 << 16)
        if not data:
            return b"".join(parts)
        parts = [*parts[-64:], data]


def _limit(memory: int, seconds: int) -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _run(command: str) -> int:
    arguments = COMMANDS[command]
    if command in ("tar", "zip", "tree"):
        return _fleet(arguments[0])
    if command == "lsp":
        return _editor()
    from nginxopt import cli

    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - until the process ends
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    try:
        cli.main(arguments)
    except SystemExit as ended:
        sys.stdout.flush()
        sys.stderr.flush()
        return ended.code if isinstance(ended.code, int) else 1


def _fleet(source: str) -> int:
    """Judge each host of a source as a worker does; print its errors."""
    from nginxopt.errors import NginxoptError
    from nginxopt.fleet.judging import judge
    from nginxopt.fleet.plan import FleetOptions
    from nginxopt.fleet.sources import find

    status = 0
    if source == "host":
        folder = Path(source)
        folder.mkdir()
        for path in [path for path in Path().iterdir() if path != folder]:
            path.rename(folder / path.name)
    try:
        for host in find([source], None).hosts(lambda _: False):
            judged = judge(host.recipe, FleetOptions(diff=True))
            if judged.error or "errors" in judged.rows:
                os.write(
                    2, (judged.error or "\n".join(judged.rows["errors"])).encode("utf-8", "backslashreplace") + b"\n"
                )
                status = 3
    except NginxoptError as error:
        os.write(2, error.render().encode("utf-8", "backslashreplace"))
        return error.exit_code
    return status


def _editor() -> int:
    """Open the file as an editor does, and ask for what an editor asks."""
    from lsprotocol import types

    from nginxopt.lsp.diagnostics import Judges
    from nginxopt.lsp.formatting import format_document
    from nginxopt.lsp.preferences import Preferences
    from nginxopt.lsp.workspace import Workspace
    from nginxopt.version import Version

    workspace = Workspace(Preferences(isolated=True, target_version=Version(1, 28, 0)), [str(Path.cwd())])
    uri = Path("nginx.conf").absolute().as_uri()
    text = Path("nginx.conf").read_bytes().decode("utf-8", "replace")
    document = workspace.open(uri, text, 1)
    found = Judges(workspace).diagnostics(document)
    options = types.FormattingOptions(tab_size=4, insert_spaces=True)
    changed = format_document(workspace, types.DocumentFormattingParams(types.TextDocumentIdentifier(uri), options))
    os.write(1, f"{len(found)} {changed is not None}\n".encode())
    return 0
