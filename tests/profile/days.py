"""A day of a made-up site: a configuration, logs as its nginx writes them, and facts that are planted in them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

CONF = """\
worker_processes 2;
events { worker_connections 64; }
http {
    log_format timed '$remote_addr $host $scheme [$time_local] "$request" $status $bytes_sent '
                     '$request_time "$upstream_response_time" "$http_user_agent"';
    upstream app { server 127.0.0.1:8080; }
    access_log /var/log/nginx/shop.log timed;
    server {
        listen 80;
        server_name shop.example;
        return 301 https://$host$request_uri;
    }
    server {
        listen 443 ssl;
        server_name shop.example;
        ssl_certificate /c; ssl_certificate_key /k;
        root /srv/shop;
        rewrite ^/moved/(.*)$ /new/$1 permanent;
        rewrite ^/dead/(.*)$ /new/$1 permanent;
        location / { try_files $uri $uri/ =404; }
        location /search { proxy_pass http://app; }
        location /cart { proxy_pass http://app; }
        location = /gone { return 410; }
        location /never { return 204; }
        location /quiet { access_log off; return 204; }
    }
    server {
        listen 443 ssl;
        server_name api.example;
        ssl_certificate /c; ssl_certificate_key /k;
        access_log /var/log/nginx/api.log timed;
        location / { proxy_pass http://app; }
    }
}
"""

_BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
_BOT = "Mozilla/5.0 (compatible; Greedybot/1.0; +http://greedy.example/bot.html)"


@dataclass
class Day:
    """A log, and what is planted in it.

    Attributes:
        drifted: The number of lines in which `/gone` is answered otherwise than the configuration says.
        slow: The location whose upstream is slow.
        broken: The number of lines of another format.
    """

    seed: int
    lines: list[str] = field(default_factory=list)
    drifted: int = 0
    slow: str = ""
    broken: int = 0
    files: int = 0

    @property
    def log(self) -> bytes:
        """The content of the log."""
        return "".join(f"{line}\n" for line in self.lines).encode()


def day(seed: int, requests: int = 2_000) -> Day:
    """Return a day with these numbers of requests and planted facts."""
    draw = random.Random(seed)
    made = Day(seed, slow=draw.choice(["/search", "/cart"]))
    drift_from = draw.randrange(requests // 2, requests)
    for number in range(requests):
        second = number * 86_400 // requests
        made.lines += _lines(draw, made, second, is_drifted=number >= drift_from)
        if draw.random() < 0.01:
            made.lines.append(draw.choice(["", "broken", '1.1.1.1 - - [x] "GET / HTTP/1.1" 200 1 "-" "-"']))
            made.broken += bool(made.lines[-1])
    return made


def _lines(draw: random.Random, made: Day, second: int, *, is_drifted: bool) -> Iterator[str]:
    kind = draw.choices(["file", "missing", "moved", "search", "cart", "gone", "http"], [40, 5, 10, 20, 15, 4, 6])[0]
    path = f"/p/{int(draw.paretovariate(1)) % 1000}"
    match kind:
        case "file":
            made.files += 1
            yield _line(draw, second, f"{path}.html", draw.choice([200, 200, 304]))
        case "missing":
            yield _line(draw, second, f"{path}.php", 404)
        case "moved":
            yield _line(draw, second, f"/moved{path}", 301)
        case "gone":
            made.drifted += is_drifted
            yield _line(draw, second, "/gone", 200 if is_drifted else 410)
        case "http":
            yield _line(draw, second, path, 301, scheme="http")
        case _:
            slow = f"/{kind}" == made.slow
            time = draw.lognormvariate(7 if slow else 3, 0.5) / 1000
            is_bot = kind == "search" and draw.random() < 0.9
            yield _line(draw, second, f"/{kind}?q={path}", draw.choice([200, 200, 500]), time=time, is_bot=is_bot)


def _line(
    draw: random.Random,
    second: int,
    target: str,
    status: int,
    *,
    scheme: str = "https",
    time: float | None = None,
    is_bot: bool = False,
) -> str:
    client = "198.51.100.7" if is_bot else f"192.0.2.{draw.randrange(250)}"
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    upstream = "-" if time is None else f"{time:.3f}"
    return (
        f'{client} shop.example {scheme} [27/Nov/2026:{clock} +0000] "GET {target} HTTP/1.1" {status} '
        f'{draw.randrange(100, 50_000)} {time or 0.0:.3f} "{upstream}" "{_BOT if is_bot else _BROWSER}"'
    )
