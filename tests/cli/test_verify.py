"""`nginxopt verify`: whether two configurations answer alike, on the command line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.compiling import Ran
from tests.schemas import validate

Run = Callable[..., Ran]

SITE = """events {}
http {
    server {
        listen 80;
        server_name shop.example;
        root /srv/www;
        rewrite ^/old$ /new permanent;
        location / { try_files $uri =404; }
    }
}
"""


@pytest.fixture
def verify(run: Run, tmp_path: Path) -> Callable[..., Ran]:
    """A function that compares the site with another text."""
    (tmp_path / "old.conf").write_text(SITE)

    def call(text: str, *args: str) -> Ran:
        (tmp_path / "new.conf").write_text(text)
        return run("verify", "old.conf", "new.conf", *args)

    return call


def form(ran: Ran) -> dict[str, Any]:
    """The result as JSON, which the schema allows."""
    result: dict[str, Any] = json.loads(ran.out)
    validate(result, "verify")
    return result


def test_equivalent(verify: Callable[..., Ran]) -> None:
    """The same configuration in other words is equivalent, and what was taken as given is listed."""
    ran = verify(SITE.replace("location / {", "# the files\n        location / {\n "))
    assert ran.status == 0
    assert ran.out.startswith(
        b"equivalent: both configurations answer every request alike (1 pair of servers compared)\n"
    )
    assert b"taken as given:\n" in ran.out


def test_different(verify: Callable[..., Ran]) -> None:
    """A difference has a request that shows it, and the directives that decide on both sides."""
    ran = verify(SITE.replace("/new permanent", "/newer permanent"))
    assert ran.status == 1
    assert ran.out.decode().split("\n") == [
        "different: this request is answered differently",
        "  GET /old",
        "  Host: shop.example",
        "  to 127.0.0.1:80",
        "old.conf: 301 -> http://shop.example/new",
        "  by old.conf:7: rewrite ^/old$ /new permanent",
        "new.conf: 301 -> http://shop.example/newer",
        "  by new.conf:7: rewrite ^/old$ /newer permanent",
        "",
    ]


def test_unknown(verify: Callable[..., Ran]) -> None:
    """What is in doubt is listed with its places."""
    ran = verify(SITE.replace("location /", "add_trailer X x; location /"))
    assert ran.status == 5
    assert b"other settings: add_trailer" in ran.out


def test_an_address_of_one_side(verify: Callable[..., Ran]) -> None:
    """Where only one side listens, the other one refuses a request."""
    ran = verify(SITE.replace("listen 80;", "listen 80; listen 81;"))
    assert ran.status == 1
    assert "old.conf: no connection, as nothing listens there" in ran.out.decode().split("\n")


def test_effects_and_premises(run: Run, tmp_path: Path) -> None:
    """The report shows what differs besides the outcomes, for each side, and under which premises."""
    for name in ("a", "b"):
        site = f"proxy_pass http://up:80; add_header X {name}; proxy_set_header Host $host;"
        (tmp_path / f"{name}.conf").write_text(f"events {{ }} http {{ server {{ location / {{ {site} }} }} }}")
    text = run("verify", str(tmp_path / "a.conf"), str(tmp_path / "b.conf")).out.decode()
    assert text.startswith("different: this request is answered differently, if what it needs is so\n")
    assert "\n  if the upstream answers with status 200\n" in text
    assert ("  response header X: a" in text, "  response header X: b" in text) == (True, True)
    result = form(run("verify", str(tmp_path / "a.conf"), str(tmp_path / "b.conf"), "--format", "json"))
    assert result["witness"]["effects"] == [{"what": "response header X", "old": ["a"], "new": ["b"]}]
    assert result["witness"]["premises"] == ["the upstream answers with status 200"]


def test_clients_of_ipv4_are_not_lost_unseen(run: Run, tmp_path: Path) -> None:
    """Without ipv6only=off a socket of IPv6 takes no requests over IPv4 any more."""
    text = "events { } http { server { listen [::]:80 ipv6only=off; return 204; } }"
    (tmp_path / "both.conf").write_text(text)
    (tmp_path / "six.conf").write_text(text.replace(" ipv6only=off", ""))
    ran = run("verify", str(tmp_path / "both.conf"), str(tmp_path / "six.conf"))
    assert ran.status == 5
    assert b"ipv6only differs" in ran.out


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("=404", "=404", "equivalent"),
        ("=404", "=403", "different"),
        ("try_files $uri", "add_trailer A a; try_files $uri", "unknown"),
        ("listen 80", "listen 8080", "different"),
    ],
)
def test_json(verify: Callable[..., Ran], old: str, new: str, verdict: str) -> None:
    """The JSON is as its schema says, and has the same verdict."""
    result = form(verify(SITE.replace(old, new), "--format", "json"))
    assert result["verdict"] == verdict
    assert (result["witness"] is not None) == (verdict == "different")
    assert result["doubts"] or verdict != "unknown"


def test_versions(verify: Callable[..., Ran]) -> None:
    """The two sides may run different versions of nginx."""
    assert verify(SITE, "--old-version", "1.22.1", "--new-version", "1.28.0").status in (0, 5)


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("events {}\nhttp { server { rewrite ^/( /b; } }\n", 3, "new.conf:2"),
        ("events {}\nhttp { server {\n", 3, "new.conf"),
        ("events {}\n", 3, "no http block"),
    ],
)
def test_what_cannot_be_read(verify: Callable[..., Ran], text: str, status: int, message: str) -> None:
    """A configuration that nginx refuses is an error with its place."""
    ran = verify(text)
    assert ran.status == status
    assert message in ran.err
    assert not ran.out


def test_a_part_of_a_site(verify: Callable[..., Ran]) -> None:
    """With --only, a difference elsewhere does not count, and what that takes as given is listed."""
    text = SITE.replace("/new permanent", "/newer permanent")
    ran = verify(text, "--only", "http://shop.example/api/")
    assert ran.status == 0
    assert (
        b"  the rest of the site answers alike, where nginx itself leads requests of this part there (rest-alike)\n"
        in ran.out
    )
    for url in ("http://shop.example", "http://shop.example/o", "http://SHOP.example/old"):
        assert verify(text, "--only", url).status == 1
    assert verify(SITE.replace("location /", "location /api/ { return 403; } location /"), "--only", url).status == 0


def test_a_part_where_only_one_side_listens(verify: Callable[..., Ran]) -> None:
    """A part at a port that one side does not listen at is not equivalent, and other ports do not count."""
    both = SITE.replace("listen 80;", "listen 80; listen 443;")
    ran = verify(both, "--only", "https://shop.example/")
    assert ran.status == 1
    assert b"old.conf: no connection, as nothing listens there" in ran.out
    assert verify(both, "--only", "http://shop.example/").status == 0


def test_a_part_of_another_host(verify: Callable[..., Ran]) -> None:
    """Only the servers of the host are compared."""
    other = "server { listen 80; server_name other.example; return 200 %s; } }\n"
    both = SITE.removesuffix("}\n")
    ran = verify(both + other % "b", "--only", "http://shop.example/")
    assert ran.status == 0
    assert verify(both + other % "b", "--only", "http://other.example/").status == 1


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("shop.example", "--only: a URL begins with http:// or https://\n    shop.example\n    ^"),
        ("http://a.b/c?d", "--only: a part has no arguments\n    http://a.b/c?d\n                ^"),
        ("http://a.b/../c", "--only: nginx resolves //, . and .. in a path\n    http://a.b/../c\n              ^"),
        ("http://a.b//", "--only: nginx resolves //, . and .. in a path"),
        ("http://a.b/c/%2e%2e/d", "--only: nginx resolves //, . and .. in a path"),
        ("https://a.b/", "--only: nothing listens at port 443\n  hint: ports of both configurations: 80"),
    ],
)
def test_a_part_that_no_request_is_in(verify: Callable[..., Ran], url: str, error: str) -> None:
    """A URL that no request can be at is an error with its place, not equivalent in vain."""
    ran = verify(SITE, "--only", url)
    assert ran.status == 2
    assert error in ran.err


_OLD = """location /api/ { proxy_pass http://127.0.0.1:9000; proxy_buffering on; }
location /a { return 200 a; }
location /b { return 200 b; }
location /gone { return 200 c; }
"""
_NEW = _OLD.replace("buffering on", "buffering off").replace("200 a", "200 x").replace("/gone", "/new")
_OTHER = _OLD.replace("buffering on", "buffering off").replace("200 a", "200 x")
_IN_DOUBT = "include nx.conf;\nlocation /a/ { return 200 a; }\n"


@pytest.fixture
def reported(run: Run, tmp_path: Path) -> Callable[..., str]:
    """A function that compares two fragments of a server and returns the report."""

    def call(old: str, new: str, format_: str, *args: str) -> str:
        (tmp_path / "old.conf").write_text(old)
        (tmp_path / "new.conf").write_text(new)
        ran = run("verify", "old.conf", "new.conf", "--context", "server", "--format", format_, *args)
        return ran.out.decode()

    return call


def test_the_summary(reported: Callable[..., str]) -> None:
    """Servers and locations are counted by state, and those that are not equal are listed."""
    text = reported(_OLD, _NEW, "text")
    assert "\n1 place may answer differently, 1 changes what upstreams get, 1 is gone, 1 is new, 2 are equal\n" in text
    assert "  server /api/ changes what upstreams get: proxy_buffering\n" in text
    assert "  server /gone is gone\n" in text
    assert "  server /new is new\n" in text
    assert "is gone" not in reported(_OLD, _OLD.replace("on;", "ON;"), "text")


def test_the_summary_as_json(reported: Callable[..., str]) -> None:
    """The same with places; an equivalence has only equal ones."""
    result = json.loads(reported(_OLD, _NEW, "json"))
    validate(result, "verify")
    assert result["summary"] == {"differs": 1, "upstream": 1, "removed": 1, "added": 1, "equal": 2}
    states = {each["location"]: (each["state"], each["settings"]) for each in result["places"]}
    assert states["/api/"] == ("upstream", ["proxy_buffering"])
    same = json.loads(reported(_OLD, _OLD, "json"))
    assert same["summary"] == {"equal": 5}
    assert not same["places"]


def test_markdown(reported: Callable[..., str]) -> None:
    """The headline, the request as code, the table, the premises; nothing of a configuration is markup."""
    text = reported(_OLD, _OTHER, "markdown")
    assert text.startswith("### nginxopt verify: different: this request is answered differently\n")
    assert "\n```\n  GET /a" in text
    assert "| server /api/ | changes what upstreams get | proxy\\_buffering |\n" in text
    doubt = reported(_IN_DOUBT, _IN_DOUBT.replace("/a/", "^~ /a/"), "markdown")
    assert "Both answer alike, if unread-neutral." in doubt


def test_github(reported: Callable[..., str]) -> None:
    """An error for the request, notices for places, and the summary last; a warning for what is in doubt."""
    lines = reported(_OLD, _OTHER, "github").splitlines()
    assert lines[0].startswith("::error file=new.conf,line=2,title=nginxopt verify::a request is answered differently")
    assert "::notice file=new.conf,line=2,title=nginxopt verify::server /a may answer differently" in lines
    assert lines[-1].startswith("::notice title=nginxopt verify::different: ")
    doubt = reported(_IN_DOUBT, _IN_DOUBT.replace("/a/", "^~ /a/"), "github")
    assert doubt.startswith("::warning ")


def test_sarif(reported: Callable[..., str]) -> None:
    """A result for the request and each place, at its line."""
    (run,) = json.loads(reported(_OLD, _OTHER, "sarif"))["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in run["results"]} <= rules
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "new.conf"}, "region": {"startLine": 2}}
    assert run["properties"]["verdict"] == "different"
    (same,) = json.loads(reported(_OLD, _OLD, "sarif"))["runs"]
    assert same["results"] == []


def test_html(reported: Callable[..., str]) -> None:
    """One page, which escapes what it shows."""
    text = reported(_OLD, _OTHER.replace("200 x", "200 '<b>'"), "html")
    assert "<h1>different: this request is answered differently</h1>" in text
    assert "<b>3</b>are equal" in text
    assert "&lt;b&gt;" in text
    assert "unread-neutral" in reported(_IN_DOUBT, _IN_DOUBT.replace("/a/", "^~ /a/"), "html")


def test_premises_are_options(reported: Callable[..., str], run: Run, tmp_path: Path) -> None:
    """A premise that a result names settles it; one that is denied is in doubt; a file may be read instead."""
    new = _IN_DOUBT.replace("/a/", "^~ /a/")
    assert "\nhelp: --assume unread-neutral\n" in reported(_IN_DOUBT, new, "text")
    for premise in ("unread-neutral", "include:nx.conf=neutral", "unread-silent=location", "include:nx.conf=empty"):
        assert reported(_IN_DOUBT, new, "text", "--assume", premise).startswith("equivalent: "), premise
    (tmp_path / "read").write_text("location ~ x$ { return 200 hidden; }")
    assert reported(_IN_DOUBT, new, "text", "--assume", "include:nx.conf=read").startswith("different: ")
    assert reported(_IN_DOUBT, _IN_DOUBT, "text", "--deny", "unread-same").startswith(
        "unknown: equivalent, if unread-same"
    )
    ran = run("verify", "old.conf", "new.conf", "--context", "server", "--assume", "include:ny.conf=neutral")
    assert ran.status == 2
    assert "no include of ny.conf is missing" in ran.err
    ran = run("verify", "old.conf", "new.conf", "--context", "server", "--assume", "unread-netral")
    assert ran.status == 2
    assert 'did you mean "unread-neutral"?' in ran.err


def test_git_difftool(tmp_path: Path) -> None:
    """The tool of the guide compares a file with that of the last commit, and a work tree has all files of one."""
    if shutil.which("git") is None:
        pytest.skip("no git")
    guide = (Path(__file__).parents[2] / "docs/guide/verify.md").read_text()
    assert """git config difftool.nginxopt.cmd 'nginxopt verify "$LOCAL" "$REMOTE"'""" in guide
    repository = tmp_path / "repository"
    repository.mkdir()

    def git(*args: str) -> str:
        own = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        ran = subprocess.run(["git", *own, *args], cwd=repository, capture_output=True, text=True, check=False)
        return ran.stdout + ran.stderr

    git("init", "-q")
    (repository / "nginx.conf").write_text(SITE)
    git("add", "nginx.conf")
    git("commit", "-qm", "a")
    (repository / "nginx.conf").write_text(SITE.replace("/new permanent", "/newer permanent"))
    verifying = f'{sys.executable} -m nginxopt verify "$LOCAL" "$REMOTE" --target-version 1.28.0'
    git("config", "difftool.nginxopt.cmd", verifying)
    shown = git("difftool", "--no-prompt", "--tool", "nginxopt", "HEAD", "--", "nginx.conf")
    assert "different: this request is answered differently" in shown, shown
    git("worktree", "add", "../base", "HEAD")
    assert (tmp_path / "base/nginx.conf").read_text() == SITE


@pytest.mark.parametrize("placeholder", ["${BASE_PATH}", "__PATH__"])
@pytest.mark.parametrize("command", [["verify", "old.conf"], ["trace"], ["test"]])
def test_placeholders_are_refused_where_nginx_has_no_variables(
    run: Run, tmp_path: Path, command: list[str], placeholder: str
) -> None:
    """No request reaches `location ${BASE_PATH}`, as nginx takes it; the rendered file has another path there."""
    text = "server { listen 80; location %s { proxy_pass http://127.0.0.1:%d; } }"
    (tmp_path / "old.conf").write_text(text % (placeholder, 1))
    (tmp_path / "new.conf").write_text(text % (placeholder, 2))
    (tmp_path / "urls.csv").write_text("from,to,status\nhttp://a.test/a,,200\n")
    rest = {"verify": [], "trace": ["http://a.test/"], "test": ["urls.csv"]}[command[0]]
    ran = run(*command, "new.conf", *rest)
    assert ran.status == 3
    assert "conf:1:30: this is " in ran.err
    assert ": check the rendered file\n" in ran.err


@pytest.mark.parametrize(
    "text",
    [
        "set $BASE a; location / { return 200 ${BASE}; }",
        "location / { proxy_pass http://${BACKEND}; }",
        "location / { content_by_lua_block { ngx.say('${NAME}') } }",
    ],
)
def test_names_of_variables_are_no_placeholders(run: Run, tmp_path: Path, text: str) -> None:
    """In capitals, too, where nginx looks for variables; the code of a program is its own."""
    (tmp_path / "old.conf").write_text(f"server {{ listen 80; {text} }}")
    assert run("verify", "old.conf", "old.conf").status == 0


def test_a_dump_has_no_placeholders(run: Run, tmp_path: Path) -> None:
    """nginx prints what it read."""
    text = "# configuration file /etc/nginx/nginx.conf:\nevents {}\nhttp { server { location ${A} { return 200; } } }\n"
    (tmp_path / "old.conf").write_text(text)
    assert run("verify", "old.conf", "old.conf").status == 0
