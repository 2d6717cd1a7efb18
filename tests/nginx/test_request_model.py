"""What becomes of a request: experiments asked of nginx, and what the model says of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from nginxopt.system import nginx
from tests.nginx.request_model import handlers, internal, locations, phases, rewrite, servers, table, wire
from tests.nginx.request_model.experiment import Experiment, asked, shown
from tests.site_fuzz.messages import Request, response
from tests.site_fuzz.stage import Stage

EXPERIMENTS: tuple[Experiment, ...] = (
    *table.TABLE,
    *wire.WIRE,
    *servers.SERVERS,
    *phases.PHASES,
    *locations.LOCATIONS,
    *rewrite.REWRITE,
    *internal.INTERNAL,
    *handlers.HANDLERS,
)
PORTS = 3
"""How many ports an experiment may name."""

_HTTP = """
events {{ worker_connections 4096; }}
http {{
    access_log off; client_body_temp_path temp/body; proxy_temp_path temp/proxy; fastcgi_temp_path temp/fastcgi;
    uwsgi_temp_path temp/uwsgi; scgi_temp_path temp/scgi; server_names_hash_bucket_size 128;
    map_hash_bucket_size 128; variables_hash_max_size 4096; types {{ text/html html; text/plain txt; }}
    {}
}}
"""


@dataclass(frozen=True)
class Laboratory:
    """One nginx with the servers of each experiment at its own ports."""

    stage: Stage

    def ports(self, index: int) -> list[int]:
        """The ports of an experiment."""
        return list(self.stage.ports((index + 1) * PORTS))[index * PORTS :]

    def has(self, experiment: Experiment) -> bool:
        """Whether this nginx knows its directives."""
        return experiment.since <= self.stage.binary.version < experiment.until

    def answers(self, index: int) -> dict[str | bytes, str]:
        """What nginx answers to an experiment."""
        experiment, ports = EXPERIMENTS[index], self.ports(index)
        requests = [Request(ports[0], asked(text).replace(b"{P}", b"%d" % ports[0])) for text in experiment.answers]
        raw = [self.stage.unfilled(answer, ports) for answer in self.stage.ask(requests)]
        texts = [shown(response(answer), experiment.shows) for answer in raw]
        return dict(zip(experiment.answers, texts, strict=True))


@pytest.fixture(scope="module")
def laboratory(each_binary: nginx.Binary) -> Iterator[Laboratory]:
    """Each nginx with all experiments that it knows the directives of."""
    with Stage(each_binary) as stage:
        laboratory = Laboratory(stage)
        parts = [
            stage.filled(experiment.text(), laboratory.ports(index))
            for index, experiment in enumerate(EXPERIMENTS)
            if laboratory.has(experiment)
        ]
        stage.write({"users": phases.USERS, "nginx.conf": _HTTP.format("\n".join(parts))})
        with stage.running():
            yield laboratory


@pytest.mark.parametrize("index", range(len(EXPERIMENTS)), ids=[experiment.name for experiment in EXPERIMENTS])
def test_nginx(laboratory: Laboratory, index: int) -> None:
    """nginx answers what the experiment claims."""
    experiment = EXPERIMENTS[index]
    if not laboratory.has(experiment):
        pytest.skip("a directive that this nginx does not know")
    version = laboratory.stage.binary.version
    expected = {text: experiment.answer(text, version) for text in experiment.answers}
    assert laboratory.answers(index) == expected, experiment.claim
