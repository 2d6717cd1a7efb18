"""A witness is in every report."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from nginxopt.lint import Diagnostic, Witness
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.examples import examples
from nginxopt.lint.report import json as reports_json
from nginxopt.lint.report import pages, render
from nginxopt.settings.vocabulary import CATEGORIES
from nginxopt.text import Source
from tests.diagnostics import diagnostic, report, span
from tests.lintcheck import diagnose

SOURCE = Source("a.conf", b"alias /srv/;\n")
WITNESS = Witness(
    "http://a.example/x../b",
    "nginx sends /b",
    headers=("Origin: https://b.test",),
    client="192.0.2.1",
    assume=("exists=/b",),
)
SENTENCE = "GET http://a.example/x../b, with Origin: https://b.test, from 192.0.2.1: nginx sends /b"


def with_witness() -> Diagnostic:
    """A diagnostic with a witness."""
    made = diagnostic(SOURCE, span(SOURCE, b"/srv/"))
    return replace(made, finding=replace(made.finding, witness=WITNESS))


def test_a_witness_reads_as_a_sentence() -> None:
    """A witness names the request with its headers and client, then what nginx does with it."""
    assert str(WITNESS) == SENTENCE
    assert str(Witness("http://a/", "it is answered", "POST")) == "POST http://a/: it is answered"
    assert str(replace(WITNESS, confirmed_by="nginx 1.28.0")) == f"{SENTENCE} (confirmed by nginx 1.28.0)"
    slow = replace(WITNESS, confirmed_by="nginx 1.28.0", seconds=0.519)
    assert str(slow) == f"{SENTENCE} (confirmed by nginx 1.28.0 in 0.52 s)"


def test_a_witness_shows_something() -> None:
    """A request without what it shows is no witness."""
    with pytest.raises(ValueError, match="shows nothing"):
        Witness("http://a/", "")


@pytest.mark.parametrize("name", ["text", "sarif", "github", "gitlab"])
def test_reports_for_people_have_the_sentence(name: str) -> None:
    """Formats with the advice of a finding have its witness in one sentence."""
    text = "".join(render(report(with_witness()), name))
    assert SENTENCE.replace("\\", "") in text.replace("\\/", "/").replace("%2C", ",").replace("%3A", ":")


def test_json_has_the_parts() -> None:
    """A program that reads the JSON report can send the witness."""
    (read,) = json.loads("".join(reports_json.render(report(with_witness()))))["diagnostics"]
    assert read["witness"] == {
        "method": "GET",
        "url": "http://a.example/x../b",
        "headers": ["Origin: https://b.test"],
        "client": "192.0.2.1",
        "assume": ["exists=/b"],
        "shows": "nginx sends /b",
        "confirmed_by": None,
        "seconds": None,
    }


def test_every_finding_of_security_has_a_witness() -> None:
    """Each finding of a rule that declares witnesses has one, and only those; `explain` says so."""
    for rule in catalogue().values():
        bad = [example for example in examples(rule.page) if example.kind == "bad"]
        if not rule.witness and rule.category not in ("security", "correctness"):
            continue
        assert ("Witness: each finding" in pages.page(rule)) == rule.witness
        for example in bad:
            version = {} if example.target is None else {"target": example.target}
            for finding in diagnose(rule.id, example.text, context=example.context, **version):
                assert (finding.finding.witness is not None) == rule.witness


def test_hardening_is_off_by_default() -> None:
    """What is a matter of taste is only found if it is asked for."""
    assert "hardening" in CATEGORIES
    assert not any(rule.default for rule in catalogue().values() if rule.category == "hardening")
