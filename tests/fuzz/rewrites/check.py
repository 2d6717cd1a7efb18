"""Everything that must hold of one case."""

from __future__ import annotations

import functools
import operator
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.nodes import Rendered
from tests.fuzz.rewrites import commands
from tests.fuzz.rewrites.generate import Case
from tests.fuzz.rewrites.requests import Ask
from tests.fuzz.rewrites.sides import Bench, Observation, RefusedError, place_of

CPU_SECONDS = 20
_REPAIRS = 60
_CHAINED = re.compile(r"^  in one +([\d,]+)", re.MULTILINE)
_GROUPED = re.compile(r"^  in groups +([\d,]+)", re.MULTILINE)
_LOCATED = re.compile(r"^  nested +([\d,]+)", re.MULTILINE)
_MOVED = re.compile(r"^  moved +([\d,]+)", re.MULTILINE)

Damage = Callable[[Path], object]
"""Changes the result on disk: a fault that is seeded, to see it found."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What does not hold: its kind, a text, and the request that shows it, if one does."""

    kind: str
    text: str
    ask: Ask | None = None


@dataclass(slots=True)
class Outcome:
    """What became of a case: why nothing was compared, or how many requests were; rules moved, in groups or not."""

    failure: Failure | None = None
    skipped: str = ""
    requests: int = 0
    moved: int = 0
    grouped: int = 0
    chained: int = 0
    located: int = 0
    slowest: float = 0.0
    notes: list[str] = field(default_factory=list)


def check(bench: Bench, case: Case, damage: Damage | None = None, *, repair: bool = True) -> Outcome:
    """Check a case; directives that nginx refuses are taken out of it first."""
    outcome = Outcome()
    try:
        before = _before(bench, case, repair=repair)
    except RefusedError as error:
        outcome.skipped = f"refused by nginx: {_shortened(str(error))}"
        outcome.notes.append(str(error))
        return outcome
    observed, warnings = before
    files = _contents(bench.root)
    ran = commands.rewrite_to_map(bench.root, case.command, CPU_SECONDS)
    outcome.slowest = ran.seconds
    outcome.moved = sum(int(count.replace(",", "")) for count in _MOVED.findall(ran.said))
    outcome.grouped = sum(int(count.replace(",", "")) for count in _GROUPED.findall(ran.said))
    outcome.chained = sum(int(count.replace(",", "")) for count in _CHAINED.findall(ran.said))
    outcome.located = sum(int(count.replace(",", "")) for count in _LOCATED.findall(ran.said))
    if ran.status:
        outcome.failure = _status(ran)
        if ran.status in (2, 3) and "Traceback" not in ran.said and "does not compile" not in ran.said:
            outcome.failure, outcome.skipped = None, f"declined: {_shortened(ran.said)}"
            if len(case.command.targets) == 1 and _contents(bench.root) != files:
                outcome.failure = Failure("damage", f"status {ran.status}, and files changed")
        return outcome
    commands.apply(bench.root, case.command, ran)
    if damage is not None:
        damage(bench.root)
    if _contents(bench.root) == files:
        outcome.skipped = "nothing changed"
        return outcome
    outcome.failure = _after(bench, case, observed, warnings)
    outcome.requests = len(case.asks)
    if outcome.failure is None and case.command.mode == "write":
        outcome.failure = _secrets(bench.root, files, several=len(case.command.targets) > 1)
    if outcome.failure is None and case.command.mode == "write":
        outcome.failure = _again(bench, case)
    return outcome


def _before(bench: Bench, case: Case, *, repair: bool) -> tuple[Observation, list[bytes]]:
    """What is observed of the case once it has nothing that nginx refuses."""
    for left in reversed(range(_REPAIRS if repair else 1)):
        rendered = bench.write(case)
        try:
            with bench.running() as warnings:
                return bench.ask(case.asks), warnings
        except RefusedError as error:
            if not left or not _repaired(rendered, error.said):
                raise
    raise AssertionError


def _repaired(rendered: Rendered, messages: bytes) -> bool:
    """Take the directive out that nginx names."""
    place = place_of(messages)
    if place is None or place not in rendered.places:
        return False
    nodes, node = rendered.places[place]
    nodes.remove(node)
    return True


def _status(ran: commands.Ran) -> Failure:
    if ran.status < 0 or ran.seconds >= CPU_SECONDS:
        return Failure("killed", f"signal {-ran.status} after {ran.seconds:.1f} s: {ran.said[-400:]}")
    return Failure(f"status {ran.status}", ran.said[-2000:])


def _after(bench: Bench, case: Case, before: Observation, warnings: list[bytes]) -> Failure | None:
    failure = _observed(bench, case, before, warnings)
    if case.command.kind == "fragment" and failure and failure.kind == "warning" and "variables_hash" in failure.text:
        # The premise `table-sizes` tells the user of a fragment to heed this warning, and nothing may be wrong then.
        commands.make_room_for_variables(bench.root)
        failure = _observed(bench, case, before, warnings)
    return failure


def _observed(bench: Bench, case: Case, before: Observation, warnings: list[bytes]) -> Failure | None:
    try:
        with bench.running() as messages:
            after = bench.ask(case.asks)
    except RefusedError as error:
        return Failure("refused", str(error))
    if new := [line for line in messages if _unplaced(line) not in map(_unplaced, warnings)]:
        return Failure("warning", b"\n".join(new).decode(errors="replace"))
    return compare(case.asks, before, after)


def compare(asks: Sequence[Ask], before: Observation, after: Observation) -> Failure | None:
    """Return the first difference between two observations of the same requests."""
    for ask, first, second in zip(asks, before.answers, after.answers, strict=True):
        if first != second:
            return Failure("answer", f"before {first!r}\nafter  {second!r}", ask)
    for kind in ("access", "upstream", "errors"):
        lost = Counter(getattr(before, kind)) - Counter(getattr(after, kind))
        gained = Counter(getattr(after, kind)) - Counter(getattr(before, kind))
        if lost or gained:
            return Failure(kind, f"before {_few(lost)}\nafter  {_few(gained)}", _asking(asks, [*lost, *gained]))
    return None


def _asking(asks: Sequence[Ask], lines: list[bytes]) -> Ask | None:
    """The request that one of the lines of a log is of, if it says so."""
    number = re.match(rb"(\d+) \[", lines[0]) if lines else None
    if number is None:
        return None
    mark = b"\r\nX-N: %s\r\n" % number[1]
    return next((ask for ask in asks if mark in ask.data), None)


def _few(lines: Counter[bytes]) -> str:
    return f"{sum(lines.values())}: " + " ".join(repr(line[:600]) for line in list(lines)[:2])


def _again(bench: Bench, case: Case) -> Failure | None:
    """The second run of the same command: it ends as the first, and nginx accepts what it leaves."""
    files = _contents(bench.root)
    second = commands.rewrite_to_map(bench.root, case.command, CPU_SECONDS)
    if second.status not in (0, 2):
        return Failure(f"again: status {second.status}", second.said[-2000:])
    if _contents(bench.root) == files or second.status == 2:
        return None
    commands.apply(bench.root, case.command, second)
    try:
        with bench.running():
            return None
    except RefusedError as error:
        return Failure("again: refused", str(error))


def _secrets(root: Path, before: dict[str, bytes], *, several: bool) -> Failure | None:
    """What is new may be read by nobody who may not read the files that change, and nothing is left over.

    With several FILEs only by those who may read one of them: which maps are whose is not told.
    """
    modes = [
        (root / name).stat().st_mode & 0o777 for name, text in before.items() if (root / name).read_bytes() != text
    ]
    strictest = functools.reduce(operator.or_ if several else operator.and_, modes, 0 if several else 0o777)
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_file() and path.name.startswith("nxo_") and path.stat().st_mode & 0o077 & ~strictest:
            return Failure("mode", f"{name} is {path.stat().st_mode & 0o777:o}, its source {strictest:o}")
        if ".nginxopt-" in name and ".nginxopt-orig" not in name:
            return Failure("left over", name)
    return None


def _contents(root: Path) -> dict[str, bytes]:
    """The files that nginx may read, logs left out."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.parent.name != "logs"
    }


def _unplaced(line: bytes) -> bytes:
    return re.sub(rb" in \S+:\d+$", b"", line)


def _shortened(messages: str) -> str:
    """The message without what is of one case alone."""
    lines = [line for line in messages.splitlines() if line.strip(" ^\t")]
    return re.sub(r"/\S+|\d+|\"[^\"]{24,}\"", "*", lines[0] if lines else "")[:160]
