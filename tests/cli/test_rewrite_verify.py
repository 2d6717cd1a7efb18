"""`rewrite-to-map --verify`: a second proof before anything is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nginxopt.config import Config, load_text
from nginxopt.rewrite import Emission, verification


def test_a_fragment(run: Any, rules: Path) -> None:
    """The summary says that the result is equivalent by a second proof."""
    ran = run("rewrite-to-map", rules.name, "--verify")
    assert ran.status == 0
    assert "  verify      equivalent, by a second proof (1 pair of servers compared)\n" in ran.err


def test_a_configuration(run: Any, tmp_path: Path) -> None:
    """A whole configuration is compared as a whole, before it is written."""
    text = "events {} http { server { listen 127.0.0.1:80; %s return 404; } }\n"
    rules = " ".join(f"rewrite ^/{name}$ /x/{name} permanent;" for name in "abc")
    (tmp_path / "site.conf").write_text(text % rules)
    ran = run("rewrite-to-map", "site.conf", "--verify", "--write")
    assert ran.status == 0
    assert "  verify      equivalent" in ran.err
    assert "map $uri" in "".join(path.read_text() for path in tmp_path.glob("*.conf"))


_RULES = "rewrite ^/a$ /b permanent; rewrite ^/c$ /d permanent;"


def test_what_is_not_known(run: Any, tmp_path: Path) -> None:
    """What cannot be compared is said with the reason, and the first proof counts."""
    (tmp_path / "rules.conf").write_text(f"{_RULES} http2 on;")
    ran = run("rewrite-to-map", "rules.conf", "--context", "server", "--verify", "--target-version", "1.22.1")
    assert ran.status == 0
    assert '  verify      unknown: the configuration is not understood as a site: unknown directive "http2"' in ran.err


def test_a_fragment_that_includes_others(run: Any, tmp_path: Path) -> None:
    """An included file is compared with the rules before it, and one that was not read counts as the same."""
    (tmp_path / "rules.conf").write_text(f"{_RULES} include part.conf; location /e/ {{ include fastcgi_params; }}")
    (tmp_path / "part.conf").write_text("rewrite ^/e$ /f permanent; rewrite ^/g$ /h permanent; location / { root /x; }")
    ran = run("rewrite-to-map", "rules.conf", "--context", "server", "--verify")
    assert ran.status == 0
    assert "  moved               4  into " in ran.err
    assert "  verify      equivalent, by a second proof (1 pair of servers compared)\n  given       " in ran.err
    assert "fastcgi_params is the file that comes with nginx (stock-files)\n" in ran.err


def test_another_response(run: Any, rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request with another response ends the command with status 70, and nothing is written."""
    sides = verification.sides

    def damaged(emission: Emission, **how: Any) -> tuple[Config, Config]:
        before, after = sides(emission, **how)
        data = after.main.source.data.replace(b"/about-us", b"/about-them")
        return before, load_text(data, "nginx.conf", missing_ok=True)

    monkeypatch.setattr(verification, "sides", damaged)
    ran = run("rewrite-to-map", rules.name, "--verify", "-o", "out")
    assert ran.status == 70
    assert "verify finds a request with another response: GET /about; nothing was written" in ran.err
    assert not (tmp_path / "out").exists()


def test_a_table(run: Any, tmp_path: Path) -> None:
    """A table of redirects has no configuration to compare with."""
    (tmp_path / "redirects.csv").write_text("/a,/b\n")
    ran = run("rewrite-to-map", "redirects.csv", "--verify")
    assert ran.status == 2
    assert "--verify does not support tables of redirects" in ran.err
