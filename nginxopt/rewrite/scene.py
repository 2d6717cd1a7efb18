"""Builds the two configurations of a comparison on nginx: the same server, locations and files around different rules.

Responses show the state after the rules (`$uri`, `$args`, captures). Some locations send internal requests (error_page,
try_files, index, auth_request) through the rules again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from nginxopt import lazy
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.rewrite.kinds.rules.sections import Phase
from nginxopt.rewrite.requests import HOST
from nginxopt.system.nginx import Binary, Instance, Verdict, configuration

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
            alone=True,
        )

    def _http(self) -> bytes:
        return b"\n".join([b"include maps.conf;", self.scene.maps(), *definitions(self.variables)])

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


def definitions(variables: Iterable[str]) -> Iterator[bytes]:
    """Yield a map that defines each of the variables."""
    return (f'map $host ${name} {{ default "nxo-{name}"; }}'.encode() for name in variables)


def reasons(verdict: Verdict) -> str:
    """Return the messages of a verdict as one line."""
    return "; ".join(str(message).removeprefix("nginx: ") for message in verdict.messages)
