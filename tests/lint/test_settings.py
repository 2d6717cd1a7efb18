"""Settings: the values of a file, the place of an error, and which file is used."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt import budget
from nginxopt.errors import InputError, UsageError
from nginxopt.format import IndentStyle
from nginxopt.lint import IDLE_CONNECTIONS, Severity
from nginxopt.settings import file
from nginxopt.settings import file as settings
from nginxopt.settings.file import Settings
from nginxopt.settings.vocabulary import CATEGORIES, PREMISES
from nginxopt.text import Source
from nginxopt.version import Version
from tests.lint.sample_rules import RULES
from tests.rows import every_row


def read(text: str | bytes, name: str = "nginxopt.toml") -> Settings:
    """The settings that a text says."""
    return settings.read(Source(name, text if isinstance(text, bytes) else text.encode()), RULES)


EVERY_KEY = """
rules = ["checks"]
select = ["proxy", "all"]
extend-select = ["cache-stampede"]
ignore = ["gzip-level"]
assume = ["idle-connections"]
target-version = "1.22.1"
paths = ["conf/nginx.conf", "/etc/nginx"]
exclude = ["vendor", "**/*.bak"]
prefix = "conf"
main = "nginx.conf"
fail-on = "warning"
baseline = "baseline.json"

[severity]
gzip-level = "info"

[per-file-ignores]
"sites/*.conf" = ["proxy", "gzip-level"]

[context]
"locations/**" = "server"

[format]
indent-width = 2
indent-style = "tab"
"""


def test_every_key_is_read() -> None:
    """A file with every key sets every field; paths are relative to its folder, patterns are not."""
    assert read(EVERY_KEY, "etc/nginxopt.toml") == Settings(
        rules=("etc/checks",),
        select=("proxy", "all"),
        extend_select=("cache-stampede",),
        ignore=("gzip-level",),
        severity={"gzip-level": Severity.INFO},
        assume=frozenset([IDLE_CONNECTIONS]),
        per_file_ignores={"sites/*.conf": ("proxy", "gzip-level")},
        target_version=(Version(1, 22, 1),),
        paths=("etc/conf/nginx.conf", "/etc/nginx"),
        exclude=("vendor", "**/*.bak"),
        prefix="etc/conf",
        main="etc/nginx.conf",
        fail_on=Severity.WARNING,
        context={"locations/**": ("http", "server")},
        baseline="etc/baseline.json",
        format=IndentStyle(width=2, tabs=True),
        origin=Path("etc/nginxopt.toml"),
    )


def test_one_target_version_or_several() -> None:
    """`target-version` may be one version or several, in any order."""
    assert read('target-version = "1.22.1"').target_version == (Version(1, 22, 1),)
    several = read('target-version = ["1.28.0", "1.22.1", "1.28"]')
    assert several.target_version == (Version(1, 22, 1), Version(1, 28, 0))


def test_the_keys_are_the_fields() -> None:
    """Every field but the origin has a key, every key a field."""
    assert [key.replace("-", "_") for key in settings.KEYS] == [
        field.name for field in fields(Settings) if field.name != "origin"
    ]


def test_an_empty_file_sets_nothing() -> None:
    """An empty file leaves every default."""
    assert read("# nothing\n") == replace(Settings(), origin=Path("nginxopt.toml"))


def test_pyproject_has_a_table() -> None:
    """In a pyproject.toml the settings are a table, whatever else is in the file."""
    text = (
        '[project]\nname = "x"\n\n[tool.nginxopt]\nignore = ["proxy"]\n[tool.nginxopt.severity]\ngzip-level = "error"\n'
    )
    settings_ = read(text, "pyproject.toml")
    assert (settings_.ignore, settings_.severity) == (("proxy",), {"gzip-level": Severity.ERROR})


SIMILAR = 'did you mean "indent-width"?'

# What is wrong, the place of the error, what is marked there, what is said, and what helps.
ERRORS = [
    ("selct = []", "1:1", "selct", 'unknown setting "selct"', 'did you mean "select"?'),
    ("origin = 'x'", "1:1", "origin", 'unknown setting "origin"', None),
    ("zzz = 1", "1:1", "zzz", 'unknown setting "zzz"', None),
    ('"selct" = []', "1:1", '"selct"', 'unknown setting "selct"', 'did you mean "select"?'),
    ("[format]\nindent = 2", "2:1", "indent", 'unknown setting "indent"', None),
    ("[format]\nindent-widht = 2", "2:1", "indent-widht", 'unknown setting "indent-widht"', SIMILAR),
    ("[format]\nindent-width = 0", "2:1", "indent-width", "invalid width of indentation", None),
    ("[format]\nindent-width = true", "2:1", "indent-width", "invalid width of indentation", None),
    ("[format]\nindent-style = 'tabs'", "2:1", "indent-style", 'unknown indentation "tabs"', None),
    ("format = 4", "1:1", "format", '"format" has a value of the wrong type', None),
    ("select = 3", "1:1", "select", '"select" has a value of the wrong type', None),
    ("select = 'proxy'", "1:1", "select", '"select" has a value of the wrong type', None),
    ("select = ['proxy', 3]", "1:20", "3", 'an item of "select" has a value of the wrong type', None),
    ("\nignore = [ # not 'cash'\n  'proxy',\n\n  'cash'\n]", "5:3", "'cash'", '"cash"', 'did you mean "cache"?'),
    ('ignore = ["proxy", "keepalive-mising"]', "1:20", '"keepalive-mising"', "", 'did you mean "keepalive-missing"?'),
    ('ignore = ["cach\\u0065s"]', "1:1", 'ignore = ["cach\\u0065s"]', '"caches"', 'did you mean "cache"?'),
    ('[severity]\ngzip-levle = "error"', "2:1", "gzip-levle", "unknown rule", 'did you mean "gzip-level"?'),
    ('[severity]\nclient = "error"', "2:1", "client", 'unknown rule "client"', None),
    ('[severity]\ngzip-level = "warn"', "2:1", "gzip-level", 'unknown severity "warn"', 'did you mean "warning"?'),
    ('severity = {gzip-level = "eror"}', "1:13", "gzip-level", 'unknown severity "eror"', 'did you mean "error"?'),
    ('severity.gzip-level = "off"', "1:10", "gzip-level", 'unknown severity "off"', None),
    ('severity = "error"', "1:1", "severity", '"severity" has a value of the wrong type', None),
    ('[[severity]]\nx = "error"', "1:3", "severity", '"severity" has a value of the wrong type', None),
    ("[per-file-ignores]\n'a.conf' = ['proxi']", "2:13", "'proxi'", '"proxi"', 'did you mean "proxy"?'),
    ("[per-file-ignores]\n'a.conf' = 'proxy'", "2:1", "'a.conf'", '"a.conf" has a value of the wrong type', None),
    ("target-version = 1.22", "1:1", "target-version", "wrong type", None),
    ("target-version = ['1.22.1', 'new']", "1:29", "'new'", "'new' is not an nginx version", "for example 1.22.1"),
    ("target-version = '0.8'", "1:1", "target-version", "not know nginx 0.8", "use a version 1.x, such as 1.22.1"),
    ("target-version = 'new'", "1:1", "target-version", "'new' is not an nginx version", "for example 1.22.1"),
    ("paths = ['']", "1:10", "''", '"paths" is empty', None),
    ('baseline = "a\\u0000b"', "1:1", "baseline", '"baseline" has a NUL', None),
    ('rules = ["a\\u0000b"]', "1:1", None, "has a NUL", None),
    (f"target-version = '1.{'9' * 5_000}'", "1:1", "target-version", "is not an nginx version", None),
    ("fail-on = 'never'", "1:1", "fail-on", 'unknown severity "never"', None),
    ("[context]\n'x/*' = 'sever'", "2:1", "'x/*'", "unknown context 'sever'", None),
    ("prefix = ''", "1:1", "prefix", '"prefix" is empty', None),
    ("baseline = ['x']", "1:1", "baseline", "wrong type", None),
    ("a = 1\nselect = [", "2:11", "", "invalid TOML: ", None),
    ("ä = 1", "1:1", "ä", "invalid TOML: ", None),
    ("a = " + "[" * 10_000, "1:1", "a", "invalid TOML: Nested too deeply", None),
    ("a = " + "1" * 5_000, "1:1", "a", "invalid TOML: Integer with too many digits", None),
    ("paths = 'ä' x", "1:13", "x", "invalid TOML: ", None),
    ("fail-on = 'error'\r\nfail-on = 'info'\r\n", "2:17", "", "invalid TOML: ", None),
    (b"paths = ['\xff']", "1:11", None, "invalid UTF-8", None),
]


@every_row(("text", "place", "marked", "message", "hint"), ERRORS)
def test_an_error_has_its_place(
    text: str | bytes, place: str, marked: str | None, message: str, hint: str | None
) -> None:
    """An invalid setting is an error with file, line and column, and a suggestion if there is one."""
    with pytest.raises(InputError) as caught:
        read(text)
    error = caught.value
    assert error.render().startswith(f"nginxopt.toml:{place}: ")
    assert message in error.message
    assert error.source is not None
    assert error.span is not None
    assert marked is None or error.source.text(error.span).strip() == marked
    assert hint is None or (error.hint or "").startswith(hint)


def test_the_place_is_that_of_the_table_meant() -> None:
    """An error in a pyproject.toml points to the table of nginxopt, not to an equal key of another tool."""
    text = '[tool.ruff]\nselct = ["selct"]\n[tool.nginxopt]\nignore = []\nselct = []\n[tool.more]\nselct = 1\n'
    with pytest.raises(InputError) as caught:
        read(text, "pyproject.toml")
    assert caught.value.render().startswith("pyproject.toml:5:1: ")


@pytest.mark.parametrize("text", ["[tool]\nnginxopt = 3\n", "[[tool.nginxopt]]\n"])
def test_the_table_must_be_one(text: str) -> None:
    """`tool.nginxopt` that is not a table is an error at its name."""
    with pytest.raises(InputError) as caught:
        read(text, "pyproject.toml")
    assert caught.value.source is not None
    assert caught.value.span is not None
    assert caught.value.source.text(caught.value.span) == "nginxopt"


NAMES = st.sampled_from([*RULES, *CATEGORIES, "all"])
SEVERITIES = st.sampled_from(Severity)
WORDS = st.text("aä*./'\"\\\n[]=#{} -", min_size=1).filter(lambda text: not text.startswith("/"))
VERSIONS = st.builds(Version, st.just(1), *[st.integers(0, 99)] * 2)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, object]:
    """A file of settings as data."""
    values = {
        "rules": st.lists(WORDS),
        "select": st.lists(NAMES),
        "extend-select": st.lists(NAMES),
        "ignore": st.lists(NAMES),
        "severity": st.dictionaries(st.sampled_from(list(RULES)), SEVERITIES.map(str)),
        "per-file-ignores": st.dictionaries(WORDS, st.lists(NAMES)),
        "target-version": st.lists(VERSIONS, min_size=1, unique=True).map(
            lambda names: [str(diagnostic) for diagnostic in sorted(names)]
        ),
        "assume": st.lists(st.sampled_from(sorted(PREMISES))),
        "paths": st.lists(WORDS),
        "exclude": st.lists(WORDS),
        "include": st.dictionaries(WORDS.map(lambda path: f"/{path}"), WORDS),
        "prefix": WORDS,
        "main": WORDS,
        "fail-on": SEVERITIES.map(str),
        "context": st.dictionaries(WORDS, st.sampled_from(["http", "http,server", "http,server,if"])),
        "baseline": WORDS,
        "format": st.fixed_dictionaries(
            {"indent-width": st.integers(1, 16), "indent-style": st.sampled_from(["space", "tab"])}
        ),
        "budget": st.dictionaries(st.sampled_from(list(budget.LIMITS)), st.integers(1, budget.LARGEST_LIMIT)),
    }
    assert values.keys() == settings.KEYS.keys()
    return draw(st.fixed_dictionaries({}, optional=values))


def as_toml(value: object) -> str:
    """A value as TOML writes it: a string as JSON does, a table inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{as_toml(key)} = {as_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def as_data(settings_: Settings) -> dict[str, object]:
    """The keys that are not at their defaults, as data."""
    keys: dict[str, object] = {}
    for key in settings.KEYS:
        value = getattr(settings_, key.replace("-", "_"))
        if value == getattr(Settings(), key.replace("-", "_")):
            continue
        keys[key] = _plain(key, value)
    return keys


def _plain(key: str, value: object) -> object:
    if isinstance(value, frozenset):
        return sorted(premise.name for premise in value)
    if isinstance(value, tuple):
        return ",".join(value) if key == "context" else [str(item) for item in value]
    if isinstance(value, IndentStyle):
        return {"indent-width": value.width, "indent-style": "tab" if value.tabs else "space"}
    if hasattr(value, "items"):
        return {name: _plain(key, inner) for name, inner in value.items()}
    return value if isinstance(value, int) and not isinstance(value, Severity) else str(value)


@given(documents())
def test_settings_round_trip(document: dict[str, object]) -> None:
    """A generated file is read back with all its values and no others."""
    text = "".join(f"{key} = {as_toml(value)}\n" for key, value in document.items())
    once = read(text)
    again = read("".join(f"{key} = {as_toml(value)}\n" for key, value in as_data(once).items()))
    assert again == once
    untouched = ("select", "extend-select", "ignore", "severity", "per-file-ignores", "exclude", "target-version")
    assert {key: as_data(once).get(key, document[key]) for key in untouched if key in document} == {
        key: document[key] for key in untouched if key in document
    }


@given(documents(), st.data())
def test_a_wrong_name_is_found_where_it_is_written(document: dict[str, object], data: st.DataObject) -> None:
    """The error points to an unknown name, whatever else the file contains and however it is quoted."""
    written = data.draw(st.sampled_from(['"no-such-rule"', "'no-such-rule'"]))
    before = data.draw(st.lists(NAMES))
    document = {key: value for key, value in document.items() if key != "ignore"}
    lines = [f"{key} = {as_toml(value)}\n" for key, value in document.items()]
    broken = "ignore = [" + "".join(f"{json.dumps(name)}, # no-such-rule\n" for name in before) + f"{written}]\n"
    lines.insert(data.draw(st.integers(0, len(lines))), broken)
    with pytest.raises(InputError) as caught:
        read("".join(lines))
    assert caught.value.source is not None
    assert caught.value.span is not None
    assert caught.value.source.text(caught.value.span) == written
    assert caught.value.span.start == "".join(lines).encode().index(f"{written}]".encode())


def folder_with(folder: Path, files: dict[str, str]) -> Path:
    """Write files into a folder, which stands for a repository."""
    for name, text in {".git/HEAD": "", **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


FROM_A, FROM_B = 'ignore = ["proxy"]\n', 'ignore = ["cache"]\n'
IN_PYPROJECT = '[tool.nginxopt]\nignore = ["client"]\n'

FOUND = [
    ({"nginxopt.toml": FROM_A}, ("proxy",), "../../nginxopt.toml"),
    ({"a/nginxopt.toml": FROM_A, "nginxopt.toml": FROM_B}, ("proxy",), "../nginxopt.toml"),
    ({"a/b/pyproject.toml": IN_PYPROJECT, "nginxopt.toml": FROM_B}, ("client",), "pyproject.toml"),
    ({"a/b/pyproject.toml": IN_PYPROJECT, "a/b/nginxopt.toml": FROM_B}, ("cache",), "nginxopt.toml"),
    ({"a/b/pyproject.toml": "[tool.ruff]\n", "nginxopt.toml": FROM_B}, ("cache",), "../../nginxopt.toml"),
    ({"a/b/pyproject.toml": "no TOML", "nginxopt.toml": FROM_B}, ("cache",), "../../nginxopt.toml"),
    ({"a/b/pyproject.toml": 'a = "nginxopt"\n', "nginxopt.toml": FROM_B}, ("cache",), "../../nginxopt.toml"),
    ({"a/.git": "gitdir: elsewhere", "nginxopt.toml": FROM_B}, (), None),
    ({}, (), None),
]


@pytest.mark.parametrize(("files", "ignore", "origin"), FOUND)
def test_the_nearest_file_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], ignore: tuple[str, ...], origin: str | None
) -> None:
    """The search goes upwards to the folder with `.git`, and stops at the first file."""
    inner = folder_with(tmp_path, {**files, "a/b/nginx.conf": ""}) / "a" / "b"
    monkeypatch.chdir(inner)
    loaded = settings.load(RULES)
    assert (loaded.ignore, loaded.origin) == (ignore, None if origin is None else Path(origin))
    assert settings.load(RULES, isolated=True) == Settings()


def test_a_file_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`config` uses a file of any name, with paths relative to its folder."""
    monkeypatch.chdir(folder_with(tmp_path, {"nginxopt.toml": FROM_A, "ci/strict.toml": 'paths = ["x.conf"]\n'}))
    loaded = settings.load(RULES, config="ci/strict.toml")
    assert (loaded.ignore, loaded.paths, loaded.folder) == ((), ("ci/x.conf",), Path("ci"))


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    """A file that is named and cannot be read, or has no settings, is an error; so are two contrary options."""
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        settings.load(RULES, config=tmp_path / "missing.toml")
    with pytest.raises(InputError, match=r"has no table \[tool.nginxopt\]"):
        settings.load(RULES, config=tmp_path / "pyproject.toml")
    with pytest.raises(UsageError, match="cannot be used together"):
        settings.load(RULES, config="x", isolated=True)


def test_a_broken_file_nearby_is_no_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pyproject.toml that speaks of nginxopt and is no TOML is an error, not passed over."""
    monkeypatch.chdir(folder_with(tmp_path, {"pyproject.toml": "[tool.nginxopt\n"}))
    with pytest.raises(InputError, match="invalid TOML"):
        settings.load(RULES)


def test_patterns_tell_files_apart() -> None:
    """`exclude`, `per-file-ignores` and `context` are asked by the path of a file, relative to the settings."""
    settings_ = read(EVERY_KEY, "etc/nginxopt.toml")
    assert settings_.excludes("etc/vendor/deep/x.conf")
    assert settings_.excludes("etc/a/b/x.bak")
    assert not settings_.excludes("vendor/x.conf")
    assert settings_.ignored_in("etc/sites/x.conf") == {"proxy", "gzip-level"}
    assert settings_.ignored_in("etc/sites/deep/x.conf") == set()
    assert settings_.context_of(Path("etc/locations/a/b.conf")) == ("http", "server")
    assert settings_.context_of("etc/x.conf") is None


def test_a_long_pattern_is_matched_step_by_step() -> None:
    """Any number of `**` is neither recursion nor an exponential search."""
    many = "**/" * 2_000
    deep = "a/" * 60 + "x.conf"
    assert file.matches(deep, [f"{many}x.conf"], ".")
    assert not file.matches(deep, [f"{many}y.conf"], ".")
    assert not file.matches(deep, ["**/a/" * 30 + "y.conf"], ".")
    assert not file.matches("a", ["a/**", "b/**/a"], ".")
    assert file.matches("a/b/c", ["a/**", "**/b"], ".")


def test_the_first_context_counts() -> None:
    """Of several patterns that fit a file, the first says its context."""
    settings_ = read('[context]\n"**/a.conf" = "server"\n"*.conf" = "location"\n')
    assert settings_.context_of("a.conf") == ("http", "server")
    assert settings_.context_of("b.conf") == ("http", "server", "location")


@given(st.one_of(st.binary(), st.tuples(st.integers(0, len(EVERY_KEY)), st.sampled_from("[]{}\"'=,.#\n\t a3\\"))))
def test_whatever_is_damaged_has_a_place(damage: bytes | tuple[int, str]) -> None:
    """A file with a wrong character, or of any bytes, is read or is an error that can be shown."""
    data = damage if isinstance(damage, bytes) else f"{EVERY_KEY[: damage[0]]}{damage[1]}{EVERY_KEY[damage[0] :]}"
    message = ""
    try:
        read(data)
    except InputError as error:
        message = error.render()
    assert re.match(r"$|nginxopt\.toml:\d+:\d+: .", message)


def test_an_unknown_premise_is_found_where_it_is_written() -> None:
    """A premise that there is not is an error with its place, and with what was meant."""
    with pytest.raises(InputError) as caught:
        read('assume = ["idle-connection"]\n')
    assert caught.value.message == 'unknown premise "idle-connection"'
    assert caught.value.hint == 'did you mean "idle-connections"?'
