"""The target nginx version, and its origin."""

from __future__ import annotations

from nginxopt.errors import MissingError
from nginxopt.records import record
from nginxopt.version import Version

ASSUMED = Version(1, 28, 0)
"""The last stable nginx before the defaults of upstreams changed (1.29.7). Advice for it is also right for later
versions, where some of it is the default."""

_SAME_NUMBERS = ("nginx", "openresty")
"""The servers whose version starts with that of the nginx they are based on; others have their own numbering."""


@record(eq=True)
class TargetVersion:
    """An nginx version and its origin: `stated`, `settings`, `nginx -v` or `assumed`."""

    version: Version
    origin: str


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
