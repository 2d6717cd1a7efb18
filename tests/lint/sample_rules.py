"""Rules of several categories that report nothing, for tests of selection."""

from __future__ import annotations

from nginxopt.lint import Page, Rule, Severity


def a_rule(name: str, category: str, *, default: bool = True) -> Rule:
    """A rule that finds nothing."""
    return Rule(name, lambda _: iter(()), Page(name), Severity.WARNING, category, default=default)


RULES = {
    rule.id: rule
    for rule in (
        a_rule("keepalive-missing", "proxy"),
        a_rule("zone-missing", "proxy", default=False),
        a_rule("cache-stampede", "cache"),
        a_rule("gzip-level", "client"),
        a_rule("tcp-nodelay-off", "client", default=False),
    )
}
