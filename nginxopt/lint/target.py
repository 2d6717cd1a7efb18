"""The target nginx version, and its origin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nginxopt.config import declarations
from nginxopt.errors import MissingError
from nginxopt.version import Version

if TYPE_CHECKING:
    from nginxopt.lint.declare import Rule

ASSUMED = Version(1, 28, 0)
"""The last stable nginx before the defaults of upstreams changed (1.29.7). Advice for it is also right for later
versions, where some of it is the default."""

_CHANGES = """
    1.11.10 1.15.10 1.21.6 1.23.0 1.23.4 1.25.0 1.25.1 1.25.3 1.25.5 1.27.3 1.29.0 1.29.3 1.29.7 1.30.1 1.30.2
    1.30.4 1.31.0 1.31.1 1.31.3
"""
CHANGES = tuple(map(Version.parse, _CHANGES.split()))
"""The releases that change the findings of a rule, or what nginx refuses, in addition to the bounds of each rule."""

OLDEST = Version(1, 0, 0)

_SAME_NUMBERS = ("nginx", "openresty")
"""The servers whose version starts with that of the nginx they are based on; others have their own numbering."""


@dataclass(frozen=True, slots=True)
class TargetVersion:
    """An nginx version and its origin: `stated`, `settings`, `nginx -v` or `assumed`."""

    version: Version
    origin: str


def turning_points(rules: Iterable[Rule]) -> tuple[Version, ...]:
    """Return releases that cover the behaviour of the rules: findings for any nginx equal those for one of them."""
    edges = {edge for rule in rules for edge in (rule.since, rule.until and rule.until.next()) if edge}
    if any(rule.by_release for rule in rules):
        edges |= declarations.turning_points()
    return tuple(sorted({OLDEST, *CHANGES, *edges}))


def choose(stated: Version | None, settings: Version | None, binary: str | None = None) -> TargetVersion:
    """Return the target version: the stated one, that of the settings, the installed one, or `ASSUMED`.

    `binary` is the path of nginx, None for the usual places. Raises `MissingError` if a given path does not exist.
    """
    if stated is not None:
        return TargetVersion(stated, "stated")
    if settings is not None:
        return TargetVersion(settings, "settings")
    from nginxopt.system import nginx  # a slow import, which a stated version does not need

    try:
        installed = nginx.find(binary)
    except MissingError:
        if binary:
            raise
        return TargetVersion(ASSUMED, "assumed")
    if installed.name not in _SAME_NUMBERS:
        return TargetVersion(ASSUMED, "assumed")
    return TargetVersion(Version.of(installed.version), "nginx -v")
