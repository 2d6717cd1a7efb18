"""Fingerprints of findings that survive moved lines, for baselines and for servers that compare reports."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from itertools import chain, islice
from types import MappingProxyType

from nginxopt.lint.diagnostic import Diagnostic
from nginxopt.lint.report.model import relative
from nginxopt.text import Source, Span, encode

_Key = tuple[str, str, str]
"""The rule, the path and the digest of the lines of a finding."""
_FURTHER = 100
"""The number of known fingerprints that are searched for among identical findings, after as many as there are."""


def fingerprints(
    diagnostics: Sequence[Diagnostic], base: str, known: Mapping[str, Collection[str]] = MappingProxyType({})
) -> tuple[str, ...]:
    """Return a unique fingerprint of each diagnostic, in order: 32 hexadecimal digits.

    It covers the rule, the path relative to the folder `base`, and the text of the finding's lines; findings that are
    equal in all these are numbered by position. So it survives changes to other lines, indentation, line ends, the
    location of the whole folder, and the message of the rule. If fingerprints are `known`, by rule, numbers with known
    ones are preferred: the second of two findings keeps its number when the first is fixed. A diagnostic with several
    places has the least of their fingerprints, which stays when their order changes.
    """
    every = list(chain.from_iterable((diagnostic, *diagnostic.places) for diagnostic in diagnostics))
    prints = iter(_of_places(every, base, known))
    return tuple(min(islice(prints, 1 + len(diagnostic.places))) for diagnostic in diagnostics)


def _of_places(diagnostics: Sequence[Diagnostic], base: str, known: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    digest = cache(_digest)  # on a long line there may be many findings
    identical: dict[_Key, list[int]] = {}
    for index in sorted(range(len(diagnostics)), key=lambda index: diagnostics[index].finding.span):
        identical.setdefault(_key(diagnostics[index], base, digest), []).append(index)
    prints = {key: [fingerprint(*key, number) for number in range(len(of))] for key, of in identical.items()}
    present = set(chain.from_iterable(prints.values()))
    unseen = {rule for rule, those in known.items() if not present.issuperset(those)}
    by_index: dict[int, str] = {}
    for key, of in identical.items():
        chosen = _preferring(known[key[0]], key, prints[key]) if key[0] in unseen else prints[key]
        by_index.update(zip(of, chosen, strict=True))
    return tuple(by_index[index] for index in range(len(diagnostics)))


def _preferring(known: Collection[str], key: _Key, first: list[str]) -> list[str]:
    """Return as many fingerprints as the `first` of identical findings, with known ones in place of others."""
    unknown = [digest for digest in first if digest not in known]
    if not unknown:
        return first
    numbers = range(len(first), len(first) + _FURTHER)
    further = [digest for number in numbers if (digest := fingerprint(*key, number)) in known][: len(unknown)]
    replaced = set(unknown[len(unknown) - len(further) :])
    return [digest for digest in first if digest not in replaced] + further


def fingerprint(rule: str, path: str, digest: str, number: int) -> str:
    """Return the fingerprint of the finding `number`, from 0, among those of one rule, path and digest of a text."""
    return text_digest(encode(f"{rule}\0{path}\0{digest}\0{number}"))


def text_digest(text: bytes) -> str:
    """Return a digest of a text: 32 hexadecimal digits."""
    import hashlib

    return hashlib.sha256(text).hexdigest()[:32]


def _key(diagnostic: Diagnostic, base: str, digest: Callable[[Source, Span], str]) -> _Key:
    source = diagnostic.finding.source
    return diagnostic.rule, relative(diagnostic.path, base), digest(source, lines(source, diagnostic.finding.span))


def lines(source: Source, span: Span) -> Span:
    """Return the whole lines that `span` touches, without the last line end."""
    start = source.data.rfind(b"\n", 0, span.start) + 1
    end = source.data.find(b"\n", max(span.start, span.end - 1))
    return Span(start, end if end >= 0 else len(source.data))


def _digest(source: Source, lines: Span) -> str:
    """The digest of lines without surrounding blanks."""
    text = source.data[lines.start : lines.end]
    return text_digest(b"\n".join(line.strip() for line in text.split(b"\n")))
