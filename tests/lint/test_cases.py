"""What a rule finds in a configuration: `cases/RULE/NAME.conf`, and its findings beside it (see `tests.cases`).

A case is for nginx 1.28.0, or for the release that its first line names: `# nginx 1.22.1`.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.cases import cases, expect
from tests.lintcheck import TARGET, diagnose
from tests.rows import every_row


@every_row("case", cases(Path(__file__).parent / "cases"))
def test_what_is_found(case: Path) -> None:
    """The findings of the rule, each with its place and severity; an empty file if there is none."""
    text = case.read_bytes()
    release = re.match(rb"# nginx ([\d.]+)\n", text)
    found = diagnose(case.parent.name, text, target=release[1].decode() if release else TARGET)
    lines = [f"{each.start.line}:{each.start.column}: {each.severity.value}: {each.message}\n" for each in found]
    expect(case, "".join(lines).encode())
