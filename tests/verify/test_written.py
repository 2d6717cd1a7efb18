"""Servers that are written alike are not compared, where what is around them means the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import load
from nginxopt.request.model import SiteModel
from nginxopt.semantics.site import Build
from nginxopt.verify import verify
from nginxopt.verify.servers import ServerTexts
from nginxopt.verify.side import VerifiedSide
from tests.rows import every_row
from tests.verify.pairs.form import Forms
from tests.verify.pairs.forms import WRITTEN_ALIKE, WRITTEN_UNLIKE, http
from tests.verify.test_verify import VERSION, model


def are_alike(old: SiteModel, new: SiteModel) -> bool:
    """Whether the last servers are alike by what is written."""
    first, second = (VerifiedSide(side.site, side.site.site) for side in (old, new))
    return ServerTexts((first, second)).alike(len(first.form["servers"]) - 1, len(second.form["servers"]) - 1)


def sides(forms: Forms) -> tuple[SiteModel, SiteModel]:
    """The models of both sides."""
    old, new = (model(f"events {{}} http {{ {http(text, 1, 8080, 9001, '/srv')} }}") for text in (forms.old, forms.new))
    return old, new


@pytest.mark.parametrize("forms", WRITTEN_ALIKE, ids=lambda forms: forms.name)
def test_what_a_server_does_not_reach(forms: Forms) -> None:
    """Definitions that a server does not reach may differ."""
    assert are_alike(*sides(forms))


@every_row("forms", WRITTEN_UNLIKE, ids=lambda forms: forms.name)
def test_what_a_server_reaches(forms: Forms) -> None:
    """If a definition that it reaches differs, or which names have it, the servers do as well; which hosts a server
    takes is compared apart from that."""
    assert are_alike(*sides(forms)) == (forms.name == "a server before takes the name")


@every_row(
    ("old", "new"),
    [
        ("expires 1h;", "expires 2h;"),
        ("map $uri $m { default 1; } add_header X $m;", "map $uri $m { default 2; } add_header X $m;"),
        ("map $uri $m { default 1; } include nx;", "map $uri $m { default 2; } include nx;"),
        ("include nx;", ""),
        ("map $uri $memcached_key { default 1; }", "map $uri $memcached_key { default 2; }"),
        ("map $uri $m { default 1; } map $uri $x { include nx; }",
         "map $uri $m { default 2; } map $uri $x { include nx; }"),
        ("map $uri $m { default 1; } server { set $m 1; }", "map $uri $m { default 1; } server { }"),
        ("upstream u { server a; } lua_shared_dict d 1m; server { content_by_lua_block { } }",
         "upstream u { server b; } lua_shared_dict d 1m; server { content_by_lua_block { } }"),
    ],
)  # fmt: skip
def test_what_is_around_all_servers(old: str, new: str) -> None:
    """Settings of http count, and so do files that were not read, code, and the variables that scripts set."""
    text = "events {{}} http {{ {} server {{ listen 80; server_name h; location / {{ }} }} }}"
    assert not are_alike(model(text.format(old)), model(text.format(new)))


def test_what_a_server_includes(tmp_path: Path) -> None:
    """The files that it includes count, whatever their names are."""
    models = []
    for name, content in (("a", "return 200 a;"), ("b", "return 200 a;"), ("c", "return 200 b;"), ("d", None)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "nginx.conf").write_text(
            "events {} http { server { listen 80; location / { include more; } } }"
        )
        if content is not None:
            (tmp_path / name / "more").write_text(content)
        config = load(tmp_path / name / "nginx.conf", missing_ok=True)
        models.append(SiteModel(config, Build(VERSION)))
    assert [are_alike(models[0], each) for each in models] == [True, True, False, False]


def test_a_server_is_equal_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The executor says the same of them."""
    monkeypatch.setattr(ServerTexts, "alike", lambda *_: False)
    for forms in (*WRITTEN_ALIKE, *WRITTEN_UNLIKE):
        for side in sides(forms):
            assert verify(side, side).verdict == "equivalent"


@pytest.mark.parametrize("words", ["listen 127.0.0.%d:80;", "server_name n%d.test;", "server_name ~^n%d$;"])
def test_a_server_of_many_names_is_read_once(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not for each of its names and addresses, of which its text may have thousands."""
    text = f"events {{}} http {{ server {{ {' '.join(words % number for number in range(60))} }} }}"
    read: list[int] = []
    original = VerifiedSide.written

    def written(side: VerifiedSide, server: int) -> tuple[str, ...] | None:
        read.append(server)
        return original(side, server)

    monkeypatch.setattr(VerifiedSide, "written", written)
    assert verify(model(text), model(text + "\n")).verdict == "equivalent"
    assert 0 < len(read) <= 6
