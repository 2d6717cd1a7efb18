"""nginx accepts the random rules of tests.rulegen."""

import pytest

from nginxopt.system import nginx
from tests.rulegen import PATTERNS, generate

pytestmark = pytest.mark.nginx


def test_nginx_accepts_every_list(binary: nginx.Binary) -> None:
    """200 random lists pass `nginx -t`, in a server and in a location."""
    texts = [generate(seed).text for seed in range(200)]
    servers = [*texts, *(b"location / {\n%s}" % text for text in texts)]
    verdict = binary.test(nginx.configuration(servers))
    assert verdict.ok, str(verdict)


def test_the_same_seed_gives_the_same_list() -> None:
    """A list can be made again from its seed, and another seed gives another list."""
    assert generate(7) == generate(7)
    assert generate(7) != generate(8)


def test_all_kinds_come() -> None:
    """Flags, kinds of patterns and other directives all occur in a few lists."""
    text = b"\n".join(generate(seed).text for seed in range(60))
    wanted = [
        b" permanent;",
        b" last;",
        b" break;",
        b" redirect;",
        b"(?i)",
        rb"\z",
        b"/?$",
        b"$1",
        b"set ",
        b"# ",
    ]
    assert [part for part in wanted if part not in text] == []
    assert len(PATTERNS) >= 14
