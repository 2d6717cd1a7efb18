"""Safe fixes of a part of a configuration on the real nginx: whatever the rest of it is, nothing breaks or is lost.

`--fix` changes what a repository has, with all premises declared but `whole-configuration`. Then the part is installed
with the files that were not there, hostile ones. nginx accepts the configuration before and after, and the responses
are the same.
"""

from __future__ import annotations

import re
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nginxopt.config.inputs import InputOptions, read
from nginxopt.lint import WHOLE_CONFIGURATION
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.check import Judge, check_and_fix
from nginxopt.lint.run import Selected
from nginxopt.settings.file import Settings
from nginxopt.settings.vocabulary import PREMISES
from nginxopt.system import nginx
from nginxopt.version import Version
from tests.support import PATIENCE

pytestmark = pytest.mark.nginx

KEYS = " ".join(f"/key/{number} {number};" for number in range(2_500))
# What rules find: a map that is too large, gzip_comp_level, tcp_nopush without sendfile, a server without a pool, ...
SLOW_HTTP = f"""
    map $uri $of_map {{ default none; {KEYS} }}
    gzip on; gzip_types text/plain; gzip_comp_level 9; gzip_proxied any;
    tcp_nopush on;
    upstream app {{ server unix:HOST/app.sock; }}
    server {{
        listen unix:HOST/a.sock;
        add_header X-Map $of_map;
        rewrite ^/once$ /twice; rewrite ^/once$ /twice;
        location / {{ proxy_pass http://app; }}
    }}
"""
APP = """
    server {
        listen unix:HOST/app.sock;
        location / { default_type text/plain; return 200 "$uri $request_method and a text that is long enough"; }
    }
"""
MAIN = "pid HOST/pid;\nerror_log stderr;\nevents { }\n"
LEVELS = f"{MAIN}http {{\n    INCLUDE\n{SLOW_HTTP}\n}}\n"


@dataclass(frozen=True)
class Layout:
    """A part of a configuration in a repository.

    Attributes:
        files: Its files; HOST is the folder in which nginx is installed on the host.
        named: The paths that are linted.
        machine: Files of the machine where it is linted, in the folder HOST of the host.
        rest: What the host has besides, its main file included; MORE is the content of the hostile file.
        renames: The names of files on the host, where they differ.
    """

    files: Mapping[str, str]
    rest: Mapping[str, str]
    named: tuple[str, ...] = ("nginx.conf",)
    machine: Mapping[str, str] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)


def including(name: str) -> dict[str, str]:
    """A main file with an include."""
    return {"nginx.conf": LEVELS.replace("INCLUDE", f"include {name};")}


REST = {"conf.d/host.conf": "MORE"}
LAYOUTS = {
    "an image": Layout(including("HOST/conf.d/*.conf"), REST),
    "an image, linted where nginx is installed": Layout(
        including("HOST/conf.d/*.conf"), REST, machine={"conf.d/host.conf": "gzip_vary on; sendfile off;"}
    ),
    "modules of Puppet": Layout(including("conf.d/*.conf"), REST),
    "a folder that is kept empty": Layout({**including("conf.d/*.conf"), "conf.d/.gitkeep": ""}, REST),
    "a file that is not there": Layout(including("HOST/conf.d/host.conf"), REST),
    "a role of Ansible": Layout(
        {"templates/nginx.conf.j2": LEVELS.replace("INCLUDE", "{{ nginx_extra_http }}")},
        {},
        named=("templates/nginx.conf.j2",),
        renames={"templates/nginx.conf.j2": "nginx.conf"},
    ),
    "sites by absolute paths": Layout(
        {"nginx.conf": f"{MAIN}http {{ include HOST/sites-enabled/*; }}", "sites-enabled/site.conf": SLOW_HTTP},
        {"sites-enabled/0.conf": "MORE"},
        named=(".",),
    ),
    "a fragment": Layout(
        {"site.conf": SLOW_HTTP},
        {"nginx.conf": f"{MAIN}http {{ MORE include site.conf; }}"},
        named=("site.conf",),
    ),
    "several configurations": Layout(
        {
            "a/nginx.conf": f"{MAIN}http {{ include ../common/*.conf; {SLOW_HTTP} }}",
            "b/nginx.conf": f"{MAIN}http {{ include ../common/*.conf; }}",
            "common/log.conf": "log_not_found off;",
        },
        {"common/host.conf": "MORE"},
        named=(".",),
        renames={"a/nginx.conf": "a/nginx.conf"},
    ),
}

# What else the host has in http.
HOSTILE = {
    "nothing": "",
    "sizes of maps": "map_hash_max_size 8192; map_hash_bucket_size 128;",
    "what fixes like to add": "sendfile_max_chunk 1m; open_file_cache max=10; tcp_nodelay off; server_tokens off;",
    "zones": "limit_req_zone $uri zone=SSL:1m rate=9r/s; limit_conn_zone $uri zone=app:1m;",
    "what makes a directive useful": "sendfile on; server { listen unix:HOST/b.sock; root HOST; }",
    "what reads the size": "add_header X-Ratio $gzip_ratio always;",
    "what passes to the same servers": (
        "server { listen unix:HOST/b.sock; proxy_set_header X-A 1; location / { proxy_pass http://app; } }"
    ),
    "maps and variables": 'map $uri $nxo_1 { default 1; } map $uri $hit { "~k" 1; } log_format main $uri;',
    "headers": "add_header X-Host 1; proxy_set_header X-Host 1; proxy_http_version 1.1; gzip_vary on;",
}
REQUESTS = [
    f"GET {uri} HTTP/1.1\r\nHost: a\r\n{head}Connection: close\r\n\r\n"
    for uri in ("/", "/key/7", "/key/2499", "/none", "/once")
    for head in ("", "Accept-Encoding: gzip\r\n", "Range: bytes=1-3\r\n")
]


@pytest.fixture(scope="module", params=[*LAYOUTS.values()], ids=[*LAYOUTS])
def sides(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Layout, Path, list[Path]]:
    """A layout, the folder of its host, and two folders with its part: as it is, and fixed."""
    layout: Layout = request.param
    top = tmp_path_factory.mktemp("part")
    host, before, after = top / "host", top / "before", top / "after"
    write(host, layout.machine, host)
    for folder in (before, after):
        write(folder, layout.files, host)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(after)
        inputs = read(layout.named, InputOptions(templates=True))
        assert not inputs.errors
        assumed = frozenset(PREMISES.values()) - {WHOLE_CONFIGURATION}
        rules = tuple(Selected(rule, None) for rule in catalogue().values() if not rule.host)
        judge = Judge(rules, Version(1, 28, 0), Settings(), assumed=assumed)
        checked = check_and_fix(inputs.configs, judge, unsafe=False)
        assert checked.diagnostics, "there is something to find"
        for path, draft in checked.drafts.items():
            Path(path).write_bytes(draft.text)
        changed = {path for path in checked.drafts if not Path(path).resolve().is_relative_to(after)}
        assert not changed, "only files of the repository change"
    return layout, host, [before, after]


def write(folder: Path, files: Mapping[str, str], host: Path) -> None:
    """Write files with the folder of the host in their texts."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.replace("HOST", str(host)))


def install(layout: Layout, part: Path, host: Path, more: str) -> Path:
    """Put a part on its host, with a hostile file; return the main file."""
    for path in [*host.rglob("*.conf"), *host.rglob("*.sock")]:
        path.unlink()
    texts = {name: (part / name).read_text() for name in layout.files}
    files = {
        layout.renames.get(name, name): text.replace("{{ nginx_extra_http }}", more) for name, text in texts.items()
    }
    rest = {name: text.replace("MORE", more) for name, text in layout.rest.items()}
    main = next(name for name in ("nginx.conf", "a/nginx.conf") if name in files or name in rest)
    write(host, files | rest, host)
    text = (host / main).read_text()
    (host / main).write_text(text.replace("http {", f"http {{ access_log off; {APP}", 1).replace("HOST", str(host)))
    return host / main


def refusal(binary: nginx.Binary, main: Path, host: Path) -> str:
    """What `nginx -t` says against a configuration; empty if it accepts it."""
    command = [binary.path, "-t", "-q", "-p", str(host), "-c", str(main)]
    run = subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE)
    return run.stderr.decode() if run.returncode else ""


def responses(binary: nginx.Binary, main: Path, host: Path) -> list[bytes]:
    """The responses to all requests, without their dates."""
    command = [binary.path, "-p", str(host), "-c", str(main), "-g", "daemon off; master_process off;"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            ends = time.monotonic() + PATIENCE
            while not listens(host / "a.sock") and time.monotonic() < ends and process.poll() is None:
                time.sleep(0.01)
            return [re.sub(rb"Date: [^\r]*\r\n", b"", ask(host / "a.sock", request)) for request in REQUESTS]
        finally:
            process.kill()


def listens(path: Path) -> bool:
    """Whether nginx accepts connections."""
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(str(path)) == 0


def ask(path: Path, request: str) -> bytes:
    """The response to a request over a socket."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(str(path))
        connection.sendall(request.encode())
        received = b""
        while piece := connection.recv(65_536):
            received += piece
        return received


@pytest.mark.parametrize("more", HOSTILE.values(), ids=HOSTILE)
def test_fixes_of_a_part_break_nothing(
    sides: tuple[Layout, Path, list[Path]], more: str, a_binary: nginx.Binary
) -> None:
    """nginx accepts the fixed part where it accepts the part, and answers the same."""
    layout, host, parts = sides
    answers = []
    for part in parts:
        main = install(layout, part, host, more)
        assert not refusal(a_binary, main, host), part.name
        answers.append(responses(a_binary, main, host))
    assert answers[0] == answers[1]
