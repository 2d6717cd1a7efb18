"""A suppression is unused only if everything it could hide is known; otherwise `--fix` keeps it."""

from __future__ import annotations

import ast
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nginxopt.lint import releases
from nginxopt.lint.catalogue import catalogue
from nginxopt.profile.terms import WITH_SIPHASH
from nginxopt.rewrite.kinds.kind import OLDEST
from nginxopt.rewrite.tables import emission as of_tables
from nginxopt.semantics.inherit import HOST_ALWAYS
from nginxopt.settings.target import ASSUMED, GUESSES
from nginxopt.version import Version
from tests.cli.test_cli_files import Ran, run

__all__ = ["run"]

ROOT = Path(__file__).parents[2]

POOL = """upstream app {{  # nginxopt: ignore-block[{ids}] the backend cannot hold connections, INC-4711
    server 127.0.0.1:1;
}}
"""
SITE = "server { listen 127.0.0.1:1; location / { proxy_pass http://app; } }\n"
WHOLE = "events {{}}\nhttp {{\n{inside}{site}}}\n"
KEEPALIVE = "upstream-keepalive-missing"
UNUSED = "unused-suppression"


@pytest.fixture
def files(run: Callable[..., Ran], tmp_path: Path) -> Callable[..., None]:  # noqa: ARG001 - it makes the folder
    """A function that makes files in the working directory, in the place of what is there."""

    def make(**texts: str) -> None:
        for path in (tmp_path / "nginx.conf", *(tmp_path / "sites").iterdir()):
            path.unlink()
        for name, text in texts.items():
            (tmp_path / name.replace("_", ".").replace("DIR", "/")).write_text(text)

    return make


def lint(run: Callable[..., Ran], *args: str, version: str | None = "1.22.1", select: str = "all") -> str:
    """What `nginxopt lint` tells."""
    stated = ("--target-version", version) if version else ()
    ran = run("lint", "--select", select, *stated, *args)
    assert ran.status in (0, 1), ran.err
    return ran.out.decode()


def unused(*ids: str) -> str:
    """A whole configuration with a comment that hides nothing."""
    listed = ",".join(ids) or "gzip-level"
    return WHOLE.format(inside=f"    # nginxopt: ignore[{listed}] INC-4711\n    sendfile on;\n", site="")


def test_unused_in_a_whole_configuration(run: Any, files: Any, tmp_path: Path) -> None:
    """In a whole configuration it is reported and deleted, also if it has a wildcard that matches files."""
    files(nginx_conf=unused().replace("}\n", "include sites/*.conf;\n}\n"), sitesDIRa_conf="gzip on;\n")
    assert f"{UNUSED} unused suppression: no finding of gzip-level here" in lint(run, "nginx.conf")
    lint(run, "nginx.conf", "--fix")
    assert "nginxopt:" not in (tmp_path / "nginx.conf").read_text()


NOT_KNOWN = {
    "a missing file": "include missing.conf;",
    "a missing folder": "include elsewhere/*.conf;",
    "an empty folder": "include sites/*.conf;",
    "a missing folder by its whole path": "include /nonexistent-nginx/*.conf;",
}


@pytest.mark.parametrize("include", NOT_KNOWN.values(), ids=NOT_KNOWN.keys())
def test_not_if_something_was_not_read(run: Any, files: Any, tmp_path: Path, include: str) -> None:
    """If an include is missing, the suppression is kept: the finding may depend on the included file."""
    files(nginx_conf=unused().replace("}\n", f"{include}\n}}\n"))
    assert UNUSED not in lint(run, "nginx.conf", "--fix")
    assert "INC-4711" in (tmp_path / "nginx.conf").read_text()


@pytest.mark.parametrize("context", [(), ("--context", "http"), ("--unsafe-fixes",)])
def test_not_in_a_fragment(run: Any, files: Any, tmp_path: Path, context: tuple[str, ...]) -> None:
    """A fragment that is checked alone keeps its comments, so that the next run adds nothing that was declined."""
    pool, site = tmp_path / "sites" / "pool.conf", tmp_path / "sites" / "site.conf"
    files(nginx_conf=WHOLE.format(inside="include sites/*.conf;\n", site=""))
    pool.write_text(POOL.format(ids=KEEPALIVE))
    site.write_text(SITE)
    assert UNUSED not in lint(run, "sites/pool.conf", "--fix", *context)
    assert UNUSED not in lint(run, "sites", "--fix", *context)
    assert pool.read_text() == POOL.format(ids=KEEPALIVE)
    assert f" {KEEPALIVE} upstream" not in lint(run, "nginx.conf", "--fix")
    assert pool.read_text() == POOL.format(ids=KEEPALIVE)


@pytest.mark.parametrize("version", ["1.22.1", "1.28.0", "1.29.7", "1.31.3", None])
@pytest.mark.parametrize("settings", ["", 'target-version = ["1.31.0", "1.22.1"]\n', 'target-version = "1.28.0"\n'])
@pytest.mark.parametrize("rule", [KEEPALIVE, "proxy-http-version", "http2-missing"])
def test_not_if_it_hides_for_another_version(
    run: Any, files: Any, tmp_path: Path, version: str | None, settings: str, rule: str
) -> None:
    """A comment that hides a finding for one of the versions is kept, whatever the target of the run."""
    inside = POOL.format(ids=KEEPALIVE) if rule == KEEPALIVE else ""
    inside += "upstream app { server 127.0.0.1:1; keepalive 8; }\n" if rule == "proxy-http-version" else ""
    site = f"server {{ # nginxopt: ignore-block[{rule}] INC-4711\n"
    site += "listen 443 ssl; location / { proxy_pass http://app; } }\n"
    (tmp_path / "nginxopt.toml").write_text(settings)
    files(nginx_conf=WHOLE.format(inside=inside, site=SITE if rule == KEEPALIVE else site))
    before = (tmp_path / "nginx.conf").read_text()
    lint(run, "nginx.conf", "--fix", version=version, select=f"{rule},{UNUSED}")
    assert (tmp_path / "nginx.conf").read_text() == before


def test_reported_if_the_settings_name_other_versions(run: Any, files: Any, tmp_path: Path) -> None:
    """A comment that hides nothing for the versions of the settings is unused."""
    text = WHOLE.format(inside=POOL.format(ids="proxy-http-version") + "", site=SITE)
    files(
        nginx_conf=text.replace("ignore-block[proxy-http-version]", f"ignore-block[{KEEPALIVE}]").replace(
            "1;\n}", "1; keepalive 8;\n}"
        )
    )
    (tmp_path / "nginxopt.toml").write_text('target-version = ["1.22.1", "1.28.0"]\n')
    assert UNUSED in lint(run, "nginx.conf", version=None)


def test_not_if_a_rule_was_not_selected(run: Any, files: Any, tmp_path: Path) -> None:
    """Only ids of selected rules are reported; the comment changes only if all its rules were selected."""
    files(nginx_conf=unused("gzip-level", "tcp-nodelay-off"))
    before = (tmp_path / "nginx.conf").read_text()
    assert UNUSED not in lint(run, "nginx.conf", "--fix", select=f"sendfile,{UNUSED}")
    output = lint(run, "nginx.conf", "--fix", select=f"gzip-level,{UNUSED}")
    assert "no finding of gzip-level here" in output
    assert (tmp_path / "nginx.conf").read_text() == before
    lint(run, "nginx.conf", "--fix", select=f"gzip-level,tcp-nodelay-off,{UNUSED}")
    assert "INC-4711" not in (tmp_path / "nginx.conf").read_text()


def test_not_if_the_machine_was_not_judged(run: Any, files: Any) -> None:
    """Without --host the findings of `host-limits` are unknown, and its suppressions are kept."""
    files(nginx_conf=unused("host-limits"))
    assert UNUSED not in lint(run, "nginx.conf", "--fix")
    assert UNUSED in lint(run, "nginx.conf", "--host")


def test_the_rules_that_ask_for_the_machine_say_so() -> None:
    """Every rule that reads `model.host` or what is on it declares it, or that it is default only there."""
    texts = {path.stem.replace("_", "-"): path.read_text() for path in (ROOT / "rules").glob("*.py")}
    assert {rule.id for rule in catalogue().values() if rule.host} == {
        name
        for name, text in texts.items()
        if ("model.host" in text or "lint.hosted" in text) and not catalogue()[name].on_host
    }


def test_the_reason_stays_with_the_ids_that_are_used(run: Any, files: Any, tmp_path: Path) -> None:
    """Only unused ids of a suppression are deleted; its reason stays."""
    files(nginx_conf=WHOLE.format(inside=POOL.format(ids=f"{KEEPALIVE},gzip-level"), site=SITE))
    lint(run, "nginx.conf", "--fix")
    assert (
        f"ignore-block[{KEEPALIVE}] the backend cannot hold connections, INC-4711"
        in (tmp_path / "nginx.conf").read_text()
    )


def test_not_if_another_configuration_needs_it(run: Any, files: Any, tmp_path: Path) -> None:
    """A comment in a file of two configurations is kept if one of them needs it, even if that one is broken."""
    pool = tmp_path / "sites" / "pool.conf"
    head = WHOLE.format(inside="include sites/pool.conf;\n", site="")
    files(nginx_conf=head, other_conf=head.replace("}\n", f"{SITE}}}\n"))
    pool.write_text(POOL.format(ids=KEEPALIVE))
    for other in (head.replace("}\n", f"{SITE}}}\n"), head.replace("}\n", f"{SITE}\n")):
        (tmp_path / "other.conf").write_text(other)
        ran = run("lint", "--select", "all", "--target-version", "1.22.1", "nginx.conf", "other.conf", "--fix")
        assert UNUSED not in ran.out.decode()
        assert pool.read_text() == POOL.format(ids=KEEPALIVE)


def test_not_if_a_rule_could_not_judge(run: Any, files: Any, tmp_path: Path) -> None:
    """The suppressions of a rule that ends with an error are kept."""
    files(nginx_conf=unused("rewrite-shadowed").replace("}\n", "server { rewrite ( /x; rewrite ^/a /b; }\n}\n", 1))
    run("lint", "--select", "all", "--target-version", "1.22.1", "nginx.conf", "--fix")
    assert "INC-4711" in (tmp_path / "nginx.conf").read_text()


SILENT = {
    "the model of requests does not know what Lua answers": """server {
    listen 80;
    location /status { # nginxopt: ignore-block[status-exposed] INC-4711
        access_by_lua_file auth.lua;
        stub_status;
    }
}
""",
    "a placeholder": """server {
    listen 80;
    gzip ${GZIP:-off};  # nginxopt: ignore[gzip-level] INC-4711
}
""",
    "a tag": """server {
    listen 80;
    gzip_comp_level {{ level }};  # nginxopt: ignore[gzip-level] INC-4711
}
""",
    "a model that does not take the site": """server {
    listen 80;
    return 200 "${";
    location /status { # nginxopt: ignore-block[status-exposed] INC-4711
        stub_status;
    }
}
""",
    "more patterns than are compared": "".join(
        [
            "server {\n listen 80;\n # nginxopt: ignore[location-never-chosen] INC-4711\n",
            *(f"location ~ ^/{number}$ {{ }}\n" for number in range(201)),
            "}\n",
        ]
    ),
}


@pytest.mark.parametrize("site", SILENT.values(), ids=SILENT.keys())
def test_not_if_a_rule_declined_to_judge(run: Any, files: Any, tmp_path: Path, site: str) -> None:
    """A rule that finds nothing because it cannot judge has not spoken: its suppression stays."""
    files(nginx_conf=WHOLE.format(inside="", site=site))
    output = run("lint", "--select", "all", "--target-version", "1.28.0", "nginx.conf", "--fix").out.decode()
    assert UNUSED not in output
    assert "INC-4711" in (tmp_path / "nginx.conf").read_text()


def test_not_if_a_wildcard_leads_elsewhere(run: Any, files: Any, tmp_path: Path) -> None:
    """A folder outside of that of the main file may have other files on the host, though it exists here."""
    elsewhere = tmp_path.parent / f"{tmp_path.name}-elsewhere"
    elsewhere.mkdir()
    files(nginx_conf=unused().replace("}\n", f"include {elsewhere}/*.conf;\n}}\n"))
    assert UNUSED not in lint(run, "nginx.conf", "--fix")
    assert "INC-4711" in (tmp_path / "nginx.conf").read_text()


def test_an_entry_of_a_rule_that_declined_is_not_gone(run: Any, files: Any, tmp_path: Path) -> None:
    """A baseline has no entry too many because a rule could not judge, in whichever way."""
    site = "server { listen 80; location /status { stub_status; } }\n"
    silent = site.replace("stub_status", "access_by_lua_file a.lua; stub_status")
    select = ("--select", "status-exposed,http2-missing", "nginx.conf")
    version = ("--target-version", "1.28.0")
    files(nginx_conf=WHOLE.format(inside="", site=site))
    run("lint", *select, *version, "--write-baseline", "known.json")
    for text in (
        WHOLE.format(inside="", site=silent),
        WHOLE.format(inside="include missing.conf;\n", site=""),
        SITE,
        WHOLE.format(inside="", site="server { listen ${PORT:-80}; }\n"),
    ):
        (tmp_path / "nginx.conf").write_text(text)
        assert "without a finding" not in run("lint", *select, *version, "--baseline", "known.json").out.decode(), text
    (tmp_path / "nginx.conf").write_text(WHOLE.format(inside="", site=""))
    assert "1 entry without a finding" in run("lint", *select, *version, "--baseline", "known.json").out.decode()


def test_standard_input_and_a_dump(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dump of nginx -T is a whole configuration; a fragment from standard input is not."""
    for text, is_told in (
        (
            "# configuration file /nonexistent-nginx/nginx.conf:\n" + unused().replace("}\n", "include x/*.conf;\n}\n"),
            True,
        ),
        (unused(), True),
        (POOL.format(ids=KEEPALIVE), False),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert (UNUSED in lint(run, "-")) == is_told, text


@pytest.mark.slow
def test_every_version_at_which_rules_change_is_known() -> None:
    """Every version in the code is a bound of a rule or one of the listed changes."""
    written = set()
    for folder in ("rules", "nginxopt"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Version" and len(node.args) == 3:
                    numbers = re.fullmatch(r"Version\((\d+), (\d+), (\d+)\)", ast.unparse(node))
                    written |= {Version.parse(".".join(numbers.groups()))} if numbers else set()
    of_others = {OLDEST, of_tables.OLDEST, of_tables.WITH_308, HOST_ALWAYS, WITH_SIPHASH}  # no rule asks these
    known = {*releases.CHANGES, releases.OLDEST, ASSUMED, *of_others, *GUESSES}
    assert written <= known, "add it to nginxopt.lint.releases.CHANGES"
    assert set(releases.CHANGES) <= written
    points = releases.turning_points(catalogue().values())
    assert set(releases.CHANGES) <= set(points)
    for rule in catalogue().values():
        for point in (rule.since, rule.until):
            assert point is None or {rule.speaks_of(version) for version in points} == {True, False}


def test_server_that_another_main_file_chooses(run: Any, files: Any) -> None:
    """A server in a file of two main files is only reported if neither lets a request reach it."""
    server = "server { listen 8080; server_name _; return 200; }\n"
    including = "include sites/*.conf;\n"
    files(nginx_conf=WHOLE.format(inside=server, site=including), sitesDIRa_conf=server)
    assert "server-never-chosen" in lint(run, "nginx.conf", select="server-never-chosen")
    files(
        nginx_conf=WHOLE.format(inside="", site=including),
        nginx_prod_conf=WHOLE.format(inside=server, site=including),
        sitesDIRa_conf=server,
    )
    assert "server-never-chosen" not in lint(run, "nginx.conf", "nginx.prod.conf", select="server-never-chosen")
