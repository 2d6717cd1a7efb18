"""Names that several servers have at one address, of which nginx keeps the first (`ngx_http_server_names`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from nginxopt import lazy
from nginxopt.config import Directive, Source, Span, Token
from nginxopt.lint.queries.model import Model, once
from nginxopt.records import record
from nginxopt.semantics import Address, Endpoint, Level

_BLANK = lazy.pattern(
    r"x+(?:[.-]x+)*|ip\.of\..+|(?:.*[._-])?(?:ip|ip[_-]?addr(?:ess)?|port)|(?:your|change)[._-]\w.*"
    r"|your(?:domain|site|server|host|app|ip).*"
    r"|(?:.+\.)?example\.(?:com|org|net)|(?:.+[.-])?domain\.(?:com|org|net|tld|ltd)",
    re.IGNORECASE,
)


_CAPITALS = lazy.pattern(r"(?:.+\.)?[A-Z][A-Z0-9_-]{2,}(?:\..+)?")
"""Hosts with a part in capital letters, which scripts replace: `www.DOMAIN`."""

_OF_DEVELOPER = lazy.pattern(r"(?:.*\.)?(?:localhost|test)", re.IGNORECASE)
"""Names that no public server has (RFC 6761)."""

_FOR_DEVELOPERS = lazy.pattern(r"(?:^|[._-])(?:dev|devel|development|local)(?:$|[._-])", re.IGNORECASE)

_FOR_PRACTICE = lazy.pattern(
    r"(?:^|[._-])(?:exercise|example|sample|tutorial|demo|lab|workshop|homework|playground|kata|lesson)s?(?:$|[._-])",
    re.IGNORECASE,
)

_INSIDE = lazy.pattern(
    r"local\..+|(?:.*\.)?(?:localhost|test|local|localdomain|internal|intranet|lan|home|home\.arpa|corp|private)|127(?:\.\d+){3}"
    r"|10(?:\.\d+){3}|192\.168(?:\.\d+){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d+){2}|\[::1\]",
    re.IGNORECASE,
)
"""Names and addresses of one network (RFC 6761, 6762, 8375, 1918)."""

_BLANK_WORDS = lazy.pattern(rb"<[A-Za-z][\w.-]*(?: [\w.-]+)+>")


def has_blank(directive: Directive) -> bool:
    """Return whether the arguments have a placeholder in brackets: `root /srv/<project name>/web;`."""
    end = directive.args[-1].end if directive.args else directive.name.end
    return _BLANK_WORDS.search(directive.source.data, directive.name.end, end) is not None


def is_blank(host: str) -> bool:
    """Return whether a host is a placeholder: `XX.XX.XX.XX`, `SERVER_IP`, `www.DOMAIN`, `your-app.example.com`."""
    return _BLANK.fullmatch(host) is not None or is_to_replace(host)


def is_to_replace(host: str) -> bool:
    """Return whether a script puts another host in place of this one: `www.DOMAIN`."""
    return _CAPITALS.fullmatch(host) is not None


def is_for_developers(path: str) -> bool:
    """Return whether a file is for a developer's own machine: `nginx.dev.conf`, `default-local.conf`, `dev/nginx.conf`.

    Of an absolute path, the folders tell nothing: `/usr/local/nginx/conf/nginx.conf`, `/home/dev/shop/nginx.conf`.
    """
    file = PurePath(path)
    parts = (file.name,) if file.is_absolute() else file.parts
    return any(_FOR_DEVELOPERS.search(part) is not None for part in parts)


def is_without_service(path: str) -> bool:
    """Return whether a file serves nobody who would notice what it costs: only a developer, or those who learn.

    Folders tell the latter, `examples/proxy/nginx.conf`, but not a name: `nginx.conf.example` is copied to a server.
    """
    file = PurePath(path)
    folders = () if file.is_absolute() else file.parts[:-1]
    return is_for_developers(path) or any(_FOR_PRACTICE.search(part) is not None for part in folders)


def is_of_developer(server: Level) -> bool:
    """Return whether all names of a server are those of a developer's own machine: `localhost`, `shop.test`."""
    words = [str(word) for named in server.own("server_name") for word in named.args]
    return bool(words) and all(map(_OF_DEVELOPER.fullmatch, words))


def is_inside(server: Level) -> bool:
    """Return whether all names of a server are those of one network: `shop.lan`, `192.168.0.7`, `localhost`."""
    words = [str(word) for named in server.own("server_name") for word in named.args]
    return bool(words) and all(map(_INSIDE.fullmatch, words))


@record(eq=True)
class WrittenName:
    """A name as it is written."""

    directive: Directive
    token: Token


@record(eq=True)
class Conflict:
    """A name of `server` that the earlier server `first` has; `word` is None for a server without names."""

    address: Address
    server: Level
    first: Level
    word: WrittenName | None


@once
def conflicts(model: Model) -> tuple[Conflict, ...]:
    """Return the names that earlier servers have. Text that was not read may add some, but removes none."""
    return tuple(_conflicts(model))


def first_conflicts(model: Model) -> Iterator[tuple[Level, Conflict]]:
    """Yield each server that has conflicts with the first of them."""
    firsts: dict[Level, Conflict] = {}
    for conflict in conflicts(model):
        firsts.setdefault(conflict.server, conflict)
    yield from firsts.items()


@once
def never_chosen(model: Model) -> frozenset[Level]:
    """Return the servers that nginx never chooses: not default, and all names are taken at all addresses."""
    lost: dict[Level, set[tuple[Address, str]]] = {}
    for conflict in conflicts(model):
        lost.setdefault(conflict.server, set()).add((conflict.address, _key(conflict.word)))
    kept = {
        server
        for endpoint in model.endpoints.values()
        for server in endpoint.servers
        if endpoint.default is server
        or any((endpoint.address, _key(word)) not in lost.get(server, ()) for word in _words(server))
    }
    return frozenset(server for server in lost if not server.is_open and server not in kept)


def halves_lost(server: Level) -> Iterator[tuple[WrittenName, str, str]]:
    """Yield each name `.example.com` of a server that also has one half of it, `example.com` or `*.example.com`,
    before. Yields the name, the half that the server has, and the half that it loses.

    nginx then ignores the whole name (`ngx_hash_add_key`). Behind `*.example.com` it ignores a later `example.com`,
    too. Text that was not read may have the other half.
    """
    if server.is_open:
        return
    words = [word for word in _words(server) if word is not None]
    names = {word.token.lower() for word in words}
    before: set[str] = set()
    for word in words:
        name = word.token.lower()
        if name.startswith(".") and len(name) > 1 and name not in before:
            exact, wildcard = name[1:], f"*{name}"
            if exact in before and wildcard not in names:
                yield word, exact, wildcard
            elif wildcard in before and exact not in before:
                yield word, wildcard, exact
        before.add(name)


def shown(conflict: Conflict) -> str:
    """Return the name of a conflict for a message."""
    return "no name either" if conflict.word is None else str(conflict.word.token)


def place(server: Level) -> tuple[Source, Span] | None:
    """Return the place of a server; None if it was not read."""
    return (server.source, server.span) if server.source is not None else None


def _conflicts(model: Model) -> Iterator[Conflict]:
    for endpoint in model.endpoints.values():
        yield from _at(endpoint)


def _at(endpoint: Endpoint) -> Iterator[Conflict]:
    owners: dict[str, Level] = {}
    for server in endpoint.servers:
        for word in _words(server):
            first = _first(owners, _key(word), server)
            if first is not server:
                yield Conflict(endpoint.address, server, first, word)


def _first(owners: dict[str, Level], name: str, server: Level) -> Level:
    """Return the server that has a name, which is `server` if no earlier one has; as `ngx_hash_add_key`.

    `.example.com` takes `example.com` and `*.example.com`, and nginx ignores all of it if one of them is taken. If that
    is the latter, it has taken the former, which leads nowhere then.
    """
    if not (name.startswith(".") and len(name) > 1):
        return owners.setdefault(name, server)
    exact, wildcard = name[1:], f"*{name}"
    if exact in owners:
        return owners[exact]
    owners[exact] = owners.setdefault(wildcard, server)
    return owners[wildcard]


def _words(server: Level) -> list[WrittenName | None]:
    """Return the names of a server, or None as the only one if it has no name. A pattern is a name like any other."""
    words = [WrittenName(directive, token) for directive in server.own("server_name") for token in directive.args]
    return list(words) or [None]


def _key(word: WrittenName | None) -> str:
    if word is None:
        return ""
    return f"{word.token} {id(word)}" if word.token.startswith("~") else word.token.lower()
