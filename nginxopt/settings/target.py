"""The target nginx version, and its origin."""

from __future__ import annotations

from nginxopt.errors import MissingError
from nginxopt.records import record
from nginxopt.version import Version

ASSUMED = Version(1, 28, 0)
"""The last stable nginx before the defaults of upstreams changed (1.29.7). Advice for it is also right for later
versions, where some of it is the default."""

GUESSES = (Version(1, 18, 0), Version(1, 22, 1), Version(1, 26, 3), Version(1, 31, 5))
"""Releases that a configuration of which nothing is known may be for: those of distributions, and the newest."""

_SAME_NUMBERS = ("nginx", "openresty")
"""The servers whose version starts with that of the nginx they are based on; others have their own numbering."""


@record(eq=True)
class TargetVersion:
    """An nginx version and its origin: `stated`, `settings`, `nginx -v`, `assumed`, or what shows it.

    `is_guess`: nobody states it, and no file names it.
    """

    version: Version
    origin: str
    is_guess: bool = False


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
        return TargetVersion(ASSUMED, "assumed", is_guess=True)
    if installed.name not in _SAME_NUMBERS:
        return TargetVersion(ASSUMED, "assumed", is_guess=True)
    return TargetVersion(Version.of(installed.version), "nginx -v", is_guess=binary is None)
