"""Passwords for requests that are measured: nginx checks a known one, hashed in the way of the site's own.

What a check takes depends on the kind of the hash and its cost, hardly on the password. So only the kinds are read of
the site's files, and the private nginx gets a file of its own with a user for each kind.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import re
from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from hashlib import sha1
from pathlib import Path
from zlib import crc32

from nginxopt import lazy

_PASSWORD, _SALT = b"measured", b"nginxopt"
_APR1 = b"$apr1$nginxopt$Df2Dwnwk95Pov20RenYM6."
"""The password as `htpasswd` hashes it by default, which only nginx and httpd can."""
_KIND = lazy.pattern(
    rb"\{PLAIN\}|\{SHA\}|\{SSHA\}|\$apr1\$|\$1\$|\$[56]\$(?:rounds=[0-9]{1,6}\$)?|\$2[aby]\$(?:0[4-9]|1[0-4])\$"
    rb"|\$y\$j9T\$|(?=[./0-9A-Za-z]{13}\Z)"
)
"""How a hash begins: its kind and cost, if that is bounded. What has no such beginning is of the oldest kind (DES)."""
_BCRYPT, _LONGEST = b"$2", 22
_MOST = 1 << 20
"""The most bytes of a file of passwords that are read."""


def kind_of(path: Path) -> bytes | str:
    """Return the kind of the hashes in a file of passwords, or why it is not known."""
    try:
        with path.open("rb") as file:
            lines = file.read(_MOST).splitlines()
    except OSError as error:
        return f"the passwords in {path} cannot be read ({error.strerror})"
    hashes = [line.split(b":")[1] for line in lines if b":" in line and not line.startswith(b"#")]
    kinds = {found[0] if (found := _KIND.match(one)) else None for one in hashes}
    if len(kinds) > 1:
        return f"the passwords in {path} are hashed in several ways"
    kind = kinds.pop() if kinds else None
    return f"how {path} hashes passwords is not known" if kind is None else kind


def credentials(kind: bytes, *, is_right: bool) -> str:
    """Return the header `Authorization` of the user of a kind, with a right or a wrong password of the same length."""
    password = _PASSWORD if is_right else _PASSWORD[::-1]
    return "Basic " + b64encode(_user(kind) + b":" + password).decode()


def users(kinds: Iterable[bytes]) -> bytes:
    """Return a file of passwords with the user of each kind that this machine can hash."""
    hashed = ((_user(kind), _hashed(kind)) for kind in sorted(kinds))
    return b"".join(b"%s:%s\n" % (user, one) for user, one in hashed if one is not None)


def _user(kind: bytes) -> bytes:
    """Return a name that is as short as usual ones, since nginx reads, decodes and logs each byte of it."""
    return b"%x" % crc32(kind)


@cache
def _hashed(kind: bytes) -> bytes | None:
    """Return the password, hashed; None if this machine cannot."""
    match kind:
        case b"{PLAIN}":
            return kind + _PASSWORD
        case b"{SHA}":
            return kind + b64encode(sha1(_PASSWORD, usedforsecurity=False).digest())
        case b"{SSHA}":
            return kind + b64encode(sha1(_PASSWORD + _SALT, usedforsecurity=False).digest() + _SALT)
        case b"$apr1$":
            return _APR1
        case _:
            salt = _SALT.ljust(_LONGEST, b".") if kind.startswith(_BCRYPT) else _SALT
            return _crypt(kind + (salt if kind else salt[:2]))


def _crypt(setting: bytes) -> bytes | None:
    """Return the password as `crypt` hashes it, as nginx does for all kinds that are not its own."""
    name = ctypes.util.find_library("crypt")
    if name is None:
        return None
    crypt = ctypes.CDLL(name).crypt
    crypt.restype, crypt.argtypes = ctypes.c_char_p, (ctypes.c_char_p, ctypes.c_char_p)
    found: bytes | None = crypt(_PASSWORD, setting)
    return found if found and not re.match(rb"\*", found) else None
