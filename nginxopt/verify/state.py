"""The symbolic state of a request: what a script has changed, as terms."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

from nginxopt.records import record
from nginxopt.verify.live import Live
from nginxopt.verify.substitution import captured
from nginxopt.verify.symbols import ARGS, EMPTY, LIMIT_RATE, URI, Capture, Derived, Match, Symbol, Variable

START_URI = Variable(URI)
START_ARGS = Variable(ARGS)

LOOKED_UP = "/looked-up"
"""In a name of `State.cached`, separates a map whose patterns are not tried again from their groups."""

BEFORE = Match(None, None)
"""The match before the start of the comparison."""


class TooMuchError(Exception):
    """Too much differs for the work that is allowed: the reason, as a phrase."""


@record(eq=True)
class State:
    """The state of a request.

    Attributes:
        uri: `$uri`.
        args: `$args`.
        values: The values of variables that were set, and of named captures, by name.
        cached: The values of maps that were looked up, by their variables; nginx keeps them. A name with a
            space stands for what an operation may have looked up.
        captures: Where `$1` comes from; None after a pattern that did not match.
        is_changed: Whether the URI was changed, so that it is not passed on as the client sent it; here and below a
            text stands for what is not known, and equal where it is.
        is_set: Whether `$args` were set, so that the URI is not passed on as the client sent it, either.
        is_rewritten: Whether a location is chosen again behind the script (`r->uri_changed`).
        is_stopped: Whether that was called off by `break`, so that the location does not name the URI
            (`r->valid_location`).
        was_matched: Whether a rewrite of the script matched: `$1` is escaped otherwise from there on.
        level: The block whose settings are in force.
        handler: The directive whose handler answers: the last of the blocks that were entered
            (`ngx_http_update_location_config`); None for files.
        entered: What nginx looked at in the locations on the way, before their scripts (`Compiler.entering`), and the
            texts at which it may have ended the request (`CUT`).
        passed: How many operations were passed over whose effect is unknown. Names of unknown values end in it, as the
            same operation may stand twice in a script.
        choices: How many times a location was chosen again, which nginx counts up to ten (`r->uri_changes`).
        epoch: A suffix of the variables that are read from here on: what is not understood may have changed them all.
    """

    level: int
    uri: Symbol = START_URI
    args: Symbol = START_ARGS
    values: Mapping[str, Symbol] | None = None
    cached: Mapping[str, Symbol] | None = None
    captures: Match | None = BEFORE
    is_changed: bool | str = False
    is_set: bool | str = False
    is_rewritten: bool | str = False
    is_stopped: bool | str = False
    was_matched: bool | str = False
    handler: str | None = None
    entered: frozenset[tuple[str, Hashable]] = frozenset()
    passed: int = 0
    choices: int = 0
    epoch: str = ""

    def with_value(self, name: str, value: Symbol) -> State:
        """Return the state with a variable set."""
        if name == ARGS:
            return replace(self, args=value, is_set=True)
        if name == LIMIT_RATE:  # nginx reads a size, and keeps the former one if it is none
            value = Derived(name, (value, (self.values or {}).get(name, Variable(name))))
        return replace(self, values={**(self.values or {}), name: value})

    def with_match(self, match: Match, names: tuple[str, ...]) -> State:
        """Return the state after a pattern with these named groups matched."""
        named: dict[str, Symbol] = {name: captured(Capture(match, name, "name")) for name in names}
        for name in named.keys() & {ARGS, LIMIT_RATE}:  # which of both is read depends on where
            named[name] = Derived(f"{name} or a group", (named[name], self.args))
        return replace(self, captures=match, values={**(self.values or {}), **named} if named else self.values)

    def without_match(self) -> State:
        """Return the state after a pattern did not match."""
        return replace(self, captures=None)

    def stopped(self) -> State:
        """Return the state after `break` (`ngx_http_script_break_code`)."""
        return replace(self, is_stopped=_either(self.is_stopped, self.is_rewritten), is_rewritten=False)

    def at(self, level: int, handler: str | None) -> State:
        """Return the state with the settings of another block, and its handler if it has one."""
        return replace(self, level=level, handler=handler or self.handler)

    def capture(self, group: str, use: str) -> Symbol:
        """Return the value of `$1` and the like."""
        if self.captures is None:
            return EMPTY
        if self.was_matched:
            use += " after a match" if self.was_matched is True else f" {self.was_matched}"
        return captured(Capture(self.captures, group, use))

    def key(self, live: Live, *, is_over: bool) -> tuple[object, ...]:
        """Return all of it that is read, but the level: states with equal keys go on alike under equal settings.

        `is_over`: at the end of a script.
        """
        values = ((name, value) for name, value in (self.values or {}).items() if live.reads(name, is_over=is_over))
        cached = (self.cached or {}).items()
        tables = ((name, value) for name, value in cached if _counts(name, live, is_over=is_over))
        return (
            self.uri,
            self.args,
            frozenset(values),
            frozenset(tables),
            (self.captures, self.was_matched) if live.captures else None,
            self.is_changed,
            self.is_set,
            self.is_rewritten,
            self.is_stopped,
            self.handler,
            self.entered,
            self.epoch,
        )


def _counts(name: str, live: Live, *, is_over: bool) -> bool:
    """Return whether something is read of what is kept under a name in `State.cached`."""
    _, is_mark, groups = name.partition(LOOKED_UP)
    if is_mark:
        return live.captures or any(live.reads(group, is_over=is_over) for group in groups.split(",") if group)
    return " " in name or live.reads(name, is_over=is_over)


def _either(one: bool | str, other: bool | str) -> bool | str:
    """Return whether at least one of two conditions holds, as far as that is known."""
    if one is True or other is True:
        return True
    return f"{one} or {other}" if one and other and one != other else one or other
