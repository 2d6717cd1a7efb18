"""The value of `$invalid_referer`, as `ngx_http_referer_module` computes it from the header `Referer`.

The variable depends on the block where it is first read. It is known for a request if all blocks that may read it give
it the same value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field

from nginxopt import _native, lazy
from nginxopt.facts import script
from nginxopt.records import record
from nginxopt.semantics import Level
from nginxopt.semantics.site import LoweredSite
from nginxopt.text import encode

VARIABLE = "invalid_referer"

_READ = lazy.pattern(r"\$\{?invalid_referer\b", re.IGNORECASE | re.ASCII)
_GROUP = lazy.pattern(r"\(\?P?[<']invalid_referer[>']", re.IGNORECASE)
_SPECIAL = (b"none", b"blocked", b"server_names")
_SHORTEST = len("http://i.ru")
_LONGEST_HOST = 256


@record(eq=True)
class Referers:
    """The referrers that a block accepts.

    Attributes:
        names: The path behind each name of a host in lower case, which may have a wildcard; an empty path is any.
        of_servers: The patterns of `server_name`, for the host in lower case.
        patterns: The patterns of `valid_referers`, for all that follows the scheme.
        none: Whether the header may be missing.
        blocked: Whether it may have another scheme, or none.
    """

    names: Mapping[bytes, bytes] = field(default_factory=dict)
    of_servers: tuple[bytes, ...] = ()
    patterns: tuple[bytes, ...] = ()
    none: bool = False
    blocked: bool = False

    def value(self, referer: bytes | None) -> str | None:
        """Return the value of the variable for the first header: `1`, or empty; None if that of a pattern is not
        known."""
        if not (self.names or self.of_servers or self.patterns):
            return ""
        if referer is None:
            return "" if self.none else "1"
        scheme, slashes, rest = referer.partition(b"://")
        if len(referer) < _SHORTEST or not slashes or scheme.lower() not in (b"http", b"https"):
            return "" if self.blocked else "1"
        host = re.split(b"[/:]", rest, maxsplit=1)[0].lower()
        if len(host) > _LONGEST_HOST:
            return "1"
        path = self._path(host)
        if path is not None:
            _, slash, found = rest[len(host) :].partition(b"/")
            return "" if (slash + found).startswith(path) else "1"
        subjects = [*((pattern, host) for pattern in self.of_servers), *((pattern, rest) for pattern in self.patterns)]
        for pattern, subject in subjects:
            is_match = _matches(pattern, subject)
            if is_match is not False:
                return "" if is_match else None
        return "1"

    def _path(self, host: bytes) -> bytes | None:
        """Return the path that must follow a host; None if no name matches it (`ngx_hash_find_combined`)."""
        dots = [at for at, letter in enumerate(host) if letter == ord(".")]
        heads = [key for dot in dots for key in (b"*" + host[dot:], host[dot:])]
        tails = [host[: dot + 1] + b"*" for dot in reversed(dots)]
        keys = (host, *([b"." + host] if host else []), *heads, *tails)
        return next((self.names[key] for key in keys if key in self.names), None)


def _matches(pattern: bytes, subject: bytes) -> bool | None:
    """Return whether a pattern matches, ignoring case; None if that is not known."""
    regex = b"(?i)(?:%s)" % pattern
    if _native.captures(regex, subject) is not None:
        return True
    is_read = _native.captures(regex + b"?", b"") is not None
    return False if is_read and _native.gives_up(regex, subject) is False else None


def referers_read(site: LoweredSite) -> dict[int, Referers | None]:
    """Return what the blocks accept that may read the variable, by their numbers; None where that is not known.

    Nothing if a table or a group of a pattern sets the variable.
    """
    defined = site.site["variables"]
    if any(_GROUP.search(word) for level in site.levels for each in level.directives for word in each.args):
        return {}
    if any(form["variable"].lower() == f"${VARIABLE}" for form in defined):
        return {}
    tables = (form for form in defined if form["kind"] != "opaque")
    words = (word for form in tables for row in form["rows"] for word in (form["source"] or "", *row["args"]))
    everywhere = any(map(_READ.search, words))
    inside, accepted = set[int](), dict[int, Referers | None]()
    for number, form in enumerate(site.site["levels"]):
        level = site.levels[number]
        if everywhere or form["parent"] in inside or _read_inside(level):
            inside.add(number)
        if number in inside or _read_here(level):
            accepted[number] = accepted_in(level)
    return accepted


def _read_inside(level: Level) -> bool:
    """Return whether settings of a block read the variable, which inner blocks may inherit."""
    statements = {*script(), "log_format"}
    settings = (each for each in level.directives if each.block is None and each.name not in statements)
    return any(_READ.search(word) for each in settings for word in each.args)


def _read_here(level: Level) -> bool:
    """Return whether the script of a block reads the variable."""
    statements = (each for each in level.directives if each.name in script())
    texts = (bulk.source.data[bulk.span.start : bulk.span.end].decode("latin-1") for bulk in level.bulks)
    return any(map(_READ.search, (*(word for each in statements for word in each.args), *texts)))


def accepted_in(level: Level) -> Referers | None:
    """Return the referrers that a block accepts; None if that is not known (`ngx_http_referer_merge_conf`).

    A block that states other names keeps the patterns of the block around it, unless it states patterns, too.
    """
    setting = level.setting("valid_referers")
    if setting.level is None or not setting.known:
        return Referers() if setting.known else None
    around = accepted_in(setting.level.parent) if setting.level.parent else Referers()
    words = [encode(word) for each in setting.directives for word in each.args]
    of_server = _names_of(setting.level) if b"server_names" in words else ()
    if around is None or of_server is None:
        return None
    names = {name.lower(): b"" for name in of_server if not name.startswith(b"~")}
    for word in words:
        if word not in _SPECIAL and not word.startswith(b"~"):
            name, slash, path = word.partition(b"/")
            names[name.lower()] = slash + path
    return Referers(
        names,
        tuple(name[1:] for name in of_server if name.startswith(b"~")) or around.of_servers,
        tuple(word[1:] for word in words if word.startswith(b"~")) or around.patterns,
        none=b"none" in words,
        blocked=b"blocked" in words,
    )


def _names_of(level: Level) -> tuple[bytes, ...] | None:
    """Return the names of the server of a block; None if they are not known."""
    server = level.around("server")
    if server is None or server.is_open or "server_name" in server.unread:
        return None
    names = tuple(encode(word) for each in server.own("server_name") for word in each.args)
    return None if b"$hostname" in names else names or (b"",)
