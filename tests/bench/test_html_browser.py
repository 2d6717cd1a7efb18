"""The HTML report in a browser: at any width, in both schemes, and on paper."""

from __future__ import annotations

import io
import re
import unicodedata

import pypdf
import pytest

from nginxopt.bench.report.keys import SERIES
from nginxopt.bench.result import Result
from tests.bench.pages import HTML, parsed
from tests.browser import Page, needs_chromium

pytestmark = pytest.mark.no_cover

WIDTHS = (320, 390, 768, 1440, 2560)


# Every text that shows, with its colour and that of what lies behind it, as the browser computed them.
TEXTS = """
(() => {
  const numbers = color => color.match(/[\\d.]+/g).map(Number)
  const behind = each => {
    for (let at = each; at; at = at.parentElement) {
      const color = numbers(getComputedStyle(at).backgroundColor)
      if (color.length < 4 || color[3] > 0) return color.slice(0, 3)
    }
    return [255, 255, 255]
  }
  const found = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const each = walker.currentNode.parentElement
    if (!walker.currentNode.data.trim() || each.closest('title, desc')) continue
    const style = getComputedStyle(each)
    const color = each.namespaceURI.endsWith('svg') ? style.fill : style.color
    found.push([walker.currentNode.data.trim(), numbers(color).slice(0, 3), behind(each)])
  }
  return found
})()
"""


# What reaches beyond what it is in, though nothing scrolls there: elements wider than the window, and labels of charts.
BEYOND = """
[...document.querySelectorAll('body *')]
  .filter(each => !each.closest('.scroll') && !each.closest('title, desc'))
  .map(each => [each.getBoundingClientRect(), each.tagName + ' ' + each.textContent.slice(0, 30)])
  .filter(([box]) => box.width && (box.right > innerWidth + 1 || box.left < -1))
  .map(([, what]) => what)
"""


BOXES = """
[...document.querySelectorAll('svg[role=img]')].map(each => {
  const box = each.getBoundingClientRect()
  const marks = [...each.querySelectorAll('path, line')].map(mark => mark.getBoundingClientRect())
  const largest = side => Math.max(...marks.map(mark => mark[side]))
  return [box.width, box.height, largest('width'), largest('height')]
})
"""


def luminance(color: list[float]) -> float:
    """The relative luminance of an sRGB colour (WCAG 2.2)."""
    parts = [part / 255 for part in color]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: list[float], second: list[float]) -> float:
    """The contrast of two colours (WCAG 2.2): 1 to 21."""
    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("width", WIDTHS)
def test_no_width_is_too_small(shown: Page, width: int) -> None:
    """On a phone and on a wide screen nothing reaches beyond the window but tables that scroll by themselves."""
    shown.look(width)
    assert shown.ask("document.documentElement.scrollWidth <= innerWidth")
    assert shown.ask(BEYOND) == []


@needs_chromium
@pytest.mark.parametrize("width", WIDTHS)
def test_charts_are_drawn(shown: Page, width: int) -> None:
    """Every chart has room, keeps it, and what is drawn in it has a size."""
    shown.look(width)
    boxes = shown.ask(BOXES)
    assert len(boxes) == 12
    for box_width, box_height, mark_width, mark_height in boxes:
        assert 200 < box_width <= min(width, 400)
        assert box_height > 60
        assert mark_width > 100
        assert mark_height > 30


@needs_chromium
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_texts_can_be_read(shown: Page, dark: bool) -> None:
    """In light and in dark mode every text, those of charts too, has a contrast of 4.5 or more (WCAG 2.2, AA)."""
    shown.look(1440, dark=dark)
    texts = shown.ask(TEXTS)
    assert len(texts) > 300
    assert {luminance(behind) < 0.5 for _, _, behind in texts} == {dark}
    assert [text for text, color, behind in texts if contrast(color, behind) < 4.5] == []


@needs_chromium
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_lines_can_be_told_from_the_page(shown: Page, dark: bool) -> None:
    """Each colour of a line has a contrast of 3 or more to the page (WCAG 2.2, 1.4.11), and is like no other."""
    shown.look(1440, dark=dark)
    names = ["--paper", "--baseline", *(f"--series-{number}" for number in range(SERIES))]
    colors = [
        shown.ask(
            "(() => { const e = document.createElement('i'); document.body.append(e);"
            f" e.style.color = 'var({name})'; const c = getComputedStyle(e).color; e.remove();"
            " return c.match(/\\d+/g).map(Number) })()"
        )
        for name in names
    ]
    paper, *lines = colors
    assert all(contrast(paper, line) >= 3 for line in lines)
    assert len({tuple(line) for line in lines}) == len(lines)


@needs_chromium
def test_nothing_is_loaded(shown: Page) -> None:
    """The browser asks for the file itself, and for nothing else."""
    assert [address.rpartition("/")[2] for address in shown.requests()] == ["report.html"]


@pytest.mark.slow
@needs_chromium
def test_it_prints(shown: Page, result: Result, page: str) -> None:
    """Printed from dark mode the page is light, takes a few pages, and has all headings and cells."""
    shown.look(1440, dark=True)
    shown.call(
        "Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    assert shown.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    shown.call("Emulation.setEmulatedMedia", media="")
    document = pypdf.PdfReader(io.BytesIO(shown.pdf()))
    assert 4 <= len(document.pages) <= 9
    width, height = (round(float(side)) for side in document.pages[0].mediabox[2:])
    assert (width, height) == (595, 842)  # A4, in points
    text = "".join(page_.extract_text() for page_ in document.pages)
    printed = re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))  # fonts have ligatures
    for element in parsed(page).iter():
        if element.tag in (f"{HTML}h1", f"{HTML}h2", f"{HTML}td") and element.text:
            assert re.sub(r"\s+", "", element.text) in printed
    assert result.experiment.title.replace(" ", "") in printed
