"""Maps that get less help because they are longer."""

from __future__ import annotations

from nginxopt import load_text
from nginxopt.rewrite import Options, plan
from nginxopt.rewrite.kinds.maps.planning import MapsPlan
from tests.rows import every_row

WORDS = [f"{first}{second}{third}" for first in "bcdfghjk" for second in "aeiou" for third in "lmnpqrstvwxyz"]


@every_row("pattern", ["~*{}-bot", "~{}/x", "~^/{}/(.*)x"])
@every_row("rows", [300, 520, 3_000])
def test_a_longer_map_gets_no_less_help_in_silence(pattern: str, rows: int) -> None:
    """If a map stays for its length, and its first rows would move, its reason says so."""

    def planned(count: int) -> MapsPlan:
        words = (f"{WORDS[number % len(WORDS)]}{number}" for number in range(count))
        text = "".join(f'"{pattern.format(word)}" 1;\n' for word in words)
        return plan(load_text(f"map $http_user_agent $bad {{\n{text}}}".encode(), context="http"), Options()).maps

    assert planned(300).compiled, "otherwise nothing is lost by length"
    for kept in planned(rows).kept:
        assert kept.shorter == 300
        assert kept.why.endswith("its first 300 rows alone would move")
