"""Writes compiled rules as text: their maps, and the statements that replace them.

The native core writes the maps and statements; this module puts them into place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nginxopt import _native
from nginxopt.config import File
from nginxopt.config.tree import statements
from nginxopt.records import record
from nginxopt.rewrite import sizes
from nginxopt.rewrite.kinds.kind import HttpPart
from nginxopt.rewrite.kinds.rules.planning import PlannedRun, RulesOfFile, RulesPlan
from nginxopt.rewrite.names import Names
from nginxopt.text import Edit, Source, Span, encode
from nginxopt.text.display import be, count

KEYS_NOTE = """\
# The keys stand in the order of their rules. A map ignores the case of letters, and a rule does not: so one map gives
# each key back as it is spelled, and the server compares that with $uri. Where no key has a capital letter, the pattern
# of the rewrite leaves out other spellings instead. In a location, the patterns list the keys.
"""


@record(eq=True)
class EmittedRun:
    """A run that changes, the statements that replace its moved rules, and the names of their variables."""

    part: RulesOfFile
    run: PlannedRun
    text: bytes
    names: Names

    @property
    def maps(self) -> bytes:
        """The maps of this run alone, without their sizes."""
        if not self.run.has_maps:
            return b""
        return _native.maps_text(b"", [(self.run.native, self.names)]) + self.run.native.trees(self.names)


def emitted(plan: RulesPlan, maps_name: str) -> list[EmittedRun]:
    """Return the runs that change, in the order of the text; `maps_name` is that of the file of maps."""
    return [
        EmittedRun(part, run, _headed(run, maps_name) + run.native.statements(names), names)
        for part, run, names in _named(plan)
    ]


def maps(plan: RulesPlan, head: bytes) -> bytes:
    """Return a text with the maps of all keys behind it."""
    return _native.maps_text(head, [(run.native, names) for _, run, names in _named(plan)])


def http(plan: RulesPlan) -> HttpPart:
    """Return what is added to http: the trees that select the group of rules of a URI, and the tables of keys."""
    named = [(run, names) for _, run, names in _named(plan)]
    groups = b"".join(run.native.trees(names) for run, names in named)
    variables = {encode(name) for run, names in named for name in run.native.variables(names)}
    runs = [run.native for run, _ in named if run.has_maps]
    return HttpPart(groups, variables | sizes.variables(groups), runs=runs)


def edits(plan: RulesPlan, maps_name: str) -> Mapping[File, list[Edit]]:
    """Return the edits that replace rules."""
    found: dict[File, list[Edit]] = {}
    for each in emitted(plan, maps_name):
        found.setdefault(each.part.file, []).extend(_replace(each.part.file, each.run, each.text))
    return found


def _named(plan: RulesPlan) -> list[tuple[RulesOfFile, PlannedRun, Names]]:
    """Return the runs that change, with the names of their variables."""
    runs = [(part, run) for part in plan.parts for run in part.compiled]
    stems = [f"{plan.stem}_{number}" for number in range(1, len(runs) + 1)] if len(runs) > 1 else [plan.stem]
    return [(part, run, Names(stem)) for (part, run), stem in zip(runs, stems, strict=False)]


def _headed(run: PlannedRun, maps: str) -> bytes:
    """Return the comment above the compiled form of a run."""
    moved, rewrites = run.native.moved + run.native.grouped, count(len(run.native), "rewrite")
    filtered = run.native.filtered
    tried = f"{filtered:,} {be(filtered)} tried only behind a pattern for all of them"
    if not moved:
        return encode(f"# Of {rewrites} here, {tried}.\n")
    return encode(
        f"# {moved:,} of {rewrites} here {be(moved)} looked up in the maps of {maps}{f'; {tried}' * bool(filtered)}.\n"
    )


def _replace(file: File, run: PlannedRun, text: bytes) -> Iterator[Edit]:
    """Yield the edits that insert `text` and remove the rules it replaces."""
    data = file.source.data
    first = run.stands_before.start
    line = data.rfind(b"\n", 0, first) + 1
    before = data[line:first]
    starts_line = not before.strip(b" \t")
    indent = before if starts_line else b""
    inserted = b"\n".join(indent + line if line else line for line in text.split(b"\n"))
    if not starts_line:
        inserted = b"\n" + inserted
    if b"\r\n" in data[: data.find(b"\n") + 1]:
        inserted = inserted.replace(b"\n", b"\r\n")
    at = line if starts_line else first
    yield Edit(Span(at, at), inserted)
    for start, end in run.native.removed(data):
        yield Edit(Span(start, end), _comments(file.source, start, end))


def _comments(source: Source, start: int, end: int) -> bytes:
    """Return the comments between the words of removed rules, each on a line of its own."""
    if b"#" not in source.data[start:end]:
        return b""
    rules = statements(source, start=start, end=end)
    comments = [comment.span for rule in rules for comment in rule.comments]
    return b"".join(source.data[span.start : span.end] + b"\n" for span in comments)
