"""One side of the comparison: nginx on the tree as it is, and all that can be observed of it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nginxopt.system import nginx, process
from tests.fuzz.nodes import Rendered, render
from tests.fuzz.rewrites.client import converse
from tests.fuzz.rewrites.generate import FILES, Case
from tests.fuzz.rewrites.requests import Ask

_START_SECONDS = 60.0
_FILE_TIME = 946_684_800
_MASKS = (
    (re.compile(rb"\r\n(?:Date|Expires): [^\r]*"), b""),
    (re.compile(rb"\r\nE[Tt]ag: [^\r]*"), b""),
)
_ERROR = re.compile(rb"^\S+ \S+ \[(warn|error|crit|alert|emerg)\] [0-9#]+: (?:\*\d+ )?(.*)$", re.MULTILINE)
_LUA_LINE = re.compile(rb"[^\s(]+:\d+\):\d+:")
# Whether there are empty arguments or none is undefined after try_files (ngx_http_split_args sets no address).
_NO_ARGS = re.compile(rb"^(\d+ \[.*?\] \d+ [^|]*)\|-\|")
_SAID = re.compile(rb"^nginx: \[(\w+)\] (.*)$", re.MULTILINE)
_PLACE = re.compile(rb" in (\S+):(\d+)$")


@dataclass(frozen=True, slots=True)
class Observation:
    """What requests showed: the answers, and the lines of the logs and of the upstream's, in no order."""

    answers: list[bytes]
    access: list[bytes]
    upstream: list[bytes]
    errors: list[bytes]


class RefusedError(Exception):
    """nginx does not start; its messages, without the path of the tree."""

    def __init__(self, said: bytes) -> None:
        super().__init__(said.decode(errors="replace"))
        self.said = said


class Bench:
    """A folder for the tree, two ports, and an upstream that says and logs what it is asked."""

    def __init__(self, folder: Path, binary: nginx.Binary) -> None:
        self.binary = binary
        self.root = folder / "etc"
        self.ports: tuple[int, ...] = ()
        self._folder = folder
        self._stack = contextlib.ExitStack()
        self._upstream_port = 0
        self._upstream_log = Path()
        self._seen = 0
        self._is_http2 = False
        self._logs_late = False
        self._process: subprocess.Popen[bytes]

    def __enter__(self) -> Bench:
        self.ports = self._stack.enter_context(nginx.reserved_ports(2))
        asked = b"up $request_method $request_uri host=$http_host cap=$http_x_cap f=$http_x_f <!--# echo var='1' -->\\n"
        server = b"access_log up.log up; add_header X-Up 1; default_type text/html; lingering_close off;"
        server += b" large_client_header_buffers 4 32k;"
        server += b'location / { return 200 "%s"; } location ~ 404 { return 404 "up lost\\n"; }' % asked
        http = b"log_format up '$request|$http_host|$http_x_cap|$http_x_f|$http_cookie';"
        upstream = self._stack.enter_context(nginx.Instance(self.binary, http=http, servers=[server]))
        self._upstream_port = upstream.ports[0]
        self._upstream_log = upstream.prefix / "up.log"
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def write(self, case: Case) -> Rendered:
        """Write the tree of a case, and nothing else, into the folder."""
        shutil.rmtree(self.root, ignore_errors=True)
        self._is_http2 = case.is_http2
        rendered = render("nginx.conf", case.tree, case.newline)
        self._logs_late = any(b"post_action" in text for text in rendered.files.values())
        for path, text in {**FILES, **rendered.files}.items():
            self._write(case, path, self.filled(text) if path in rendered.files else text)
        for folder in ("logs", "conf.d"):
            (self.root / folder).mkdir(exist_ok=True)
        return rendered

    def _write(self, case: Case, path: str, text: bytes) -> None:
        target = self.root / case.links.get(path, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text)
        if path in FILES:
            os.utime(target, (_FILE_TIME, _FILE_TIME))
        else:
            target.chmod(case.modes.get(path, 0o644))
        if path in case.links:
            link = self.root / path
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(os.path.relpath(target, link.parent))

    def filled(self, text: bytes) -> bytes:
        """Return a text with the folder and the ports in place of their names."""
        text = text.replace(b"@T@", str(self.root).encode()).replace(b"@UP@", b"%d" % self._upstream_port)
        for index, port in enumerate(self.ports):
            if self._is_http2:
                text = text.replace(b"listen 127.0.0.1:@P%d@" % index, b"listen 127.0.0.1:%d http2" % port)
            text = text.replace(b"@P%d@" % index, b"%d" % port)
        return text

    @contextlib.contextmanager
    def running(self) -> Iterator[list[bytes]]:
        """Run nginx on the tree; yield the warnings of its start. `RefusedError` if it does not start."""
        logs = self.root / "logs"
        shutil.rmtree(logs, ignore_errors=True)
        logs.mkdir()
        options = ["-e", "logs/start.log", "-g", "daemon off; master_process off; pid logs/nginx.pid;"]
        command = [self.binary.path, "-p", f"{self.root}/", "-c", f"{self.root}/nginx.conf", *options]
        terminal = self._folder / "terminal"
        with terminal.open("wb") as output:
            self._process = started = process.start(command, cwd=self.root, output=output)
        try:
            if not nginx.wait_until_started(started, logs / nginx.PID_FILE):
                raise RefusedError(self.clean(terminal.read_bytes()))
            yield [self.clean(line) for level, line in _SAID.findall(terminal.read_bytes()) if level == b"warn"]
        finally:
            process.end(started)

    def clean(self, text: bytes) -> bytes:
        """Return a text of nginx without the path of the folder."""
        return text.replace(f"{self.root}/".encode(), b"")

    def ask(self, asks: Sequence[Ask]) -> Observation:
        """Put the requests to the nginx that runs.

        With `post_action`, nginx goes on after an answer, and nothing tells when it is done: logs are not observed.
        """
        self._asked()  # by a nginx that died, for example
        try:
            answers = [_masked(answer) for answer in converse(self.ports, asks, is_http2=self._is_http2)]
        except ConnectionRefusedError:
            with contextlib.suppress(subprocess.TimeoutExpired):
                raise RefusedError(b"nginx ended with %d" % self._process.wait(1)) from None
            raise RefusedError(b"nobody listens") from None
        logs = self.root / "logs"
        access = [line for path in sorted(logs.glob("[ab].log")) for line in path.read_bytes().split(b"\n")]
        access = [_NO_ARGS.sub(rb"\1||", line) for line in access if b"/sentinel" not in line]
        errors = [b"%s: %s" % error for error in _ERROR.findall(self.clean((logs / "error.log").read_bytes()))]
        # nginx cuts long lines off (NGX_MAX_ERROR_STR), and those of Lua name a place that the command moves.
        errors = [_LUA_LINE.sub(b"(a line):", line)[:900] for line in errors]
        # An upstream that closes early resets the connection, or does not, as the packets come.
        passing = (b"using uninitialized", b"/sentinel", b"(104: Connection reset by peer)")
        errors = [line for line in errors if not any(part in line for part in passing)]
        asked = self._asked()
        if self._logs_late:
            access, asked = [], []
        return Observation(answers, sorted(access), sorted(asked), sorted(errors))

    def _asked(self) -> list[bytes]:
        """What the upstream was asked since the last time: its log is complete once it has answered one more."""
        converse([self._upstream_port], [Ask(0, b"GET /sentinel HTTP/1.1\r\nHost: up\r\n\r\n")])
        text = self._upstream_log.read_bytes()
        lines = text[self._seen :].split(b"\n")
        self._seen = len(text)
        return [line for line in lines if line and b"/sentinel" not in line]


def place_of(messages: bytes) -> tuple[str, int] | None:
    """Return the file and line that nginx's last message names."""
    matches = [_PLACE.search(line) for level, line in _SAID.findall(messages) if level == b"emerg"]
    places = [(match[1].decode(), int(match[2])) for match in matches if match]
    return places[-1] if places else None


def _masked(answer: bytes) -> bytes:
    for mask, by in _MASKS:
        answer = mask.sub(by, answer)
    return answer
