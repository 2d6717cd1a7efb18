"""Lines of a log of a site with files, and the profile of a log with any content."""

from __future__ import annotations

from pathlib import Path

from nginxopt.profile.sums import Profile
from tests.profile.test_planted import profile_of

LINE = '192.0.2.1 - - [27/Nov/2026:10:00:00 +0200] "{}" {} 512 "-" "curl/8"\n'
FILES = """
events { }
http {
    server {
        listen 80;
        server_name a.example;
        root /srv;
        location / { try_files $uri $uri/ /fallback.html; }
        location /strict/ { try_files $uri =404; }
        location /app/ { try_files $uri @app; }
        location @app { proxy_pass http://127.0.0.1:8080; }
        location /old { return 301 /new; }
        location /api { proxy_pass http://127.0.0.1:8080; }
    }
}
"""


def profiled(folder: Path, log: str | bytes, conf: str = FILES, name: str = "access.log", **options: object) -> Profile:
    """The profile of a log with this content."""
    path = folder / name
    path.write_bytes(log.encode() if isinstance(log, str) else log)
    return profile_of([path], conf, **options)
