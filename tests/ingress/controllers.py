"""The configuration of an Ingress on an nginx of its own, where the controller would run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nginxopt.ingress import ControllerSettings, convert, ingresses
from nginxopt.request import build as builds
from nginxopt.system import nginx
from tests import servers
from tests.support import USER


def written(
    binary: nginx.Binary,
    folder: Path,
    made: Mapping[str, Any],
    settings: Mapping[str, str],
    *,
    upstream: int,
    others: str,
    is_tls: bool = False,
) -> int:
    """Write the nginx.conf of an Ingress to a folder; return the port of 127.0.0.1 that it listens on.

    Its upstream is the port `upstream`; `others` are the servers beside it. It listens with TLS or without, not both.
    """
    own, fallback = servers.free_port(), servers.free_port()
    (folder / "web.json").write_text(json.dumps(made))
    read = ingresses([str(folder / "web.json")])
    text = convert(read, ControllerSettings(settings), builds.probe(binary).version, validates=False).text
    left_out = r"listen (\[::\]:|80)" if is_tls else r"listen (\[::\]:|443)|ssl_\S+ "
    listen = r"listen 443( default_server)? ssl( http2)?;" if is_tls else r"listen 80( default_server)?;"
    for pattern, put in (
        (rf"(?m)^ *({left_out}|resolver |worker_rlimit_nofile |http2 ).*;", ""),
        (listen, rf"listen 127.0.0.1:{own}\1{' ssl' if is_tls else ''};"),
        (r"127\.0\.0\.1:8181", f"127.0.0.1:{fallback}"),
        (r"server 0\.0\.0\.1;", f"server 127.0.0.1:{upstream};"),
        (r"/etc/ingress-controller/(auth|ssl)|/var/log/nginx", str(folder)),
        (r"worker_processes auto;", f"worker_processes 1; daemon off; pid pid; error_log error.log; {USER}"),
        (r"\}\s*\Z", f"{others}}}\n"),
        (r"(?<=\nhttp \{)", "".join(f"{kind}_temp_path {folder};" for kind in ("client_body", "proxy", "fastcgi"))),
    ):
        text = re.sub(pattern, put, text)
    (folder / "nginx.conf").write_text(text)
    return own
