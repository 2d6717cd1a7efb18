"""Whether all of http was read, which decides what a rule may call missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import load
from nginxopt.lint import Model, whole
from nginxopt.version import Version

# What is claimed -> what stands in http, whether that is all.
PARTS = {
    "no include": ("server { }", True),
    "types come with nginx": ("include mime.types;", True),
    "a file that is not there": ("include gone.conf;", False),
    "a file that is there": ("include there/a.conf;", True),
    "a folder with files": ("include there/*.conf;", True),
    "an empty folder": ("include empty/*.conf;", True),
    "a folder that is not there": ("include gone/*.conf;", False),
    "a folder beside that of the main file": ("include PARENT/elsewhere/*.conf;", False),
    "a folder of another machine": ("include /etc/nginx/conf.d/*.none;", False),
}


@pytest.mark.parametrize(("part", "expected"), PARTS.values(), ids=PARTS)
def test_what_was_read(tmp_path: Path, part: str, *, expected: bool) -> None:
    """A wildcard that finds nothing is an empty folder only if that is there, below the main file."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "there/a.conf").write_text("gzip on;\n")
    main = tmp_path / "nginx.conf"
    (tmp_path.parent / "elsewhere").mkdir(exist_ok=True)
    (tmp_path.parent / "elsewhere/a.conf").write_text("gzip on;\n")
    main.write_text(
        f"include modules/*.conf;\nevents {{ }}\nhttp {{\n{part.replace('PARENT', str(tmp_path.parent))}\n}}\n"
    )
    assert whole.is_known(Model(load(main, missing_ok=True), Version(1, 28, 0))) is expected


def test_a_fragment_is_never_all(tmp_path: Path) -> None:
    """Nobody knows what stands around a fragment."""
    fragment = tmp_path / "site.conf"
    fragment.write_text("server { }\n")
    assert not whole.is_known(Model(load(fragment), Version(1, 28, 0)))
