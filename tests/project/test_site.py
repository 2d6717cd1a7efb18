"""The site has every document, its links and anchors lead somewhere, and nothing is loaded from elsewhere."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

import pytest

from nginxopt.cli import nginxopt
from nginxopt.lint.catalogue import catalogue
from tests.browser import browser, needs_chromium
from tests.cli.test_options import commands
from tests.support import PATIENCE, ROOT, made_once

pytestmark = [pytest.mark.slow, pytest.mark.extended, pytest.mark.no_cover]

_LOADED = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data"}
_LINKS = {"a": "href", **_LOADED}
_NAMED = {"canonical", "next", "prev"}
"""The links in the head of a page that nothing is loaded from."""
_URL = re.compile(rb"url\(['\"]?(?!data:|#)([^)'\"]+)|@import")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built with every warning of mkdocs an error."""

    def make(folder: Path) -> None:
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
        environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert (done.returncode, done.stdout + done.stderr) == (0, "")

    return made_once(tmp_path_factory, "site", make)


class Document(HTMLParser):
    """A page: its anchors, and its links with the elements that have them."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[str, str, str]] = []
        self.text: list[str] = []
        self.in_code = 0
        self.blocks = 0
        self.highlighted = 0
        self.feed(path.read_text())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the anchor or link of an element."""
        attributes = dict(attrs)
        classes = (attributes.get("class") or "").split()
        self.in_code += tag == "code"
        self.blocks += tag == "pre"
        self.highlighted += tag == "div" and "highlight" in classes
        if anchor := attributes.get("id") or attributes.get("name"):
            self.anchors.add(anchor)
        if link := attributes.get(_LINKS.get(tag, "")):
            self.links.append((tag, link, attributes.get("rel") or ""))

    def handle_endtag(self, tag: str) -> None:
        """Note the end of code."""
        self.in_code -= tag == "code"

    def handle_data(self, data: str) -> None:
        """Note a piece of text that is no code."""
        if not self.in_code:
            self.text.append(data)


@pytest.fixture(scope="module")
def documents(site: Path) -> dict[str, Document]:
    """The pages by their address in the site."""
    return {f"/{path.relative_to(site)}": Document(path) for path in sorted(site.rglob("*.html"))}


def test_every_document_is_there(site: Path) -> None:
    """Every document, rule and command has its page."""
    wanted = ["contributing", "changelog", "rules", "commands", "api", *(f"rules/{rule}" for rule in catalogue())]
    docs = ROOT / "docs"
    documents = [path.relative_to(docs) for path in docs.rglob("*.md") if path.name != "README.md"]
    wanted += [str(path.with_suffix("")) for path in documents]
    wanted += [f"commands/{name}" for name, _ in commands(nginxopt) if " " not in name]
    assert [name for name in wanted if not (site / name / "index.html").exists()] == []
    text = (site / "commands" / "rules" / "index.html").read_text()
    assert 'id="nginxopt-rules-new"' in text
    assert 'id="nginxopt.lint.Finding"' in (site / "api" / "lint" / "index.html").read_text()


def test_links_lead_somewhere(site: Path, documents: dict[str, Document]) -> None:
    """Every link of a page of the site to another is to a file that is there, and to an anchor in it."""
    broken = []
    for address, document in documents.items():
        if address == "/404.html":  # its links are those of the published address
            continue
        for _, link, rel in document.links:
            target, anchor = urldefrag(urljoin(address, link))
            if "://" in target or target.startswith(("mailto:", "data:")):
                continue
            file = f"{target}index.html" if target.endswith("/") else target
            is_there = (site / unquote(file).lstrip("/")).is_file()
            has_anchor = not anchor or rel == "canonical" or (is_there and unquote(anchor) in documents[file].anchors)
            if not (is_there and has_anchor):
                broken.append((address, link))
    assert broken == []
    assert sum(len(document.links) for document in documents.values()) > 5_000


def test_nothing_is_loaded_from_elsewhere(site: Path, documents: dict[str, Document]) -> None:
    """No page, script or style sheet asks another server for anything."""
    for address, document in documents.items():
        loaded = [link for tag, link, rel in document.links if tag in _LOADED and rel not in _NAMED]
        assert [link for link in loaded if "//" in link] == [], address
    for sheet in site.rglob("*.css"):
        assert [match[1] for match in _URL.finditer(sheet.read_bytes()) if b"//" in (match[1] or b"//")] == [], sheet


def test_no_link_of_the_repository_is_left(documents: dict[str, Document]) -> None:
    """A link to a file of the repository that is no page leads to the file in the repository, and that is there."""
    prefix = "https://github.com/nginxopt/nginxopt/blob/main/"
    links = {link for document in documents.values() for _, link, _ in document.links if link.startswith(prefix)}
    assert links
    assert [link for link in links if not (ROOT / urldefrag(link)[0].removeprefix(prefix)).exists()] == []


def test_every_block_of_code_is_one(documents: dict[str, Document]) -> None:
    """No page shows the marks of a block as text, and each block has its colours; each example of a rule is a block."""
    assert [address for address, document in documents.items() if "```" in "".join(document.text)] == []
    assert [address for address, document in documents.items() if document.blocks != document.highlighted] == []
    for rule in catalogue():
        fences = (ROOT / "docs" / "rules" / f"{rule}.md").read_text().count("```") // 2
        assert documents[f"/rules/{rule}/index.html"].blocks >= fences, rule


def test_no_cell_shows_an_escape(site: Path) -> None:
    """A bar in a cell of a table is no bar behind a backslash: a command with a pipe can be copied."""
    cells = re.compile(r"<td>[^\n]*\\\|")
    assert [str(path) for path in site.rglob("*.html") if cells.search(path.read_text())] == []


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The address of a server with the site, as a browser needs one for the search."""
    handler = functools.partial(_Quiet, directory=str(site))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Log nothing."""


PAGES = {
    "": "nginxopt",
    "rules/": "Rules",
    "rules/gzip-level/": "gzip-level",
    "guide/settings/": "Settings, suppressions, baselines",
    "commands/lint/": "nginxopt lint",
    "api/lint/": "nginxopt.lint",
}
"""Pages and their headings."""


@needs_chromium
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_browser_shows_it(address: str, tmp_path: Path, width: int, dark: bool) -> None:
    """On a phone and on a screen, in light and dark, no page is wider than the window, and it asks nobody else."""
    with browser(tmp_path) as tab:
        tab.look(width, dark=dark)
        for page in PAGES:
            tab.visit(f"{address}/{page}")
            assert tab.ask("document.querySelector('h1').firstChild.textContent") == PAGES[page]
            if page == "rules/gzip-level/":
                assert tab.ask("document.querySelectorAll('.highlight:has(.filename):has(code span.k)').length") >= 3
            assert tab.ask("document.documentElement.scrollWidth") <= width, page
            assert tab.ask("getComputedStyle(document.querySelector('.md-header')).position") == "sticky"
            assert tab.ask("document.body.dataset.mdColorScheme") == ("slate" if dark else "default")
            assert [url for url in tab.requests() if not url.startswith((address, "data:", "blob:"))] == []


@needs_chromium
def test_the_search_finds(address: str, tmp_path: Path) -> None:
    """A word of a rule page is found in the browser, without another server."""
    search = """new Promise(resolve => {
        const field = document.querySelector("[data-md-component=search-query]");
        field.focus(); field.value = "gzip_comp_level"; field.dispatchEvent(new Event("keyup", { bubbles: true }));
        field.dispatchEvent(new Event("input", { bubbles: true }));
        const look = () => {
            const hit = document.querySelector(".md-search-result__link");
            if (hit) resolve(hit.href); else setTimeout(look, 100);
        };
        look();
    })"""
    with browser(tmp_path) as tab:
        tab.look(1280)
        tab.visit(f"{address}/")
        assert "gzip-level" in tab.ask(search)
