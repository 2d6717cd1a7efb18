"""Determines which passes may share the connections of a pool.

A pool finds a connection only by its address (ngx_http_upstream_get_keepalive_peer), so the properties of a new
connection must be the same for all its users and must not depend on the request: the protocol, the local address and
options of the socket (ngx_http_upstream_init_request), and with TLS everything that `*_ssl_*` directives set
(ngx_http_upstream_ssl_init_connection; the SSL_CTX of a location, ngx_http_proxy_set_ssl).
"""

from __future__ import annotations

from collections.abc import Iterable

from nginxopt.lint.queries.framing import framing
from nginxopt.lint.queries.model import Model, once
from nginxopt.lint.queries.settled import settled
from nginxopt.records import record
from nginxopt.semantics import Level, Pass, Upstream, read_pass

Identity = tuple[str, ...]

_TLS = ("https", "grpcs", "suwsgi")
_PLAIN = {"grpc": "grpc", "uwsgi": "uwsgi"}  # the scheme of a pass without one
_MIXED = (
    "proxied requests differ in TLS, protocol, local address or socket, and a pool would mix their connections: give "
    "each kind its own upstream"
)
BY_REQUEST = "its connections depend on variables of the request, and a pool would mix them"
_NAMED = "`{}` may also pass to it, and a pool would mix different kinds of connections"


def may_share(passes: Iterable[Pass]) -> bool:
    """Return whether a connection opened for one of the passes works for all of them."""
    return not _why_not(set(map(identity, passes)))


def bad_lengths(model: Model, passes: Iterable[Pass]) -> str:
    """Return why a request of the passes may have another length than its body; empty if none has."""
    return next(filter(None, map(framing(model).fault, passes)), "")


@once
def obstacles(model: Model) -> Obstacles:
    """Return what prevents the passes to each upstream of a model from sharing connections."""
    passes: dict[Upstream, list[Pass]] = {}
    strangers: dict[Identity, Pass] = {}
    for pass_ in model.passes:
        if pass_.upstream is not None:
            passes.setdefault(pass_.upstream, []).append(pass_)
        elif _may_name_any(model, pass_):
            strangers.setdefault(identity(pass_), pass_)
    lengths = {upstream: bad_lengths(model, to_it) for upstream, to_it in passes.items()}
    return Obstacles(passes, strangers, lengths)


@record(eq=True)
class Obstacles:
    """What the configuration may pass to each upstream.

    Attributes:
        passes: The passes that name an upstream.
        strangers: The passes whose variables may name any upstream, one for each identity.
        lengths: Why the requests to an upstream may have other lengths than their bodies; empty if none has.
    """

    passes: dict[Upstream, list[Pass]]
    strangers: dict[Identity, Pass]
    lengths: dict[Upstream, str]

    def of(self, upstream: Upstream) -> str:
        """Return why a pool of the upstream would mix connections; empty if it would not."""
        named = set(map(identity, self.passes.get(upstream, ())))
        why = _why_not(named) or self.lengths.get(upstream, "")
        if why:
            return why
        stranger = next((pass_ for own, pass_ in self.strangers.items() if named and own not in named), None)
        return "" if stranger is None else _NAMED.format(f"{stranger.directive.name} {stranger.directive.args[0]}")


def identity(pass_: Pass) -> Identity:
    """Return the properties of a connection for a pass, with a `$` in those that depend on the request."""
    version = pass_.setting("http_version").value if pass_.protocol == "proxy" else None
    words = [pass_.protocol, pass_.scheme or _PLAIN.get(pass_.protocol, ""), "2" if version == "2" else ""]
    for name in sorted(set(_settled(pass_))):
        for directive in pass_.level.setting(name).directives:
            words += ["|", name, *directive.args]
    return tuple(words)


def _settled(pass_: Pass) -> Iterable[str]:
    """Return the names of the directives that take effect when a connection is opened."""
    prefixes = [f"{pass_.protocol}_bind", f"{pass_.protocol}_socket_"]
    if pass_.scheme in _TLS or "$" in pass_.scheme:
        prefixes.append(f"{pass_.protocol}_ssl_")
    level: Level | None = pass_.level
    while level is not None:
        yield from (name for name in level.names if name.startswith(tuple(prefixes)))
        level = level.parent


def _why_not(identities: set[Identity]) -> str:
    if len(identities) > 1:
        return _MIXED
    return BY_REQUEST if any("$" in word for words in identities for word in words) else ""


def _may_name_any(model: Model, pass_: Pass) -> bool:
    """Return whether the target of a pass may be the name of any upstream: it is a variable without a port.

    A variable that always has one value is read as that value.

    A target with a port is an address (ngx_http_upstream_init_request compares it with that of the upstream, which has
    none).
    """
    target = settled(model, pass_.level, str(pass_.directive.args[0])) if "$" in pass_.host else None
    read = read_pass(pass_.directive, pass_.level, model.upstreams, target) if target else pass_
    return read is not None and "$" in read.host and (read.port is None or "$" in read.port)
