"""Budgets: how much of anything one configuration may cost, whoever wrote it.

A small text can ask for unbounded work: includes that double at every level, a compressed archive, a wildcard over the
whole disk. Every reader therefore counts what it does against a `Budget` of the table `LIMITS`, far above the largest
real configuration. Beyond it an `ExceededError` says where, which budget, and how to raise it; the command goes on with
the other files and hosts, and its exit status is 3.

`limits` returns the numbers in force. They are those of the table `[budget]` of the settings, with those of the
environment variable `NGINXOPT_BUDGET` (`files=200000,seconds=60`) in their place.

`limited` also bounds time and memory, in any thread. A signal would reach the main thread only, and workers of a fleet
and checks of an editor run in others. A process for each host would take longer to start than most hosts take, and
would have its tree of the configuration twice. So a thread has an exception raised in the one that works: between two
instructions of Python, or where native code looks for signals (`rust/src/border/working.rs`). Native code that does not
is bounded by the size of what it reads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from nginxopt._native import interrupt, release_memory, reserve_memory
from nginxopt.errors import InputError, UsageError
from nginxopt.faults import FAULTS, lacks_memory

if TYPE_CHECKING:
    from nginxopt.text import Source, Span

VARIABLE = "NGINXOPT_BUDGET"
"""The environment variable with limits for all commands."""

LARGEST_LIMIT = 10**15
"""The largest limit that can be set."""


class Budget(NamedTuple):
    """One kind of cost: its default limit, and what it counts, as a plural."""

    default: int
    counts: str


_MIB = 1024**2

LIMITS: Mapping[str, Budget] = {
    "bytes": Budget(256 * _MIB, "bytes in the files of one configuration"),
    "files": Budget(100_000, "files in one configuration"),
    "directives": Budget(2_000_000, "directives and comments in one configuration"),
    "inclusions": Budget(100_000, "readings of included files in one configuration"),
    "matches": Budget(1_000_000, "directory entries that the wildcards of one configuration look at"),
    "template-tags": Budget(20_000, "tags in one template"),
    "template-work": Budget(16_000_000, "bytes that the readings of one configuration with templates write"),
    "alias-values": Budget(200_000, "values that the aliases of manifests stand for"),
    "growth": Budget(8, "times the size of a file that formatting it would write"),
    "log-growth": Budget(500, "times the bytes of a compressed or sparse log"),
    "host-bytes": Budget(64 * _MIB, "bytes in the files of one host of a fleet"),
    "archive-members": Budget(1_000_000, "files and links in one archive"),
    "archive-bytes": Budget(64 * 1024 * _MIB, "bytes that one archive unpacks to"),
    "archive-waiting": Budget(128 * _MIB, "bytes of hosts whose files are apart in an archive"),
    "revision-files": Budget(1_000_000, "files and folders in one git revision"),
    "revision-bytes": Budget(16 * 1024 * _MIB, "bytes in the files of one git revision"),
    "steps": Budget(10_000_000, "steps in judging one comparison or request"),
    "backtracking": Budget(300_000_000, "steps in trying the patterns of one configuration"),
    "value-bytes": Budget(4 * _MIB, "bytes of the values of one request"),
    "result-bytes": Budget(256 * _MIB, "bytes of one result"),
    "seconds": Budget(600, "seconds for one file or host"),
}
"""All budgets by name, as in the settings; `docs/guide/limits.md` says what each is for."""


class ExceededError(InputError):
    """A configuration costs more than a budget allows; `budget` is its name."""

    def __init__(
        self,
        budget: str,
        limit: int,
        *,
        path: str | None = None,
        source: Source | None = None,
        span: Span | None = None,
        where: str = "",
    ) -> None:
        super().__init__(
            f"too large: more than {limit:,} {LIMITS[budget].counts}{where} (budget {budget})",
            path=path,
            source=source,
            span=span,
            hint=f"raise it with {budget} = NUMBER in [budget] of nginxopt.toml, or {VARIABLE}={budget}=NUMBER",
        )
        self.budget = budget
        self.limit = limit


class Meter:
    """What is left of one budget, for one configuration (or whatever it counts in).

    `limit` is the budget's own unless others have taken from it, as `where` says at the end of the message.
    """

    __slots__ = ("_where", "budget", "left", "limit")

    def __init__(self, budget: str, limit_: int | None = None, where: str = "") -> None:
        self.budget = budget
        self.limit = self.left = limit(budget) if limit_ is None else limit_
        self._where = where

    def spend(
        self, amount: int = 1, *, path: str | None = None, source: Source | None = None, span: Span | None = None
    ) -> None:
        """Count `amount` more. Raises `ExceededError`, with the place if it is given, if that is too much."""
        self.left -= amount
        if self.left < 0:
            raise self.exceeded(path=path, source=source, span=span)

    def exceeded(
        self, *, path: str | None = None, source: Source | None = None, span: Span | None = None
    ) -> ExceededError:
        """Return the error for a meter with less than nothing left."""
        return ExceededError(self.budget, self.limit, path=path, source=source, span=span, where=self._where)


_counting: ContextVar[Mapping[str, Meter] | None] = ContextVar("meters", default=None)


@contextmanager
def counting(*budgets: str) -> Iterator[None]:
    """Have `meter` count all of the block together, as that of one configuration; a block around it counts on."""
    token = _counting.set({**{name: Meter(name) for name in budgets}, **(_counting.get() or {})})
    try:
        yield
    finally:
        _counting.reset(token)


def meter(budget: str) -> Meter:
    """Return the meter of the block of `counting` around, or one that nothing was counted on."""
    meters = _counting.get()
    return Meter(budget) if meters is None or budget not in meters else meters[budget]


def check(
    budget: str, amount: int, *, path: str | None = None, source: Source | None = None, span: Span | None = None
) -> None:
    """Raise `ExceededError` if an amount is more than a budget allows."""
    if amount > limit(budget):
        raise ExceededError(budget, limit(budget), path=path, source=source, span=span)


_DEFAULTS: Mapping[str, int] = {name: budget.default for name, budget in LIMITS.items()}

_settings: ContextVar[Mapping[str, int] | None] = ContextVar("limits", default=None)


def limits() -> Mapping[str, int]:
    """Return the limits in force, by name. Raises `UsageError` for an invalid `NGINXOPT_BUDGET`."""
    settings = _settings.get()
    return {**_DEFAULTS, **environment()} if settings is None else settings


def limit(budget: str) -> int:
    """Return the limit in force for a budget."""
    return limits()[budget]


def environment() -> dict[str, int]:
    """Return the limits that the environment states. Raises `UsageError` for invalid ones."""
    text = os.environ.get(VARIABLE, "")
    return dict(_stated(part) for part in text.replace(",", " ").split())


def _stated(part: str) -> tuple[str, int]:
    name, _, number = part.partition("=")
    if name not in LIMITS:
        raise UsageError(f'{VARIABLE} names an unknown budget "{name}"', hint=f"use one of {', '.join(LIMITS)}")
    if not (number.isascii() and number.isdigit() and len(number) <= len(str(LARGEST_LIMIT)) and is_limit(int(number))):
        raise UsageError(f'{VARIABLE} has an invalid limit "{part}"', hint=f"such as {name}={LIMITS[name].default}")
    return name, int(number)


def is_limit(number: int) -> bool:
    """Return whether a number can be a limit."""
    return 0 < number <= LARGEST_LIMIT


@contextmanager
def stated(settings: Mapping[str, int]) -> Iterator[None]:
    """Put limits of the settings in force within the block; those of the environment win."""
    with using({**_DEFAULTS, **settings, **environment()}):
        yield


@contextmanager
def using(limits_: Mapping[str, int]) -> Iterator[None]:
    """Put limits in force within the block, over those around it and of the environment."""
    token = _settings.set({**limits(), **limits_})
    try:
        yield
    finally:
        _settings.reset(token)


# Time and memory of one file or host.

_FEW = 8
_AGAIN = 1.0  # seconds, as Python drops what is raised while it frees an object

_Result = TypeVar("_Result")

_is_limited: ContextVar[bool] = ContextVar("is_limited", default=False)


class OutOfMemoryError(InputError):
    """The error for what takes more memory than there is."""


class _TimeUpError(BaseException):
    """The time is up: no `Exception`, so that no handler of errors takes it for one."""


def limited(work: Callable[[], _Result], *, path: str | None = None) -> _Result:
    """Return what `work` returns. Raises `ExceededError` once it takes longer than the budget `seconds`, and
    `OutOfMemoryError` if it takes more memory than there is.

    Inside of limited work, this limits nothing further.
    """
    if _is_limited.get():
        return work()
    reserve_memory()
    seconds = limit("seconds")
    watch = _Watch(seconds)
    token = _is_limited.set(True)
    try:
        try:
            watch.start()
            return work()
        finally:
            watch.stop()
    except _TimeUpError:
        _stop(watch)
        raise ExceededError("seconds", seconds, path=path) from None
    except FAULTS as error:
        if not lacks_memory(error):
            raise
        release_memory()
        raise out_of_memory(path) from None
    finally:
        _is_limited.reset(token)


def out_of_memory(path: str | None = None) -> OutOfMemoryError:
    """Return the error for what takes more memory than there is."""
    return OutOfMemoryError("too large: it takes more memory than there is", path=path)


def _stop(watch: _Watch) -> None:
    """Stop a watch, though it may raise once more in the meantime."""
    while True:
        try:
            watch.stop()
        except _TimeUpError:
            continue
        return


class _Watch:
    """Raises `_TimeUpError` in the thread that made it, once its time is up, until it is stopped."""

    def __init__(self, seconds: float) -> None:
        self._thread = threading.get_ident()
        self._seconds = seconds
        self._is_wanted = [True]
        self._stopped = threading.Event()

    def start(self) -> None:
        """Begin to watch."""
        threading.Thread(target=self._watch, name="nginxopt-seconds", daemon=True).start()

    def stop(self) -> None:
        """End it: after this, nothing is raised, as what was ordered before is raised here."""
        self._is_wanted.clear()
        self._stopped.set()
        for _ in range(_FEW):  # Python looks for such exceptions where loops jump back
            pass

    def _watch(self) -> None:
        wait = self._seconds
        while not self._stopped.wait(wait):
            interrupt(self._thread, _TimeUpError, self._is_wanted)
            wait = _AGAIN
