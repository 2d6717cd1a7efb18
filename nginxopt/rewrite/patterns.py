"""Checks the patterns of conditions and locations."""

from __future__ import annotations

from nginxopt.config import Directive
from nginxopt.config.tokens import Token
from nginxopt.errors import InputError
from nginxopt.semantics.refusals.patterns import pattern_error

__all__ = ["check_compiles", "pattern_error"]


def check_compiles(pattern: bytes, directive: Directive, word: Token) -> None:
    """Raise `InputError` for a pattern that PCRE does not compile; `word` is its place in the file of `directive`."""
    message = pattern_error(pattern)
    if message is not None:
        raise InputError(f"PCRE2 does not compile the pattern: {message}", source=directive.source, span=word.span)
