"""The one kind of edit: a byte span and the bytes that take its place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nginxopt.source import Span


@dataclass(frozen=True, slots=True)
class Edit:
    """Puts `text` in place of `span`; an empty span inserts."""

    span: Span
    text: bytes


def apply(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Return `data` with the edits made; `ValueError` if two of them overlap.

    What is inserted at one place stays in the order given, before what replaces text from there on.
    """
    pieces = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.span.start, len(edit.span) > 0)):
        if edit.span.start < at:
            raise ValueError(f"edits overlap at byte {edit.span.start}")
        pieces += [data[at : edit.span.start], edit.text]
        at = edit.span.end
    return b"".join([*pieces, data[at:]])
