"""A host that runs already, from the options of `nginxopt bench load`."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from nginxopt.bench.gate import parse
from nginxopt.bench.load.vegeta import Vegeta
from nginxopt.bench.target import url
from nginxopt.cli.options import FILE
from nginxopt.config.includes import source
from nginxopt.errors import MissingError, UsageError
from nginxopt.records import record

if TYPE_CHECKING:
    from nginxopt.bench.scenario import Experiment
    from nginxopt.bench.site import Generator, SiteExperiment

EPILOG = """\b
Examples:
  nginxopt bench load --target https://www.example.com/ --i-own-this-host --max-rate 200
  nginxopt bench load --target http://10.0.0.7 --targets paths.txt --i-own-this-host --max-rate 5000 --load-workers 2
"""


@record(eq=True)
class TargetOptions:
    """The values of `OPTIONS`, by the names of their parameters."""

    target: str | None
    targets: str | None
    i_own_this_host: bool
    max_rate: int | None


OPTIONS = (
    click.option("--target", metavar="URL", help="Host to load, and the path to request (http:// or https://)."),
    click.option("--targets", type=FILE, metavar="FILE", help="Requests: one path per line, its headers below it."),
    click.option("--i-own-this-host", is_flag=True, help="Confirm that you may load this host."),
    click.option(
        "--max-rate",
        type=click.IntRange(min=1),
        metavar="R",
        help="Maximum of requests per second, of all workers together.",
    ),
)


def refuse(options: TargetOptions, rate: float | None, *, is_auto: bool) -> None:
    """Raise `UsageError` unless the options say whose host it is, and how much it may be loaded."""
    if options.target is None:
        raise UsageError("--target is missing", hint="--target URL names the host to load")
    if not options.i_own_this_host:
        raise UsageError("--target needs --i-own-this-host", hint="only load hosts that are yours to load")
    if options.max_rate is None:
        raise UsageError("--target needs --max-rate", hint="--max-rate R is the most requests per second it may get")
    if rate is not None and rate > options.max_rate:
        raise UsageError(f"--rate {rate:g} exceeds --max-rate {options.max_rate}")
    if is_auto:
        raise UsageError("--rate auto cannot be used with --target: it would exceed --max-rate", hint="use a number")
    if options.targets is not None and url(options.target).path != "/":
        raise UsageError("--target has a path, and --targets has others", hint="use --target without a path")


def refuse_ratios(gates: Sequence[str]) -> None:
    """Raise `UsageError` for a gate on a ratio: nothing is compared."""
    for gate in map(parse, gates):
        if gate.of is not None:
            raise UsageError(f"gate {gate.text!r}: bench load compares nothing", hint="use a value, such as p99<=20ms")


def experiment(options: TargetOptions) -> Experiment:
    """Return the load at the highest rate that is allowed. `InputError` for an unreadable file of requests."""
    from nginxopt.bench import compare, target

    assert options.target is not None, "refused before"
    assert options.max_rate is not None, "refused before"
    path = options.targets
    requests = () if path is None else compare.targets(source(path))
    if any(request.site for request in requests):
        raise UsageError("--targets has URLs, and --target names the host", hint="use paths in the file")
    return target.build(target.url(options.target), requests, options.max_rate)


def choose(options: TargetOptions, *, is_spread: bool) -> tuple[SiteExperiment, Generator]:
    """Return the runner of the host, which is resolved here, and vegeta.

    Raises `MissingError` without vegeta on PATH, unless the load `is_spread`: workers have their own.
    """
    from nginxopt.bench.runner.remote import Remote, resolve

    assert options.target is not None, "refused before"
    assert options.max_rate is not None, "refused before"
    if not is_spread and shutil.which("vegeta") is None:
        raise MissingError("no vegeta found on PATH", hint="install vegeta: wrk cannot keep to a rate")
    resolved = resolve(url(options.target))
    generator = Vegeta(scheme=resolved.url.scheme, connect_to=resolved.connect_to, direct=True)
    return Remote(resolved, options.max_rate), generator
