"""A few pairs of sites through `verify` and nginx; `python -m tests.fuzz.verify` plays as many as wanted."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from nginxopt.system import nginx
from nginxopt.verify import Verification, verify
from tests.fuzz.sites.around import http_without_logs
from tests.fuzz.sites.messages import request
from tests.fuzz.sites.stage import Stage
from tests.fuzz.verify import by_hand as written
from tests.fuzz.verify import by_nginx, captures, includes, maps, sites, unread
from tests.fuzz.verify.case import Case, Edited, Figures
from tests.support import drawn

pytestmark = [pytest.mark.nginx, pytest.mark.extended, pytest.mark.no_cover]

SEED = 12
EQUIVALENT = Verification(None, (), 1, 0, ())


def played(binary: nginx.Binary, *cases: Case) -> tuple[Figures, list[str]]:
    """What comes out for sites with a nginx."""
    with Stage(binary) as stage:
        return by_nginx.play(stage, cases, http_without_logs(random.Random(SEED)))


def by_hand(*edited: str) -> Case:
    """A simple site after edits."""
    texts = [f"server {{ listen 127.0.0.1:{{P}}; {text} }}" for text in ("location /a { return 200 a; }", *edited)]
    asked = [(0, request(path)) for path in (b"/", b"/a", b"/b")]
    return Case("by hand", texts[0], [Edited(text, "by hand") for text in texts[1:]], asked)


def test_nginx_agrees_about_sites(each_binary: nginx.Binary) -> None:
    """No pair of whole sites is called equivalent that nginx tells apart, and it confirms witnesses."""
    version = each_binary.version
    figures, faults = played(
        each_binary, *(sites.case(SEED, number, version, 3, 40) for number in drawn(20, each_binary))
    )
    assert faults == []
    assert all((figures.equivalent, figures.different, figures.unknown, figures.confirmed, figures.asked))


def test_nginx_agrees_about_maps(each_binary: nginx.Binary) -> None:
    """No pair of sites around maps is called equivalent that nginx tells apart, and it confirms witnesses."""
    figures, faults = played(each_binary, *(maps.case(SEED, number, 3) for number in drawn(10, each_binary)))
    assert faults == []
    assert all((figures.equivalent, figures.different, figures.unknown, figures.confirmed, figures.asked))


def test_nginx_agrees_about_captures(each_binary: nginx.Binary) -> None:
    """No pair of sites around captures is called equivalent that nginx tells apart, and it confirms witnesses."""
    figures, faults = played(each_binary, *(captures.case(SEED, number, 4) for number in range(10)))
    assert faults == []
    assert all((figures.equivalent, figures.different, figures.confirmed, figures.asked))


def test_nginx_agrees_about_missing_includes(each_binary: nginx.Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is called equivalent while files are missing is answered alike whatever these files hold."""
    cases = [case for number in drawn(8, each_binary) if (case := includes.case(SEED, number, 10)).edited]
    monkeypatch.setattr(by_nginx, "verify", lambda *_: EQUIVALENT)
    figures, faults = played(each_binary, *cases)
    assert faults == []
    assert figures.equivalent > 5
    assert figures.asked > 25


def test_nginx_agrees_about_pairs_by_hand(each_binary: nginx.Binary) -> None:
    """No pair that was made to mislead is called equivalent and told apart by nginx, and it confirms witnesses."""
    figures, faults = played(each_binary, *written.cases())
    assert faults == []
    assert all((figures.equivalent, figures.different, figures.unknown, figures.confirmed, figures.asked))


def test_a_pair_that_is_wrongly_called_equivalent(binary: nginx.Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair that is called equivalent and that nginx answers differently is a fault, with its request."""
    monkeypatch.setattr(by_nginx, "verify", lambda *_: EQUIVALENT)
    harmless = "location /a { return 200 a; } location = /a { return 200 a; }"
    figures, (fault,) = played(binary, by_hand("location /a { return 200 b; }", harmless))
    assert (figures.equivalent, figures.wrong) == (2, 1)
    assert fault.startswith("WRONG ")
    assert "GET /a " in fault


def test_a_witness_that_is_answered_alike(binary: nginx.Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair that is called different by a request that nginx answers alike is a fault."""

    def elsewhere(*models: object) -> Verification:
        result = verify(*models)  # type: ignore[arg-type] # as they are
        assert result.witness is not None
        return replace(result, witness=replace(result.witness, request={**result.witness.request, "target": "/c"}))

    monkeypatch.setattr(by_nginx, "verify", elsewhere)
    figures, (fault,) = played(binary, by_hand("location /a { return 200 b; }"))
    assert (figures.different, figures.contradicted) == (1, 1)
    assert fault.startswith("CONTRADICTED ")


def test_sides_that_are_refused(binary: nginx.Binary) -> None:
    """Sites that the model refuses are not compared; those that only nginx refuses are taken out, the others asked."""
    alone = by_hand("location /a { return 200 a; }")
    certificates = "ssl_certificate none.pem; ssl_certificate_key none.pem; location"
    missing = replace(alone, edited=[Edited(alone.text.replace("location", certificates), "missing")])
    figures, faults = played(binary, by_hand("return a b c d;"), missing, alone)
    assert (figures.refused, figures.accepted, figures.asked > 0, faults) == (1, 1, True, [])


def test_an_error_of_verify_is_seen(binary: nginx.Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair for which `verify` raises an error is a fault."""

    def fail(*_: object) -> Verification:
        raise ValueError("no")

    monkeypatch.setattr(by_nginx, "verify", fail)
    figures, (fault,) = played(binary, by_hand("return 200;"))
    assert (figures.failed, figures.pairs) == (1, 0)
    assert "ValueError: no" in fault


def test_nginx_agrees_about_hostile_files(each_binary: nginx.Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is called equivalent beside unread files is answered alike though the files are meant to show the edit."""
    cases = [each for number in drawn(8, each_binary) for each in unread.cases(SEED, number, 10)]
    monkeypatch.setattr(by_nginx, "verify", lambda *_: EQUIVALENT)
    with Stage(each_binary) as stage:
        figures, faults = by_nginx.play(stage, cases, unread.AROUND)
    assert faults == []
    assert figures.equivalent > 5
