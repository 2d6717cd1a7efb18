"""The rewrites of the corpus (see `tests/config/test_corpus.py`) are planned, emitted and proved."""

from __future__ import annotations

import pytest

from nginxopt.rewrite import Options
from tests.corpus_report import AS_MEANT, AS_WRITTEN, Row, compiled, configurations, report

pytestmark = pytest.mark.no_cover


def table(options: Options) -> list[Row]:
    """A row for each file."""
    rows = [compiled(row, config, options) for row, config in configurations()]
    return [row for row in rows if row is not None]


@pytest.mark.parametrize(("options", "least"), [(AS_WRITTEN, 16), (AS_MEANT, 16)], ids=["written", "meant"])
def test_every_file_is_proved(options: Options, least: int) -> None:
    """No proof fails, and each rule is moved, kept for a reason, or dead."""
    rows = table(options)
    assert len(rows) >= 15
    assert [(row.file, row.proof.refutation) for row in rows if not row.proof.holds] == []
    assert all(row.moved + sum(row.kept.values()) <= row.rules for row in rows)
    assert sum(row.moved for row in rows) >= least


def test_declared_readings_move_no_rule_less() -> None:
    """In each file, the declared readings move at least what the default moves."""
    for as_written, as_meant in zip(table(AS_WRITTEN), table(AS_MEANT), strict=True):
        assert as_meant.moved >= as_written.moved, as_meant.file


def test_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    """The table of set A has a line for each file, told aloud."""
    lines = list(report())
    assert sum(" proved " in line and not line.startswith("=") for line in lines) >= 2 * 4
    with capsys.disabled():
        print("\n" + "\n".join(lines))
