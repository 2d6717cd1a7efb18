"""The names of the variables that are emitted: none that the configuration has, and none that nginx refuses.

nginx ignores the case of names, and accepts one variable of two maps in silence (`ngx_http_add_variable`). A name made
of the rules' text meets no other where a fragment cannot know what is defined elsewhere.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count

from nginxopt.config import Config, File

LONGEST_GROUP = 32
"""PCRE1, and PCRE2 before 10.44, refuse a longer name of a group (`MAX_NAME_SIZE`)."""


@dataclass(frozen=True, slots=True)
class Names:
    """How the variables of a run are named: all but one begin with the stem (see rust/src/rewrite/text.rs)."""

    stem: str

    @property
    def group(self) -> str:
        """The group that holds the URI before its final newline: a variable, too, with a name that is not too long."""
        name = f"{self.stem}_rest"
        return name if len(name) <= LONGEST_GROUP else f"nxo_{zlib.crc32(self.stem.encode()):08x}_rest"


def stem(requested: str | None, compiled: Iterable[File], config: Config, as_what: str) -> str:
    """Return the start of all names: as asked for, or one made of the files that are compiled and of `as_what`.

    The same rules compiled in another way have other maps.
    """
    if requested is None:
        checksum = 0
        for file in compiled:
            checksum = zlib.crc32(file.source.data, checksum)
        requested = f"nxo_{zlib.crc32(as_what.encode(), checksum) & 0xFFFFFF:06x}"
    return _unused(requested, config)


def _unused(start: str, config: Config) -> str:
    """Return `start`, with a number if names of the configuration begin like it: variables, groups, names in Lua."""
    taken = set(_numbers(start, config))
    return start if not taken else next(f"{start}{number}" for number in count(2) if number not in taken)


def _numbers(start: str, config: Config) -> Iterator[int]:
    begins = re.compile(rb"(?<![A-Za-z0-9_])" + start.encode() + rb"([0-9]{0,9})_", re.IGNORECASE)
    for file in config.files:
        if start.encode() in file.source.data.lower():  # a hundred times as fast as the pattern
            for match in begins.finditer(file.source.data):
                yield int(match[1] or b"1")
