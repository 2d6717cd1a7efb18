"""What is tried: a configuration with its files, how nginx is started on it, and what it is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

MAIN = "nginx.conf"

_PLACE = re.compile(rb"@(\w+)@")


@dataclass(frozen=True, slots=True)
class Talk:
    """Requests on one connection, one after the other, to the port of that number.

    `tls` is None for plain text, else whose certificate is shown, `""` for nobody's; connections of the same `session`
    resume the TLS session of the one before.
    """

    port: int
    requests: tuple[bytes, ...]
    tls: str | None = None
    session: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """Talks at the same time; before them files are replaced by others, and nginx reads its configuration again."""

    talks: tuple[Talk, ...]
    replaced: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Start:
    """How nginx is started.

    `globals` goes with `-g`. `nofile` are the soft and the hard limit of open files. `plain_user` is not root.
    `small` is a folder of the prefix that has a file system of 1 MB to itself.
    """

    globals: str = ""
    nofile: tuple[int, int] | None = None
    plain_user: bool = False
    small: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A configuration, `files` with their paths from the prefix, and what is done with it.

    `@plain0@` in a file is the address of an origin, and `@port0@` a port of nginx.
    """

    files: Mapping[str, bytes]
    steps: tuple[Step, ...]
    start: Start = Start()
    name: str = ""
    ports: int = 1
    notes: Mapping[str, str] = field(default_factory=dict)


def placed(text: bytes, places: Mapping[str, str]) -> bytes:
    """Return a text with the addresses in it; a word that is no place stays."""
    return _PLACE.sub(lambda match: places.get(match[1].decode(), match[0].decode()).encode(), text)


def unplaced(text: bytes, places: Mapping[str, str]) -> bytes:
    """Return the text from which `placed` made another."""
    for name, value in places.items():
        text = re.sub(rb"(?<!\d)" + re.escape(value.encode()) + rb"(?!\d)", f"@{name}@".encode(), text)
    return text
