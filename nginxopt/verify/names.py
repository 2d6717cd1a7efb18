"""Names that have no meaning outside of a configuration: variables, upstreams, named locations, zones and caches.

If only the new side has a name, it may stand for one that only the old side has. Names are matched one for one, if
nothing else can read them. What a client or an upstream sees of a name stays with the name (`VerifiedSide.settings`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import cast

from nginxopt import lazy
from nginxopt.config import Directive
from nginxopt.facts import group
from nginxopt.records import record
from nginxopt.semantics import Level
from nginxopt.semantics.site import LoweredSite
from nginxopt.semantics.site.form import SiteForm, StatementForm
from nginxopt.verify.canonical import canonical_words
from nginxopt.verify.patterns import group_names
from nginxopt.verify.premises import ACCEL_NAMES, UNREAD_NAMES, Asked
from nginxopt.verify.symbols import ARGS, LIMIT_RATE

_USED = lazy.pattern(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")


def renamed(old: SiteForm, new: SiteForm) -> tuple[SiteForm, dict[str, str]]:
    """Return `new` with the names of variables that only it has replaced by those that only `old` has, and the
    replacements.

    Both must have the same number of such names; they are paired in the order of their definitions. Nothing is replaced
    if one of the names means more: if it is that of a variable of nginx or of a group, or if `new` reads it without
    defining it. Nor is anything replaced if rules are folded, as their words are not available here.
    """
    mine, theirs = defined(old), defined(new)
    names = [name for name in theirs if name not in mine]
    others = [name for name in mine if name not in theirs]
    if not names or len(names) != len(others) or any(map(is_own, (*names, *others))):
        return new, {}
    script = [statement for level in new["levels"] for statement in level["script"]]
    groups = {name for name, _ in named_groups(new, script)}
    if any(statement["kind"] == "rewrites" for statement in script):
        return new, {}
    if not groups.isdisjoint((*names, *others)) or not _read(new).isdisjoint(others):
        return new, {}
    table = dict(zip(names, others, strict=True))
    return cast(SiteForm, _replaced(new, table)), table


def _read(item: object) -> set[str]:
    """Return the variables in the words of a part of a form."""
    if isinstance(item, str):
        return {(match[1] or match[2]).lower() for match in _USED.finditer(item)}
    if isinstance(item, list):
        return set().union(*map(_read, item))
    return set().union(*map(_read, item.values())) if isinstance(item, dict) else set()


def defined(form: SiteForm) -> dict[str, None]:
    """Return the variables that a site defines, in their order, without those that a pattern names."""
    names = [definition["variable"] for definition in form["variables"]]
    for level in form["levels"]:
        names += [name for statement in level["script"] if (name := _set(statement)) is not None]
    return dict.fromkeys(name.removeprefix("$").lower() for name in names)


def _set(statement: StatementForm) -> str | None:
    return statement["variable"] if statement["kind"] == "set" else None


def with_names(text: str, table: Mapping[str, str]) -> str:
    """Return a text with the names of variables replaced."""
    return _USED.sub(lambda match: _name(match, table), text) if "$" in text else text


def _replaced(item: object, table: Mapping[str, str]) -> object:
    """Return a part of a form with the names of variables replaced."""
    if isinstance(item, str):
        return with_names(item, table)
    if isinstance(item, list):
        return [_replaced(inner, table) for inner in item]
    if isinstance(item, dict):
        return {key: _replaced(inner, table) for key, inner in item.items()}
    return item


def _name(match: re.Match[str], table: Mapping[str, str]) -> str:
    name = (match[1] or match[2]).lower()
    if name not in table:
        return match[0]
    return f"${table[name]}" if match[0] == match.string else f"${{{table[name]}}}"


_PREFIXES = (
    "arg_",
    "http_",
    "cookie_",
    "sent_http_",
    "sent_trailer_",
    "upstream_http_",
    "upstream_cookie_",
    "upstream_t",
)


def statement_words(statement: StatementForm) -> Sequence[str]:
    """Return the words of a statement that may contain patterns."""
    match statement["kind"]:
        case "if":
            return statement["condition"]
        case "rewrite":
            return [statement["pattern"]]
    return []


def named_groups(form: SiteForm, script: Iterable[StatementForm]) -> Iterator[tuple[str, int]]:
    """Yield the names of the groups of all patterns, with the nodes of their directives. `script` is of all blocks."""
    for server in form["servers"]:
        for name in server["names"]:
            yield from _of(name["text"], server["node"])
    for level in form["levels"]:
        if level["kind"] == "location":
            yield from _of(" ".join(level["args"]), level["node"])
    for statement in script:
        for word in statement_words(statement):
            if "(?" in word:
                yield from _of(word, statement["node"])
    for variable in form["variables"]:
        for row in variable["rows"] if variable["kind"] == "map" else ():
            yield from _of(row["args"][0] if row["args"][0].startswith("~") else "", variable["node"])


def _of(text: str, node: int) -> Iterator[tuple[str, int]]:
    return ((name, node) for name in (group_names(text.encode("latin-1")) if "(?" in text else ()))


def is_own(name: str) -> bool:
    """Return whether a name that a group may have is that of a variable of nginx itself."""
    return name in (ARGS, LIMIT_RATE) or name.startswith(_PREFIXES)


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
    """The names of the new side that stand for other names of the old side, by kind."""

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

    Zones and caches are matched even if files were not read: nginx has to start with these files on both sides, so they
    cannot use a zone that only one side has.
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
    """Return the names of zones, each with its definition without the name."""
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
    """Return the upstreams that have other names. None have if a pass chooses one by the value of a variable; an
    upstream is left out if a pass has its name on the other side as a host."""
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
