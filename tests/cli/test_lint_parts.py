"""A part of a configuration: fixes that depend on the rest need a premise, and a note says why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

MAIN = "events {}\nhttp {\n    gzip on; gzip_types text/css; gzip_comp_level 9;\n    INCLUDE\n}\n"
FAST = MAIN.replace("level 9", "level 6")
LINT = ("lint", "--isolated", "--target-version", "1.28.0", "--select", "gzip-level")
NOTE = "may read other files where this is installed"
PREMISE = ("--assume", "whole-configuration")

# The include -> whether something else may be there, and whether the note is about it.
INCLUDES = {
    "the types of nginx": ("include /etc/nginx/mime.types;", False, False),
    "sites that are there": ("include sites/*.conf;", False, False),
    "sites that are not there": ("include conf.d/*.conf;", True, True),
    "an empty folder": ("include empty/*.conf;", True, True),
    "a folder of another machine": ("include /etc/none/conf.d/*.conf;", True, True),
    "files of this machine": ("include MACHINE/*.conf;", True, True),
    "a file of this machine": ("include MACHINE/a.conf;", True, True),
    "a file that is not there": ("include ssl.conf;", True, False),
    "a server with an include": ("server { location / { include none/*.conf; } }", True, True),
    "no include": ("", False, False),
}


@pytest.mark.parametrize("case", INCLUDES.values(), ids=INCLUDES)
def test_a_part_of_a_configuration(run: Any, tmp_path: Path, case: tuple[str, bool, bool]) -> None:
    """`--fix` writes what is safe whatever the rest is; the report names the premise, which applies the others."""
    include, is_part, is_noted = case
    for folder in ("repo/sites", "repo/empty", "machine"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("repo/sites/a.conf", "machine/a.conf"):
        (tmp_path / file).write_text("server { listen 127.0.0.1:8080; }\n")
    include = include.replace("MACHINE", str(tmp_path / "machine"))
    main = tmp_path / "repo/nginx.conf"
    main.write_text(MAIN.replace("INCLUDE", include))
    output = run(*LINT, str(main)).out.decode()
    assert ("--assume whole-configuration" in output) is is_part
    assert output.count(NOTE) == is_noted
    run(*LINT, str(main), "--fix")
    assert main.read_text() == (MAIN if is_part else FAST).replace("INCLUDE", include)
    assert NOTE not in run(*LINT, str(main), "--fix", *PREMISE).out.decode()
    assert main.read_text() == FAST.replace("INCLUDE", include)


def test_the_note_counts_the_includes(run: Any, tmp_path: Path) -> None:
    """There is one note for each configuration, however many includes it has; folders with modules are no matter."""
    main = tmp_path / "nginx.conf"
    includes = "include a/*.conf; include b/*.conf; include /none/c/*; server { include d/*; }"
    main.write_text("include /etc/none/modules-enabled/*.conf;\n" + MAIN.replace("INCLUDE", includes))
    output = run(*LINT, str(main)).out.decode()
    assert f"a/*.conf and 3 other includes match no file here and {NOTE}" in output
    assert output.count(NOTE) == 1
    assert "note /etc/none/modules-enabled/*.conf matches no file here\n" in output


TEMPLATE = MAIN.replace("INCLUDE", "{{ extra }}")


def test_a_tag_may_stand_for_anything(run: Any, tmp_path: Path) -> None:
    """A tag in the place of directives is what was not read, one in a branch as well."""
    main = tmp_path / "nginx.conf.j2"
    for text in (TEMPLATE, TEMPLATE.replace("{{ extra }}", "{% if x %}\ninclude none/*.conf;\n{% endif %}")):
        main.write_text(text)
        run(*LINT, str(main), "--fix")
        assert main.read_text() == text
        run(*LINT, str(main), "--fix", *PREMISE)
        assert main.read_text() == text.replace("level 9", "level 6")


def test_nothing_is_called_missing_that_may_be_elsewhere(run: Any, tmp_path: Path) -> None:
    """What another file may set is not missing: findings about it are for configurations that were read."""
    main = tmp_path / "nginx.conf"
    site = "server { listen 80; server_name www.shop.example; root /srv/www; }"
    rules = ("lint", "--isolated", "--target-version", "1.28.0", "--select", "gzip-missing,server-tokens,zone-unused")
    zone = "limit_req_zone $uri zone=a:1m rate=9r/s;"
    for include, found in ((site, 3), (f"include conf.d/*.conf; {site}", 0)):
        main.write_text(f"events {{}}\nhttp {{ {zone} {include} }}\n")
        for options, expected in (((), found), (PREMISE, 3)):
            output = run(*rules, str(main), *options).out.decode()
            assert sum(output.count(f" {rule} ") for rule in rules[-1].split(",")) == expected
