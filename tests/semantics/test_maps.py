"""Maps that try many regular expressions, wherever their rows are."""

from __future__ import annotations

from pathlib import Path

from nginxopt.config import load, load_text
from nginxopt.semantics import MANY_REGEXES, regex_maps

ROWS = "".join(f"~^/{number} v;" for number in range(MANY_REGEXES))


def counted(text: str) -> list[tuple[str | None, int]]:
    """The variables and numbers of rows of a text in http."""
    return [(map_.variable, len(map_.rows)) for map_ in regex_maps(load_text(text.encode(), context="http"))]


def test_rows_that_are_regular_expressions_count() -> None:
    """Plain keys, quoted ones among them, and what other blocks hold are none; quoted patterns are."""
    assert counted(f"map $uri $a {{ {ROWS} /plain v; '\\~^/x' v; }}") == [("$a", MANY_REGEXES)]
    assert counted(f"map $uri $a {{ {ROWS} '~ x' v; }}") == [("$a", MANY_REGEXES + 1)]
    assert counted(f"geo $a {{ {ROWS} }} match a {{ {ROWS} }}") == []
    assert counted("map $uri $a { ~x y; }") == []


def test_a_file_of_rows_counts_as_often_as_it_is_included(tmp_path: Path) -> None:
    """nginx tries each row of a file that a map includes twice twice; a map that is read twice has its rows once."""
    (tmp_path / "rows").write_text(ROWS)
    (tmp_path / "maps").write_text("map $uri $a { include rows; include rows; }")
    main = tmp_path / "nginx.conf"
    main.write_text("events {} http { include maps; include maps; }")
    assert [(map_.variable, len(map_.rows)) for map_ in regex_maps(load(main))] == [("$a", 2 * MANY_REGEXES)]
    assert [(map_.variable, len(map_.rows)) for map_ in regex_maps(load(tmp_path / "rows"))] == [(None, MANY_REGEXES)]


def test_maps_of_stream_are_another_module() -> None:
    """They answer no request of http."""
    config = load_text(f"events {{}} stream {{ map $ssl_server_name $a {{ {ROWS} }} }}".encode())
    assert list(regex_maps(config)) == []
