"""The native core, as Python sees it. Logic and reasons stand in the crate under `rust/`."""

from collections.abc import Iterator
from typing import Self, TypeAlias

# The value nginx works with (UTF-8 with surrogateescape), the byte span as written, the line from 1, whether
# it is quoted.
Word: TypeAlias = tuple[str, int, int, int, bool]

# kind, start, end, line from 1, count, words. The kinds: ";" a statement, "{" the head of a block, "}" its
# end, "#" a comment (one word, the `#` included), "*" a folded run of `count` rewrites (no words). A comment
# between the words of a statement comes before that statement.
Event: TypeAlias = tuple[str, int, int, int, int, list[Word]]

class LexError(Exception):
    """A file cannot be read.

    `args` are the kind (`LexErrorKind::name` of the crate), nginx's message, the offset, the line nginx
    names, and the offset of what is unfinished (a statement, a quoted word, a block) or None.
    """

    args: tuple[str, str, int, int, int | None]

class Events:
    """An iterator over the events of `bytes`, in batches; `LexError` where nginx would refuse to read on.

    Runs of at least `fold` rewrites are folded (0: none). `start`, `end` and `line` choose a part of the file
    that begins and ends between two statements of one block.
    """

    def __new__(
        cls, bytes: bytes, *, fold: int = 0, start: int = 0, end: int | None = None, line: int = 1
    ) -> Self: ...
    def __iter__(self) -> Iterator[list[Event]]: ...
    def __next__(self) -> list[Event]: ...
