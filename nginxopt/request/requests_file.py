"""Reads a file of requests: a list of URLs, targets of vegeta, or an access log.

The first lines show which of these it is, unless that is stated. A file compressed with gzip is read as what is in it.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import cast

from nginxopt import lazy
from nginxopt.config import Config, roots
from nginxopt.config.filesystem import STDIN
from nginxopt.config.tree import collector_paused
from nginxopt.errors import InputError, UsageError
from nginxopt.request import json_targets, target_lists
from nginxopt.request.access_logs import AccessLog
from nginxopt.request.client import ClientGate, Url
from nginxopt.request.log_formats import LogFormat, known_formats, log_formats, stated_format
from nginxopt.request.packed import Unpacked, refuse_sparse, refuse_special
from nginxopt.request.traffic import Traffic
from nginxopt.text import Source, Span, suggestion
from nginxopt.text.json import loads

Progress = Callable[[int, int], None]
"""Called with the number of bytes read so far, and the size of the file, 0 for a stream."""

LISTS = ("urls", "vegeta")
"""The stated formats of lists of requests."""

_GZIP = b"\x1f\x8b"
_SAMPLED_LINES = 100
_MEMBERS = (b'"log":', b'"MESSAGE":')
"""The members that have the line: of Docker's `json-file`, and of `journalctl -o json`."""
_BUFFER = 1 << 20
_ROTATED = lazy.pattern(r"(?:[.-][0-9_-]+)?(?:\.(?:gz|zst))?\Z")


@dataclass(frozen=True)
class RequestsFile:
    """A file of requests to a site.

    Attributes:
        path: `-` for standard input.
        stated: `urls`, `vegeta`, or the name of a log format; None to tell it by the content.
        base: The site of what has no host.
    """

    path: str
    config: Config
    gate: ClientGate
    stated: str | None = None
    base: Url | None = None

    def read(self, progress: Progress | None = None) -> Traffic:
        """Return the requests.

        Raises `InputError` for a file that cannot be read or has no requests, and with the place of a broken line of a
        list; `UsageError` for an unknown format, or if the host of the requests is not known.
        """
        try:
            if self.path == STDIN:
                return self._read(cast(io.BufferedReader, sys.stdin.buffer), progress)
            refuse_special(self.path)
            with Path(self.path).open("rb", _BUFFER) as raw:
                if raw.seekable():  # no pipe, which can be opened once
                    refuse_sparse(self.path)
                return self._read(cast(io.BufferedReader, raw), progress)
        except (OSError, EOFError) as error:
            raise InputError(f"cannot be read: {_reason(error)}", path=self.path) from None

    def read_from(self, data: bytes) -> Traffic:
        """Return the requests of the content of the file; raises as `read`."""
        return self._read(io.BufferedReader(io.BytesIO(data)), None)

    def _read(self, raw: io.BufferedReader, progress: Progress | None) -> Traffic:
        size, file = _size(raw) if progress else 0, raw
        if raw.peek(2)[:2] == _GZIP:
            file = io.BufferedReader(Unpacked(raw, self.path, lambda below: gzip.GzipFile(fileobj=below).read), _BUFFER)
        log = self.access_log(roots.source(self.path, file.peek(_BUFFER)))
        if log is None:
            return self._targets(roots.source(self.path, file.read()))
        with collector_paused():
            traffic = log.read(file, lambda: progress(raw.tell(), size) if progress and size else None)
        if not traffic.requests:
            raise InputError(f"no line has the format {log.format.name}", path=self.path, expected=log.format.text)
        return traffic

    def _targets(self, source: Source) -> Traffic:
        """Return the requests of a list of URLs or of targets of vegeta."""
        first = next((line for line in source.data.split(b"\n") if line.strip()), b"")
        base = self.base or self.gate.base
        if self.stated != "urls" and json_targets.is_target(first):
            return json_targets.read(source, base)
        return target_lists.read(source, base)

    def access_log(self, head: Source) -> AccessLog | None:
        """Return how to read an access log, by how it begins; None if the file is a list."""
        if self.stated in LISTS:
            return None
        inside = _unwrapped(head.data)
        if self.stated is not None:
            return self._as_log(self._stated(self.stated), is_wrapped=bool(inside))
        lines = _whole_lines(inside or head.data)
        if not lines:
            raise InputError("the file is empty", path=self.path)
        sample = b"\n".join(lines)
        logs = [log for log in map(self._as_log, self._formats) if log.fits(sample)]
        if not logs:
            logs = [log for log in map(self._as_log, self._others) if log.fits(sample)][:1]
        first = next((line for line in lines if not line.startswith(b"#")), b"")
        if not logs and (target_lists.is_list(first) or json_targets.is_target(first)):
            return None
        if not logs:
            raise self._unknown(head, lines[0])
        return replace(self._of_its_name(logs), is_wrapped=bool(inside))

    def _as_log(self, format_: LogFormat, *, is_wrapped: bool = False) -> AccessLog:
        return AccessLog(format_, self.config, self.gate, self.base, is_wrapped)

    @cached_property
    def _formats(self) -> list[LogFormat]:
        return log_formats(self.config)

    @cached_property
    def _others(self) -> list[LogFormat]:
        return known_formats({format_.name for format_ in self._formats})

    def _stated(self, name: str) -> LogFormat:
        if "$" in name:
            return stated_format(name)
        own = [format_.name for format_ in self._formats]
        names = {format_.name: format_ for format_ in (*self._formats, *self._others)}
        if name not in names:
            raise UsageError(f'unknown format "{name}"', hint=suggestion(name, [*names, *LISTS]) or _known(own))
        if not names[name].reads_requests:
            raise UsageError(f"log_format {name} has neither $request nor $request_uri nor $uri")
        return names[name]

    def _of_its_name(self, logs: Sequence[AccessLog]) -> AccessLog:
        """Return the format in which the configuration writes a file of this name, or any if all are read alike.

        Raises `UsageError` if they are not.
        """
        name = _ROTATED.sub("", os.path.basename(self.path))  # noqa: PTH119 - a name of any file
        written = {_format_of(args) for args in self._access_logs if os.path.basename(args[0]) == name}  # noqa: PTH119
        chosen = [log for log in logs if log.format.name in written] or logs
        if any(log.lines() != chosen[0].lines() for log in chosen):
            names = " and ".join(log.format.name for log in logs)
            raise UsageError(f"{self.path} has the formats {names}", hint="choose one with --input-format")
        return chosen[0]

    @property
    def _access_logs(self) -> list[list[str]]:
        """The arguments of each `access_log`."""
        return [
            [str(arg) for arg in directive.args]
            for directive, _ in self.config.walk()
            if directive.name == "access_log" and directive.args
        ]

    def _unknown(self, head: Source, line: bytes) -> InputError:
        names = ", ".join(format_.name for format_ in self._formats if format_.reads_requests)
        start = head.data.find(line)
        return InputError(
            "neither a request nor a line of an access log",
            source=head,
            span=Span(start, start + len(line)),
            expected=f"URL, METHOD URL, or a line in the format {names}",
            hint="if the configuration lacks the log_format, --input-format takes its text: '$remote_addr ...'",
        )


def _unwrapped(head: bytes) -> bytes:
    """Return the log lines that the JSON objects of a head contain; empty if its lines are mostly something else."""
    if not any(member in head for member in _MEMBERS):
        return b""
    found: list[bytes] = []
    lines = _whole_lines(head)
    for line in lines:
        try:
            form = loads(line)
            text = form.get("log") or form.get("MESSAGE")
        except (ValueError, AttributeError):
            continue
        if isinstance(text, str):
            found.append(text.rstrip("\n").encode("utf-8", "surrogatepass"))
    return b"\n".join(found) + b"\n" if 2 * len(found) > len(lines) else b""


def _whole_lines(data: bytes) -> list[bytes]:
    """Return the first lines of a beginning that are not empty, without their ends."""
    lines = data.split(b"\n")
    whole = lines[:-1] if len(lines) > 1 else lines
    return [line.rstrip(b"\r") for line in whole if line.strip()][:_SAMPLED_LINES]


def _size(file: io.BufferedReader) -> int:
    """Return the size of a file; 0 for a stream."""
    return os.fstat(file.fileno()).st_size if file.seekable() else 0


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _format_of(args: Sequence[str]) -> str:
    """Return the name of the format of an `access_log`."""
    return args[1] if len(args) > 1 and "=" not in args[1] else "combined"


def _known(names: Iterable[str]) -> str:
    return f"known are {', '.join([*names, *LISTS])}"
