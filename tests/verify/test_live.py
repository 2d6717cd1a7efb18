"""Which variables `verify` takes for read before a script has set them."""

from __future__ import annotations

from nginxopt.verify.dataflow import Liveness
from nginxopt.verify.program import Compiler
from nginxopt.verify.side import VerifiedSide
from nginxopt.verify.symbols import Interner
from tests.rows import every_row
from tests.verify.pairs import whole
from tests.verify.test_verify import model

MATCH = r"if ($uri ~ ^/(?<k>a*)/(?<t>.*)$) { }"
READ = "if ($k = a) { return 200 $t; }"


def kept(script: str) -> frozenset[str]:
    """The variables of a server whose values count when its script is over."""
    site = model(whole(script)).site
    side = VerifiedSide(site, site.site, frozenset())
    definitions = Compiler(side, Interner()).definitions
    return Liveness((side, side), (definitions, definitions)).of(0, 0).kept & {"k", "t"}


@every_row(
    "script",
    [
        f"set $k ''; {MATCH} {READ}",
        f"set $k ''; {MATCH} set $t x; {READ}",
        f"set $k ''; {MATCH} if ($k) {{ return 200 $t; }}",
        f"set $k ''; {MATCH} if ($args) {{ set $x 1; }} {READ}",
        "set $K ''; if ($uri !~ ^/(?<k>a*)/(?<T>.*)$) { return 404; } if ($k = a) { return 200 $t; }",
        "if ($uri ~ ^/(?<t>.*)$) { return 200 $t; }",
        "set $t x; return 200 $t;",
    ],
)
def test_set_before(script: str) -> None:
    """A pattern has set all of its groups where one is not empty that was, and inside of its own block."""
    assert not kept(script)


@every_row(
    "script",
    [
        f"{MATCH} {READ}",
        f"set $k a; {MATCH} {READ}",
        f"set $k $args; {MATCH} {READ}",
        f"set $k ''; {READ} {MATCH}",
        f"set $k ''; {MATCH} set $k a; {READ}",
        f"set $k ''; {MATCH} if ($args) {{ set $k a; }} {READ}",
        f"set $k ''; {MATCH} if ($args ~ (?<k>a)) {{ }} {READ}",
        f"set $k ''; {MATCH} if ($args ~ x) {{ rewrite (?<k>a) /$k; }} {READ}",
        f"set $k ''; if ($args) {{ set $k a; }} {MATCH} {READ}",
        f"set $k ''; {MATCH} if ($k = '') {{ return 200 $t; }}",
        f"set $k ''; {MATCH} if ($k != a) {{ return 200 $t; }}",
        f"set $k ''; {MATCH} if ($k = $args) {{ return 200 $t; }}",
        f"set $k ''; {MATCH} if ($k ~ a) {{ return 200 $t; }}",
        f"set $k ''; {MATCH} return 200 $t;",
        f"map $args $m {{ ~(?<k>a) 1; }} server {{ listen 80; set $k ''; {MATCH} if ($m) {{ return 403; }} {READ} }}",
        "if ($uri !~ ^/(?<t>.*)$) { return 200 $t; }",
    ],
)
def test_not_set_before(script: str) -> None:
    """Where another statement, or none, may have set the group that is tested, the others may be those of before."""
    assert kept(script)
