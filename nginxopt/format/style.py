"""The settings of the formatter."""

from __future__ import annotations

from nginxopt.records import record

WIDTHS = range(1, 17)
"""The widths of an indentation step, in spaces."""


@record(eq=True)
class IndentStyle:
    """How a block is indented: by `width` spaces, or by one tab. Raises `ValueError` for a width not in `WIDTHS`."""

    width: int = 4
    tabs: bool = False

    def __post_init__(self) -> None:
        if self.width not in WIDTHS:
            raise ValueError(f"not a width of indentation: {self.width}")

    @property
    def unit(self) -> bytes:
        """The white space of one indentation step."""
        return b"\t" if self.tabs else b" " * self.width
