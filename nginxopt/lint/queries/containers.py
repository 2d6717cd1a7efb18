"""Whether nginx runs in a container, whose image decides what a machine's own configuration would state."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path

from nginxopt import lazy
from nginxopt.config.places import BUILDS
from nginxopt.lint.queries.model import Model
from nginxopt.semantics import values

DNS = "127.0.0.11"
"""The name server of Docker networks (Docker's documentation of networking)."""

_STREAMS = frozenset({"/dev/stdout", "/dev/stderr", "/proc/self/fd/1", "/proc/self/fd/2", "stderr"})
_NAME = lazy.pattern(r"docker|container|compose|k8s|kube|helm|chart|podman|werf|rootfs|image", re.IGNORECASE)

_NEAR, _MOST, _MOST_BYTES = 3, 2_000, 1 << 18
"""The most folders, entries of each, and bytes of a file that are read."""

_NEAREST = 6
"""The number of folders above the main file whose names count: those further up belong to the user."""


def is_in_container(model: Model) -> bool:
    """Return whether the main file shows it: it stays in the foreground, logs to streams, uses Docker's name server, is
    in a folder that is named for containers, or a Dockerfile or compose file near it mentions nginx.
    """
    words = [word for directive, _ in model.each("resolver", "error_log", "access_log") for word in directive.args]
    path = Path(model.config.main.path).absolute()
    return (
        any(values.flag(word) is False for directive in model.root.own("daemon") for word in directive.args[:1])
        or any(word in _STREAMS or word.partition(":")[0] == DNS for word in words)
        or any(_NAME.search(part) for part in path.parts[-_NEAREST:])
        or any(map(_builds, path.parents[:_NEAR]))
    )


def _builds(folder: Path) -> bool:
    """Return whether a folder has a Dockerfile or a compose file that mentions nginx."""
    try:
        with os.scandir(folder) as entries:
            files = [entry.path for entry in islice(entries, _MOST) if BUILDS.fullmatch(entry.name)]
        return any(b"nginx" in Path(file).read_bytes()[:_MOST_BYTES] for file in files)
    except OSError:
        return False
