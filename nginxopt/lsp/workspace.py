"""The open files, and the configurations that include them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from urllib.parse import unquote, urlsplit

from nginxopt.config import Config, File, load
from nginxopt.config.filesystem import DISK, Files, Overlay
from nginxopt.config.inputs import InputOptions, alone
from nginxopt.config.places import Tree
from nginxopt.config.recognition import is_configuration, looks_like_nginx
from nginxopt.config.roots import of
from nginxopt.config.templating import TemplateError
from nginxopt.errors import InputError
from nginxopt.lsp import roots
from nginxopt.lsp.document import Document, opened
from nginxopt.lsp.lines import Lines
from nginxopt.lsp.preferences import Preferences
from nginxopt.lsp.reading import Nothing, Parser
from nginxopt.settings.file import Settings

_NOWHERE = "/nonexistent"
"""The folder for relative includes of a text without a file."""


@dataclass(frozen=True)
class DocumentContext:
    """A document and the configurations that include it, the nearest first.

    `is_alone`: no configuration includes it, so `configs` is the document as a configuration of its own.
    """

    document: Document
    configs: tuple[Config, ...]
    is_alone: bool

    @property
    def config(self) -> Config:
        """The nearest configuration."""
        return self.configs[0]

    @property
    def file(self) -> File:
        """The document in that configuration."""
        return self.config.file(self.document.path)


class Workspace:
    """The open files by URI. Configurations are read with their unsaved texts, and other files from the disk."""

    def __init__(self, preferences: Preferences, folders: Iterable[str] = (), encoding: str = "utf-16") -> None:
        self.preferences = preferences
        self.folders = tuple(folders)
        self.documents: dict[str, Document] = {}
        self._encoding = str(getattr(encoding, "value", encoding))
        self._parser = Parser()
        self._mains: list[str] | None = None
        self._uris: dict[str, str] | None = None

    def open(self, uri: str, text: str, version: int | None) -> Document:
        """Add a file that the editor opened."""
        path = path_of(uri)
        name = path or unquote(uri.partition(":")[2]).replace("\0", "") or uri
        document = opened(uri, name, text, version, self._parser, self._encoding, is_file=path is not None)
        self.documents[uri] = document
        self.forget()
        return document

    def change(self, uri: str, text: str, version: int | None) -> None:
        """Replace the text of an open file."""
        if uri in self.documents:
            self.documents[uri] = self.documents[uri].changed(text, version)

    def close(self, uri: str) -> None:
        """Remove a file that the editor closed. From then on, the text on disk counts."""
        self.documents.pop(uri, None)
        self.forget()

    def change_folders(self, added: Iterable[str], removed: Collection[str]) -> None:
        """Add folders that the editor has opened, and remove those that it has closed."""
        self.folders = tuple(dict.fromkeys([*(path for path in self.folders if path not in removed), *added]))
        self.forget()

    def forget(self) -> None:
        """Forget the known main files, because files may have been saved, created or deleted."""
        self._mains = None
        self._uris = None
        self.preferences.forget()

    def document(self, path: str) -> Document | None:
        """Return the open file at a path, by any of its names."""
        uris = self._uris
        if uris is None:  # of two names of a file, the first one that was opened counts
            opened_last = [(document.path, uri) for uri, document in self.documents.items()][::-1]
            uris = self._uris = {DISK.identity(name): uri for name, uri in opened_last}
        uri = uris.get(DISK.identity(path))
        return None if uri is None else self.documents.get(uri)

    def lines(self, path: str, data: bytes) -> Lines:
        """Return the lines of a file of a configuration, as the editor shows them."""
        document = self.document(path)
        return document.lines if document else Lines(data, self._encoding)

    def uri(self, path: str) -> str:
        """Return the URI of a file of a configuration: the one that the editor uses if the file is open."""
        document = self.document(path)
        return document.uri if document else Path(path).absolute().as_uri()

    def is_of_nginx(self, document: Document) -> bool:
        """Return whether a document is an nginx configuration, by its content or because a main file includes it."""
        return _is_ours(document) or self.shown(document) is not None

    def judged(self, document: Document) -> DocumentContext | None:
        """Return the last version of a document that parses, in its configurations, with such versions of all open
        files.

        None if no version parsed, or if it is not an nginx configuration.
        """
        if isinstance(document.error, TemplateError):
            return self.rendered(document)
        good = document.good
        return self._reading(good, _good_text) if good else None

    def rendered(self, document: Document) -> DocumentContext | None:
        """Return a template as a configuration of its own, in all its readings; None if one of them is invalid."""
        settings = self.preferences.settings(document.path)
        read = _Read(tuple(self.documents.values()), _good_text, self._parser, settings, self.folders)
        try:
            config = read.template(document)
        except InputError:
            return None
        return DocumentContext(document, (config,), is_alone=True)

    def shown(self, document: Document) -> DocumentContext | None:
        """Return the current document in its configurations, with unreadable parts blanked out; None if it is not an
        nginx configuration."""
        return self._reading(document, _shape)

    def _reading(self, document: Document, text: _Text) -> DocumentContext | None:
        file = text(document)
        if file is None:
            return None
        settings = self.preferences.settings(document.path)
        read = _Read(tuple(self.documents.values()), text, self._parser, settings, self.folders)
        itself = read.alone(document, file)
        if not document.is_file or itself.http is not None:
            return DocumentContext(document, (itself,), is_alone=True) if _is_ours(document) else None
        configs = tuple(islice(roots.roots(document.path, self._main_files(settings), read.main), roots.MOST_ROOTS))
        if configs:
            return DocumentContext(document, configs, is_alone=False)
        return DocumentContext(document, (itself,), is_alone=True) if _is_ours(document) else None

    def _main_files(self, settings: Settings) -> list[str]:
        mains = self._mains
        if mains is None:  # a local name, because another thread may reset the attribute
            mains = self._mains = roots.mains(self.folders, settings.excludes)
        return mains


def _is_ours(document: Document) -> bool:
    """Return whether a document is an nginx configuration by its content, which may be a template."""
    if isinstance(document.error, TemplateError):
        return is_configuration(document.data)
    return looks_like_nginx(document.data)


_Text = Callable[[Document], File | None]
"""Returns the text of a document for reading configurations; None to read the file on disk."""


def _good_text(document: Document) -> File | None:
    return document.good.file if document.good else None


def _shape(document: Document) -> File | None:
    return document.shape


class _Read:
    """Reads configurations with the texts of open files in place of those on the disk."""

    def __init__(
        self,
        documents: Sequence[Document],
        text: _Text,
        parser: Parser,
        settings: Settings,
        folders: Iterable[str],
    ) -> None:
        files = {document.path: text(document) for document in documents if document.is_file}
        self._texts = {path: file.source.data for path, file in files.items() if file}
        self._files = {DISK.identity(path): file for path, file in files.items() if file}
        self._parser = parser
        self._settings = settings
        self._opened = (*folders, *files)  # counts as named by the user, like the paths of other commands

    def main(self, path: str, files: Files) -> Config:
        """Return the configuration of a main file. Raises `InputError` if it cannot be read."""
        prefix, inside = self._settings.prefix, of(self._opened)
        texts = Overlay(self._texts, self._tree(path) if files is DISK else files)
        return load(path, prefix=prefix, missing_ok=True, files=texts, parse=self._parse, roots=inside)

    def alone(self, document: Document, file: File) -> Config:
        """Return a document as a configuration of its own; without its includes if one of them does not parse."""
        prefix = self._settings.prefix if document.is_file else _NOWHERE
        options = InputOptions(prefix, self._settings.context_of)
        data, inside = file.source.data, of(self._opened)

        def parse(path: str, text: bytes) -> File:
            return file if path == document.path else self._parse(path, text)

        try:
            texts = Overlay(self._texts, self._tree(document.path))
            return alone(data, document.path, options, files=texts, parse=parse, inside=inside)
        except InputError:
            return alone(data, document.path, options, files=Nothing(), parse=parse, inside=inside)

    def template(self, document: Document) -> Config:
        """Return a template as a configuration of its own. Raises `InputError` if one of its readings is not one."""
        from nginxopt.config.templates import Templates

        options = InputOptions(self._settings.prefix if document.is_file else _NOWHERE, self._settings.context_of)
        path, inside = document.path, of(self._opened)

        def read(files: Files, data: bytes) -> Config:
            return alone(data, path, options, files=files, inside=inside)

        return Templates(read, Overlay(self._texts, self._tree(path)), path, document.data).config()

    def _tree(self, path: str) -> Tree:
        return Tree(path, self._settings.prefix, stated=self._settings.include)

    def _parse(self, path: str, data: bytes) -> File:
        return self._files.get(DISK.identity(path)) or self._parser(path, data)


def path_of(uri: str) -> str | None:
    """Return the path of a file URI; None for other URIs, such as that of a new text that was never saved, and for a
    URI that cannot be a path.
    """
    try:
        parts = urlsplit(uri)
    except ValueError:  # a host in brackets that is no address
        return None
    path = unquote(parts.path)
    return path if parts.scheme == "file" and path and "\0" not in path else None
