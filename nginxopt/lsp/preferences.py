"""What to check, as `nginxopt lint` finds it: the nearest settings file, the target version, the rules."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from nginxopt.errors import InputError
from nginxopt.lint import around
from nginxopt.lint import settings as settings_
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.check import Judge
from nginxopt.lint.selection import selection
from nginxopt.lint.settings import Settings
from nginxopt.lint.target import TargetVersion, choose
from nginxopt.version import Version


@dataclass
class Preferences:
    """The settings by folder; those of the command line are for all of them.

    Attributes:
        config: The settings file of the command line; None to look for the nearest.
        isolated: Whether settings files are ignored.
        target_version: The target version of the command line.
    """

    config: str | None = None
    isolated: bool = False
    target_version: Version | None = None
    _settings: dict[str, Settings | InputError] = field(default_factory=dict, repr=False)
    _judges: dict[str, Judge] = field(default_factory=dict, repr=False)

    def forget(self) -> None:
        """Forget what the settings files said."""
        self._settings, self._judges = {}, {}

    def settings(self, path: str) -> Settings:
        """Return the settings for the file at a path; the default ones if they cannot be read, see `error`."""
        settings = self._read(_folder(path))
        return Settings() if isinstance(settings, InputError) else settings

    def error(self, path: str) -> InputError | None:
        """Return why the settings for the file at a path cannot be read."""
        settings = self._read(_folder(path))
        return settings if isinstance(settings, InputError) else None

    def target(self, path: str) -> Version:
        """Return the target version for the file at a path."""
        stated = next(iter(self.settings(path).target_version), None)
        if self.target_version is None and stated is None:
            return self._installed.version
        return choose(self.target_version, stated).version

    def judge(self, path: str) -> Judge:
        """Return the judge of the configurations that the file at a path is in.

        Raises `NginxoptError` if the main file that the settings name cannot be read.
        """
        folder = _folder(path)
        if folder not in self._judges:
            self._judges[folder] = self._judge(path)
        return self._judges[folder]

    def _judge(self, path: str) -> Judge:
        settings = self.settings(path)
        rules = selection(catalogue().values(), settings)
        main = around.main(settings.main) if settings.main else None
        return Judge(rules, self.target(path), settings, assumed=settings.assume, around=main)

    def _read(self, folder: str) -> Settings | InputError:
        if folder not in self._settings:
            try:
                settings = settings_.load(catalogue(), config=self.config, isolated=self.isolated, folder=Path(folder))
            except InputError as error:
                self._settings[folder] = error
            else:
                self._settings[folder] = settings
        return self._settings[folder]

    @cached_property
    def _installed(self) -> TargetVersion:
        return choose(None, None)


def _folder(path: str) -> str:
    return os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120 - links stay
