"""Reads a configuration as nginx does.

Input is paths, text or the output of `nginx -T`; output is a `Config`: the main file, the files it includes, and each
directive with its words and their byte spans. `Config.walk` yields each directive with its `Scope`, the block that
contains it as nginx reads it. `layout` makes edits in the style of the file.

The package also exports the types of `nginxopt.text` that a `Config` and its edits consist of: `Source`, `Span`,
`Edit`, `Change`, ...
"""

from typing import TYPE_CHECKING

from nginxopt.lazy import attributes

if TYPE_CHECKING:
    from nginxopt.config import layout
    from nginxopt.config.configuration import Config, Context, Scope, load, load_text, reread
    from nginxopt.config.includes import File
    from nginxopt.config.places import may_read_more
    from nginxopt.config.templating import has_placeholder
    from nginxopt.config.tree import Block, Bulk, Comment, Directive, Token, directive_at, statements, words_of
    from nginxopt.text import Change, Edit, Source, Span, decode, encode

__all__ = [
    "Block",
    "Bulk",
    "Change",
    "Comment",
    "Config",
    "Context",
    "Directive",
    "Edit",
    "File",
    "Scope",
    "Source",
    "Span",
    "Token",
    "decode",
    "directive_at",
    "encode",
    "has_placeholder",
    "layout",
    "load",
    "load_text",
    "may_read_more",
    "reread",
    "statements",
    "words_of",
]

__getattr__ = attributes(
    __name__,
    {
        "configuration": ("Config", "Context", "Scope", "load", "load_text", "reread"),
        "includes": ("File",),
        "places": ("may_read_more",),
        "templating": ("has_placeholder",),
        "tree": ("Block", "Bulk", "Comment", "Directive", "Token", "directive_at", "statements", "words_of"),
        "nginxopt.text": ("Change", "Edit", "Source", "Span", "decode", "encode"),
    },
)
