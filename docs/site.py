"""A hook of mkdocs: adds the pages of the site that are not in docs/, and leads links to what the site does not have.

The start page is the README. The commands are written from their help, the reference of the API from its docstrings.
What a page links to outside of docs/ is another page of the site, a schema, or the file in the repository.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from nginxopt.cli import nginxopt

ROOT = Path(__file__).parents[1]
REPOSITORY = "https://github.com/nginxopt/nginxopt/blob/main"

_MOVED = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
"""The files of the repository that are pages, by path."""

_API = {
    "config": "nginxopt.config",
    "semantics": "nginxopt.semantics",
    "lint": "nginxopt.lint",
    "format": "nginxopt.format",
}
"""The packages whose exports are public (docs/guide/own-rules.md), and the formatter, by page."""

_SCHEMAS = "nginxopt/schemas"
_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)(\))")
_FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_EXAMPLE = re.compile(r"```nginx(?: ([a-z_]+))?(?: ([\d.]+))?$", re.MULTILINE)
"""The opening of an example of a rule: its context if it is no whole file, and the version if it is not for all."""
_CELL = re.compile(r"<(t[dh])\b.*?</\1>", re.DOTALL)
_SHOWN = (".svg", ".png", ".css")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Leave programs and the like in docs/ out, and add the pages that are elsewhere or are generated."""
    kept = [file for file in files if file.src_dir != config.docs_dir or _is_shown(file)]
    added = [File.generated(config, path, content=text) for path, text in _pages()]
    return Files([*kept, *added])


def _is_shown(file: File) -> bool:
    return file.is_documentation_page() or file.src_uri.endswith(_SHOWN)


def _pages() -> Iterator[tuple[str, str]]:
    """Yield the pages that are added, with their texts."""
    for path, page in _MOVED.items():
        yield page, (ROOT / path).read_text()
    for schema in (ROOT / _SCHEMAS).glob("*.json"):
        yield f"schemas/{schema.name}", schema.read_text()
    yield from _commands()
    yield from _api()


def _commands() -> Iterator[tuple[str, str]]:
    """Yield a page for each command, and their overview."""
    context = click.Context(nginxopt, info_name="nginxopt", **nginxopt.context_settings)
    overview = ["# Commands", "", nginxopt.help or "", ""]
    for name in nginxopt.list_commands(context):
        command = nginxopt.get_command(context, name)
        assert command is not None
        overview.append(f"- [`nginxopt {name}`]({name}.md): {command.get_short_help_str(200)}")
        yield f"commands/{name}.md", "\n".join(_command(command, name, context, 1))
    yield "commands/index.md", "\n".join(overview) + "\n"


def _command(command: click.Command, name: str, parent: click.Context, level: int) -> Iterator[str]:
    """Yield the help of a command as it is printed, and below it that of its commands."""
    context = click.Context(command, info_name=name, parent=parent, **command.context_settings)
    yield from (f"{'#' * level} {context.command_path}", "", "```text", command.get_help(context), "```", "")
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            subcommand = command.get_command(context, inner)
            assert subcommand is not None
            yield from _command(subcommand, inner, context, level + 1)


def _api() -> Iterator[tuple[str, str]]:
    """Yield a page for each public package, and their overview."""
    links = [f"- [`{package}`]({page}.md)" for page, package in _API.items()]
    promise = "What [rules of your own](../guide/own-rules.md#what-stays-stable) may use, and the formatter."
    yield "api/index.md", "\n".join(["# API", "", promise, "", *links, ""])
    for page, package in _API.items():
        yield f"api/{page}.md", f"# {package}\n\n::: {package}\n    options:\n      show_root_heading: false\n"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - mkdocs'
    """Return the text of a page with the links of the site, and its examples as blocks with a title."""
    source = next((path for path, uri in _MOVED.items() if uri == page.file.src_uri), f"docs/{page.file.src_uri}")
    parts = _FENCE.split(markdown)
    for number in range(1, len(parts), 2):
        parts[number] = _EXAMPLE.sub(_titled, parts[number], count=1)
    for number in range(0, len(parts), 2):
        parts[number] = _LINK.sub(lambda match: match[1] + _target(match[2], source, page) + match[3], parts[number])
    return "".join(parts)


def on_page_content(html: str, **_: object) -> str:
    r"""Return the page with `|` for `\|` in cells of tables: Markdown needs the backslash, and leaves it in code."""
    return _CELL.sub(lambda cell: cell[0].replace(r"\|", "|"), html)


def _titled(opening: re.Match[str]) -> str:
    """Return the opening of an example in the form of superfences, which know one word and a title."""
    title = ", ".join(part for part in (opening[1], opening[2] and f"nginx {opening[2]}") if part)
    return f'```{{ .nginx title="{title}" }}' if title else opening[0]


def _target(link: str, source: str, page: Page) -> str:
    """Return where a link of a file of the repository leads in the site."""
    path, mark, anchor = link.partition("#")
    is_of_repository = source in _MOVED or page.file.generated_by is None
    if not path or "://" in link or not is_of_repository:
        return link
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    if target in _MOVED:
        uri = _MOVED[target]
    elif target.startswith(f"{_SCHEMAS}/"):
        uri = f"schemas/{posixpath.basename(target)}"
    elif target.startswith("docs/") and (target.endswith(".md") or target.endswith(_SHOWN)):
        uri = target.removeprefix("docs/")
    else:
        return f"{REPOSITORY}/{target}{mark}{anchor}"
    return posixpath.relpath(uri, posixpath.dirname(page.file.src_uri) or ".") + mark + anchor
