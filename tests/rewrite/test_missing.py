"""Missing includes: unknown text between the rules, what the proof takes as given of it, and what stays certain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nginxopt.config import Config, load, load_text
from nginxopt.rewrite import Emission, Options, emit, plan, premises, prove
from nginxopt.rewrite.premises import (
    LONG_SUBJECTS,
    MISSING_SIZES,
    OWN_NAMES,
    PCRE_INTERPRETER,
    SERVER_INCLUDES,
    RewritePremise,
)
from tests.rows import every_row

RULES = "rewrite ^/a$ /to/a permanent;\nrewrite ^/b$ /to/b permanent;\n"
MORE_RULES = "rewrite ^/c$ /to/c permanent;\nrewrite ^/(d|e)$ /to/$1 permanent;\n"
LONG = f"rewrite ^/{'x' * 60}$ /to/x permanent;\n"
"""A key that is longer than nginx's own buckets."""
SPARING = "(?<m_rest>.+)"
"""What guards a list whose rules must leave `$1` to `$9` as a rule that fails does."""


def site(*, main: str = "", http: str = "", server: str = RULES, block: str = "events {}") -> str:
    """A whole configuration; each part may include files that are not there."""
    return f"{main}\n{block}\nhttp {{\n    access_log off;\n{http}\n    server {{\n{server}\n    }}\n}}\n"


def read(text: str, folder: Path | None = None, **files: str) -> Config:
    """A configuration with the files that are there; all others are missing."""
    if folder is None:
        return load_text(text.encode(), "/nowhere/nginx.conf", missing_ok=True)
    for name, data in {"nginx": text, **files}.items():
        (folder / f"{name}.conf").write_text(data)
    return load(folder / "nginx.conf", missing_ok=True)


def emitted(config: Config) -> Emission:
    """What a configuration becomes, which is proved."""
    emission = emit(plan(config, Options(name="m")))
    proof = prove(emission)
    assert proof.holds, proof.refutation
    assert proof.premises == premises.of(emission.plan)
    return emission


def after(emission: Emission) -> str:
    """The main file afterwards."""
    return emission.after(emission.plan.config.main).decode()


@every_row(
    ("text", "expected"),
    [
        (site(), ()),
        (site(http="include mime.types;"), (OWN_NAMES, MISSING_SIZES)),
        (site(http="types { include mime.types; }"), (OWN_NAMES, MISSING_SIZES)),
        (site(http="include conf.d/*.conf;"), (OWN_NAMES, MISSING_SIZES)),
        (site(server=f"{RULES} location / {{ include /etc/none/*.conf; }}"), (OWN_NAMES, MISSING_SIZES)),
        (site(block="events { include more/*.conf; }"), ()),
        (site(server=f"{RULES} location / {{ include fastcgi_params; }}"), (OWN_NAMES, MISSING_SIZES)),
        (site(main="include modules.conf;"), (OWN_NAMES, MISSING_SIZES, PCRE_INTERPRETER)),
        (site(http="large_client_header_buffers 4 64k;"), ()),
        (site(http="large_client_header_buffers 4 65k;"), (LONG_SUBJECTS,)),
        (site(server=f"{RULES} client_header_buffer_size 1m;"), (LONG_SUBJECTS,)),
        (site(block="events { include more.conf; }"), ()),
        (site(block="events {} stream { include streams.conf; server { include more.conf; } }"), ()),
        (site(block="events {} mail { include mail.conf; }"), ()),
    ],
)
def test_premises_of_missing_files(text: str, expected: tuple[RewritePremise, ...]) -> None:
    """A missing file of HTTP is a matter of premises, of JIT only at the main level; one of another module is none."""
    emission = emitted(read(text))
    assert premises.of(emission.plan) == expected
    assert all(str(premise).encode() in emission.maps for premise in expected)
    assert (SPARING in after(emission)) == (OWN_NAMES in expected), "captures may be read there"


def test_a_file_of_rules_may_be_included_by_what_is_missing(tmp_path: Path) -> None:
    """In a location its `if` would be wrong: a premise, unless they stand in a block of the file or in a location."""
    missing = "    include missing.conf;"
    rules = read(site(http=missing, server="include rules.conf;"), tmp_path, rules=RULES)
    assert SERVER_INCLUDES in premises.of(emitted(rules).plan)
    known = read(site(server="include rules.conf;"), tmp_path, rules=RULES)
    assert SERVER_INCLUDES not in premises.of(emitted(known).plan)
    block = read(site(http=f"{missing} include rules.conf;", server=""), tmp_path, rules=f"server {{ {RULES} }}")
    assert SERVER_INCLUDES not in premises.of(emitted(block).plan)
    location = read(site(http=missing, server="location / { include rules.conf; }"), tmp_path, rules=RULES)
    assert SERVER_INCLUDES not in premises.of(emitted(location).plan)
    fragment = load_text(b"server { include rules.conf; }", str(tmp_path / "site.conf"))
    assert SERVER_INCLUDES in premises.of(emitted(fragment).plan)


UNKNOWN = ["nobody_knows this;", "rewrite ^/b$ /c; my_module on;", "return 200; ssi on;", "content_by_lua_file x.lua;"]


@every_row("hostile", UNKNOWN)
@every_row(
    "server",
    [
        f"{RULES} include part.conf;\n {MORE_RULES}",
        f"include part.conf;\n {RULES}{MORE_RULES}",
        f"{RULES}{MORE_RULES} include part.conf;",
        f"location / {{ {RULES} include part.conf;\n {MORE_RULES} }}",
        f"{RULES} location / {{ include part.conf;\n {MORE_RULES} }}",
        f"if ($host) {{ include part.conf;\n }} {RULES}",
    ],
)
def test_a_missing_file_is_compiled_as_a_hostile_one(tmp_path: Path, server: str, hostile: str) -> None:
    """Whatever script is unknown, the result is the one for a file that is there and reads all that it can."""
    missing = emitted(read(site(server=server), tmp_path))
    there = emitted(read(site(server=server), tmp_path, part=hostile))
    assert after(missing) == after(there)
    stated = [str(premise) for premise in premises.of(missing.plan)]
    lines = [line for line in missing.maps.decode().splitlines() if not any(size in line for size in stated)]
    assert lines == there.maps.decode().splitlines()


@every_row(
    ("http", "expected"),
    [
        ("include mime.types;", "include mime.types;\n{};"),
        ("include a.conf; include b.conf;", "include b.conf;\n{};"),
        ("include a.conf; map $a $b { x y; } include b.conf;", "include a.conf;\n{};"),
        ("map $a $b { x y; } include a.conf;", "http {{\n    {};"),
        ("include there.conf; gzip on;", "include there.conf;\n{};"),
        ("include a.conf;\n    map_hash_max_size 4096;", "map_hash_max_size 4096;\n    {};"),
        ("map_hash_max_size 4096;\n    include a.conf;", "include a.conf;\n    {};"),
        ("include sizes.conf; include a.conf;", "include a.conf;\n{};"),
        ("include a.conf; include sizes.conf;", "include sizes.conf;\n{};"),
        ("upstream u { include a.conf; }", "map_hash_bucket_size 512;\n    {};"),
        ("include none/*.conf; gzip on;", "include none/*.conf;\n{};"),
        ("include /none/nginx/*.conf;", "include /none/nginx/*.conf;\n{};"),
    ],
)
def test_the_maps_stand_behind_missing_sizes(tmp_path: Path, http: str, expected: str) -> None:
    """A missing file may set the sizes of maps, which nginx takes before the first map only; none are set then."""
    files = {"there": "include deeper.conf;", "sizes": "map_hash_bucket_size 128;"}
    text = after(emitted(read(site(http=http), tmp_path, **files)))
    assert expected.format("include m.conf") in text, text
    if "upstream" not in http:
        assert "map_hash" not in text.replace(http, "")


def test_sizes_that_maps_need_are_set_first(tmp_path: Path) -> None:
    """Larger sizes than nginx's are set where needed; the premise is that no missing file sets them."""
    emission = emitted(read(site(http="    include mime.types;", server=RULES + LONG), tmp_path))
    assert "http {\n    map_hash_max_size 16384;\n    map_hash_bucket_size 512;\n    include m.conf;\n" in after(
        emission
    )
    assert MISSING_SIZES in premises.of(emission.plan)


@pytest.mark.parametrize("http", ["    include there.conf;\n", "    include a.conf;\n", "    include sizes.conf;\n"])
def test_maps_before_an_include_that_may_lead_to_sizes(tmp_path: Path, http: str) -> None:
    """They are refuted, whether the missing file is included here or by a file that is there; so are known sizes."""
    files = {"there": "include deeper.conf;", "sizes": "map_hash_bucket_size 128; include deeper.conf;"}
    right = emitted(read(site(http=http), tmp_path, **files))
    change = right.changes[0]
    first = change.after.replace(b"include m.conf;", b"").replace(b"http {", b"http {\n    include m.conf;\n", 1)
    proof = prove(replace(right, changes=(replace(change, after=first),)))
    assert not proof.holds
    assert "may" in (proof.refutation or "")
    assert "set" in (proof.refutation or "")
    assert "after the maps" in (proof.refutation or "")
