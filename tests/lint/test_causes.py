"""One finding for each cause, in every report, and what comments, baselines and fixes make of its places."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt import cli
from nginxopt.lint import Diagnostic, Finding, Fix, Safety, Severity
from nginxopt.lint.report.model import MOST_PLACES, cause, grouped, other_places
from nginxopt.text import Change, Edit, Source, Span

TEXT = Source("a.conf", b"gzip_comp_level 9;\n" * 60)
SAFETIES = [Safety.SAFE, Safety.UNSAFE, None]


def at(
    line: int,
    message: str = "slow",
    *,
    source: Source = TEXT,
    severity: Severity = Severity.INFO,
    stated: str | None = None,
    safety: Safety | None = None,
) -> Diagnostic:
    """A finding on a line."""
    start = (line - 1) * 19
    span = Span(start, start + 4)
    fix = None if safety is None else Fix("delete it", (Change(source, Edit(span, b"")),), safety)
    return Diagnostic("slow", severity, Finding(source, span, message, fix, cause=stated), None, tree="nginx.conf")


DRAWN = st.lists(
    st.builds(
        at,
        st.integers(1, 60),
        st.sampled_from(["slow", "slower"]),
        severity=st.sampled_from(Severity),
        stated=st.sampled_from([None, "", "x"]),
        safety=st.sampled_from(SAFETIES),
    ),
    max_size=12,
)


@given(DRAWN)
def test_every_place_is_in_one_finding(found: list[Diagnostic]) -> None:
    """Findings of one cause are one, at a place of the highest severity, and no place is lost or twice."""
    together = grouped(found)
    assert len(together) == len(set(map(cause, found)))
    assert sorted(id(place.finding.source) for each in together for place in (each, *each.places)) == sorted(
        id(diagnostic.finding.source) for diagnostic in found
    )
    spans = sorted(place.finding.span for each in together for place in (each, *each.places))
    assert spans == sorted(diagnostic.finding.span for diagnostic in found)
    assert all(each.severity >= place.severity for each in together for place in each.places)


@given(DRAWN)
def test_the_fix_of_a_cause_is_the_safest_of_its_places(found: list[Diagnostic]) -> None:
    """A finding has the fixes of its places that have the safest kind, and none of the others."""
    for each in grouped(found):
        of_cause = [place for place in found if cause(place) == cause(each)]
        safeties = [place.fix.safety for place in of_cause if place.fix]
        assert (each.fix is None) == (not safeties)
        if each.fix:
            best = Safety.SAFE if Safety.SAFE in safeties else Safety.UNSAFE
            assert each.fix.safety == best
            assert set(each.fix.changes) == {
                change for place in of_cause if place.fix and place.fix.safety == best for change in place.fix.changes
            }


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([3], ""),
        ([3, 7], "1 more place: line 7"),
        ([3, 7, 9], "2 more places: lines 7, 9"),
        (range(1, 8), "6 more places: lines 2, 3, 4, 5, 6, 7"),
        (range(1, 51), "49 more places: lines 2, 3, 4, 5, 6 and 44 others"),
    ],
)
def test_other_places_are_named_up_to_a_number(lines: list[int], said: str) -> None:
    """The first of the other places are named by line, and the rest is counted."""
    (found,) = grouped(map(at, lines))
    assert other_places(found) == said
    assert len(found.places) <= MOST_PLACES or "others" in said


def test_other_files_are_named() -> None:
    """Places in other files are named with these."""
    (found,) = grouped([at(1), at(2), at(5, source=Source("conf.d/b.conf", TEXT.data))])
    assert other_places(found) == "2 more places: line 2, conf.d/b.conf:5"


def test_configurations_are_told_apart() -> None:
    """The same message in two configurations is two findings: each has its own cause."""
    other = Diagnostic("slow", Severity.INFO, at(2).finding, None, tree="other.conf")
    assert len(grouped([at(1), other])) == 2


SITE = """events {}
http {
    gzip on;
    server {
        location /a { gzip_comp_level 9; }
        location /b { gzip_comp_level 9; }
        location /c { gzip_comp_level 9; }
        location /d { gzip_comp_level 8; }
    }
}
"""


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    status: int
    out: str


Run = Callable[..., Ran]


LINT = ("lint", "nginx.conf", "--select", "gzip-level", "--target-version", "1.28.0")


@pytest.fixture(name="run")
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """A function that runs a command in a folder with the site."""
    monkeypatch.chdir(tmp_path)
    Path("nginx.conf").write_text(SITE)

    def call(*words: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            cli.main(words)
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, capfd.readouterr().out)

    return call


def test_the_text_names_the_other_places(run: Run) -> None:
    """A cause is reported once, with its places, and the counts are of causes."""
    out = run(*LINT).out
    assert out.count("gzip_comp_level 9 takes") == 1
    assert "also: 2 more places: lines 6, 7\n" in out
    assert "2 findings at 4 places in 1 file: 2 info" in out
    assert "2 fixable with --fix" in out


def test_json_has_all_places_and_their_fixes(run: Run) -> None:
    """JSON has a finding for each cause, its other places, and the edits of all."""
    read = json.loads(run(*LINT, "--format", "json").out)
    nine, eight = read["diagnostics"]
    assert [nine["line"], *(place["line"] for place in nine["places"])] == [5, 6, 7]
    assert [edit["line"] for edit in nine["fix"]["edits"]] == [5, 6, 7]
    assert eight["places"] == []
    assert (read["summary"]["places"], read["summary"]["findings"]["info"]) == (4, 2)


def test_sarif_has_places_as_related_locations(run: Run) -> None:
    """SARIF has a result for each cause; its other places are related locations, and its fix covers all."""
    (log,) = json.loads(run(*LINT, "--format", "sarif").out)["runs"]
    nine = log["results"][0]
    regions = [related["physicalLocation"]["region"]["startLine"] for related in nine["relatedLocations"]]
    assert regions == [6, 7]
    (change,) = nine["fixes"][0]["artifactChanges"]
    assert len(change["replacements"]) == 3
    assert [rule["id"] for rule in log["tool"]["driver"]["rules"]] == ["gzip-level"]


def test_github_annotates_a_cause_once(run: Run) -> None:
    """There is one annotation for each cause."""
    assert len(run(*LINT, "--format", "github").out.splitlines()) == 2


def test_junit_fails_only_for_what_sets_the_status(run: Run) -> None:
    """Findings below --fail-on are test cases that pass, with their text."""
    result = run(*LINT, "--format", "junit")
    root = ElementTree.fromstring(result.out)
    assert (result.status, root.get("tests"), root.get("failures")) == (0, "2", "0")
    assert all("gzip_comp_level" in (case.findtext("system-out") or "") for case in root.iter("testcase"))
    result = run(*LINT, "--format", "junit", "--fail-on", "info")
    assert (result.status, ElementTree.fromstring(result.out).get("failures")) == (1, "2")


def test_a_comment_removes_its_place_only(run: Run) -> None:
    """A suppression hides one place of a cause; the others stay."""
    Path("nginx.conf").write_text(
        SITE.replace("/a { gzip_comp_level 9; }", "/a { gzip_comp_level 9; } # nginxopt: ignore[gzip-level]")
    )
    (nine, _) = json.loads(run(*LINT, "--format", "json").out)["diagnostics"]
    assert (nine["line"], [place["line"] for place in nine["places"]]) == (6, [7])


def test_fixes_are_made_at_all_places(run: Run) -> None:
    """--fix repairs every place of a cause."""
    run(*LINT, "--fix")
    assert Path("nginx.conf").read_text() == SITE.replace("9;", "6;").replace("8;", "6;")


def baseline_leaves(run: Run, site: str) -> list[int]:
    """The lines that are reported of a text beside the baseline of `SITE`."""
    Path("nginx.conf").write_text(SITE)
    run(*LINT, "--write-baseline", "known.json")
    Path("nginx.conf").write_text(site)
    read = json.loads(run(*LINT, "--baseline", "known.json", "--format", "json").out)
    return [place["line"] for found in read["diagnostics"] for place in (found, *found["places"])]


def test_a_moved_place_stays_in_the_baseline(run: Run) -> None:
    """A recorded finding whose line changes, or that moves, does not come back."""
    assert baseline_leaves(run, SITE.replace("location /b { gzip", "location /other { root /x; gzip")) == []
    moved = SITE.replace("        location /a { gzip_comp_level 9; }\n", "") + "# end\n"
    assert baseline_leaves(run, moved.replace("gzip on;", "gzip on; gzip_comp_level 9;")) == []


def test_a_new_cause_and_one_more_place_are_new(run: Run) -> None:
    """What a baseline does not have is reported: another cause, or one place more than before."""
    assert baseline_leaves(run, SITE.replace("/b { gzip_comp_level 9", "/b { gzip_comp_level 8")) == [6]
    assert baseline_leaves(run, SITE.replace("gzip on;", "gzip on; gzip_comp_level 9;")) == [3]


def test_a_baseline_of_version_1_is_read(run: Run) -> None:
    """A baseline without causes hides what it records."""
    run(*LINT, "--write-baseline", "known.json")
    known = json.loads(Path("known.json").read_text())
    for entry in known["findings"]:
        del entry["cause"]
    Path("known.json").write_text(json.dumps(known | {"version": 1}))
    assert "no findings" in run(*LINT, "--baseline", "known.json").out


@pytest.mark.parametrize(
    ("rule", "text", "places"),
    [
        pytest.param(
            "proxy-connection-not-cleared",
            "".join(f"upstream u{n} {{ server 10.0.0.{n}:80; keepalive 8; }}\n" for n in range(1, 5))
            + "server {\n"
            + "".join(f"location /{n} {{ proxy_pass http://u{n}; proxy_http_version 1.1; }}\n" for n in range(1, 5))
            + "}\n",
            4,
            id="no header in any location",
        ),
        pytest.param(
            "proxy-connection-not-cleared",
            "".join(f"upstream u{n} {{ server 10.0.0.{n}:80; keepalive 8; }}\n" for n in range(1, 5))
            + 'server { proxy_http_version 1.1; proxy_set_header Connection "close";\n'
            + "".join(f"location /{n} {{ proxy_pass http://u{n}; }}\n" for n in range(1, 5))
            + "}\n",
            4,
            id="one header for all locations",
        ),
        pytest.param(
            "server-name-conflict",
            "".join(f"server {{ listen 80; server_name {name}.test; }}\n" for name in "abc")
            + "server { listen 80; server_name a.test b.test c.test d.test; }\n",
            3,
            id="names of several earlier servers",
        ),
    ],
)
def test_what_one_change_repairs_is_one_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rule: str, text: str, places: int
) -> None:
    """Upstreams or names in the message do not make a finding each."""
    path = tmp_path / "nginx.conf"
    path.write_text(f"events {{}}\nhttp {{\n{text}}}\n")
    with pytest.raises(SystemExit):
        cli.main(["lint", "--isolated", "--target-version", "1.22.1", "--select", rule, "--format", "json", str(path)])
    (found,) = json.loads(capsys.readouterr().out)["diagnostics"]
    assert 1 + len(found["places"]) == places
