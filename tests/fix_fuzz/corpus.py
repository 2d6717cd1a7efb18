"""Files of a folder made to run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nginxopt import nginx
from tests.fix_fuzz.case import Case


def cases(folder: Path, first: int, count: int, binary: nginx.Binary) -> Iterator[Case]:
    """Yield."""
    yield from ()
