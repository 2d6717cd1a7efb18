"""`nginxopt probe`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nginxopt.cli import options
from nginxopt.lint import HTTP11_BACKENDS, IDLE_CONNECTIONS, probe
from nginxopt.system.upstream import UpstreamTarget
from nginxopt.text.display import line, printable

if TYPE_CHECKING:
    from nginxopt.lint.probe import Observation

_EXAMPLES = """\b
Examples:
  nginxopt probe http://127.0.0.1:8080/           a server that nginx passes to
  nginxopt probe http://unix:/run/app.sock:/      a server on a UNIX-domain socket
  nginxopt probe http://127.0.0.1:8080/ --held 64 --idle 60
                                                  hold as many connections as the pools of all workers

\b
Exit status: 0 no evidence against the premises, 1 evidence against one, 2 usage error, 5 the server does not answer.
"""


@click.command("probe", epilog=_EXAMPLES, short_help="Test an upstream server for a keepalive pool.")
@click.argument("url")
@click.option(
    "--held", type=click.IntRange(1, 1000), default=8, show_default=True, help="Idle connections to hold at once."
)
@click.option(
    "--idle",
    type=options.Seconds(0.1, 3600),
    default=5.0,
    show_default=True,
    help="Seconds to hold one idle connection.",
)
@click.option(
    "--wait", type=options.Seconds(0.1, 600), default=10.0, show_default=True, help="Seconds to wait for an answer."
)
def command(url: str, held: int, idle: float, wait: float) -> int:
    """Test an upstream server for the premises of a keepalive pool.

    Sends GET requests for URL over HTTP/1.0 and HTTP/1.1, as nginx does, while holding idle connections. Probe each
    server of the upstream, with a path that is typical of its responses.
    """
    observations = []
    for observation in probe.probe(UpstreamTarget.parse(url), probe.Effort(held, idle, wait)):
        click.echo(line(_line(observation)))
        observations.append(observation)
    click.echo()
    for premise in (HTTP11_BACKENDS, IDLE_CONNECTIONS):
        against = any(observation.fits is False for observation in observations if observation.premise is premise)
        click.echo(f"{premise.name}: {'does not hold' if against else 'no evidence against it'}")
    return int(any(observation.fits is False for observation in observations))


def _line(observation: Observation) -> str:
    sign = {True: "ok  ", False: "FAIL", None: "note"}[observation.fits]
    return f"{sign}  {observation.premise.name}: {printable(observation.text)}"
