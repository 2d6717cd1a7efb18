"""Writes what the documentation says of the rules from their pages: docs/rules/ and the table of the README."""

from __future__ import annotations

import re
from pathlib import Path

from nginxopt.catalogue import catalogue
from nginxopt.report import pages

ROOT = Path(__file__).parents[1]
_TABLE = re.compile(r"(?<=<!-- rules: written by `make docs` -->\n).*(?=<!-- end of rules -->)", re.DOTALL)
_INDEX = """# Rules

What each finds, by category; `nginxopt explain RULE` shows a page on a terminal. A page has the figures and their
sources, examples that are found and examples that only look so, and when to ignore the rule. `--fix` keeps every
response as it is, `--unsafe-fixes` also makes fixes with which something other than speed may change. A rule speaks
only of the nginx in its last column: `--target-version`, or else the nginx that is installed. All but those marked
`only if selected` are asked by default; `--select`, `--ignore` and the [settings](../settings.md) take ids and
categories.

"""


def generated() -> dict[Path, str]:
    """Return every file that is made from the rules, with its text."""
    rules = catalogue().values()
    folder = ROOT / "docs" / "rules"
    readme = (ROOT / "README.md").read_text()
    table = "".join(pages.overview(rules, "docs/rules"))
    files = {folder / f"{rule.id}.md": pages.page(rule) for rule in rules}
    files[folder / "README.md"] = _INDEX + "".join(pages.markdown(rules, ""))
    files[ROOT / "README.md"] = _TABLE.sub(lambda _: table, readme)
    return files


def left_over() -> set[Path]:
    """Return the pages of rules that are gone."""
    return set((ROOT / "docs" / "rules").glob("*.md")) - set(generated())


if __name__ == "__main__":
    for path in left_over():
        path.unlink()
    for path, text in generated().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
