"""nginxopt fleet report: drift, groups, savings and news, in each format."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import html5lib
import pytest
from click.testing import CliRunner

from benchmarks import drifting
from nginxopt.cli import nginxopt
from nginxopt.errors import InputError, UsageError
from nginxopt.fleet.report.drift import DirectiveDrift, condensed
from nginxopt.fleet.report.groups import OTHERS, grouped_by
from tests.fleet.fleets import BROKEN, SITE, lint, tree
from tests.schemas import validate

pytestmark = pytest.mark.usefixtures("workers")

_MEMBERS = 3
_HOSTS = _MEMBERS * len(drifting.KINDS)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _report(*args: str) -> str:
    done = CliRunner().invoke(nginxopt, ["fleet", "report", *args], standalone_mode=False)
    assert done.exception is None, done.exception
    return done.output


def _json(*args: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(_report("--format", "json", *args))
    validate(report, "fleet-report")
    return report


def _known(drift: list[dict[str, Any]]) -> list[drifting.Known]:
    """Return who drifted by a report, as the generator says it."""
    found = []
    for file in drift:
        usual, variant = file["variants"]
        assert (usual["hosts"], variant["hosts"]) == (_MEMBERS - 1, 1)
        directives = tuple(
            (difference["context"], difference["name"], difference["usual"], difference["here"])
            for difference in variant["differences"]
        )
        is_missing, is_added = variant["text"] is None, usual["text"] is None
        group, (host,) = file["group"].removesuffix("-#"), variant["names"]
        found.append(drifting.Known(group, host, file["path"], directives, is_missing, is_added))
    return found


def test_the_drift_of_a_fleet_is_found_exactly(tmp_path: Path) -> None:
    """Each host that drifted is found with its file and its directives, alone, and no other host is."""
    known = drifting.write(tmp_path / "dumps", _HOSTS, _MEMBERS)
    assert len(known) == len(drifting.KINDS)
    lint("dumps", "--select", "sendfile")
    report = _json()
    assert _known(report["drift"]) == known
    assert report["totals"]["hosts"] == _HOSTS
    assert report["totals"]["configurations"] == 2 * len(known)
    text = _report()
    for drifted in known:
        assert f"{drifted.host} alone" in text
    assert "worker_connections in events: 512, usually 4096" in text
    assert "sendfile in http: absent, usually on" in text


def test_many_that_are_absent_are_one_line() -> None:
    """101 directives of a name that a host lacks are one line for readers; two that differ are two."""
    gone = [DirectiveDrift("server", "rewrite", None, f"^/{number} /b", None) for number in range(101)]
    changed = [DirectiveDrift("http", "sendfile", 3, "on", "off"), DirectiveDrift("http", "gzip", 4, None, "on")]
    assert condensed([changed[0], *gone, changed[1]]) == [
        changed[0],
        DirectiveDrift("server", "101 rewrite", None, "", None),
        changed[1],
    ]


def test_hosts_of_another_group_are_not_compared(tmp_path: Path) -> None:
    """With a pattern that puts each host into a group of its own, nothing has drifted."""
    drifting.write(tmp_path / "dumps", _HOSTS, _MEMBERS)
    lint("dumps", "--ignore", "all")
    assert _json("--group-from", "{group}")["drift"] == []
    assert len(_json("--group-from", "(?P<group>a)")["drift"]) > 1


@pytest.mark.parametrize(
    ("pattern", "host", "group"),
    [
        (None, "web12.fra1.example.com", "web#.fra#.example.com"),
        ("{group}-*", "web-12", "web"),
        (r"^(?P<group>[a-z]+)\d", "web12", "web"),
        (r"^(?P<group>[a-z]+)\d", "12", OTHERS),
    ],
)
def test_a_group_is_a_part_of_a_name(pattern: str | None, host: str, group: str) -> None:
    """By default names differ in numbers only; a pattern or a regex says otherwise."""
    assert grouped_by(pattern)(host) == group


@pytest.mark.parametrize("pattern", ["web", "(?P<group>", "{group}{group}"])
def test_a_pattern_without_a_group_is_refused(pattern: str) -> None:
    """The error names the option."""
    with pytest.raises(UsageError, match="--group-from"):
        grouped_by(pattern)


def test_findings_and_savings_count_hosts(tmp_path: Path) -> None:
    """A rule has the number of hosts and findings, by group; a connection saved counts once a host."""
    for name, sites in (("web1", 2), ("web2", 1), ("db1", 1)):
        texts = {f"s{number}": SITE.replace(b"app", b"app%d" % number) for number in range(sites)}
        tree(tmp_path / "hosts" / name, **texts)
    tree(tmp_path / "hosts" / "db2", BROKEN)
    lint("hosts", "--select", "upstream-keepalive-missing", status=3)
    report = _json()
    (rule,) = report["rules"]
    assert (rule["rule"], rule["hosts"], rule["findings"]) == ("upstream-keepalive-missing", 3, 4)
    groups = [
        (group["group"], group["hosts"], group["hosts_with_errors"], group["rules"]) for group in report["groups"]
    ]
    assert groups == [
        ("db#", 2, 1, {"upstream-keepalive-missing": 1}),
        ("web#", 2, 0, {"upstream-keepalive-missing": 2}),
    ]
    assert report["savings"] == [
        {"rule": "upstream-keepalive-missing", "hosts": 3, "instructions": 0, "connections": 3}
    ]
    assert [host["host"] for host in report["worst"]] == ["web1", "db1", "web2"]
    assert [(error["host"], error["path"], error["line"]) for error in report["errors"]] == [
        ("db2", "/etc/nginx/nginx.conf", 2)
    ]
    alone = _report("--group-from", "(?P<group>.*)")
    assert "Each of 4 hosts is a group of its own: --group-from says which belong together.\n" in alone
    assert "Findings by group" in _report()
    assert "Findings by group" not in alone


def test_news_are_what_an_earlier_result_does_not_have(tmp_path: Path) -> None:
    """A finding in a moved line is no news; a further one, and all of a new host, are; hosts that are gone are not."""
    for name in ("a1", "a2", "a3"):
        tree(tmp_path / "hosts" / name, s=SITE)
    lint("hosts", "--select", "upstream-keepalive-missing", "--output", "monday.duckdb", status=1)
    (tmp_path / "hosts" / "a1" / "conf.d" / "s.conf").write_bytes(b"# moved\n" + SITE)
    (tmp_path / "hosts" / "a2" / "conf.d" / "t.conf").write_bytes(SITE.replace(b"app", b"other"))
    (tmp_path / "hosts" / "a3").rename(tmp_path / "hosts" / "a4")
    lint("hosts", "--select", "upstream-keepalive-missing", status=1)
    since = _json("--since", "monday.duckdb")["since"]
    assert [(new["host"], new["path"], new["hosts"]) for new in since["new"]] == [
        ("a4", "/etc/nginx/conf.d/s.conf", 1),
        ("a2", "/etc/nginx/conf.d/t.conf", 1),
    ]
    assert (since["fixed"], since["hosts_added"], since["hosts_gone"]) == (0, 1, 1)
    back = _json("--since", "fleet.duckdb", "monday.duckdb")["since"]
    assert (len(back["new"]), back["fixed"]) == (1, 1)


def test_sarif_is_valid_and_has_each_finding_once(tmp_path: Path) -> None:
    """A finding of several hosts is one result, with their number; an error is a notification."""
    for name in ("web1", "web2"):
        tree(tmp_path / "hosts" / name, s=SITE)
    tree(tmp_path / "hosts" / "web3", BROKEN)
    lint("hosts", "--select", "upstream-keepalive-missing", status=3)
    (run,) = json.loads(_report("--format", "sarif"))["runs"]
    (result,) = run["results"]
    assert result["ruleId"] == "upstream-keepalive-missing"
    assert "On 2 hosts, such as web1." in result["message"]["text"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "web1/etc/nginx/conf.d/s.conf"
    assert place["region"]["startLine"] == 1
    (notice,) = run["invocations"][0]["toolExecutionNotifications"]
    assert "this block is not closed" in notice["message"]["text"]


def test_the_page_is_valid_and_asks_nobody(tmp_path: Path) -> None:
    """The HTML parses strictly, has no script and no link to load, and escapes what comes from hosts."""
    for number in range(3):
        site = SITE.replace(b"app", b"app<script>") if number == 2 else SITE
        tree(tmp_path / "hosts" / f"web{number}", s=site)
    lint("hosts", status=1)
    page = _report("--format", "html", "--since", "fleet.duckdb")
    document = html5lib.HTMLParser(strict=True).parse(page)
    tags = {element.tag.rpartition("}")[2] for element in document.iter() if isinstance(element.tag, str)}
    assert not tags & {"script", "link", "img", "iframe"}
    assert "app&lt;script&gt;" in page
    assert "url(" not in page
    assert "upstream-keepalive-missing" in page
    assert re.findall(r"<h1>.*</h1>|</b>(?:error|warning|info)s?<", page) == [
        *("<h1>3 hosts, 2 different configurations</h1>", "</b>errors<", "</b>warnings<", "</b>info<"),
    ]


def test_a_run_that_did_not_end_has_no_report(tmp_path: Path) -> None:
    """A partial result is refused, by its name, and says how to go on."""
    tree(tmp_path / "hosts" / "web1")
    lint("hosts", "--ignore", "all")
    Path("fleet.duckdb").rename("fleet.duckdb.part")
    for command in (["report", "fleet.duckdb.part"], ["query", "SELECT 1", "--result", "fleet.duckdb.part"]):
        done = CliRunner().invoke(nginxopt, ["fleet", *command], standalone_mode=False)
        assert isinstance(done.exception, InputError)
        assert "--resume" in done.exception.render()
