"""Maps that include a file of rows which is not there: the rows behind it move, all others stay where they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import Emission, Options, emit, plan, premises, prove
from nginxopt.rewrite.premises import MISSING_ROWS
from tests.rows import every_row

WORDS = "".join(f'"~*\\bword{number}x\\b" 1;\n' for number in range(40))


def emitted(rows: str) -> Emission:
    """What a map of these rows becomes."""
    text = f"events {{}}\nhttp {{\nmap $http_referer $bad {{\n{rows}\n}}\n}}\n"
    return emit(plan(load_text(text.encode(), "/nowhere/nginx.conf", missing_ok=True), Options(name="m")))


def after(emission: Emission) -> str:
    """The main file afterwards."""
    return emission.after(emission.plan.config.main).decode()


def test_rows_behind_a_missing_file_move() -> None:
    """Its rows are tried before those that move, as before, under a premise; the summary counts what moves."""
    emission = emitted(f"default 0;\n~*good 0;\ninclude white.conf;\n~*fine 0;\ninclude more.conf;\n{WORDS}")
    assert prove(emission).holds, prove(emission).refutation
    assert MISSING_ROWS in premises.of(emission.plan)
    assert str(MISSING_ROWS).encode() in emission.maps
    assert emission.plan.maps.moved == 40
    text = after(emission)
    places = [text.index(part) for part in ("~*good 0;", "include white.conf;", "~*fine 0;", "include more.conf;")]
    assert places == sorted(places)
    assert "word1x" not in text


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (f"default 0; {WORDS} include more.conf;", "missing-rows"),
        (f"include more.conf; {WORDS}", "missing-rows"),
        (f"default 0; ~(x+)+y 0; include more.conf; {WORDS}", "unbounded-row"),
    ],
)
def test_other_rows_stay(rows: str, reason: str) -> None:
    """Nothing moves if nothing is behind the file, if the default may be there, or if nginx may give the default."""
    assert [kept.reason for kept in emitted(rows).plan.maps.kept] == [reason]


@every_row(
    ("old", "new"),
    [
        ("~*good 0;", ""),
        ("~*good 0;", "~*good 1;"),
        ("include white.conf;", ""),
        ("include white.conf;", "include black.conf;"),
        ("~*good 0;\ninclude white.conf;", "include white.conf;\n~*good 0;"),
        ("include white.conf;", "include white.conf;\n~*other 0;"),
    ],
)
def test_what_stays_is_compared(old: str, new: str) -> None:
    """The proof refutes a text in which the file, or a row before it, is not what or where it was."""
    emission = emitted(f"default 0;\n~*good 0;\ninclude white.conf;\n{WORDS}")
    assert prove(emission).holds
    (change,) = emission.changes
    damaged = after(emission).replace(old, new)
    assert damaged != after(emission)
    assert not prove(replace(emission, changes=(replace(change, after=damaged.encode()),))).holds


def test_a_file_that_may_be_another(tmp_path: Path) -> None:
    """Where rows were read that may be others elsewhere, the map stays."""
    (tmp_path / "rows.conf").write_text("~*good 0;")
    text = f"events {{}} http {{ map $uri $bad {{ default 0; include {tmp_path}/*.conf; {WORDS} }} }}"
    (kept,) = plan(load_text(text.encode(), "/elsewhere/nginx.conf", missing_ok=True), Options()).maps.kept
    assert kept.reason == "missing-rows"
