"""The input of the request model, field for field as `rust/src/request/site.rs` reads it from JSON.

Text is bytes decoded as Latin-1: each byte becomes the character with the same number.
"""

from __future__ import annotations

from typing import Literal, TypedDict

Node = int
"""The number of a directive (see `levels.Nodes`)."""


class OpaqueForm(TypedDict):
    """A directive that may do anything; `reason` is a phrase that says why it is not simulated."""

    node: Node
    reason: str


Changes = Literal["body", "headers", "response"]


class FilterForm(TypedDict):
    """A directive that changes outgoing responses in a way that is not simulated."""

    node: Node
    reason: str
    changes: Changes
    needs: str | None
    """A text without which a body stays as it is."""


class StatedForm(TypedDict):
    """A directive with its arguments."""

    node: Node
    args: list[str]


class SetForm(TypedDict):
    """A `set`; `variable` includes the `$`."""

    kind: Literal["set"]
    node: Node
    variable: str
    value: str


class IfForm(TypedDict):
    """An `if`; `condition` are the words between the parentheses, and `level` is the number of its block."""

    kind: Literal["if"]
    node: Node
    condition: list[str]
    level: int


class RewriteForm(TypedDict):
    """A `rewrite`."""

    kind: Literal["rewrite"]
    node: Node
    pattern: str
    replacement: str
    flag: str | None


class RewritesForm(TypedDict):
    """A folded run of `count` rewrites with consecutive numbers from `node` on.

    `start` and `end` are its byte offsets in the text with the number `text`.
    """

    kind: Literal["rewrites"]
    node: Node
    count: int
    text: int
    start: int
    end: int


class ReturnForm(TypedDict):
    """A `return`."""

    kind: Literal["return"]
    node: Node
    args: list[str]


class BreakForm(TypedDict):
    """A `break`."""

    kind: Literal["break"]
    node: Node


class OpaqueStatementForm(TypedDict):
    """A statement that is not simulated."""

    kind: Literal["opaque"]
    node: Node
    reason: str


StatementForm = SetForm | IfForm | RewriteForm | RewritesForm | ReturnForm | BreakForm | OpaqueStatementForm

LevelKind = Literal["http", "server", "location", "if", "limit_except"]


class LevelForm(TypedDict):
    """A block.

    `settings` are the numbers of the directives of each setting that differs from the level around it, or None if it is
    not known. `opaque` directives act after the script, and `filters` on every response that is sent from this level.
    """

    kind: LevelKind
    node: Node
    parent: int | None
    args: list[str]
    script: list[StatementForm]
    locations: list[int]
    limit_except: int | None
    settings: dict[str, list[int] | None]
    opaque: list[OpaqueForm]
    filters: list[FilterForm]


class SocketForm(TypedDict):
    """An address that nginx listens on; that of `quic` uses UDP, and is another one than that of TCP."""

    node: Node | None
    family: str
    host: str
    port: int
    tls: bool
    http2: bool
    quic: bool
    proxy_protocol: bool
    takes_ipv4: bool
    servers: list[int]
    default: int


class NameForm(TypedDict):
    """A name of a server."""

    node: Node
    text: str


class ServerForm(TypedDict):
    """A server."""

    node: Node
    level: int
    names: list[NameForm]


class MapForm(TypedDict):
    """A `map` or `split_clients`."""

    kind: Literal["map", "split_clients"]
    node: Node
    source: str
    variable: str
    rows: list[StatedForm]


class GeoForm(TypedDict):
    """A `geo`."""

    kind: Literal["geo"]
    node: Node
    source: str | None
    variable: str
    rows: list[StatedForm]


class OpaqueVariableForm(TypedDict):
    """A variable whose value is not known. `content` are the words of its definition."""

    kind: Literal["opaque"]
    node: Node
    variable: str
    reason: str
    content: list[str]


class UpstreamForm(TypedDict):
    """An upstream, with the addresses of its servers as written."""

    node: Node
    name: str
    servers: list[str]


class BuildForm(TypedDict):
    """The nginx that runs the site; `fixes` are fixes that the build has in addition to those of its version."""

    version: tuple[int, int, int]
    fixes: list[str]
    prefix: str


class SiteForm(TypedDict):
    """The `http` block."""

    build: BuildForm
    sockets: list[SocketForm]
    servers: list[ServerForm]
    levels: list[LevelForm]
    directives: list[StatedForm]
    variables: list[MapForm | GeoForm | OpaqueVariableForm]
    upstreams: list[UpstreamForm]
    opaque: list[OpaqueForm]
