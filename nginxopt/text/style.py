"""Terminal styles."""

from __future__ import annotations

from typing import Any


class Style:
    """A function that styles text for a terminal, or returns it unchanged if styles are off."""

    def __init__(self, color: bool) -> None:
        self._color = color

    def __call__(self, text: str, **style: Any) -> str:
        """Return `text` in a style; the arguments are those of `click.style`."""
        if not self._color:
            return text
        import click

        return click.style(text, **style)
