"""A few whole sites through nginx and the model; `python -m tests.fuzz.sites` plays as many as wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nginxopt.system import nginx
from tests.fuzz.nodes import walk
from tests.fuzz.sites.batch import Batch, made
from tests.fuzz.sites.generate import Site, site
from tests.fuzz.sites.play import Damage, Figures, minimal, play, reproduction
from tests.fuzz.sites.stage import Stage
from tests.fuzz.sites.words import b, d

pytestmark = [pytest.mark.nginx, pytest.mark.extended, pytest.mark.no_cover]

SITES, EACH = 30, 40
MOST_UNKNOWN = 0.05


@pytest.fixture
def stage(each_binary: nginx.Binary) -> Iterator[Stage]:
    """A place to play sites, with each nginx."""
    with Stage(each_binary) as stage_:
        yield stage_


def by_hand() -> Batch:
    """A site where the answer is simple."""
    locations = [
        b("location", "/", inner=[d("access_log", "logs/a.log", "l2"), d("add_header", "X-A", "$uri")]),
        b("location", "/p/", inner=[d("access_log", "logs/a.log", "l3"), d("proxy_pass", "http://{http0}/V/")]),
        b("location", "/t", inner=[d("access_log", "logs/a.log", "l4"), d("return", "200", "$uri|$args")]),
        b("location", "/r", inner=[d("access_log", "logs/a.log", "l5"), d("rewrite", "^/r(.*)$", "/t$1", "permanent")]),
    ]
    server = b("server", inner=[d("listen", "127.0.0.1:{P}"), d("access_log", "logs/a.log", "l1"), *locations])
    formats = "".join(f"log_format l{n} '{n}\t$http_x_n\t$status\t$uri\t$args';" for n in range(1, 6))
    uris = ["/f.txt", "/p/x", "/t", "/t?x", "/r", "/r/y", "/nx"]
    return Batch(
        f"root {{T}}/r; {formats} access_log logs/a.log l1;", [Site("by hand", 1, [server], ["a.test"], uris, [0])]
    )


def setting(kind: str, field: str, change: Callable[[Any], Any]) -> Damage:
    """A fault: the model says another thing of the outcomes of a kind."""

    def damage(outcome: dict[str, Any]) -> None:
        if outcome["kind"] == kind:
            outcome[field] = change(outcome[field])

    return damage


def _elsewhere(passed: dict[str, Any]) -> dict[str, Any]:
    return {**passed, "target": "/W/x"}


FAULTS: dict[str, tuple[Damage, str]] = {
    "status": (setting("static", "status", lambda _: 206), "status"),
    "Location": (setting("redirect", "location", lambda location: location + "?"), "location"),
    "body": (setting("return", "body", lambda body: (body or "") + "x"), "body"),
    "file": (setting("static", "file", lambda file: file.replace("f.txt", "x.html")), "file"),
    "header": (setting("static", "headers", lambda _: []), "x-a"),
    "target": (setting("proxy", "upstream", _elsewhere), "passed"),
    "uri": (setting("error", "uri", lambda uri: uri + "/"), "uri"),
    "level": (setting("return", "level", lambda level: level - 1), "level"),
    "closed": (setting("return", "kind", lambda _: "closed"), "closed"),
}  # fmt: skip


@pytest.mark.no_cover
def test_the_model_says_what_nginx_answers(stage: Stage) -> None:
    """Requests to whole sites get what the model says, and the model knows nearly all of it."""
    figures = Figures()
    for difference in play(stage, made(1, 0, SITES, stage.binary.version), 1, EACH, figures):
        pytest.fail(reproduction(stage, minimal(stage, difference)))
    assert figures.requests == SITES * EACH
    assert figures.unknown.total() < MOST_UNKNOWN * figures.requests
    assert figures.logged > figures.known / 2
    assert {"static", "error", "redirect", "return", "proxy"} <= set(figures.kinds)


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_seen(binary: nginx.Binary, fault: str) -> None:
    """Each fault in what the model says is found, as what it is."""
    damage, kind = FAULTS[fault]
    with Stage(binary) as stage:
        assert not play(stage, by_hand(), 1, EACH, Figures())
        differences = play(stage, by_hand(), 1, EACH, Figures(), damage)
    assert kind in {difference.kind.partition(":")[0] for difference in differences}


def test_a_difference_is_made_small(binary: nginx.Binary) -> None:
    """What is left of a site is what it takes to differ, and its text tells all that is needed."""
    damage = FAULTS["body"][0]
    with Stage(binary) as stage:
        difference = play(stage, by_hand(), 1, EACH, Figures(), damage)[0]
        smallest = minimal(stage, difference, damage)
        text = reproduction(stage, smallest)
    (one,) = smallest.batch.sites
    assert sorted(node.head.split()[0] for _, node in walk(one.nodes)) == [b"listen", b"location", b"return", b"server"]
    assert "request: b'GET /t" in text
    assert "return 200 $uri|$args;" in text


def test_what_nginx_refuses_is_taken_out(binary: nginx.Binary) -> None:
    """A directive that nginx refuses is removed from a site before anything is compared."""
    batch, figures = by_hand(), Figures()
    (batch.sites[0].nodes[0].body or []).append(d("scgi_pass", "{scgi0}"))
    with Stage(binary) as stage:
        assert not play(stage, batch, 1, EACH, figures)
    assert figures.refused.total() == 1
    assert not any(node.head.startswith(b"scgi") for _, node in walk(batch.sites[0].nodes))


def test_sites_can_be_made_again() -> None:
    """A seed makes the same sites, each by its number alone; another seed makes others."""
    for number in range(6):
        assert site(1, number, (1, 31, 3)).text() == site(1, number, (1, 31, 3)).text()
    assert site(1, 1, (1, 31, 3)).text() != site(2, 1, (1, 31, 3)).text()


def test_everything_is_generated() -> None:
    """Within some hundred sites all directives and kinds of locations occur."""
    text = "\n".join(site(1, number, (1, 31, 3)).text() for number in range(300))
    for words in (
        "default_server", "server_name ", "location = ", "location ^~ ", "location ~ ", "location ~* ", "location @n",
        " last;", " break;", " redirect;", " permanent;", "set $v0", "set $args", "if (", "return 301", "return 404",
        "try_files", "error_page", "recursive_error_pages", "index ", "alias ", "root ", "autoindex on", "limit_except",
        "allow ", "deny ", "satisfy any", "internal;", "add_header", "expires", "map ", "hostnames;", "volatile;",
        "geo ",
        "split_clients", "upstream ", "proxy_pass", "fastcgi_pass", "uwsgi_pass", "scgi_pass", "empty_gif",
        "absolute_redirect off", "port_in_redirect off", "server_name_in_redirect on", "merge_slashes off",
        "underscores_in_headers on",
    ):  # fmt: skip
        assert words in text, words
