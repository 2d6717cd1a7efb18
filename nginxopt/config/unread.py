"""Placeholders for unknown directives of a template: includes of a path that does not exist.

The rules treat them like any other include whose file cannot be read.
"""

from __future__ import annotations

from nginxopt.config.tree import Directive

_FOLDER = "/unread of a template/"
_ANYTHING = "anything"


def unread(name: str | None = None) -> bytes:
    """Return a placeholder for an unknown directive `name`, or without a name for any number of any directives."""
    return f'include "{_FOLDER}{name or _ANYTHING}";'.encode()


def is_unread(path: str) -> bool:
    """Return whether a path is that of a placeholder."""
    return path.startswith(_FOLDER)


def unread_names(include: Directive) -> tuple[str, ...]:
    """Return the directives that a placeholder may stand for; empty if these may be any, or for any other include."""
    path = str(include.args[0])
    name = path.removeprefix(_FOLDER)
    return (name,) if is_unread(path) and name != _ANYTHING else ()
