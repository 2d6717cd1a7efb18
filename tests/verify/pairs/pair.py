"""Two configurations, and what stands around them."""

from __future__ import annotations

from typing import NamedTuple

FILES = ("r/f.txt", "r/x.html", "r/d/index.html", "r/a/f.txt", "r/x.php", "s/f.txt", "s/x.html", "s/a/f.txt", "r/maint")


class Pair(NamedTuple):
    """Two configurations, by what was edited."""

    name: str
    old: str
    new: str


def whole(text: str, port: int = 8080, upstream: int = 9090, folder: str = "/srv") -> str:
    """Return a whole configuration."""
    root = "" if "root " in text else "root {T}/none; "
    http = text if "server {" in text else f"server {{ listen 127.0.0.1:{{P}}; server_name h; {root}{text} }}"
    filled = http.replace("{P}", str(port)).replace("{U}", str(upstream)).replace("{T}", folder)
    return f"events {{}}\nhttp {{\n{filled}\n}}\n"
