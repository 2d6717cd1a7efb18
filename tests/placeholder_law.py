"""The law of placeholders, tried on the files of a folder:

    python -m tests.placeholder_law DIR [NUMBER [SEED]]

A placeholder in the place of an argument is no value. No error is found that the file does not have with the argument,
and no fix changes the placeholder, or writes it elsewhere. In each file, NUMBER arguments (3 without it) are replaced
by one form of placeholder each; with `all` in place of NUMBER, all of them by all forms.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nginxopt.config import Config, Directive, load_text
from nginxopt.config.filesystem import DISK, Files
from nginxopt.config.templates import Templates
from nginxopt.config.templating import refuse_tags
from nginxopt.errors import InputError
from nginxopt.lint import Diagnostic, Severity
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.check import Judge
from nginxopt.lint.run import Selected
from nginxopt.settings.file import Settings
from tests.lintcheck import TARGET

FORMS = (
    b"${X:-off}",
    b"${X-off}",
    b"${a.b}",
    b"@X@",
    b"{{ x }}",
    b"<%= x %>",
    b"%%X%%",
    b"__X__",
    b"__x__",
    b"${X}",
    b"%host",
)
NAME = "nginx.conf"
Argument = tuple[Directive, int, int]
"""An argument: its directive, and the span of the word with its quotes."""
JUDGE = Judge(tuple(Selected(rule, None) for rule in catalogue().values() if not rule.host), TARGET, Settings())


def read(data: bytes) -> Config:
    """A text as `lint` reads it: as a template if it has tags."""

    def load(files: Files, text: bytes) -> Config:
        return load_text(text, NAME, missing_ok=True, files=files)

    try:
        config = load(DISK, data)
        for file in config.files:
            refuse_tags(file.block, names=True)
    except InputError:
        return Templates(
            lambda files, text: load_text(text, NAME, missing_ok=True, files=files), DISK, NAME, data
        ).config()
    return config


def errors(found: tuple[Diagnostic, ...]) -> Counter[str]:
    """The rules of errors, with their numbers."""
    return Counter(diagnostic.rule for diagnostic in found if diagnostic.severity is Severity.ERROR)


def arguments(data: bytes) -> list[Argument]:
    """The arguments of the directives that nginx interprets."""
    block = load_text(data, NAME, includes=False).main.block
    return [
        (directive, word.start, word.end)
        for directive in block.walk()
        if "_by_lua" not in directive.name
        for word in directive.args
    ]


def replaced(data: bytes, start: int, end: int, form: bytes) -> bytes:
    """A text with a placeholder in the place of a word, in the quotes of the word if there are some."""
    quotes = data[start : start + 1] if data[start : start + 1] in (b"'", b'"') else b""
    return data[:start] + quotes + form + quotes + data[end:]


def broken(before: Counter[str], data: bytes, form: bytes) -> Iterator[str]:
    """Yield what is wrong with the findings in a text with a placeholder; `before` are the errors without it.

    In quoted text that nginx passes on, such as that of `add_header`, it is text, which a fix may repeat.
    """
    config = read(data)
    found = JUDGE(config).diagnostics
    for rule, number in (errors(found) - before).items():
        yield f"error: {rule} ({number})"
    at = data.find(form)
    for diagnostic in found:
        for change in diagnostic.fix.changes if diagnostic.fix else ():
            edit = change.edit
            if edit.span.start < at + len(form) and at < edit.span.end and form not in edit.text:
                yield f"fix of {diagnostic.rule} changes it"
            if config.templates and form in edit.text and not edit.span.start <= at < edit.span.end:
                yield f"fix of {diagnostic.rule} writes it elsewhere"


def faults(data: bytes, picked: list[Argument], forms: tuple[bytes, ...]) -> Iterator[tuple[bool, str]]:
    """Yield for each form in each picked argument whether it was read, and what is wrong, if anything."""
    before = errors(JUDGE(read(data)).diagnostics)
    for directive, start, end in picked:
        for form in forms:
            title = f"{form.decode()} at {directive.line}: {data[directive.name.start : end].decode(errors='replace')}"
            try:
                wrong = list(broken(before, replaced(data, start, end, form), form))
            except InputError:
                yield False, ""
                continue
            yield True, f"{title}: {', '.join(wrong)}" if wrong else ""


def main(words: list[str]) -> None:
    """Try the law on the files of a folder."""
    folder, number, seed = [*words, "3", "0"][:3] if len(words) < 3 else words
    rng = random.Random(int(seed))
    tried = refused = wrong = 0
    for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
        data = path.read_bytes()
        try:
            words_of = arguments(data)
            if any(form in data for form in FORMS) or not words_of or len(data) > 100_000:
                continue
            picked = words_of if number == "all" else rng.choices(words_of, k=int(number))
            for is_read, fault in faults(data, picked, FORMS if number == "all" else (rng.choice(FORMS),)):
                tried += 1
                refused += not is_read
                if fault:
                    wrong += 1
                    print(f"{path}: {fault}", flush=True)
        except InputError:
            continue
    print(f"{tried} placeholders, {refused} refused, {wrong} faults")


if __name__ == "__main__":
    main(sys.argv[1:])
