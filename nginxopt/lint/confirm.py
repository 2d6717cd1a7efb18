"""Asks a real nginx about the witnesses of findings: whether it answers them as the model of requests says.

It runs on 127.0.0.1 for a moment, once for all witnesses whose files can be there together. A finding whose witness it
answers differently is left out, with a note: its request does not show what the finding says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING

from nginxopt.config import Config
from nginxopt.errors import NginxoptError, UsageError
from nginxopt.lint.diagnostic import Diagnostic, Sign, Witness
from nginxopt.lint.report.model import Note
from nginxopt.records import record
from nginxopt.request import Request, UrlError, from_curl, read_url
from nginxopt.request.build import probe
from nginxopt.request.model import SiteModel, World
from nginxopt.request.real import Expected, compare_all
from nginxopt.request.trace import Circumstances, RealComparison, Trace, trace
from nginxopt.text.display import be, count

if TYPE_CHECKING:
    from nginxopt.system.nginx import Binary

_MOST = 500
"""The most witnesses of a configuration that nginx is asked about."""

_MOST_DISKS = 8
"""The most times that nginx is started for a configuration: witnesses that need different files at the same path need
separate runs.
"""


@record(eq=True)
class Confirmed:
    """The findings in their order, without those that nginx refuted, and notes about those refuted or not tried."""

    diagnostics: tuple[Diagnostic, ...]
    notes: tuple[Note, ...]


def confirm(configs: Sequence[Config], diagnostics: Sequence[Diagnostic], binary: Binary) -> Confirmed:
    """Return the findings, without those whose witness nginx answers otherwise."""
    answers = dict(_answers(configs, diagnostics, binary))
    refuted = {number for number, answer in answers.items() if answer.differences}
    kept = (
        _confirmed(diagnostic, answers.get(number))
        for number, diagnostic in enumerate(diagnostics)
        if number not in refuted
    )
    notes = (_refuted(diagnostics[number], answers[number]) for number in sorted(refuted))
    return Confirmed(tuple(kept), (*notes, *_not_asked(answers.values())))


def _answers(
    configs: Sequence[Config], diagnostics: Sequence[Diagnostic], binary: Binary
) -> Iterator[tuple[int, RealComparison]]:
    """Yield what nginx answers to the witness of each finding that has one, by the number of the finding."""
    left = {number: found.finding.witness for number, found in enumerate(diagnostics) if found.finding.witness}
    for config in configs:
        files = {file.path for file in config.files}
        own = {number: witness for number, witness in left.items() if diagnostics[number].path in files}
        left = {number: witness for number, witness in left.items() if number not in own}
        if own:
            yield from _asked(config, own, binary)


def _asked(config: Config, witnesses: Mapping[int, Witness], binary: Binary) -> Iterator[tuple[int, RealComparison]]:
    """Yield what nginx answers to the witnesses of one configuration."""
    try:
        model = SiteModel(config, probe(binary), ignores_missing=True)
    except NginxoptError as error:
        yield from _none_asked(witnesses, binary, error)
        return
    yield from _none_asked([*witnesses][_MOST:], binary, UsageError(f"{_MOST} of its configuration are asked"))
    gate, disks = model.gate(), [FileChoice() for _ in range(_MOST_DISKS)]
    on_disks: list[dict[int, Expected]] = [{} for _ in disks]
    for number, witness in islice(witnesses.items(), _MOST):
        try:
            world = World.assume(witness.assume)
            traced = trace(model, _request(witness), Circumstances(world, gate, "nginx"))
        except (NginxoptError, UrlError) as error:
            yield from _none_asked([number], binary, error)
            continue
        if witness.sign.unasked:
            yield number, RealComparison(str(binary), reason=witness.sign.unasked)
            continue
        place = next((place for place, disk in enumerate(disks) if disk.takes(world)), None)
        if place is None:
            yield number, RealComparison(str(binary), reason="too many assume files that exclude each other")
        else:
            on_disks[place][number] = _expected(traced, witness.sign)
    for disk, asked in zip(disks, on_disks, strict=True):
        if asked:
            yield from _on_disk(config, disk.world(), asked, binary)


def _on_disk(
    config: Config, world: World, asked: Mapping[int, Expected], binary: Binary
) -> Iterator[tuple[int, RealComparison]]:
    """Yield what one nginx answers to all witnesses whose files can be there together."""
    expected = [replace(each, is_alone=len(asked) == 1) for each in asked.values()]
    try:
        yield from zip(asked, list(compare_all(config, expected, world, binary)), strict=True)
    except (NginxoptError, OSError) as error:
        yield from _none_asked(asked, binary, error)


class FileChoice:
    """Files that a few witnesses need to exist or to be missing, without contradiction."""

    def __init__(self) -> None:
        self._existing: dict[str, None] = {}  # as they are written, and so made
        self._missing: dict[str, None] = {}
        self._files: set[str] = set()
        self._folders: set[str] = set()
        self._gone: set[str] = set()

    def world(self) -> World:
        """Return a world with these files."""
        return World(tuple(self._existing), tuple(self._missing))

    def takes(self, world: World) -> bool:
        """Add the files of a world if they contradict none so far; return whether they do not."""
        files = {normpath(path) for path in world.existing if not path.endswith("/")}
        folders = {normpath(path) for path in world.existing if path.endswith("/")}
        folders |= {normpath(parent) for path in world.existing for parent in PurePosixPath(path).parents}
        gone = {normpath(path) for path in world.missing}
        is_both = not files.isdisjoint(self._folders) or not folders.isdisjoint(self._files)
        there, were_there = files | folders, self._files | self._folders if gone else set()
        if is_both or not there.isdisjoint(self._gone) or not gone.isdisjoint(were_there):
            return False
        self._existing |= dict.fromkeys(world.existing)
        self._missing |= dict.fromkeys(world.missing)
        self._files |= files
        self._folders |= folders
        self._gone |= gone
        return True


def _expected(traced: Trace, sign: Sign) -> Expected:
    return Expected(traced, sign.status, sign.lacks, sign.passes, sign.logs)


def _request(witness: Witness) -> Request:
    client = None if witness.client is None else witness.client.encode()
    return from_curl(read_url(witness.url), method=witness.method.encode(), headers=witness.headers, client=client)


def _none_asked(numbers: Iterable[int], binary: Binary, error: Exception) -> Iterator[tuple[int, RealComparison]]:
    reason = ": ".join(str(error).split("\n")[:2])
    return ((number, RealComparison(str(binary), reason=reason)) for number in numbers)


def _confirmed(diagnostic: Diagnostic, answer: RealComparison | None) -> Diagnostic:
    """Return a finding; its witness names the nginx that answered as expected, if one did."""
    witness = diagnostic.finding.witness
    if answer is None or answer.reason is not None or witness is None:
        return diagnostic
    finding = replace(diagnostic.finding, witness=replace(witness, confirmed_by=answer.nginx, seconds=answer.seconds))
    return replace(diagnostic, finding=finding)


def _refuted(diagnostic: Diagnostic, answer: RealComparison) -> Note:
    why = "; ".join(answer.differences)
    message = f"{diagnostic.rule} is left out: {answer.nginx} answers its witness otherwise: {why}"
    return Note(message, diagnostic.finding.source, diagnostic.finding.span)


def _not_asked(answers: Iterable[RealComparison]) -> Iterator[Note]:
    reasons = Counter(answer.reason for answer in answers if answer.reason is not None)
    for reason, number in reasons.most_common():
        yield Note(f"{count(number, 'witness', 'witnesses')} {be(number)} not asked of nginx: {reason}")
