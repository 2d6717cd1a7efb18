"""What becomes of the rewrites of the corpus (see `tests/config/test_corpus.py`): a row a file, printed by

    python -m tests.corpus_report [SET ...]

with the patterns as they are and, where that changes something, with `--literal-dots --literal-ends`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from nginxopt.config import Config, load
from nginxopt.errors import InputError
from nginxopt.rewrite import Options, Proof, Readings, emit, plan, prove
from tests.config.test_corpus import CORPUS, rows

AS_WRITTEN = Options()
AS_MEANT = Options(Readings(literal_dots=True, literal_ends=True))


@dataclass(frozen=True)
class Row:
    """What became of one file; numbers are of rules."""

    set: str
    file: str
    rules: int
    moved: int
    kept: Counter[str]
    proof: Proof

    def __str__(self) -> str:
        kept = ", ".join(f"{number} {reason}" for reason, number in self.kept.most_common())
        verdict = "proved" if self.proof.holds else f"REFUTED: {self.proof.refutation}"
        return (
            f"{self.set} {self.rules:5} {self.moved:5} {share(self.moved, self.rules)}  {verdict}  {self.file}  {kept}"
        )


def share(part: int, whole: int) -> str:
    """A part of a whole in percent."""
    return f"{part / max(whole, 1):6.1%}"


def configurations(sets: str = "AB") -> Iterator[tuple[dict[str, str], Config]]:
    """The files of the sets that hold rewrites and that nginx could read."""
    for row in rows():
        if row["set"] not in sets or not int(row["rewrites"] or 0):
            continue
        try:
            stated = row["context"] if row["context"] in ("server", "location") else None
            yield row, load(CORPUS / row["file"], includes=False, context=stated)
        except InputError:
            continue


def compiled(row: dict[str, str], config: Config, options: Options) -> Row | None:
    """What becomes of a file; None if one of its patterns is no regular expression."""
    try:
        plan_ = plan(config, options)
    except InputError:
        return None
    proof = prove(emit(plan_))
    return Row(row["set"], row["file"], plan_.rules.total, plan_.rules.moved, plan_.rules.reasons(), proof)


def report(sets: str = "A") -> Iterator[str]:
    """The lines of the table."""
    for title, options in (("as written", AS_WRITTEN), ("--literal-dots --literal-ends", AS_MEANT)):
        rows = [compiled(row, config, options) for row, config in configurations(sets)]
        table = [row for row in rows if row is not None and row.rules]
        kept: Counter[str] = Counter()
        for row in table:
            kept.update(row.kept)
        rules, moved = sum(row.rules for row in table), sum(row.moved for row in table)
        proved = sum(row.proof.holds for row in table)
        yield f"{title}: set, rules, moved"
        yield from map(str, table)
        yield f"= {rules:5} {moved:5} {share(moved, rules)}  {proved} of {len(table)} files proved"
        yield f"  kept: {', '.join(f'{number} {reason}' for reason, number in kept.most_common())}"


if __name__ == "__main__":
    print("\n".join(report("".join(sys.argv[1:]) or "A")))
