"""The setters of `server_name` and `location`."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.semantics import locations
from nginxopt.semantics.refusals.reading import Setter, Stated, register

SETTERS: dict[str, Setter] = {}
_MODIFIERS = ("=", "^~", "~", "~*")


@register(SETTERS, "ngx_http_core_server_name", "ngx_stream_core_server_name")
def _server_name(stated: Stated) -> Iterator[str]:
    for word in stated.args:
        starts_wrong = word.startswith("*") and (len(word) < 3 or word[1] != ".")
        if starts_wrong or word == ".":
            yield f'server name "{word}" is invalid'
            return
        if word == "~":
            yield 'empty regex in server name "~"'
            return


@register(SETTERS, "ngx_http_core_location")
def _location(stated: Stated) -> Iterator[str]:
    if len(stated.args) == 2 and stated.args[0] not in _MODIFIERS:
        yield f'invalid location modifier "{stated.args[0]}"'
        return
    inner, outer = stated.block, stated.level
    if inner is None or outer.kind != "location" or not outer.args:
        return
    name, around = _name(stated.args), _name(outer.args)
    if locations.modifier(outer) == "=":
        yield f'location "{name}" cannot be inside the exact location "{around}"'
    elif around.startswith("@") and not locations.modifier(outer):
        yield f'location "{name}" cannot be inside the named location "{around}"'
    elif name.startswith("@") and not locations.modifier(inner):
        yield f'named location "{name}" can be on the server level only'
    elif locations.modifier(inner) not in ("~", "~*") and not name.startswith(around):
        is_regex = locations.modifier(outer) in ("~", "~*")
        if not is_regex or not name.startswith(around):
            yield f'location "{name}" is outside location "{around}"'


def _name(args: tuple[str, ...]) -> str:
    """Return the name of a location without its modifier."""
    if len(args) == 2:
        return str(args[1])
    word = str(args[0])
    return next((word[len(mark) :] for mark in ("=", "^~", "~*", "~") if word.startswith(mark)), word)
