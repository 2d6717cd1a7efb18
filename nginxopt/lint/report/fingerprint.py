"""Fingerprints of findings that survive moved lines, for baselines and for servers that compare reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

from nginxopt.lint.diagnostic import Diagnostic
from nginxopt.lint.report.place import relative
from nginxopt.text import Source, Span, encode


def fingerprints(diagnostics: Sequence[Diagnostic], base: str) -> tuple[str, ...]:
    """Return a unique fingerprint of each diagnostic, in order: 32 hexadecimal digits.

    It covers the rule, the path relative to the folder `base`, and the text of the finding's lines; findings that are
    equal in all these are numbered by position. So it survives changes to other lines, indentation, line ends, the
    location of the whole folder, and the message of the rule.
    """
    digest = cache(_digest)  # on a long line there may be many findings
    keys = [_key(diagnostic, base, digest) for diagnostic in diagnostics]
    counts: Counter[tuple[str, str, str]] = Counter()
    by_number: dict[int, str] = {}
    for number in sorted(range(len(keys)), key=lambda number: diagnostics[number].finding.span):
        by_number[number] = fingerprint(*keys[number], counts[keys[number]])
        counts[keys[number]] += 1
    return tuple(by_number[number] for number in range(len(keys)))


def fingerprint(rule: str, path: str, digest: str, number: int) -> str:
    """Return the fingerprint of the finding `number`, from 0, among those of one rule, path and digest of a text."""
    return text_digest(encode(f"{rule}\0{path}\0{digest}\0{number}"))


def text_digest(text: bytes) -> str:
    """Return a digest of a text: 32 hexadecimal digits."""
    import hashlib

    return hashlib.sha256(text).hexdigest()[:32]


def _key(diagnostic: Diagnostic, base: str, digest: Callable[[Source, Span], str]) -> tuple[str, str, str]:
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
