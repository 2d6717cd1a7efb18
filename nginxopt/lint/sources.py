"""Loads the settings and all rules: those of nginxopt, of the folders in the settings, and of installed packages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nginxopt.errors import InputError
from nginxopt.lint import catalogue as built_in
from nginxopt.lint.catalogue import Catalogue
from nginxopt.records import record
from nginxopt.settings import file as settings_
from nginxopt.settings.file import Settings
from nginxopt.system import trust, trusted
from nginxopt.system.installed import entry_points

if TYPE_CHECKING:
    from nginxopt.text import Source

GROUP = "nginxopt.rules"
"""The group of the entry points of installed packages."""


Loaded = dict[tuple[str, ...], Catalogue]
"""The rules that were loaded before, by the folders in the settings."""


@record(eq=True)
class AskedRules:
    """What the user asked for.

    Attributes:
        run: Whether to run the rules of folders that settings name. They run as well if the directory of the settings
            is trusted (`nginxopt rules trust`).
        named: Whether the user named the settings file, so that it may be another user's.
        where: Where a folder of rules is that settings name: in the work tree, or in a revision of it.
    """

    run: bool
    named: bool
    where: Callable[[str], str] = str


def load(
    *, config: str | None, isolated: bool, run: bool, folder: Path | None = None, loaded: Loaded | None = None
) -> tuple[Settings, Catalogue]:
    """Return the settings, as `nginxopt.settings.file.load` does, and all rules; those in `loaded` are not read again.

    `run` is that of `AskedRules`. Raises the errors of settings, and `InputError` for a folder of rules that cannot be
    read, or that another user may have put there.
    """
    source = settings_.find(config=config, isolated=isolated, folder=folder)
    return load_from(source, AskedRules(run, config is not None), {} if loaded is None else loaded)


def load_from(source: Source | None, asked: AskedRules, loaded: Loaded | None = None) -> tuple[Settings, Catalogue]:
    """Return the settings in a text, and all rules, as `load` does."""
    catalogue = _catalogue(source, asked, {} if loaded is None else loaded)
    return Settings() if source is None else settings_.read(source, catalogue.ids), catalogue


def load_rules(*, config: str | None, isolated: bool, run: bool) -> Catalogue:
    """Return all rules, as `load` does; of the settings only the folders of rules are read."""
    return _catalogue(settings_.find(config=config, isolated=isolated), AskedRules(run, config is not None), {})


def _catalogue(source: Source | None, asked: AskedRules, loaded: Loaded) -> Catalogue:
    folders = () if source is None else tuple(map(asked.where, settings_.rule_folders(source)))
    if source is not None and folders and not asked.run and not trusted.is_trusted(Path(source.path).parent):
        from nginxopt.lint.own import files

        return replace(_load(()), left=files(folders))
    if not asked.named:
        for folder in folders:
            _refuse_others(folder)
    if folders not in loaded:
        loaded[folders] = _load(folders)
    return loaded[folders]


def _load(folders: tuple[str, ...]) -> Catalogue:
    points = entry_points(GROUP)
    if not folders and not points:  # as in most runs
        return Catalogue(built_in.catalogue())
    from nginxopt.lint.own import load as load_own

    return load_own(folders, points)


def _refuse_others(folder: str) -> None:
    """Raise `InputError` if another user may have put anything into a folder of rules, which are programs."""
    if not Path(folder).is_dir():  # loading it says so
        return
    reason = trust.foreign_below(folder)
    if reason is not None:
        hint = "settings that --config names run their rules, whoever wrote them; --isolated ignores all settings"
        raise InputError(f"these rules, which are programs, may be another user's: {reason}", path=folder, hint=hint)
