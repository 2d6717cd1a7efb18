"""Rules, results and files for tests of `rewrite-to-map` on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

RULES = b"""# old pages
rewrite ^/about$ https://www.example.com/about-us permanent;
rewrite ^/About$ https://www.example.com/ABOUT permanent;
rewrite ^/team/?$ https://www.example.com/people permanent; # ticket 12
rewrite ^/blog/(.*)$ /news/$1 permanent;
rewrite ^/blog/x$ /never permanent;
rewrite ^/about$ https://www.example.com/about-us permanent;
rewrite ^/a.b$ /c permanent;
rewrite ^/old.html /new permanent;
"""


CONFIG = b"""events {}
http {
    # sizes
    map_hash_bucket_size 128;
    server {
        rewrite ^/old$ /new permanent;
        rewrite ^/older$ /new permanent;
        include rules/*.conf;
    }
}
"""


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    status: int
    out: bytes
    err: str


def snapshot(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


MISSING = b"""events {}
http {
    include mime.types;
    server {
        rewrite ^/a$ /to/a permanent;
        include part.conf;
        rewrite ^/b$ /to/b permanent;
        include no/*.conf;
    }
}
"""
