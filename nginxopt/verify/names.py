"""Names that only a configuration itself uses, and that are others on the other side: upstreams, named locations, zones
and caches.

The names that only the new side has stand for those that only the old side has, one for one, as far as nothing else can
read them. What a client or an upstream sees of a name stays with the name (`VerifiedSide.settings`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from nginxopt import lazy
from nginxopt.config import Directive
from nginxopt.facts import group
from nginxopt.records import record
from nginxopt.semantics import Level
from nginxopt.semantics.site import LoweredSite
from nginxopt.verify.forms.values import canonical_words
from nginxopt.verify.premises import ACCEL_NAMES, UNREAD_NAMES, Asked
from nginxopt.verify.renaming import with_names

Words = tuple[str, ...]

_ZONES = ("limit_req_zone", "limit_conn_zone")
_CACHES = tuple(f"{gateway}_cache" for gateway in ("proxy", "fastcgi", "scgi", "uwsgi"))
_CACHE_PATHS = tuple(f"{name}_path" for name in _CACHES)
_TARGETS = ("error_page", "try_files", "post_action")
"""Directives that lead to named locations."""

_PASS = lazy.pattern(r"((?:https?|grpcs?)://)?([^/:]+)(.*)")
"""The argument of a directive that passes requests on: a protocol, a host, and the rest."""

_PASSES = group("pass")


@record(eq=True)
class Names:
    """The names of the new side, with those of the old side that they stand for, by what they are names of."""

    upstreams: Mapping[str, str] = field(default_factory=dict)
    locations: Mapping[str, str] = field(default_factory=dict)
    zones: Mapping[str, str] = field(default_factory=dict)
    caches: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    def words(self, name: str, words: Words) -> Words:
        """Return the arguments of a directive with the names of the old side."""
        if self.variables:
            words = tuple(with_names(word, self.variables) for word in words)
        if self.upstreams and name in _PASSES and words:
            return (_passed(words[0], self.upstreams), *words[1:])
        if self.locations and name in _TARGETS:
            return tuple(self.locations.get(word, word) for word in words)
        if self.zones and name in ("limit_req", "limit_conn", *_ZONES):
            return tuple(_zone(word, self.zones, is_bare=name == "limit_conn") for word in words)
        if self.caches and name in (*_CACHES, *_CACHE_PATHS):
            return tuple(_zone(word, self.caches, is_bare=name in _CACHES) for word in words)
        return words

    def upstream(self, name: str) -> str:
        """Return the name of an upstream on the old side."""
        return self.upstreams.get(name.lower(), name)


def host_of_pass(word: str) -> str:
    """Return the host that requests are passed on to, in lower case."""
    found = _PASS.fullmatch(word)
    return "" if found is None else found[2].lower()


def _passed(word: str, names: Mapping[str, str]) -> str:
    found = _PASS.fullmatch(word)
    if found is None or found[2].lower() not in names:
        return word
    return f"{found[1] or ''}{names[found[2].lower()]}{found[3]}"


def _zone(word: str, names: Mapping[str, str], *, is_bare: bool) -> str:
    key, equals, value = word.partition("=")
    if is_bare and not equals:
        return names.get(word, word)
    name, colon, rest = value.partition(":")
    return f"{key}={names.get(name, name)}{colon}{rest}" if key in ("zone", "keys_zone") else word


def names(
    old: LoweredSite,
    new: LoweredSite,
    variables: Mapping[str, str],
    *,
    is_read: Callable[[], bool],
    is_run: Callable[[], bool],
    asked: Asked,
) -> Names:
    """Return the names of two sites that stand for each other, with those of `variables`.

    `is_read` says whether all files were read, so that nothing else uses upstreams and named locations; `is_run`
    whether a program runs, which may.

    Zones and caches need no file to be read: one that uses them has to start on both sides.
    """
    zones = _paired(_of_zones(old, _ZONES), _of_zones(new, _ZONES))
    caches = _paired(_of_zones(old, _CACHE_PATHS), _of_zones(new, _CACHE_PATHS))
    upstreams, locations = _upstreams(old, new), _locations(old, new, asked)
    if (zones or upstreams or locations) and is_run():
        zones = upstreams = locations = {}
    if (upstreams or locations) and not is_read() and not asked.holds(UNREAD_NAMES):
        upstreams = locations = {}
    return Names(upstreams, locations, zones, caches, variables)


def _paired(old: Mapping[str, object], new: Mapping[str, object]) -> dict[str, str]:
    """Return the names that only the new side has, each with the first free one that only the old side has and that is
    defined alike."""
    free = [name for name in old if name not in new]
    found: dict[str, str] = {}
    for name in (name for name in new if name not in old):
        match = next((other for other in free if old[other] == new[name]), None)
        if match is not None:
            free.remove(match)
            found[name] = match
    return found


def _directives(site: LoweredSite) -> Iterator[tuple[Level, Directive]]:
    return ((level, directive) for level in site.levels for directive in level.directives)


def _of_zones(site: LoweredSite, defining: tuple[str, ...]) -> dict[str, object]:
    """Return the names of zones, with their definitions but for the name."""
    found: dict[str, object] = {}
    for level, directive in _directives(site):
        if directive.name in defining:
            words = canonical_words(str(directive.name), tuple(map(str, directive.args)), level.target)
            at = next((at for at, word in enumerate(words) if word.startswith(("zone=", "keys_zone="))), None)
            if at is not None:
                key, _, value = words[at].partition("=")
                name, _, size = value.partition(":")
                found[name] = (str(directive.name), *words[:at], key, size, *words[at + 1 :])
    return found


def _upstreams(old: LoweredSite, new: LoweredSite) -> dict[str, str]:
    """Return the upstreams that have other names, where no pass chooses one by the value of a variable, and none has
    the name of the other side for a host."""
    sides = [{form["name"].lower(): tuple(form["servers"]) for form in site.site["upstreams"]} for site in (old, new)]
    pairs = _paired(*sides)
    if not pairs:
        return {}
    used = [_used(site) for site in (old, new)]
    if any("$" in host for hosts in used for host in hosts):
        return {}
    return {name: other for name, other in pairs.items() if name not in used[0] and other not in used[1]}


def _used(site: LoweredSite) -> set[str]:
    passes = (directive for _, directive in _directives(site) if directive.name in _PASSES and directive.args)
    words = [str(directive.args[0]) for directive in passes]
    return {host_of_pass(word) for word in words} | {word for word in words if "$" in word}


def _locations(old: LoweredSite, new: LoweredSite, asked: Asked) -> dict[str, str]:
    """Return the named locations that have other names, where neither a variable nor an upstream may name one."""
    pairs = _paired(*(dict.fromkeys(_named(site)) for site in (old, new)))
    if not pairs or any(map(_has_variable_targets, (old, new))):
        return {}
    if any(map(_may_all_be_led, (old, new))) and not asked.holds(ACCEL_NAMES):
        return {}
    targets = [{str(word) for word in _target_words(site)} for site in (old, new)]
    return {name: other for name, other in pairs.items() if name not in targets[0] and other not in targets[1]}


def _named(site: LoweredSite) -> list[str]:
    levels = (level for level in site.levels if level.kind == "location" and level.args)
    return [str(level.args[0]) for level in levels if level.args[0].startswith("@")]


def _target_words(site: LoweredSite) -> Iterator[str]:
    return (str(word) for _, each in _directives(site) if each.name in _TARGETS for word in each.args)


def _has_variable_targets(site: LoweredSite) -> bool:
    return any("$" in word and (word[0] == "$" or word[0] == "@") for word in map(str, _last_targets(site)))


def _may_all_be_led(site: LoweredSite) -> bool:
    """Return whether an upstream may name a location anywhere."""
    return any(_may_be_led(level, str(each.name)) for level, each in _directives(site) if each.name in _PASSES)


def _last_targets(site: LoweredSite) -> Iterator[str]:
    return (str(each.args[-1]) for _, each in _directives(site) if each.name in _TARGETS and each.args)


def _may_be_led(level: Level, name: str) -> bool:
    """Return whether a response of an upstream may name a location (`X-Accel-Redirect`)."""
    if name == "memcached_pass":
        return False
    ignored = level.setting(name.replace("_pass", "_ignore_headers"))
    words = [word.lower() for directive in ignored.directives for word in directive.args]
    return not ignored.known or "x-accel-redirect" not in words
