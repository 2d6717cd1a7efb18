"""Formats a configuration: indentation, line breaks and blank lines, and nothing else.

Input is a text and a `IndentStyle`; output is the formatted text. Words, quoted text, Lua and comments do not change; `proof`
verifies this by parsing the result again.
"""

from typing import TYPE_CHECKING

from nginxopt.lazy import attributes

if TYPE_CHECKING:
    from nginxopt.format.formatting import edits, formatted
    from nginxopt.format.style import IndentStyle

__all__ = ["IndentStyle", "edits", "formatted"]

__getattr__ = attributes(__name__, {"formatting": ("edits", "formatted"), "style": ("IndentStyle",)})
