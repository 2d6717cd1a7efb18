"""`nginxopt fleet`: many configurations at once."""

from __future__ import annotations

import click

from nginxopt.cli import ModuleGroup

_COMMANDS = {
    "lint": "nginxopt.cli.fleet_lint",
    "report": "nginxopt.cli.fleet_report",
    "diff": "nginxopt.cli.fleet_diff",
    "query": "nginxopt.cli.fleet_query",
}


@click.command("fleet", cls=ModuleGroup, modules=_COMMANDS, short_help="Check the configurations of many hosts.")
def command() -> None:
    """Check the configurations of many hosts, on this machine or on a cluster."""
