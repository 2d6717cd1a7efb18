"""The law of templates, tried on the examples of all rules:

    python -m tests.template_law [NUMBER [OF]]

What is found in a template is found in every file that it may become. An example becomes a template by a tag in the
place of a word, or around a directive; the files that it may become have other words of the same place there, or have
the directive, or not, or twice. With arguments, every OF-th case from NUMBER on is tried.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from nginxopt.config import Config, Directive, load_text, reread
from nginxopt.config.filesystem import DISK
from nginxopt.config.templates import Reread, Templates
from nginxopt.errors import InputError
from nginxopt.facts.table import PLACES, declarations
from nginxopt.lint import Diagnostic
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.check import Judge
from nginxopt.lint.conformance import HOST
from nginxopt.lint.examples import examples, wrapped
from nginxopt.lint.fix import fix
from nginxopt.lint.run import Selected
from nginxopt.settings.file import Settings
from nginxopt.version import Version
from tests.lintcheck import TARGET

NAME = "nginx.conf"

_MOST_VALUES = 40
_MOST_OTHERS = 3
_LONG = 4
"""The length from which on words are taken apart."""
_PAIRS = ((b"gzip off;", b"gzip_types text/css;"), (b"proxy_http_version 1.1;", b'proxy_set_header Connection "";'))
"""Directives that a line may stand for, too."""
_REFUSED = "pattern-refused"
"""The rule that says that nginx refuses a value."""

Found = tuple[str, int, str]
"""A rule, the line of a finding, and its message without line numbers."""


@dataclass(frozen=True)
class Case:
    """A template, and the files that it may become, each with the lines that it does not have."""

    title: str
    template: bytes
    files: tuple[bytes, ...]
    target: Version
    rule: str


def cases() -> Iterator[Case]:
    """Yield the templates that are made of the examples."""
    for rule in catalogue().values():
        for number, example in enumerate(examples(rule.page)):
            text = wrapped(example.text, example.context)
            title = f"{rule.id} {example.kind} {number}"
            target = example.target or TARGET
            for kind, template, files in [
                *_with_words(text),
                *_with_parts(text),
                *_with_lines(text),
                *_with_blocks(text),
            ]:
                yield Case(f"{title} {kind}", template, files, target, rule.id)


def _with_words(text: bytes) -> Iterator[tuple[str, bytes, tuple[bytes, ...]]]:
    """Yield an example with a tag in the place of each word."""
    for directive in _directives(text):
        for index, word in enumerate(directive.args):
            if "_by_lua" in directive.name:
                continue
            values = _words()[str(directive.name), index, len(directive.args)][:_MOST_VALUES]
            yield (
                f"{directive.line}: {directive.name} {index}",
                _put(text, word.start, word.end, b"{{ x }}"),
                tuple(_put(text, word.start, word.end, value) for value in values),
            )


def _with_parts(text: bytes) -> Iterator[tuple[str, bytes, tuple[bytes, ...]]]:
    """Yield an example with a tag in the place of the end of each word, and of its beginning."""
    for directive in _directives(text):
        for index, word in enumerate(directive.args):
            written = text[word.start : word.end]
            if "_by_lua" in directive.name or len(written) < _LONG or word.quoted:
                continue
            middle = (word.start + word.end) // 2
            words = [
                other for other in _words()[str(directive.name), index, len(directive.args)] if other[:1] not in b"\"'"
            ]
            for start, end in ((middle, word.end), (word.start, middle)):
                before, after = text[word.start : start], text[end : word.end]
                parts = [
                    other[len(before) : len(other) - len(after)]
                    for other in words
                    if other.startswith(before) and other.endswith(after) and len(other) >= len(written) - (end - start)
                ]
                yield (
                    f"{directive.line}: {directive.name} part of {index}",
                    _put(text, start, end, b"{{ x }}"),
                    tuple(_put(text, start, end, part) for part in [*parts, b"x", b"1"]),
                )


def _with_lines(text: bytes) -> Iterator[tuple[str, bytes, tuple[bytes, ...]]]:
    """Yield an example with a line of a tag in the place of each directive."""
    for directive in _directives(text):
        start, end = directive.span.start, directive.span.end
        gap = b"\n" * text[start:end].count(b"\n")
        others = [other for other in _like(str(directive.name)) if b"\n" not in other][:_MOST_OTHERS]
        pairs = [b" ".join(pair) for pair in _PAIRS] if _is_inherited(str(directive.name)) else []
        files = [gap + b"\n", *(gap + b"\n" + other for other in (*others, *pairs))]
        yield (
            f"{directive.line}: {directive.name} line",
            _put(text, start, end, gap + b"\n{{ x }}\n"),
            tuple(_put(text, start, end, file + b"\n") for file in files),
        )


def _with_blocks(text: bytes) -> Iterator[tuple[str, bytes, tuple[bytes, ...]]]:
    """Yield an example with each directive, on lines of its own, in a condition, beside another one, and in a loop."""
    for directive in _directives(text):
        start, end = directive.span.start, directive.span.end
        own = text[start:end]
        gap = b"\n" * own.count(b"\n")
        place = f"{directive.line}: {directive.name}"

        def put(new: bytes, start: int = start, end: int = end) -> bytes:
            return _put(text, start, end, b"\n" + new + b"\n")

        yield f"{place} if", put(b"{% if x %}" + own + b"{% endif %}"), (put(own), put(gap))
        twice = own + own.replace(b"\n", b" ")
        yield f"{place} for", put(b"{% for x in y %}" + own + b"{% endfor %}"), (put(own), put(gap), put(twice))
        for other in _like(str(directive.name))[:_MOST_OTHERS]:
            if b"\n" not in other and own != other:
                yield (
                    f"{place} else",
                    put(b"{% if x %}" + own + b"\n{% else %}" + other + b"{% endif %}"),
                    (put(own + b"\n"), put(gap + b"\n" + other)),
                )


def _is_inherited(name: str) -> bool:
    """Whether a directive stands in blocks of http, servers and locations."""
    inherited = PLACES["http"] | PLACES["http/server"] | PLACES["http/location"]
    return any(declaration.places & inherited == inherited for declaration in declarations(name))


@cache
def _texts() -> tuple[bytes, ...]:
    return tuple(
        wrapped(example.text, example.context) for rule in catalogue().values() for example in examples(rule.page)
    )


@cache
def _words() -> dict[tuple[str, int, int], tuple[bytes, ...]]:
    """The words of each place in all examples, by directive, number of the argument, and number of arguments."""
    words: defaultdict[tuple[str, int, int], dict[bytes, None]] = defaultdict(dict)
    for text in _texts():
        for directive in _directives(text):
            for index, word in enumerate(directive.args):
                words[str(directive.name), index, len(directive.args)][text[word.start : word.end]] = None
    return {place: tuple(values) for place, values in words.items()}


@cache
def _like(name: str) -> tuple[bytes, ...]:
    """The directives of a name in all examples."""
    found = (
        text[directive.span.start : directive.span.end]
        for text in _texts()
        for directive in _directives(text)
        if directive.name == name
    )
    return tuple(dict.fromkeys(found))


@cache
def _directives(text: bytes) -> tuple[Directive, ...]:
    try:
        return tuple(load_text(text, NAME, includes=False).main.block.walk())
    except InputError:
        return ()


def _put(text: bytes, start: int, end: int, new: bytes) -> bytes:
    return text[:start] + new + text[end:]


def read_template(data: bytes) -> Config:
    """A text as a template, whose includes are left out if they are not there."""
    return Templates(lambda files, text: load_text(text, NAME, missing_ok=True, files=files), DISK, NAME, data).config()


def judged(config: Config, target: Version, rules: Iterable[str]) -> tuple[Diagnostic, ...]:
    """What rules find in a configuration."""
    selected = tuple(Selected(catalogue()[rule], None) for rule in rules)
    return Judge(selected, target, Settings(), HOST)(config).diagnostics


def found(diagnostics: Iterable[Diagnostic]) -> set[Found]:
    """What two files have in common that have the same finding."""
    return {
        (found.rule, found.start.line, re.sub(r"\b(lines? )\d[\d, ]*(and \d+)?", r"\1", found.message))
        for found in diagnostics
    }


def broken(case: Case, rules: Iterable[str]) -> Iterator[str]:
    """Yield the findings in a template that a file does not have which it may become."""
    rules = list(rules)
    try:
        config = read_template(case.template)
    except InputError:
        return
    if config.templates is None or not config.templates.files:
        yield f"{case.title}: no template"
        return
    in_template = found(judged(config, case.target, rules))
    for data in case.files:
        if not in_template:
            return
        try:
            in_file = found(judged(load_text(data, NAME, missing_ok=True), case.target, [*rules, _REFUSED]))
        except InputError:
            continue
        if any(rule == _REFUSED for rule, _, _ in in_file - in_template):
            continue
        for rule, line, message in sorted(in_template - in_file):
            if data.split(b"\n")[line - 1].strip():  # else its place is not there
                yield f"{case.title}: {rule} {line} {message}\n{case.template.decode()}\n---\n{data.decode()}\n"
                in_template.discard((rule, line, message))


def wrongly_fixed(case: Case, rule: str) -> Iterator[str]:
    """Yield what the fixes of a rule do to a template that they should not: to its tags, or to a reading.

    A reading changes only if the rule offers a fix for it, and has no finding afterwards that it did not have.
    """
    try:
        config = read_template(case.template)
    except InputError:
        return
    judge = Judge((Selected(catalogue()[rule], None),), case.target, Settings(), HOST)
    drafts = fix(lambda texts: reread(config, texts) if texts else config, judge, unsafe=True).drafts
    if not drafts:
        return
    fixed = drafts[NAME].text
    if _tags(fixed) != _tags(case.template):
        yield f"{case.title}: other tags\n{fixed.decode()}"
    again = read_template(fixed)
    assert config.templates is not None
    assert again.templates is not None
    for before in config.templates.readings:
        if before.reading.is_veiled or before.reading.lines:
            continue
        after = again.templates.read(before.reading)
        old, new = (_texts_of(reading)[NAME].split() for reading in (before, after))
        offered = [found for found in judge(before.config).diagnostics if found.fix]
        messages = {found.message for found in judge(before.config).diagnostics}
        added = [found.message for found in judge(after.config).diagnostics if found.message not in messages]
        if old != new and (not offered or added):
            yield f"{case.title}: {added}\n{b' '.join(old).decode()}\n{b' '.join(new).decode()}"


def _tags(data: bytes) -> list[bytes]:
    return re.findall(rb"\{[{%].*?[%}]\}", data)


def _texts_of(reread: Reread) -> dict[str, bytes]:
    return {path: file.data for path, file in reread.files.items()}


def main(arguments: list[str]) -> None:
    """Try the law on the examples."""
    number, of = (*map(int, arguments), 0, 1)[:2] if len(arguments) == 2 else (0, *map(int, arguments), 1)[:2]
    tried = faults = 0
    for case in list(cases())[number::of]:
        tried += 1
        for fault in (*broken(case, [case.rule]), *wrongly_fixed(case, case.rule)):
            print(fault)
            faults += 1
    print(f"{tried} templates, {faults} faults")


if __name__ == "__main__":
    main(sys.argv[1:])
