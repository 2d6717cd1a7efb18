"""Small configurations that ask rules for much: each is judged soon."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from nginxopt.lint.queries import backtracking
from tests.fuzz.configs import run

_SITE = "events {{}}\nhttp {{\n{}\nserver {{ listen 80; server_name a.test; {} }}\n}}\n"

SITES = {
    "a variable that is made of itself": _SITE.format(
        "", "set $a 0;" + "".join(f'if ($arg_a{n}) {{ set $a "${{a}}$a"; }}' for n in range(200)) + "return 301 /$a;"
    ),
    "variables that are made of each other": _SITE.format(
        "".join(f"map $m{n} $m{(n + 1) % 60} {{ ~(.*) $1$m{n}; default $m{(n + 7) % 60}$m{n}; }}\n" for n in range(60)),
        "add_header A $m0; return 301 /$m59;",
    ),
    "servers with the same names": "events {}\nhttp {\n"
    + "".join(
        f"server {{ listen 80; server_name {' '.join(f'a{n}.test' for n in range(150))}; }}\n" for _ in range(150)
    )
    + "}\n",
    "names of which a half is taken": _SITE.format(
        "", "server_name " + " ".join(f"a{n}.test .a{n}.test" for n in range(10_000)) + ";"
    ),
}


@pytest.mark.parametrize("site", SITES)
def test_it_ends(site: str, tmp_path: Path) -> None:
    """None of them is judged by going through all names for each name: that takes hours."""
    (tmp_path / "nginx.conf").write_text(SITES[site])
    with contextlib.chdir(tmp_path):
        status, said, _ = run("lint", "--isolated", "--select", "all", "nginx.conf")
    assert status in (0, 1, 3), said[-2_000:]


_EXPLODING = {
    "locations": _SITE.format("", "".join(f"location ~ ^/x{n}(?:[a-z]+-?)+a$ {{ return 204; }}" for n in range(9))),
    "rows": _SITE.format(
        "map $http_user_agent $b {\n" + "".join(f'"~^x{n}(?:[a-z]+-?)+a$" 1;\n' for n in range(9)) + "}",
        "if ($b) { return 403; }",
    ),
}


@pytest.mark.parametrize("site", _EXPLODING.values(), ids=_EXPLODING)
def test_patterns_are_tried_up_to_a_budget(site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PCRE2 is asked up to the budget: what was found until then is reported, and a note says where it left off."""
    asked: list[bytes] = []

    def gives_up(pattern: bytes, _: bytes) -> bool:
        asked.append(pattern)
        return True

    monkeypatch.setattr(backtracking, "gives_up", gives_up)
    backtracking._exploding.cache_clear()
    (tmp_path / "nginx.conf").write_text(site)
    monkeypatch.setenv("NGINXOPT_BUDGET", "backtracking=50000000")
    with contextlib.chdir(tmp_path):
        status, said, _ = run("lint", "--isolated", "--select", "redos", "nginx.conf")
    backtracking._exploding.cache_clear()
    assert (status, len(set(asked)) <= 6) == (1, True)
    assert "redos did not look at this and what follows: too large: more than 50,000,000 steps" in said
