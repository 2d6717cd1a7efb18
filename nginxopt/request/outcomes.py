"""What the model says of a request, field for field as `rust/src/request/outcome.rs` writes it.

Text is bytes as Latin-1: each byte is the character of its number; `text_of` decodes it.
"""

from __future__ import annotations

from typing import TypedDict

from nginxopt.semantics.site.form import Node
from nginxopt.text import decode


class PassedForm(TypedDict):
    """A request as an upstream gets it."""

    server: str
    scheme: str
    method: str
    target: str | None


class HeaderForm(TypedDict):
    """A header that is added to a response."""

    node: Node
    name: str
    value: str


class QuestionForm(TypedDict, total=False):
    """A question about the world: `kind` is `file`, `variable` or `upstream`."""

    kind: str
    path: str
    name: str
    server: str


class UnknownForm(TypedDict):
    """Why an outcome, or a part of it, is unknown."""

    reason: str
    node: Node | None
    question: QuestionForm | None


class OutcomeForm(TypedDict):
    """What becomes of a request."""

    kind: str
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


def text_of(latin: str) -> str:
    """Return text of the model as text."""
    return decode(latin.encode("latin-1"))
