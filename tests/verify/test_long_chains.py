"""`verify` on long chains of maps."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

_SECONDS = 60
"""Of processor time: many times what reading the definitions takes if each is read once."""


def _chain(links: int, comment: str) -> str:
    maps = "".join(f"map $a{n} $a{n + 1} {{ default $a{n}; ~*^/x{n} z; }}\n" for n in range(links))
    first = "map $uri $a0 { /q y; }"
    server = f"server {{ location / {{ return 200 $a{links}; }} }}"
    return f"events {{}}\nhttp {{ # {comment}\n{first}\n{maps}{server}\n}}\n"


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))


def _evaluating(links: int, row: int, value: str) -> str:
    """Maps of `$uri` each of which evaluates the one before; one row has a value of its own."""
    maps = "".join(
        f"map $uri $a{n + 1} {{ default $a{n}; /x{n} {value if n == row else 'z'}; }}\n" for n in range(links)
    )
    server = f"server {{ location / {{ return 200 $a{links}; }} }}"
    return f"events {{}}\nhttp {{\nmap $uri $a0 {{ /q y; }}\n{maps}{server}\n}}\n"


def _compared(folder: Path, links: int, row: int) -> subprocess.CompletedProcess[str]:
    paths = [folder / "old.conf", folder / "new.conf"]
    for path, value in zip(paths, "zw", strict=True):
        path.write_text(_evaluating(links, row, value))
    command = [sys.executable, "-m", "nginxopt", "verify", *map(str, paths)]
    return subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=_limit_by_ten)


def _limit_by_ten() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (10, 10))


@pytest.mark.no_cover
@pytest.mark.parametrize("links", [50, 200, 1000])
def test_a_row_of_a_long_chain_that_differs_is_shown(tmp_path: Path, links: int) -> None:
    """A request for the row tells two chains of maps apart, without a comparison of all requests at each map."""
    result = _compared(tmp_path, links, links - 20)
    assert result.returncode == 1, result.stderr
    assert f"GET /x{links - 20}\n" in result.stdout


@pytest.mark.no_cover
def test_a_row_that_no_request_comes_to_is_not_shown(tmp_path: Path) -> None:
    """nginx evaluates at most a hundred variables for one: what differs behind them is in doubt, for a reason."""
    result = _compared(tmp_path, 200, 20)
    assert "different" not in result.stdout
    assert "too much differs to compare all requests (budget steps)" in result.stdout


@pytest.mark.no_cover
def test_a_long_chain_of_maps_is_found_to_be_the_same(tmp_path: Path) -> None:
    """`verify` ends on a chain of thousands of maps that is the same on both sides, without too deep a recursion."""
    paths = [tmp_path / "old.conf", tmp_path / "new.conf"]
    for path in paths:
        path.write_text(_chain(4000, path.name))
    command = [sys.executable, "-m", "nginxopt", "verify", *map(str, paths)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=_limit)
    assert result.returncode == 0, result.stderr
