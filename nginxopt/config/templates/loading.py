"""Reads a configuration of which some files are templates, in each of its readings."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import islice

from nginxopt import budget
from nginxopt.config.configuration import Config
from nginxopt.config.filesystem import Files
from nginxopt.config.includes import File
from nginxopt.config.roots import around
from nginxopt.config.templates import lines
from nginxopt.config.templates.placing import Gap, Header, PlacedRendering, placed
from nginxopt.config.templates.readings import TemplateReading, structures
from nginxopt.config.templates.rendering import Rendered
from nginxopt.config.templates.structure import Template, UnreadableTag, ValueTag, read_template
from nginxopt.config.templates.tags import tags
from nginxopt.config.templates.values import MIXED, candidates, value
from nginxopt.config.templating import TemplateError, is_template, is_unread, refusal, unread
from nginxopt.config.tree import collector_paused
from nginxopt.errors import InputError
from nginxopt.facts.table import declarations
from nginxopt.records import record
from nginxopt.text import Source, Span, encode

_EACH = 60
"""What a directive of a reading counts for in the budget `template-work`: it takes as long as reading so many bytes."""

_AGAIN = 10
"""What a directive, or an include, counts for in that budget each time that its file is included again."""

Load = Callable[[Files, bytes], Config]
"""Reads a configuration from some files, the bytes being those of its main file."""


@record(eq=True, slots=False)
class Reread:
    """A configuration in one reading of its templates.

    Attributes:
        files: What each template writes, by path.
    """

    reading: TemplateReading
    config: Config
    files: Mapping[str, Rendered]

    @property
    def values(self) -> frozenset[tuple[str, int]]:
        """The values that it has: their paths and numbers."""
        return frozenset((path, written.value.number) for path, file in self.files.items() for written in file.values)


def _covering(written: list[tuple[TemplateReading, frozenset[tuple[str, int]]]]) -> Iterator[TemplateReading]:
    """Yield readings that together contain every value; the first contains the most."""
    missing = frozenset[tuple[str, int]]().union(*(values for _, values in written))
    while missing:
        reading, values = max(written, key=lambda item: len(missing & item[1]))
        yield reading
        missing -= values


class Templates:
    """The templates of a configuration.

    Attributes:
        paths: The paths of the files that the readings so far have, in the order of reading.
        headers: The directives with values that the readings so far have, as `Header.span`, by path.
    """

    def __init__(self, load: Load, files: Files, name: str, data: bytes) -> None:
        self._load = load
        self._files = files
        self._name = name
        self._data = data
        self._templates: dict[str, Template | None] = {}
        self._candidates = 0
        self._texts = 0  # the most texts that may replace a tag for whole directives
        self._marked: dict[tuple[str, tuple[int, ...], bool], PlacedRendering] = {}
        self._sources: dict[str, Source] = {}
        self.paths: list[str] = []
        self.headers: dict[str, set[Span]] = {}

    @property
    def files(self) -> Mapping[str, Template]:
        """The files that are templates, by path."""
        return {path: template for path, template in self._templates.items() if template is not None}

    def source(self, source: Source) -> Source:
        """Return the source of a file of a reading, which is the same for all readings."""
        template = self._templates.get(source.path)
        return self._sources.setdefault(source.path, source) if template is None else template.source

    @cached_property
    def readings(self) -> tuple[Reread, ...]:
        """The configuration in each reading. Raises `InputError` if one of them is not a configuration."""
        with collector_paused(), budget.counting("matches", "template-work"):
            return self._readings()

    def _readings(self) -> tuple[Reread, ...]:
        rereads = [self.first]
        known: set[str] = set()
        while len(known) < len(self.files):  # an include in a branch may lead to further templates
            known = {*self.files}
            rereads += filter(None, map(self._further, islice(structures(list(self.files.values())), 1, None)))
        rereads += [self.read(reading) for reading in self._with_values(rereads)]
        return tuple(rereads)

    def _with_values(self, rereads: list[Reread]) -> Iterator[TemplateReading]:
        """Yield readings with further schemes of values, until each value has been read with each scheme."""
        schemes = self._candidates + MIXED
        written = [(reread.reading, reread.values) for reread in rereads if not reread.reading.drops_newlines]
        chosen = list(_covering(written))
        for scheme in range(1, schemes):
            yield from (replace(reading, scheme=scheme, schemes=schemes) for reading in chosen)
        yield from (replace(reading, is_veiled=True) for reading in chosen)
        for number in range(self._texts):
            yield from (replace(reading, lines=number + 1) for reading in chosen)

    def _further(self, reading: TemplateReading) -> Reread | None:
        """Return a reading; None if it drops line ends and does not parse: its engine then keeps line ends."""
        try:
            return self.read(reading)
        except budget.ExceededError:
            raise
        except InputError:
            if reading.drops_newlines:
                return None
            raise

    @cached_property
    def first(self) -> Reread:
        """The configuration in its first reading."""
        return self.read(TemplateReading())

    def with_texts(self, files: Files, data: bytes) -> Templates:
        """Return the templates of the same configuration with other texts."""
        return Templates(self._load, files, self._name, data)

    def config(self) -> Config:
        """Return the configuration of the first reading, with the text of each template in place of what it renders to.

        Raises `InputError` if any reading does not parse.
        """
        config = self.readings[0].config
        files = tuple(self._shown(file) for file in config.files)
        missing = tuple(item for item in config.unread if not is_unread(item.path))
        return replace(config, main=files[0], files=files, unread=missing, origin=self._files, templates=self)

    def _shown(self, file: File) -> File:
        return File(self.source(file.source), file.block)

    def read(self, reading: TemplateReading) -> Reread:
        """Return the configuration in a reading.

        Raises `InputError` if it does not parse, or if a tag is not understood.
        """
        files = _Written(self, reading)
        try:
            config = self._load(files, files.written(self._name, self._data))
        except InputError as error:
            template = self._templates.get(error.source.path) if error.source else None
            raise error if template is None else _broken(template, error) from None
        self._count(config)
        self.paths += [file.path for file in config.files if file.path not in self.paths]
        return Reread(reading, replace(config, origin=self._files), files.rendered)

    def _count(self, config: Config) -> None:
        """Count the directives of a reading, which stay in memory. Raises `budget.ExceededError`."""
        work = budget.meter("template-work")
        for file in config.files:
            template = self._templates.get(file.path)
            span = template.blocks[0].span if template and template.blocks else None
            source = template.source if template and span else None
            path = file.path
            count, again = sum(1 for _ in file.block.walk()), config.times(file) - 1
            work.spend(_EACH * count + _AGAIN * again * (count + 1), path=path, source=source, span=span)

    def rendered(self, template: Template, reading: TemplateReading) -> Rendered:
        """Return what a template writes in a reading; add its directives with values to `headers`."""
        marked = self._placed(template, reading)
        headers = self.headers.setdefault(template.source.path, set())
        parts: list[tuple[int, int, bytes, ValueTag | None]] = [
            (place.start, place.end, _lines(place, reading.lines), place.value) for place in marked.gaps
        ]
        self._texts = max(self._texts, *(lines.count(place.passes) for place in marked.gaps), 0)
        number = 0
        for header in marked.headers:
            headers.add(header.span)
            if reading.is_veiled and _is_setting(header):
                parts.append((header.start, header.end, unread(header.name), header.words[0].value))
                continue
            for word in header.words:
                number += 1
                self._candidates = max(self._candidates, len(candidates(word.place)))
                text = value(word.place, reading.scheme, number, reading.schemes)
                parts.append((word.start, word.end, encode(text), word.value))
        return marked.rendered.replaced(sorted(parts, key=lambda part: part[0]))

    def _placed(self, template: Template, reading: TemplateReading) -> PlacedRendering:
        """Return a template with its values in their places, which no scheme of values changes."""
        options = tuple(reading.option(template.source.path, block) for block in template.blocks)
        key = template.source.path, options, reading.drops_newlines
        if key not in self._marked:
            self._marked[key] = _placed(template, reading)
        return self._marked[key]

    def template(self, path: str, data: bytes) -> Template | None:
        """Return a file as a template; None if it is not one. Raises `InputError` for a tag that is not understood."""
        if path not in self._templates:
            source = Source(path, data)
            if not around(self._name).has(path):
                source.withhold()
            self._templates[path] = _understood(source) if is_template(source) else None
        return self._templates[path]


def _understood(source: Source) -> Template:
    try:
        return read_template(source)
    except UnreadableTag as tag:
        raise refusal(source, tag.tag, tag.because) from None


class _Written:
    """The files of a configuration, with what the templates write in a reading."""

    def __init__(self, templates: Templates, reading: TemplateReading) -> None:
        self._templates = templates
        self._reading = reading
        self.rendered: dict[str, Rendered] = {}

    def written(self, path: str, data: bytes) -> bytes:
        template = self._templates.template(path, data)
        if template is None:
            return data
        if path not in self.rendered:
            self.rendered[path] = self._templates.rendered(template, self._reading)
        return self.rendered[path].data

    def read(self, path: str) -> bytes:
        if is_unread(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self.written(path, self._templates._files.read(path))

    def matches(self, prefix: str, name: str) -> list[str]:
        return self._templates._files.matches(prefix, name)

    def reads(self, prefix: str, name: str, path: str) -> bool:
        return self._templates._files.reads(prefix, name, path)

    def identity(self, path: str) -> str:
        return self._templates._files.identity(path)


def _lines(place: Gap, number: int) -> bytes:
    """Return what replaces a tag that stands for directives."""
    return lines.text(place.kind, number - 1, place.present, place.passes) if number else unread()


def _placed(template: Template, reading: TemplateReading) -> PlacedRendering:
    path = template.source.path
    try:
        return placed(template, lambda block: reading.option(path, block), drops_newlines=reading.drops_newlines)
    except UnreadableTag as tag:
        raise refusal(template.source, tag.tag, tag.because) from None
    except InputError as error:
        raise _broken(template, error) from None


_KEPT = {"root", "alias", "server_name"}
"""Directives that are kept even if their value is unknown, because their presence matters more than their value."""


def _is_setting(header: Header) -> bool:
    """Return whether a directive has one value that inner levels inherit."""
    rows = declarations(header.name)
    is_kept = header.has_block or header.name in _KEPT or header.name.endswith("_pass")
    return not is_kept and bool(rows) and all(row.is_once for row in rows)


def _broken(template: Template, error: InputError) -> InputError:
    """Return the error for a reading that does not parse, at the last tag of the template before the fault.

    An error that needs no such place, such as that of a budget, is returned as it is.
    """
    if isinstance(error, TemplateError | budget.ExceededError):
        return error
    line = error.source.position(error.span.start).line if error.source and error.span else 1
    spans = [value.span for value in template.values] + [block.span for block in template.blocks]
    starts = sorted(span.start for span in spans)
    starts = starts or [tag.start for tag in tags(template.source.data)]
    if not starts:
        return error
    before = [start for start in starts if template.source.position(start).line <= line]
    start = before[-1] if before else starts[0]
    message = f"with its tags filled in, this template is no configuration: {error.message}"
    return refusal(template.source, Span(start, start + 2), message)
