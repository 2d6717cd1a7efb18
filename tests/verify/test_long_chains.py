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


@pytest.mark.no_cover
def test_a_long_chain_of_maps_is_found_to_be_the_same(tmp_path: Path) -> None:
    """`verify` ends on a chain of thousands of maps that is the same on both sides, without too deep a recursion."""
    paths = [tmp_path / "old.conf", tmp_path / "new.conf"]
    for path in paths:
        path.write_text(_chain(4000, path.name))
    command = [sys.executable, "-m", "nginxopt", "verify", *map(str, paths)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=_limit)
    assert result.returncode == 0, result.stderr
