"""What a command does to the world, told by Python's audit events (PEP 578) of it and of the Python that it starts.

As `sitecustomize` on PYTHONPATH this file observes each Python process, before it runs anything, and appends to the
file that `OBSERVED` names: what kind, and what of. Programs that are not Python are seen where they are started.
"""

from __future__ import annotations

import os
import sys
from typing import Any

_CHANGES = {
    "os.mkdir": 0,
    "os.remove": 0,
    "os.rename": 1,
    "os.rmdir": 0,
    "os.link": 1,
    "os.symlink": 1,
    "os.truncate": 0,
    "os.chmod": 0,
    "os.chown": 0,
}
"""Events that change a file, with the place of its path among their arguments."""


def _place(name: str) -> str:
    """Return an absolute path, without an event of its own; one that starts from an open folder, by where that is."""
    path = os.path.abspath(name)  # noqa: PTH100
    folder, last = os.path.split(path)
    is_open = folder.startswith("/proc/self/fd/")
    return os.path.join(os.readlink(folder), last) if is_open else path  # noqa: PTH115, PTH118


def observe(path: str) -> None:
    """Append what this process does from now on to a file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(kind: str, what: object) -> None:
        text = os.fsdecode(what) if isinstance(what, bytes | os.PathLike) else str(what)
        os.write(descriptor, os.fsencode(f"{kind}\t{text!r}\n"))

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            name, _, flags = arguments
            if isinstance(name, str | bytes | os.PathLike):
                writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
                note("write" if writes else "read", _place(os.fsdecode(name)))
        elif event in _CHANGES:
            name = arguments[_CHANGES[event]]
            folder = arguments[-1]  # the descriptor of one to which a path is relative, or -1
            if event in ("os.remove", "os.rmdir", "os.mkdir") and isinstance(folder, int) and folder >= 0:
                name = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), os.fsdecode(name))  # noqa: PTH115, PTH118
            note("write", _place(os.fsdecode(name)) if not isinstance(name, int) else f"descriptor {name}")
        elif event in ("subprocess.Popen", "os.posix_spawn", "os.exec"):
            words = [os.fsdecode(word) for word in arguments[1]]
            if os.path.basename(words[0]) == "env":  # noqa: PTH119
                words = [word for word in words[1:] if "=" not in word]
            note("run", os.path.basename(words[0]))  # noqa: PTH119
        elif event in ("socket.connect", "socket.sendto"):
            note("connect", arguments[1][0] if isinstance(arguments[1], tuple) else arguments[1])
        elif event == "socket.bind":
            note("listen", arguments[1][0] if isinstance(arguments[1], tuple) else arguments[1])

    sys.addaudithook(hook)


if __name__ == "sitecustomize" and "OBSERVED" in os.environ:
    observe(os.environ["OBSERVED"])
