"""What a finding is known by when lines move: for baselines, and for servers that compare two reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nginxopt.diagnostic import Diagnostic
from nginxopt.report.paths import relative
from nginxopt.source import Source, Span, encode


def fingerprints(diagnostics: Sequence[Diagnostic], base: str) -> tuple[str, ...]:
    """Return the fingerprint of each diagnostic, in their order: 32 hexadecimal digits, no two alike.

    It is made of the rule, the path relative to the folder `base`, and the text of the lines that the finding marks;
    findings in which all these are equal are numbered in the order of their places. So it survives other lines coming
    and going, indentation and line ends, another place of the whole folder, and a rule that words its message anew.
    """
    keys = [_key(diagnostic, base) for diagnostic in diagnostics]
    found: Counter[tuple[str, str, bytes]] = Counter()
    made: dict[int, str] = {}
    for number in sorted(range(len(keys)), key=lambda number: diagnostics[number].finding.span):
        made[number] = _digest(keys[number], found[keys[number]])
        found[keys[number]] += 1
    return tuple(made[number] for number in range(len(keys)))


def _key(diagnostic: Diagnostic, base: str) -> tuple[str, str, bytes]:
    return diagnostic.rule, relative(diagnostic.path, base), _lines(diagnostic.finding.source, diagnostic.finding.span)


def _lines(source: Source, span: Span) -> bytes:
    """The whole lines that `span` touches, each without what is around it."""
    start = source.data.rfind(b"\n", 0, span.start) + 1
    end = source.data.find(b"\n", max(span.start, span.end - 1))
    lines = source.data[start : end if end >= 0 else len(source.data)]
    return b"\n".join(line.strip() for line in lines.split(b"\n"))


def _digest(key: tuple[str, str, bytes], number: int) -> str:
    import hashlib

    rule, path, lines = key
    # Neither a rule nor a path has a zero byte, so no two keys run together.
    text = b"\0".join([encode(rule), encode(path), b"%d" % number, lines])
    return hashlib.sha256(text).hexdigest()[:32]
