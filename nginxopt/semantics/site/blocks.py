"""Finds the http block of a configuration, or adds the blocks that a fragment implies around it."""

from __future__ import annotations

from dataclasses import replace

from nginxopt.config import Config, Context
from nginxopt.errors import InputError
from nginxopt.facts import group
from nginxopt.semantics.inherit import Level, levels
from nginxopt.version import Version

_SERVER: Context = ("http", "server")
_PLACES = (("http",), _SERVER, (*_SERVER, "location"))

_OF_SERVERS = group("of_server")
"""Directives by which a fragment that fits several contexts is taken for the content of a server."""


def placed(config: Config) -> Config:
    """Return a configuration whose main file has exactly one context; the directives are the same objects.

    Raises `InputError` if that context is not part of http.
    """
    context = _context(config)
    if context and context not in _PLACES:
        names = ",".join(context)
        raise _refused(config, f"it stands in {names}", "give the main configuration, or a part of http or a server")
    return config if config.candidates == (context,) else replace(config, candidates=(context,))


def http_level(config: Config, target: Version, known: Level | None = None) -> Level:
    """Return the http level of a configuration that is `placed`, with all inner levels.

    `known` is its outermost level, if the caller has it. It is used if it needs no assumptions about unread text.
    """
    is_given = known is not None and known.kind == "main" and known.is_whole
    root = known if known is not None and is_given else levels(config, target, as_given=True)
    if root.kind == "main":
        http = next((level for level in root.levels if level.kind == "http"), None)
        if http is None:
            raise _refused(config, "there is no http block", None)
        return http
    while root.kind != "http" and root.parent is not None:
        root.parent.levels.append(root)
        root = root.parent
    return root


def _context(config: Config) -> Context:
    """Return the context of the main file, or the most likely one if several fit."""
    names = {str(directive.name) for directive in config.readings.directives}
    if len(config.candidates) == 1:
        return config.candidates[0]
    if () in config.candidates and "http" in names:
        return ()
    if ("http",) in config.candidates and "server" in names:
        return ("http",)
    if _SERVER in config.candidates and (names & _OF_SERVERS or config.readings.nodes):
        return _SERVER
    location = _PLACES[-1]
    if location in config.candidates:
        return location
    if not names:
        raise _refused(config, "the file has no directives", None)
    raise _refused(config, "no directive shows where it stands", "state it with --context")


def _refused(config: Config, reason: str, hint: str | None) -> InputError:
    return InputError(f"no requests can be followed here: {reason}", path=config.main.path, hint=hint)
