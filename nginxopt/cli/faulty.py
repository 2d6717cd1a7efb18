"""Tells of bugs that a part of the input shows, after the results of the rest."""

from __future__ import annotations

from collections.abc import Iterable

import click

from nginxopt.errors import InternalError


def told(bugs: Iterable[InternalError], status: int) -> int:
    """Print each bug once on standard error. Return the exit status, which is `status` if there is none."""
    texts = {error.render(): error for error in bugs}
    for text in texts:
        click.echo(text, err=True)
    return InternalError.exit_code if texts else status
