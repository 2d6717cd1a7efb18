"""Text with positions: sources and spans, edits, diffs, suggestions. Independent of nginx.

A `Source` is the bytes of a file, a `Span` is a range in it, an `Edit` replaces a span, and a `Change` is an edit of a
source. `apply` applies edits to a text.
"""

from nginxopt.text.edit import Change, ChangeSet, Draft, Edit, EditSet, apply
from nginxopt.text.shorten import fit, shorten
from nginxopt.text.source import Position, Source, Span, decode, encode
from nginxopt.text.suggest import suggestion

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
