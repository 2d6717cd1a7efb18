"""What a finding is known by when lines move: for baselines, and for servers that compare two reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nginxopt.diagnostic import Diagnostic
from nginxopt.report.place import relative
from nginxopt.source import Source, Span, decode, encode


def fingerprints(diagnostics: Sequence[Diagnostic], base: str) -> tuple[str, ...]:
    """Return the fingerprint of each diagnostic, in their order: 32 hexadecimal digits, no two alike.

    It is made of the rule, the path relative to the folder `base`, and the text of the lines that the finding marks;
    findings in which all these are equal are numbered in the order of their places. So it survives other lines coming
    and going, indentation and line ends, another place of the whole folder, and a rule that words its message anew.
    """
    keys = [_key(diagnostic, base) for diagnostic in diagnostics]
    found: Counter[tuple[str, str, str]] = Counter()
    made: dict[int, str] = {}
    for number in sorted(range(len(keys)), key=lambda number: diagnostics[number].finding.span):
        made[number] = fingerprint(*keys[number], found[keys[number]])
        found[keys[number]] += 1
    return tuple(made[number] for number in range(len(keys)))


def fingerprint(rule: str, path: str, text: str, number: int) -> str:
    """Return the fingerprint of the finding `number`, from 0, among those of one rule, path and text."""
    import hashlib

    # Only the text may have a zero byte, so no two keys run together.
    return hashlib.sha256(encode(f"{rule}\0{path}\0{number}\0{text}")).hexdigest()[:32]


def _key(diagnostic: Diagnostic, base: str) -> tuple[str, str, str]:
    return diagnostic.rule, relative(diagnostic.path, base), _lines(diagnostic.finding.source, diagnostic.finding.span)


def _lines(source: Source, span: Span) -> str:
    """The whole lines that `span` touches, each without what is around it."""
    start = source.data.rfind(b"\n", 0, span.start) + 1
    end = source.data.find(b"\n", max(span.start, span.end - 1))
    lines = source.data[start : end if end >= 0 else len(source.data)]
    return decode(b"\n".join(line.strip() for line in lines.split(b"\n")))
