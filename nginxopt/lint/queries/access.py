"""Who may reach a level: `allow`, `deny` and directives that ask for a login (`ngx_http_access_module` and others)."""

from __future__ import annotations

from collections.abc import Sequence

from nginxopt import lazy
from nginxopt.config import Directive
from nginxopt.semantics import FRAGMENT, Level, read_listens

_LOGINS = ("auth_basic", "auth_request", "auth_jwt", "auth_oidc", "auth_pam", "auth_ldap", "auth_digest")
_RULES = frozenset(["allow", "deny"])
_CLIENT_ERROR = lazy.pattern(r"4\d\d")
_EVERYBODY = {"all", "0.0.0.0/0", "::/0"}


def rules(level: Level) -> Sequence[Directive]:
    """Return the `allow` and `deny` in force at a level, in their order; a level with one inherits none."""
    around: Level | None = level
    while around is not None:
        if not around.names.isdisjoint(_RULES):
            own = [directive for directive in around.directives if directive.name in _RULES and directive.args]
            if own:
                return own
        around = around.parent
    return ()


def are_known(level: Level) -> bool:
    """Return whether all of a level was read, and of those around it up to its server.

    Assumes that what is around a fragment, or stated for all servers, restricts nothing.
    """
    around: Level | None = level
    while around is not None and around.kind != "http":
        if around.is_open and around.scope is not None and around.kind != FRAGMENT:
            return False
        around = around.parent
    return True


def logins(level: Level) -> tuple[Directive, ...]:
    """Return the directives in force that ask for a login."""
    stated = (level.setting(name).directive for name in _LOGINS)
    return tuple(directive for directive in stated if directive is not None and directive.args[:1] != ("off",))


def denies_others(level: Level) -> bool:
    """Return whether the rules of a level end by denying everybody that they do not allow."""
    return any(rule.name == "deny" and names_everybody(rule) for rule in rules(level))


def refuses_all(level: Level) -> bool:
    """Return whether a level refuses every request: by `deny all`, or by a `return` of an error of the client."""
    stated, returns = rules(level), level.own("return")
    is_denied = bool(stated) and stated[0].name == "deny" and names_everybody(stated[0]) and not takes_any(level)
    return is_denied or any(_CLIENT_ERROR.fullmatch(directive.args[0]) for directive in returns if directive.args)


def names_everybody(rule: Directive) -> bool:
    """Return whether an `allow` or `deny` is for all addresses."""
    return any(word in _EVERYBODY for word in rule.args[:1])


def is_public(level: Level) -> bool:
    """Return whether strangers can connect: the server listens on more than loopback addresses and Unix sockets."""
    server = level.around("server")
    if server is None or server.scope is None:  # of a fragment, which may be anywhere
        return True
    return any(not address.is_loopback for listen in read_listens([server]) for address in listen.addresses)


def takes_any(level: Level) -> bool:
    """Return whether one of the rules and the logins is enough."""
    return level.setting("satisfy").value == "any"
