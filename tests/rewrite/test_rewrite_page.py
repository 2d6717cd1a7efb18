"""The page of `rewrite-to-map --html`: the maps in the order of their look-ups, and what stays."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import html5lib
import pytest
from click.testing import CliRunner

from nginxopt.cli import nginxopt
from nginxopt.errors import UsageError

_RULES = "".join(f"rewrite ^/old/{number}/(.*)$ /new/{number}/$1 permanent;\n" for number in range(30))
_STAYS = 'rewrite "^/<(a+)+>/$" /b permanent;\n'


def _run(folder: Path, rules: str, *arguments: str) -> ElementTree.Element:
    (folder / "rules.conf").write_text(rules)
    page = folder / "compiled" / "page.html"
    call = ["rewrite-to-map", str(folder / "rules.conf"), "-o", str(page.parent), "--html", str(page), "-q", *arguments]
    CliRunner().invoke(nginxopt, call, standalone_mode=False, catch_exceptions=False)
    parsed: ElementTree.Element = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page.read_text())
    return parsed


def _texts(page: ElementTree.Element, path: str) -> list[str]:
    return [" ".join("".join(each.itertext()).split()) for each in page.iterfind(path)]


def test_the_page_has_each_map_once(tmp_path: Path) -> None:
    """It has a line for each map that is written, and all rows of a map or their number."""
    page = _run(tmp_path, _RULES)
    written = (tmp_path / "compiled" / "http.conf").read_text()
    maps = [line.split()[-2] for line in written.splitlines() if line.startswith("map ")]
    lines = _texts(page, ".//summary")
    assert sorted(line.split()[0] for line in lines) == sorted(maps)
    assert _texts(page, ".//h1") == ["30 rewrites; a request that matches none saves 1 microsecond"]


def test_the_page_has_what_stays(tmp_path: Path) -> None:
    """A rule that stays has its reason and its text, escaped."""
    page = _run(tmp_path, _RULES + _STAYS)
    assert "1: it may exceed the match limit of PCRE on a URI it does not match" in _texts(page, ".//h3")
    assert any("^/<(a+)+>/$" in text for text in _texts(page, ".//td"))


def test_the_page_of_a_file_without_lists(tmp_path: Path) -> None:
    """Where nothing moves there is no map to draw."""
    assert not _texts(_run(tmp_path, "root /srv;\n"), ".//summary")


@pytest.mark.parametrize(
    "arguments",
    [
        ("rules.conf", "--plan-only", "--html", "page.html"),
        ("rules.conf", "rules.conf", "--check", "--html", "page.html"),
        ("rules.conf", "--check", "--report", "page.html", "--html", "page.html"),
        ("rules.conf", "-o", "compiled", "--html", "compiled/http.conf"),
        ("rules.conf", "--check", "--html", "rules.conf"),
        ("moved.csv", "--check", "--html", "page.html"),
    ],
)
def test_calls_without_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]) -> None:
    """A page of no result, of several, of a table, or in the place of another file is refused; nothing is written."""
    monkeypatch.chdir(tmp_path)
    Path("rules.conf").write_text(_RULES)
    Path("moved.csv").write_text("from,to\n/a,/b\n")
    with pytest.raises(UsageError, match="html"):
        CliRunner().invoke(nginxopt, ["rewrite-to-map", *arguments], standalone_mode=False, catch_exceptions=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["moved.csv", "rules.conf"]
