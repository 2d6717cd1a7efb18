"""Loads what `rewrite-to-map` compiles: a file by itself, or with the configuration that includes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nginxopt.config import Config, File, places, surroundings
from nginxopt.config import load as load_file
from nginxopt.config.configuration import parse_context
from nginxopt.config.reader import source
from nginxopt.config.surroundings import Alone, Surroundings
from nginxopt.errors import UsageError
from nginxopt.rewrite.kinds.maps import rows
from nginxopt.settings import file as settings

if TYPE_CHECKING:
    from nginxopt.cli.call import Call

IN_PLACE = ("write", "diff", "check", "plan")
"""The modes that work on files in place."""


class Loaded(NamedTuple):
    """A configuration to compile.

    Attributes:
        file: The file to compile if it is not the main one.
        around: What is around the file, or why that is not known; None if that was not asked for.
        head: The head of the map that was put around a file of rows.
    """

    config: Config
    file: File | None = None
    around: Surroundings | Alone | None = None
    head: str | None = None


def load(call: Call) -> Loaded:
    """Return the configuration that a call compiles.

    The modes that work in place search for the main configuration of a fragment.
    """
    places.state(settings.includes())
    head = rows.head(call.context)
    around: Surroundings | Alone | None = None
    if call.main is not None or call.mode in IN_PLACE or (rows.is_context(call.context) and head is None):
        around = None if _is_main(call) else surroundings.find(call.file, prefix=call.prefix, main=call.main)
    if isinstance(around, Surroundings):
        _refuse_context(call, around)
        return Loaded(around.config, around.file, around)
    if rows.is_context(call.context):
        return _rows(call, head, around)
    config = load_file(call.file, prefix=call.prefix, context=call.context, missing_ok=True)
    if config.missing and config.http and call.mode == "write":
        load_file(call.file, prefix=call.prefix, context=call.context)  # refuses a missing file in nginx's words
    return Loaded(config, around=around)


def _rows(call: Call, head: str | None, around: Alone | None) -> Loaded:
    """Return a file of rows with a map around it; in place there is none to change."""
    if head is None or call.mode in ("write", "diff"):
        raise rows.unknown(call.file, None if around is None else around.because)
    return Loaded(rows.wrapped(source(call.file), head, prefix=call.prefix), around=around, head=head)


def _is_main(call: Call) -> bool:
    """Return whether a file is a main configuration, or standard input, which cannot be part of one."""
    return call.file == "-" or load_file(call.file, includes=False).http is not None


def _refuse_context(call: Call, around: Surroundings) -> None:
    """Raise `UsageError` if the configuration includes the file in another context than --context."""
    places = set(around.config.contexts(around.file))
    if call.context is None or (rows.is_context(call.context) and all(place[-1:] == (rows.WORD,) for place in places)):
        return
    if rows.is_context(call.context) or places != {parse_context(call.context)}:
        where = ", ".join(sorted(",".join(place) or "main" for place in places))
        raise UsageError(
            f"{around.config.main.path} includes {call.file} in {where}, not in {call.context}",
            hint="remove --context",
        )
