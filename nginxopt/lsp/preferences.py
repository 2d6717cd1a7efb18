"""What to check, as in `nginxopt lint`: the nearest settings file, the target version, the rules."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from nginxopt.config import Config, main_file
from nginxopt.config.filesystem import Disk
from nginxopt.errors import InputError
from nginxopt.lint import baseline
from nginxopt.lint import catalogue as rules_
from nginxopt.lint.baseline import Baseline
from nginxopt.lint.catalogue import Catalogue, catalogue, selection
from nginxopt.lint.check import Judge
from nginxopt.settings.file import Settings
from nginxopt.settings.target import GUESSES, TargetVersion, choose, recognised
from nginxopt.version import Version


class _Read(NamedTuple):
    """The settings for a folder, all rules, and the baseline that the settings name."""

    settings: Settings
    catalogue: Catalogue
    known: Baseline | None


@dataclass
class Preferences:
    """The settings by folder; those of the command line apply to all folders.

    Attributes:
        config: The settings file of the command line; None to look for the nearest.
        isolated: Whether settings files are ignored.
        target_version: The target version of the command line.
        run: Whether to run the rules of folders that settings name, because the command line or the editor says so.
    """

    config: str | None = None
    isolated: bool = False
    target_version: Version | None = None
    run: bool = False
    _named: set[str] = field(default_factory=set, repr=False)
    _settings: dict[str, _Read | InputError] = field(default_factory=dict, repr=False)
    _judges: dict[str, Judge] = field(default_factory=dict, repr=False)
    _loaded: rules_.Loaded = field(default_factory=dict, repr=False)

    def forget(self) -> None:
        """Forget the settings files, so that they are read again."""
        self._settings, self._judges, self._loaded = {}, {}, {}

    def files(self) -> frozenset[str]:
        """Return the paths of the settings files that were read, and of the files that these name."""
        return frozenset(self._named)

    def settings(self, path: str) -> Settings:
        """Return the settings for the file at a path; the default ones if they cannot be read, see `error`."""
        read = self._read(_folder(path))
        return Settings() if isinstance(read, InputError) else read.settings

    def catalogue(self, path: str) -> Catalogue:
        """Return all rules for the file at a path; those of nginxopt if its settings cannot be read."""
        read = self._read(_folder(path))
        return Catalogue(catalogue()) if isinstance(read, InputError) else read.catalogue

    def error(self, path: str) -> InputError | None:
        """Return why the settings for the file at a path, or the baseline that they name, cannot be read."""
        read = self._read(_folder(path))
        return read if isinstance(read, InputError) else None

    def target(self, path: str, configs: Sequence[Config] = ()) -> TargetVersion:
        """Return the target version for the file at a path. If nothing states it, `configs` may show it."""
        stated = next(iter(self.settings(path).target_version), None)
        if self.target_version is None and stated is None:
            return recognised(configs, self._installed)
        return choose(self.target_version, stated)

    def judge(self, path: str, configs: Sequence[Config]) -> Judge:
        """Return the judge of the configurations that the file at a path is in.

        Raises `NginxoptError` if the main file that the settings name cannot be read.
        """
        judges, folder = self._judges, _folder(path)  # another thread may forget them
        if folder not in judges:
            judges[folder] = self._judge(path)
        target = self.target(path, configs)
        return replace(judges[folder], target=target.version, maybe=GUESSES if target.is_guess else ())

    def _judge(self, path: str) -> Judge:
        settings, all_rules = self.settings(path), self.catalogue(path)
        read = self._read(_folder(path))
        known = None if isinstance(read, InputError) else read.known
        rules = selection(all_rules.rules.values(), settings, known=all_rules.not_loaded)
        main = main_file.assumed(settings.main, Disk(settings.include)) if settings.main else None
        return Judge(
            rules,
            self.target(path).version,
            settings,
            assumed=settings.assume,
            around=main,
            catalogue=all_rules,
            known=known,
        )

    def _read(self, folder: str) -> _Read | InputError:
        read = self._settings
        if folder not in read:
            try:
                settings, all_rules = rules_.load(
                    config=self.config,
                    isolated=self.isolated,
                    run=self.run,
                    folder=Path(folder),
                    loaded=self._loaded,
                )
                main = None if settings.main == main_file.STOCK else settings.main
                named = (settings.origin, settings.baseline, main)
                self._named.update(os.path.abspath(name) for name in named if name)  # noqa: PTH100 - links stay
                known = baseline.load(settings.baseline) if settings.baseline else None
                read[folder] = _Read(settings, all_rules, known)
            except InputError as error:
                read[folder] = error
        return read[folder]

    @cached_property
    def _installed(self) -> TargetVersion:
        return choose(None, None)


def _folder(path: str) -> str:
    return os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120 - links stay
