"""For which nginx a configuration is judged, and how that is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nginxopt.errors import MissingError
from nginxopt.version import Version

if TYPE_CHECKING:
    from nginxopt.lint.declare import Rule

ASSUMED = Version(1, 28, 0)
"""The last stable nginx before the defaults of upstreams changed (1.29.7). What is right for it is right after it, too,
only that some of it goes without saying there."""

CHANGES = tuple(map(Version.parse, ("1.11.10", "1.15.10", "1.21.6", "1.25.1", "1.25.3", "1.27.3", "1.29.7")))
"""The releases since which a rule may find other things than before, beside the first and last of each rule."""

OLDEST = Version(1, 0, 0)

_SAME_NUMBERS = ("nginx", "openresty")
"""The servers whose version begins with that of the nginx they are made of; others count for themselves."""


@dataclass(frozen=True, slots=True)
class Target:
    """A version of nginx, and the origin of the choice: `stated`, `settings`, `nginx -v` or `assumed`."""

    version: Version
    origin: str


def turning_points(rules: Iterable[Rule]) -> tuple[Version, ...]:
    """Return releases such that what some rules find in a configuration is, for any nginx, what they find for one."""
    edges = {edge for rule in rules for edge in (rule.since, rule.until and rule.until.next()) if edge}
    return tuple(sorted({OLDEST, *CHANGES, *edges}))


def choose(stated: Version | None, settings: Version | None, binary: str | None = None) -> Target:
    """Return the nginx to judge for: the one stated, the one of the settings, the one installed, or `ASSUMED`.

    `binary` is where nginx is, None for the usual places; `MissingError` if it is named and is not there.
    """
    if stated is not None:
        return Target(stated, "stated")
    if settings is not None:
        return Target(settings, "settings")
    from nginxopt.system import nginx  # with all that processes need; a version that is stated needs none

    try:
        installed = nginx.find(binary)
    except MissingError:
        if binary:
            raise
        return Target(ASSUMED, "assumed")
    if installed.name not in _SAME_NUMBERS:
        return Target(ASSUMED, "assumed")
    return Target(Version.of(installed.version), "nginx -v")
