"""What code may read although its name appears nowhere in the configuration: programs, templates in the content,
unknown modules.

A program may compute the names of variables (`ngx.var["ti" .. "er"]`), so it may read every one that is defined. Other
directives read only the variables in their arguments, even those of modules with filters: `sub_filter`, `xslt_param`,
`echo`.
"""

from __future__ import annotations

from enum import Flag, auto
from functools import cache

from nginxopt.facts import having
from nginxopt.semantics.directives import NAMES
from nginxopt.semantics.site.effects import is_off, listed
from nginxopt.semantics.site.unread import STRUCTURE


class Reads(Flag):
    """What code may read besides its arguments.

    - `VARIABLES`: any variable of the request, and so what defines it, and the settings that variables, headers and
      bodies show.
    - `UPSTREAMS`: the servers of any upstream.
    """

    NOTHING = 0
    VARIABLES = auto()
    UPSTREAMS = auto()
    EVERYTHING = VARIABLES | UPSTREAMS


CODE = {
    name: reads
    for word, reads in (
        ("everything", Reads.EVERYTHING),  # Lua: `ngx.var`, and `ngx.upstream` or `ngx.balancer`
        ("variables", Reads.VARIABLES),  # njs and Perl; SSI reads templates in files; modules that are not open
        ("upstreams", Reads.UPSTREAMS),  # pages that show them, and Lua without a request
        ("nothing", Reads.NOTHING),  # what it leaves behind for others counts as they are written
    )
    for name in having("code", word)
}
"""The known directives that read more than their arguments name."""

_UNREAD_TABLES = frozenset(["map", "geo", "split_clients"])


def reads(name: str, args: tuple[str, ...] = ()) -> Reads:
    """Return what a directive may read besides its arguments: everything if it is unknown, or if it is an include that
    was not read."""
    if name in CODE:
        return Reads.NOTHING if is_off(name, args) else CODE[name]
    return Reads.NOTHING if name in _known() else Reads.EVERYTHING


def runs_code(name: str, args: tuple[str, ...] = ()) -> bool:
    """Return whether a directive certainly runs code, which may connect to other servers."""
    return name in CODE and not is_off(name, args)


def reads_as_definition(name: str) -> Reads:
    """Return what a directive that defines a variable of unknown value may read besides its arguments.

    A table is unknown if a part of it was not read.
    """
    return Reads.VARIABLES if name in _UNREAD_TABLES else reads(name)


@cache
def _known() -> frozenset[str]:
    """The directives that certainly read what their arguments name, and nothing else."""
    return (NAMES | listed() | STRUCTURE) - CODE.keys() - {"include"}
