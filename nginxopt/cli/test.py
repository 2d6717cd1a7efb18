"""`nginxopt test`."""

from __future__ import annotations

import contextlib
import os
import sys
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from nginxopt.cli import options, site, stdout
from nginxopt.config.includes import source
from nginxopt.config.tree import collector_paused
from nginxopt.errors import MissingError, UsageError
from nginxopt.faults import collecting
from nginxopt.records import record
from nginxopt.request.batch import Batch
from nginxopt.request.expectations import run
from nginxopt.request.live import LiveAnswers, LiveOptions, judge_live, live_site, read_resolved
from nginxopt.request.recording import recorded
from nginxopt.request.report import FORMATS, render
from nginxopt.request.report.model import TestReport
from nginxopt.request.requests_file import RequestsFile
from nginxopt.request.table import is_table, read_table
from nginxopt.system.files import write_all
from nginxopt.text.display import count, hide, hide_in_json, inert_document, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nginxopt.cli.site import AskedSite
    from nginxopt.errors import InputError
    from nginxopt.request import Request, Url
    from nginxopt.request.follow import Ask
    from nginxopt.request.judgement import Answer
    from nginxopt.request.real_answers import RealAnswers
    from nginxopt.request.table import ExpectedTable
    from nginxopt.system.nginx import Binary
    from nginxopt.text import Source

_EXAMPLES = """\b
Examples:
  nginxopt test nginx.conf redirects.csv                    compare each row with what nginx would answer
  nginxopt test nginx.conf redirects.csv --follow           ... with where its redirects lead in the end
  nginxopt test nginx.conf redirects.csv --nginx            ask a real nginx on 127.0.0.1
  nginxopt test nginx.conf redirects.csv --format junit --output redirects.xml
  nginxopt test nginx.conf urls.txt --record > table.csv    write the table of what nginx answers today
  nginxopt test table.csv --live https://staging.example    ask a running server, of whatever make
  nginxopt test nginx.conf table.csv --live https://staging.example    ... and name the rules that answered before

\b
Exit status: 0 every row passed, 1 a row failed, is broken or its answer is unknown, 2 usage error, 3 unreadable input,
4 nginx or a package is missing.
"""


_SHOWN = 10
"""The requests that are listed of those left out."""


@record(eq=True)
class TestCall:
    """A comparison as the command line asks for it."""

    table: str
    follows: bool
    format: str
    output: str | None
    verbose: bool
    quiet: bool
    by_nginx: bool


@click.command("test", epilog=_EXAMPLES)
@click.argument("config", metavar="[CONFIG]", required=False)
@click.argument("table", metavar="TABLE", required=False)
@click.option("--follow", "follows", is_flag=True, help="Follow redirects; compare where they end.")
@click.option("--record", "records", is_flag=True, help="Write a table of today's answers to the requests in TABLE.")
@click.option(
    "--header", "names", multiple=True, metavar="NAME", help="With --record, also write this header of the answers."
)
@click.option("--live", metavar="URL", help="Ask the server at URL in place of the sites of TABLE.")
@click.option(
    "--resolve",
    multiple=True,
    metavar="HOST:PORT:ADDRESS",
    help="With --live, ask HOST:PORT at ADDRESS (or ADDRESS:PORT) under its own name; * is any host.",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0.01, max=10_000),
    default=50.0,
    show_default=True,
    metavar="N",
    help="With --live, send at most N requests a second.",
)
@click.option(
    "--timeout",
    type=options.Seconds(min=0.001, max=3_600),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="With --live, how long an answer may take.",
)
@click.option("--http2", is_flag=True, help="With --live, use HTTP/2, with prior knowledge where there is no TLS.")
@click.option("--insecure", is_flag=True, help="With --live, accept any certificate.")
@options.check_with_nginx(
    "Ask nginx, on 127.0.0.1 with echo servers as upstreams, instead of the model.", options.ALLOW_CODE
)
@site.of_site
@options.format_of(list(FORMATS), "text")
@options.OUTPUT
@options.QUIET
@click.option("-v", "--verbose", is_flag=True, help="List all rules and locations that no row reaches.")
def command(
    config: str | None,
    table: str | None,
    follows: bool,
    records: bool,
    names: tuple[str, ...],
    live: str | None,
    resolve: tuple[str, ...],
    rate: float,
    timeout: float,
    http2: bool,
    insecure: bool,
    nginx: str | None,
    format_: str,
    output: str | None,
    quiet: bool,
    verbose: bool,
    **of_site: Any,
) -> int:
    """Test that requests get the answers that a table expects.

    TABLE is CSV with the columns from, to and status (a header is optional), or JSON lines with these keys; - is
    standard input. from is a URL or a path, to the Location, and status a code or a word such as proxy or static. With
    --record, TABLE may also be a list of URLs or an access log. CONFIG is the same as for nginxopt trace.

    With --live, TABLE is put to a running server. CONFIG is then the configuration that answered before, if any, and
    names the rule for each difference.
    """
    if config is None:
        raise click.UsageError(f"Missing argument '{'CONFIG' if live is None else 'TABLE'}'.")
    if live is not None:
        _refuse_with_live(records, nginx, names)
        asking = _live_options(live, resolve, rate, timeout, http2, insecure)
        call = TestCall(table or config, follows, format_, output, verbose, quiet, False)
        return _compare_live(None if table is None else config, asking, call, of_site)
    if resolve or http2 or insecure:
        raise UsageError("--resolve, --http2 and --insecure need --live")
    if names and not records:
        raise UsageError("--header needs --record")
    if nginx and table is None:  # which `--nginx CONFIG TABLE` took for the path
        config, table, nginx = nginx, config, ""
    if table is None:
        raise click.UsageError("Missing argument 'TABLE'.")
    if records and follows:
        raise UsageError("--record writes each answer; it does not follow redirects")
    if config == table == "-":
        raise UsageError("only one of CONFIG and TABLE can be standard input")
    binary = None if nginx is None else options.binary(nginx)
    asked = site.load(config, binary=binary, **of_site)
    options.refuse_overwriting("--output", output, [table, *asked.files])
    batch = Batch(asked.model, asked.gate, asked.world)
    for note in () if quiet else asked.notes:
        stdout.say(f"note: {note}")
    with collecting() as bugs, _asking(asked, batch, binary) as ask:
        if records:
            status = _record(asked, table, output, ask, names)
        else:
            call = TestCall(table, follows, format_, output, verbose, quiet, binary is not None)
            status = _compare(asked, batch, call, ask)
    return stdout.report_bugs(bugs, status)


@contextlib.contextmanager
def _asking(asked: AskedSite, batch: Batch, binary: Binary | None) -> Iterator[Ask]:
    """Yield who answers: the model, or a private nginx, whose disagreements with the model are reported at the end."""
    if binary is None:
        yield batch.answers
        return
    from nginxopt.request.private import PrivateNginx
    from nginxopt.request.real_answers import RealAnswers

    prefix = asked.model.site.site["build"]["prefix"]
    tls = any(socket["tls"] for socket in asked.model.site.site["sockets"])
    with PrivateNginx(asked.config, prefix, asked.world, binary, tls=tls) as nginx:
        answers = RealAnswers(batch, nginx)
        yield partial(_shown, answers, str(binary)) if sys.stderr.isatty() else answers
    for request, of_model, answer in answers.disagreements[:_SHOWN]:
        text = f"{request}: nginx answers {answer}, the model {of_model}"
        stdout.say(f"the model is wrong: {printable(text)}")


def _shown(answers: RealAnswers | LiveAnswers, name: str, requests: Sequence[Request]) -> list[Answer]:
    """Return the answers with a progress bar."""
    with stdout.progress(len(requests), f"asking {name}") as bar:
        return answers(requests, lambda: bar.update(1))


def _compare(asked: AskedSite, batch: Batch, call: TestCall, ask: Ask) -> int:
    """Compare the answers with the rows; report."""
    with collector_paused():
        table = read_table(_source(call.table), _base(asked), follow=call.follows)
        _note(table, quiet=call.quiet)
        results = run(table.rows, batch, ask, follows=call.follows)
    who = "nginx" if call.by_nginx else "model of nginx"
    by = f"{who} {asked.target.version}"
    return _report(TestReport(_relative(call.table), results, asked.model.site.nodes, by, table.broken), call)


def _report(report: TestReport, call: TestCall) -> int:
    """Write a report; return the exit status."""
    color = call.output is None and stdout.colored()
    pieces = render(report, call.format, color=color, quiet=call.quiet, verbose=call.verbose)
    text = hide_in_json("".join(pieces)) if call.format == "json" else hide("".join(pieces))
    _write(
        [inert_document(text, call.format) if call.output is None else text], call.output, colors=call.format == "text"
    )
    return int(not report.passed)


def _refuse_with_live(records: bool, nginx: str | None, names: tuple[str, ...]) -> None:
    """Raise `UsageError` for options that select another source of answers."""
    if records or names:
        raise UsageError("--record writes what a configuration answers, without --live")
    if nginx is not None:
        raise UsageError("--live and --nginx cannot be used together")


def _live_options(
    live: str, resolve: tuple[str, ...], rate: float, timeout: float, http2: bool, insecure: bool
) -> LiveOptions:
    """Return how to ask a running server. Raises `MissingError` without the HTTP client."""
    for package in ("httpcore", *(["h2"] if http2 else [])):
        if find_spec(package) is None:
            raise MissingError(f"{package} is not installed", hint="install it with pip install 'nginxopt[live]'")
    return LiveOptions(live_site(live), read_resolved(resolve), rate, timeout, http2, insecure)


def _compare_live(config: str | None, asking: LiveOptions, call: TestCall, of_site: dict[str, Any]) -> int:
    """Compare the answers of a running server with the rows; report."""
    if config is None:
        _refuse_without_config(of_site)
    asked = None if config is None else site.load(config, **of_site)
    options.refuse_overwriting("--output", call.output, [call.table, *(() if asked is None else asked.files)])
    batch = None if asked is None else Batch(asked.model, asked.gate, asked.world)
    base = site.base_url(of_site["base"]) or (asking.site if asked is None else _base(asked))
    table = read_table(_source(call.table), base, follow=call.follows)
    _note(table, quiet=call.quiet)
    hosts = {row.request.url.host.lower() for row in table.rows}
    if len(hosts) > 1 and not asking.resolved and not call.quiet:
        stdout.say(
            f"note: the {len(hosts)} hosts of the table are all asked as {asking.site.host}; "
            "--resolve keeps their names"
        )
    with collecting() as bugs, LiveAnswers(asking, None if batch is None else batch.answers) as answers:
        ask = partial(_shown, answers, asking.site.site) if sys.stderr.isatty() else answers
        results = run(
            table.rows,
            batch,
            ask,
            follows=call.follows,
            serves=lambda url: url.host.lower() in hosts,
            judge=judge_live,
        )
    nodes = None if asked is None else asked.model.site.nodes
    status = _report(TestReport(_relative(call.table), results, nodes, asking.site.site, table.broken), call)
    return stdout.report_bugs(bugs, status)


def _refuse_without_config(of_site: dict[str, Any]) -> None:
    """Raise `UsageError` for options that are about a configuration."""
    given = [name for name, value in of_site.items() if value and name != "base"]
    if given:
        raise UsageError(f"--{given[0].replace('_', '-')} needs CONFIG, which --live can do without")


def _note(table: ExpectedTable, *, quiet: bool) -> None:
    """Print what was assumed about the columns of a table."""
    for note in () if quiet else table.notes:
        stdout.say(f"note: {note}")


def _record(asked: AskedSite, path: str, output: str | None, ask: Ask, names: Sequence[str]) -> int:
    """Write the table of today's answers."""
    requests, broken = _requests(asked, path)
    recording = recorded(requests, ask(requests), names)
    _write([recording.text], output)
    for request, reason in recording.left_out[:_SHOWN]:
        stdout.say(f"left out: {printable(str(request))}: {printable(reason)}")
    if len(recording.left_out) > _SHOWN:
        stdout.say(f"{count(len(recording.left_out), 'request')} left out in all")
    for error in broken[:_SHOWN]:
        click.echo(error.render(), err=True)
    if len(broken) > _SHOWN:
        stdout.say(f"{count(len(broken), 'broken row')} left out in all")
    return int(bool(broken))


def _source(path: str) -> Source:
    return source(path)


def _base(asked: AskedSite) -> Url | None:
    return asked.base or asked.gate.base


def _requests(asked: AskedSite, path: str) -> tuple[list[Request], Sequence[InputError]]:
    """Return the requests of a table, a list or a log, and what is wrong with rows of a table that are none."""
    source = _source(path)
    if is_table(source):
        table = read_table(source, _base(asked), follow=True)
        return [row.request for row in table.rows], table.broken
    traffic = RequestsFile(path, asked.config, asked.gate, base=asked.base).read_from(source.data)
    for note in traffic.notes:
        stdout.say(f"note: {note}")
    return list(traffic), ()


def _relative(path: str) -> str:
    """Return a path as reports name it: below the working directory relative to it."""
    folder = os.getcwd().rstrip("/") + "/"  # noqa: PTH109 - a text
    return path.removeprefix(folder)


def _write(pieces: Iterable[str], output: str | None, *, colors: bool = False) -> None:
    """Write to a file or to standard output."""
    encoded = [piece.encode("utf-8", "surrogateescape") for piece in pieces]
    if output is None:
        stdout.write(encoded, colors=colors)
    else:
        write_all({output: b"".join(encoded)})
