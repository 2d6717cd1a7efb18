"""What `nginxopt profile` says that requests take, against what they take: sites with and without `--measure`.

    python -m benchmarks.blind                       all sites, on the nginx on PATH
    python -m benchmarks.blind shop spa --nginx PATH
    python -m benchmarks.blind --requests 400 --json

Each site runs as it is under callgrind, and a mix of requests is sent to it. Its own log is then profiled. For each
kind of request and for the mix, a line has the ratios of the estimate and of what `--measure` finds to the instructions
that were counted. Needs nginx and valgrind.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.sites import SITES, Kind, Site
from benchmarks.sites.parts import TEXT, USERS
from nginxopt.config import load
from nginxopt.profile.figures import PRINTED_FORMAT
from nginxopt.profile.measuring import measure
from nginxopt.profile.reading import SiteLogs
from nginxopt.profile.work import Work
from nginxopt.request.build import probe
from nginxopt.request.model import SiteModel, World
from nginxopt.system import callgrind, nginx
from nginxopt.system.backend import Backend, BackendAnswer
from nginxopt.system.echo import EchoedRequest
from nginxopt.system.exchange import certificate
from nginxopt.system.http import Client, RequestBytes
from nginxopt.system.nginx import private_prefix, reserved_ports, running

MOST_OF_A_KIND, MOST_OF_A_MIX = 0.15, 0.05
"""By what a measured figure may differ from what was counted."""

_FORMAT = PRINTED_FORMAT.partition("access_log")[0]
_MIME = (
    "types { text/html html; application/json json; text/css css; image/jpeg jpg; "
    "application/javascript js; image/png png; font/woff2 woff2; } "
    "default_type application/octet-stream; sendfile on; keepalive_requests 1000000; keepalive_timeout 1h; "
    + " ".join(f"{name}_temp_path temp/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
)


class _App(Backend):
    """An application whose bodies have sizes of their own. Subrequests of `auth_request` get no body."""

    sizes: tuple[int, int] = (1, 1)
    text = TEXT
    draw = random.Random(1)

    def _response(self, asked: EchoedRequest) -> bytes:
        size = 0 if b"/check" in asked.line else self.draw.randint(*self.sizes)
        kind = (
            "application/json"
            if any(part in asked.line for part in (b" /api/", b" /v", b".json", b"/v1/", b"/v2/", b"/orders/"))
            else "text/html"
        )
        self.answer = BackendAnswer(200, (("Content-Type", kind),), self.text[:size])
        return super()._response(asked)


@dataclass(frozen=True)
class Counted:
    """What requests took: of each kind, and of the mix; the log of the mix, and for each kind its own lines."""

    kinds: dict[str, float]
    mix: float
    log: bytes
    of_kinds: dict[str, bytes]


def _text(site: Site, prefix: Path, port: int, back: int, tls: tuple[str, str] | None) -> str:
    secure = "" if tls is None else f"ssl_certificate {tls[0]}; ssl_certificate_key {tls[1]};"
    text = (
        "daemon off; master_process off; pid nginx.pid; timer_resolution 1d;\nevents { worker_connections 512; }\n"
        f"http {{\n{_FORMAT} access_log {prefix}/access.log profile;\n{_MIME}\n{site.http}\n"
        f"server {{ listen 127.0.0.1:{port}{' ssl' if tls else ''} reuseport; server_name site.example; {secure}\n"
        f"root {prefix}/html; {site.server}\n}}\n}}\n"
    )
    return (
        text.replace("@BACK@", str(back))
        .replace("root files;", f"root {prefix}/html;")
        .replace("alias html/;", f"alias {prefix}/html/;")
    )


class _Run:
    """A site under callgrind."""

    def __init__(self, site: Site, port: int, app: _App, draw: random.Random) -> None:
        self._site, self._port, self._app, self._draw = site, port, app, draw
        self._kept = self.client()
        self._number = 0

    def close(self) -> None:
        """Close the connection that is kept."""
        self._kept.close()

    def client(self) -> Client:
        """A new client."""
        return Client(self._port, timeout=120, tls=self._site.tls, server_name="site.example")

    def ask(self, kind: Kind) -> None:
        """Send a request of a kind."""
        self._app.sizes = kind.size if kind.size[1] else (1, 1)
        self._number += 1
        target = kind.target.replace("@U@", f"u{self._number}").replace("@N@", str(self._draw.randrange(8)))
        length = f"Content-Length: {kind.body}\r\n" if kind.body else ""
        data = f"{kind.method} {target} HTTP/1.1\r\nHost: site.example\r\n{kind.headers}{length}\r\n" + "x" * kind.body
        request = RequestBytes(data.replace("@ETAG@", self.etag).encode(), head=kind.method == "HEAD")
        if kind.is_new:
            with self.client() as client:
                client.ask([request])
        else:
            self._kept.ask([request])

    etag = '"none"'

    def learn_etag(self, target: str) -> None:
        """Remember the ETag of a file."""
        answer = self._kept.ask([RequestBytes(f"GET {target} HTTP/1.1\r\nHost: site.example\r\n\r\n".encode())])[0]
        self.etag = answer.partition(b"ETag: ")[2].partition(b"\r\n")[0].decode()


def count(site: Site, binary: nginx.Binary, requests: int, folder: Path) -> Counted:
    """Return what the requests of a site took; its configuration remains in the folder."""
    draw = random.Random(requests)
    files = {f"html/{name}": _of(name, size, site.text) for name, size in site.files.items()} | {"users": USERS}
    (folder / "users").write_bytes(USERS)
    with (
        contextlib.ExitStack() as last, private_prefix(files) as prefix, reserved_ports(1) as (port,), _App() as app,
        callgrind.counter() as counter,
    ):  # fmt: skip
        app.text = site.text
        tls = certificate(prefix) if site.tls else None
        text = _text(site, prefix, port, app.port, tls)
        (prefix / "nginx.conf").write_text(text)
        (folder / "nginx.conf").write_text(text)
        log = prefix / "access.log"
        command = [*counter.wrapper, *binary.command(prefix)]
        with running(command, prefix, start_seconds=120, also=(counter.folder,)) as process:
            run = _Run(site, port, app, draw)
            last.callback(run.close)
            counter.since(process.pid)
            own = counter.since(process.pid)
            for kind in site.kinds.values():
                if "@ETAG@" in kind.headers:
                    run.learn_etag(kind.target)
            found, lines = {}, {}
            for name, kind in site.kinds.items():
                for _ in range(3):
                    run.ask(kind)
                counter.since(process.pid)
                start = log.stat().st_size
                for _ in range(12):
                    run.ask(kind)
                found[name] = (counter.since(process.pid) - own) / 12
                lines[name] = log.read_bytes()[start:]
            start = log.stat().st_size
            kinds = draw.choices(list(site.kinds.values()), [kind.weight for kind in site.kinds.values()], k=requests)
            for kind in kinds:
                run.ask(kind)
            mix = (counter.since(process.pid) - own) / max(requests, 1)
            return Counted(found, mix, log.read_bytes()[start:], lines)


def _of(name: str, size: int, text: bytes) -> bytes:
    return random.Random(size).randbytes(size) if name.endswith((".png", ".bin")) else text[:size]


@dataclass(frozen=True)
class Line:
    """The instructions that were counted, and the ratios of an estimate and of what was measured to them."""

    site: str
    what: str
    counted: float
    estimated: float | None
    measured: float | None
    reason: str = ""


def compare(name: str, binary: nginx.Binary, requests: int) -> Iterator[Line]:
    """Yield the lines of a site, and of its mix last."""
    site = SITES[name]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        counted = count(site, binary, requests, folder)
        for kind, each in counted.kinds.items():
            if counted.of_kinds[kind]:
                yield _line(name, kind, each, _logs(folder, counted.of_kinds[kind], binary), binary)
        yield _line(name, "mix", counted.mix, _logs(folder, counted.log, binary), binary)


def _line(site: str, what: str, counted: float, logs: SiteLogs, binary: nginx.Binary) -> Line:
    profile = logs.profile()
    estimated = Work(profile).total.instructions / profile.requests
    measure(logs, profile, binary, rounds=0)
    found = Work(profile).total.instructions / profile.requests
    reasons = "; ".join(f"{one.requests} {why}" for why, one in profile.unmeasured.items())
    return Line(site, what, counted, estimated / counted, found / counted if profile.measured else None, reasons)


def _logs(folder: Path, log: bytes, binary: nginx.Binary) -> SiteLogs:
    path = folder / "access.log"
    path.write_bytes(log)
    model = SiteModel(load(str(folder / "nginx.conf")), probe(binary))
    return SiteLogs(model, model.gate(), World(), (str(path),), is_small=binary.is_small)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the ratios; return 1 if one that was measured is too far from 1."""
    parser = argparse.ArgumentParser(prog="benchmarks.blind", description="Compare profiles with counted instructions.")
    parser.add_argument("sites", nargs="*", metavar="SITE", help=f"of {', '.join(SITES)}; all by default")
    parser.add_argument("--nginx", metavar="PATH")
    parser.add_argument("--requests", type=int, default=300, metavar="N", help="requests of each mix")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    binary = nginx.find(options.nginx)
    lines: list[Line] = []
    for name in options.sites or SITES:
        for line in compare(name, binary, options.requests):
            lines.append(line)
            if not options.json:
                print(_shown(line), flush=True)
    kinds = [line for line in lines if line.what != "mix" and line.measured is not None]
    mixes = [line for line in lines if line.what == "mix"]
    if options.json:
        print(json.dumps([vars(line) for line in lines], indent=2))
    else:
        print(f"{binary}: estimates {_summary([line.estimated for line in kinds], MOST_OF_A_KIND)}")
        print(f"{binary}: measured {_summary([line.measured for line in kinds], MOST_OF_A_KIND)}")
        print(f"{binary}: mixes, measured {_summary([line.measured for line in mixes], MOST_OF_A_MIX)}")
    is_near = all(abs((line.measured or 1) - 1) <= MOST_OF_A_KIND for line in kinds)
    return int(not is_near or any(abs((line.measured or 1) - 1) > MOST_OF_A_MIX for line in mixes))


def _shown(line: Line) -> str:
    ratios = [f"{'-' if ratio is None else format(ratio, '.3f'):>9}" for ratio in (line.estimated, line.measured)]
    return f"{line.site:10} {line.what:12} {line.counted:12,.0f} {' '.join(ratios)}  {line.reason}"


def _summary(ratios: Sequence[float | None], most: float) -> str:
    errors = [abs(ratio - 1) for ratio in ratios if ratio is not None]
    near = sum(error <= most for error in errors)
    return f"within {most:.0%}: {near} of {len(errors)}, median {median(errors):.1%}, worst {max(errors):.1%}"


if __name__ == "__main__":
    sys.exit(main())
