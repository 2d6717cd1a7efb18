"""The files an `include` names: `ngx_conf_include` and `ngx_conf_full_name` (src/core/ngx_conf_file.c)."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path

_MAGIC = re.compile(r"[*?[]")


def matches(prefix: str, name: str) -> list[str]:
    """Return the paths of `include name`, in the order in which nginx reads them.

    A relative name is relative to `prefix`. A name without `*`, `?` and `[` is one path, existing or not. Any
    other is a pattern as of glob(3) in the C locale, which nginx never leaves: bytes are matched and sorted,
    a wildcard does not match a leading dot, and nothing found is no error. One difference: a backslash in a
    pattern is a plain character here.
    """
    if not _MAGIC.search(name):
        return [_join(prefix, name)]
    # glob(3) accepts [^a] for [!a], Python's glob does not. The prefix itself is not a part of the pattern.
    pattern = os.fsencode(name.replace("[^", "[!"))
    found = glob.glob(pattern, root_dir=os.fsencode(prefix) or None)  # noqa: PTH207 - Path.glob finds dotfiles
    return [_join(prefix, os.fsdecode(path)) for path in sorted(found)]


def _join(prefix: str, name: str) -> str:
    return str(Path(prefix, name))
