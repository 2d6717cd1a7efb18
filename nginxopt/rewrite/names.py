"""Chooses names for emitted variables that the configuration does not use and nginx accepts.

nginx ignores the case of names, and silently accepts two maps that define the same variable (`ngx_http_add_variable`).
By default, names are derived from the text of the rules, so that they do not collide with definitions outside a
fragment.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import count

from nginxopt.config import Config, File
from nginxopt.records import record

LONGEST_GROUP = 32
"""PCRE1, and PCRE2 before 10.44, reject longer group names (`MAX_NAME_SIZE`)."""


_ROOM = 12
"""The longest suffix that names of groups add to the stem of a map: `number`, `key`, `text`."""


@record(eq=True)
class Names:
    """The names of a run's variables: all but one begin with the stem (see rust/src/rewrite/text.rs)."""

    stem: str

    @property
    def group(self) -> str:
        """The name of the group with the URI before its final newline. It is also a variable, and not too long."""
        name = f"{self.stem}_rest"
        return name if len(name) <= LONGEST_GROUP else f"nxo_{zlib.crc32(self.stem.encode()):08x}_rest"

    @property
    def tree(self) -> str:
        """The prefix of the maps that select the group of rules of a URI, and of the groups in their patterns."""
        return f"{short(self.stem)}_p"


def short(stem: str) -> str:
    """Return the stem for the variables of a map, some of which are groups: a checksum if `stem` is too long."""
    return stem if len(stem) <= LONGEST_GROUP - _ROOM else f"nxo_{zlib.crc32(stem.encode()):08x}_"


def stem(requested: str | None, compiled: Iterable[File], config: Config, as_what: str) -> str:
    """Return the prefix of all names: the requested one, or one derived from the compiled files and `as_what`.

    `as_what` is part of it because the same rules have other maps if they are compiled with other options.
    """
    if requested is None:
        checksum = 0
        for file in compiled:
            checksum = zlib.crc32(file.source.data, checksum)
        requested = f"nxo_{zlib.crc32(as_what.encode(), checksum) & 0xFFFFFF:06x}"
    return _unused(requested, config)


def _unused(start: str, config: Config) -> str:
    """Return `start`, with a number if the configuration has names that begin with it (variables, groups, Lua)."""
    taken = set(_numbers(start, config))
    return start if not taken else next(f"{start}{number}" for number in count(2) if number not in taken)


def _numbers(start: str, config: Config) -> Iterator[int]:
    name = start.encode()
    texts = (file.source.data.lower() for file in config.files)
    for text in [text for text in texts if name in text]:  # a hundred times as fast as the pattern
        for match in re.finditer(rb"(?<![a-z0-9_])" + name + rb"([0-9]{0,9})_", text):
            yield int(match[1] or b"1")
