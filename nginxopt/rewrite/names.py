"""The names of the variables that are emitted: none that the configuration has, and none that nginx refuses.

nginx ignores the case of names, and accepts one variable of two maps in silence (`ngx_http_add_variable`). A name made
of the rules' text meets no other where a fragment cannot know what is defined elsewhere.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import count

from nginxopt.config import Config, File

LONGEST_GROUP = 32
"""PCRE1, and PCRE2 before 10.44, refuse a longer name of a group (`MAX_NAME_SIZE`)."""


class Names:
    """The variables of a run."""

    def __init__(self, stem: str) -> None:
        self.stem = stem
        self.hit = f"{stem}_hit"
        self.line = f"{stem}_line"
        self.text = f"{stem}_text"
        self.rest = f"{stem}_rest"
        if len(self.rest) > LONGEST_GROUP:
            self.rest = f"nxo_{zlib.crc32(stem.encode()):08x}_rest"

    def __call__(self, kind: str, tier: int) -> str:
        """Return the name of the map of a kind in a tier, from 1."""
        return f"{self.stem}_{kind}" + (f"_{tier}" if tier > 1 else "")


def stem(asked: str | None, compiled: Iterable[File], config: Config, as_what: str) -> str:
    """Return the start of all names: as asked for, or one made of the files that are compiled and of `as_what`.

    The same rules compiled in another way have other maps.
    """
    if asked is None:
        checksum = 0
        for file in compiled:
            checksum = zlib.crc32(file.source.data, checksum)
        asked = f"nxo_{zlib.crc32(as_what.encode(), checksum) & 0xFFFFFF:06x}"
    return _unused(asked, config)


def _unused(start: str, config: Config) -> str:
    """Return `start`, with a number if names of the configuration begin like it: variables, groups, names in Lua."""
    taken = set(_numbers(start, config))
    return start if not taken else next(f"{start}{number}" for number in count(2) if number not in taken)


def _numbers(start: str, config: Config) -> Iterator[int]:
    begins = re.compile(rb"(?<![A-Za-z0-9_])" + start.encode() + rb"([0-9]{0,9})_", re.IGNORECASE)
    for file in config.files:
        for match in begins.finditer(file.source.data):
            yield int(match[1] or b"1")
