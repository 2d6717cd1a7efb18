"""Layouts of configurations on a disk, and checks that nginx accepts them."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from nginxopt.system import nginx
from tests.support import PATIENCE

LONG = "x" * 60
"""Longer than a key of nginx's own buckets may be."""


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    status: int
    out: str
    err: str


def tree(root: Path, files: dict[str, str]) -> Path:
    """Write files, and links for the names that end in `@`."""
    for name, text in files.items():
        path = root / name.removesuffix("@")
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("@"):
            path.symlink_to(text)
        else:
            path.write_bytes(text.encode())
    return root


def output_of(binary: nginx.Binary, main: Path, *options: str) -> str:
    """The output of nginx for a configuration, from its main file on."""
    command = [binary.path, "-t", "-c", str(main.absolute()), "-g", f"pid {main.absolute()}.pid;", *options]
    if binary.version >= (1, 19, 5):
        command += ["-e", str(main.absolute()) + ".log"]
    ended = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    text = (ended.stderr + ended.stdout).decode(errors="replace")
    assert ended.returncode == 0, text
    assert "warn" not in text, text
    return text


def read_files(binary: nginx.Binary, main: Path) -> list[str]:
    """The files that nginx reads, each as often as it is named."""
    dump = output_of(binary, main, "-T")
    return re.findall(r"^# configuration file (.*):$", dump, re.MULTILINE)


def maps_of(text: str) -> list[str]:
    """The variables of ours in what `nginx -T` prints, each as often as it has a map."""
    return re.findall(r"^map \S+ (\$\w+) \{", text, re.MULTILINE)


def accepted(binary: nginx.Binary, main: Path) -> None:
    """Each map is there once, and nginx prints no message."""
    maps = maps_of(output_of(binary, main, "-T"))
    assert maps
    assert len(maps) == len(set(maps))


def server(name: str, *rules: str, inside: str = "") -> str:
    """A server with rules."""
    rewrites = "".join(f"    rewrite ^/{rule}$ /to/{rule} permanent;\n" for rule in rules)
    return f"server {{\n    listen unix:{name}.sock;\n{rewrites}{inside}}}\n"


DEBIAN = {
    "nginx.conf": "worker_processes 1;\ninclude modules-enabled/*.conf;\nevents { worker_connections 64; }\n\n"
    "http {\n\taccess_log off;\n\tinclude mime.types;\n\n\tinclude conf.d/*.conf;\n\tinclude sites-enabled/*;\n}\n",
    "mime.types": "types { text/html html; }\n",
    "modules-enabled/.keep": "",
    "conf.d/log.conf": "server_tokens off;\n",
    "snippets/old.conf": f"rewrite ^/snippet$ /s permanent;\nrewrite ^/{LONG}$ /s permanent;",
    "sites-available/shop": server("shop", "a", "b", inside="    include snippets/old.conf;\n"),
    "sites-available/blog": server("blog", "a", "c"),
    "sites-enabled/shop@": "../sites-available/shop",
    "sites-enabled/blog@": "../sites-available/blog",
}
DOCKER = {
    "nginx.conf": "events {}\nhttp {\n    include       mime.types;\n    include conf.d/*.conf;\n}\n",
    "mime.types": "types { text/html html; }\n",
    "conf.d/default.conf": server("default", "a", "b", LONG, inside="    location / { rewrite ^/l$ /m last; }\n"),
    "conf.d/other.conf": server("other", "a"),
}
RHEL = {
    "nginx.conf": "events {}\nhttp {\n    include conf.d/*.conf;\n    server {\n        listen unix:rhel.sock;\n"
    "        include default.d/*.conf;\n        location / { include default.d/*.conf; }\n    }\n}\n",
    "conf.d/empty.conf": "# nothing\n",
    "default.d/rules.conf": f"rewrite ^/r1$ /to permanent;\nrewrite ^/{LONG}$ /to permanent;\nrewrite ^/r2$ /to last;",
    "default.d/more.conf": "rewrite ^/m1$ /to permanent;\r\nrewrite ^/m2$ /to permanent;\r\n",
}
