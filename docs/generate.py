"""Writes the documentation of the rules from their pages: docs/rules/, docs/premises.md and the table of the README."""

from __future__ import annotations

import re
from pathlib import Path

from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.premises import PREMISES
from nginxopt.lint.report import pages

ROOT = Path(__file__).parents[1]
_TABLE = re.compile(r"(?<=<!-- rules: written by `make docs` -->\n).*(?=<!-- end of rules -->)", re.DOTALL)
_INDEX = """# Rules

Each page explains why a finding matters, with figures and their sources, shows examples, and says when to ignore the
rule. `nginxopt explain RULE` shows it in the terminal.

- **Fix**: `--fix` applies safe fixes: responses and requests to upstreams stay the same. `--assume` adds fixes that are
  safe under a [premise](../premises.md), and `--unsafe-fixes` the rest.
- **nginx**: a rule runs only for these versions of the target nginx, which is `--target-version` or the installed one.
- All rules run by default, except those marked `only if selected`. `--select`, `--ignore` and the
  [settings](../settings.md) take rule ids and categories.
"""


_PREMISES = """# Premises of fixes

A fix is safe if it changes no response and no request to an upstream, and if nothing can fail that did not fail before.
A response is what the client has after decoding: status, headers and body. The compressed bytes, the number of packets
and the log may differ. The page of each rule says what its fix may change.

Some fixes are safe only under a condition that the configuration does not show, such as what an upstream server can do.
Such a condition is a premise. A finding lists the premises that its fix needs; `--fix` applies the fix if all of them
are declared, with `--assume NAME,NAME` or in the [settings](settings.md):

```toml
assume = ["http11-backends", "idle-connections"]
```

`nginxopt explain NAME` shows a premise in the terminal. `--unsafe-fixes` applies all fixes, regardless of premises.
"""


def generated() -> dict[Path, str]:
    """Return every generated file with its text."""
    rules = catalogue().values()
    folder = ROOT / "docs" / "rules"
    readme = (ROOT / "README.md").read_text()
    table = "".join(pages.overview(rules, "docs/rules"))
    files = {folder / f"{rule.id}.md": pages.page(rule) for rule in rules}
    sections = (pages.premise_page(premise, rules, "rules", "##") for premise in PREMISES.values())
    files[ROOT / "docs" / "premises.md"] = "\n".join([_PREMISES, *sections])
    files[folder / "README.md"] = _INDEX + "".join(pages.markdown(rules, ""))
    files[ROOT / "README.md"] = _TABLE.sub(lambda _: table, readme)
    return files


def left_over() -> set[Path]:
    """Return the pages of rules that no longer exist."""
    return set((ROOT / "docs" / "rules").glob("*.md")) - set(generated())


if __name__ == "__main__":
    for path in left_over():
        path.unlink()
    for path, text in generated().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
