"""Puts texts in place of unread files: what differs then, differs for certain if the files hold these texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nginxopt.config import reread
from nginxopt.errors import NginxoptError
from nginxopt.records import record
from nginxopt.request.model import SiteModel
from nginxopt.semantics.inherit import origin

_EMPTY, _ALLOWING = b"", b"allow all;"
_SAID = {_EMPTY: "is empty", _ALLOWING: "says only allow all"}


@record(eq=True)
class Supposed:
    """Both sites with texts in place of unread files. Directives keep their numbers.

    Attributes:
        premises: What is assumed of each file, as a clause.
    """

    old: SiteModel
    new: SiteModel
    premises: tuple[str, ...]


def supposed(old: SiteModel, new: SiteModel) -> Iterator[Supposed]:
    """Yield both sites as if unread files were empty, then as if those beside a `deny` allowed all clients.

    Yields nothing if all files were read, and no pair of which nginx refuses a site.
    """
    names = dict.fromkeys(name for model in (old, new) for name in _unread(model).values())
    texts = dict.fromkeys(names, _EMPTY)
    allowing = dict.fromkeys((name for model in (old, new) for name in _beside_deny(model)), _ALLOWING)
    for text in [texts, {**texts, **allowing}] if allowing else [texts] if texts else []:
        try:
            premises = tuple(f"{name} {_SAID[what]}" for name, what in text.items())
            yield Supposed(_with(old, text), _with(new, text), premises)
        except NginxoptError:
            continue


def _unread(model: SiteModel) -> dict[str, str]:
    """Return the files of which nothing is known, by their paths, with the path in each include as written."""
    return {item.path: str(item.include.args[0]) for item in model.config.unread if origin(item.include) is None}


def _beside_deny(model: SiteModel) -> Iterator[str]:
    """Yield the unread files that are included in a block with a `deny`, as they are written: the sides may be in two
    folders."""
    includes = {include.origin for level in model.site.levels if level.own("deny") for include in level.own("include")}
    known = _unread(model)
    yield from (
        known[item.path] for item in model.config.unread if item.include.origin in includes and item.path in known
    )


def _with(model: SiteModel, texts: Mapping[str, bytes]) -> SiteModel:
    config = reread(model.config, {path: texts[name] for path, name in _unread(model).items()})
    return SiteModel(config, model.build)
