"""The two configurations of a differential run: the same server, locations and files around different rules.

The locations show the state that the rules leave (`$uri`, `$args`, captures) and send internal requests (error_page,
try_files, index, auth_request) through the rules again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.rewrite.requests import HOST
from nginxopt.rewrite.sections import Phase
from nginxopt.system.nginx import Binary, Instance, Verdict, configuration

_MAX_UNKNOWN_VARIABLES = 1000
_UNKNOWN_VARIABLE = re.compile(r'unknown "([A-Za-z0-9_]+)" variable')

_STATE = b"uri=[$uri] args=[$args] is_args=[$is_args] ru=[$request_uri]"
_CAPTURES = b" 1=[$1] 2=[$2]"


@record(eq=True)
class Scene:
    """The surroundings of the rules, the same on both sides.

    `targets` are the URIs of internal requests; `auth` is whether to use auth_request, which not every build has;
    `tries_files` is whether a location with rules has `try_files`.
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
            # Also visible in redirects and on static files; without captures, which nobody reads after a redirect.
            b'add_header X-State "%s" always;' % _STATE,
            b"large_client_header_buffers 4 64k; client_header_timeout 5s; client_body_timeout 5s;",
            at_server,
            b"location / {",
            at_location,
            # Internal requests that start after the rules have run once, to a URI of a rule and to one of
            # none: what is cached or set by then is stale.
            b"error_page 418 $harness_target; error_page 419 /-nxo/none;",
            b"if ($harness_target) { return 418; }",
            b"if ($arg_harness) { return 419; }",
            b'return 200 "%s";' % state,
            # Reached after a `break` in the location: does the request still have this location's
            # configuration?
            b"try_files $uri @state;" if self.tries_files else b"",
            b"}",
            b'location @state { return 200 "%s"; }' % state,
            # The empty URI goes through the rules of the server, and then to the location of "/".
            b"location = /-nxo/empty { try_files /-nxo/none $arg_nothing; }",
            *(self._internal(index, target) for index, target in enumerate(self.targets)),
        ]
        return b"\n".join(lines)

    def fixed(self) -> list[bytes]:
        """Return the targets whose locations make internal requests, and some that belong to no rule."""
        kinds = (b"through", b"error", b"try", b"try-args", b"auth", b"index/")
        numbered = [b"/-nxo/%d/%s" % (index, kind) for index in range(len(self.targets)) for kind in kinds]
        return [b"/", b"/-nxo/none", b"/-nxo/empty", *numbered]

    def maps(self) -> bytes:
        """Return the maps of the server for http. They follow all others, as map_hash_max_size precedes every map."""
        targets = (b"/-nxo/%d/through %s;" % pair for pair in enumerate(self.targets))
        return b"map $uri $harness_target { volatile; %s }" % b" ".join(targets)

    def files(self) -> dict[str, bytes]:
        """Return the files below `html`, for allowed auth_request subrequests."""
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
class Side:
    """One of the two configurations."""

    scene: Scene
    rules: bytes
    maps: bytes
    variables: tuple[str, ...]

    def test(self, binary: Binary) -> Verdict:
        """Return the verdict of `nginx -t`."""
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
        )

    def _http(self) -> bytes:
        return b"\n".join([b"include maps.conf;", self.scene.maps(), *definitions(self.variables)])

    def _files(self) -> dict[str, bytes]:
        return {**self.scene.files(), "rules.conf": self.rules, "maps.conf": self.maps}


def has_auth_request(binary: Binary) -> bool:
    """Return whether nginx has the module auth_request."""
    return binary.test(configuration([b"auth_request off;"])).ok


def unknown_variables(test: Callable[[tuple[str, ...]], Verdict], path: str) -> tuple[tuple[str, ...], Verdict]:
    """Return the variables that a text uses undefined, according to nginx, and its verdict with them defined.

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


def definitions(variables: Iterable[str]) -> Iterator[bytes]:
    """Yield a map that defines each of some variables."""
    return (f'map $host ${name} {{ default "nxo-{name}"; }}'.encode() for name in variables)


def reasons(verdict: Verdict) -> str:
    """Return the messages of a verdict as one line."""
    return "; ".join(str(message).removeprefix("nginx: ") for message in verdict.messages)
