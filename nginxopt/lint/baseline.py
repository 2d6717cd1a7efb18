"""A baseline: known findings that reports hide, so that they show only new ones.

It is JSON, sorted, with one line per finding, so that version control shows which findings came and went:

    {"file": "conf/nginx.conf", "rule": "gzip-level", "fingerprint": "3f0c...", "cause": "91ab..."}

Files are relative to the folder of the baseline; those in the output of `nginx -T` and those of a fleet have their
paths on the host, which are the same wherever the baseline is. The fingerprint covers the rule, the file and the text
of the finding's lines (`nginxopt.lint.report.fingerprint`), so it survives changes to other lines. The cause is a
digest of what findings with the same cause have in common (`Finding.cause`). If a recorded finding is gone, and a new
one has the same cause, the finding is taken to have moved, and stays hidden. So a baseline that records three places of
a cause hides three, wherever they are, and reports a fourth.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from nginxopt import lazy
from nginxopt.config import includes, roots
from nginxopt.config.filesystem import DISK, STDIN
from nginxopt.errors import InputError
from nginxopt.lint.diagnostic import Diagnostic
from nginxopt.lint.fix import Wanted, everything
from nginxopt.lint.report.fingerprint import fingerprints, text_digest
from nginxopt.lint.report.model import grouped
from nginxopt.lint.withheld import beside_recorded
from nginxopt.records import record
from nginxopt.system.files import write_all
from nginxopt.text import Draft, Source, Span, encode
from nginxopt.text.display import count
from nginxopt.text.json import loads

VERSION = 2
"""The version of the file format. Version 1 has no causes."""

_LIST = lazy.pattern(r'"findings"\s*:\s*\[')
_BETWEEN = lazy.pattern(r"[\s,]*")
_UPDATE = "update it with --write-baseline"


@record(eq=True, order=True)
class BaselineEntry:
    """A known finding; `file` is relative to the folder of the baseline, or the path on a host.

    `cause` is a digest of its cause, empty if that is not recorded.
    """

    file: str
    rule: str
    fingerprint: str
    cause: str = field(default="", compare=False)


@record(eq=True)
class Baseline:
    """The known findings, and the folder to which their files are relative."""

    entries: frozenset[BaselineEntry]
    folder: str


@record(eq=True)
class BaselineSplit:
    """What a comparison with a baseline returns: the findings that are new, the number of those that it hides because
    of their cause, and the number of its entries that have no finding any more.
    """

    diagnostics: tuple[Diagnostic, ...]
    hidden: int
    gone: int

    @property
    def note(self) -> str | None:
        """A note about entries without a finding; None if there are none."""
        if not self.gone:
            return None
        return f"the baseline has {count(self.gone, 'entry', 'entries')} without a finding: {_UPDATE}"


def compare(
    baseline: Baseline,
    diagnostics: Sequence[Diagnostic],
    *,
    files: Iterable[str],
    rules: Collection[str],
    declined: Container[str] = (),
    on_host: Container[str] = (),
    exists: Callable[[str], bool] = os.path.exists,
) -> BaselineSplit:
    """Hide the findings that are in the baseline, and the fixes that others share with them or that change their lines.

    `files` are the files read, as named in messages, those of hosts in `on_host`, and `rules` the ids of the rules run,
    of which those in `declined` could not judge all. An entry counts as gone if its file no longer exists here, or if
    its file was read and its rule has judged.
    """
    present = entries(diagnostics, baseline.folder, on_host, baseline.entries)
    read = {_name(file, baseline.folder, on_host) for file in files}
    is_missing = cache(lambda file: not Path(file).is_absolute() and not exists(str(Path(baseline.folder, file))))
    new = _new(baseline, diagnostics, present, lambda file: file in read or is_missing(file))
    absent = [entry for entry in baseline.entries.difference(present) if entry.rule in rules]
    gone = sum((entry.file in read and entry.rule not in declined) or is_missing(entry.file) for entry in absent)
    hidden = len(grouped(_without(diagnostics, new)))
    return BaselineSplit(beside_recorded(diagnostics, new), hidden, gone)


def unrecorded(
    baseline: Baseline, diagnostics: Sequence[Diagnostic], on_host: Container[str] = ()
) -> tuple[Diagnostic, ...]:
    """Return the findings that are not in the baseline; each is one of `diagnostics`."""
    return _new(baseline, diagnostics, entries(diagnostics, baseline.folder, on_host, baseline.entries))


def _new(
    baseline: Baseline,
    diagnostics: Sequence[Diagnostic],
    present: Sequence[BaselineEntry],
    is_read: Callable[[str], bool] = lambda _: False,
) -> tuple[Diagnostic, ...]:
    """Return the findings whose entries, in `present`, are not known.

    `is_read` says whether a file was read, or is no longer there; those with a finding were.
    """
    files = {entry.file for entry in present}
    moved = Counter(
        (entry.rule, entry.cause)
        for entry in baseline.entries.difference(present)
        if entry.cause and (entry.file in files or is_read(entry.file))
    )
    new = []
    for diagnostic, entry in zip(diagnostics, present, strict=True):
        cause = (entry.rule, entry.cause)
        if entry in baseline.entries:
            continue
        if moved[cause]:
            moved[cause] -= 1
        else:
            new.append(diagnostic)
    return tuple(new)


def _without(diagnostics: Iterable[Diagnostic], others: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    left_out = set(map(id, others))
    return (diagnostic for diagnostic in diagnostics if id(diagnostic) not in left_out)


def entries(
    diagnostics: Sequence[Diagnostic],
    folder: str,
    on_host: Container[str] = (),
    known: Iterable[BaselineEntry] = (),
) -> tuple[BaselineEntry, ...]:
    """Return the entry of each finding, for a baseline in `folder`; all are distinct.

    The paths in `on_host` are those of files on other machines, which stay as they are. Of identical findings, as many
    as possible have entries that are `known`.
    """
    source = cache(lambda source: Source(_name(source.path, folder, on_host), source.data))
    # Paths relative to the folder make a finding the same from every working directory.
    named = [
        replace(diagnostic, finding=replace(diagnostic.finding, source=source(diagnostic.finding.source)))
        for diagnostic in diagnostics
    ]
    by_rule: dict[str, set[str]] = {}
    for entry in known:
        by_rule.setdefault(entry.rule, set()).add(entry.fingerprint)
    prints = fingerprints(named, ".", by_rule)
    tree = cache(lambda path: _name(path, folder, on_host) if path else "")
    digest = cache(lambda tree, cause: text_digest(encode(f"{tree}\0{cause}")))
    return tuple(
        BaselineEntry(diagnostic.path, diagnostic.rule, fingerprint, digest(tree(diagnostic.tree), diagnostic.cause))
        for diagnostic, fingerprint in zip(named, prints, strict=True)
    )


def _name(path: str, folder: str, on_host: Container[str]) -> str:
    return path if path == STDIN or path in on_host else os.path.relpath(path, folder or ".")


def write(path: str, diagnostics: Sequence[Diagnostic], on_host: Container[str] = ()) -> None:
    """Write the baseline of these findings. Raise `InputError` if that fails."""
    write_entries(path, entries(diagnostics, str(Path(path).parent), on_host))


def refuse_other(path: str) -> None:
    """Raise `InputError` if `path` is a file that is neither empty nor a baseline, even a damaged one."""
    try:
        begin = Path(path).read_bytes().lstrip()[:1] if os.path.isfile(path) else b""
    except OSError:  # writing to it reports why it fails
        return
    if begin not in (b"", b"{"):
        raise InputError("is not a baseline; nothing was written", path=path)


def write_entries(path: str, known: Iterable[BaselineEntry]) -> None:
    """Write the baseline of these entries. Raise `InputError` if that fails."""
    write_all({path: text(known).encode()})


def text(known: Iterable[BaselineEntry]) -> str:
    """Return the text of a baseline file."""
    lines = ",\n".join(f"    {json.dumps(asdict(entry))}" for entry in sorted(known))
    return f'{{\n  "version": {VERSION},\n  "findings": [\n{lines}\n  ]\n}}\n'


def load(path: str) -> Baseline:
    """Return the baseline at `path`. Raises `InputError` if it cannot be read or is damaged."""
    return read(roots.source(path, contents(path)))


def contents(path: str) -> bytes:
    """Return the bytes of a baseline. Raises `InputError` if it cannot be read."""
    try:
        return includes.contents(path, DISK)
    except InputError as error:
        raise InputError(error.message, path=path, hint=_UPDATE) from None


def read(source: Source) -> Baseline:
    """Parse a baseline. Raise `InputError` at the place of the first fault."""
    try:
        content = loads(source.data.decode())
    except UnicodeDecodeError as error:
        raise _damaged(source, "invalid UTF-8", error.start) from None
    except json.JSONDecodeError as error:
        raise _damaged(source, f"invalid JSON: {error.msg}", len(error.doc[: error.pos].encode())) from None
    if not isinstance(content, dict) or not isinstance(content.get("findings"), list):
        raise _damaged(source, "not a baseline", 0)
    if content.get("version") not in range(1, VERSION + 1):
        raise _damaged(source, f"not a baseline of version {VERSION} or before", max(0, source.data.find(b'"version"')))
    for number, item in enumerate(content["findings"]):
        if not _is_entry(item):
            raise _damaged(source, "invalid baseline entry", _offset(source, number))
    return Baseline(frozenset(BaselineEntry(**item) for item in content["findings"]), str(Path(source.path).parent))


def _is_entry(item: Any) -> bool:
    names = {entry_field.name for entry_field in fields(BaselineEntry)}
    return (
        isinstance(item, dict)
        and item.keys() | {"cause"} == names
        and all(isinstance(value, str) for value in item.values())
    )


def _offset(source: Source, number: int) -> int:
    """Return the offset of a finding in the JSON text."""
    content = source.data.decode()
    start = end = next(_LIST.finditer(content)).end()
    for _ in range(number + 1):
        start = next(_BETWEEN.finditer(content, end)).end()
        _, end = json.JSONDecoder().raw_decode(content, start)
    return len(content[:start].encode())


def _damaged(source: Source, message: str, offset: int) -> InputError:
    end = min(offset + 1, len(source.data))
    return InputError(message, source=source, span=Span(offset, end), hint=_UPDATE)


def unaccepted(known: Baseline | None, on_host: Container[str] = ()) -> Wanted:
    """Return the filter that keeps the findings to fix, for one run of `nginxopt.lint.fix.fix`.

    `on_host` are the paths of files on another machine.
    """
    return everything if known is None else _Accepted(known, on_host).unrecorded


class _Accepted:
    """The findings that a baseline records, and where they are in the original text.

    A fix may change the number of findings on equal lines, and with it their fingerprints. So a finding that was
    recorded in one round is recognized by its place in the later ones.
    """

    def __init__(self, known: Baseline, on_host: Container[str]) -> None:
        self._known = known
        self._on_host = on_host
        self._places: set[tuple[str, str, int]] = set()

    def unrecorded(self, diagnostics: tuple[Diagnostic, ...], drafts: Mapping[str, Draft]) -> tuple[Diagnostic, ...]:
        """Return the findings that are not recorded, without fixes that change recorded ones or their lines."""
        places = [_place(diagnostic, drafts) for diagnostic in diagnostics]
        new = {id(diagnostic) for diagnostic in unrecorded(self._known, diagnostics, self._on_host)}
        self._places |= {
            place for diagnostic, place in zip(diagnostics, places, strict=True) if id(diagnostic) not in new
        }
        left = [diagnostic for diagnostic, place in zip(diagnostics, places, strict=True) if place not in self._places]
        return beside_recorded(diagnostics, left)


def _place(diagnostic: Diagnostic, drafts: Mapping[str, Draft]) -> tuple[str, str, int]:
    start = diagnostic.finding.span.start
    draft = drafts.get(diagnostic.path)
    return diagnostic.rule, diagnostic.path, start if draft is None else draft.origin(start)
