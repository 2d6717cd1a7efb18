"""What becomes of a request: experiments asked of nginx, and what the model says of them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from nginxopt.errors import InputError
from nginxopt.system import nginx
from tests.fuzz.sites.batch import Observation
from tests.fuzz.sites.compare import differences
from tests.fuzz.sites.messages import Request, response
from tests.fuzz.sites.model import Model, build
from tests.fuzz.sites.stage import Stage
from tests.nginx import test_semantics
from tests.nginx.modules import knows
from tests.nginx.request_model import (
    addresses,
    handlers,
    internal,
    links,
    locations,
    passes,
    phases,
    rewrite,
    servers,
    table,
    wire,
)
from tests.nginx.request_model.experiment import Experiment, asked, shown

pytestmark = pytest.mark.nginx

EXPERIMENTS: tuple[Experiment, ...] = (
    *table.TABLE,
    *wire.WIRE,
    *servers.SERVERS,
    *phases.PHASES,
    *addresses.ADDRESSES,
    *locations.LOCATIONS,
    *rewrite.REWRITE,
    *passes.PASSES,
    *internal.INTERNAL,
    *handlers.HANDLERS,
    *links.LINKS,
)
_OF_PCRE = {
    "/m%0Ax": "versions of PCRE differ",
    "/x%0A/m": "versions of PCRE differ",
    "/r%0D": "versions of PCRE differ",
    "/r%0D%0A": "versions of PCRE differ",
    f"/{40 * 'a'}b": "PCRE may give up",
}
SEMANTICS: tuple[Experiment, ...] = tuple(
    Experiment(
        experiment.claim,
        experiment.claim,
        (rf'server_name a.test "~^(.+)\.wild$"; {experiment.server} {experiment.state}',),
        {f"{target} | Host: {experiment.host}": "" for target in experiment.answers},
        experiment.http,
        unknown={f"{target} | Host: {experiment.host}": _OF_PCRE.get(target, "") for target in experiment.answers},
    )
    for experiment in test_semantics.EXPERIMENTS
)
"""The experiments about rewrites and maps, which `test_semantics` asks nginx about."""

ALL = (*EXPERIMENTS, *SEMANTICS)
PORTS = [1 + max([0, *map(int, re.findall(r"\{P(\d)\}", experiment.text()))]) for experiment in ALL]
"""How many ports each has."""
TRIES = 4

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
        first = sum(PORTS[:index])
        return list(self.stage.ports(first + PORTS[index]))[first:]

    def write(self) -> None:
        """Write the configuration with all experiments that nginx knows the directives of."""
        parts = [
            self.stage.filled(experiment.text(), self.ports(index))
            for index, experiment in enumerate(ALL)
            if self.has(experiment)
        ]
        self.stage.write({"users": phases.USERS, "nginx.conf": _HTTP.format("\n".join(parts))})

    def has(self, experiment: Experiment) -> bool:
        """Whether this nginx knows its directives."""
        is_built = experiment.needs is None or knows(self.stage.binary, experiment.needs)
        return is_built and experiment.since <= self.stage.binary.version < experiment.until

    def ask(self, index: int) -> list[Observation]:
        """What nginx answers to the requests of an experiment."""
        port = self.ports(index)[0]
        filled = {text: self._filled(text) for text in ALL[index].answers}
        requests = [Request(port, asked(text)) for text in filled.values()]
        answers = self.stage.ask(requests)
        return [Observation(request, answer, None) for request, answer in zip(requests, answers, strict=True)]

    def _filled(self, text: str | bytes) -> str | bytes:
        return text if isinstance(text, bytes) else self.stage.filled(text)

    def model(self, index: int) -> Model:
        """The model of the servers of an experiment."""
        text = _HTTP.format(self.stage.filled(ALL[index].text(), self.ports(index)))
        return Model.of_text(text, build(self.stage.binary, self.stage.root))


@pytest.fixture(scope="module")
def laboratory(each_binary: nginx.Binary) -> Iterator[Laboratory]:
    """Each nginx with all experiments that it knows the directives of."""
    with contextlib.ExitStack() as stack:
        yield _started(stack, each_binary)


def _started(stack: contextlib.ExitStack, binary: nginx.Binary) -> Laboratory:
    """Start nginx, with other ports if a client of another process has one of them."""
    for tries_left in reversed(range(TRIES)):
        with contextlib.ExitStack() as trial:
            laboratory = Laboratory(trial.enter_context(Stage(binary)))
            laboratory.write()
            try:
                trial.enter_context(laboratory.stage.running())
            except InputError as error:
                if "bind() to" not in str(error) or not tries_left:
                    raise
                continue
            stack.enter_context(trial.pop_all())
            return laboratory
    raise AssertionError("a try returns or raises")


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


@pytest.mark.parametrize("index", range(len(ALL)), ids=[experiment.name for experiment in ALL])
def test_model(laboratory: Laboratory, index: int) -> None:
    """The model says what nginx answers, and Unknown where the experiment says so only."""
    experiment = ALL[index]
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
