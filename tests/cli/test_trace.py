"""`nginxopt trace`: what becomes of a request, on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nginxopt.request import real
from tests.cli.compiling import Ran
from tests.schemas import validate
from tests.support import the_nginx

Run = Callable[..., Ran]

SITE = """events {}
http {
    add_header X-A "b c";
    map $uri $moved { /gone /new; default ""; }
    upstream app { server 10.0.0.1:8080; }
    geo $from { default out; 10.0.0.0/8 in; }
    server {
        listen 80 default_server;
        return 301 https://$host$request_uri;
    }
    server {
        listen 443 ssl; ssl_certificate a; ssl_certificate_key a;
        server_name shop.example www.shop.example;
        root /srv/www;
        rewrite ^/old/(.*)$ /new/$1 permanent;
        if ($moved) { return 302 $moved; }
        location / { try_files $uri @app; }
        location = /who { return 200 "$from $http_x_b $arg_q"; }
        location ~ \\.php$ { fastcgi_pass 127.0.0.1:9000; fastcgi_param A b; }
        location @app { proxy_pass http://app; proxy_read_timeout 5s; }
        location /lua { content_by_lua_file a.lua; }
    }
}
"""


@pytest.fixture
def trace(run: Run, tmp_path: Path) -> Run:
    """A function that traces a request to the site for nginx 1.22.1."""
    (tmp_path / "nginx.conf").write_text(SITE)
    return lambda *args: run("trace", "nginx.conf", *args, "--target-version", "1.22.1")


def first(ran: Ran) -> str:
    """The answer in one line."""
    assert ran.status == 0, ran.err
    return ran.out.decode().partition("\n")[0]


def form(ran: Ran) -> dict[str, Any]:
    """The trace as JSON, which the schema allows."""
    assert ran.status == 0, ran.err
    result: dict[str, Any] = json.loads(ran.out)
    validate(result, "trace")
    return result


def test_a_trace_for_people(trace: Run) -> None:
    """The answer comes first, then the decisions in nginx's order with their places, then the settings."""
    assert trace("https://shop.example/old/42?x=1").out.decode() == (
        "301 -> https://shop.example/new/42?x=1\n"
        "  by nginx.conf:15: rewrite ^/old/(.*)$ /new/$1 permanent\n"
        "\n"
        "> GET /old/42?x=1 HTTP/1.1\n"
        "> Host: shop.example\n"
        "* connected to 127.0.0.1:443 with TLS for shop.example\n"
        "* socket     nginx.conf:12  listen 443 ssl\n"
        "* server     nginx.conf:11  server_name shop.example www.shop.example\n"
        "* rewrite    nginx.conf:15  rewrite ^/old/(.*)$ /new/$1 permanent\n"
        '      $1 = "42"\n'
        "      -> /new/42?x=1\n"
        "< HTTP 301\n"
        "< Location: https://shop.example/new/42?x=1\n"
        "< X-A: b c    (nginx.conf:3)\n"
        "\n"
        "Settings in force\n"
        '  nginx.conf:3: add_header X-A "b c"\n'
        "\n"
        "for nginx 1.22.1 (stated)\n"
    )


@pytest.mark.parametrize(
    ("args", "answer"),
    [
        (["http://any.example/x?y"], "301 -> https://any.example/x?y"),
        (["https://www.shop.example/gone"], "302 -> https://www.shop.example/new"),
        (["https://shop.example/who"], "200 with a body that is not known"),
        (["https://shop.example/who", "--client", "10.1.2.3"], '200 "in  "'),
        (["POST", "https://shop.example/who?q=1", "-H", "X-B: 2", "--client", "8.8.8.8"], '200 "out 2 1"'),
        (["POST https://shop.example/a.php"], "passed on to fastcgi://127.0.0.1:9000"),
        (["https://shop.example/a"], "depends on files"),
        (["https://shop.example/a", "--assume", "exists=/srv/www/a"], "200 /srv/www/a"),
        (["https://shop.example/a?b", "--assume", "missing=/srv/www/a"], "passed on to http://app: GET /a?b"),
        (
            ["https://shop.example/a", "--assume", "exists=/srv/www/a", "-H", "Range: bytes=0-1"],
            "the file /srv/www/a",
        ),
        (["https://shop.example/lua"], "unknown: Lua (content_by_lua_file)"),
        (["https://shop.example/%"], "400 by nginx itself"),
        (["https://10.0.0.7/old/1", "--sni", "shop.example"], "301 -> https://10.0.0.7/new/1"),
        (["http://shop.example:8080/x", "--connect", "127.0.0.1:80"], "301 -> https://shop.example/x"),
    ],
)
def test_answers(trace: Run, args: list[str], answer: str) -> None:
    """The first line is what becomes of the request, and the status is 0 even if that is unknown."""
    assert first(trace(*args)) == answer


def test_files_are_looked_for_in_a_folder(trace: Run, tmp_path: Path) -> None:
    """`--root` is the folder that stands for the root of the disk."""
    (tmp_path / "disk/srv/www").mkdir(parents=True)
    (tmp_path / "disk/srv/www/a").write_text("x")
    assert first(trace("https://shop.example/a", "--root", "disk")) == "200 /srv/www/a"
    assert first(trace("https://shop.example/b", "--root", "disk")) == "passed on to http://app: GET /b"


def test_what_is_not_known_says_how_to_answer(trace: Run) -> None:
    """An unknown outcome has its place, and the options that decide it."""
    lines = trace("https://shop.example/lua/").out.decode().splitlines()
    assert lines[:2] == ["unknown: Lua (content_by_lua_file)", "  by nginx.conf:21: content_by_lua_file a.lua"]


def test_an_answer_for_each_file(trace: Run) -> None:
    """Where the answer depends on files, each answer stands beside its condition, and the directive below."""
    lines = trace("https://shop.example/a").out.decode().splitlines()
    assert lines[:5] == [
        "depends on files",
        "  if /srv/www/a exists  200 /srv/www/a",
        "                        by nginx.conf:17: location /",
        "  otherwise             passed on to http://app: GET /a",
        "                        by nginx.conf:20: proxy_pass http://app",
    ]


def test_an_answer_for_each_file_as_json(trace: Run) -> None:
    """The kind is `depends`, and each branch has what exists, what does not, and an outcome of its own."""
    outcome = form(trace("https://shop.example/a", "--format", "json"))["outcome"]
    assert (outcome["kind"], outcome["status"]) == ("depends", None)
    there, otherwise = outcome["branches"]
    assert (there["exists"], there["missing"]) == (["/srv/www/a"], [])
    assert (there["outcome"]["kind"], there["outcome"]["file"]) == ("static", "/srv/www/a")
    assert (otherwise["exists"], otherwise["missing"]) == ([], ["/srv/www/a"])
    assert otherwise["outcome"]["upstream"]["server"] == "app"
    assert otherwise["location"]["text"] == "location @app"


def test_files_of_a_list(trace: Run, tmp_path: Path) -> None:
    """`--exists` takes the output of find: what is not in it is not there, and other folders stay unknown."""
    (tmp_path / "files").write_text("/srv/www\n/srv/www/a\n/srv/www/d\n/srv/www/d/b\n")
    listed = ("--exists", "files")
    assert first(trace("https://shop.example/a", *listed)) == "200 /srv/www/a"
    assert first(trace("https://shop.example/b", *listed)) == "passed on to http://app: GET /b"
    assert first(trace("https://shop.example/d", *listed)) == "passed on to http://app: GET /d"
    assert first(trace("https://shop.example/a", *listed, "--assume", "missing=/srv/www/a")).startswith("passed on")
    assert "files: a path with no other one below it is a file" in trace("https://shop.example/a", *listed).out.decode()
    (tmp_path / "files").write_text("/srv/www/e/\n")
    assert first(trace("https://shop.example/e", *listed)) == "passed on to http://app: GET /e"
    assert first(trace("https://shop.example/a", *listed)) == "depends on files"
    (tmp_path / "files").write_text("./a\n")
    ran = trace("https://shop.example/a", *listed)
    assert (ran.status, "not an absolute path" in ran.err) == (3, True)
    assert trace("https://shop.example/a", *listed, "--root", "/").status in (2, 3)


PARTS = """events {}
http {
    server {
        listen 80; server_name shop.example;
        include snippets/%s;
        location /moved { return 301 /new; }
        location / { proxy_pass http://10.0.0.1; }
    }
}
"""


@pytest.fixture
def parts(run: Run, tmp_path: Path) -> Run:
    """A function that traces a request to a site with a missing include."""
    (tmp_path / "nginx.conf").write_text(PARTS % "headers.conf")
    return lambda *args: run("trace", "nginx.conf", *args, "--target-version", "1.22.1")


def test_a_missing_include_is_proposed_as_a_premise(parts: Run) -> None:
    """What an unread file may do makes an outcome unknown; the help line has the premises that settle it."""
    lines = parts("http://shop.example/moved").out.decode().splitlines()
    assert lines[:3] == [
        "unknown: snippets/headers.conf is missing",
        "  by nginx.conf:5: include snippets/headers.conf",
        "  help: answer with --assume include:snippets/headers.conf=neutral if that file changes no more than headers"
        " and bodies, or include:snippets/headers.conf=FILE",
    ]


@pytest.mark.parametrize("premise", ["include:snippets/headers.conf=neutral", "unread-neutral"])
def test_a_neutral_file_adds_headers(parts: Run, premise: str) -> None:
    """The answer is as without the file, but for headers and bodies; the premise is named."""
    result = form(parts("http://shop.example/moved", "--assume", premise, "--format", "json"))
    outcome = result["outcome"]
    assert (outcome["kind"], outcome["status"], outcome["location"]) == ("redirect", 301, "http://shop.example/new")
    assert outcome["unknown"]["reason"] == "what snippets/headers.conf adds"
    assert "snippets/headers.conf changes nothing but headers and bodies (neutral)" in [
        premise["premise"] for premise in result["premises"]
    ]


@pytest.mark.parametrize("premise", ["include:snippets/headers.conf=empty", "unread-empty"])
def test_an_empty_file_adds_nothing(parts: Run, premise: str) -> None:
    """The answer is as without the include."""
    outcome = form(parts("http://shop.example/moved", "--assume", premise, "--format", "json"))["outcome"]
    assert (outcome["kind"], outcome["unknown"]) == ("redirect", None)


def test_a_file_stands_for_a_missing_one(parts: Run, tmp_path: Path) -> None:
    """It is read in place of the include, and may itself include what is missing."""
    (tmp_path / "own.conf").write_text("location = /own { return 410; } include more.conf;")
    own = "include:snippets/headers.conf=own.conf"
    assert first(parts("http://shop.example/own", "--assume", own)) == "unknown: more.conf is missing"
    both = ("--assume", own, "--assume", "include:more.conf=empty")
    assert first(parts("http://shop.example/own", *both)) == "410 by return"


@pytest.mark.parametrize(
    ("premise", "message"),
    [
        ("include:other.conf=empty", "no include of other.conf is missing"),
        ("include:snippets/headers.conf", "invalid assumption"),
        ("unread-nothing", "invalid assumption"),
        ("include:snippets/headers.conf=none.conf", "cannot be read"),
    ],
)
def test_wrong_premises(parts: Run, premise: str, message: str) -> None:
    """A premise about no missing include, and one that nobody knows, are usage errors."""
    ran = parts("http://shop.example/", "--assume", premise)
    assert (ran.status, message in ran.err) == (2, True)


def test_rows_of_an_unread_table_are_not_neutral(run: Run, tmp_path: Path) -> None:
    """What a map includes decides its values."""
    text = "events {} http { map $uri $new { include new.map; } server { listen 80; if ($new) { return 301 $new; } } }"
    (tmp_path / "nginx.conf").write_text(text)
    asked = ("trace", "nginx.conf", "http://h/", "--target-version", "1.22.1", "--assume")
    assert first(run(*asked, "unread-neutral")) == "unknown: new.map is missing"
    assert first(run(*asked, "unread-empty")) == "depends on files"


def test_the_snippet_of_debian_is_known(run: Run, tmp_path: Path) -> None:
    """`fastcgi-php.conf` asks for the script, and nothing else."""
    text = "root /srv; location ~ \\.php$ { include snippets/fastcgi-php.conf; fastcgi_pass unix:/run/php.sock; }"
    (tmp_path / "nginx.conf").write_text(f"events {{}} http {{ server {{ listen 80; {text} }} }}")
    ran = run("trace", "nginx.conf", "http://h/a.php", "--target-version", "1.22.1")
    assert [line.strip() for line in ran.out.decode().splitlines()[:4:2]] == [
        "depends on files",
        "by nginx.conf:1: fastcgi_pass unix:/run/php.sock",
    ]
    assert "snippets/fastcgi-php.conf is the file of Debian's package" in ran.out.decode()


def test_settings_of_a_pass(trace: Run) -> None:
    """The settings of its protocol are those in force at the location that passes the request on."""
    result = form(trace("https://shop.example/a", "--assume", "missing=/srv/www/a", "--format", "json"))
    settings = {setting["name"]: setting["directives"] for setting in result["settings"]}
    assert settings["proxy_read_timeout"] == [{"file": "nginx.conf", "line": 20, "text": "proxy_read_timeout 5s"}]
    assert result["location"] == {"file": "nginx.conf", "line": 20, "text": "location @app"}
    assert result["outcome"]["upstream"] == {"server": "app", "scheme": "http", "method": "GET", "target": "/a"}


def test_a_trace_as_json(trace: Run) -> None:
    """The JSON has the request, the outcome, server and location, and the steps with their places."""
    result = form(trace("https://shop.example/old/42", "--format", "json"))
    assert result["request"]["headers"][0] == {"name": "Host", "value": "shop.example"}
    assert (result["request"]["tls"], result["request"]["sni"]) == (True, "shop.example")
    assert result["outcome"]["kind"] == "redirect"
    assert result["outcome"]["by"]["line"] == 15
    assert result["outcome"]["headers"][0]["by"]["line"] == 3
    assert result["server"]["names"] == ["shop.example", "www.shop.example"]
    assert result["location"] is None
    assert [step["kind"] for step in result["steps"][:3]] == ["socket", "server", "rewrite"]
    assert result["steps"][2]["captures"] == ["/old/42", "42"]


def test_an_unknown_outcome_as_json(trace: Run) -> None:
    """What is not known has its reason, its place and the question."""
    result = form(trace("https://shop.example/a", "--format", "json"))
    assert result["outcome"]["unknown"] == {
        "reason": "whether /srv/www/a exists",
        "at": {"file": "nginx.conf", "line": 17, "text": "try_files $uri @app"},
        "question": {"kind": "file", "about": "/srv/www/a"},
    }


def test_bytes_that_are_no_text_are_escaped(run: Run, tmp_path: Path) -> None:
    """Text is shown as it reads, and other bytes as escapes."""
    (tmp_path / "nginx.conf").write_bytes('events {} http { server { return 200 "é$arg_a"; } }'.encode())
    ran = run("trace", "nginx.conf", "http://a/?a=%ff", "--format", "json")
    assert form(ran)["outcome"]["body"] == "é%ff"
    (tmp_path / "nginx.conf").write_bytes(b"events {} http { server { return 200 \xff; } }")
    assert form(run("trace", "nginx.conf", "http://a/", "--format", "json"))["outcome"]["body"] == "\\xff"


def test_a_file_of_a_configuration_is_traced_with_all_of_it(run: Run, tmp_path: Path) -> None:
    """A file that the main configuration includes is part of that; another one stands alone, which is said."""
    (tmp_path / "nginx.conf").write_text("events {} http { add_header A b; include shop.conf; }")
    (tmp_path / "shop.conf").write_text("server { return 301 /x; }")
    (tmp_path / "other.conf").write_text("rewrite ^/a /b permanent;")
    assert "< A: b" in run("trace", "shop.conf", "http://a/").out.decode()
    assert "Taken as given" in run("trace", "other.conf", "http://a/a").out.decode()
    assert first(run("trace", "other.conf", "http://a/a", "--context", "server")) == "301 -> http://a/b"


def test_the_output_of_nginx_is_read(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input may be what `nginx -T` prints."""
    dump = tmp_path / "dump"
    dump.write_text("# configuration file /etc/nginx/nginx.conf:\nevents {} http { server { return 302 /x; } }\n")
    with dump.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert first(run("trace", "-", "http://a/")) == "302 -> http://a/x"


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        ([], 2, "expected a URL, or a method and a URL"),
        (["a", "b", "c"], 2, "expected a URL, or a method and a URL"),
        (["shop.example/"], 2, "a URL begins with http:// or https://\n    shop.example/\n    ^"),
        (["GET http://a b/"], 2, "a space in the"),
        (["http://shop.example:99/"], 2, "no server listens at port 99"),
        (["http://a/", "--client", "x"], 2, "--client x: not an IP address"),
        (["http://a/", "--connect", "x"], 2, "--connect x: not HOST:PORT"),
        (["http://a/", "--assume", "x"], 2, "invalid assumption 'x'"),
        (["http://a/", "--assume", "exists=a"], 2, "the path of a file begins with /"),
        (["http://a/", "--assume", "a-b=c"], 2, '"a-b" is not the name of a variable'),
        (["http://a/", "--assume", "exists=/a", "--assume", "missing=/a"], 2, "both as existing and as missing"),
    ],
)
def test_usage_errors(trace: Run, args: list[str], status: int, message: str) -> None:
    """What is no request, and no fact, is refused with the reason."""
    ran = trace(*args)
    assert ran.status == status
    assert message in ran.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("events {} http { server { return 1000; } }", "nginx.conf:1:"),
        ("events {} http { server { rewrite ^/( /b; } }", "nginx.conf:1:"),
        ("events {} http { server { location /a { } location /a { } } }", 'duplicate location "/a"'),
        ("events {", "this block is not closed"),
        ("events {}", "there is no http block"),
    ],
)
def test_a_configuration_that_nginx_refuses(run: Run, tmp_path: Path, text: str, message: str) -> None:
    """A configuration that nginx does not start with is an error with its place, status 3."""
    (tmp_path / "nginx.conf").write_text(text)
    ran = run("trace", "nginx.conf", "http://a/")
    assert ran.status == 3
    assert message in ran.err


def test_a_real_nginx_is_asked(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--nginx` compares the answer of nginx: the same, or another one with status 1."""
    the_nginx()
    (tmp_path / "nginx.conf").write_text("events {} http { server { listen 80; return 302 /x; } }")
    ran = run("trace", "--nginx", "nginx.conf", "http://a/")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.decode().splitlines()[:3] == [
        "302 -> http://a/x",
        "  by nginx.conf:1: return 302 /x",
        "  nginx answers the same",
    ]
    assert form(run("trace", "nginx.conf", "http://a/", "--nginx", "--format", "json"))["nginx"]["compared"]
    monkeypatch.setattr(real, "differences", lambda *_: ["nginx answers 200, not 302"])
    differing = run("trace", "nginx.conf", "http://a/", "--nginx")
    assert differing.status == 1
    assert "  differs: nginx answers 200, not 302\n" in differing.out.decode()


def test_a_real_nginx_is_asked_by_this_machine(run: Run, tmp_path: Path) -> None:
    """With `--client`, what nginx is not asked is said: another client, and nothing where that gets another answer."""
    the_nginx()
    text = "location / { deny 10.0.0.1; return 204; } location /x { deny 10.0.0.1; proxy_pass http://127.0.0.1:9; }"
    (tmp_path / "nginx.conf").write_text(f"events {{}} http {{ server {{ listen 80; {text} }} }}")
    note = "nginx is asked by 127.0.0.1, not by 10.0.0.1 (--client)"
    same = run("trace", "nginx.conf", "http://a/", "--nginx", "--client", "10.0.0.1").out.decode()
    assert "  nginx answers the same\n" in same
    assert note in same
    other = run("trace", "nginx.conf", "http://a/x", "--nginx", "--client", "10.0.0.1").out.decode()
    assert "  nginx was not asked: its client is 127.0.0.1, which gets another answer than 10.0.0.1\n" in other
    assert note in other
    assert "nginx is asked by" not in run("trace", "nginx.conf", "http://a/x", "--client", "10.0.0.1").out.decode()
    local = run("trace", "nginx.conf", "http://a/x", "--nginx", "--client", "127.0.0.1").out.decode()
    assert "  nginx answers the same\n" in local
    assert "nginx is asked by" not in local


def test_builds(run: Run, tmp_path: Path) -> None:
    """`--build-fix` names what a build has besides its version, which `--nginx` finds by itself."""
    text = 'rewrite ^/e/(.*)$ /y?z=1; set $first $1; return 200 "[$first]";'
    (tmp_path / "nginx.conf").write_text(f"events {{}} http {{ server {{ location /e/ {{ {text} }} }} }}")
    call = ("trace", "nginx.conf", "http://a/e/a%20b", "--target-version", "1.22.1")
    assert first(run(*call)) == '200 "[a%20b]"'
    assert first(run(*call, "--build-fix", "CVE-2026-42945")) == '200 "[a b]"'
    the_nginx()
    ran = run(*call, "--nginx")
    assert ran.status == 2
    assert "--nginx is the target" in ran.err


def test_an_unknown_address_is_answered_with_client(trace: Run) -> None:
    """What depends on the address of the client is answered with `--client`, which `allow` and `geo` read as well."""
    out = trace("https://shop.example/who").out.decode()
    assert "help: answer with --client ADDRESS" in out
    assert "--assume" not in out
    assert trace("https://shop.example/who", "--client", "10.0.0.1").out.decode().startswith('200 "in  "')


def test_limits_are_premises(run: Run, tmp_path: Path) -> None:
    """Other requests may have used a limit up; what a request beyond it gets is said."""
    text = "limit_req_zone $uri zone=z:1m rate=1r/s; server { listen 80; limit_req zone=z; %s location / { root /w; } }"
    asked = ("trace", "nginx.conf", "http://h/a", "--assume", "exists=/w/a", "--target-version", "1.22.1")
    for stated, status in (("", "503"), ("limit_req_status 429;", "429")):
        (tmp_path / "nginx.conf").write_text(f"events {{}} http {{ {text % stated} }}")
        expected = f"limit_req zone=z is not exceeded; a request beyond it gets {status} by nginx itself\n"
        assert expected in run(*asked).out.decode()
    page = "error_page 503 /busy; location = /busy { limit_req zone=z; return 200 busy; }"
    (tmp_path / "nginx.conf").write_text(f"events {{}} http {{ {text % page} }}")
    assert 'a request beyond it gets 503 "busy"\n' in run(*asked).out.decode()
    premise = json.loads(run(*asked, "--format", "json").out)["premises"][-1]
    assert [(each["status"], each["body"]) for each in premise["otherwise"]] == [(503, "busy")]
    (tmp_path / "nginx.conf").write_text(f"events {{}} http {{ {text % 'limit_req_dry_run on;'} }}")
    assert "is not exceeded" not in run(*asked).out.decode()


def test_an_explanation(trace: Run) -> None:
    """What the client sees comes first, then why, in sentences with the places of directives."""
    told = trace("https://shop.example/old/42", "--explain").out.decode()
    assert told == (
        "The client is redirected with 301 to https://shop.example/new/42,"
        " by `rewrite ^/old/(.*)$ /new/$1 permanent` (nginx.conf:15).\n"
        "\n"
        "1. The client connects to 127.0.0.1:443 with TLS, where nginx listens by `listen 443 ssl` (nginx.conf:12).\n"
        "2. The host shop.example leads to the server at nginx.conf:11, whose names are shop.example"
        " www.shop.example.\n"
        "3. `rewrite ^/old/(.*)$ /new/$1 permanent` (nginx.conf:15) matches, which gives /new/42.\n"
    )


def test_an_explanation_of_branches(trace: Run) -> None:
    """Each condition has its own answer."""
    lines = trace("https://shop.example/a", "--explain").out.decode().splitlines()
    assert lines[:3] == [
        "What the client sees depends on files:",
        "- if /srv/www/a exists: the client gets 200 with /srv/www/a, by `location /` (nginx.conf:17).",
        "- otherwise: the client gets what an upstream answers: the request is passed on to http://app: GET /a,"
        " by `proxy_pass http://app` (nginx.conf:20).",
    ]
    assert lines[-1] == (
        "5. /a belongs to `location /` (nginx.conf:17)."
        " Not taken: `location ~ \\.php$` (nginx.conf:19): does not match."
    )
    assert trace("https://shop.example/a", "--explain", "--format", "json").status == 2


def test_an_explanation_of_an_unknown_answer(parts: Run) -> None:
    """It says what would settle it."""
    lines = parts("http://shop.example/moved", "--explain").out.decode().splitlines()
    assert lines[0] == (
        "What the client sees is not known: snippets/headers.conf is missing,"
        " by `include snippets/headers.conf` (nginx.conf:5)."
    )
    assert lines[1].startswith("To settle it, answer with --assume include:snippets/headers.conf=neutral")


def test_an_answer_for_each_answer_of_an_upstream(run: Run, tmp_path: Path) -> None:
    """`auth_request` passes what ends with 2xx, keeps 401 and 403, and makes 500 of anything else."""
    text = "location / { auth_request /auth; root /w; } location = /auth { proxy_pass http://10.0.0.1; }"
    (tmp_path / "nginx.conf").write_text(f"events {{}} http {{ server {{ listen 80; {text} }} }}")
    ran = run("trace", "nginx.conf", "http://h/a", "--assume", "exists=/w/a", "--target-version", "1.22.1")
    lines = ran.out.decode().splitlines()
    assert lines[0] == "depends on what no configuration shows"
    answers = [" ".join(line.split()) for line in lines[1:9:2]]
    assert answers == [
        "if the subrequest to /auth ends with 2xx 200 /w/a",
        "else if the subrequest to /auth ends with 401 401 by nginx itself",
        "else if the subrequest to /auth ends with 403 403 by nginx itself",
        "otherwise 500 by nginx itself",
    ]


def test_files_that_make_no_difference(run: Run, tmp_path: Path) -> None:
    """An answer that is the same whatever exists is one answer."""
    text = "location / { root /w; if (-f /w/on) { set $x 1; } return 200 x; }"
    (tmp_path / "nginx.conf").write_text(f"events {{}} http {{ server {{ listen 80; {text} }} }}")
    assert first(run("trace", "nginx.conf", "http://h/", "--target-version", "1.22.1")) == '200 "x"'


def test_a_directive_of_a_newer_release(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the target does not have yet names the release that has it."""
    monkeypatch.chdir(tmp_path)
    Path("nginx.conf").write_text("events {}\nhttp { server { listen 80; http2 on; location / { return 204; } } }\n")
    asked = ("trace", "nginx.conf", "http://h/", "--target-version")
    ran = run(*asked, "1.22.1")
    assert ran.status == 3
    assert ran.err.endswith("\n  hint: nginx has it since 1.25.1: set --target-version\n")
    assert run(*asked, "1.25.1").status == 0


def test_a_site_with_a_page_for_missing_files(run: Run, tmp_path: Path) -> None:
    """A common site has few answers although it asks for many files, and what is beyond the most branches is said."""
    text = (
        "root /w; error_page 404 /404.html; location / { try_files $uri $uri.html $uri/ =404; } location /many { %s }"
    )
    many = "".join(f"if (-f /w/{name}) {{ set $x $x-{name}; }} " for name in range(4))
    text %= f"set $x a; {many} return 200 $x;"
    (tmp_path / "nginx.conf").write_text(f"events {{}} http {{ server {{ listen 80; {text} }} }}")
    asked = ("trace", "nginx.conf", "--target-version", "1.22.1")
    lines = run(*asked, "http://h/a").out.decode().splitlines()
    answers = [" ".join(line.split()) for line in lines if line.startswith(("  if", "  else", "  otherwise"))]
    assert [answers[0], answers[3], answers[-1]] == [
        "if /w/a exists 200 /w/a",
        "else if /w/404.html exists 404 /w/404.html",
        "otherwise 404 by nginx itself",
    ]
    lines = run(*asked, "http://h/many").out.decode().splitlines()
    assert " ".join(lines[15].split()) == "otherwise unknown: what else exists or happens"


def test_the_same_answers_at_the_end_are_told_once(run: Run, tmp_path: Path) -> None:
    """What is answered like the rest is no condition for people."""
    text = "location / { root /w; try_files $uri $uri/b =404; }"
    (tmp_path / "nginx.conf").write_text(f"events {{}} http {{ server {{ listen 80; {text} }} }}")
    lines = run("trace", "nginx.conf", "http://h/a", "--target-version", "1.22.1").out.decode().splitlines()
    assert [" ".join(line.split()) for line in lines[1:7:2]] == [
        "if /w/a exists 200 /w/a",
        "else if /w/a/b exists 200 /w/a/b",
        "otherwise 404 by nginx itself",
    ]
