"""`nginxopt lint`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nginxopt.cli import lint_results, options, pause_collector, resume_collector
from nginxopt.cli.lint_results import LintCall, refuse_contradictions, refuse_overwritten_inputs
from nginxopt.config import inputs, main_file, roots
from nginxopt.config.filesystem import STDIN
from nginxopt.errors import InputError, UsageError, status_of
from nginxopt.lint.baseline import load, read
from nginxopt.lint.catalogue import AskedRules, load_from, selection
from nginxopt.lint.check import Judge, check, check_and_fix, identities
from nginxopt.lint.report import FORMATS
from nginxopt.lint.report.model import Note, notes_of_inputs
from nginxopt.lint.report.model import notes as notes_of
from nginxopt.records import record
from nginxopt.semantics.refusals import cause
from nginxopt.settings import file as settings_
from nginxopt.settings import vocabulary
from nginxopt.settings.target import GUESSES, choose, recognised
from nginxopt.text import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nginxopt.cli.lint_base import Base
    from nginxopt.config import Config
    from nginxopt.config.inputs import Inputs
    from nginxopt.lint import Premise
    from nginxopt.lint.baseline import Baseline
    from nginxopt.lint.catalogue import Catalogue
    from nginxopt.lint.check import Checked
    from nginxopt.profile.sums import Profile
    from nginxopt.profile.worth import Worth
    from nginxopt.settings.file import Settings
    from nginxopt.settings.target import TargetVersion
    from nginxopt.system.host import Host
    from nginxopt.system.revision import Revision
    from nginxopt.version import Version


@record(eq=True)
class Origin:
    """Where a call finds its settings, baseline and rules: in the work tree, or in a revision of it.

    Settings, baselines and rules of a pull request are the contributor's, who could silence findings with them, or run
    a program. With `--settings-from` they are those of a revision, such as the base of the pull request.
    """

    tree: Revision | None

    def find(self, config: str | None, isolated: bool) -> Source | None:
        """Return the settings file, as `nginxopt.settings.file.find` does, under its path in the work tree."""
        if self.tree is None or isolated:
            return settings_.find(config=config, isolated=isolated)
        if config is not None:
            return Source(config, self._contents(config))
        found = self._nearest(self.tree)
        return None if found is None else Source(self.tree.now(found.path), found.data)

    def where(self, path: str) -> str:
        """Return where the file or folder is that settings name."""
        return path if self.tree is None else str(self.tree.before(path))

    def baseline(self, path: str) -> Baseline:
        """Return the baseline of a path. Raises `InputError` for a missing or damaged one."""
        return load(path) if self.tree is None else read(Source(path, self._contents(path)))

    @staticmethod
    def _nearest(tree: Revision) -> Source | None:
        cwd = Path.cwd().resolve()
        if not cwd.is_relative_to(tree.root):
            return None
        return settings_.nearest(tree.folder / cwd.relative_to(tree.root), tree.folder)

    def _contents(self, path: str) -> bytes:
        assert self.tree is not None
        try:
            return self.tree.before(path).read_bytes()
        except OSError as error:
            raise InputError(f"cannot be read in {self.tree.name}: {error.strerror}", path=path) from None


@contextmanager
def settings_origin(revision: str | None) -> Iterator[Origin]:
    """Yield where settings are: in the work tree, or in a revision, whose files stay until the end of the block.

    Raises the errors of `nginxopt.system.revision.revision`.
    """
    if revision is None:
        yield Origin(None)
        return
    from nginxopt.system import revision as revisions

    with revisions.revision(revision, Path.cwd(), "--settings-from") as tree:
        yield Origin(tree)


_EXAMPLES = """\b
Examples:
  nginxopt lint /etc/nginx/nginx.conf            find what makes this nginx slow
  nginxopt lint nginx.conf --fix                 apply the safe fixes
  nginxopt lint nginx.conf --fix --assume http11-backends,idle-connections
                                                 ... and those that are safe under these premises
  nginxopt lint sites/ --assume stock            check fragments as part of the nginx.conf that comes with nginx
  nginxopt lint nginx.conf --fix --nginx         ... and check them with nginx -t first
  nginxopt lint nginx.conf --diff                show the changes of --fix
  nginxopt lint sites/ --format sarif --output nginxopt.sarif
  nginxopt lint sites/ --diff-base origin/main --format markdown
                                                 report what a pull request introduces
  nginx -T | nginxopt lint -                     check the configuration that nginx prints

\b
Exit status: 0 no findings at the --fail-on severity or above, 1 findings, or changes (--diff), 2 usage error,
3 unreadable input, or nginx -t refuses it before the fixes (--fix --nginx writes nothing), 4 nginx is missing
or this system cannot be checked (--host), 7 a rule of your own failed, 70 nginx -t refuses the fixes (nothing
is written).
"""


def _reports(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """Return the formats and files of `--report`. Raises `UsageError` for other texts, and for a file named twice."""
    pairs = tuple((name, path) for name, _, path in (value.partition("=") for value in values))
    for name, path in pairs:
        if name not in FORMATS or not path:
            raise UsageError(f"--report {name}={path}: not FORMAT=FILE", hint=f"formats are {', '.join(FORMATS)}")
    files = [path for _, path in pairs]
    if len(set(files)) < len(files):
        raise UsageError("--report names a file twice")
    return pairs


@click.command("lint", epilog=_EXAMPLES)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--fix", is_flag=True, help="Apply safe fixes: every decoded response stays as it is.")
@click.option(
    "--assume",
    multiple=True,
    callback=options.names,
    metavar="NAMES",
    help="Comma-separated premises: treat fixes that need only these as safe (see nginxopt explain PREMISE). A path "
    "names the main file that includes the fragments; stock is the one that comes with nginx.",
)
@click.option("--unsafe-fixes", "unsafe", is_flag=True, help="Include unsafe fixes.")
@click.option("--diff", is_flag=True, help="Show the changes of --fix; write nothing.")
@options.check_with_nginx(
    "Run nginx: send it the witness requests of findings, and check fixes with nginx -t.",
    options.MODULES,
    options.ALLOW_CODE,
)
@options.HOST
@options.ROOT
@options.SELECT
@options.IGNORE
@options.TARGET_VERSION
@options.FAIL_ON
@options.format_of(list(FORMATS), "text")
@options.OUTPUT
@click.option(
    "--report",
    "reports",
    multiple=True,
    callback=_reports,
    metavar="FORMAT=FILE",
    help="Also write the report to FILE in another format, such as sarif=nginxopt.sarif.",
)
@click.option("--link", metavar="URL", help="Link places in Markdown to URL/PATH#LINE, such as those of a commit.")
@click.option("--statistics", is_flag=True, help="Count findings by rule (text and json).")
@click.option(
    "--diff-base", metavar="REF", help="Report only findings that the changes since a git revision introduce."
)
@click.option("--baseline", type=options.FILE, metavar="FILE", help="Hide the findings recorded in FILE.")
@click.option("--write-baseline", type=options.FILE, metavar="FILE", help="Record all findings in FILE.")
@click.option(
    "--profile",
    type=options.FILE,
    metavar="FILE",
    help="Show what findings save a day, most first, under the traffic that nginxopt profile --save wrote to FILE.",
)
@options.CONTEXT
@options.PREFIX
@options.ALSO
@options.STDIN_FILENAME
@options.BY_CONTENT
@options.CONFIG
@options.ISOLATED
@click.option(
    "--settings-from",
    metavar="REV",
    help="Use the settings, the baseline and the rules of a git revision: those of a pull request are not trusted.",
)
@options.RULES
@options.QUIET
def command(
    paths: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    assume: tuple[str, ...],
    target_version: Version | None,
    context: str | None,
    prefix: str | None,
    stdin_filename: str | None,
    by_content: bool,
    config: str | None,
    isolated: bool,
    settings_from: str | None,
    with_rules: bool,
    with_host: bool,
    machine_root: str | None,
    format_: str,
    **values: Any,
) -> int:
    """Find what makes an nginx configuration slow, and fix it.

    PATH is a main configuration (its includes are followed), a fragment, a directory, a glob pattern, or - for standard
    input, such as the output of nginx -T. Without PATH, check the paths in the settings, or the working directory.
    """
    paths, values["nginx"] = options.without_its_path(paths, values["nginx"])
    origin = click.get_current_context().with_resource(settings_origin(settings_from))
    source = origin.find(config, isolated)
    settings, catalogue = load_from(source, AskedRules(with_rules, config is not None, origin.where))
    options.put_in_force(settings.budget)
    call = LintCall(piped="-" in paths, stdin_filename=stdin_filename, format=format_, **values)
    refuse_contradictions(call, paths)
    options.refuse_two_machines(with_host, machine_root)
    target = choose(target_version, next(iter(settings.target_version), None), call.nginx)
    read = partial(
        _read,
        settings=settings,
        prefix=prefix,
        context=context,
        stdin_name=call.stdin_filename,
        by_content=by_content,
        root=machine_root,
    )
    pause_collector()
    inputs = read(paths)
    resume_collector(inputs.configs)
    target = recognised(inputs.configs, target)
    around = _around(assume, settings)
    refuse_overwritten_inputs(
        call, inputs, around, None if source is None else source.path, call.baseline or settings.baseline
    )
    host = options.host_of(inputs.configs, with_host, machine_root)
    judge = _judge(catalogue, settings, target, select=select, ignore=ignore, assume=assume, host=host)
    judge = replace(
        judge,
        is_complete=not inputs.errors,
        around=around,
        known=None if call.write_baseline else _known(call.baseline or settings.baseline, origin),
    )
    base = _base(call, read, paths, settings, judge)
    checked = (
        check_and_fix(inputs.configs, judge, unsafe=call.unsafe) if call.applies_fixes else check(inputs.configs, judge)
    )
    return _finish(call, settings, target, judge, inputs, base, checked)


def worth(config: Config, target: TargetVersion, profile: Profile) -> Worth:
    """Return the findings that save time under the traffic of a profile, as the command has them without options.

    Raises the errors of settings and of the baseline that they name.
    """
    from nginxopt.profile.savings import weighted
    from nginxopt.profile.worth import Worth

    origin = Origin(None)
    settings, catalogue = load_from(origin.find(None, isolated=False), AskedRules(run=False, named=False))
    options.put_in_force(settings.budget)
    judge = _judge(catalogue, settings, target)
    judge = replace(judge, around=_around((), settings), known=_known(settings.baseline, origin))
    checked = check((config,), judge)
    found = lint_results.beside_baseline(settings.baseline, judge, checked, [])
    found = weighted(profile, checked.configs, judge.target, found)
    error = next(iter((*catalogue.errors.values(), *checked.errors)), None)
    return Worth.of(lint_results.reported(judge, found), error)


def _judge(
    catalogue: Catalogue,
    settings: Settings,
    target: TargetVersion,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    assume: Iterable[str] = (),
    host: Host | None = None,
) -> Judge:
    rules = selection(
        catalogue.rules.values(),
        settings,
        select=select,
        ignore=ignore,
        known=catalogue.not_loaded,
        with_host=host is not None,
    )
    return Judge(
        rules,
        target.version,
        settings,
        host,
        assumed=_assumed(assume, settings),
        catalogue=catalogue,
        maybe=GUESSES if target.is_guess else (),
    )


def _assumed(names: Iterable[str], settings: Settings) -> frozenset[Premise]:
    return settings.assume | vocabulary.named(name for name in names if not main_file.is_main(name))


def _around(names: Iterable[str], settings: Settings) -> Config | None:
    """Return the main configuration that fragments are in, if one is named."""
    roots.note(roots.of(name for name in names if main_file.is_main(name) and name != main_file.STOCK))
    mains = [*filter(main_file.is_main, names)] or ([settings.main] if settings.main else [])
    if len(mains) > 1:
        raise UsageError(f"--assume names two main files, {mains[0]} and {mains[1]}")
    return main_file.assumed(mains[0], options.files_of(None, settings.include)) if mains else None


def _known(path: str | None, origin: Origin) -> Baseline | None:
    """Return the baseline whose findings are hidden. Raise `InputError` for a missing or damaged one."""
    return None if path is None else origin.baseline(path)


def _read(
    paths: Sequence[str],
    settings: Settings,
    prefix: str | None,
    context: str | None,
    stdin_name: str | None,
    by_content: bool,
    root: str | None,
) -> Inputs:
    how = inputs.InputOptions(
        prefix or settings.prefix,
        lambda path: context or settings.context_of(path),
        stdin_name or STDIN,
        templates=True,
        by_content=by_content,
        files=options.files_of(root, settings.include),
    )
    return inputs.read(paths or settings.paths or (".",), how, excludes=settings.excludes)


def _base(
    call: LintCall, read: Callable[[Sequence[str]], Inputs], paths: Sequence[str], settings: Settings, judge: Judge
) -> Base | None:
    """Return the findings of the revision to compare with."""
    if call.diff_base is None:
        return None
    from nginxopt.cli.lint_base import base

    return base(call.diff_base, read, paths or settings.paths or (".",), judge)


def _finish(
    call: LintCall,
    settings: Settings,
    target: TargetVersion,
    judge: Judge,
    inputs: Inputs,
    base: Base | None,
    checked: Checked,
) -> int:
    """Try the result on nginx, write it, and report what was found; return the exit status."""
    read = (cause(error, target.version) for error in inputs.errors)
    errors = (*read, *judge.catalogue.errors.values(), *checked.errors)
    notes = lint_results.try_fixes(call, inputs.configs, checked) if call.nginx is not None and checked.drafts else []
    if call.write_baseline:
        return lint_results.write_baseline(call.write_baseline, checked, errors)
    if call.applies_fixes:
        failed: dict[Config, InputError] = {}
        notes += lint_results.write_fixes(call, inputs.configs, checked, failed)
        if failed:
            judge = replace(judge, kept=identities(failed))
            checked = check_and_fix(inputs.configs, judge, unsafe=call.unsafe)
            errors = (*errors, *failed.values())
    diagnostics = lint_results.beside_baseline(call.baseline or settings.baseline, judge, checked, notes)
    diagnostics = lint_results.beside_base(base, diagnostics, notes)
    diagnostics = lint_results.confirmed(call.nginx, checked.configs, diagnostics, notes)
    found = [*notes_of(checked), *notes_of_inputs(inputs)]
    notes += found if base is None else base.new_notes(found)
    notes += [] if judge.catalogue.note is None else [Note(judge.catalogue.note)]
    diagnostics = lint_results.weighted(call.profile, judge, checked, diagnostics)
    lint_results.write_report(call, lint_results.report(call, judge, target, checked, diagnostics, errors, notes))
    if errors:
        return status_of(errors)
    would_change = call.diff and bool(checked.drafts)
    least = lint_results.least(call, settings)
    is_left = bool(lint_results.left(call, checked))
    return int(would_change or is_left or any(diagnostic.severity >= least for diagnostic in diagnostics))
