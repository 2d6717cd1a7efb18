"""Requests whose length is not that of their body: on a kept connection, the server reads the rest as a new request.

nginx passes a request with the client's `Content-Length`, but without a body (ngx_http_proxy_create_request; verified
on nginx 1.22.1 and 1.31.3: `Content-Length: 12` and no body)

- with `proxy_pass_request_body off`;
- in a subrequest whose parent has not read its body: `auth_request`, `mirror`, SSI, `add_before_body` and
  `add_after_body`, `ngx.location.capture` with a method that has a body;
- after the body was discarded (ngx_http_discard_request_body), once `error_page`, `post_action` or code continues in
  another location: nginx discards a body that is too large (413); `return` with a redirect does, and handlers that fail
  do (412 and 416 of files, 404 of memcached, mp4 and flv, 403 of autoindex); code may;
- after an upstream answered a request before it had read all of its streamed body, once `error_page` or
  `X-Accel-Redirect` continues in another location.

It passes a body without its length if `proxy_set_header` clears the `Content-Length`, and the body is passed on all the
same, or is that of `proxy_set_body`. This is harmless if the connection closes after the request.

What may be wrong prevents a pool (`Framing.fault`). What is certainly wrong, by the directives of a pass alone, is
reported by the rule `request-framing` (`nginxopt.lint.queries.lengths`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from nginxopt import lazy
from nginxopt.config import Directive
from nginxopt.config.layout import written
from nginxopt.facts import group
from nginxopt.facts.lexicon import NAMES
from nginxopt.lint.queries.lengths import CODING, LENGTH, Body, body
from nginxopt.lint.queries.model import Model, once
from nginxopt.lint.queries.pools import header_directives
from nginxopt.records import record
from nginxopt.semantics import Level, Pass, values

_BODILESS = (
    "no fix: some requests announce a body ({}) and have none ({}), and on a kept connection the server takes the "
    "next request for it. First give them a location of their own with {}"
)
_WITHOUT_BODY = _BODILESS.format(
    "Content-Length",
    "proxy_pass_request_body off, subrequests, error pages",
    '`proxy_pass_request_body off;` and `proxy_set_header Content-Length "";`',
)
_WITHOUT_CHUNKS = _BODILESS.format(
    "Transfer-Encoding", "error pages and X-Accel-Redirect", '`proxy_set_header Transfer-Encoding "";`'
)
_WITHOUT_LENGTH = (
    "no fix: some requests are sent with a body but without its length, and on a kept connection the server takes the "
    "body for the next request. First remove `{}`"
)
_OR_WITHOUT_BODY = ", or add `proxy_pass_request_body off;` where no body is meant"
_STATED = "no fix: some requests state another length than that of their body. First remove `{}`: nginx sets the length"
_EARLY = (
    "`{} {}` may redirect (X-Accel-Redirect) before it has read the body, and a request then goes on without the rest: "
    "add `{}_ignore_headers X-Accel-Redirect;` there"
)

# Status codes of nginx itself after it discarded a body, or did not read it because the request is invalid.
_LATE = {"400", "408", "411", "412", "413", "414", "415", "416", "421", "431", "494", "495", "496", "497", "499"}
_REDIRECTS = {"301", "302", "303", "307", "308"}  # the codes with which `return` can be turned by error_page
_FAILING = group("late")  # may fail after the body was discarded
_LUA = lazy.pattern(r"(?:server_rewrite|rewrite|access|precontent|content)_by_lua(?:_block|_file)?")
_DROPS = lazy.pattern(r"discard_body|capture|require|dofile|load")


class Framing:
    """The requests that the passes of a model send. What holds for all of them is computed once, on first use."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._landings: dict[Level, list[Landing]] = {}

    def fault(self, pass_: Pass) -> str:
        """Return why a request of a pass may have another length than its body, and what to do; empty if none has."""
        if pass_.protocol != "proxy":
            return ""
        lengths, codings = header_directives(pass_, LENGTH), header_directives(pass_, CODING)
        stated = next((header for header in (*lengths, *codings) if header.args[1]), None)
        if stated is not None:
            return _STATED.format(written(stated))
        sent = body(pass_)
        if sent is Body.OWN:
            return _WITHOUT_LENGTH.format(written(lengths[0])) if lengths else ""
        if sent is Body.NONE:
            return self._of_no_body(pass_, is_cleared=bool(lengths), is_plain=bool(codings))
        if lengths or (codings and _streams(pass_)):
            return _WITHOUT_LENGTH.format(written((lengths or codings)[0])) + _OR_WITHOUT_BODY
        if self._has_code or self._may_lack_body(pass_.level):
            return _WITHOUT_BODY
        return self._early

    def _of_no_body(self, pass_: Pass, *, is_cleared: bool, is_plain: bool) -> str:
        """Return the fault of a pass without bodies, whose `Content-Length` and `Transfer-Encoding` may be cleared.

        nginx announces chunks for a request that it streams, also once it continues in another location.
        """
        if not is_cleared:
            return _WITHOUT_BODY
        may_be_streamed = self._early or (any(map(_streams, self._model.passes)) and self._may_lack_body(pass_.level))
        return _WITHOUT_CHUNKS if may_be_streamed and not is_plain else ""

    @cached_property
    def _has_code(self) -> bool:
        """Whether SSI, Lua, Perl or an unknown module may pass a request without its body to any location."""
        named = self._model.config.by_name
        return any(_may_drop(directive) for name in filter(_is_code, named) for directive, _ in named[name])

    @cached_property
    def _early(self) -> str:
        """Why a server may redirect a streamed request to any location before it has read the body; empty if none."""
        early = next((pass_ for pass_ in self._model.passes if _streams(pass_) and not _ignores_redirects(pass_)), None)
        return "" if early is None else _EARLY.format(early.directive.name, early.directive.args[0], early.protocol)

    def _may_lack_body(self, level: Level) -> bool:
        """Return whether a request may reach a level after nginx has discarded its body."""
        server = level.around("server")
        if server is None:
            return bool(self._bodiless)
        if server not in self._landings:
            uris = dict.fromkeys((*self._bodiless.get(None, ()), *self._bodiless.get(server, ())))
            self._landings[server] = [Landing(server, uri) for uri in uris]
        return any(landing.may_be(level) for landing in self._landings[server])

    @cached_property
    def _bodiless(self) -> dict[Level | None, list[str]]:
        """The URIs of subrequests without a body, and those to which a request without its body may continue.

        They are those of servers, which no subrequest or redirect leaves, or of all servers (None).
        """
        uris: dict[Level | None, list[str]] = {}
        for level, uri in _bodiless(self._model):
            uris.setdefault(level.around("server"), []).append(uri)
        return uris


@once
def framing(model: Model) -> Framing:
    """Return the requests that the passes of a model send."""
    return Framing(model)


def _is_off(pass_: Pass, name: str) -> bool:
    return values.flag(pass_.setting(name).value or "") is False


def _bodiless(model: Model) -> Iterator[tuple[Level, str]]:
    """Yield the URIs to which requests without their body may go, with the levels that send them there."""
    bodiless = [(made.level, made.uri) for made in subrequests(model) if not made.has_body]
    yield from bodiless
    may_fail_late = bool(bodiless) or any(_failing(model)) or any(map(_streams, model.passes))
    pages = list(model.each("error_page"))
    intercepts = bool(pages) and any(name.endswith("_intercept_errors") for name in model.config.by_name)
    early = set() if intercepts else {"401"}  # subrequests are not asked for a password
    late = _LATE | (_REDIRECTS if any(_redirects(model)) else set())
    for directive, level in pages:
        codes = {word for word in directive.args[:-1] if word.isdecimal()} - early
        if codes & late or (codes and may_fail_late):
            yield level, directive.args[-1]


def _failing(model: Model) -> Iterator[Directive]:
    """Yield the directives of handlers and filters that may fail after the body was discarded."""
    yield from (directive for directive, _ in model.each(*_FAILING))
    yield from (directive for directive, _ in model.each("autoindex") if directive.args != ("off",))


def _redirects(model: Model) -> Iterator[Directive]:
    """Yield each `return` with a redirect: nginx discards the body before `error_page` has its turn."""
    for directive, _ in model.each("return"):
        if directive.args and (directive.args[0] in _REDIRECTS or not directive.args[0].isdecimal()):
            yield directive


@record(eq=True)
class Subrequest:
    """A subrequest that a directive makes in a level, or the request that follows one whose body may be discarded.

    `has_body` is whether the body of the request is passed on with it.
    """

    directive: Directive
    level: Level
    uri: str
    has_body: bool


def subrequests(model: Model) -> Iterator[Subrequest]:
    """Yield the subrequests that directives make."""
    for directive, level in model.each(*sorted(group("subrequest"))):
        if directive.args and directive.args[0] not in ("off", ""):
            has_body = directive.name == "mirror" and level.setting("mirror_request_body").value in (None, "on")
            yield Subrequest(directive, level, str(directive.args[0]), has_body)


def _streams(pass_: Pass) -> bool:
    """Return whether an upstream may answer before the whole body is read: grpc never waits for it."""
    return pass_.protocol == "grpc" or _is_off(pass_, "request_buffering")


def _ignores_redirects(pass_: Pass) -> bool:
    ignored = (word for directive in pass_.setting("ignore_headers").directives for word in directive.args)
    return any(word == "X-Accel-Redirect" for word in ignored)


def _is_code(name: str) -> bool:
    return name in ("ssi", "perl") or "_by_lua" in name or name not in NAMES


def _may_drop(directive: Directive) -> bool:
    """Return whether code may pass a request without its body."""
    name = directive.name
    if name == "ssi":
        return directive.args != ("off",)
    if "_by_lua" in name and _LUA.fullmatch(name):
        return name.endswith("_file") or any(map(_DROPS.search, directive.args))
    return name == "perl" or name not in NAMES


class Landing:
    """The locations of a server that may serve a URI, or the URI to which it is rewritten there.

    All passes of a server ask about the same URIs, so what holds for the whole server is computed once.
    """

    def __init__(self, server: Level, uri: str) -> None:
        locations = [level for level in server.walk() if level.kind == "location"]
        self._uri = uri
        self._has_exact = any(location.args == ("=", uri) for location in locations)
        is_folder = uri.endswith("/")  # whose index has another URI
        serving = (location for location in locations if self._may_serve(location))
        self._is_anywhere = (
            is_folder or _goes_on(server) or any(_goes_on(inner) for location in serving for inner in location.walk())
        )

    def may_be(self, level: Level) -> bool:
        """Return whether a level of the server, or one inside it, may serve the URI or the rewritten one."""
        location = level.around("location")
        return self._is_anywhere or location is None or self._may_serve(location)

    def _may_serve(self, location: Level) -> bool:
        if self._has_exact:
            return location.args == ("=", self._uri)
        *modifier, pattern = location.args or ("",)
        is_prefix = modifier != ["="] and self._uri.startswith(pattern)
        return "$" in self._uri or modifier in (["~"], ["~*"]) or is_prefix


def _goes_on(level: Level) -> bool:
    """Return whether a request may leave a level for another location."""
    names = any(name in level.names for name in ("try_files", "index", "random_index"))
    rewrites = any(not rewrite.args[2:] or rewrite.args[2] == "last" for rewrite in level.own("rewrite"))
    return (
        names or rewrites or bool(level.bulks) or any(inner.kind == "if" and _goes_on(inner) for inner in level.levels)
    )
