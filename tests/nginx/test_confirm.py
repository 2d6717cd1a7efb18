"""Witnesses of findings, confirmed by the real nginx as `lint --nginx` does."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from nginxopt import cli
from nginxopt.lint import Diagnostic, Rule, Sign, Witness
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.confirm import Confirmed, FileChoice, confirm
from nginxopt.lint.examples import Example, examples, wrapped
from nginxopt.request.model import World
from nginxopt.system import nginx
from tests.lintcheck import TARGET, judge, read
from tests.nginx.test_rule_examples import nginx_for
from tests.support import the_nginx

pytestmark = pytest.mark.nginx

ECHO = "an echo stands for its upstream"
PAGE = "location /files { alias /srv/files/; }\n"
HEADERS = (
    "add_header X-Frame-Options SAMEORIGIN always;\n"
    "location /account/ { add_header Cache-Control no-cache; proxy_pass http://10.0.0.1; }\n"
)


def cases() -> list[ParameterSet]:
    """The bad examples of the rules whose findings have a witness."""
    return [
        pytest.param(rule, example, id=f"{rule.id}-{number}")
        for rule in catalogue().values()
        if rule.witness
        for number, example in enumerate(examples(rule.page), 1)
        if example.kind == "bad"
    ]


@pytest.mark.parametrize(("rule", "example"), cases())
def test_nginx_confirms_the_witness_of_an_example(a_binary: nginx.Binary, rule: Rule, example: Example) -> None:
    """What a rule says of its own examples is so, or nobody can ask a private nginx."""
    binary = nginx_for(example, a_binary)
    if binary is None:
        pytest.skip(f"an example for nginx {example.target or 'with stream'}")
    config = read(example.text, example.context)
    found = judge(rule.id, config, example.target or TARGET).diagnostics
    confirmed = confirm([config], found, binary)
    assert len(confirmed.diagnostics) == len(found), confirmed.notes
    reasons = {note.message.partition(": ")[2] for note in confirmed.notes}
    unconfirmed = [each for each in confirmed.diagnostics if not _name(each)]
    if unconfirmed:
        assert len(reasons) == 1
        (reason,) = reasons
        assert reason == ECHO or "unknown directive" in reason, reason  # a module is missing in this nginx
    else:
        assert not reasons
        assert found


def _name(diagnostic: Diagnostic) -> str | None:
    witness = diagnostic.finding.witness
    return witness.confirmed_by if witness else None


def asked(binary: nginx.Binary, witness: Witness | None = None, text: str = HEADERS) -> Confirmed:
    """What nginx makes of the finding of `headers-lost` in a text, by default with its own witness."""
    config = read(text, "server")
    (diagnostic,) = judge("headers-lost", config).diagnostics
    finding = diagnostic.finding if witness is None else replace(diagnostic.finding, witness=witness)
    return confirm([config], [replace(diagnostic, finding=finding)], binary)


def test_a_confirmed_witness_names_the_nginx(binary: nginx.Binary) -> None:
    """It says which nginx answers so."""
    (diagnostic,) = asked(binary).diagnostics
    assert diagnostic.finding.witness is not None
    assert str(diagnostic.finding.witness).endswith(f"lacks X-Frame-Options (confirmed by {binary})")


REFUTED = {
    "a header": (Witness("http://localhost/", "no header", sign=Sign(lacks=("X-Frame-Options",))), "X-Frame-Options"),
    "a status": (Witness("http://localhost/account/", "500", sign=Sign(status=500)), "answers 200, not 500"),
    "passed on": (Witness("http://localhost/", "passed", sign=Sign(passes=("X-Id", "1"))), "passes on no X-Id: 1"),
}


@pytest.mark.parametrize(("witness", "why"), REFUTED.values(), ids=REFUTED)
def test_a_witness_that_shows_nothing_is_none(binary: nginx.Binary, witness: Witness, why: str) -> None:
    """The finding is left out, and a note says why, at its place."""
    confirmed = asked(binary, witness, f"{HEADERS}location / {{ return 200 ok; }}\n")
    assert not confirmed.diagnostics
    (note,) = confirmed.notes
    assert note.message.startswith(f"headers-lost is left out: {binary} answers its witness otherwise: ")
    assert why in note.message
    assert note.span is not None


UNASKED = {
    "another port": (Witness("http://localhost:8081/", "nothing"), HEADERS, "no server listens at port 8081"),
    "no URL": (Witness("localhost", "nothing"), HEADERS, "URL"),
    "both": (Witness("http://localhost/", "nothing", assume=("exists=/a", "missing=/a")), HEADERS, "both"),
    "not nginx's": (None, f"{HEADERS}location /m {{ no_such_module on; }}\n", "unknown directive"),
    "unknown": (Witness("http://localhost/", "?"), f"{HEADERS}location / {{ js_content a.b; }}\n", "is unknown"),
}


@pytest.mark.parametrize(("witness", "text", "why"), UNASKED.values(), ids=UNASKED)
def test_what_cannot_be_asked_stays(binary: nginx.Binary, witness: Witness | None, text: str, why: str) -> None:
    """The finding stays as it is, and a note counts it with the reason."""
    confirmed = asked(binary, witness, text)
    assert [_name(each) for each in confirmed.diagnostics] == [None]
    (note,) = confirmed.notes
    assert note.message.startswith("1 witness is not asked of nginx: ")
    assert why in note.message


def test_one_nginx_is_asked_for_many_files(binary: nginx.Binary) -> None:
    """Witnesses whose files can be there together are asked of one nginx; of very many, 500 are asked."""
    locations = "".join(f"location /f{number} {{ alias /srv/f{number}/; }}\n" for number in range(510))
    config = read(locations, "server")
    found = judge("alias-traversal", config).diagnostics
    confirmed = confirm([config], found, binary)
    assert sum(_name(each) is not None for each in confirmed.diagnostics) == 500
    assert [note.message for note in confirmed.notes] == [
        "10 witnesses are not asked of nginx: 500 of its configuration are asked"
    ]


def test_files_that_exclude_each_other() -> None:
    """A path is a file, a folder or missing, however it is written."""
    disk = FileChoice()
    assert disk.takes(World(("/srv/a", "/srv/b/c"), ("/srv/gone",)))
    assert disk.takes(World(("/srv/d/../a",)))
    for world in (World(("/srv/a/x",)), World(("/srv/b",)), World(("/srv/gone",)), World((), ("/srv/b/../a",))):
        assert not disk.takes(world)


def test_lint_asks_nginx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """`lint --nginx` confirms the witnesses of all files, and JSON says by which nginx."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.conf", "b.conf"):  # that are no copies, as findings in these have one cause
        Path(name).write_bytes(wrapped(PAGE, "server") + b"# %s" % name.encode())
    arguments = ["lint", "a.conf", "b.conf", "--isolated", "--select", "security", "--format", "json"]
    with pytest.raises(SystemExit):
        cli.main([*arguments, "--nginx", the_nginx().path])
    witnesses = [finding["witness"] for finding in json.loads(capfd.readouterr().out)["diagnostics"]]
    assert [witness["confirmed_by"] for witness in witnesses] == [str(the_nginx())] * 2
