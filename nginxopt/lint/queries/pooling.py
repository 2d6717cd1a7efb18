"""The fix that makes an upstream keep its connections: a pool, HTTP/1.1 and no `Connection: close`, all or nothing.

Three rules share this fix, as each part alone has no effect. Its lines go into the locations that pass to the upstream,
if nothing else inherits them: an inner location or `if` that passes to another server would also use HTTP/1.1.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from nginxopt.config.layout import after, append
from nginxopt.facts import group
from nginxopt.lint.diagnostic import Fix, Safety
from nginxopt.lint.queries.capacity import overflow, size
from nginxopt.lint.queries.headers import (
    CLEARED,
    HTTP11,
    heirs,
    owners,
    takes_directives,
    with_header,
    without_value,
)
from nginxopt.lint.queries.model import Model, once
from nginxopt.lint.queries.pools import (
    Connection,
    connection,
    header_directives,
    is_check,
    pooled,
    states_http10,
    upgrades_all,
    users,
    without_pool,
)
from nginxopt.lint.queries.sharing import obstacles
from nginxopt.records import record
from nginxopt.semantics import PIVOT, Level, Pass, Upstream
from nginxopt.settings.vocabulary import HTTP11_BACKENDS, IDLE_CONNECTIONS
from nginxopt.text import Change

POOLED = Safety.under(IDLE_CONNECTIONS)
"""The premises of a pool."""

KEPT = Safety.under(HTTP11_BACKENDS) & POOLED
"""The premises of a pool if the fix also adds HTTP/1.1, or removes `Connection: close`."""

# The directives that may accompany a pool in an upstream; others may keep or share connections in their own way.
_UNDERSTOOD = group("pool")

_LINES = f"a pool needs `keepalive` in the upstream, and `{HTTP11}` and `{CLEARED}` in its locations"
_UNCERTAIN = f"no request to it is certain to keep its connection open: {_LINES}"
_UNKNOWN = f"a missing include may say how requests are passed to it: {_LINES}"

_INHERITED = "`{} {}` inside this location would inherit the pool's lines: move it to a separate location"


@record(eq=True)
class Offer:
    """The fix that makes an upstream keep its connections, or why there is none."""

    fix: Fix | None
    why_not: str = ""


@once
def offers(model: Model) -> dict[Upstream, Offer]:
    """Return the offer for each upstream that keeps connections or should."""
    planner = _Planner(model)
    planned = {upstream.name.lower(): upstream for upstream in planner.plans}
    return {
        upstream: planner.offer(planned[name]) if name in planned else Offer(None, _UNCERTAIN)
        for name, upstream in model.upstreams.items()
        if upstream in pooled(model)
    }


@record(eq=True)
class _Plan:
    """The changes for the passes to an upstream with the lines they add, or why there are none."""

    why_not: str
    changes: tuple[Change, ...] = ()
    added: tuple[str, ...] = ()


class _Planner:
    """Plans the fixes for the upstreams of a model; the size of new pools depends on their number.

    What was not read is assumed to be empty, which is the premise `whole-configuration`: what it inherits is unknown,
    and a fix that omits a line for that reason would have no effect.
    """

    def __init__(self, read: Model) -> None:
        self.model = model = read.alone
        self._passes = users(model)
        self._pooled = pooled(model)
        self._without_pool = without_pool(model).keys()
        self._obstacles = obstacles(model)
        self._owners = owners(model, self._group)
        self.plans = {upstream: self._plan(upstream) for upstream in self._passes if upstream in self._pooled}
        self._new = {upstream for upstream in self._without_pool if not self.plans[upstream].why_not}
        self._overflow = overflow(model, len(self._new))

    def offer(self, upstream: Upstream) -> Offer:
        """Return the fix for an upstream."""
        plan, block = self.plans[upstream], upstream.level.block
        if plan.why_not:
            return Offer(None, plan.why_not)
        if self._overflow:
            return Offer(None, self._overflow)
        safety = KEPT if plan.changes else POOLED
        changes, added = plan.changes, plan.added
        if upstream in self._new and block:
            line = f"keepalive {size(self.model, len(self._new))};"
            changes, added = (append(block, [line]), *changes), (line, *added)
        if not changes:
            return Offer(None)
        return Offer(Fix(_title(added), changes, safety))

    def _plan(self, upstream: Upstream) -> _Plan:
        why_not = self._obstacles.of(upstream) or peculiar(upstream)
        if why_not:
            return _Plan(why_not)
        changes: dict[Change, None] = {}  # headers that several passes share are changed once
        added: dict[str, None] = {}
        keeps = False
        for pass_ in self._passes[upstream]:
            if self._group(pass_) is not upstream:
                keeps = keeps or pass_.protocol in ("grpc", "memcached") or pass_.setting("keep_conn").value == "on"
                continue
            keeps = True
            why_not, needed = self._needed(pass_, upstream)
            if why_not:
                return _Plan(why_not)
            changes |= dict.fromkeys(needed)
            added |= dict.fromkeys(missing(self.model, pass_))
        if not keeps and upstream in self._without_pool:
            return _Plan(_UNCERTAIN)
        if not _agree(changes):
            return _Plan("a file included in several places would need different lines in each")
        return _Plan("", tuple(changes), tuple(added))

    def _group(self, pass_: Pass) -> Upstream | None:
        """Return the upstream of a pass that will keep its connections; None for a pass that does not change."""
        return pass_.upstream if pass_.upstream in self._pooled and may_keep(self.model, pass_) else None

    def _needed(self, pass_: Pass, upstream: Upstream) -> tuple[str, tuple[Change, ...]]:
        """Return why the lines that a pass needs cannot be added, or the changes."""
        if not pass_.setting("http_version").known:
            return _UNKNOWN, ()
        needs = missing(self.model, pass_)
        if not needs:
            return "", ()
        if not takes_directives(pass_):
            around = pass_.level.around("location")
            within = (other for other in self._passes[upstream] if other.level is around)
            return ("" if any(map(self._group, within)) else _not_in_if(pass_)), ()
        names = [name for name, line in (("http_version", HTTP11), ("set_header", CLEARED)) if line in needs]
        for heir in heirs(self.model, pass_, *names):
            if self._group(heir) is not upstream:
                return _INHERITED.format(heir.directive.name, heir.directive.args[0]), ()
        changes = completed(self.model, pass_, self._owners.get(upstream, set()))
        return ("", changes) if changes else (_UNKNOWN, ())


def _not_in_if(pass_: Pass) -> str:
    """Return the advice for an upstream with a pass in an `if` or `limit_except`, wherever its other passes are."""
    place = f"{pass_.directive.source.path}:{pass_.directive.line}"
    return f"the lines of a pool are not allowed in `{pass_.level.kind}`: move the proxy_pass at {place} to a location"


def may_keep(model: Model, pass_: Pass) -> bool:
    """Return whether a `proxy_pass` keeps its connections once the `missing` lines are added.

    A pass that streams request bodies stays on HTTP/1.0: over HTTP/1.1, the upstream would get them in chunks.
    """
    if pass_.protocol != "proxy" or is_check(pass_) or states_http10(pass_):
        return False
    header = connection(model, pass_)
    if pass_.setting("http_version").value == "1.0" and (header is Connection.MAPPED or streams(pass_)):
        return False
    kept = (Connection.DEFAULT, Connection.CLEAR, Connection.CLIENT, Connection.KEEP_ALIVE, Connection.MAPPED)
    return header in kept or upgrades_all(model, pass_)


def streams(pass_: Pass) -> bool:
    """Return whether request bodies may be streamed."""
    return pass_.setting("request_buffering").value != "on"


def missing(model: Model, pass_: Pass) -> tuple[str, ...]:
    """Return the lines that a pass needs to keep its connections."""
    header = connection(model, pass_)
    lines = [HTTP11] if pass_.setting("http_version").value == "1.0" and header is not Connection.KEEP_ALIVE else []
    closes = header is Connection.CLIENT or (header is Connection.DEFAULT and model.target < PIVOT)
    return (*lines, CLEARED) if closes else tuple(lines)


def completed(model: Model, pass_: Pass, levels: Collection[Level]) -> tuple[Change, ...] | None:
    """Return the changes that add the missing lines to the location of a pass; None if that is impossible.

    Inherited headers are changed at their own level if it is one of `levels`.
    """
    needs = missing(model, pass_)
    first = [line for line in needs if line == HTTP11]
    if CLEARED not in needs:
        return (after(pass_.directive, first),)
    return cleared(model, pass_, levels, first=first)


def cleared(
    model: Model, pass_: Pass, levels: Collection[Level], *, first: Sequence[str] = ()
) -> tuple[Change, ...] | None:
    """Return the changes that stop a pass from sending a `Connection` header; None if that is impossible."""
    if connection(model, pass_) is Connection.DEFAULT:
        return with_header(pass_, [CLEARED], levels, first=first)
    return without_value(pass_, header_directives(pass_, "connection"), levels, first=first)


def peculiar(upstream: Upstream) -> str:
    """Return why an upstream should not keep connections; empty if it may."""
    other = next((directive.name for directive in upstream.level.directives if directive.name not in _UNDERSTOOD), None)
    if other is not None:
        return f"its `{other}` may keep or share connections in its own way"
    if any(word.startswith("max_conns=") for server in upstream.servers for word in server.args):
        return "its servers have max_conns, which does not count idle connections"
    return ""


def _agree(changes: Collection[Change]) -> bool:
    """Return whether all changed readings of a file have the same changes."""
    readings: dict[object, dict[object, set[object]]] = {}
    for change in changes:
        of_file = readings.setdefault(change.source.original or change.source, {})
        of_file.setdefault(change.source, set()).add(change.edit)
    return all(len(set(map(frozenset, of_file.values()))) == 1 for of_file in readings.values())


def _title(added: Sequence[str]) -> str:
    *before, last = [f"`{line}`" for line in added]
    return f"add {', '.join(before)} and {last}" if before else f"add {last}"
