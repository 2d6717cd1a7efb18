"""Lists of words, filters that come first, and maps with missing rows answer on the real nginx as they did."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import emit, plan, prove
from nginxopt.rewrite.differential import ask
from nginxopt.system import nginx
from tests.nginx.sides import Site, check, get

pytestmark = pytest.mark.nginx

NAMES = [
    f"{first}{last}" for first in ("acme", "bee", "car", "cart", "dot.net") for last in ("", "s", "-x", "9", ".com")
]
WORDS = "".join(f'"~*(?:\\b){name.replace(".", chr(92) + ".")}(?:\\b)" 1;\n' for name in reversed(NAMES))
RUNS = f'{WORDS} "~*/from/(b.*)" "[$1]"; "~*\\bBee\\b" 3; ' + "".join(f"~*x{name} 2;\n" for name in NAMES)
AGENTS = "".join(f'"~{name}/[\\d\\.]+" 1; "~{name.upper()}[a-z]+;" 1;' for name in NAMES)
FLOATS = "".join(f'"~^/.*/f{number}/(.*)$" "/float/$1"; "~^/t{number}/(.*)$" "/tree/$1";\n' for number in range(40))


@pytest.mark.parametrize(
    ("source", "rows"), [("$http_referer", RUNS), ("$uri", RUNS), ("$uri", FLOATS), ("$http_user_agent", AGENTS)]
)
def test_words(a_binary: nginx.Binary, source: str, rows: str) -> None:
    """Values that rows match, and values near them, have equal answers."""
    emission = emit(plan(load_text(f"map {source} $bad {{ default 0; {rows} }}".encode(), context="http")))
    assert emission.plan.maps.compiled
    assert prove(emission).holds
    (comparison,) = ask(emission, a_binary)
    assert comparison.ok, [str(mismatch) for mismatch in comparison.mismatches]
    assert comparison.requests > 50


@pytest.mark.parametrize("missing", ["", "~*bee 7; ~*car$ 8; /acme 9;", '"~*/(c)(a)" "$2$1"; ~. 6;'])
def test_missing_rows(each_binary: nginx.Binary, missing: str, tmp_path: Path) -> None:
    """Whatever rows the file has that was missing, they are tried where they were."""
    http = f"map $uri $bad {{ default 0; ~*dots 5; include white.conf; {WORDS} }}"
    paths = [f"/{name}" for name in NAMES] + [f"/x/{name.upper()}/y" for name in NAMES] + ["/none", "/"]
    site = Site(["location / { return 200 '[$bad]'; }"], http, missing={"white.conf": missing})
    check(each_binary, site, tmp_path, [get(path) for path in paths])
