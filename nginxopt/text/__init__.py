"""Text with positions: sources and spans, edits, diffs, suggestions. Independent of nginx.

A `Source` is the bytes of a file, a `Span` is a range in it, an `Edit` replaces a span, and a `Change` is an edit of a
source. `apply` applies edits to a text.
"""

from nginxopt.text.display import fit, shorten, suggestion
from nginxopt.text.source import Change, ChangeSet, Draft, Edit, EditSet, Position, Source, Span, apply, decode, encode

__all__ = [
    "Change",
    "ChangeSet",
    "Draft",
    "Edit",
    "EditSet",
    "Position",
    "Source",
    "Span",
    "apply",
    "decode",
    "encode",
    "fit",
    "shorten",
    "suggestion",
]
