"""Builds nodes: the common parts of all nginx configurations of a benchmark."""

from __future__ import annotations

from collections.abc import Mapping

from nginxopt.bench.rendering import template
from nginxopt.bench.scenario import NO_FILES, Asks, ExpectedResponse, Node, Target
from nginxopt.text import encode

BODY = b"ok\n"


def node(
    role: str,
    server: str,
    *,
    http: str = "",
    main: str = "",
    listen: str = "",
    workers: int = 1,
    connections: int = 4096,
    files: Mapping[str, bytes] = NO_FILES,
    nofile: int | None = None,
    says: str = "",
) -> Node:
    """Return a node with one server with the content `server`, which also serves its counters.

    `http` is put before the server in the http block, and `main` at the top of the file; `listen` are parameters of its
    `listen` directive; `connections` is the value of worker_connections. Access logs are off, so that the disk does not
    affect the measurement.
    """
    config = template("nginx.conf.j2").render(
        role=role, server=server, http=http, main=main, listen=listen, workers=workers, connections=connections
    )
    return Node(role, encode(config), files, nofile, True, says)


def origin(
    role: str = "app",
    *,
    per_second: int | None = None,
    server: str = "",
    answer: bytes = BODY,
    nofile: int | None = None,
) -> Node:
    """Return an app: an nginx with one worker that serves a short file, with its role in `X-Node`.

    With `per_second`, it handles one request at a time, takes 1/`per_second` seconds for each, and queues the others.
    This uses `limit_req` without `nodelay`, a leaky bucket that delays each request until its turn
    (ngx_http_limit_req_account). nginx sleeps meanwhile, so origins do not compete for the CPU.
    """
    zone = f"limit_req_zone one zone=turn:32k rate={per_second}r/s;" if per_second else ""
    turn = f"limit_req zone=turn burst={_QUEUE};" if per_second else ""
    takes = f"one request at a time, {1000 / per_second:g} ms each" if per_second else "without added delay"
    inside = f"{server}\n{turn}\nadd_header X-Node {role} always;\nlocation / {{ try_files /answer =404; }}"
    return node(
        role,
        inside.strip(),
        http=zone,
        listen="backlog=4096",
        connections=16384,
        files={"html/answer": answer},
        nofile=nofile,
        says=f"nginx, {takes}",
    )


_QUEUE = 1_000_000  # so long that no request is ever refused


def answers_itself(role: str) -> Asks:
    """Return a probe which checks that an origin itself responds."""
    return Asks(role, Target("/", ExpectedResponse(200, body=BODY.decode(), header=("X-Node", role))))
