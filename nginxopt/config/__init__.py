"""A configuration as nginx reads it.

Paths, text or the output of `nginx -T` go in; a `Config` comes out: the main file, the files it includes, and each
directive with its words, their bytes and the contexts it stands in. `layout` makes edits that look like the author's.
"""

from typing import TYPE_CHECKING

from nginxopt.lazy import attributes

if TYPE_CHECKING:
    from nginxopt.config.configuration import Config, File, Place, directive_at, load, load_text, reread
    from nginxopt.config.context import Context
    from nginxopt.config.tokens import Comment, Token, statements
    from nginxopt.config.tree import Block, Bulk, Directive

__all__ = [
    "Block",
    "Bulk",
    "Comment",
    "Config",
    "Context",
    "Directive",
    "File",
    "Place",
    "Token",
    "directive_at",
    "load",
    "load_text",
    "reread",
    "statements",
]

__getattr__ = attributes(
    __name__,
    {
        "configuration": ("Config", "File", "Place", "directive_at", "load", "load_text", "reread"),
        "context": ("Context",),
        "tokens": ("Comment", "Token", "statements"),
        "tree": ("Block", "Bulk", "Directive"),
    },
)
