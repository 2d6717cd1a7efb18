"""The time from a change in an editor to its diagnostics, in a session with `nginxopt lsp`.

    python -m benchmarks.lsp                   1,000 and 10,000 lines
    python -m benchmarks.lsp --lines 5000 --rounds 20 --json

A change adds a character to the first line, so that everything is read and checked again. Wall time has the delay in
which the server waits for another change; CPU time is that of the server.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import report

# Seconds at most, by the number of lines.
LIMITS = {1_000: 0.1, 10_000: 0.5}

_COMMAND = (sys.executable, "-m", "nginxopt", "lsp", "--isolated", "--target-version", "1.28.0")
_HEAD = "worker_processes auto;\nevents { worker_connections 1024; }\nhttp {\nlog_format timed '$request_time';\n"
_SITE = """\
upstream app{number} {{
    server 192.0.2.1:80{port};
    server 192.0.2.2:80{port};
}}
map $host $kind{number} {{
    default 0;
    a{number}.example.com 1;
}}
server {{
    listen 80;
    server_name s{number}.example.com;
    root /srv/{number};
    access_log /var/log/nginx/{number}.log timed;
    rewrite ^/old/{number}$ /new/{number} permanent;
    location / {{
        proxy_pass http://app{number};
        proxy_set_header Host $host;
    }}
    location /static/ {{
        expires 1d;
    }}
    location ~ \\.php$ {{
        fastcgi_pass 127.0.0.1:9000;
        fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
    }}
}}
"""


@dataclass(frozen=True, slots=True)
class Result:
    """The median seconds of a change of a text, and the number of its diagnostics; `lines` are those asked for."""

    lines: int
    diagnostics: int
    wall: float
    cpu: float

    @property
    def within(self) -> bool:
        """Whether the wall time is within the limit, if there is one for this size."""
        return self.wall <= LIMITS.get(self.lines, float("inf"))


def text(lines: int) -> str:
    """Return a configuration of about so many lines."""
    sites = (lines - _HEAD.count("\n") - 1) // _SITE.count("\n")
    return _HEAD + "".join(_SITE.format(number=number, port=number % 90 + 10) for number in range(sites)) + "}\n"


class Server:
    """A server process, and the messages to and from it."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(_COMMAND, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._number = 0
        self.ask("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}})
        self.tell("initialized", {})

    def tell(self, method: str, params: Any, **more: Any) -> None:
        """Send a message."""
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def ask(self, method: str, params: Any) -> Any:
        """Return the answer to a request."""
        self._number += 1
        self.tell(method, params, id=self._number)
        return next(message["result"] for message in self.messages() if message.get("id") == self._number)

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yield what the server sends."""
        output = self._process.stdout
        assert output is not None
        while line := output.readline():
            length = int(line.split(b":")[1])
            while output.readline().strip():
                pass
            yield json.loads(output.read(length))
        raise SystemExit(f"nginxopt lsp ended with {self._process.wait()}")

    def diagnostics(self, version: int) -> int:
        """Return the number of diagnostics of a version, once they come."""
        for message in self.messages():
            if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["version"] == version:
                return len(message["params"]["diagnostics"])
        raise AssertionError

    @property
    def cpu(self) -> float:
        """The CPU time that the process has used, in seconds (proc(5), on Linux; otherwise 0)."""
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """End the session as an editor does."""
        self.ask("shutdown", None)
        self.tell("exit", None)
        self._process.communicate()


def measure(lines: int, rounds: int, folder: Path) -> Result:
    """Open a text, and measure changes of it; the first two are not counted."""
    content, uri = text(lines), (folder / f"{lines}.conf").as_uri()
    server = Server(folder)
    document = {"uri": uri, "languageId": "nginx", "version": 0, "text": content}
    server.tell("textDocument/didOpen", {"textDocument": document})
    count = server.diagnostics(0)
    walls, cpus = [], []
    for version in range(1, rounds + 3):
        named = {"uri": uri, "version": version}
        change = {"textDocument": named, "contentChanges": [{"text": " " * version + content}]}
        start, used = time.perf_counter(), server.cpu
        server.tell("textDocument/didChange", change)
        server.diagnostics(version)
        walls.append(time.perf_counter() - start)
        cpus.append(server.cpu - used)
    server.end()
    return Result(lines, count, median(walls[2:]), median(cpus[2:]))


def rows(results: Sequence[Result]) -> Iterator[str]:
    """Yield a table."""
    yield f"{'lines':>7} {'diagnostics':>12} {'wall s':>8} {'CPU s':>8}  limit"
    for result in results:
        verdict = "held" if result.within else "EXCEEDED"
        yield f"{result.lines:>7,} {result.diagnostics:>12} {result.wall:>8.3f} {result.cpu:>8.3f}  {verdict}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(prog="benchmarks.lsp", description="Time the diagnostics of nginxopt lsp.")
    parser.add_argument("--lines", default="1000,10000", help="numbers of lines (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=9, help="how many changes are measured (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="nginxopt-") as name:
        results = [measure(int(lines), options.rounds, Path(name)) for lines in options.lines.split(",")]
    return report(results, rows, as_json=options.json)


if __name__ == "__main__":
    raise SystemExit(main())
