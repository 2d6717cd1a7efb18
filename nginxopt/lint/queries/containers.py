"""Whether nginx runs in a container, whose image decides what a machine's own configuration would state."""

from __future__ import annotations

import re
from pathlib import Path

from nginxopt import lazy
from nginxopt.lint.queries.model import Model
from nginxopt.semantics import values

DNS = "127.0.0.11"
"""The name server of Docker networks (Docker's documentation of networking)."""

_STREAMS = frozenset({"/dev/stdout", "/dev/stderr", "/proc/self/fd/1", "/proc/self/fd/2", "stderr"})
_NAME = lazy.pattern(r"docker|container|compose|k8s|kube|helm|chart|podman|werf|rootfs|image", re.IGNORECASE)

_NEAREST = 6
"""So many folders above the main file may name what it is for: those further up are the user's own."""


def is_in_container(model: Model) -> bool:
    """Return whether the main file says so: it stays in the foreground, logs to streams, asks Docker's name server, or
    is in a folder that is named for containers.
    """
    words = [word for directive, _ in model.each("resolver", "error_log", "access_log") for word in directive.args]
    return (
        any(values.flag(word) is False for directive in model.root.own("daemon") for word in directive.args[:1])
        or any(word in _STREAMS or word.partition(":")[0] == DNS for word in words)
        or any(_NAME.search(part) for part in Path(model.config.main.path).absolute().parts[-_NEAREST:])
    )
