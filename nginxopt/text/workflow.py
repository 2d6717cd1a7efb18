"""Workflow commands of GitHub Actions, one per line.

The syntax is documented in "Workflow commands for GitHub Actions"; escapes are those of `actions/toolkit`
(packages/core/src/command.ts).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nginxopt.text.display import printable, unicode


def command(name: str, properties: Mapping[str, str], message: Iterable[str]) -> str:
    """Return the line of a command such as `error`; `message` are the lines of its message."""
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {listed}::{'%0A'.join(_data(printable(line)) for line in message)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(unicode(text)).replace(":", "%3A").replace(",", "%2C")
