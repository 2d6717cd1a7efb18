"""Fragments: what is around them is unknown, or that of a main file that is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_cli_files import Ran

SITE = """upstream app { server 10.0.0.1:8080; keepalive 32; }
server {
    listen 80;
    gzip on;
    location / {
        proxy_pass http://app;
    }
}
"""
MAIN = "events {}\nhttp {\n    @\n    include sites/*.conf;\n}\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The working directory, with a file of a site."""
    (tmp_path / "a.conf").write_text(SITE)
    return tmp_path


def lint(run: Any, *args: str) -> str:
    """The report of `lint`."""
    ran: Ran = run("lint", "--target-version", "1.28.0", *args)
    return ran.out.decode()


@pytest.mark.usefixtures("site")
def test_what_could_not_be_asked_is_counted(run: Any) -> None:
    """Without a main file, a note counts the rules that asked for what may be around, and says how to name it."""
    output = lint(run, "a.conf", "--select", "proxy-http-version,gzip-types-default,sendfile")
    assert "3 rules could not judge all, as the file that includes this one may set " in output
    assert "gzip_types" in output
    assert "proxy_http_version" in output
    assert "--assume stock" in output


@pytest.mark.usefixtures("site")
def test_a_stock_main_file(run: Any) -> None:
    """In a stock nginx.conf what it does not set is the default, and all rules can be asked."""
    output = lint(run, "a.conf", "--assume", "stock", "--select", "proxy-http-version,gzip-types-default,sendfile")
    assert "could not judge all" not in output
    assert "a.conf:6:9: warning proxy-http-version" in output
    assert "a.conf:4:5: warning gzip-types-default" in output


@pytest.mark.parametrize("by", ["option", "setting"])
def test_a_main_file_that_is_named(run: Any, site: Path, by: str) -> None:
    """The settings of a main file hold in a fragment; nothing is reported about the main file itself."""
    (site / "main.conf").write_text(
        MAIN.replace("@", "proxy_http_version 1.1; gzip_types text/css; tcp_nodelay off;", 1)
    )
    chosen = ["--assume", "./main.conf"]
    if by == "setting":
        (site / "nginxopt.toml").write_text('main = "main.conf"\n')
        chosen = ["--config", "nginxopt.toml"]
    rules = "proxy-http-version,gzip-types-default,tcp-nodelay-off,proxy-connection-not-cleared"
    output = lint(run, "a.conf", "--select", rules, *chosen)
    assert "proxy-http-version" not in output
    assert "gzip-types-default" not in output
    assert "proxy-connection-not-cleared" in output
    assert "main.conf:" not in output


def test_a_fix_stays_in_the_fragment(run: Any, site: Path) -> None:
    """`--fix` changes the fragment only, and needs the premise that nothing else passes to the upstream."""
    main = MAIN.replace("@", "proxy_set_header Host $host;", 1)
    (site / "main.conf").write_text(main)
    premises = "http11-backends,idle-connections,whole-configuration"
    lint(run, "a.conf", "--fix", "--assume", f"./main.conf,{premises}", "--select", "proxy-http-version")
    text = (site / "a.conf").read_text()
    assert (site / "main.conf").read_text() == main
    assert text.count("proxy_http_version 1.1;") == 1
    assert text.count("proxy_set_header Host $host;") == 1, "the inherited header is kept"
    assert text.count('proxy_set_header Connection "";') == 1


KEYS = "".join(f"/page/{number} /{number};" for number in range(4_000))
BESIDE = {  # what two files have, and the line that a fix of each would add beside the other
    "sendfile": ("server { listen 127.0.0.1:%d; root /srv/a; }", "sendfile on;"),
    "map-hash-size": (f"map $uri $x%d {{ {KEYS} }}", "map_hash_max_size"),
    "gzip-types-default": ("gzip on; server { listen 127.0.0.1:%d; root /srv/a; }", "gzip_types text"),
    "implicit-upstream": ("server { listen 127.0.0.1:%d; location / { proxy_pass http://10.0.0.1; } }", "upstream"),
}


@pytest.mark.parametrize("rule", BESIDE)
@pytest.mark.parametrize("main", ["stock", "./main.conf"])
def test_no_line_that_files_beside_each_other_would_repeat(run: Any, tmp_path: Path, rule: str, main: str) -> None:
    """nginx refuses a directive that two files of a level state: the report says so, and no file gets the line."""
    content, line = BESIDE[rule]
    (tmp_path / "main.conf").write_text(MAIN.replace("@", "sendfile off;" if "sendfile" not in rule else "", 1))
    (tmp_path / "sites").mkdir()
    for number in (8101, 8102):
        (tmp_path / f"sites/{number}.conf").write_text(content % number)
    fixes = ["--fix", "--unsafe-fixes", "--assume", f"{main},local-files"]
    output = lint(run, "sites", *fixes, "--select", rule)
    texts = [path.read_text() for path in (tmp_path / "sites").iterdir()]
    assert not any(line in text for text in texts)
    if not (rule == "sendfile" and main == "stock"):  # it is on there
        told = output.count("(not by --fix: another file that nginx includes may have it already")
        assert told == (1 if "also: 1 more place: " in output else 2)


@pytest.mark.parametrize(
    ("names", "words"),
    [("./none.conf", "cannot be read"), ("./a.conf", "has no http block"), ("stock,./main.conf", "two main files")],
)
def test_what_is_no_main_file(run: Any, site: Path, names: str, words: str) -> None:
    """A file that does not exist, a fragment, and two main files are errors."""
    (site / "main.conf").write_text(MAIN.replace("@", "", 1))
    ran: Ran = run("lint", "a.conf", "--assume", names)
    assert ran.status in (2, 3)
    assert words in ran.err


def test_a_main_configuration_is_its_own(run: Any, site: Path) -> None:
    """A main configuration is judged as it is, whatever main file is assumed for fragments."""
    (site / "nginx.conf").write_text(MAIN.replace("@", SITE, 1))
    outputs = [lint(run, "nginx.conf", *more) for more in ([], ["--assume", "stock"])]
    assert outputs[0] == outputs[1]
