"""A report in Markdown, for a comment on a pull request: what to act on first, by rule, and the rest folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import quote

from nginxopt import lazy
from nginxopt.lint.diagnostic import Diagnostic
from nginxopt.lint.report.model import NOUNS, LintReport, Locatable, Note, advice, details, ends, headline, relative
from nginxopt.settings.vocabulary import Severity
from nginxopt.text.display import count, printable

MOST_PLACES = 5
"""How many places of the findings of a rule with the same message are listed; the others are counted."""

_GRAVITY = {severity: number for number, severity in enumerate(NOUNS)}
_SPECIAL = lazy.pattern(r"[\\`*\[\]<>|~&#!$]|(?<![^\W_])_|_(?![^\W_])")
_MENTION = lazy.pattern(r"@(?=\w)")


def render(report: LintReport) -> Iterator[str]:
    """Yield the headline, the findings by severity and rule, and the files that could not be read."""
    yield f"### nginxopt: {headline(report)}\n"
    shown = [found for found in report.diagnostics if found.severity is not Severity.INFO]
    folded = [found for found in report.diagnostics if found.severity is Severity.INFO]
    for error in report.errors:
        yield f"\n- **error** {_place(error, error.path or '', report)} {_text(error.message)}\n"
        yield from (f"  - {_text(line)}\n" for line in details(error))
    yield from _by_rule(shown, report)
    if folded:
        yield f"\n<details><summary>{count(len(folded), 'finding')} of severity info</summary>\n"
        yield from _by_rule(folded, report)
        yield "\n</details>\n"
    for note in report.notes:
        yield f"\n{_note(note, report)}\n"
    guess = "a guess: " if report.target.is_guess else ""
    yield f"\nFor nginx {report.target.version} ({guess}{report.target.origin}).\n"


def _by_rule(diagnostics: Sequence[Diagnostic], report: LintReport) -> Iterator[str]:
    """Yield an item for each group of findings that say the same, the gravest first."""
    groups: dict[tuple[int, str, str], list[Diagnostic]] = {}
    for diagnostic in sorted(diagnostics, key=_gravity):
        groups.setdefault((_gravity(diagnostic), diagnostic.rule, diagnostic.message), []).append(diagnostic)
    for (*_, message), found in groups.items():
        every = [place for diagnostic in found for place in (diagnostic, *diagnostic.places)]
        places = [_place(place.finding, place.path, report) for place in every]
        more = f" and {len(places) - MOST_PLACES} more" if len(places) > MOST_PLACES else ""
        yield f"\n- **{found[0].severity}** {_rule(found[0])}: {_text(message)}\n"
        yield f"  - at {', '.join(places[:MOST_PLACES])}{more}\n"
        yield from (f"  - {_text(line)}\n" for line in advice(replace(found[0], places=())))


def _rule(diagnostic: Diagnostic) -> str:
    return diagnostic.rule if diagnostic.url is None else f"[{diagnostic.rule}]({diagnostic.url})"


def _gravity(diagnostic: Diagnostic) -> int:
    return _GRAVITY[diagnostic.severity]


def _note(note: Note, report: LintReport) -> str:
    place = f"{_place(note, note.source.path, report)} " if note.source is not None else ""
    return f"{place}{_text(note.message)}."


def _place(placed: Locatable, path: str, report: LintReport) -> str:
    """Return `file:line` as code, with a link if there is something to link to."""
    positions = ends(placed)
    line = "" if positions is None else f":{positions[0].line}"
    file = relative(path, report.base)
    text = f"`` {printable(file).replace('`', chr(39))}{line} ``"
    if report.link is None or file.startswith(("/", "../")):
        return text
    address = quote(f"{report.link.rstrip('/')}/{file}".encode("utf-8", "surrogateescape"), safe="/:")
    return f"[{text}]({address}{line.replace(':', '#L')})"


def _text(text: str) -> str:
    """Return a text on one line in which only code is markup, and in which `@name` mentions nobody."""
    pieces = printable(text).split("`")
    if not len(pieces) % 2 or any(not piece or piece != piece.strip() for piece in pieces[1::2]):
        return _plain(printable(text))
    return "".join(f"`{piece}`" if at % 2 else _plain(piece) for at, piece in enumerate(pieces))


def _plain(text: str) -> str:
    return _MENTION.sub("@\N{WORD JOINER}", _SPECIAL.sub(r"\\\g<0>", text))
