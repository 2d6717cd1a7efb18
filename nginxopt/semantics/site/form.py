"""The form of a site: what `rust/src/request/site.rs` reads, field for field.

Text is bytes as Latin-1: each byte is the character of its number.
"""

from __future__ import annotations

from typing import Literal, TypedDict

Node = int
"""A directive, by its number in the list of the lowering."""


class OpaqueForm(TypedDict):
    """Something that may do anything, and a phrase that says why it is not understood."""

    node: Node
    reason: str


Changes = Literal["body", "headers", "response"]


class FilterForm(TypedDict):
    """Something that changes responses on their way out, and is not understood."""

    node: Node
    reason: str
    changes: Changes


class StatedForm(TypedDict):
    """A directive with its arguments."""

    node: Node
    args: list[str]


class SetForm(TypedDict):
    """A `set`; the variable is with its `$`."""

    kind: Literal["set"]
    node: Node
    variable: str
    value: str


class IfForm(TypedDict):
    """An `if`; the condition is the words between its parentheses."""

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
    """A folded run of `count` rewrites, which have the numbers from `node` on."""

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
    """A statement that is not understood."""

    kind: Literal["opaque"]
    node: Node
    reason: str


StatementForm = SetForm | IfForm | RewriteForm | RewritesForm | ReturnForm | BreakForm | OpaqueStatementForm

LevelKind = Literal["http", "server", "location", "if", "limit_except"]


class LevelForm(TypedDict):
    """A block. `settings` are those that differ from the level around it; None is one that is not known.

    `opaque` acts after the script, `filters` on every response that is sent with its settings.
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
    """An address that nginx listens at."""

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
    """A variable with a value that nobody knows. `content` is what defines it, as words."""

    kind: Literal["opaque"]
    node: Node
    variable: str
    reason: str
    content: list[str]


class UpstreamForm(TypedDict):
    """An upstream; the addresses of its servers are as written."""

    node: Node
    name: str
    servers: list[str]


class BuildForm(TypedDict):
    """The nginx that runs the site; `fixes` are those that the build has besides its version's."""

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
