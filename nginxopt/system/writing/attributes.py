"""Copies the owner, mode and extended attributes of files, including access control lists and SELinux labels."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

_ACL, _LABEL = "system.posix_acl_access", "security.selinux"
_OF_THE_TEXT = frozenset({"security.ima", "security.evm"})
"""Attributes with digests of the text, which the kernel maintains. Those of the old text are wrong for the new one."""


def copy_all(old: Path, new: Path) -> None:
    """Give a new file all attributes of an old one. Raises `OSError` if that is not possible."""
    old_stat, has = old.stat(), new.stat()
    if (old_stat.st_uid, old_stat.st_gid) != (has.st_uid, has.st_gid):
        os.chown(new, old_stat.st_uid, old_stat.st_gid)
    before, after = _extended(new), _extended(old)
    for name in before.keys() - after.keys():  # such as the folder's default access control list
        os.removexattr(new, name)
    for name, value in after.items():
        if before.get(name) != value:
            os.setxattr(new, name, value)
    new.chmod(stat.S_IMODE(old_stat.st_mode))


def copy_access(old: Path, new: Path) -> None:
    """Give a new file the read permissions of an old one, as far as possible; its owner may also write it."""
    old_stat = old.stat()
    with contextlib.suppress(OSError):
        os.chown(new, old_stat.st_uid, old_stat.st_gid)
    before, after = _extended(new), _extended(old)
    if _ACL in before and _ACL not in after:
        os.removexattr(new, _ACL)
    for name in {_ACL, _LABEL} & after.keys():
        with contextlib.suppress(OSError):
            os.setxattr(new, name, after[name])
    new.chmod(old_stat.st_mode & 0o777 | stat.S_IWUSR)


def _extended(file: Path) -> dict[str, bytes]:
    """Return the extended attributes of a file; none if the system or the file system does not support them."""
    if not hasattr(os, "listxattr"):
        return {}
    values = {}
    for name in _names(file):
        try:
            values[name] = os.getxattr(file, name)
        except OSError as error:
            if error.errno != errno.ENODATA:  # removed in the meantime
                raise
    return values


def _names(file: Path) -> set[str]:
    try:
        return set(os.listxattr(file)) - _OF_THE_TEXT
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.ENOSYS):
            return set()
        raise
