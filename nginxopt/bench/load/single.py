"""Makes load with one generator, which runs at the site."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nginxopt.bench import run_folder
from nginxopt.bench.result import Outcome
from nginxopt.bench.site import Generator, LoadRun, RunningSite

_PATIENCE_SECONDS = 120.0
_PATIENCE_TIMES = 3.0


class Single:
    """One load generator."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._version = generator.name

    def start(self, site: RunningSite) -> None:
        """Find the version of the generator."""
        self._version = self._generator.version(site)

    def attack(self, site: RunningSite, run: LoadRun) -> Outcome:
        """Make an attack; see `nginxopt.bench.site.LoadSource.attack`."""
        load = run.attack.load
        run_folder.write(site.folder, self._generator.files(run.name, run.targets, run.address, load))
        command = self._generator.command(run.name, run.address, load, run.output, run.attack.tls)
        printed = site.execute(command, seconds=patience(load.seconds))
        return self._generator.outcome(site, run.output, printed)

    def commands(self, run: LoadRun) -> Mapping[str, str]:
        """Return the command of an attack."""
        command = self._generator.command(run.name, run.address, run.attack.load, run.output, run.attack.tls)
        return {f"{run.attack.variant}, {run.attack.case}": " ".join(command)}

    def provenance(self) -> Mapping[str, Any]:
        """Return the version of the generator."""
        return {"generator": self._version}


def patience(seconds: float) -> float:
    """Return the time limit in seconds for an attack that lasts `seconds`."""
    return _PATIENCE_SECONDS + _PATIENCE_TIMES * seconds
