"""A group whose commands are modules with a `command`, each imported on first use."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from nginxopt.cli.naming import noting


class ModuleGroup(click.Group):
    """The group; `modules` are the names of the modules, by command."""

    def __init__(self, *args: Any, modules: Mapping[str, str], **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands, in their order."""
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; None if there is none of that name."""
        if cmd_name not in self._modules:
            return None
        command: click.Command = import_module(self._modules[cmd_name]).command
        if ctx.resilient_parsing:  # a shell completes a command line
            from nginxopt.cli.completion import completed

            return completed(command, ctx)
        return noting(command)
