"""What nginx declares of its directives, release by release: where they may stand, with what arguments, how often.

The table, directives.tsv, is derived from the `ngx_command_t` of nginx's sources by docs/directives.py: releases 1.10.0
to 1.31.5, all modules of its source tree. Directives of NGINX Plus and of other modules are not in it.
"""

from __future__ import annotations

import pkgutil
from collections import defaultdict
from collections.abc import Mapping
from functools import cache, lru_cache

from nginxopt.records import record
from nginxopt.version import Version

_PLACES = (
    *("main", "events", "http", "http/server", "http/location", "http/upstream"),
    *("http/server/if", "http/location/if", "http/location/limit_except"),
    *("mail", "mail/server", "stream", "stream/server", "stream/upstream"),
)
PLACES: Mapping[str, int] = {place: 1 << number for number, place in enumerate(_PLACES)}
"""The bit of each place. A location is one place, whatever is around it."""
_ANYWHERE = (1 << len(_PLACES)) - 1


@record(eq=True)
class Declaration:
    """What releases declare of a directive in one of its modules.

    Attributes:
        name: The directive.
        module: The module that has it, such as `ngx_http_gzip_filter_module`.
        places: The bits of `PLACES` where it may stand.
        arguments: How many arguments it takes: `1,2`, `2+`, or `flag` for one that is `on` or `off`.
        has_block: Whether a block follows.
        values: What they are: `size`, `time`, `number`, or all names in one word, `on|off`; `obsolete` for a directive
            of which nginx says that it does nothing. Empty if not known.
        default: The default as it would be written, `4k|8k` for one that depends on the machine. Empty if not known.
        is_once: Whether nginx refuses a second one in the block, whatever it says.
        since: The first release with this declaration; None if the oldest of the table has it.
        until: The first release without it; None if the newest has it.
    """

    name: str
    module: str
    places: int
    arguments: str
    has_block: bool
    values: str
    default: str
    is_once: bool
    since: Version | None
    until: Version | None

    def is_in(self, release: Version) -> bool:
        """Return whether a release has this declaration."""
        is_early = self.since is not None and release < self.since
        return not is_early and (self.until is None or release < self.until)

    def takes(self, count: int) -> bool:
        """Return whether the directive takes so many arguments."""
        return _takes(self.arguments, count)


@cache
def _takes(arguments: str, count: int) -> bool:
    if arguments == "flag":
        return count == 1
    if arguments.endswith("+"):
        return count >= int(arguments[:-1])
    return str(count) in arguments.split(",")


@lru_cache(maxsize=1 << 12)
def declarations(name: str) -> tuple[Declaration, ...]:
    """Return what nginx's releases declare of a directive, the oldest first; nothing if none knows it."""
    every = map(_declaration, _rows().get(name, ()))
    return tuple(sorted(every, key=lambda row: (row.since is not None, row.since)))


@cache
def turning_points() -> frozenset[Version]:
    """Return the releases that declare something in another way than the one before."""
    every = (declaration for name in names() for declaration in declarations(name))
    return frozenset(release for row in every for release in (row.since, row.until) if release)


def names() -> frozenset[str]:
    """Return the names of all directives of all releases."""
    return frozenset(_rows())


@cache
def obsolete_names() -> tuple[str, ...]:
    """Return the names of the directives that do nothing in some release."""
    return tuple(name for name, rows in _rows().items() if any("\tobsolete\t" in row for row in rows))


@cache
def _rows() -> Mapping[str, list[str]]:
    """Return the rows of the table by name, unread: a run needs few of them."""
    rows: dict[str, list[str]] = defaultdict(list)
    table = pkgutil.get_data("nginxopt.config", "directives.tsv")  # importlib.resources would load zipfile
    assert table is not None, "directives.tsv belongs to the package"
    for row in table.decode().splitlines()[1:]:
        rows[row.partition("\t")[0]].append(row)
    return dict(rows)


def _declaration(row: str) -> Declaration:
    name, module, places, arguments, values, default, repeated, since, until = row.split("\t")
    bits = (_ANYWHERE if place == "any" else PLACES[place] for place in places.split())
    count, _, block = arguments.partition(" ")
    return Declaration(
        name,
        module,
        sum(bits),
        count,
        block == "{",
        values,
        default,
        not repeated,
        Version.parse(since) if since else None,
        Version.parse(until) if until else None,
    )
