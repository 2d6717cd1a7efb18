"""What becomes of a request: experiments asked of nginx, and what the model says of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from nginxopt.system import nginx
from tests.nginx.request_model import handlers, internal, locations, phases, rewrite, servers, table, wire
from tests.nginx.request_model.experiment import Experiment, asked, shown
from tests.site_fuzz.batch import Observation
from tests.site_fuzz.compare import differences
from tests.site_fuzz.messages import Request, response
from tests.site_fuzz.model import Model, build
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

    def ask(self, index: int) -> list[Observation]:
        """What nginx answers to the requests of an experiment."""
        port = self.ports(index)[0]
        requests = [Request(port, asked(text)) for text in EXPERIMENTS[index].answers]
        answers = self.stage.ask(requests)
        return [Observation(request, answer, None) for request, answer in zip(requests, answers, strict=True)]

    def model(self, index: int) -> Model:
        """The model of the servers of an experiment."""
        text = _HTTP.format(self.stage.filled(EXPERIMENTS[index].text(), self.ports(index)))
        return Model.of_text(text, build(self.stage.binary, self.stage.root))


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
    ports = laboratory.ports(index)
    answers = [response(laboratory.stage.unfilled(observation.raw, ports)) for observation in laboratory.ask(index)]
    texts = [shown(answer, experiment.shows) for answer in answers]
    assert dict(zip(experiment.answers, texts, strict=True)) == expected, experiment.claim


@pytest.mark.parametrize("index", range(len(EXPERIMENTS)), ids=[experiment.name for experiment in EXPERIMENTS])
def test_model(laboratory: Laboratory, index: int) -> None:
    """The model says what nginx answers, and Unknown where the experiment says so only."""
    experiment = EXPERIMENTS[index]
    if not laboratory.has(experiment):
        pytest.skip("a directive that this nginx does not know")
    observations, model = laboratory.ask(index), laboratory.model(index)
    outcomes = model.outcomes([observation.request for observation in observations])
    upstreams = model.upstreams(laboratory.stage.upstreams)
    wrong = {}
    for text, outcome, observation in zip(experiment.answers, outcomes, observations, strict=True):
        if outcome is None or text in experiment.given:
            continue  # lines that are no request, and what depends on more than the request
        unknown = outcome["unknown"]["reason"] if outcome["kind"] == "unknown" else ""
        reason = experiment.reason(text, laboratory.stage.binary.version)
        found = differences(outcome, observation, None, upstreams)
        if found or bool(unknown) != bool(reason) or reason not in unknown:
            wrong[text] = found or unknown or "known"
    assert not wrong, experiment.claim
