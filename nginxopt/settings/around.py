"""The main configuration around a fragment: the one that is named, or a stock one."""

from __future__ import annotations

import os.path

from nginxopt.config import Config, load, load_text
from nginxopt.config.filesystem import DISK, Files
from nginxopt.errors import UsageError

STOCK = "stock"
"""The name of the main file that comes with nginx."""

_STOCK_TEXT = b"""\
user nginx;
worker_processes auto;
error_log /var/log/nginx/error.log notice;
pid /run/nginx.pid;
events {
    worker_connections 1024;
}
http {
    types {
        text/html html htm shtml;
        text/css css;
        text/xml xml;
        application/javascript js;
        application/json json;
        image/gif gif;
        image/jpeg jpeg jpg;
        image/png png;
        image/svg+xml svg svgz;
    }
    default_type application/octet-stream;
    log_format main '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent';
    access_log /var/log/nginx/access.log main;
    sendfile on;
    keepalive_timeout 65;
}
"""
"""The nginx.conf of nginx's own packages (pkg-oss, debian/nginx.conf), with the most common types."""


def is_main(name: str) -> bool:
    """Return whether a name that is assumed is that of a main file rather than of a premise."""
    return name == STOCK or os.sep in name or os.path.isfile(name)


def main(name: str, files: Files = DISK) -> Config:
    """Return the main configuration at a path of a storage, or the stock one.

    Raises `InputError` for a file that cannot be read, `UsageError` for one without an http block.
    """
    if name == STOCK:
        return load_text(_STOCK_TEXT, "nginx.conf", prefix="/nonexistent", missing_ok=True)
    config = load(name, missing_ok=True, files=files)
    if config.http is None:
        raise UsageError(f"{name} has no http block", hint="name the main file, or assume a stock one")
    return config
