"""What is known of the files that come with nginx, compared with those of the installed package."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import load, load_text
from nginxopt.facts.packaged import PACKAGED

pytestmark = pytest.mark.nginx

INSTALLED = Path("/etc/nginx")


@pytest.mark.parametrize("name", PACKAGED)
def test_a_file_of_the_package_has_these_parameters(name: str) -> None:
    """It may have more."""
    if not (INSTALLED / name).exists():
        pytest.skip(f"the nginx that is installed here has no {INSTALLED / name}")
    known, installed = load_text(PACKAGED[name].encode(), name), load(INSTALLED / name)
    stated = [[(each.name, *each.args) for each, _ in config.walk()] for config in (known, installed)]
    assert set(stated[0]) <= set(stated[1])
