"""Finds directives that would notice that a map became a tree: those that read captures after its evaluation.

A regular expression that matches sets `$1` to `$9`, even if it has no groups (`ngx_http_regex_exec`). A tree has other
expressions than its map. So one may match where none of the map does, and none may match where a row became a key. In

    location ~ ^/([a-z]+)/ { return 301 $new/$1; }

nginx evaluates `$new` before `$1`, which is then a capture of the map if an expression of the map matched. So a map may
become a tree only if every directive that reads captures gets them from a match after the evaluation of the map.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from nginxopt import lazy
from nginxopt.config import Block, Comment, Config, Directive, Scope
from nginxopt.facts import group, script
from nginxopt.facts.lexicon import ROWS
from nginxopt.records import record
from nginxopt.rewrite.kinds.maps.reading import RegexMap, groups, variables
from nginxopt.rewrite.surroundings import reading_no_captures

_CAPTURE = lazy.pattern(r"\$\{?[1-9]")
_VALUES = frozenset(["map", "split_clients"])
"""Blocks whose values are evaluated when their variable is."""
_SCRIPT = script()
"""The directives of the rewrite module that nginx runs in order."""
_AT_LOG = frozenset(["log_format", "access_log"])
_AFTER_LOG = frozenset(["post_action", "log_subrequest"])
"""Directives with which the processing of a request continues after it was logged."""
EVALUATED_BY = {
    **dict.fromkeys(group("root"), ("document_root", "realpath_root", "request_filename")),
    "secure_link": ("secure_link", "secure_link_expires"),
    "secure_link_md5": ("secure_link", "secure_link_expires"),
}
"""For a directive, the variables of nginx that evaluate its argument."""


@record(eq=True)
class _Reading:
    """A directive that reads `$1` to `$9`.

    Attributes:
        directive: The directive.
        evaluated: The variables that are evaluated between the match that sets the captures and this directive; None if
            it is not known which match that is.
        location: Whether it is the match of the location that contains the directive.
    """

    directive: Directive
    evaluated: frozenset[str] | None = None
    location: bool = False


@record(eq=True)
class _Use:
    """The variables that a directive evaluates, and when: with the rules of a `server`, for the `log`, or at `any`
    time.
    """

    names: frozenset[str]
    when: str


class CaptureReadings:
    """The directives of a configuration that read captures, and those that evaluate variables."""

    def __init__(self, config: Config) -> None:
        self._program: Directive | None = None
        self._includes: Directive | None = None
        self._readings: list[_Reading] = []
        self._uses: list[_Use] = []
        self._evaluates: list[tuple[frozenset[str], frozenset[str]]] = []
        self._named: list[tuple[Directive, frozenset[str]]] = []
        self._first_by_time: dict[frozenset[str], int | None] = {}
        self._goes_on = False
        for directive, scope in config.walk():
            if scope.context[:1] not in (("stream",), ("mail",), ("events",)):
                self._note(directive, scope)

    def reader(self, variable: str) -> Directive | None:
        """Return a directive that may read other captures if the map of `variable` becomes a tree; None if none may."""
        if self._program is not None:
            return self._program
        name = variable.removeprefix("$").lower()
        when = {when for when, names in self._evaluated_when.items() if name in names}
        if self._includes is not None or ("log" in when and self._goes_on):
            when.add("any")
        numbers = (self._first_harmed.get(name), self._first_at(frozenset(when)))
        first = min((number for number in numbers if number is not None), default=None)
        return None if first is None else self._readings[first].directive

    def reader_of_groups(self, regex_map: RegexMap) -> Directive | None:
        """Return a directive, other than the row itself, that reads a named group of a row; None if there is none."""
        named = {name for row in regex_map.patterns for name in groups(row.name)}
        if not named:
            return None
        if (by_name := self._program or self._includes) is not None:
            return by_name
        first = min((self._first_named[name] for name in named if name in self._first_named), default=None)
        return None if first is None else self._named[first][0]

    @cached_property
    def _evaluated_when(self) -> dict[str, set[str]]:
        """The variables that are evaluated with the rules of a server, for the log, and at any time."""
        found: dict[str, set[str]] = {}
        for use in self._uses:
            self._spread(use.names, found.setdefault(use.when, set()))
        return found

    @cached_property
    def _first_harmed(self) -> dict[str, int]:
        """For each variable, the number of the first reading whose captures its evaluation may replace. Counts only
        readings for which it is known what is evaluated before them.
        """
        found: dict[str, int] = {}
        known: set[str] = set()
        for number, reading in enumerate(self._readings):
            found |= dict.fromkeys(self._spread(reading.evaluated or (), known), number)
        return found

    @cached_property
    def _first_named(self) -> dict[str, int]:
        """For a variable, the number of the first directive that reads it."""
        found: dict[str, int] = {}
        for number, (_, names) in enumerate(self._named):
            for name in names:
                found.setdefault(name, number)
        return found

    @cached_property
    def _reads(self) -> dict[str, set[str]]:
        """For each variable, the variables that its definition names."""
        found: dict[str, set[str]] = {}
        for others, read in self._evaluates:
            for other in others:
                found.setdefault(other, set()).update(read)
        return found

    def _spread(self, names: Iterable[str], known: set[str]) -> list[str]:
        """Add to `known` these variables and all that they may evaluate, directly or not; return the new ones. Known
        ones are not followed again, so that each variable is visited once.
        """
        new = [name for name in names if name not in known]
        known.update(new)
        for name in new:
            more = self._reads.get(name, set()) - known
            known |= more
            new += more
        return new

    def _first_at(self, when: frozenset[str]) -> int | None:
        """Return the number of the first reading whose captures a match at one of these times may replace. Counts only
        readings for which it is not known what is evaluated before them.
        """
        if when not in self._first_by_time:
            harmed = (number for number, reading in enumerate(self._readings) if _is_harmed(reading, when))
            self._first_by_time[when] = next(harmed, None)
        return self._first_by_time[when]

    def _note(self, directive: Directive, scope: Scope) -> None:
        if scope.context[-1:] and scope.context[-1] in ROWS:
            self._note_row(directive, scope)
            return
        if directive.name == "ssi" and is_program(directive):  # has captures of its own (ngx_http_ssi_get_variable)
            self._includes = self._includes or directive
        elif is_program(directive):
            self._program = self._program or directive
        names = frozenset(name for word in directive.args for name in variables(word))
        self._goes_on = self._goes_on or directive.name in _AFTER_LOG
        if directive.name in ROWS:
            self._note_head(directive)
            return
        if names:
            self._named.append((directive, names))
            self._uses.append(_Use(names, _when(directive, scope)))
        if directive.name in EVALUATED_BY:
            self._evaluates.append((frozenset(EVALUATED_BY[str(directive.name)]), names))
        if any(_CAPTURE.search(word) for word in directive.args):
            self._readings.append(_reading(directive, scope))

    def _note_head(self, directive: Directive) -> None:
        """Record the variables that a `map` evaluates."""
        *source, variable = directive.args or ("",)
        read = frozenset(name for word in source for name in variables(word))
        self._evaluates.append((frozenset(variables(variable)), read))
        self._named.append((directive, read))
        if any(_CAPTURE.search(word) for word in source):
            self._readings.append(_Reading(directive))

    def _note_row(self, row: Directive, scope: Scope) -> None:
        opener = scope.opener
        if opener is None or opener.name not in _VALUES or not opener.args or row.name == "include":
            return
        names = frozenset(name for word in row.args if "$" in word for name in variables(word))
        if not names:
            return
        self._evaluates.append((frozenset(variables(opener.args[-1])), names))
        is_regex = row.name.startswith("~")
        self._named.append((row, names - groups(row.name) if is_regex else names))
        if any(_CAPTURE.search(word) for word in row.args):
            self._readings.append(_Reading(row, names if is_regex else None))


def is_program(directive: Directive) -> bool:
    """Return whether a directive may run code that looks up variables by name."""
    return directive.name not in reading_no_captures() and (directive.name != "ssi" or directive.args != ("off",))


def _when(directive: Directive, scope: Scope) -> str:
    """Return when a directive evaluates its variables; the rules of a server run before a location is chosen."""
    if directive.name in _AT_LOG:
        return "log"
    of_server = scope.context[-1:] == ("server",) or scope.context[-2:] == ("server", "if")
    return "server" if of_server and directive.name in _SCRIPT else "any"


def _is_harmed(reading: _Reading, when: frozenset[str]) -> bool:
    if reading.evaluated is not None:
        return False
    if reading.location:
        return "any" in when
    return bool(when if reading.directive.name in _AT_LOG else when - {"log"})


def _reading(directive: Directive, scope: Scope) -> _Reading:
    """Return which match sets the captures that a directive reads: its own, that of a condition or location, or any."""
    if directive.name == "rewrite":
        return _Reading(directive, frozenset(name for word in directive.args[1:] for name in variables(word)))
    opener = scope.opener
    if opener is not None and _is_condition(opener) and directive.name in _SCRIPT:
        return _Reading(directive, frozenset(_evaluated_before(directive, scope)))
    location = next((parent for parent in reversed(scope.parents) if parent.name in ("location", "server")), None)
    return _Reading(directive, location=location is not None and _is_regex(location))


def _is_condition(directive: Directive) -> bool:
    """Return whether a directive is an `if` with `~` or `~*`, which sets captures for its block."""
    return directive.name == "if" and len(directive.args) == 3 and directive.args[1] in ("~", "~*")


def _evaluated_before(directive: Directive, scope: Scope) -> Iterator[str]:
    """Yield the variables that the block of a condition evaluates up to and including a directive of its script."""
    for other in scope.directives:
        if other.name in _SCRIPT:
            yield from (name for word in other.args for name in variables(word))
            if other.block is not None:
                yield from (name for inner in other.block.walk() for word in inner.args for name in variables(word))
        if other is directive:
            return


def _is_regex(location: Directive) -> bool:
    """Return whether a location has a regular expression, and no rule in it that changes its captures."""
    is_regex = location.name == "location" and location.args[:1] != () and location.args[0].startswith("~")
    return is_regex and location.block is not None and not _has_locations(location.block)


def _has_locations(block: Block) -> bool:
    return any(not isinstance(node, Comment) and node.name == "location" for node in block.nodes)
