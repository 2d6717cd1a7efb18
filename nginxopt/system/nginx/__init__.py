"""Finds nginx, runs `nginx -t`, and starts nginx. No other package does.

`Binary.test` and `trial` return a `Verdict`: whether nginx accepts a configuration, and its messages. `running` and
`Instance` start nginx on 127.0.0.1 and wait until it is ready. `prefix` makes a private folder for nginx.
"""

from typing import TYPE_CHECKING

from nginxopt.lazy import attributes

if TYPE_CHECKING:
    from nginxopt.system.nginx.binary import Allowed, Binary, find
    from nginxopt.system.nginx.instance import PID_FILE, Instance, Running, running, wait_until_started
    from nginxopt.system.nginx.prefix import (
        NO_FILES,
        configuration,
        lay,
        private_disk,
        private_prefix,
        reserved_ports,
    )
    from nginxopt.system.nginx.verdict import Message, Verdict

__all__ = [
    "NO_FILES",
    "PID_FILE",
    "Allowed",
    "Binary",
    "Instance",
    "Message",
    "Running",
    "Verdict",
    "configuration",
    "find",
    "lay",
    "private_disk",
    "private_prefix",
    "reserved_ports",
    "running",
    "wait_until_started",
]

__getattr__ = attributes(
    __name__,
    {
        "binary": ("Allowed", "Binary", "find"),
        "instance": ("PID_FILE", "Instance", "Running", "running", "wait_until_started"),
        "prefix": ("NO_FILES", "configuration", "lay", "private_disk", "private_prefix", "reserved_ports"),
        "verdict": ("Message", "Verdict"),
    },
)
