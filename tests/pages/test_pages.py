"""The HTML reports, all of one design: in a browser, for everybody, without network."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import html5lib
import pytest
from click.testing import CliRunner

from nginxopt.bench.report import html
from nginxopt.cli import nginxopt
from nginxopt.lint.diagnostic import SavedADay
from nginxopt.profile import html as profile_html
from nginxopt.profile.sums import MeasuredSums, Profile, Sum, WorkClass
from nginxopt.profile.worth import Worth, Worthwhile
from tests import npm
from tests.bench.pages import experiment, result_of
from tests.browser import Page, browser, needs_chromium
from tests.fleet.fleets import SITE, in_threads, lint, tree
from tests.profile.days import day
from tests.profile.test_planted import profile_of
from tests.rows import every_row
from tests.support import ROOT, made_once

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

NAMES = ("lint", "bench", "fleet", "profile", "rewrite-to-map")


WORTH = Worth(
    (
        Worthwhile("gzip-level", "`gzip_comp_level 9` takes long", (("nginx.conf", 7),), SavedADay(600, 90.0, 2e4, 0)),
        Worthwhile("pcre-jit", "x" * 100, (("a/long/path/of/a/file.conf", 9),) * 9, SavedADay(600, 0.0, 3e3, 0)),
        Worthwhile("sendfile", "It is small", (("nginx.conf", 9),), SavedADay(600, 0.0, 1e-9, 0)),
    )
)
"""Findings that would save time: one may save nothing, and one saves too little for a line."""


def _run(*arguments: str) -> str:
    done = CliRunner().invoke(nginxopt, arguments, standalone_mode=False)
    assert done.exception is None, done.exception
    return done.output


def _write(folder: Path) -> None:
    """Write a page of each command."""
    folder.mkdir()
    site = folder / "a-repository-of-a-long-name" / "environments" / "production" / "etc" / "nginx"
    shutil.copytree(ROOT / "fixtures" / "slow-site", site)
    for number in range(3):
        tree(folder / "hosts" / f"web{number}", s=SITE if number else SITE * 2)
    (folder / "lint.html").write_text(_run("lint", "--isolated", str(site / "nginx.conf"), "--format", "html"))
    (folder / "bench.html").write_text(html.render(result_of(experiment())))
    (folder / "profile.html").write_text(profile_html.render(_profile(folder), WORTH))
    rules = (ROOT / "fixtures" / "fec" / "redirects-sers.conf", folder / "rules.conf")
    rules[1].write_text(
        rules[0].read_text() + "rewrite ^/(a+)+/$ /b permanent;\n" + "rewrite ^/c/(.*)$ /d/$1 last;\n" * 2
    )
    _run("rewrite-to-map", str(rules[1]), "--check", "-q", "--html", str(folder / "rewrite-to-map.html"))
    with pytest.MonkeyPatch.context() as patch, in_threads():
        patch.chdir(folder)
        lint("hosts", status=None)
        (folder / "fleet.html").write_text(_run("fleet", "report", "--format", "html"))


def _profile(folder: Path) -> Profile:
    """Return the profile of a day, of which some classes were measured."""
    (folder / "shop.log").write_bytes(day(3, 600).log)
    profile = profile_of([folder / "shop.log"])
    for number, key in enumerate(sorted({WorkClass.of(key) for key in profile.classes}, key=str)[:3]):
        profile.measured.count(key, MeasuredSums(10, 40_000 * number, 10, 90_000), MeasuredSums)
    profile.unmeasured.count("several responses of the configuration fit", Sum(7), Sum)
    return profile


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the pages."""
    return made_once(tmp_path_factory, "pages", _write)


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core (https://github.com/dequelabs/axe-core)."""

    def make(folder: Path) -> None:
        folder.mkdir()
        for name in ("package.json", "package-lock.json"):
            shutil.copy(Path(__file__).parent / name, folder)
        npm.install(folder)

    folder = made_once(tmp_path_factory, "axe", make)
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text()


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A browser."""
    with browser(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.mark.parametrize("name", NAMES)
def test_it_is_html_and_one_file(pages: Path, name: str) -> None:
    """It parses strictly, and names nothing that a browser would load."""
    page = (pages / f"{name}.html").read_text()
    document = html5lib.HTMLParser(strict=True).parse(page)
    tags = {element.tag.rpartition("}")[2] for element in document.iter() if isinstance(element.tag, str)}
    assert not tags & {"link", "img", "iframe", "object"}
    assert "<script src" not in page
    assert "url(" not in page


@needs_chromium
@every_row("dark", [False, True], ids=["light", "dark"])
@every_row("width", [390, 1280])
@every_row("name", NAMES)
def test_everybody_can_use_it(pages: Path, tab: Page, axe: str, name: str, width: int, dark: bool) -> None:
    """axe-core, the checker of accessibility, has no complaint; nothing is wider than the window or asked for."""
    tab.look(width, dark=dark)
    tab.open(pages / f"{name}.html")
    assert [Path(url).name for url in tab.requests()] == [f"{name}.html"]
    assert tab.ask("document.documentElement.scrollWidth <= innerWidth")
    tab.ask(axe + "; 0")
    found = "found.violations.map(each => [each.id, each.nodes.map(node => node.html)])"
    assert json.loads(tab.ask(f"axe.run().then(found => JSON.stringify({found}))")) == []


@needs_chromium
def test_maps_of_a_list(pages: Path, tab: Page) -> None:
    """Each map of a list is a line that opens with the keyboard and shows its rows; what stays has its reason."""
    tab.open(pages / "rewrite-to-map.html")
    assert tab.ask("document.querySelectorAll('.tree details').length") > 1
    shown = "[...document.querySelectorAll('.tree tbody tr')].filter(row => row.checkVisibility()).length"
    assert tab.ask(shown) == 0
    tab.ask("document.querySelector('.tree summary').focus()")
    tab.ask("document.activeElement.click()")
    assert tab.ask(shown) > 0
    assert "match limit" in tab.ask("[...document.querySelectorAll('h3')].map(each => each.textContent).join()")


@needs_chromium
def test_filters_of_findings(pages: Path, tab: Page) -> None:
    """Findings are chosen by severity, rule and file; a file without a finding that is shown is not shown."""
    tab.open(pages / "lint.html")
    shown = "[...document.querySelectorAll('.finding')].filter(found => found.offsetParent).length"
    total = tab.ask(shown)
    infos = tab.ask("document.querySelectorAll('.finding[data-severity=info]').length")
    assert 0 < infos < total
    tab.ask("document.querySelector('[value=info]').click()")
    assert tab.ask(shown) == total - infos
    assert tab.ask("document.querySelector('output').textContent") == f"{total - infos} shown"
    tab.ask("document.querySelector('[value=info]').click()")
    choose = (
        "(() => {{ const field = document.forms[0].{0}; field.value = {1!r};"
        " field.dispatchEvent(new Event('change', {{ bubbles: true }})) }})()"
    )
    tab.ask(choose.format("rule", "gzip-level"))
    assert tab.ask(shown) == 1
    assert tab.ask("[...document.querySelectorAll('section[data-file]')].filter(file => file.offsetParent).length") == 1
    tab.ask(choose.format("rule", ""))
    file = tab.ask("document.querySelector('section[data-file]').dataset.file")
    tab.ask(choose.format("file", file))
    assert 0 < tab.ask(shown) < total
