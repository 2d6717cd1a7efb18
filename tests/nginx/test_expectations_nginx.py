"""`nginxopt test --nginx` and `trace --requests --nginx`: a real nginx answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nginxopt import cli
from nginxopt.request import judgement, real
from nginxopt.request.judgement import Answer
from nginxopt.system import nginx
from tests.cli.test_expectations import CONF
from tests.schemas import validate

pytestmark = pytest.mark.nginx

Ran = tuple[int, str, str]

ROWS = """\
from,to,status
/old,/new,301
/b,/d,301
http://shop.example/a?x,https://shop.example/a?x,301
/c,,200
/gone/a,,410
/files/x,,200
/api?q,http://app:8080/api?q,proxy
/never/,,closed
http://shop.example:81/,,200
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """A function that runs a command beside a configuration and a table."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nginx.conf").write_text(CONF)
    (tmp_path / "table.csv").write_text(ROWS)

    def call(*args: str) -> Ran:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main(args)
        out, err = capfd.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, out, err

    return call


def test_nginx_answers(each_binary: nginx.Binary, run: Callable[..., Ran]) -> None:
    """Rows are compared with the answers of nginx, with the ports of the configuration and the names of rules."""
    status, out, err = run("test", "nginx.conf", "table.csv", "--nginx", each_binary.path, "-q")
    assert (status, err) == (1, "")
    assert out == (
        "table.csv:3: failed https://shop.example/b\n"
        "    expected 301 to /d, got 301 to https://shop.example/c\n"
        "    by nginx.conf:15: rewrite ^/b$ /c permanent\n"
        "table.csv:7: unknown https://shop.example/files/x\n"
        "    expected 200, got 200 if /srv/files/x exists, 301 to https://shop.example/files/x/ else if /srv/files/x/"
        " exists, 404 otherwise\n"
        "    by nginx.conf:19: location /files/\n"
        "table.csv:10: failed http://shop.example:81/\n"
        "    expected 200, got no connection: http://shop.example:81: no server listens at port 81\n"
    )


def test_assumed_files_are_there(binary: nginx.Binary, run: Callable[..., Ran]) -> None:
    """nginx has the files that are assumed to exist."""
    status, out, _ = run("test", "nginx.conf", "table.csv", "--nginx", binary.path, "--assume", "exists=/srv/files/x")
    assert (status, "files/x" in out) == (1, False)
    assert f"table.csv: 9 rows: 7 passed, 2 failed (nginx {'.'.join(map(str, binary.version))})\n" in out


def test_nginx_is_followed(binary: nginx.Binary, run: Callable[..., Ran], tmp_path: Path) -> None:
    """Redirects of nginx lead from one of its servers to another."""
    (tmp_path / "table.csv").write_text("http://shop.example/a,https://shop.example/c,200\n/x,/x,302\n")
    status, out, err = run("test", "nginx.conf", "table.csv", "--nginx", binary.path, "--follow", "-q")
    assert (status, err) == (1, "")
    assert out.startswith("table.csv:2: failed https://shop.example/x\n    redirects in a loop\n")


def test_a_terminal_shows_progress(
    binary: nginx.Binary, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal there is a bar while nginx is asked; the result is the same."""
    args = ("test", "nginx.conf", "table.csv", "--nginx", binary.path)
    status, out, _ = run(*args)
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda _: True, raising=False)
    monkeypatch.setattr("nginxopt.cli.stdout._Guarded.isatty", lambda _: True)
    monkeypatch.setenv("NO_COLOR", "1")
    *same, err = run(*args)
    assert same == [status, out]
    assert f"asking {binary}" in err


def test_nginx_is_recorded(binary: nginx.Binary, run: Callable[..., Ran]) -> None:
    """A table of what nginx answers is that of the model."""
    of_model = run("test", "nginx.conf", "table.csv", "--record")
    assert run("test", "nginx.conf", "table.csv", "--record", "--nginx", binary.path) == of_model
    assert of_model[0] == 0


@pytest.mark.usefixtures("binary")
def test_other_ports_and_spellings(run: Callable[..., Ran], tmp_path: Path) -> None:
    """A Location has the port of the configuration; what is behind --nginx may be the configuration."""
    (tmp_path / "nginx.conf").write_text(
        "events { } http { server { listen 8080; server_name h; rewrite ^/a$ /b redirect;"
        " location /dir { return 302 http://$host:$server_port/x; } location /other { return 301 http://h:1/; } } }"
    )
    (tmp_path / "table.csv").write_text("/a,http://h:8080/b,302\n/dir,http://h:8080/x,302\n/other,http://h:1,301\n")
    status, out, err = run("test", "--nginx", "nginx.conf", "table.csv")
    assert (status, err) == (0, "")
    assert "3 rows: 3 passed" in out


def test_a_location_that_is_an_added_header(each_binary: nginx.Binary, run: Callable[..., Ran], tmp_path: Path) -> None:
    """It is the target of a redirect without another one, and none of a response that is no redirect."""
    (tmp_path / "nginx.conf").write_text(
        "events { } http { server { listen 80; server_name h; add_header Location /added;"
        " location = /a { return 201; } location = /b { error_page 404 =301 /c; return 404; }"
        " location = /c { return 200; } location = /d { return 301 /own; } } }"
    )
    (tmp_path / "table.csv").write_text("/a,,201\n/b,/added,301\n/d,/own,301\n")
    for asked in ((), ("--nginx", each_binary.path)):
        status, out, err = run("test", "nginx.conf", "table.csv", "-q", *asked)
        assert (status, out, err) == (0, "", "")


def wrong(answer: Answer) -> Answer:
    """The answer of a model that is wrong."""
    if answer.kind == "proxy":
        return Answer("proxy", None, target="http://app:8080/elsewhere", node=answer.node)
    return Answer("closed", None) if answer.kind == "return" else Answer("return", 299, node=answer.node)


def test_nginx_is_right(binary: nginx.Binary, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the model is wrong, rows are compared with what nginx answers, and the difference is told."""
    right = judgement.made_of
    monkeypatch.setattr("nginxopt.request.batch.made_of", lambda *outcome: wrong(right(*outcome)))
    status, out, err = run("test", "nginx.conf", "table.csv", "--nginx", binary.path, "-q")
    assert status == 1
    assert "table.csv:8: failed https://shop.example/api?q\n    expected proxy to http://app:8080/api?q, got" in out
    of_old = "https://shop.example/old: nginx answers 301 to https://shop.example/new, the model 299\n"
    assert f"the model is wrong: {of_old}" in err
    assert "the model is wrong: https://shop.example/c: nginx answers 200, the model closed connection\n" in err
    assert "https://shop.example/files/x: nginx answers 404" in err
    assert "table.csv:2" not in out


def test_a_sample_is_compared(each_binary: nginx.Binary, run: Callable[..., Ran], tmp_path: Path) -> None:
    """nginx answers some of the requests of a file as the model does."""
    (tmp_path / "urls.txt").write_text("".join(f"/{path}\n" for path in ("old", "b", "c", "api?x", "x", "gone/")))
    args = ("trace", "nginx.conf", "--requests", "urls.txt", "--nginx", each_binary.path)
    status, out, _ = run(*args)
    assert (status, out.splitlines()[-1]) == (0, f"{each_binary}, asked about 6 requests: the same answers")
    report = json.loads(run(*args, "--format", "json")[1])
    validate(report, "usage-report")
    assert report["comparison"] == {"nginx": str(each_binary), "compared": 6, "differences": []}


def test_a_difference_in_a_sample(
    binary: nginx.Binary, run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status 1: requests that nginx answers otherwise are listed; those to where it does not listen are left out."""
    text = "".join(f"/{number}\n" for number in range(1500)) + "http://shop.example:81/\n"
    (tmp_path / "urls.txt").write_text(text)
    monkeypatch.setattr(real, "differences", lambda *_: ["nginx answers 200, not 302"])
    status, out, _ = run("trace", "nginx.conf", "--requests", "urls.txt", "--nginx", binary.path)
    assert status == 1
    assert f"{binary}, asked about 375 requests: 375 requests answered otherwise:\n" in out
    assert out.endswith(": nginx answers 200, not 302\n")


@pytest.mark.parametrize(
    "text",
    ["include nowhere.conf; location / { return 200; }", "server { include nowhere.conf; location / { return 200; } }"],
    ids=["server", "http"],
)
@pytest.mark.parametrize("command", ["trace", "test"])
def test_a_missing_file_may_have_the_listens(
    binary: nginx.Binary, run: Callable[..., Ran], tmp_path: Path, text: str, command: str
) -> None:
    """A server without a known `listen` is run like one without any, and what is unknown stays unknown."""
    (tmp_path / "part.conf").write_text(text)
    (tmp_path / "urls.txt").write_text("/a\nhttp://shop.example/b\n")
    (tmp_path / "rows.csv").write_text("/a,,200\n")
    args = ("--requests", "urls.txt") if command == "trace" else ("rows.csv",)
    status, out, err = run(command, "part.conf", *args, "--nginx", binary.path)
    assert "Traceback" not in err
    assert status in (0, 1, 3, 5), (out, err)
