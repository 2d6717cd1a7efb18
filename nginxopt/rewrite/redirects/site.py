"""A server as a site: its redirects are followed from URI to URI."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from nginxopt import _native
from nginxopt.config import Config, Directive
from nginxopt.rewrite.redirects.addresses import listens, names, narrow_urls, urls
from nginxopt.rewrite.redirects.chain import REDIRECTS, Redirect, RedirectChain
from nginxopt.rewrite.redirects.script import Script, read_script
from nginxopt.semantics import Level, Locations, Uncertain
from nginxopt.semantics.locations import modifier, path
from nginxopt.text import encode

MOST_CHANGES = 10
"""`NGX_HTTP_MAX_URI_CHANGES`: nginx responds with 500 to the next one."""

MOST_REDIRECTS = 20
"""After this many, a browser gives up (Fetch Standard, HTTP-redirect fetch)."""

LONGEST_URI = 65_536
"""The longest URI that is followed, in bytes: eight times what nginx reads (`large_client_header_buffers`)."""

_URI = re.compile(rb"\$(?:request_uri|document_uri|uri)\b|\$\{(?:request_uri|document_uri|uri)\}")


class RedirectSite:
    """A server, or a fragment of one, whose redirects are followed.

    `shared` are ports and names that other servers have, too: which server answers depends on the address.
    """

    def __init__(self, config: Config, server: Level, shared: frozenset[tuple[int, str]] = frozenset()) -> None:
        self._config = config
        self._server = server
        self._shared = shared
        self._scripts: dict[Level, Script] = {}

    def chains(self) -> Iterator[RedirectChain]:
        """Yield the chain of each redirect that is followed by another one within the site, or is a loop."""
        if self._server.setting("merge_slashes").value == "off":
            return  # two slashes in a target would then lead elsewhere
        for start in self._starts():
            chain = self._follow(start)
            if len(chain.redirects) > 1 or chain.is_loop:
                yield chain

    def redirect(self, uri: bytes) -> Redirect | None:
        """Return the redirect of `uri`; None if there is none, or if that is uncertain."""
        script = self._script(self._server)
        redirect = self._redirect_of(script, uri, first=True)
        if redirect is None:
            return self._locate(uri, first=True) if script.is_whole and script.last is None else None
        if not redirect.is_internal:
            return redirect
        return None if redirect.target is None else self._locate(redirect.target, first=False)

    def _starts(self) -> Iterator[Redirect]:
        """Yield redirects of the URIs that the text names: in rules of the server, then in locations."""
        script = self._script(self._server)
        rules = script.native()
        for rule, uri, to, _, is_constant in rules.hops(self._urls, self._prefixes):
            yield Redirect(*script.place(rule), uri, to, rules.flag(rule), is_constant)
        ends = self.redirect(b"/") if script.last is not None else None
        if ends is not None:
            yield replace(ends, is_constant=False)
        for location in self._redirecting:
            redirect = self.redirect(encode(path(location)))
            if redirect is not None:
                yield replace(redirect, is_constant=redirect.is_constant or modifier(location) == "=")

    def _follow(self, start: Redirect) -> RedirectChain:
        redirects = [start]
        seen = {start.uri}
        while (to := redirects[-1].target) is not None:
            if redirects[-1].is_internal or to in seen or len(redirects) >= MOST_REDIRECTS or len(to) > LONGEST_URI:
                return RedirectChain(tuple(redirects), True)
            seen.add(to)
            redirect = self.redirect(to)
            if redirect is None:
                break
            redirects.append(redirect)
        return RedirectChain(tuple(redirects), False)

    def _locate(self, uri: bytes, *, first: bool) -> Redirect | None:
        """Return the redirect of the locations; an internal one if it would change the URI without end."""
        redirect: Redirect | None = None
        for _ in range(MOST_CHANGES + 1):
            location = self._select(uri)
            if location is None:
                return None
            redirect = self._redirect_of(self._script(location), uri, first=first)
            if redirect is None or not redirect.is_internal:
                return redirect
            if redirect.target is None or redirect.flag == "break" or len(redirect.target) > LONGEST_URI:
                return None
            uri, first = redirect.target, False
        return redirect

    def _select(self, uri: bytes) -> Level | None:
        if self._server.is_open:
            return None
        try:
            return self._locations.select(uri)
        except Uncertain:
            return None

    def _redirect_of(self, script: Script, uri: bytes, *, first: bool) -> Redirect | None:
        """Return the redirect of a URI by a script; `first` if it is the URI that the client requested."""
        beginnings = self._narrow_urls if script.has_conditions else self._urls
        step = script.native().step(uri, beginnings)
        if step is not None:
            source, span = script.place(step[0])
            is_certain = first or b"request_uri" not in source.data[span.start : span.end]
            to = step[1] if is_certain else None
            return Redirect(source, span, uri, to, script.native().flag(step[0]), is_constant=False)
        if script.is_whole and script.last is not None:
            return self._return(script.last, uri, beginnings, first=first)
        return None

    def _return(self, directive: Directive, uri: bytes, beginnings: list[bytes], *, first: bool) -> Redirect | None:
        if len(directive.args) not in (1, 2):
            return None  # nginx refuses it
        code, url = directive.args if len(directive.args) == 2 else ("302", *directive.args)
        if code not in REDIRECTS or (len(directive.args) == 1 and url.isdigit()):
            return None
        text = encode(url)
        written = _URI.sub(lambda _: uri, text) if first else text
        to = _native.path_of(written, beginnings)
        return Redirect(directive.source, directive.span, uri, to, "return", is_constant=written == text)

    @cached_property
    def _locations(self) -> Locations:
        return Locations(self._server)

    @cached_property
    def _redirecting(self) -> tuple[Level, ...]:
        """The locations of a URI or prefix whose script may redirect."""
        locations = (level for level in self._server.walk() if level.kind == "location" and _is_path(level))
        return tuple(filter(_may_redirect, locations))

    @property
    def _prefixes(self) -> list[bytes]:
        """The beginnings of URIs that a location may redirect."""
        locations = [level for level in self._server.walk() if level.kind == "location" and _may_redirect(level)]
        if self._server.is_open or not all(map(_is_path, locations)):
            return [] if self._server.is_open else [b"/"]
        return [encode(path(location)) for location in locations]

    def _script(self, level: Level) -> Script:
        if level not in self._scripts:
            self._scripts[level] = read_script(level, self._config)
        return self._scripts[level]

    @cached_property
    def _narrow_urls(self) -> list[bytes]:
        return narrow_urls(self._server)

    @cached_property
    def _urls(self) -> list[bytes]:
        has_conditions = self._script(self._server).has_conditions
        return self._narrow_urls if has_conditions else urls(self._server, self._shared)


def sites(config: Config, servers: Sequence[Level]) -> Iterator[RedirectSite]:
    """Yield each server of a configuration as a site."""
    claims = Counter(
        claim for server in servers for claim in {(port, name) for port, _ in listens(server) for name in names(server)}
    )
    shared = frozenset(claim for claim, count in claims.items() if count > 1)
    return (RedirectSite(config, server, shared) for server in servers)


def _is_path(location: Level) -> bool:
    return modifier(location) in ("", "=", "^~") and path(location).startswith("/")


def _may_redirect(location: Level) -> bool:
    return bool(location.own("return") or location.own("rewrite") or location.bulks)
