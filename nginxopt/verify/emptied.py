"""Supposes what was not read, to find a request that is answered differently if that is so.

A supposition puts texts in place of unread files, or a location that passes requests on around settings that only such
requests show. A witness under it names what it supposes. If there is no witness, that says nothing: the files may have
something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from nginxopt.config import Config, load_text, reread
from nginxopt.errors import NginxoptError
from nginxopt.facts.packaged import PACKAGED
from nginxopt.records import record
from nginxopt.request.model import SiteModel
from nginxopt.semantics.inherit import origin
from nginxopt.semantics.refusals import undefined
from nginxopt.semantics.site.form import LevelForm
from nginxopt.semantics.upstreams import PROTOCOLS

_OF_LOGS = ("access_log", "log_format")
_MOST_DEFINED = 8  # variables that get a value if no file that was read defines them
_SERVER = "192.0.2.1:81"
_SCHEMES = {"proxy": "http://", "grpc": "grpc://"}
_EMPTY, _ALLOWING = b"", b"allow all;"
_SAID = {_EMPTY: "is empty", _ALLOWING: "says only allow all"}


@record(eq=True)
class Supposed:
    """Both sites with what is supposed. Directives keep their numbers.

    Attributes:
        premises: What is supposed, as clauses.
        defined: The values of variables that no file that was read defines.
        passing: The directive that passes requests on around both, as text; None if there is none.
        beside: An additional location on both sides, as text.
    """

    old: SiteModel
    new: SiteModel
    premises: tuple[str, ...]
    defined: tuple[tuple[str, str], ...] = ()
    passing: str | None = None
    beside: str | None = None


def suppositions(old: SiteModel, new: SiteModel) -> Iterator[Supposed]:
    """Yield both sites as they may be: `supposed`, with values of variables that are defined elsewhere, and within a
    location that passes requests on."""
    read = [*supposed(old, new)]
    yield from read
    names = undefined([model.site.levels[0] for model in (old, new)], old.version, _OF_LOGS)
    for value in ("", "1") if 0 < len(names) <= _MOST_DEFINED else ():
        last, told = [Supposed(old, new, ()), *read][-1], value or "empty"
        premises = (f"${name} is defined elsewhere, and is {told}" for name in sorted(names))
        defined = tuple((name, value) for name in sorted(names))
        yield replace(last, premises=(*last.premises, *premises), defined=defined)
    for each in (Supposed(old, new, ()), *read[-1:]):
        for passed in passed_on(each.old, each.new):
            yield replace(passed, premises=(*each.premises, *passed.premises))
        yield from (replace(more, premises=(*each.premises, *more.premises)) for more in led_on(each.old, each.new))


def led_on(old: SiteModel, new: SiteModel) -> Iterator[Supposed]:
    """Yield both parts of a server as if a location beside them passed requests on, whose upstream may then lead nginx
    to locations that no client reaches. Yields nothing if they have none of these."""
    models = old, new
    is_part = all(any(context[-1:] == ("server",) for context in model.config.candidates or ()) for model in models)
    if is_part and any(_is_hidden(level) for model in models for level in model.site.site["levels"]):
        try:
            mine, theirs = (SiteModel(beside(model.config, _PASSING), model.build) for model in models)
        except NginxoptError:
            return
        yield Supposed(
            mine, theirs, ("a location beside these is for /passed, and passes requests on",), beside=_PASSING
        )


_PASSING = f"location = /passed {{ proxy_pass http://{_SERVER}; }}"


def beside(config: Config, text: str) -> Config:
    """Return a part of a server with an additional location at its end."""
    data = b"%s\n%s\n" % (config.main.source.data, text.encode())
    return load_text(data, config.main.path, prefix=config.prefix, context="server", missing_ok=True)


def _is_hidden(level: LevelForm) -> bool:
    """Return whether no client reaches a location."""
    return level["kind"] == "location" and ("internal" in level["settings"] or level["args"][0].startswith("@"))


def passed_on(old: SiteModel, new: SiteModel) -> Iterator[Supposed]:
    """Yield both parts of a configuration as if a location that includes them passed requests on, for each protocol of
    which they state something. Yields nothing if they hold more than settings of a location."""
    if not (_is_of_location(old) and _is_of_location(new)):
        return
    stated = {name.partition("_")[0] for model in (old, new) for name in _names(model)}
    for protocol in PROTOCOLS:
        if protocol in stated:
            name, to = f"{protocol}_pass", _SCHEMES.get(protocol, "") + _SERVER
            premise = f"a location that includes this passes requests on by {name}"
            yield Supposed(old.passing(name, to), new.passing(name, to), (premise,), passing=f"{name} {to};")


def _is_of_location(model: SiteModel) -> bool:
    levels = model.site.site["levels"]
    return (
        any(context[-1:] == ("location",) for context in model.config.candidates or ())
        and [level["kind"] for level in levels] == ["http", "server"]
        and not any(level["script"] or level["opaque"] for level in levels)
        and not any(name.endswith("_pass") or name == "try_files" for name in _names(model))
    )


def _names(model: SiteModel) -> set[str]:
    return {str(directive.name) for level in model.site.levels for directive in level.directives}


def supposed(old: SiteModel, new: SiteModel) -> Iterator[Supposed]:
    """Yield both sites as if unread files of packages had what these have in them; then as if all others were empty,
    too, and as if those beside a `deny` allowed all clients.

    Yields nothing if all files were read, and leaves out a pair if nginx refuses one of its sites.
    """
    names = dict.fromkeys(name for model in (old, new) for name in _unread(model).values())
    texts = dict.fromkeys(names, _EMPTY)
    allowing = dict.fromkeys((name for model in (old, new) for name in _beside_deny(model)), _ALLOWING)
    of_packages = dict.fromkeys(path for model in (old, new) for path in _of_packages(model.config).values())
    tried = [
        *([{}] if of_packages else []),
        *([texts] if texts else []),
        *([{**texts, **allowing}] if allowing else []),
    ]
    for text in tried:
        try:
            stock = (f"{name} is the file that comes with nginx" for name in of_packages)
            premises = (*stock, *(f"{name} {_SAID[what]}" for name, what in text.items()))
            yield Supposed(_with(old, text), _with(new, text), premises)
        except NginxoptError:
            continue


def packaged(config: Config) -> Config:
    """Return a configuration in which files of packages that could not be read have what these have in them."""
    texts = _texts_of_packages(config)
    return reread(config, texts) if texts else config


def _of_packages(config: Config) -> dict[str, str]:
    """Return the files of packages that could not be read, by their paths, with the path in an include as written."""
    written = {item.path: str(item.include.args[0]) for item in config.unread}
    return {path: name for path, name in written.items() if name.rpartition("/")[2] in PACKAGED}


def _texts_of_packages(config: Config) -> dict[str, bytes]:
    return {path: PACKAGED[name.rpartition("/")[2]].encode() for path, name in _of_packages(config).items()}


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
    known = {path: texts[name] for path, name in _unread(model).items() if name in texts}
    return SiteModel(reread(model.config, {**_texts_of_packages(model.config), **known}), model.build)
