"""The command line. A command parses its options, calls another package, prints the result, and sets the exit status.

Each command is a module with a `command`, which is imported on first use. Before it runs, the files and directories
named on the command line are recorded: a command shows and changes only these.

Errors are printed here and nowhere else. Exit statuses are 0 for success, 1 for findings (or files that would change),
and those of `nginxopt.errors`.
"""

# ruff: noqa: E402 - what is imported last would be searched for garbage dozens of times, in vain

from __future__ import annotations

import atexit
import contextlib
import copy
import gc
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence, Sized
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn

gc.set_threshold(100_000)  # new objects, in place of 700

import click

from nginxopt import __version__
from nginxopt._native import end_lacking, release_memory
from nginxopt.cli import stdout
from nginxopt.cli.stdout import ClosedPipeError
from nginxopt.errors import DefectError, InputError, NginxoptError, OutputError, TerminatedError
from nginxopt.system import interrupts
from nginxopt.text.display import line


class ModuleGroup(click.Group):
    """A group whose commands are modules; `modules` are their names, by command."""

    def __init__(self, *args: Any, modules: Mapping[str, str], **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands, in their order."""
        return list(self._modules)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names. The error for an unknown word suggests similar ones."""
        name = args[0]
        if name not in self._modules and not name.startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches  # 4 ms, which other calls do not need

            if close := get_close_matches(name, self._modules, 1):
                ctx.fail(f"No such command {name!r}. (Did you mean {close[0]!r}?)")
            if os.path.isfile(name):
                ctx.fail(f"No such command {name!r}. (Did you mean '{ctx.command_path} lint {name}'?)")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; None if there is none of that name."""
        if cmd_name not in self._modules:
            return None
        command: click.Command = import_module(self._modules[cmd_name]).command
        if ctx.resilient_parsing:  # a shell completes a command line
            from nginxopt.cli.completion import completed

            return completed(command, ctx)
        return noting(command)


_NO_PATHS = ("request", "rule", "rules", "query", "sql", "scenario", "name")
"""Arguments that are not names of files."""


def noting(command: click.Command) -> click.Command:
    """Return a command that first records the paths of its command line, and forgets those of an earlier command.

    It does so as soon as its command line is parsed, so that click and the command stay unchanged.
    """
    if command.callback is None or isinstance(command, click.Group):
        return command

    def make_context(*args: Any, **extra: Any) -> click.Context:
        context = command.make_context(*args, **extra)
        from nginxopt.config import roots  # 10 ms, which `--help` does not need: it has ended
        from nginxopt.system.writing import DONE

        roots.forget()
        DONE.clear()
        roots.note(_named(context))
        context.call_on_close(roots.leave)
        return context

    noting_it = copy.copy(command)
    noting_it.make_context = make_context  # type: ignore[method-assign]
    return noting_it


def _named(context: click.Context) -> Any:
    """Return what the arguments and options name.

    An argument, a prefix, a root and the main file of `-c` count with what is beside or below them; the file of another
    option by itself, but for a baseline, whose text nobody needs to see. Without any argument for paths it is the
    working directory.
    """
    from nginxopt.cli.options import ALSO_GIVEN, FILE
    from nginxopt.config import roots

    named = roots.of(context.meta.get(ALSO_GIVEN, ()))
    nginx = context.params.get("nginx")
    for parameter in context.command.params:
        texts = list(_texts(context.params.get(parameter.name or "")))
        if isinstance(parameter, click.Argument) and parameter.name not in _NO_PATHS:
            if not texts and parameter.nargs == -1 and nginx:
                texts = [nginx]  # in `--nginx FILE`, as for `options.without_its_path`
            is_empty = not texts and parameter.nargs == -1 and parameter.name == "paths"
            named |= roots.of(["."] if is_empty else texts)
        elif parameter.name in ("main", "stdin_filename"):
            named |= roots.of(texts)
        elif parameter.name in ("prefix", "machine_root"):
            named |= roots.of(f"{text}/" for text in texts)
        elif parameter.type is FILE and parameter.name != "baseline":
            for text in texts:
                named |= roots.only(text)
    return named


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of the value of a parameter."""
    if isinstance(value, str):
        if value and "\0" not in value:
            yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _texts(item)


_COMMANDS = {
    "lint": "nginxopt.cli.lint",
    "check": "nginxopt.cli.check",
    "explain": "nginxopt.cli.explain",
    "rules": "nginxopt.cli.rules",
    "format": "nginxopt.cli.format",
    "trace": "nginxopt.cli.trace",
    "profile": "nginxopt.cli.profile",
    "test": "nginxopt.cli.test",
    "rewrite-to-map": "nginxopt.cli.rewrite_to_map",
    "verify": "nginxopt.cli.verify",
    "probe": "nginxopt.cli.probe",
    "bench": "nginxopt.cli.bench",
    "fleet": "nginxopt.cli.fleet",
    "lsp": "nginxopt.cli.lsp",
    "ingress": "nginxopt.cli.ingress",
    "mcp": "nginxopt.cli.mcp",
}
"""Each command is a module with a `command`, imported on first use."""

_NO_ARGUMENTS = getattr(click.exceptions, "NoArgsIsHelpError", ())  # since click 8.2; its message is the help
_INTERRUPTED = 128 + signal.SIGINT
_BY_SIGNAL = (_INTERRUPTED, 128 + signal.SIGTERM)


@click.command(
    cls=ModuleGroup,
    modules=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 success, 1 findings, changes or other responses, 2 usage error, 3 unreadable input,"
    " 4 missing program or version, 5 failed benchmark, no answer from a server or no verdict, 6 output error,"
    " 7 failed rule of your own, 70 bug in nginxopt.",
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def nginxopt() -> None:
    """Find what makes an nginx configuration slow, fix it, and prove that nothing else changed."""


_ENDS = "the process ends with the command"
"""The object of a context of click that says so."""
_FEW = 100


def pause_collector() -> None:
    """Search for no garbage while a command runs: that takes a fifth of the time for a large file, and finds nothing.

    Nor at its end, if the process ends with it.
    """
    gc.disable()
    context = click.get_current_context()
    if context.obj is not _ENDS:
        context.call_on_close(gc.enable)


def resume_collector(configs: Sized) -> None:
    """Search for garbage again if a command has many configurations, as each leaves some."""
    if len(configs) > _FEW:
        gc.enable()


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit with its status: that of this process, or one with other arguments in a process."""
    is_program = args is None
    if is_program:
        stdout.keep_descriptors()
        interrupts.watch()
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not ignored, as in the background
            signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _terminate)
    with stdout.guarded():
        status = _run(args, at_once=is_program)
    if is_program:
        _let_signals_end()
    atexit.register(gc.freeze)  # the process ends: a last search for garbage takes 15 ms
    sys.exit(status)


def _let_signals_end() -> None:
    """Let signals end the process at once, since its result is written: Python runs no handlers while it exits."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def _terminate(number: int, _: FrameType | None) -> NoReturn:
    """End as on Ctrl-C, which also stops the programs that were started."""
    gc.freeze()  # nothing is worth a search for garbage now, which takes a second for a million objects
    raise TerminatedError(128 + number)


def _interrupt(_number: int, _: FrameType | None) -> NoReturn:
    """End on Ctrl-C."""
    gc.freeze()
    raise KeyboardInterrupt


def _run(args: Sequence[str] | None, *, at_once: bool = False) -> int:
    """Return the exit status of a command. If a signal ends it and `at_once`, end the process."""
    try:
        result: Any = nginxopt.main(args, prog_name="nginxopt", standalone_mode=False, obj=_ENDS if at_once else None)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except BaseException as error:
        release_memory()
        try:
            status = _ended_by(error)
        except MemoryError:
            end_lacking()
        stdout.discard()
        if at_once and status in _BY_SIGNAL:
            os._exit(status)  # frees nothing, which takes seconds for millions of objects, and waits for no thread
        return status


def _ended_by(error: BaseException) -> int:
    """Print the error that ended a command, and return the exit status."""
    if isinstance(error, ClosedPipeError):
        return 128 + signal.SIGPIPE
    if isinstance(error, click.ClickException):
        with contextlib.suppress(*_UNPRINTABLE):
            if isinstance(error, _NO_ARGUMENTS):
                error.show()
            else:
                click.UsageError(line(error.format_message()), getattr(error, "ctx", None)).show()
        return error.exit_code
    if isinstance(error, click.Abort | KeyboardInterrupt):
        _say("interrupted")
        return _INTERRUPTED
    if isinstance(error, TerminatedError):
        return int(str(error.code))
    if isinstance(error, SystemExit):
        raise error
    if isinstance(error, NginxoptError):
        text = error.render()
        _say(text)
        if "nothing was written" in text:
            _name_written()
        if isinstance(error, DefectError):
            _say(_report_bug())
        return error.exit_code
    from nginxopt.faults import lacks_memory

    if lacks_memory(error):
        from nginxopt.budget import out_of_memory

        return _ended_by(out_of_memory())
    if isinstance(error, FileNotFoundError) and _is_nowhere():
        return _ended_by(InputError("the current directory no longer exists"))
    import traceback

    _say("".join(traceback.format_exception(error)))
    _say(f"nginxopt {__version__} failed: {type(error).__name__}: {error}\n{_report_bug()}")
    return DefectError.exit_code


def _is_nowhere() -> bool:
    """Return whether the current directory was removed, so that no relative path has a meaning."""
    from pathlib import Path

    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


_UNPRINTABLE = (ClosedPipeError, OutputError)
"""Errors of writing a message to standard error, which cannot be shown."""


def _name_written() -> None:
    """Name what the command had written, such as a report, before it ended with an error that wrote nothing."""
    from nginxopt.system.writing import DONE
    from nginxopt.text.display import line

    if DONE:
        _say(line(f"written before this: {', '.join(DONE)}"))


def _report_bug() -> str:
    """Return how to report a bug, and what the command had written before."""
    from nginxopt.system.writing import DONE
    from nginxopt.text.display import line

    written = line(f"it had written {', '.join(DONE)}") if DONE else "nothing was written"
    return (
        f"This is a bug in nginxopt; {written}. Please report it with the command, the lines above, and the input if "
        "you can share it."
    )


def _say(text: str) -> None:
    """Print a message on standard error if it is open."""
    with contextlib.suppress(*_UNPRINTABLE):
        click.echo(text, err=True)
