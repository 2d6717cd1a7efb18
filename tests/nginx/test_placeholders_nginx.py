"""What nginx takes for a variable in braces; what else stands in braces is a placeholder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nginxopt.config.templating import BRACES
from tests.support import nginx_test

pytestmark = pytest.mark.nginx

SITE = "events {{ }} http {{ server {{ set $name 1; location / {{ return 200 {}; }} }} }}"


@pytest.mark.parametrize("word", ["${name}", "${NAME}", "a${name}b", "$name-off", "$name.b"])
def test_nginx_has_a_variable_in_braces(word: str, tmp_path: Path) -> None:
    """A name of letters, digits and underscores in braces is a variable of nginx, in any case, and no placeholder."""
    assert nginx_test(tmp_path, SITE.format(word).encode()).message == b""
    assert not re.search(BRACES, word.encode())


@pytest.mark.parametrize(
    "word", ["${name:-off}", "${name-off}", "${name.b}", "${name:=1}", "${name/a/b}", "${name[0]}"]
)
def test_nginx_refuses_what_a_placeholder_has_in_braces(word: str, tmp_path: Path) -> None:
    """nginx takes only the name, and misses the brace behind it."""
    message = nginx_test(tmp_path, SITE.format(word).encode()).message
    assert message == b'the closing bracket in "name" variable is missing'
    assert re.search(BRACES, word.encode())
