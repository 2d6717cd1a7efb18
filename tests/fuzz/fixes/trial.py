"""A case through the command line and two nginx: what `lint --fix` makes of it, and what that changes."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from nginxopt.lint.fix import Fixed, fix
from nginxopt.settings.vocabulary import CATEGORIES
from nginxopt.system import nginx
from nginxopt.version import dotted
from tests.fuzz.configs import run
from tests.fuzz.fixes.case import MAIN, Case, unplaced
from tests.fuzz.fixes.compare import Difference, Mask, as_it_is, differences
from tests.fuzz.fixes.origins import Origins
from tests.fuzz.fixes.play import Stage, choose_ports

RUNS = 12
"""How often a case is played before and after, if it looks different, to know that it is.

Which of two requests sent at once gets a kept connection is chance, and some origins answer by connection: a dozen
answers of a case that are one way or the other must not be all one way before and all the other way after.
"""

FEW_RUNS = 5
"""How often, where a fault is known and looked for."""

_STATUSES = (0, 1, 3)

SELECTED = ",".join([*CATEGORIES, "cache-temp-path", "rewrite-single-literal", "unanchored-or-dotstar"])
"""The rules whose fixes are made: those that run by default, and others whose fixes matter."""


@dataclass(slots=True)
class Figures:
    """What was done: cases by what became of them, fixes by rule, requests sent, twice each."""

    cases: Counter[str] = field(default_factory=Counter)
    fixes: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    faults: int = 0

    def __str__(self) -> str:
        cases = ", ".join(f"{count:,} {what}" for what, count in self.cases.most_common())
        fixes = ", ".join(f"{count:,} {rule}" for rule, count in self.fixes.most_common())
        return f"{cases}\nfixes: {fixes}\n{self.requests:,} requests before and after; {self.faults:,} faults"


@dataclass(frozen=True, slots=True)
class Fault:
    """A case that fixes change: what differs, the fixes made, and the files before and after."""

    case: Case
    differences: tuple[Difference, ...]
    made: Counter[str]
    before: dict[str, bytes]
    after: dict[str, bytes]

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of what differs."""
        return frozenset(difference.kind for difference in self.differences)


class Trial:
    """Cases one after the other, with the options of `lint --fix` that they all get."""

    def __init__(self, stage: Stage, options: Sequence[str] = (), mask: Mask = as_it_is, *, runs: int = RUNS) -> None:
        self.figures = Figures()
        self.stage = stage
        self._options = [
            "--isolated",
            "--quiet",
            "--target-version",
            dotted(stage.binary.version),
            *options,
        ]
        self._mask = mask
        self._runs = runs

    async def check(self, case: Case, options: Sequence[str] = ()) -> Fault | None:
        """Fix a case, and return what that changes, if it does."""
        before, after, made, fault = self._fixed(case, options)
        self.figures.fixes.update(made)
        if fault:
            return Fault(case, (fault,), made, before, after)
        if before == after:
            self.figures.cases["not changed"] += 1
            return None
        differing = await self.compare(case, before, after)
        return Fault(case, differing, made, before, after) if differing else None

    async def compare(
        self, case: Case, before: Mapping[str, bytes], after: Mapping[str, bytes]
    ) -> tuple[Difference, ...]:
        """Play a case with the files of before and those of after; return what differs whenever that is done.

        What is not the same in every run is looked at twice as often.
        """
        olds = [await self.stage.play(case, before)]
        if olds[0].refusal:
            self.figures.cases["refused before"] += 1
            return ()
        self.figures.cases["changed"] += 1
        self.figures.requests += sum(given.total() for given in olds[0].answers.values())
        news = [await self.stage.play(case, after)]
        differing = differences(olds, news, self._mask)
        while differing and len(olds) < self._runs * (1 if all(difference.steady for difference in differing) else 2):
            olds.append(await self.stage.play(case, before))
            news.append(await self.stage.play(case, after))
            differing = differences(olds, news, self._mask)
        return differing

    def _fixed(
        self, case: Case, options: Sequence[str]
    ) -> tuple[dict[str, bytes], dict[str, bytes], Counter[str], Difference | None]:
        """Return the files before and after, as they were placed, the fixes made, and what is wrong with that."""
        self.stage.lay(case.files)
        before = self.stage.read(case.files)
        made: Counter[str] = Counter()
        status, output = self._lint(made, options)
        once = self.stage.read(case.files)
        if status not in _STATUSES:
            return before, once, made, Difference("status", str(status), output[-1_500:])
        if once != before:
            self._lint(Counter(), options)
            if self.stage.read(case.files) != once:
                return before, once, made, Difference("second", "", "a second run changes something")
        return before, once, made, None

    def _lint(self, made: Counter[str], options: Sequence[str]) -> tuple[int, str]:
        prefix = str(self.stage.prefix)
        with _counting(made):
            status, output, _ = run("lint", *self._options, *options, "-p", prefix, "--fix", f"{prefix}/{MAIN}")
        return status, output

    async def culprits(self, fault: Fault) -> tuple[str, ...]:
        """Return the rules whose fixes alone make a difference of the same kind; none if it takes several."""
        figures, self.figures = self.figures, Figures()
        try:
            rules = []
            for rule in sorted(fault.made):
                alone = await self.check(fault.case, ["--select", rule])
                if alone and alone.kinds & fault.kinds:
                    rules.append(rule)
            return tuple(rules)
        finally:
            self.figures = figures

    async def still(self, case: Case, kinds: frozenset[str], options: Sequence[str]) -> Fault | None:
        """Return the fault of a case if it has one of these kinds; nothing is counted."""
        figures, self.figures = self.figures, Figures()
        try:
            fault = await self.check(case, options)
            return fault if fault and fault.kinds & kinds else None
        finally:
            self.figures = figures

    def shown(self, text: bytes) -> str:
        """Return a text with the names of the origins in the place of their addresses."""
        return unplaced(text, self.stage.places).decode(errors="backslashreplace")


@contextlib.contextmanager
def _counting(made: Counter[str]) -> Iterator[None]:
    """Count the fixes that a command makes, by their rules."""

    def counted(*arguments: Any, **options: Any) -> Fixed:
        fixed = fix(*arguments, **options)
        made.update(fixed.made)
        return fixed

    with mock.patch("nginxopt.lint.check.fix", counted):
        yield


@contextlib.asynccontextmanager
async def staged(binary: nginx.Binary) -> AsyncIterator[Stage]:
    """Yield a stage with its origins; all ends with the block."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="nginxopt-", dir=base, ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        async with Origins() as origins:
            yield Stage(Path(folder).resolve(), binary, origins, choose_ports())
