"""Rules about workers and logs, beyond the examples of their pages."""

from __future__ import annotations

import pytest

from nginxopt.config import load_text
from nginxopt.lint import (
    ENOUGH_DESCRIPTORS,
    FAST_DISK,
    LOCAL_FILES,
    PLAIN_COMMAND_LINE,
    RAISES_THE_LIMIT,
    SEVERAL_WORKERS,
    Safety,
)
from tests.lintcheck import diagnose, fixed, judge
from tests.rows import every_row

# What is claimed -> rule, a whole configuration in which it finds nothing.
SILENT = {
    "a file that main includes is not the main file": ("worker-processes", "load_module modules/a.so;\n"),
    "an include that was not read may set the workers": ("worker-processes", "include workers.conf;\nevents {\n}\n"),
    "an include that was not read may set the limit": (
        "worker-rlimit-nofile",
        "include limits.conf;\nevents {\n    worker_connections 4096;\n}\n",
    ),
    "an include that was not read may set the connections": (
        "worker-connections",
        "events {\n    include events.conf;\n}\nhttp {\n    server {\n        location / {\n"
        "            proxy_pass http://127.0.0.1:1;\n        }\n    }\n}\n",
    ),
    "a number of connections that nginx refuses": (
        "worker-rlimit-nofile",
        "events {\n    worker_connections 4k;\n}\n",
    ),
    "the mutex is off": ("accept-mutex", "worker_processes 4;\nevents {\n    accept_mutex OFF;\n}\n"),
    "nobody set the number of workers, which is one": ("accept-mutex", "events {\n    accept_mutex on;\n}\n"),
    "an access log of stream may be off": (
        "log-path-bogus",
        "events {\n}\nstream {\n    access_log off;\n    error_log stderr;\n}\n",
    ),
    "that logs are opened for each line was decided": (
        "access-log-variable",
        "events {\n}\nhttp {\n    open_log_file_cache off;\n    access_log $host.log;\n}\n",
    ),
    "workers are bound to a processor": ("worker-processes", "worker_cpu_affinity 01;\nevents {\n}\n"),
    "the one worker is bound to a processor": (
        "worker-processes",
        "worker_processes 1;\nworker_cpu_affinity 0001;\nevents {\n}\n",
    ),
    "what stays in the foreground may be a container": ("worker-processes", "daemon off;\nevents {\n}\n"),
    "what logs to standard output is in a container": (
        "worker-processes",
        "error_log /dev/stderr warn;\nevents {\n}\n",
    ),
    "what asks the resolver of Docker is in a container": (
        "worker-processes",
        "events {\n}\nhttp {\n    resolver 127.0.0.11:53 valid=10s;\n}\n",
    ),
    "an image brings its servers in the main file": (
        "worker-processes",
        "worker_processes 1;\nevents {\n}\nhttp {\n    include mime.types;\n    server { listen 80; }\n}\n",
    ),
    "a log within a directory of that name": ("log-path-bogus", "error_log off/error.log;\nevents {\n}\n"),
}


@pytest.mark.parametrize("folder", ["docker/", ".werf/", "deploy/k8s-prod/"])
def test_a_folder_for_containers(folder: str) -> None:
    """The number of workers of a container is set by its image: the file of such a folder is not reported."""
    text = b"worker_processes 1;\nevents {\n}\n"
    reports = [
        judge("worker-processes", load_text(text, f"{place}nginx.conf", missing_ok=True)).diagnostics
        for place in (folder, "etc/nginx/")
    ]
    assert [len(diagnostics) for diagnostics in reports] == [0, 1]


@every_row(("rule", "text"), SILENT.values(), ids=SILENT)
def test_silent(rule: str, text: str) -> None:
    """The rule reports nothing."""
    assert diagnose(rule, text) == ()


# What is claimed -> rule, configuration, what the fix makes of it.
FIXED = {
    "what caches keep open counts": (
        "worker-rlimit-nofile",
        "worker_rlimit_nofile 1024;\nevents {\n    worker_connections 2048;\n}\nhttp {\n"
        "    open_file_cache max=20000 inactive=1h;\n    open_log_file_cache max=100;\n}\n",
        "worker_rlimit_nofile 32768;\nevents {\n    worker_connections 2048;\n}\nhttp {\n"
        "    open_file_cache max=20000 inactive=1h;\n    open_log_file_cache max=100;\n}\n",
    ),
    "no more than Linux lets anybody have": (
        "worker-rlimit-nofile",
        "worker_rlimit_nofile 1024;\nevents {\n    worker_connections 900000;\n}\n",
        "worker_rlimit_nofile 1048576;\nevents {\n    worker_connections 900000;\n}\n",
    ),
    "a zone is called as the upstream, in quotes": (
        "upstream-zone-missing",
        'worker_processes 2;\nevents {\n}\nhttp {\n    upstream "my app" {\n        least_conn;\n'
        "        server 10.0.0.1;\n        server unix:/a.sock;\n    }\n}\n",
        'worker_processes 2;\nevents {\n}\nhttp {\n    upstream "my app" {\n'
        '        zone "my app" 64k;\n        least_conn;\n'
        "        server 10.0.0.1;\n        server unix:/a.sock;\n    }\n}\n",
    ),
    **{
        f"a zone has another name than that of {what}": (
            "upstream-zone-missing",
            f"worker_processes 2;\nevents {{\n}}\nhttp {{\n    {http}\n    upstream app {{\n        random two;\n"
            f"        server 10.0.0.1;\n        server [::1]:80;\n    }}\n}}\n{rest}",
            f"worker_processes 2;\nevents {{\n}}\nhttp {{\n    {http}\n    upstream app {{\n"
            f"        zone app_2 64k;\n        random two;\n"
            f"        server 10.0.0.1;\n        server [::1]:80;\n    }}\n}}\n{rest}",
        )
        for what, http, rest in [
            ("limit_req", "limit_req_zone $uri zone=app:1m rate=1r/s;", ""),
            ("a cache", "proxy_cache_path /a keys_zone=app:1m;", ""),
            ("a cache of sessions", "ssl_session_cache builtin shared:app:1m;", ""),
            ("Lua", "lua_shared_dict app 1m;", ""),
            ("njs", "js_shared_dict_zone zone=app:1m;", ""),
            (
                "stream",
                "",
                "stream {\n    upstream app {\n        zone app 64k;\n        server 10.0.0.1:1;\n    }\n}\n",
            ),
            ("sessions of stream", "", "stream {\n    ssl_session_cache shared:app:1m;\n}\n"),
        ]
    },
    **{
        f"no zone where {why}": ("upstream-zone-missing", text, text)
        for why, text in [
            (
                "a name stands for any number of addresses",
                "worker_processes 2;\nevents {\n}\nhttp {\n    upstream app {\n        least_conn;\n"
                "        server a.example;\n        server 10.0.0.1;\n    }\n}\n",
            ),
            (
                "what was not read may have the name",
                "worker_processes 2;\nevents {\n}\nhttp {\n    upstream app {\n        least_conn;\n"
                "        server 10.0.0.2;\n        server 10.0.0.1;\n    }\n    server {\n"
                "        include not-there.conf;\n    }\n}\n",
            ),
        ]
    },
    "the limit stands behind the workers, with the line ends of the file": (
        "worker-rlimit-nofile",
        "user www;\r\nworker_processes 4; # half of them\r\nevents { worker_connections 2000; }\r\n",
        "user www;\r\nworker_processes 4; # half of them\r\nworker_rlimit_nofile 8192;\r\n"
        "events { worker_connections 2000; }\r\n",
    ),
    "a comment that opens the file stays where it is": (
        "worker-processes",
        "# our nginx\n\nuser www;\nevents {\n}\n",
        "# our nginx\n\nworker_processes auto;\nuser www;\nevents {\n}\n",
    ),
    "a block on one line": (
        "worker-connections",
        "events {}\nhttp { server { location / { proxy_pass http://127.0.0.1:1; } } }\n",
        "events { worker_connections 1024; }\nhttp { server { location / { proxy_pass http://127.0.0.1:1; } } }\n",
    ),
    "all the words of a level are one": (
        "error-log-debug",
        'error_log "a b.log" debug_http debug_event;\nevents {\n}\n',
        'error_log "a b.log" warn;\nevents {\n}\n',
    ),
    "another log goes on where `none` is taken away": (
        "log-path-bogus",
        "events {\n}\nhttp {\n    access_log a.log;\n    access_log none;\n}\n",
        "events {\n}\nhttp {\n    access_log a.log;\n}\n",
    ),
    "no fix where the name of a format would be lost": (
        "log-path-bogus",
        "events {\n}\nhttp {\n    access_log on combined;\n}\n",
        "events {\n}\nhttp {\n    access_log on combined;\n}\n",
    ),
    "no fix where the log would be off": (
        "log-path-bogus",
        "events {\n}\nhttp {\n    access_log off;\n    server {\n        access_log on;\n    }\n}\n",
        "events {\n}\nhttp {\n    access_log off;\n    server {\n        access_log on;\n    }\n}\n",
    ),
    "one cache of open logs for two of them": (
        "access-log-variable",
        "events {\n}\nhttp {\n    access_log $host.log;\n    access_log $uri.log;\n}\n",
        "events {\n}\nhttp {\n    access_log $host.log;\n    access_log $uri.log;\n"
        "    open_log_file_cache max=100;\n}\n",
    ),
    "two logs of one file keep the buffer that one of them has": (
        "access-log-unbuffered",
        "events {\n}\nhttp {\n    access_log a.log;\n    server {\n"
        "        access_log a.log combined buffer=4k;\n    }\n}\n",
        "events {\n}\nhttp {\n    access_log a.log;\n    server {\n"
        "        access_log a.log combined buffer=4k;\n    }\n}\n",
    ),
}


@every_row(("rule", "before", "after"), FIXED.values(), ids=FIXED)
def test_fixed(rule: str, before: str, after: str) -> None:
    """The rule reports the text, and its fix writes the expected one."""
    assert diagnose(rule, before)
    assert fixed(rule, before).decode() == after


WORKERS = Safety.under(PLAIN_COMMAND_LINE, SEVERAL_WORKERS)

# What is claimed -> rule, configuration, how safe the fix is.
SAFETY = {
    "nobody chose one worker": ("worker-processes", "events {\n}\n", WORKERS),
    "somebody did": ("worker-processes", "worker_processes 1;\nevents {\n}\n", Safety.UNSAFE),
    "each worker counts `max_conns` by itself": (
        "worker-processes",
        "events {\n}\nhttp {\n    upstream a {\n        server 127.0.0.1 max_conns=4;\n    }\n}\n",
        Safety.UNSAFE,
    ),
    "with a zone they count together": (
        "worker-processes",
        "events {\n}\nhttp {\n    upstream a {\n        zone a 64k;\n        server 127.0.0.1 max_conns=4;\n    }\n}\n",
        WORKERS,
    ),
    "a limit that is added may lower that of the unit, or stand on the command line": (
        "worker-rlimit-nofile",
        "events {\n    worker_connections 4096;\n}\n",
        Safety.under(RAISES_THE_LIMIT, PLAIN_COMMAND_LINE),
    ),
    "a limit that is replaced may be above the hard one": (
        "worker-rlimit-nofile",
        "worker_rlimit_nofile 100;\nevents {\n    worker_connections 4096;\n}\n",
        Safety.under(RAISES_THE_LIMIT),
    ),
    "connections need descriptors": (
        "worker-connections",
        "events {\n}\nhttp {\n    server {\n        location / { proxy_pass http://a:1; }\n    }\n}\n",
        Safety.under(ENOUGH_DESCRIPTORS),
    ),
    "few connections may be meant": (
        "worker-connections",
        "events {\n    worker_connections 64;\n}\n"
        "http {\n    server {\n        location / {\n            proxy_pass http://a:1;\n        }\n    }\n}\n",
        Safety.UNSAFE,
    ),
    "a cache may be on a small disk": (
        "cache-temp-path",
        "events {\n}\nhttp {\n    proxy_cache_path /c keys_zone=a:1m;\n}\n",
        Safety.under(FAST_DISK),
    ),
    "a folder may be one of another machine": (
        "sendfile",
        "events {\n}\nhttp {\n    server {\n        root /srv;\n    }\n}\n",
        Safety.under(LOCAL_FILES),
    ),
    "the kernel may encrypt what it sends": (
        "sendfile",
        "events {\n}\nhttp {\n    server {\n        root /srv;\n        ssl_conf_command Options KTLS;\n    }\n}\n",
        Safety.UNSAFE,
    ),
    "sizes are told to clients": (
        "gzip-level",
        "events {\n}\nhttp {\n    gzip_comp_level 9;\n    add_trailer X $gzip_ratio;\n}\n",
        Safety.UNSAFE,
    ),
    "a server in front shows the size of a response": (
        "gzip-level",
        "events {\n}\nhttp {\n    gzip_comp_level 9;\n    add_trailer X $upstream_response_length;\n}\n",
        Safety.UNSAFE,
    ),
    "a server in front shows the bytes it received": (
        "gzip-level",
        "events {\n}\nhttp {\n    gzip_comp_level 9;\n    add_trailer X ${upstream_bytes_received};\n}\n",
        Safety.UNSAFE,
    ),
    "sizes are logged": (
        "gzip-level",
        "events {\n}\nhttp {\n    gzip_comp_level 9;\n    log_format a $gzip_ratio;\n}\n",
        Safety.SAFE,
    ),
    "one worker takes all that wait": (
        "accept-mutex",
        "worker_processes 2;\nevents {\n    accept_mutex on;\n    multi_accept on;\n}\n",
        Safety.UNSAFE,
    ),
    "all workers are woken": (
        "accept-mutex",
        "worker_processes 2;\nevents {\n    use poll;\n    accept_mutex on;\n}\n",
        Safety.UNSAFE,
    ),
    "connections are spread evenly without the mutex": (
        "accept-mutex",
        "worker_processes 2;\nevents {\n    accept_mutex on;\n}\n",
        Safety.under(SEVERAL_WORKERS),
    ),
}


@every_row(("rule", "text", "safety"), SAFETY.values(), ids=SAFETY)
def test_safety(rule: str, text: str, safety: Safety) -> None:
    """The fix has the expected safety."""
    assert [finding.fix and finding.fix.safety for finding in diagnose(rule, text)] == [safety]
