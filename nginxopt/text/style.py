"""Terminal styles."""

from __future__ import annotations

from typing import Any


class Style:
    """Styles text, or returns it unchanged."""

    def __init__(self, color: bool) -> None:
        self._color = color

    def __call__(self, text: str, **style: Any) -> str:
        """Return `text` with a style, as `click.style` takes it."""
        if not self._color:
            return text
        import click

        return click.style(text, **style)
