"""`nginxopt bench`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import click

from nginxopt.bench.benchmark import Benchmark
from nginxopt.bench.catalogue import catalogue, names
from nginxopt.bench.gate import parse, refuse_early
from nginxopt.bench.report import table, vega
from nginxopt.bench.result import to_json
from nginxopt.bench.run_folder import is_program
from nginxopt.bench.saved import from_json
from nginxopt.bench.scenario import OpenLoop, ScenarioSettings
from nginxopt.bench.site import LostWorkerError
from nginxopt.cli import bench_folder, bench_load, bench_site, bench_target, options, stdout
from nginxopt.cli.bench_load import LoadOptions
from nginxopt.cli.bench_site import SiteOptions
from nginxopt.cli.bench_target import TargetOptions
from nginxopt.config.filesystem import DISK, Disk
from nginxopt.config.includes import contents, source
from nginxopt.errors import UsageError
from nginxopt.records import record
from nginxopt.settings import file as settings
from nginxopt.system.files import folder, write_all
from nginxopt.system.interrupts import orderly

if TYPE_CHECKING:
    from nginxopt.bench.gate import Gate
    from nginxopt.bench.result import Result
    from nginxopt.bench.scenario import Experiment, Load, Metric
    from nginxopt.bench.site import Generator, SiteExperiment
    from nginxopt.config import Config

_EPILOG = """\b
Examples:
  nginxopt bench rewrites --counts 0,819,10000
  nginxopt bench rewrites maps.conf --metric instructions
  nginxopt bench rewrites rules.conf --rate auto --output result.json
  nginxopt bench compare old/nginx.conf new/nginx.conf --targets paths.txt --gate 'p50<=1.05x'
  nginxopt bench load --target https://www.example.com/ --i-own-this-host --max-rate 200
  nginxopt bench report result.json --output result.html

\b
Exit status: 0 success, 1 a gate fails, 2 usage error, 3 unreadable input, 4 nginx or a load generator is missing,
5 a variant fails its check, or a program died.
"""


@record(eq=True)
class _Call:
    """The options of all scenarios."""

    site: SiteOptions
    load: LoadOptions
    rounds: int
    rate: str | None
    duration: float | None
    gates: tuple[str, ...]
    format_: str
    output: str | None
    emit: str | None = None
    metric: Metric | None = None
    target: TargetOptions | None = None
    inputs: tuple[str, ...] = ()

    @classmethod
    def of(cls, values: dict[str, Any]) -> _Call:
        """Return the call with the values of `_OPTIONS`."""
        of_site = {field.name: values.pop(field.name) for field in fields(SiteOptions) if field.name in values}
        of_load = {field.name: values.pop(field.name) for field in fields(LoadOptions)}
        return cls(SiteOptions(**of_site), LoadOptions(**of_load), **values)


class _Scenarios(click.Group):
    """The scenarios, each imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature

        return [*names(), *_OTHERS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _OTHERS:
            return _OTHERS[cmd_name]
        if cmd_name not in self.list_commands(ctx):
            return None

        return _command(cmd_name, catalogue()[cmd_name].help)


@click.command("bench", cls=_Scenarios, epilog=_EPILOG)
def command() -> None:
    """Benchmark nginx before and after a change.

    Measures latency, throughput, CPU time or instructions.
    """


def _common(function: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options of all scenarios."""
    for option in reversed((*_OPTIONS, *bench_site.OPTIONS, *bench_load.OPTIONS)):
        function = option(function)
    return function


_DAY = 86_400  # seconds
_MEASURED = (
    click.option(
        "--rounds", type=click.IntRange(min=1), default=5, show_default=True, help="Number of measurement rounds."
    ),
    click.option("--rate", metavar="R|auto", help="Requests per second; auto is half the capacity of the slowest."),
    click.option("--duration", type=options.Seconds(0.1, _DAY), metavar="SECONDS", help="Duration of each load run."),
)
_TOLD = (
    click.option(
        "--gate",
        "gates",
        multiple=True,
        metavar="EXPR",
        help="Exit with status 1 unless EXPR holds (p50<=1.05x); a ratio needs 5 rounds.",
    ),
    options.format_of(["table", "json", "html"], "table"),
    options.OUTPUT,
)
_OPTIONS = (
    click.option(
        "--emit",
        type=options.DIRECTORY,
        metavar="DIR",
        help="Write the benchmark to DIR, new or empty; run nothing.",
    ),
    *_MEASURED,
    click.option(
        "--metric", type=click.Choice(["latency", "throughput", "cpu", "instructions"]), help="Metric to compare."
    ),
    *_TOLD,
)


def _command(name: str, help_text: str) -> click.Command:
    """Return the command of a scenario."""

    @_common
    def run(**values: Any) -> int:
        settings = _settings(values)
        inputs = () if settings.rules is None else _paths(settings.rules)
        return _bench(catalogue()[name].build(settings), _Call.of({**values, "inputs": inputs}))

    scenario = click.command(name, help=f"{help_text}.")(run)
    if name == "rewrites":
        scenario.params[:0] = _REWRITES
    return scenario


_REWRITES: list[click.Parameter] = [
    click.Argument(["rules"], required=False, metavar="[FILE]"),
    click.Option(["--counts"], default="0,819,10000", show_default=True, help="Numbers of generated rules."),
]


@click.command("compare")
@click.argument("before", metavar="BEFORE.conf")
@click.argument("after", metavar="AFTER.conf")
@click.option(
    "--targets",
    type=options.FILE,
    required=True,
    metavar="FILE",
    help="Requests: a URL or path per line, its headers below it.",
)
@_common
def compare(before: str, after: str, targets: str, **values: Any) -> int:
    """Compare two main configurations of your own.

    They run with listen addresses, logs, caches and a certificate of their own. Each request goes to the listen that
    fits the scheme, host and port of its URL; a path goes to the content of the site, over TLS if it is served so.
    """
    from nginxopt.bench import compare as comparison
    from nginxopt.config import load

    requests = comparison.targets(source(targets))
    files = Disk(settings.includes())
    configs = load(before, files=files), load(after, files=files)
    call = _Call.of({**values, "inputs": (targets, *_paths(configs[0]), *_paths(configs[1]))})
    version, certificate = bench_site.version(call.site), bench_site.certificate(configs)
    experiment = comparison.build(*configs, requests, version=version, certificate=certificate)
    return _bench(experiment, call)


def _paths(config: Config) -> tuple[str, ...]:
    return tuple(file.path for file in config.files)


def _of_target(function: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options of a load on a host that runs already."""
    for option in reversed((*bench_target.OPTIONS, *_MEASURED, *bench_load.OPTIONS, *_TOLD)):
        function = option(function)
    return function


@click.command("load", epilog=bench_target.EPILOG)
@_of_target
def load(**values: Any) -> int:
    """Measure a running host of your own under load.

    Nothing is requested without --i-own-this-host and a limit of the rate.
    """
    target = TargetOptions(**{field.name: values.pop(field.name) for field in fields(TargetOptions)})
    bench_target.refuse(target, _rate(values["rate"]), is_auto=values["rate"] == "auto")
    inputs = () if target.targets is None else (target.targets,)
    call = _Call.of({**values, "target": target, "inputs": inputs})
    bench_target.refuse_ratios(call.gates)
    return _bench(bench_target.experiment(target), call)


@click.command("report")
@click.argument("path", metavar="RESULT.json")
@options.format_of(["table", "html"], "html")
@options.OUTPUT
def report(path: str, format_: str, output: str | None) -> int:
    """Render a saved JSON result as HTML or a table."""
    options.refuse_overwriting("--output", output, [path])
    _tell(from_json(contents(path, DISK), path), format_, output)
    return 0


_OTHERS = {"compare": compare, "load": load, "report": report}
"""The commands that are not scenarios."""


def _settings(values: dict[str, Any]) -> ScenarioSettings:
    """Pop the scenario's own settings from the values of options."""
    from nginxopt.config import load

    rules, counts = values.pop("rules", None), values.pop("counts", None)
    return ScenarioSettings(
        rules=None if rules is None else load(rules),
        counts=ScenarioSettings().counts if counts is None else _counts(counts),
    )


def _counts(text: str) -> tuple[int, ...]:
    try:
        counts = tuple(int(count) for count in text.split(","))
    except ValueError:
        counts = (-1,)
    if min(counts) < 0:
        raise UsageError(f"--counts {text}: invalid numbers of rules", hint="for example 0,819,10000")
    return counts


def _bench(experiment: Experiment, call: _Call) -> int:
    """Run, report, check the gates: the whole command."""
    inputs = [*call.inputs, *filter(None, (call.site.nginx, call.site.vegeta_binary))]
    options.refuse_overwriting("--output", call.output, inputs)
    if call.emit is not None and call.output is not None:
        raise UsageError("--emit and --output cannot be used together: nothing is run")
    bench_folder.refuse(call.output, inputs)
    gates = [parse(text) for text in call.gates]
    if call.metric is None and any(gate.figure == "instructions" for gate in gates):
        call = replace(call, metric="instructions")
    refuse_early(gates, call.rounds)
    bench_load.refuse(
        call.load, runner=call.site.runner, generator=call.site.generator, metric=call.metric, emit=call.emit
    )
    experiment = _with_loads(experiment, call)
    if call.emit is not None:
        return _emit(experiment, call, call.emit)
    if call.format_ == "html":
        vega.require()
    result = _run(experiment, call, gates)
    _tell(result, call.format_, call.output)
    return 0 if all(gate.holds for gate in result.gates) else 1


def _emit(experiment: Experiment, call: _Call, path: str) -> int:
    """Write a benchmark as a directory that runs by itself, and holds nothing else."""
    if call.rate == "auto":
        raise UsageError("--emit does not support --rate auto", hint="use a number, such as --rate 1000")
    options.refuse_filled("--emit", path)
    files = bench_site.files(experiment, call.site, call.rounds)
    root = folder(path, list(files))
    write_all({str(root / name): data for name, data in files.items()})
    for name, data in files.items():
        if is_program(data):
            (root / name).chmod(0o755)
    stdout.say(f"wrote {path}; run it with {path}/run")
    return 0


def _with_loads(experiment: Experiment, call: _Call) -> Experiment:
    """Return the experiment with the loads of the options."""
    rate = _rate(call.rate)

    def change(load: Load) -> Load:
        if call.duration is not None:
            load = replace(load, seconds=call.duration)
        if not isinstance(load, OpenLoop) or load.fixed:
            return load
        if call.metric == "throughput":
            return load.closed()
        return load if call.rate is None else replace(load, rate=rate)

    return replace(experiment.with_loads(change), metric=call.metric or experiment.metric)


def _rate(text: str | None) -> float | None:
    if text is None or text == "auto":
        return None
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 1 <= rate < float("inf"):  # nor NaN
        raise UsageError(f"--rate {text}: invalid number of requests per second", hint="use a number from 1, or auto")
    return rate


def _run(experiment: Experiment, call: _Call, gates: list[Gate]) -> Result:
    from nginxopt.bench.runner.local import Local
    from nginxopt.bench.runner.remote import Remote

    cap = None if call.target is None else call.target.max_rate
    runner, generator = _choose(call)
    is_here = not isinstance(runner, Local | Remote) or runner.is_here
    with (
        orderly(),
        bench_folder.opened(call.output) as run_folder,
        bench_load.source(call.load, generator, cap=cap, is_here=is_here) as source,
    ):
        benchmark = Benchmark(experiment, runner, source, run_folder, call.rounds, gates)
        try:
            _with_progress(benchmark)
        except (KeyboardInterrupt, LostWorkerError):
            if benchmark.samples:
                _tell(benchmark.result(), call.format_, call.output)
            raise
        return benchmark.result()


def _choose(call: _Call) -> tuple[SiteExperiment, Generator]:
    """Return the runner and the load generator."""
    if call.target is not None:
        return bench_target.choose(call.target, is_spread=call.load.is_spread)
    return bench_site.choose(
        call.site, counts_instructions=call.metric == "instructions", is_spread=call.load.is_spread
    )


def _with_progress(benchmark: Benchmark) -> None:
    """Run, with a progress bar on a terminal."""
    if not sys.stderr.isatty():
        benchmark.run(lambda _seconds, _what: None, lambda _seconds: None)
        return
    with stdout.progress(1, "starting") as bar:

        def started(seconds: float) -> None:
            bar.length = max(1, round(seconds * 1000))

        def progress(seconds: float, what: str) -> None:
            bar.label = what
            bar.update(round(seconds * 1000))

        benchmark.run(progress, started)


def _tell(result: Result, format_: str, output: str | None) -> None:
    text = _text(result, format_).encode()
    if output is None:
        stdout.write([text])
    else:
        write_all({output: text})


def _text(result: Result, format_: str) -> str:
    """Return the result in a format: table, json or html."""
    if format_ == "json":
        return to_json(result)
    if format_ == "html":
        from nginxopt.bench.report import html

        return html.render(result)

    return "\n".join([*table.lines(result), ""])
