"""The requests that stand for those of a log."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import load_text
from nginxopt.profile import samples, terms
from nginxopt.profile.reading import SiteLogs
from nginxopt.request.client import RequestForm
from nginxopt.request.model import SiteModel, World
from nginxopt.semantics.site import Build
from nginxopt.version import Version
from tests.rows import every_row


@every_row("agent", [samples._BROWSER[0], samples._OTHER], ids=["Chrome", "Firefox"])
@every_row("length", [70, 97, 150, 240, 500, 2_000])
def test_a_request_is_as_long_as_in_the_log(length: int, agent: tuple[str, str]) -> None:
    """Headers are added and shortened up to the length; nginx still sees the same browser."""
    form: RequestForm = {
        "method": "GET",
        "target": "/204",
        "version": (1, 1),
        "headers": [("Host", "a.example")],
        "connection": {},  # type: ignore[typeddict-item]
    }
    samples._complete(form, dict([agent]), length)
    sent = len("GET /204 HTTP/1.1\r\n\r\n") + sum(len(name) + len(value) + 4 for name, value in form["headers"])
    assert length - len("X-Other: x\r\n") <= sent <= length
    assert ("Chrome/" in dict(form["headers"])["User-Agent"]) == ("Chrome/" in agent[1])


def test_files_of_clean_urls(tmp_path: Path) -> None:
    """Of a request with more branches than the model tells, the files that may exist are searched one by one."""
    conf = """events { } http { server { listen 80; server_name a.example; root /srv; error_page 404 /404.html;
        location / { try_files $uri $uri.html $uri/ =404; } } }"""
    log = tmp_path / "access.log"
    log.write_text('192.0.2.1 - - [27/Nov/2026:10:00:00 +0200] "GET /part HTTP/1.1" 200 512 "-" "curl/8"\n' * 3)
    model = SiteModel(load_text(conf.encode(), "nginx.conf"), Build(Version(1, 22, 1)))
    logs = SiteLogs(model, model.gate(), World(), (str(log),))
    ((_, requests, found),) = samples.Samples(logs, logs.profile()).of_all()
    assert (requests, [sample.choices[0] for sample in found if not isinstance(sample, str)]) == (3, [("/srv/part",)])
    assert {("/srv/part",), ("/srv/part.html",)} <= {
        choice for sample in found if not isinstance(sample, str) for choice in sample.choices
    }


AGENTED = '192.0.2.1 - - [27/Nov/2026:10:00:00 +0200] "GET /{} HTTP/1.1" 204 0 "-" "{}"\n'


@every_row(
    ("agents", "sent"),
    [
        (["curl/8", "iPhone", "iPhone"], "iPhone"),
        (["-", "-", "curl/8"], None),
        (["a\\x22b"], samples._BROWSER[0][1]),  # what was sent is not known
    ],
)
def test_samples_have_the_name_of_the_most_frequent_client(tmp_path: Path, agents: list[str], sent: str | None) -> None:
    """A request of the log has its own User-Agent, and the correction is what nginx looks for in the others."""
    log = tmp_path / "access.log"
    log.write_text("".join(AGENTED.format(number, agent) for number, agent in enumerate(agents)))
    conf = b"events { } http { server { listen 80; return 204; } }"
    model = SiteModel(load_text(conf, "nginx.conf"), Build(Version(1, 22, 1)))
    logs = SiteLogs(model, model.gate(), World(), (str(log),))
    ((_, requests, found),) = samples.Samples(logs, logs.profile()).of_all()
    assert not isinstance(found, str)
    (sample,) = found
    assert requests == len(agents)
    assert dict(sample.form["headers"]).get("User-Agent") == sent
    others = sum(6 * len(agent) for agent in agents if agent != "-") / len(agents) - 6 * len(sent or "")
    expected = terms.of("nginx 1.22.1").scanned_byte.instructions * others
    assert len(agents) == 1 or sample.correction.instructions == pytest.approx(expected)
