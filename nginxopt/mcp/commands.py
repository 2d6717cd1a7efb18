"""Runs commands of nginxopt for paths below named directories."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream, Process
from anyio.lowlevel import RunVar

from nginxopt import budget
from nginxopt.errors import InputError, UsageError
from nginxopt.records import record
from nginxopt.text.json import loads

MOST_TEXT = 1 << 20
"""The bytes of a text that a call brings."""
MOST_ARGUMENT = 30_000
"""The characters of another argument; the system allows 131,072 bytes (MAX_ARG_STRLEN in execve(2))."""
MOST_RESULT = 1 << 20
"""The bytes of a result; a longer one would fill what an assistant can read."""
MOST_PROCESSES = 4
"""The calls that are worked on at once; others wait."""

_PROCESSES: RunVar[anyio.CapacityLimiter] = RunVar("processes")


@record(eq=True)
class CommandResult:
    """What a command says: its exit status, its standard output, and the messages beside it."""

    status: int
    out: str
    messages: str

    def json(self) -> Any:
        """Return its output as JSON; an object with the messages if it has printed none."""
        return loads(self.out.encode()) if self.out.strip() else {"messages": self.messages}


@record(eq=True)
class AllowedFolders:
    """The directories that calls may name files in, resolved."""

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, paths: Sequence[str]) -> AllowedFolders:
        """Return the roots of some directories. Raises `UsageError` for what is none."""
        for path in paths:
            if not os.path.isdir(path):
                raise UsageError(f"{path} is not a directory")
        return cls(tuple(Path(path).resolve() for path in paths))

    def path(self, text: str) -> str:
        """Return a path that a call names, relative to the first root or absolute, resolved.

        Raises `InputError` if it is not below a root, links followed.
        """
        if "\0" in text or not text:
            raise InputError("not a path", path=text.replace("\0", ""))
        try:
            path = (self.folders[0] / text).resolve()
            is_there = os.path.exists(path)
        except (OSError, UnicodeEncodeError, RuntimeError):  # too long, no text, or a link to itself
            raise InputError("not a path", path=text) from None
        if not any(path.is_relative_to(folder) for folder in self.folders):
            raise InputError(f"is outside of {', '.join(map(str, self.folders))}", path=text)
        if not is_there:  # a pattern could match a link that leads out
            raise InputError("there is no such file", path=text)
        return str(path)


async def run(roots: AllowedFolders, *arguments: str, text: str | None = None) -> CommandResult:
    """Run a command in the first root, with a text as standard input; a status of 2 or more but 5 raises `InputError`.

    It ends with the time of the budget `seconds`, which begins when fewer than `MOST_PROCESSES` others run.
    """
    if any("\0" in argument or len(argument) > MOST_ARGUMENT for argument in arguments):
        raise InputError(f"an argument has a null character, or is longer than {MOST_ARGUMENT:,} characters")
    if text is not None and len(text.encode("utf-8", "surrogatepass")) > MOST_TEXT:
        raise InputError(f"the text is longer than {MOST_TEXT:,} bytes")
    seconds = budget.limit("seconds")
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-m", "nginxopt", *arguments]
    async with _processes():
        try:
            with anyio.fail_after(seconds):
                async with await anyio.open_process(command, cwd=roots.folders[0], env=environment) as process:
                    read = await _communicate(process, (text or "").encode("utf-8", "replace"))
        except TimeoutError:
            raise InputError(f"the call took longer than {seconds} s") from None
    if len(read[0]) > MOST_RESULT:
        raise InputError(f"the result is longer than {MOST_RESULT:,} bytes: name fewer files, or fewer rules")
    out, messages = (stream.decode("utf-8", "replace") for stream in read)
    status = process.returncode
    if status is None or (status not in (0, 1, 5) and not (status == 3 and out.strip())):
        raise InputError(messages.strip() or f"exit status {status}")
    return CommandResult(status, out, messages.strip())


def _processes() -> anyio.CapacityLimiter:
    """Return what bounds the processes of this event loop."""
    try:
        return _PROCESSES.get()
    except LookupError:
        _PROCESSES.set(limiter := anyio.CapacityLimiter(MOST_PROCESSES))
        return limiter


async def _communicate(process: Process, text: bytes) -> tuple[bytes, bytes]:
    """Return what a process writes to its standard output and error, of which it is killed for too much."""
    read: dict[int, bytes] = {}

    async def write() -> None:
        assert process.stdin is not None
        with suppress(anyio.BrokenResourceError):  # it need not read all of it
            await process.stdin.send(text)
        await process.stdin.aclose()

    async def collect(number: int, stream: ByteReceiveStream | None) -> None:
        found = bytearray()
        assert stream is not None
        async for part in stream:
            found += part
            if len(found) > MOST_RESULT:
                process.kill()
                break
        read[number] = bytes(found)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        tasks.start_soon(collect, 1, process.stdout)
        tasks.start_soon(collect, 2, process.stderr)
    await process.wait()
    return read[1], read[2]
