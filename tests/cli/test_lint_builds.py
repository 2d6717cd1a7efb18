"""`nginxopt lint` for the build that files beside the configuration name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def test_the_report_says_where_the_version_is_from(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the image and of its file."""
    monkeypatch.chdir(tmp_path)
    Path("Dockerfile").write_text("FROM nginx:1.25-alpine\n")
    Path("nginx.conf").write_text("events {}\nhttp { server { http2 on; } }\n")
    ran = run("lint", "nginx.conf", "--isolated", "--select", "newer-directive")
    assert ran.status == 0
    assert "nginx 1.25.5, image nginx:1.25-alpine in Dockerfile" in ran.out.decode() + ran.err
