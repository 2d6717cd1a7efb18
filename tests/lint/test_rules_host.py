"""`host-limits` on different machines."""

from __future__ import annotations

from dataclasses import replace

from nginxopt.lint.conformance import HOST
from nginxopt.system.host import Host, Nofile
from tests.lintcheck import judge, read
from tests.rows import every_row

EVENTS = "events { worker_connections 10240; }\n"
PROXY = "http { server { location / { proxy_pass http://10.0.0.1:8080; } } }\n"
FOUR = "worker_processes 4;\n"
ENOUGH = replace(HOST, file_max=10**9, nofile=Nofile(10**6, 10**6, "nginx.service"))

MESSAGES = {
    "too few descriptors for a worker": (
        FOUR + EVENTS,
        replace(HOST, file_max=None),
        ["10,240 connections x 2 descriptors + 9 = 20,489 per worker > 1,024, the limit of nginx.service"],
    ),
    "too few for all workers": (
        FOUR + "worker_rlimit_nofile 30000;\n" + EVENTS,
        HOST,
        ["4 workers x (10,240 connections x 2 descriptors + 9) = 81,956 > fs.file-max 65,536"],
    ),
    "logs and sockets": (
        "error_log e.log; events { worker_connections 1000; }\n"
        "http { access_log a.log;\n"
        "server { listen 80; listen 81 reuseport; access_log a.log; access_log syslog:server=a; } }\n",
        HOST,
        ["1,000 connections x 2 descriptors + 10 = 2,010 per worker > 1,024, the limit of nginx.service"],
    ),
    "a limit that is stated is another rule's": (
        "worker_rlimit_nofile 2000; events { worker_connections 1000; }\n",
        HOST,
        [],
    ),
    "a limit that is stated and cannot be set": (
        "worker_rlimit_nofile 2000000; events { worker_connections 1000; }\n",
        HOST,
        [
            "worker_rlimit_nofile 2,000,000 > fs.nr_open 1,048,576: setting it fails with a log message",
            "1,000 connections x 2 descriptors + 6 = 2,006 per worker > 1,024, the limit of nginx.service",
        ],
    ),
    "enough": (FOUR + EVENTS, ENOUGH, []),
    "nothing stated": ("events {}\n", replace(HOST, nofile=Nofile(256, 256, "this shell")), []),
    "a limit above that of the system": (
        "worker_rlimit_nofile 2000000;\nevents {}\n",
        HOST,
        ["worker_rlimit_nofile 2,000,000 > fs.nr_open 1,048,576: setting it fails with a log message"],
    ),
    "a limit that only root could raise": (
        "worker_rlimit_nofile 65536;\nevents {}\n",
        replace(HOST, is_root=False, nofile=Nofile(1024, 4096, "nginx.service")),
        ["worker_rlimit_nofile 65,536 > 4,096, the hard limit of nginx.service: only root can raise it"],
    ),
    "a limit that root raises": (
        "worker_rlimit_nofile 65536;\nevents {}\n",
        replace(HOST, is_root=True, nofile=Nofile(1024, 4096, "nginx.service")),
        [],
    ),
    "a queue that is cut": (
        "http { server { listen 80 backlog=8192; } server { listen 81; } }\n",
        HOST,
        ["backlog 8,192 > net.core.somaxconn 4,096: the system limits the queue"],
    ),
    "the default queue on an old system": (
        "http { server { listen 80; listen 81; } server { listen 82 backlog=100; } }\n",
        replace(HOST, somaxconn=128),
        ["backlog 511 (by default) > net.core.somaxconn 128: the system limits the queue"],
    ),
    "a queue of UDP": ("http { server { listen 443 quic reuseport; } }\n", replace(HOST, somaxconn=128), []),
    "too few ports": (
        FOUR + "events { worker_connections 20000; }\n" + PROXY,
        ENOUGH,
        ["4 workers x 20,000 connections / 2 = 40,000 to http://10.0.0.1:8080 > 28,232 local ports"],
    ),
    "two servers have ports enough": (
        FOUR
        + "events { worker_connections 20000; }\n"
        + "http { upstream a { server 10.0.0.1; server 10.0.0.2; } server { location / { proxy_pass http://a; } } }\n",
        ENOUGH,
        [],
    ),
    "two servers, and too few ports": (
        FOUR
        + "events { worker_connections 40000; }\n"
        + "http { upstream a { server 10.0.0.1; server 10.0.0.2; } server { location / { proxy_pass http://a; } } }\n",
        ENOUGH,
        ["4 workers x 40,000 connections / 2 = 80,000 to http://a > 2 servers x 28,232 local ports"],
    ),
    "a socket needs no port": (
        FOUR + "events { worker_connections 40000; }\nhttp { server { location / { proxy_pass http://unix:/a; } } }\n",
        ENOUGH,
        [],
    ),
    "several local addresses": (
        FOUR
        + "events { worker_connections 40000; }\n"
        + "http { server { location / { proxy_bind $a; proxy_pass http://10.0.0.1; } } }\n",
        ENOUGH,
        [],
    ),
    "a bounded server": (
        FOUR
        + "events { worker_connections 40000; }\n"
        + "http { upstream a { server 10.0.0.1 max_conns=100; } server { location / { proxy_pass http://a; } } }\n",
        ENOUGH,
        [],
    ),
    "auto in a container": (
        "worker_processes auto;\n",
        replace(HOST, processors=64, cpus=1.5),
        ["auto starts 64 workers, one per processor, but nginx may use only 1.5"],
    ),
    "auto on the machine itself": ("worker_processes auto;\n", HOST, []),
    "twice as many workers": ("worker_processes 8;\n", HOST, []),
    "more than twice as many": (
        "worker_processes 9;\n",
        HOST,
        ["9 workers > 2 x 4 usable processors: workers wait for each other"],
    ),
    "a machine of which nothing is known": (FOUR + EVENTS + PROXY, Host(), []),
}


@every_row("case", MESSAGES)
def test_messages(case: str) -> None:
    """The message compares the need of the configuration with the limit of the machine, with both figures."""
    text, host, messages = MESSAGES[case]
    diagnostics = judge("host-limits", read(text), host=host).diagnostics
    assert [diagnostic.message for diagnostic in diagnostics] == messages
    sums = [diagnostic.finding.help for diagnostic in diagnostics if " descriptors + " in diagnostic.message]
    assert all(help_.endswith(" are for logs, sockets and nginx itself") for help_ in sums)
    assert all(diagnostic.finding.help for diagnostic in diagnostics)


def test_without_a_machine_nothing_is_reported() -> None:
    """The rule reports nothing without a machine."""
    assert judge("host-limits", read(FOUR + EVENTS + PROXY), host=None).diagnostics == ()
