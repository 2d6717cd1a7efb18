"""The assumptions about what was not read: files, and the configuration around a fragment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nginxopt.config import Config
from nginxopt.verify.side import VerifiedSide


def given_unread(
    configs: tuple[Config, Config], sides: tuple[VerifiedSide, VerifiedSide], renamed: Mapping[str, str]
) -> Iterator[str]:
    """Yield the assumptions about what was not read. `renamed` maps new names of variables to old ones."""
    if not all(map(is_whole, configs)):
        yield "nothing stands around these parts of a configuration"
    unread = dict.fromkeys(path for side in sides for path in side.unread)
    if unread:
        yield f"not read, and the same before and after: {', '.join(unread)}"
    empty = dict.fromkeys(path for config in configs for path in _without_matches(config))
    if empty:
        yield f"no file is at {', '.join(empty)}"
    if any(side.has_open for side in sides):
        upstreams = sorted(sides[0].upstreams.keys() ^ sides[1].upstreams.keys())
        if upstreams:
            yield f"what was not read does not use {', '.join(upstreams)}, which only one side has"
    if renamed:
        names = ", ".join(f"${new} for ${old}" for new, old in renamed.items())
        yield f"no program and no file reads or sets a variable that has another name now: {names}"


def is_whole(config: Config) -> bool:
    """Return whether this is a main configuration, and no fragment."""
    return any(directive.name == "http" for directive in config.readings.directives)


def _without_matches(config: Config) -> Iterator[str]:
    """Yield the wildcards of includes that match no file."""
    for scope in config.readings.tree():
        for include in scope.directives:
            is_read = include.name == "include" and include.args and not config.is_missing(include)
            if is_read and not config.included(include):
                yield str(include.args[0])
