"""Runs a benchmark: deploy, probe, find the capacity, attack in rounds, and collect the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nginxopt.bench import measure, probe, provenance, rounds, run_folder
from nginxopt.bench.gate import Gate, check
from nginxopt.bench.probe import Statuses
from nginxopt.bench.result import Result, Sample
from nginxopt.bench.rounds import Progress
from nginxopt.bench.scenario import Experiment, OpenLoop
from nginxopt.bench.site import LoadSource, RunningSite, SiteExperiment


@dataclass(slots=True)
class Benchmark:
    """A running benchmark. `result` may be called at any time, and returns the measurements so far.

    `folder` must exist. It keeps the configurations, the targets and the files of the load generator.
    """

    experiment: Experiment
    runner: SiteExperiment
    source: LoadSource
    folder: Path
    rounds: int
    gates: Sequence[Gate] = ()
    samples: list[Sample] = field(default_factory=list)
    capacities: Mapping[str, float] = field(default_factory=dict)
    _tests: dict[str, float] = field(default_factory=dict)
    _about: dict[str, Any] = field(default_factory=dict)

    def run(self, progress: Progress, started: Callable[[float], None]) -> None:
        """Run the benchmark. `started` gets the approximate duration in seconds; `progress` gets each step.

        Raises `MissingError`, `InputError` and `RunError` like the runner, the probes and the rounds.
        """
        self._about = {**provenance.machine(), "folder": self.folder.name}
        with self.runner.deploy(self.experiment, self.folder) as site:
            self._about |= {**self.runner.provenance(), "runner": self.runner.name}
            statuses = probe.probe(site, self.experiment)
            self._test(site)
            if self.experiment.metric == "instructions":
                self.rounds = 1  # counts are the same in every round
                started(rounds.COUNT_SECONDS * len(self.experiment.attacks))
                rounds.count(site, self.experiment, progress, self.samples.append)
                return
            self.source.start(site)
            try:
                self._attack(site, statuses, progress, started)
            finally:
                self._about |= self.source.provenance()

    def _attack(
        self, site: RunningSite, statuses: Statuses, progress: Progress, started: Callable[[float], None]
    ) -> None:
        started(rounds.seconds(self.experiment, self.rounds))
        self.capacities = rounds.find_capacities(site, self.experiment, self.source, progress)
        self.experiment = rounds.at_rates(self.experiment, self.capacities)
        self._about["commands"] = self._commands(site)
        rounds.run(site, self.experiment, self.source, statuses, self.rounds, progress, self.samples.append)

    def result(self) -> Result:
        """Return the result so far."""
        samples = tuple(self.samples)
        summaries = measure.summaries(samples)
        ratios = measure.ratios(self.experiment, samples)
        rates = {
            attack.case: attack.load.rate
            for attack in self.experiment.attacks
            if isinstance(attack.load, OpenLoop) and attack.load.rate is not None
        }
        return Result(
            self.experiment,
            self.rounds,
            samples,
            summaries,
            ratios,
            check(self.gates, self.experiment, summaries, ratios, len(samples) // max(1, len(self.experiment.attacks))),
            rates,
            self.capacities,
            dict(self._tests),
            dict(self._about),
            len(samples) == self.rounds * len(self.experiment.attacks),
        )

    def _test(self, site: RunningSite) -> None:
        for variant in filter(lambda variant: variant.nodes, self.experiment.variants):
            self._tests[variant.name] = sum(site.test_seconds(variant, node.role) for node in variant.nodes)

    def _commands(self, site: RunningSite) -> dict[str, str]:
        """Return the command of each attack, to be run in the folder."""
        commands: dict[str, str] = {}
        for attack in self.experiment.attacks:
            name = run_folder.attack_name(attack)
            run = rounds.load_run(site, self.experiment, attack, 1)
            commands |= self.source.commands(replace(run, name=f"targets/{name}", output=f"results/ROUND/{name}"))
        return commands
