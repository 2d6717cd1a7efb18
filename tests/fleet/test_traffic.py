"""nginxopt fleet report --profile: findings weighted by the traffic of the hosts that have them."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from nginxopt.cli import nginxopt
from nginxopt.errors import InputError, UsageError
from nginxopt.profile.sums import save
from tests.fleet.fleets import in_threads, lint
from tests.profile.test_planted import profile_of
from tests.schemas import validate

_CONF = """\
events { worker_connections 1024; }
http {
    log_format timed '$remote_addr $host [$time_local] "$request" $status $bytes_sent $request_time '
                     '"$upstream_response_time"';
    access_log /var/log/nginx/access.log timed;
    upstream app { server 10.0.0.1:80; }
    upstream rare { server 10.0.0.2:80; }
    gzip on;
    gzip_comp_level 9;
    server {
        listen 80;
        server_name shop.example;
        %s
        location / { proxy_pass http://app; }
        location /rare { proxy_pass http://rare; }
    }
}
"""
_RULES = "\n".join(f"rewrite ^/old/{number}$ /new/{number} permanent;" for number in range(50))
_HOSTS = {"web1": (_RULES, 40), "web2": (_RULES, 400), "web3": ("", 100), "db1": ("", 0)}
"""The rewrites and the requests of each host; the last has no profile."""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet that was checked, and the profiles of three of its hosts."""
    folder = tmp_path_factory.mktemp("fleet")
    with contextlib.chdir(folder), in_threads():
        _prepare()
    return folder


@pytest.fixture(autouse=True)
def _here(fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(fleet, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def _prepare() -> None:
    for name in ("hosts", "profiles", "halves"):
        Path(name).mkdir()
    for host, (rules, requests) in _HOSTS.items():
        text = _CONF % rules
        Path("hosts", f"{host}.conf").write_text(text)
        lines = [_line(number, requests, "/rare" if number % 4 == 3 else "/p") for number in range(requests)]
        if lines:
            _save(Path("profiles", f"{host}.profile"), lines, text)
    lint("hosts")


def _line(number: int, requests: int, path: str) -> str:
    second = number * 86_400 // requests
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    size = 1000 + 100 * number
    return (
        f'192.0.2.1 shop.example [27/Nov/2026:{clock} +0000] "GET {path}/{number} HTTP/1.1" 200 {size} 0.100 "0.090"\n'
    )


def _save(path: Path, lines: list[str], conf: str) -> None:
    log = Path("access.log")
    log.write_text("".join(lines))
    path.write_bytes(save(profile_of([log], conf)))


def _invoke(*args: str) -> Any:
    return CliRunner().invoke(nginxopt, list(args), standalone_mode=False)


def _traffic(pattern: str = "profiles/{host}.profile") -> dict[str, Any]:
    done = _invoke("fleet", "report", "--format", "json", "--profile", pattern)
    assert done.exception is None, done.exception
    report = json.loads(done.output)
    validate(report, "fleet-report")
    traffic: dict[str, Any] = report["traffic"]
    return traffic


def _of_lint(host: str) -> dict[str, list[float]]:
    """Requests, seconds at least and at most, and connections by rule, as `nginxopt lint --profile` says them."""
    options = ["--isolated", "--target-version", "1.22.1", "--format", "json", "--profile", f"profiles/{host}.profile"]
    found: dict[str, list[float]] = {}
    for finding in json.loads(_invoke("lint", f"hosts/{host}.conf", *options).output)["diagnostics"]:
        saved = finding.get("saves_a_day")
        if saved is not None:
            each = [saved["requests"], *saved["cpu_seconds"], saved["connections"]]
            before = found.get(finding["rule"], [0] * 4)
            found[finding["rule"]] = [one + other for one, other in zip(before, each, strict=True)]
    return found


def test_the_sum_over_hosts_is_that_of_each_host() -> None:
    """Requests, seconds and connections of a rule are those that `lint --profile` says of each host, added up."""
    hosts = {host: _of_lint(host) for host, (_, requests) in _HOSTS.items() if requests}
    traffic = _traffic()
    rules = {saved["rule"]: saved for saved in traffic["savings"]}
    assert rules.keys() >= {"gzip-level", "upstream-keepalive-missing", "rewrite-literal-bulk"}
    assert rules.keys() == {rule for of in hosts.values() for rule in of}
    for rule, saved in rules.items():
        of_rule = [of[rule] for of in hosts.values() if rule in of]
        assert saved["hosts"] == len(of_rule)
        assert [saved["requests"], *saved["cpu_seconds"], saved["connections"]] == pytest.approx(
            [sum(column) for column in zip(*of_rule, strict=True)]
        )
        assert saved["host"] == "web2"
    assert rules["rewrite-literal-bulk"]["hosts"] == 2
    assert traffic["hosts"] == 3
    assert traffic["busiest"] == "web2"
    seconds = [saved["cpu_seconds"][1] for saved in traffic["savings"]]
    assert seconds == sorted(seconds, reverse=True)


def test_profiles_of_a_host_add_up() -> None:
    """Two profiles of a host, each of half a day, are its traffic of the day."""
    rules, requests = _HOSTS["web2"]
    lines = [_line(number, requests, "/rare" if number % 4 == 3 else "/p") for number in range(requests)]
    Path("halves", "web2").mkdir()
    for name, part in (("am", lines[: requests // 2]), ("pm", lines[requests // 2 :])):
        _save(Path("halves", "web2", f"{name}.profile"), part, _CONF % rules)
    Path("halves", "web1").mkdir()
    halves = _traffic("halves/{host}/*.profile")
    assert halves["hosts"] == 1
    Path("profiles", "web1.profile").unlink()
    Path("profiles", "web3.profile").unlink()
    assert halves == _traffic()


def test_the_report_says_what_the_traffic_is() -> None:
    """Text and page name the hosts with a profile and nginx's share, and what saves most comes first."""
    Path("stray").mkdir()
    text = _invoke("fleet", "report", "--profile", "profiles/{host}.profile").output
    assert "Traffic of 3 of 4 hosts: 5" in text
    assert "most on web2. Nothing is worth a change for CPU." in text
    table = text.partition("What would save most a day")[2].splitlines()
    assert [line.split()[0] for line in table[2:4]] == ["gzip-level", "upstream-keepalive-missing"]
    page = _invoke("fleet", "report", "--format", "html", "--profile", "profiles/{host}.profile").output
    assert "Traffic of 3 of 4 hosts" in page
    assert "one request to each host" not in page


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("profiles/web1.profile", "names no host"),
        ("profiles/{host}/{host}", "names no host"),
        ("nowhere/{host}.profile", "no such file"),
        ("profiles/web{host}.profile", "no profile is of a host of the result, such as db1"),
    ],
)
def test_a_pattern_without_profiles_is_refused(pattern: str, message: str) -> None:
    """It is a usage error that says what is wrong."""
    error = _invoke("fleet", "report", "--profile", pattern).exception
    assert isinstance(error, UsageError)
    assert message in error.message


def test_what_is_no_profile_is_an_error() -> None:
    """The error names the file; SARIF has no place for traffic."""
    Path("profiles", "web3.profile").write_bytes(b"no profile")
    error = _invoke("fleet", "report", "--profile", "profiles/{host}.profile").exception
    assert isinstance(error, InputError)
    assert error.path == "profiles/web3.profile"
    sarif = _invoke("fleet", "report", "--format", "sarif", "--profile", "profiles/{host}.profile").exception
    assert isinstance(sarif, UsageError)
