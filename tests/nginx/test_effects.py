"""What `verify` says that header fields, parameters, bodies and addresses show, nginx shows."""

from __future__ import annotations

import pytest

from nginxopt.config import load_text
from nginxopt.request.model import SiteModel
from nginxopt.semantics.site import Build
from nginxopt.system import nginx
from nginxopt.verify import Confirmation, confirm, verify
from nginxopt.version import Version
from tests.verify.pairs import Pair, whole
from tests.verify.pairs.effects import SHOWN

pytestmark = pytest.mark.nginx

_EMPTY = (
    Pair(
        "a return behind a file that was not read",
        "include /nowhere/none.conf; return 200 a;",
        "include /nowhere/none.conf; return 200 b;",
    ),
    Pair(
        "a header beside a file that was not read",
        "location / { include /nowhere/none.conf; proxy_pass http://127.0.0.1:{U}; proxy_set_header X a; }",
        "location / { include /nowhere/none.conf; proxy_pass http://127.0.0.1:{U}; proxy_set_header X b; }",
    ),
)


@pytest.mark.parametrize("pair", [*SHOWN, *_EMPTY], ids=lambda pair: pair.name)
def test_nginx_shows_it(pair: Pair, binary: nginx.Binary) -> None:
    """The answers, or the requests to the upstream, of a real nginx differ between the sides."""
    assert confirmed(pair, binary).holds


def confirmed(pair: Pair, binary: nginx.Binary) -> Confirmation:
    """What nginx makes of the witness of a pair."""
    configs = [load_text(whole(text).encode(), "nginx.conf", missing_ok=True) for text in (pair.old, pair.new)]
    old, new = (SiteModel(config, Build(Version.of(binary.version))) for config in configs)
    result = verify(old, new)
    assert result.witness is not None, result.doubts
    return confirm(result.witness, (configs[0], old), (configs[1], new), binary)
