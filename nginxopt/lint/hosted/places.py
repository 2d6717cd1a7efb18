"""Where the names in a configuration lead on the machine, and who reads there.

nginx resolves relative names of certificates, password files and includes from the folder of its main file
(`conf_prefix`), and those of logs and `root` from the prefix that it was built with. No text shows this prefix, so the
latter are not examined, and neither are names with variables and placeholders.
"""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING

from nginxopt.config import has_placeholder
from nginxopt.config.filesystem import is_dump
from nginxopt.lint.queries.model import Model, once
from nginxopt.records import record

if TYPE_CHECKING:
    from nginxopt.config.root_folder import Reached
    from nginxopt.system.machine import Account, Machine

_VOLATILE = ("/run/", "/var/run/", "/tmp/", "/dev/", "/proc/", "/sys/")
"""Folders that are filled when a machine starts: a copy of its files shows nothing of them."""


@record(eq=True, slots=False)
class Places:
    """The names of a configuration on a machine.

    Attributes:
        machine: The machine.
        folder: The folder of relative names; None if it is not known.
        worker: The user of the workers; None if the text does not show it.
    """

    machine: Machine
    folder: str | None
    worker: Account | None

    def of_conf(self, name: str) -> str | None:
        """Return the path of a name that is relative to the folder of the main file; None if it is not known."""
        if "$" in name or has_placeholder(name):
            return None
        if name.startswith("/"):
            return name
        return None if self.folder is None else posixpath.join(self.folder, name)

    def absolute(self, name: str) -> str | None:
        """Return the path of a name that is relative to the prefix of the build; None unless it is absolute."""
        return self.of_conf(name) if name.startswith("/") else None

    def look(self, path: str) -> Reached | None:
        """Return what is at a path; None for one in a folder that is filled when the machine starts."""
        if self.machine.tree.root != "/" and path.startswith(_VOLATILE):
            return None
        return self.machine.tree.look(path)


@once
def places(model: Model) -> Places | None:
    """Return where the names of a configuration lead; None without a machine."""
    machine = model.host.machine if model.host is not None else None
    return None if machine is None else Places(machine, _folder(model, machine), _worker(model, machine))


def _folder(model: Model, machine: Machine) -> str | None:
    """Return the folder of the main file as the machine names it; None for a fragment, whose main file is unknown."""
    if model.root.kind != "main":
        return None
    prefix = model.config.prefix or "."
    if is_dump(model.config.origin):
        return prefix if os.path.isabs(prefix) else None  # noqa: PTH117 - a path is text here
    return machine.tree.inside(prefix)


def _worker(model: Model, machine: Machine) -> Account | None:
    from nginxopt.system.machine import Account

    stated = model.root.setting("user")
    if stated.directive is None or not stated.known or machine.accounts is None or machine.starts_as_root is False:
        return None
    name, *rest = stated.directive.args or ("",)
    user = machine.accounts.user(name)
    group = machine.accounts.group(rest[0] if rest else name)
    if user is None or group is None:
        return None
    return Account(str(name), user[0], machine.accounts.groups(name) | {group})
