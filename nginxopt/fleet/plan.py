"""The options of a run, in a form that can be sent to workers: texts and names, not rules."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from nginxopt import __version__
from nginxopt.config import main_file
from nginxopt.config.filesystem import Disk
from nginxopt.fleet.tables import FORMAT
from nginxopt.lint import baseline
from nginxopt.lint.baseline import Baseline
from nginxopt.lint.catalogue import AskedRules, load_from, selection
from nginxopt.lint.check import Judge
from nginxopt.records import record
from nginxopt.settings import vocabulary
from nginxopt.system import nginx
from nginxopt.text import Source
from nginxopt.version import Version

if TYPE_CHECKING:
    from nginxopt.system.nginx import Binary


@record(eq=True)
class NamedText:
    """A file of the command line: its path, and what is in it."""

    path: str
    data: bytes

    @property
    def source(self) -> Source:
        """The text as a source."""
        return Source(self.path, self.data)


@dataclass(frozen=True)
class FleetOptions:
    """The options of a run.

    Attributes:
        settings: The settings file; None if there is none.
        run: Whether the rules that the settings name are run.
        select: The names of the rules to run, as of `nginxopt lint --select`.
        ignore: The names of rules to skip.
        assume: The names of premises, or `stock`.
        target: The target nginx version.
        guesses: Whether that is a guess, so that a configuration may show another one.
        context: The context of fragments; None to infer it.
        installed: The folder of trees on their hosts; None for the one that their includes show.
        table: A table of expected answers, which each host is tested with; None if there is none.
        base: The site of paths in the table.
        follows: Whether redirects are followed.
        baseline: The baseline whose findings are hidden; None for none.
        records: Whether a baseline is written.
        nginx: The path of the nginx that workers ask about witnesses, empty for the usual places; None to ask none.
        diff: Whether the changes of fixes are kept.
        unsafe: Whether these are those of unsafe fixes, too.
        limits: The limits of budgets, by name.
    """

    settings: NamedText | None = None
    run: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    assume: tuple[str, ...] = ()
    target: Version = Version(1, 28, 0)  # noqa: RUF009 - it cannot be changed
    guesses: bool = False
    context: str | None = None
    installed: str | None = None
    table: NamedText | None = None
    base: str | None = None
    follows: bool = False
    baseline: NamedText | None = None
    records: bool = False
    nginx: str | None = None
    diff: bool = False
    unsafe: bool = False
    limits: tuple[tuple[str, int], ...] = ()

    @cached_property
    def judge(self) -> Judge:
        """The judge that checks a configuration. Raises the errors of the settings and of the names of rules."""
        return _judge(self)

    @cached_property
    def known(self) -> Baseline | None:
        """The findings that are hidden. Raises `InputError` for a damaged baseline."""
        return None if self.baseline is None else baseline.read(self.baseline.source)

    @cached_property
    def binary(self) -> Binary:
        """The nginx of this machine. Raises `MissingError` if there is none."""
        return nginx.find(self.nginx or None)

    def prepare(self) -> None:
        """Load what checks a configuration, and find nginx if it is to be asked. Raises the errors of both."""
        assert self.judge
        if self.nginx is not None:
            assert self.binary

    def options(self) -> Mapping[str, str]:
        """Return the options by name, as text. Runs with the same options and versions have the same results."""
        texts = {"settings": self.settings, "table": self.table, "baseline": self.baseline}
        values = {name: value for name, value in asdict(self).items() if name not in texts}
        digests = {name: None if text is None else _digest(text.data) for name, text in texts.items()}
        own = {
            rule.id: _digest(Path(rule.origin).read_bytes())
            for rule in self.judge.catalogue.rules.values()
            if rule.origin is not None
        }
        whole = {**values, **digests, "target": str(self.target), "rules": own}
        return {name: json.dumps(value, sort_keys=True) for name, value in sorted(whole.items())}


@lru_cache(maxsize=2)
def _judge(plan: FleetOptions) -> Judge:
    source = None if plan.settings is None else plan.settings.source
    settings, catalogue = load_from(source, AskedRules(plan.run, named=True))
    rules = selection(
        catalogue.rules.values(), settings, select=plan.select, ignore=plan.ignore, known=catalogue.not_loaded
    )
    mains = [name for name in plan.assume if main_file.is_main(name)]
    return Judge(
        rules,
        plan.target,
        settings,
        assumed=settings.assume | vocabulary.named(name for name in plan.assume if name not in mains),
        around=main_file.assumed(mains[0], Disk(settings.include)) if mains else None,
        catalogue=catalogue,
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def versions() -> dict[str, str]:
    """Return the versions on which findings, and the format of a result, depend."""

    return {"nginxopt": __version__, "format": FORMAT}
