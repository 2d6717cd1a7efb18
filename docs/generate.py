"""Writes what documents take from the code: the pages of rules and premises, the table of rules in the guide, pictures
(docs/pictures.py), and the man pages and completions of the commands (docs/man.py).
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from nginxopt import rules as package
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.declare import Rule, loaded, names
from nginxopt.lint.diagnostic import Reach, Safety
from nginxopt.lint.index import COLUMNS, FLAGS, ONLY_IF_SELECTED
from nginxopt.lint.report import pages
from nginxopt.settings.vocabulary import PREMISES

ROOT = Path(__file__).parents[1]
_TABLE = re.compile(r"(?<=<!-- rules: written by `make docs` -->\n).*(?=<!-- end of rules -->)", re.DOTALL)
_INDEX = """# Rules

Each page explains why a finding matters, with figures and their sources, shows examples, and says when to ignore the
rule. `nginxopt explain RULE` shows it in the terminal.

- **Fix**: `--fix` applies safe fixes: every decoded response and every request to an upstream stays as it is.
  `--assume` adds fixes that are safe under a [premise](../guide/premises.md), and `--unsafe-fixes` the rest.
- **nginx**: a rule runs only for these versions of the target nginx, which is `--target-version` or the installed one.
- All rules run by default, except those marked `only if selected`. `--select`, `--ignore` and the
  [settings](../guide/settings.md) take rule ids and categories.
"""


_PREMISES = """# Premises of fixes

A fix is safe if every decoded response and every request to an upstream stays as it is, and if nothing can fail that
did not fail before. A decoded response is the status, the headers, and the body without its `Content-Encoding`. The
compressed bytes, the number of packets and the log may differ. The page of each rule says what its fix may change.

Some fixes are safe only under a condition that the configuration does not show, such as what an upstream server can do.
Such a condition is a premise. A finding lists the premises that its fix needs; `--fix` applies the fix if all of them
are declared, with `--assume NAME,NAME` or in the [settings](settings.md):

```toml
assume = ["http11-backends", "idle-connections"]
```

`nginxopt explain NAME` shows a premise in the terminal. `--unsafe-fixes` applies all fixes, regardless of premises.

What `trace` and `test` may assume of missing files, such as `unread-neutral`, is in their guide: see
[Missing includes](trace.md#missing-includes).

In a repository, much of a configuration is often somewhere else: in an image, in another role, on the host. Then almost
all fixes need [`whole-configuration`](#whole-configuration), and rules do not report what another file may set.
"""


_COMMAND = "nginxopt lint nginx.conf --target-version 1.28.0 --select gzip-level,upstream-keepalive-missing"
"""The command in the picture, run in fixtures/slow-site."""
_WIDTH = 56
"""Columns of the picture: as many as can be read on a phone."""
_THEME = TerminalTheme(
    background=(13, 17, 23),
    foreground=(230, 237, 243),
    normal=[
        (72, 79, 88),
        (255, 123, 114),
        (63, 185, 80),
        (210, 153, 34),
        (88, 166, 255),
        (188, 140, 255),
        (57, 197, 207),
        (177, 186, 196),
    ],
)
_FRAME = """\
<svg viewBox="0 0 {width} {height}" width="600" xmlns="http://www.w3.org/2000/svg">
<title>{_TITLE}</title>
<style>
.{unique_id}-matrix {{
    font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
    font-size: {char_height}px;
    line-height: {line_height}px;
    white-space: pre;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
""".replace("{_TITLE}", _COMMAND)
"""The frame of rich without its fonts, which are loaded from the network."""


def picture() -> str:
    """Return an SVG of a terminal that runs `_COMMAND`."""
    command = [sys.executable, "-m", *_COMMAND.split()]
    environment = {**os.environ, "FORCE_COLOR": "1", "NO_COLOR": ""}
    folder = ROOT / "fixtures" / "slow-site"
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    with open(os.devnull, "w") as nothing:  # noqa: PTH123 - os.devnull is a name
        console = Console(record=True, width=_WIDTH, file=nothing, force_terminal=True, color_system="standard")
        console.print(Text(f"$ {_COMMAND}", style="bold"))
        console.print(Text.from_ansi(run.stdout + run.stderr))
    svg = console.export_svg(title="", theme=_THEME, code_format=_FRAME, unique_id="lint")
    return "".join(f"{line.rstrip()}\n" for line in svg.splitlines())


def index() -> str:
    """Return the table of all rules (`nginxopt.lint.index`)."""
    lines = (_declaration(loaded(name)) for name in names(package))
    return "".join(f"{line}\n" for line in ("\t".join(COLUMNS), *lines))


def _declaration(rule: Rule) -> str:
    """Return the line of a rule, with nothing in the place of what is as usual."""
    flags = [flag for flag in FLAGS if getattr(rule, flag)] + [ONLY_IF_SELECTED] * (not rule.default)
    columns = (
        rule.id.replace("-", "_"),
        rule.severity.value,
        rule.highest.value if rule.highest else "",
        rule.category,
        " ".join(map(_safety, rule.fixes)),
        str(rule.since or ""),
        str(rule.until or ""),
        rule.reach.name if rule.reach is not Reach.EVERYTHING else "",
        rule.scenario or "",
        " ".join(rule.about),
        " ".join(flags),
    )
    return "\t".join(columns)


def _safety(safety: Safety) -> str:
    return "+".join(sorted(premise.name for premise in safety.premises or ())) or safety.grade.value


def generated() -> dict[Path, str]:
    """Return every generated file with its text."""
    rules = catalogue().values()
    folder = ROOT / "docs" / "rules"
    guide = ROOT / "docs" / "guide"
    lint = (guide / "lint.md").read_text()
    table = "".join(pages.overview(rules, "../rules"))
    files = {folder / f"{rule.id}.md": pages.page(rule) for rule in rules}
    sections = (pages.premise_page(premise, rules, "../rules", "##") for premise in PREMISES.values())
    files[guide / "premises.md"] = "\n".join([_PREMISES, *sections])
    files[folder / "README.md"] = _INDEX + "".join(pages.markdown(rules, ""))
    files[ROOT / "docs" / "lint.svg"] = picture()
    pictures = runpy.run_path(str(ROOT / "docs" / "pictures.py"))
    files[ROOT / "docs" / "design" / "tree.svg"] = pictures["tree"]()
    files[ROOT / "docs" / "packages.svg"] = pictures["packages"]()
    files[ROOT / "nginxopt" / "lint" / "rules.tsv"] = index()
    files[guide / "lint.md"] = _TABLE.sub(lambda _: table, lint)
    manual: dict[Path, str] = runpy.run_path(str(ROOT / "docs" / "man.py"))["generated"]()
    return files | manual


def left_over() -> set[Path]:
    """Return the pages of rules and commands that no longer exist."""
    docs = ROOT / "docs"
    return {*(docs / "rules").glob("*.md"), *(docs / "man").glob("*.1")} - set(generated())


if __name__ == "__main__":
    for path in left_over():
        path.unlink()
    for path, text in generated().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
