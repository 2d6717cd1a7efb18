"""Inheritance as far as the configuration was read: nothing is guessed, and each inclusion of a file is separate."""

from __future__ import annotations

from nginxopt.lint import Model
from nginxopt.semantics import FRAGMENT, Level, levels
from nginxopt.version import Version
from tests.lintrules import TARGET, configuration
from tests.rows import every_row


def innermost(texts: dict[str, bytes]) -> Level:
    """The last level of a configuration, in the order of reading."""
    return list(levels(configuration(texts), TARGET).walk())[-1]


# Where `gzip` and `add_header` are asked for, and whether each is known, and set, there.
CASES = {
    "set here": (b"http { server { gzip on; add_header a b; } }", (True, True), (True, True)),
    "set outside": (b"http { gzip on; add_header a b; server { } }", (True, True), (True, True)),
    "set nowhere": (b"http { server { } }", (True, False), (True, False)),
    "perhaps in a file that is missing": (b"http { include none; server { } }", (False, False), (False, False)),
    "set outside of a missing file": (b"http { gzip on; server { include none; } }", (False, False), (False, False)),
    "set before a missing file": (
        b"http { gzip on; add_header a b; include none; server { } }",
        (True, True),
        (False, True),
    ),
    "mime.types are types": (b"http { include conf/mime.types; server { } }", (True, False), (True, False)),
    "no file matches here": (b"http { include none/*.conf; server { } }", (False, False), (False, False)),
    "folders with modules": (b"include modules/*.conf; http { server { } }", (True, False), (True, False)),
    "a fragment": (b"server { }", (False, False), (False, False)),
    "set in a fragment": (b"server { gzip on; add_header a b; }", (True, True), (True, True)),
    "in a block that nginx does not allow there": (
        b"http { upstream a { server { } } }",
        (False, False),
        (False, False),
    ),
    "inside of blocks that are no place of it": (b"http { gzip on; upstream a { } }", (True, False), (True, False)),
}


@every_row(("text", "single", "several"), CASES.values(), ids=CASES.keys())
def test_what_is_known(text: bytes, single: tuple[bool, bool], several: tuple[bool, bool]) -> None:
    """A value is known if all that could set it was read; of a list all must have been read that could add to it."""
    level = innermost({"nginx.conf": text})
    assert [(setting.known, setting.is_set) for setting in (level.setting("gzip"), level.setting("add_header"))] == [
        single,
        several,
    ]
    for setting in (level.setting("gzip"), level.setting("add_header")):
        assert setting.is_unset == (setting.known and not setting.is_set)
        assert (setting.value is None) == (not setting.known or (setting.is_unset and setting.default is None))


def test_types_may_be_in_a_file_that_was_not_read() -> None:
    """Of `mime.types` it is known that it has types, but not which."""
    level = innermost({"nginx.conf": b"http { include mime.types; server { } }"})
    assert not level.setting("types").known
    assert Model(configuration({"nginx.conf": b"http { include mime.types; }"}), TARGET).is_whole is False


def test_a_file_is_read_in_each_of_its_places() -> None:
    """A file that is read twice has a source for each reading, of the file that was read; one read once is itself."""
    config = configuration(
        {
            "nginx.conf": b"http { gzip off; server { include t; } include v; include u; }",
            "v": b"server { gzip on; include s; include t; }",
            "s": b"location /s { }",
            "t": b"location /t { include s; rewrite a b; }",
            "u": b"server { }",
        }
    )
    locations = [level for level in levels(config, TARGET).walk() if level.kind == "location"]
    files = {file.path: file.source for file in config.files}
    assert [str(level.args[0]) for level in locations] == ["/t", "/s", "/s", "/t", "/s"]
    assert [level.setting("gzip").value for level in locations] == ["off", "off", "on", "on", "on"]
    sources = [level.source for level in locations]
    assert len(set(sources)) == 5
    assert [source and source.original for source in sources] == [files[name] for name in ("t", "s", "s", "t", "s")]
    for level in locations:
        assert level.opener
        assert level.opener.source is level.source
        assert all(directive.source is level.source for directive in level.own("rewrite"))
        assert [config.included(directive) for directive in level.own("include")] == [(config.file("s"),)] * len(
            level.own("include")
        )
    (last,) = [level for level in levels(config, TARGET).walk() if level.source is files["u"]]
    assert last.kind == "server"
    assert [config.times(file) for file in config.files] == [1, 2, 3, 1, 1]


CONTEXTS = [
    (b"gzip on;", FRAGMENT, True),
    (b"location / { }", FRAGMENT, True),
    (b"ssl_buffer_size 4k; server_tokens on; types_hash_max_size 1; root a; listen 80;", "server", True),
    (b"http { }", "main", False),
    (b"events { }", "main", False),
    (b"unknown;", FRAGMENT, True),
]


@every_row(("text", "kind", "is_open"), CONTEXTS)
def test_the_outermost_level(text: bytes, kind: str, is_open: bool) -> None:
    """A whole configuration begins at the top; of a fragment, what is around it is unknown."""
    level = levels(configuration({"nginx.conf": text}), Version(1, 28, 0))
    assert (level.kind, level.is_open) == (kind, is_open)
    assert Model(configuration({"nginx.conf": text}), TARGET).is_whole == (not is_open)


@every_row(
    ("server", "location", "values"),
    [
        ("", "", ["A"]),
        ("", "add_header B 1;", ["B"]),
        ("add_header_inherit merge;", "add_header B 1;", ["B", "A"]),
        ("add_header_inherit off;", "", []),
        ("add_header_inherit off;", "add_header B 1;", ["B"]),
        ("add_header_inherit off;", "add_header_inherit on;", ["A"]),
    ],
)
def test_headers_in_force(server: str, location: str, values: list[str]) -> None:
    """Headers and trailers are in force as `add_header_inherit` says, which is inherited itself."""
    for name in ("add_header", "add_trailer"):
        text = f"http {{ server {{ add_header A 1; {server} location / {{ {location} }} }} }}".replace(
            "add_header", name
        )
        setting = innermost({"nginx.conf": text.encode()}).headers(name)
        assert setting.known
        assert [directive.args[0] for directive in setting.directives] == values
