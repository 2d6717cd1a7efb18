"""Chains of maps: each reads the one before."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite.kinds.maps.readers import CaptureReadings

_SECONDS = 60
"""Of processor time: many times what a linear walk takes, and less than one that looks at every pair."""


def _chain(links: int) -> str:
    maps = "".join(f"map $a{n} $a{n + 1} {{ default $a{n}; ~*^/x{n} z; }}\n" for n in range(links))
    return f"events {{}}\nhttp {{\n{maps}server {{ location / {{ return 200 $a{links}; }} }}\n}}\n"


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))


@pytest.mark.no_cover
def test_a_long_chain_of_maps_is_planned_in_linear_time(tmp_path: Path) -> None:
    """`rewrite-to-map` ends on a chain of thousands of maps with patterns."""
    path = tmp_path / "nginx.conf"
    path.write_text(_chain(8000))
    command = [sys.executable, "-m", "nginxopt", "rewrite-to-map", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=_limit)
    assert result.returncode == 0, result.stderr
    assert "8,000 patterns of 8,000 maps" in result.stdout + result.stderr


def test_the_first_reader_of_a_chain_is_found() -> None:
    """A reading of captures behind a chain of maps is found for each map of the chain, and the first one of several."""
    maps = "".join(f"map $a{n} $a{n + 1} {{ default $a{n}; ~x z; }}\n" for n in range(5))
    rules = "rewrite ^/(a) /$a3$1; rewrite ^/(b) /$a5$1;"
    config = load_text(f"http {{ {maps} server {{ {rules} }} }}".encode())
    readings = CaptureReadings(config)
    found = [readings.reader(f"$a{n}") for n in range(6)]
    assert [directive and directive.args[0] for directive in found] == ["^/(a)"] * 4 + ["^/(b)"] * 2
