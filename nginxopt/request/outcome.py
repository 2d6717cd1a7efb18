"""What the model says of a request: `rust/src/request/outcome.rs`, field for field.

Text is bytes as Latin-1: each byte is the character of its number. `shown` is for people.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from nginxopt.semantics.site.form import Node
from nginxopt.text import decode
from nginxopt.text.escape import unicode

OutcomeKind = Literal[
    "return", "redirect", "static", "error", "closed", "proxy", "fastcgi", "uwsgi", "scgi", "grpc", "memcached",
    "handler", "unknown",
]  # fmt: skip

StepKind = Literal[
    "socket", "server", "set", "if", "rewrite", "return", "break", "location", "internal", "access", "try_files",
    "index", "error_page", "handler", "map",
]  # fmt: skip


class PassedForm(TypedDict):
    """A request as an upstream gets it; without a target for protocols that pass parameters."""

    server: str
    scheme: str
    method: str
    target: str | None


class HeaderForm(TypedDict):
    """A header of a directive."""

    node: Node
    name: str
    value: str


class QuestionForm(TypedDict, total=False):
    """A question about the world: of a `file` the path, of a `variable` the name, of an `upstream` the server."""

    kind: Literal["file", "variable", "upstream"]
    path: str
    name: str
    server: str


class UnknownForm(TypedDict):
    """Why something is not known: a phrase, the directive that asks, and the question that decides it."""

    reason: str
    node: Node | None
    question: QuestionForm | None


class OutcomeForm(TypedDict):
    """What becomes of a request."""

    kind: OutcomeKind
    status: int | None
    location: str | None
    body: str | None
    uri: str
    args: str
    server: int | None
    level: int | None
    node: Node | None
    file: str | None
    upstream: PassedForm | None
    headers: list[HeaderForm]
    unknown: UnknownForm | None


class PassedOverForm(TypedDict):
    """Something that was considered and not taken."""

    node: Node
    reason: str


class StepForm(TypedDict):
    """A decision on the way."""

    kind: StepKind
    node: Node | None
    detail: str
    captures: list[str | None]
    passed_over: list[PassedOverForm]


class TraceForm(TypedDict):
    """An outcome and the steps that led there."""

    outcome: OutcomeForm
    steps: list[StepForm]


def shown(text: str) -> str:
    r"""Return bytes as text: UTF-8 as it reads, other bytes as `\xff`."""
    return text if text.isascii() else unicode(decode(text.encode("latin-1")))
