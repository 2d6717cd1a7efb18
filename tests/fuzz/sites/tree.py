"""The files that sites serve: each holds its own path, so that a response tells which file it is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

FILES = (
    "r/f.txt", "r/x.html", "r/a.html", "r/a b.txt", "r/0", "r/50.x", "r/index.txt", "r/d.html", "r/a%2f.txt",
    "r/q?x.txt",
    "r/d/index.html", "r/d/g.txt", "r/d/sub/index.html", "r/d/sub/f.txt", "r/x y/index.html", "r/a/f.txt",
    "r/a/fb.html",
    "r/b/f.txt", "r/b/index.html", "r/z/only.txt", "r/p/index.php", "r/err/404.html", "r/err/50x.html", "r/maint",
    "r/F.TXT", "r/d/50x.html", "al/f.txt", "al/index.html", "al/x.html", "al/sub/index.html", "al/sub/f.txt",
    "al/fb.html", "al/only/x.txt", "alx/f.txt", "rf.txt", "other/f.txt", "other/d/index.html", "other/index.html",
    "gz/both", "gz/both.gz", "gz/only.gz", "gz/plain", "gz/plain.gz/x",
)  # fmt: skip
EMPTY_FOLDERS = ("r/e", "r/q.d", "al/e")
_FILE_TIME = 946_684_800


def lay(root: Path, files: Mapping[str, bytes] | None = None) -> None:
    """Write the files below `root`, and others beside them."""
    for path, data in {**{path: f"[{path}]".encode() for path in FILES}, **(files or {})}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
        os.utime(root / path, (_FILE_TIME, _FILE_TIME))
    for path in EMPTY_FOLDERS:
        (root / path).mkdir(parents=True, exist_ok=True)
