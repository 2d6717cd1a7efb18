"""`lint` with templates: its report, baselines, suppressions and fixes; other commands refuse them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_cli_files import Ran


def lint(run: Any, *args: str) -> Ran:
    """Run `lint`."""
    ran: Ran = run("lint", "--target-version", "1.28.0", *args)
    return ran


SITE = """\
# {{ ansible_managed }}
upstream app {
    server {{ host }}:{{ port | default(8080) }};
}
server {
    listen {{ port }}{% if tls %} ssl{% endif %};
    proxy_http_version {{ version }};
{% for part in parts %}
    location {{ part }} {
        proxy_pass http://app;
        sendfile_max_chunk 0;
    }
{% endfor %}
    location = /old {
        rewrite ^ /new permanent;
        rewrite ^ /new permanent;
    }
}
"""


def test_the_report_names_templates(run: Any, tmp_path: Path) -> None:
    """The text and the JSON report say that a file is a template, and how many rules found what depends on tags."""
    path = tmp_path / "site.conf"
    path.write_text(SITE)
    text = lint(run, "site.conf", "--assume", "stock").out.decode()
    assert "site.conf:1:1: note this is a Jinja template: only what holds whatever its tags are is reported" in text
    notes = [note["message"] for note in json.loads(lint(run, "site.conf", "--format", "json").out.decode())["notes"]]
    assert "this is a Jinja template: only what holds whatever its tags are is reported" in notes


def test_an_include_in_a_template_and_a_template_that_is_included(run: Any, tmp_path: Path) -> None:
    """Templates are read where a file includes them, and read what they include."""
    (tmp_path / "nginx.conf").write_text("events {}\nhttp {\ninclude site.conf;\n}\n")
    (tmp_path / "site.conf").write_text("server {\nlisten {{ port }};\ninclude {{ x }};\ninclude own.conf;\n}\n")
    (tmp_path / "own.conf").write_text("error_log off;\n")
    result = lint(run, "nginx.conf", "--select", "log-path-bogus")
    assert "own.conf:1:11: error log-path-bogus" in result.out.decode()
    assert "site.conf:1:1: note this is a" in result.out.decode()
    assert "unread" not in result.out.decode()
    assert "1 finding in 3 files" in result.out.decode()


def test_other_commands_refuse_templates(run: Any, tmp_path: Path) -> None:
    """Only `lint` reads templates."""
    path = tmp_path / "site.conf"
    path.write_text(SITE)
    for command in ("rewrite-to-map", "trace"):
        arguments = [str(path), "http://localhost/"] if command == "trace" else [str(path)]
        result = run(command, *arguments)
        assert result.status == 3, result.out.decode()


def test_baselines_and_suppressions_of_templates(run: Any, tmp_path: Path) -> None:
    """A baseline hides findings in templates, and so do comments."""
    path, baseline = tmp_path / "site.conf", str(tmp_path / "baseline.json")
    text = "server {\nlisten {{ port }};\nerror_log off;\n}\n"
    path.write_text(text)
    select = ("--select", "log-path-bogus")
    assert lint(run, "site.conf", *select).status == 1
    assert lint(run, "site.conf", *select, "--write-baseline", baseline).status == 0
    assert lint(run, "site.conf", *select, "--baseline", baseline).status == 0
    path.write_text(text.replace("off;", "off; # nginxopt: ignore[log-path-bogus]"))
    assert lint(run, "site.conf", *select).status == 0


# --- fixes


def test_fixes_leave_tags_as_they_are(run: Any, tmp_path: Path) -> None:
    """`--fix` changes text that is written where its finding is, and every other byte stays."""
    path = tmp_path / "site.conf"
    text = "server {\n    listen {{ port }};\n  {% if x %}\n    gzip_comp_level 9;\n  {% endif %}\n}\n"
    path.write_text(text)
    result = lint(run, "site.conf", "--select", "gzip-level", "--fix", "--unsafe-fixes")
    assert "fixed 1 finding" in result.out.decode()
    assert path.read_text() == text.replace("gzip_comp_level 9", "gzip_comp_level 6")


@pytest.mark.parametrize(
    ("text", "is_fixed"),
    [
        ("gzip_comp_level 9;\nroot {{ x }};", True),
        ("{% if x %}\ngzip_comp_level 9;\n{% endif %}", True),
        ("{% for x in y %}\nlocation /{{ x }} { gzip_comp_level 9; }\n{% endfor %}", True),
        ("gzip_comp_level {% if x %}9{% else %}{{ x }}{% endif %};", False),
        ("gzip_comp_level {{ x }};", False),
    ],
)
def test_where_fixes_are_made(text: str, is_fixed: bool, run: Any, tmp_path: Path) -> None:
    """Text in branches is fixed there; tags, and what depends on them, are not."""
    path = tmp_path / "site.conf"
    path.write_text(f"server {{\n{text}\n}}\n")
    lint(run, "site.conf", "--select", "gzip-level", "--fix", "--unsafe-fixes")
    assert (path.read_text() != f"server {{\n{text}\n}}\n") is is_fixed
    assert path.read_text().replace("level 6", "level 9") == f"server {{\n{text}\n}}\n"


def test_lint_names_the_placeholder(run: Any, tmp_path: Path) -> None:
    """What is found in other directives is reported, with a note that says why not all is."""
    (tmp_path / "a.conf").write_text("server {\n    gzip ${GZIP:-off};\n    proxy_buffering nope;\n}\n")
    ran = run("lint", "a.conf", "--assume", "stock", "--target-version", "1.28.0")
    out = ran.out.decode()
    assert "a.conf:3:5: error wrong-arguments" in out
    assert "a.conf:2:" not in out
    assert "this is a template with placeholders such as ${NAME:-value}" in out
    assert run("trace", "a.conf", "http://a/").status == 3
