"""Names the files next to a fragment that is changed in place: its maps, and the hash table sizes of all fragments.

No include reads these files by accident: `*.conf` does not match their names, and in folders of which nginx may include
all files (`*`), the names begin with a dot.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from itertools import count
from pathlib import Path

from nginxopt.config import Config
from nginxopt.config.paths import FOLDERS, SITES
from nginxopt.rewrite.kinds.maps.reading import MADE_BY

_SIZES = "nginxopt-hash.http"
"""The name of the file with the hash table sizes, which all fragments of a folder share."""

_ORIGIN = re.compile(rb"# .* of (.*) as maps, " + MADE_BY)
"""The first line of a file of maps, with the path of its fragment."""
_DEFINED = re.compile(rb"^(?:map\s.*\s|geo\s+)\$(\w+)\s*\{|\(\?P?<(\w+)>", re.MULTILINE | re.ASCII)
"""A variable that a file of maps defines, by a block or by a group."""
_READ = re.compile(rb"\$\{?(\w+)", re.ASCII)


def maps_name(config: Config) -> str:
    """Return the name of the file for the maps of a fragment. Uses the disk.

    An existing file is reused only if it has maps of the same fragment that the fragment no longer uses, for example
    because its original text was restored.
    """
    main = Path(config.main.path)
    texts = [file.source.data for file in config.files]
    stem = main.name.replace("\n", "_")  # comments contain the name
    names = (_hidden(main, f"{stem}{'' if number == 1 else number}.http") for number in count(1))
    return next(name for name in names if _is_free(main.with_name(name), main.name, texts))


def sizes_path(config: Config) -> Path:
    """Return the path of the file with the hash table sizes for the folder of a fragment."""
    main = Path(config.main.path)
    return main.with_name(_hidden(main, _SIZES))


def used(maps: bytes, texts: Iterable[bytes]) -> set[bytes]:
    """Return the names of the variables that a file of maps defines and that some of the texts use."""
    defined = {name.lower() for pair in _DEFINED.findall(maps) for name in pair if name}
    return defined & {name.lower() for text in texts for name in _READ.findall(text)}


def _hidden(main: Path, name: str) -> str:
    """Return a name, if necessary with a leading dot, that no wildcard in the folder of a fragment matches."""
    return f".{name}" if main.absolute().parent.name in (*SITES, *FOLDERS) else name


def _is_free(path: Path, fragment: str, texts: Iterable[bytes]) -> bool:
    """Return whether the maps of a fragment may be written to a path; `texts` may use the maps that are there."""
    if not os.path.lexists(path):
        return True
    try:
        maps = path.read_bytes()
    except OSError:
        return False
    origin = _ORIGIN.match(maps)
    return origin is not None and os.path.basename(origin[1]) == os.fsencode(fragment) and not used(maps, texts)  # noqa: PTH119
