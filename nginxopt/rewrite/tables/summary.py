"""Summarises the compilation of a table, as lines for the terminal and as a JSON report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nginxopt import __version__
from nginxopt.rewrite.tables import premises
from nginxopt.rewrite.tables.findings import CheckedTable, RowFinding
from nginxopt.rewrite.tables.proof import TableProof
from nginxopt.text import Span, decode
from nginxopt.text.display import count

if TYPE_CHECKING:
    from nginxopt.rewrite.tables.questions import TableDifferential

VERSION = 1
"""The version of the report, incremented by incompatible changes."""

_FEW = 3
"""The number of examples per line."""
_TITLES = {"duplicate": "duplicates", "unreachable": "unreachable", "chain": "chains"}
_SENTENCES = {
    "duplicate": "say what an earlier row says",
    "unreachable": "answer nothing, as earlier rows do",
    "chain": "lead to a row that leads elsewhere",
}


def lines(checked: CheckedTable, proof: TableProof | None, *, verbose: bool = False) -> Iterator[str]:
    """Yield the summary; with `verbose`, every row that is skipped or reported has a line of its own."""
    table = checked.table
    yield f"{table.source.path}: {count(table.size, 'row')}, read as {table.kind}"
    yield from (f"  {note}" for note in table.notes)
    keys = sum(len(row.paths) for _, row in checked.rows)
    patterns = sum(row.pattern is not None for _, row in checked.rows)
    parts = [count(keys, "key")] * bool(keys) + [count(patterns, "pattern")] * bool(patterns)
    yield f"  answered    {len(checked.rows):>9,}" + (f"  by {' and '.join(parts)}" if parts else "")
    if checked.rejected:
        yield f"  skipped     {len(checked.rejected):>9,}  that nginx cannot answer exactly"
        yield from _few([f"{_row(checked, row.span)}  [{row.message}]" for row in checked.rejected], verbose)
    for kind, title in _TITLES.items():
        findings = [finding for finding in checked.findings if finding.kind == kind]
        if findings:
            yield f"  {title:<11} {len(findings):>9,}  {_SENTENCES[kind]}"
            lines = [f"{_row(checked, finding.span)}  [{_why(checked, finding)}]" for finding in findings]
            yield from _few(lines, verbose)
    if proof is not None and proof.requests:
        yield f"  proved      {proof.requests:>9,}  requests decide all others: each row is answered as it says"
    unasked = sum(row.pattern is not None and row.pattern.sample is None for _, row in checked.rows)
    if proof is not None and unasked:
        yield f"  unasked     {unasked:>9,}  of the patterns: no request is known for them; their text is the table's"
    if checked.rows:
        yield from (f"  premise  {premise}" for premise in premises.of(table))


def report(
    checked: CheckedTable, proof: TableProof | None, differential: TableDifferential | None = None
) -> dict[str, Any]:
    """Return the content of `--report` for a table; lines count from 1. Its schema is `schemas/table-report.json`."""
    table = checked.table
    return {
        "version": VERSION,
        "nginxopt": __version__,
        "file": table.source.path,
        "kind": table.kind,
        "rows": table.size,
        "answered": len(checked.rows),
        "keys": sum(len(row.paths) for _, row in checked.rows),
        "patterns": sum(row.pattern is not None for _, row in checked.rows),
        "skipped": [
            {**_place(checked, row.span), "reason": row.reason, "why": row.message, "hint": row.hint}
            for row in checked.rejected
        ],
        "findings": [
            {
                **_place(checked, finding.span),
                "kind": finding.kind,
                "other": table.line(finding.other.start),
                "target": decode(finding.target) or None,
            }
            for finding in checked.findings
        ],
        "premises": [{"name": each.name, "sentence": each.sentence} for each in premises.of(table)],
        "proof": None if proof is None else _proof(proof),
        "nginx": None
        if differential is None
        else {
            "requests": differential.requests,
            "mismatches": [str(mismatch) for mismatch in differential.mismatches],
            "skipped": differential.skipped,
        },
    }


def _proof(proof: TableProof) -> dict[str, Any]:
    status = "proved" if proof.holds else "refuted"
    return {"status": status, "requests": proof.requests, "refutation": proof.refutation}


def _few(shown: list[str], verbose: bool) -> Iterator[str]:
    yield from (f"    {line}" for line in (shown if verbose else shown[:_FEW]))
    if not verbose and len(shown) > _FEW:
        yield f"    ... and {len(shown) - _FEW:,} more (-v lists them)"


def _row(checked: CheckedTable, span: Span) -> str:
    line = checked.table.line(span.start)
    text = " ".join(checked.table.source.line(line).split()).encode("utf-8", "replace").decode()
    shown = text if len(text) <= 70 else f"{text[:69]}…"
    return f"{checked.table.source.path}:{line}: {shown}"


def _why(checked: CheckedTable, finding: RowFinding) -> str:
    line = checked.table.line(finding.other.start)
    if finding.kind == "duplicate":
        return f"as line {line}"
    if finding.kind == "unreachable":
        return f"line {line} answers first"
    target = decode(finding.target)
    return f"leads to line {line}; redirect to {target}" if target else f"leads to line {line}"


def _place(checked: CheckedTable, span: Span) -> dict[str, Any]:
    text = checked.table.source.data[span.start : span.end].decode("utf-8", "backslashreplace")
    return {"line": checked.table.line(span.start), "text": text}
