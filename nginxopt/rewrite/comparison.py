"""Compares the responses of two instances of nginx, whose configurations differ only in the rules.

Both have the same server, locations and files around the rules (`Scene`). Responses show the state after the rules
(`$uri`, `$args`, captures). Some locations send internal requests (error_page, try_files, index, auth_request) through
the rules again. The responses are compared byte for byte, after replacing dates and ports.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self

from nginxopt import lazy
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.rewrite.kinds.rules.reading import Phase
from nginxopt.rewrite.requests import HOST
from nginxopt.system.http import Client, RequestBytes, batches
from nginxopt.system.network import Network
from nginxopt.system.nginx import Binary, Instance, Verdict, configuration, permission

_MAX_UNKNOWN_VARIABLES = 1000
_UNKNOWN_VARIABLE = lazy.pattern(r'unknown "([A-Za-z0-9_]+)" variable')

_STATE = b"uri=[$uri] args=[$args] is_args=[$is_args] ru=[$request_uri]"
_CAPTURES = b" 1=[$1] 2=[$2]"


@record(eq=True)
class Scene:
    """The surroundings of the rules, the same on both sides.

    Attributes:
        phase: Where the rules are included: in the server, or in a location.
        captures: Whether responses show `$1` and `$2`.
        targets: The URIs of internal requests.
        auth: Whether to use auth_request, which not every build has.
        tries_files: Whether the location with the rules has `try_files`.
    """

    phase: Phase
    captures: bool
    targets: tuple[bytes, ...]
    auth: bool
    tries_files: bool = True

    def server(self) -> bytes:
        """Return the content of the server, which includes the rules from rules.conf."""
        state = _STATE + (_CAPTURES if self.captures else b"")
        names = b"server_name %s" % HOST + (b' "~^(capture)d(.test)$"' if self.captures else b"")
        rules = b"include rules.conf;"
        at_server, at_location = (rules, b"") if self.phase == "server" else (b"", rules)
        lines = [
            names + b";",
            # Also sent with redirects and static files; without captures, which nothing reads after a redirect.
            b'add_header X-State "%s" always;' % _STATE,
            b"large_client_header_buffers 4 64k; client_header_timeout 5s; client_body_timeout 5s;",
            at_server,
            b"location / {",
            at_location,
            # Internal requests after the first run of the rules, with a URI that matches a rule and one that does
            # not: variables may have cached or set values that are out of date.
            b"error_page 418 $harness_target; error_page 419 /-nxo/none;",
            b"if ($harness_target) { return 418; }",
            b"if ($arg_harness) { return 419; }",
            b'return 200 "%s";' % state,
            # Reached after a `break` in the location; shows whether the request still has the configuration of the
            # location.
            b"try_files $uri @state;" if self.tries_files else b"",
            b"}",
            b'location @state { return 200 "%s"; }' % state,
            # An internal request with an empty URI runs the rules of the server, and then gets the location "/".
            b"location = /-nxo/empty { try_files /-nxo/none $arg_nothing; }",
            *(self._internal(index, target) for index, target in enumerate(self.targets)),
        ]
        return b"\n".join(lines)

    def fixed(self) -> list[bytes]:
        """Return the targets of locations that make internal requests, and some targets that match no rule."""
        kinds = (b"through", b"error", b"try", b"try-args", b"auth", b"index/")
        numbered = [b"/-nxo/%d/%s" % (index, kind) for index in range(len(self.targets)) for kind in kinds]
        return [b"/", b"/-nxo/none", b"/-nxo/empty", *numbered]

    def maps(self) -> bytes:
        """Return the maps of the server. They must follow all other maps, whose map_hash_max_size must come first."""
        targets = (b"/-nxo/%d/through %s;" % pair for pair in enumerate(self.targets))
        return b"map $uri $harness_target { volatile; %s }" % b" ".join(targets)

    def files(self) -> dict[str, bytes]:
        """Return the files below `html` that make auth_request subrequests succeed."""
        return {f"html/-nxo/{index}/auth": b"allowed" for index in range(len(self.targets))}

    def _internal(self, index: int, target: bytes) -> bytes:
        here = b"location = /-nxo/%d" % index
        auth = b"auth_request %s;" % target if self.auth else b""
        return b"\n".join(
            [
                here + b"/error { error_page 404 %s; return 404; }" % target,
                here + b"/try { try_files /-nxo/none %s; }" % target,
                here + b"/try-args { try_files /-nxo/none %s?q=1; }" % target,
                here + b"/auth { %s }" % auth,
                here + b"/index/ { index %s; }" % target,
            ]
        )


@record(eq=True)
class SceneSide:
    """One of the two configurations."""

    scene: Scene
    rules: bytes
    maps: bytes
    variables: tuple[str, ...]

    def test(self, binary: Binary) -> Verdict:
        """Return the verdict of `nginx -t`. Raises `InputError` for rules that run programs or lead to a socket."""
        permission.refuse_leaving(self.rules, "rules.conf", binary)
        return binary.test(configuration([self.scene.server()], http=self._http()), self._files())

    def run(self, binary: Binary, *, avoid: bytes) -> Instance:
        """Return an nginx with this configuration; `avoid` is that of `Instance`."""
        return Instance(
            binary,
            servers=[self.scene.server()],
            http=self._http(),
            files=self._files(),
            log_level="emerg",
            avoid=avoid,
            alone=True,
        )

    def _http(self) -> bytes:
        return b"\n".join([b"include maps.conf;", self.scene.maps(), *defining_maps(self.variables)])

    def _files(self) -> dict[str, bytes]:
        return {**self.scene.files(), "rules.conf": self.rules, "maps.conf": self.maps}


def has_auth_request(binary: Binary) -> bool:
    """Return whether nginx has the module auth_request."""
    return binary.test(configuration([b"auth_request off;"])).ok


def unknown_variables(test: Callable[[tuple[str, ...]], Verdict], path: str) -> tuple[tuple[str, ...], Verdict]:
    """Return the variables that a text uses without defining them, and nginx's verdict if they are defined.

    `test` returns the verdict with some variables defined. Raises `InputError` if nginx refuses the text at `path`.
    """
    variables: tuple[str, ...] = ()
    while True:
        verdict = test(variables)
        unknown = _UNKNOWN_VARIABLE.search(str(verdict))
        if verdict.ok:
            return variables, verdict
        if unknown is None or unknown[1] in variables or len(variables) >= _MAX_UNKNOWN_VARIABLES:
            raise InputError(f"nginx refuses the original rules: {reasons(verdict)}", path=path)
        variables = (*variables, unknown[1])


def defining_maps(variables: Iterable[str]) -> Iterator[bytes]:
    """Yield a map that defines each of the variables."""
    return (f'map $host ${name} {{ default "nxo-{name}"; }}'.encode() for name in variables)


def reasons(verdict: Verdict) -> str:
    """Return the messages of a verdict as one line."""
    return "; ".join(str(message).removeprefix("nginx: ") for message in verdict.messages)


# The comparison

SHOWN_MISMATCHES = 10
_DATE = lazy.pattern(rb"\r\nDate: [^\r]*\r\n")
_PORT = b"<port>"


@record(eq=True)
class Mismatch:
    """A difference: another `response` to a request, or a compiled configuration with which nginx does not `start`.

    `request`, `before` and `after` are raw bytes. For `start`, `after` is nginx's message, and the others are empty.
    """

    kind: Literal["response", "start"]
    request: bytes
    before: bytes
    after: bytes

    def __str__(self) -> str:
        if self.kind == "start":
            return f"the compiled configuration does not start: {_printable(self.after)}"
        return f"{_asked(self.request)}: {_summary(self.before)} became {_summary(self.after)}"


@record(eq=True)
class Limits:
    """The limits of a comparison.

    Attributes:
        requests: The most requests to each side.
        seconds: The time limit.
        progress: Is called with the number of requests that are done, and the total.
    """

    requests: int
    seconds: float
    progress: Callable[[int, int], None] | None = None


@record(eq=True)
class Differential:
    """The result of a differential run.

    Attributes:
        requests: The number of requests sent to both sides.
        mismatches: The first differences.
        mismatched: The number of requests with different responses.
        skipped: The number of combinations left out because of `limit` or `seconds`.
        unstable: The number of requests whose response is different each time (`$request_id`), so that it proves
            nothing.
        variables: The variables that the rules use but do not define; the test defines them.
        warnings: Warnings of nginx about the compiled configuration only.
        omitted: Why nothing was compared, as a phrase; None if it was.
    """

    requests: int
    mismatches: tuple[Mismatch, ...]
    mismatched: int
    seconds: float
    skipped: int
    unstable: int = 0
    variables: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    omitted: str | None = None

    @property
    def ok(self) -> bool:
        """Whether there is no difference."""
        return not self.mismatches


@record(eq=True)
class AskedServer:
    """A port of 127.0.0.1 in a network to ask, and what responses may show that differs from another nginx."""

    port: int
    names: tuple[bytes, ...]
    network: Network

    @classmethod
    def of(cls, instance: Instance) -> Self:
        """Return the first server of an instance."""
        return cls(instance.ports[0], (b"%d" % instance.ports[0],), instance.network)

    def client(self) -> Client:
        """Return a new client of it."""
        return Client(self.port, network=self.network)


@dataclass(slots=True)
class Tally:
    """The counts of a comparison, and the first differences."""

    requests: int = 0
    mismatched: int = 0
    unstable: int = 0
    shown: list[Mismatch] = field(default_factory=list)


def compare(
    original: Instance | AskedServer,
    compiled: Instance | AskedServer,
    requests: Sequence[RequestBytes],
    deadline: float,
    progress: Callable[[int, int], None] | None,
) -> Tally:
    """Send requests to both sides until `deadline`, and count the differences."""
    tally = Tally()
    asked = [side if isinstance(side, AskedServer) else AskedServer.of(side) for side in (original, compiled)]
    with asked[0].client() as first, asked[1].client() as second:
        sides = (_Answers(first, asked[0].names), _Answers(second, asked[1].names))
        for batch in batches(requests):
            if time.monotonic() > deadline:
                break
            for request, before, after in _both(sides, batch):
                if before != after:
                    _judge(tally, sides, request, before, after)
            tally.requests += len(batch)
            if progress is not None:
                progress(tally.requests, len(requests))
    return tally


@record(eq=True)
class _Answers:
    """A client of one side. It removes from responses what differs between any two runs."""

    client: Client
    names: tuple[bytes, ...]

    def clean(self, answer: bytes) -> bytes:
        answer = _DATE.sub(b"\r\n", answer, count=1)
        for name in self.names:
            answer = answer.replace(name, _PORT)
        return answer

    def again(self, request: RequestBytes) -> bytes:
        self.client.close()  # the port of the client may be what differs
        return self.clean(self.client.ask([request])[0])


def _both(
    sides: tuple[_Answers, _Answers], batch: Sequence[RequestBytes]
) -> Iterator[tuple[RequestBytes, bytes, bytes]]:
    """Send the batch to both sides at the same time."""
    sent = [side.client.send(batch) for side in sides]
    answers = [
        [side.clean(answer) for answer in side.client.receive(batch, connections)]
        for side, connections in zip(sides, sent, strict=True)
    ]
    return zip(batch, *answers, strict=True)


def _judge(tally: Tally, sides: tuple[_Answers, _Answers], request: RequestBytes, before: bytes, after: bytes) -> None:
    """Count a difference, unless one side answers the same request differently each time."""
    if sides[0].again(request) != before or sides[1].again(request) != after:
        tally.unstable += 1
        return
    tally.mismatched += 1
    if len(tally.shown) < SHOWN_MISMATCHES:
        tally.shown.append(Mismatch("response", request.data, before, after))


def _asked(request: bytes) -> str:
    """Return the request line, and other unusual parts of the request."""
    header, _, body = request.partition(b"\r\n\r\n")
    usual = (b"Host: " + HOST, b"Connection: close")
    parts = [line for line in [*header.split(b"\r\n"), body] if line and line not in usual]
    return ", ".join(_printable(part) for part in parts)


def _summary(answer: bytes) -> str:
    """Return the status, the Location and the start of a text body."""
    if not answer:
        return "no answer"
    header, _, body = answer.partition(b"\r\n\r\n")
    status, *fields = header.split(b"\r\n")
    parts = [status.partition(b" ")[2], *(line for line in fields if line.startswith(b"Location:"))]
    if body and not body.startswith(b"<html>"):
        parts.append(body[:200])
    return " ".join(_printable(part) for part in parts)


def _printable(text: bytes) -> str:
    return repr(text.decode("latin-1"))[1:-1]
