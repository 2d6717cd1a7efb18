"""Bytes with places: sources and spans, edits, diffs, suggestions. Nothing here knows nginx.

A `Source` is the bytes of a file; a `Span` is a place in it, an `Edit` puts text in its stead, and a `Change` says of
which file. `apply` makes a new text of edits.
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
