"""How text is shown: escaped for terminals, encoders and XML, as files contain any byte; shortened, counted, styled.

No message shows a word that occurs only in files that the user did not name. Most messages have none, because an error
or a finding in such a file shows only its place. `hide` is for the others: a message about one file may name a value
from another one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import click

from nginxopt import lazy

# Not compiled here: classes of such ranges take longer than all other start-up, and plain text needs neither.
_SURROGATE = r"[\ud800-\udfff]"
_NUMBER = lazy.pattern(r"[-+]?[0-9.]+(?:e[-+]?[0-9]+)?")
_NOT_XML = r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/-._~"


def printable(text: str) -> str:
    r"""Return `text` for a terminal: what does not print, line ends included, is escaped as `\n`, `\x1b`, `\u202e`."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def line(text: str) -> str:
    """Return `text` as `printable` does, with tabs, as a line that a runner does not take for a command."""
    return inert(text if text.isprintable() else "\t".join(map(printable, text.split("\t"))))


def inert(text: str) -> str:
    """Return a line that a runner of GitHub Actions does not take for a command, whatever program prints it.

    A runner takes a line for a command that begins with `::`, or has `##[` anywhere (actions/runner,
    src/Runner.Common/ActionCommand.cs).
    """
    if text.lstrip().startswith("::"):
        text = text.replace("::", "\\x3a:", 1)
    return text.replace("##[", "#\\x23[")


def inert_lines(text: str) -> str:
    """Return a text of which a runner takes no line for a command, as `inert` does for one line."""
    if "::" not in text and "##[" not in text:
        return text
    return "".join(map(inert, text.splitlines(keepends=True)))


JSON = ("json", "sarif", "gitlab")
MARKUP = ("html", "junit", "checkstyle")
_BEGINS = lazy.pattern(r"(?m)^(\s*)::")


def inert_document(text: str, format_: str) -> str:
    """Return a report with escapes, so that a runner takes no line of it for a command; readers of the format see the
    same text.

    The commands of the format `github` stay.
    """
    if format_ in JSON:  # `##[` occurs only in strings there
        return text.replace("##[", "##\\u005b")
    if format_ in MARKUP:
        return _BEGINS.sub(r"\1&#58;:", text.replace("##[", "##&#91;"))
    return text.replace("##[", "#\\x23[") if format_ == "github" else inert_lines(text)


def cell(text: str) -> str:
    """Return a text for a cell of CSV: as `printable` does, and so that a spreadsheet does not take it for a formula.

    A spreadsheet computes what begins with `=`, `+`, `-` or `@`, perhaps after blanks (OWASP, CSV Injection). An
    apostrophe in front makes it a text; numbers stay.
    """
    shown = printable(text)
    is_formula = shown.lstrip().startswith(("=", "+", "-", "@", "\\t", "\\r")) or text[:1] in ("\t", "\r")
    return f"'{shown}" if is_formula and not _NUMBER.fullmatch(shown) else shown


def terminal(text: str, *, colors: bool = True) -> str:
    """Return `text` as `printable` does, with line ends and tabs, and with `colors` those that `Style` writes."""
    parts = re.split(r"(\x1b\[[0-9;]*m|[\n\t])" if colors else r"([\n\t])", text)
    return "".join(part if number % 2 else printable(part) for number, part in enumerate(parts))


def unicode(text: str) -> str:
    r"""Return `text` with bytes that are not UTF-8 as `\xff`, so that it can be encoded."""
    return re.sub(_SURROGATE, lambda match: _escape(match[0]), text)


def xml(text: str) -> str:
    """Return `text` for XML 1.0 and HTML: as `unicode` does, and characters that XML does not have as U+FFFD."""
    return re.sub(_NOT_XML, "\ufffd", unicode(text))


def _escape(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("unicode_escape").decode()


_SHORTEST = 12
"""The length to which words are cut before the sentence itself is cut."""


_OF_SENTENCE = lazy.pattern(r"[A-Za-z-]{1,18}[,:;]?|\s+")
"""The words of the sentence itself, such as `double-encoded`, which stay whole."""


def fit(sentence: str, width: int) -> str:
    """Return a sentence of at most `width` characters: its longest words (URIs, names) are cut in the middle.

    Words that would look alike keep the part in which they differ.
    If all words are cut to the minimum and the sentence is still too long, the sentence itself is cut.
    """
    if len(sentence) <= width:
        return sentence
    words = re.split(r"(\s+)", sentence)
    names = {word for word in words if not _OF_SENTENCE.fullmatch(word)}
    for longest in range(width, _SHORTEST - 1, -1):
        short = _apart(names, longest)
        cut = "".join(short.get(word, word) for word in words)
        if len(cut) <= width:
            return cut
    return shorten(sentence, width)


def _apart(words: Collection[str], width: int, start: int = 0) -> dict[str, str]:
    """Shorten words that begin alike up to `start` to at most `width` characters, so that no two become equal."""
    head = width // 3 if start > width // 3 else start
    short = {word: _from(word, start, head, width) for word in words}
    alike: dict[str, list[str]] = {}
    for word, cut in short.items():
        alike.setdefault(cut, []).append(word)
    for those in alike.values():
        if len(those) > 1:
            short |= _apart(those, width, _same(those))
    return short


def _same(words: Collection[str]) -> int:
    """Return how many characters are the same at the start of all words."""
    columns = enumerate(zip(*words, strict=False))
    return next((at for at, letters in columns if len(set(letters)) > 1), min(map(len, words)))


def _from(word: str, start: int, head: int, width: int) -> str:
    """Shorten a word: its first `head` characters, `…`, and what follows from `start` on."""
    if len(word) <= width or head == start:
        return shorten(word, width)
    return f"{word[:head]}…{shorten(word[start:], width - head - 1)}"


def shorten(text: str, width: int) -> str:
    """Return a text of at most `width` characters (at least 1), with `…` in place of its middle if it is longer."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def percent_encode(uri: bytes) -> bytes:
    """Return a request target that nginx decodes to `uri`, with everything but unreserved bytes encoded."""
    if not uri.translate(None, _UNRESERVED):
        return uri
    return b"".join(map(_ENCODED.__getitem__, uri))


def spellings(encoded: Iterable[int]) -> tuple[bytes, ...]:
    """Return how a request target spells each byte: percent-encoded if it is one of `encoded`, otherwise unchanged."""
    chosen = frozenset(encoded)
    return tuple(b"%%%02X" % byte if byte in chosen else bytes([byte]) for byte in range(256))


_ENCODED = spellings(set(range(256)) - set(_UNRESERVED))


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return `1 file`, `2,000 files`; the default plural adds an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def be(number: int) -> str:
    """Return `is` for 1 and `are` for any other number."""
    return "is" if number == 1 else "are"


class Style:
    """A function that styles text for a terminal, or returns it unchanged if styles are off."""

    def __init__(self, color: bool) -> None:
        self._color = color

    def __call__(self, text: str, **style: Any) -> str:
        """Return `text` in a style; the arguments are those of `click.style`."""
        if not self._color:
            return text

        return click.style(text, **style)


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """Return `did you mean "..."?` with the known name that is closest to `name`; None if none is close."""
    from difflib import get_close_matches  # of which most runs need none

    close = get_close_matches(name, sorted(known), n=1)
    return f'did you mean "{close[0]}"?' if close else None


# Words that no message shows.

_SHORTEST_WITHHELD = 5
"""Shorter words are shown: they occur everywhere, and reveal little."""

_LONGEST_SHOWN = 1_000
"""Longer words are withheld without a search."""

_PIECE = lazy.pattern(r"[A-Za-z0-9_]+")
_CUT = ("…", "...")

Words = Callable[[], frozenset[str]]

_sources: dict[str, tuple[bool, Words]] = {}
"""For each path whether its words are withheld, and its words."""
_found: _Withheld | None = None


class _Withheld(NamedTuple):
    """The words that are withheld, and those that may be shown.

    A word that contains a withheld one, in any case of letters, is not shown either: a configuration can put a letter
    before it, and nginx writes names in lower case. Numbers do not count there, as many words contain them.
    """

    words: frozenset[str]
    shown: frozenset[str]
    inside: frozenset[str]
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, secret: Iterable[str], known: Iterable[str]) -> _Withheld:
        shown = frozenset(known)
        withheld = words_only_in(secret, shown)
        inside = {word.lower() for word in withheld if not word.isdigit()}.difference(word.lower() for word in shown)
        return cls(withheld, shown, frozenset(inside), tuple({len(word) for word in inside}))

    def is_inside(self, word: str) -> bool:
        """Return whether a withheld word is inside of another one."""
        if word in self.shown:
            return False
        if len(word) > _LONGEST_SHOWN:
            return bool(self.inside)
        lower = word.lower()
        return any(
            lower[start : start + length] in self.inside
            for length in self.lengths
            for start in range(len(lower) - length + 1)
        )


def words(text: str) -> frozenset[str]:
    """Return the words of a text as `hide` finds them."""
    return frozenset(_PIECE.findall(text))


def remember_words(path: str, find: Words, *, withheld: bool) -> None:
    """Remember the words of a file, which `find` returns: to withhold them, or as words that may be shown."""
    global _found
    _sources[path] = withheld, find
    _found = None


def forget_words() -> None:
    """Forget all files, before another command."""
    global _found
    _sources.clear()
    _found = None


def hide(text: str, withheld: frozenset[str] | None = None) -> str:
    """Return a text with `...` in place of each withheld word, even if the text has only its beginning, cut off.

    By default, the words of all remembered files that are outside are withheld.
    """
    found = _withheld() if withheld is None else _Withheld(withheld, frozenset(), frozenset(), ())
    if not found.words:
        return text
    return _PIECE.sub(lambda word: "..." if _is_hidden(word, found) else word[0], text)


def hide_in_json(text: str, indent: int | None = 2) -> str:
    """Return a JSON text, indented, in which `hide` was applied to all values that are text; None is on one line."""
    if not _withheld().words:
        return text
    import json  # 3 ms, which most commands do not need

    separators = (",", ":") if indent is None else None
    hidden = _hidden_in(json.loads(text))
    made = json.dumps(hidden, indent=indent, separators=separators, ensure_ascii="\\u" in text)
    return made if indent is None else f"{made}\n"


def _hidden_in(value: Any) -> Any:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, list):
        return [_hidden_in(item) for item in value]
    return {key: _hidden_in(item) for key, item in value.items()} if isinstance(value, dict) else value


def _is_hidden(word: re.Match[str], withheld: _Withheld) -> bool:
    if word[0] in withheld.words or withheld.is_inside(word[0]):
        return True
    is_cut = len(word[0]) >= _SHORTEST_WITHHELD and word.string.startswith(_CUT, word.end())
    return is_cut and any(whole.startswith(word[0]) for whole in withheld.words)


def words_only_in(secret: Iterable[str], known: Iterable[str]) -> frozenset[str]:
    """Return the words that are in `secret`, not in `known`, and long enough to be withheld."""
    return frozenset(word for word in set(secret).difference(known) if len(word) >= _SHORTEST_WITHHELD)


def _withheld() -> _Withheld:
    global _found
    if _found is None:
        secret: set[str] = set()
        known: set[str] = set()
        for path, (withheld, find) in _sources.items():
            known |= words(path)
            (secret if withheld else known).update(find())
        _found = _Withheld.of(secret, known | _vocabulary() if secret else ())
    return _found


@cache
def _vocabulary() -> frozenset[str]:
    """Return the words of nginxopt itself, which tell nothing: names of directives, and what messages and
    pages are made of."""
    package = Path(__file__).parents[1]
    rules = package.parent / "rules"  # beside it in a checkout
    own = [path for path in package.rglob("*") if path.suffix in (".py", ".tsv", ".j2")]
    files = [*own, *rules.glob("*.py")]
    return frozenset().union(*(words(path.read_text("utf-8", "replace")) for path in files))
