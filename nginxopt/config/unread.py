"""Includes that stand for directives of a template that are not known."""

from __future__ import annotations

from nginxopt.config.tree import Directive

_FOLDER = "/unread of a template/"
_ANYTHING = "anything"


def unread(name: str | None = None) -> bytes:
    """Return an include of what was not read: a directive `name`, or any number of any directives."""
    return f'include "{_FOLDER}{name or _ANYTHING}";'.encode()


def is_unread(path: str) -> bool:
    """Return whether a path belongs to such an include, which has no file."""
    return path.startswith(_FOLDER)


def unread_names(include: Directive) -> tuple[str, ...]:
    """Return the directives that such an include may have; none if it may have any, or is another."""
    path = str(include.args[0])
    name = path.removeprefix(_FOLDER)
    return (name,) if is_unread(path) and name != _ANYTHING else ()
