"""Rules from outside of nginxopt: how they are found, what they may not be, and what becomes of their errors."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nginxopt.config import Config, load_text
from nginxopt.errors import InputError, InternalError, RuleError
from nginxopt.lint.catalogue import Catalogue, catalogue, entry_points, with_own
from nginxopt.lint.check import Judge
from nginxopt.lint.run import Linted, Selected
from nginxopt.settings.file import Settings
from nginxopt.version import Version

HEAD = '''"""A title

What it flags.
"""
from nginxopt.config import Edit, Change, Span
from nginxopt.lint import Finding, Fix, Related, Safety, Severity, rule

@rule(severity=Severity.WARNING, category="config")
def check(model):
'''
GOOD = f"""{HEAD}    for directive, _ in model.each("gzip"):
        yield Finding(directive.source, directive.span, "found")
"""
CONFIG = b"events {}\nhttp {\n    gzip on;\n    gzip_comp_level 9;\n}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Catalogue]:
    """A function that writes modules into the folder `rules` and loads them."""
    monkeypatch.chdir(tmp_path)

    def load_modules(**modules: str) -> Catalogue:
        (tmp_path / "rules").mkdir(exist_ok=True)
        for name, text in modules.items():
            (tmp_path / "rules" / f"{name}.py").write_text(text)
        return with_own(["rules"])

    return load_modules


def config() -> Config:
    """A configuration with two findings, one of them of a rule of nginxopt."""
    return load_text(CONFIG, "nginx.conf")


def lint(loaded: Catalogue, *ids: str) -> Linted:
    """What rules find in it."""
    rules = tuple(Selected(loaded.rules[name], None) for name in ids)
    return Judge(rules, Version(1, 28, 0), Settings(), catalogue=loaded)(config())


def found(linted: Linted) -> list[tuple[str, str]]:
    """The rules and messages of findings."""
    return [(diagnostic.rule, diagnostic.message) for diagnostic in linted.diagnostics]


def test_modules_of_a_folder_are_rules(folder: Callable[..., Catalogue], tmp_path: Path) -> None:
    """Each module is a rule with its file and no page on the web; those with a leading underscore are helpers."""
    helped = GOOD.replace('"found"', "WORD").replace(
        "from nginxopt.config", "from ._words import WORD\nfrom nginxopt.config"
    )
    loaded = folder(acme_one=GOOD, acme_two=helped, _words='WORD = "helped"\n')
    assert {name for name in loaded.rules if name not in catalogue()} == {"acme-one", "acme-two"}
    assert list(loaded.rules) == sorted(loaded.rules)
    assert (loaded.rules["acme-one"].origin, loaded.rules["acme-one"].url) == ("rules/acme_one.py", None)
    assert found(lint(loaded, "acme-one", "acme-two")) == [("acme-one", "found"), ("acme-two", "helped")]
    assert sorted(path.name for path in (tmp_path / "rules").iterdir()) == ["_words.py", "acme_one.py", "acme_two.py"]


def test_two_folders_have_helpers_of_the_same_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules of a folder are a package of its own."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "_word.py").write_text(f'WORD = "{name}"\n')
        text = GOOD.replace('"found"', "_word.WORD").replace(
            "from nginxopt.config", "from . import _word\nfrom nginxopt.config"
        )
        (tmp_path / name / f"acme_{name}.py").write_text(text)
    assert found(lint(with_own(["a", "b"]), "acme-a", "acme-b")) == [("acme-a", "a"), ("acme-b", "b")]


def test_a_changed_rule_is_read_again(folder: Callable[..., Catalogue]) -> None:
    """A process that loads the rules again has their current text, as in an editor."""
    assert found(lint(folder(acme_one=GOOD), "acme-one")) == [("acme-one", "found")]
    assert found(lint(folder(acme_one=GOOD.replace("found", "found again")), "acme-one")) == [
        ("acme-one", "found again")
    ]


def test_a_rule_may_import_another(folder: Callable[..., Catalogue]) -> None:
    """A rule that is imported does not count as the rule of the module."""
    loaded = folder(acme_one=GOOD, acme_two=f"from nginxopt.rules.gzip_level import check as other\n{GOOD}")
    assert found(lint(loaded, "acme-two")) == [("acme-two", "found")]


LOADING = [
    ("x = 1\n", "TypeError: acme_one has 0 rules, not one", None),
    (f"{GOOD}{GOOD.replace('check', 'other')}", "has 2 rules, not one", None),
    ("import acme_missing_module\n", "ModuleNotFoundError: No module named 'acme_missing_module'", 1),
    ("x = 1\nraise ValueError('two\\nlines')\n", "ValueError: two lines", 2),
    ("x = 1\nimport sys\nsys.exit(3)\n", "SystemExit: 3", 3),
    ("x = 1\ndef f(:\n", "SyntaxError: invalid syntax", 2),
    (f"{GOOD.replace('Severity.WARNING', repr('warning'))}", "has a severity that is not a Severity: 'warning'", 8),
    (GOOD.replace('y="config"', 'y="speed"'), "acme-one has an unknown category: speed", 8),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "line"), LOADING)
def test_a_module_that_cannot_be_loaded(
    folder: Callable[..., Catalogue], text: str, message: str, line: int | None
) -> None:
    """The error has the name, the file and the line of the module; other rules are there."""
    loaded = folder(acme_one=text, acme_two=GOOD)
    error = loaded.errors["acme-one"]
    assert error.message.startswith("rule acme-one of rules cannot be loaded: ")
    assert message in error.message
    assert error.exit_code == 7
    assert error.render().startswith("rules/acme_one.py:" + (f"{line}:" if line else " "))
    assert "acme-one" in loaded.ids
    assert found(lint(loaded, "acme-two")) == [("acme-two", "found")]


CHECKS = [
    ('    raise KeyError("x")\n    yield', "KeyError: 'x'", 10),
    ("    return 1 / 0", "ZeroDivisionError: division by zero", 10),
    ("    return None", "TypeError: 'NoneType' object is not iterable", 8),
    ('    yield "found"', "TypeError: a check yields Finding, not str", 8),
    ("    import sys\n    sys.exit()", "SystemExit", 11),
    ("    return check_it(model)\ndef check_it(model):\n    return model.no_such_query()", "AttributeError", 12),
    ("    yield Finding(model.config.main.source, Span(0, 9999), 'm')", "a finding ends at byte 9999 of 55", 8),
    (
        "    source = model.config.main.source\n"
        "    yield Finding(source, Span(0, 1), 'm', related=(Related(source, Span(0, 99), 'r'),))",
        "a finding ends at byte 99 of 55",
        8,
    ),
    (
        "    source = model.config.main.source\n"
        "    yield Finding(source, Span(0, 1), 'm', Fix('f', (Change(source, Edit(Span(60, 61), b'')),)))",
        "ValueError: an edit ends at byte 61 of 55",
        8,
    ),
    (
        "    source = model.config.main.source\n"
        "    edits = [Change(source, Edit(Span(at, at + 2), b'')) for at in (0, 1)]\n"
        "    yield Finding(source, Span(0, 1), 'm', Fix('f', tuple(edits)))",
        "ValueError: edits overlap at byte 1",
        8,
    ),
]


@pytest.mark.parametrize(("body", "message", "line"), CHECKS)
def test_a_check_that_raises(folder: Callable[..., Catalogue], body: str, message: str, line: int) -> None:
    """A rule that raises, or whose findings are none, is an error with its name, file and line; the others are run."""
    linted = lint(folder(acme_one=f"{HEAD}{body}\n"), "acme-one", "gzip-level")
    (error,) = linted.errors
    assert isinstance(error, RuleError)
    assert error.message.startswith("rule acme-one failed: ")
    assert message in error.message
    assert error.render().startswith(f"rules/acme_one.py:{line}:")
    assert [name for name, _ in found(linted)] == ["gzip-level"]


def test_an_interrupt_is_no_error_of_a_rule(folder: Callable[..., Catalogue]) -> None:
    """Ctrl-C ends the command, also in a rule."""
    loaded = folder(acme_one=f"{HEAD}    raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        lint(loaded, "acme-one")


def test_a_rule_of_nginxopt_that_raises_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a rule of nginxopt raises is not passed over."""
    rule = catalogue()["gzip-level"]
    monkeypatch.setitem(rule.__dict__, "check", lambda _: 1 / 0)
    (error,) = lint(Catalogue(catalogue()), "gzip-level").errors
    assert isinstance(error, InternalError)
    assert error.message.startswith("internal-error: rule gzip-level failed: ZeroDivisionError: division by zero")


def test_an_id_of_nginxopt_is_refused(folder: Callable[..., Catalogue]) -> None:
    """A rule with the id of another is an error that names both."""
    with pytest.raises(InputError) as caught:
        folder(gzip_level=GOOD)
    assert caught.value.message == (
        'rules/gzip_level.py and nginxopt.rules.gzip_level of nginxopt itself have the same id, "gzip-level"'
    )
    assert "acme_" in (caught.value.hint or "")


def test_an_id_of_another_folder_is_refused(folder: Callable[..., Catalogue], tmp_path: Path) -> None:
    """Two rules of one's own with the same id are an error that names both files, even if one cannot be loaded."""
    folder(acme_one=GOOD)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "acme-one.py").write_text("x = 1\n")
    with pytest.raises(
        InputError, match=re.escape('more/acme-one.py and rules/acme_one.py have the same id, "acme-one"')
    ):
        with_own(["rules", "more"])


def test_no_such_folder(tmp_path: Path) -> None:
    """A folder that is not there is an error."""
    with pytest.raises(InputError, match="no such directory of rules"):
        with_own([str(tmp_path / "none")])


def test_a_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be read is no folder without rules."""

    def refused(path: object) -> Iterator[object]:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        with_own([str(tmp_path)])


# --- installed packages


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Catalogue]]:
    """A function that puts a distribution on the path, with files and entry points, and loads its rules."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)

    def install(points: str, **files: str) -> Catalogue:
        for name, text in files.items():
            path = tmp_path / f"{name.replace('__', '/')}.py"
            path.parent.mkdir(exist_ok=True)
            path = path if text else path.with_suffix("") / "__init__.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        metadata = tmp_path / "acme-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[nginxopt.rules]\n{points}\n")
        return with_own([], entry_points("nginxopt.rules"))

    yield install
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_no_entry_points(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without such metadata on the path, `importlib.metadata` is not asked."""
    (tmp_path / "other-1.0.dist-info").mkdir()
    (tmp_path / "other-1.0.dist-info" / "entry_points.txt").write_text("[console_scripts]\nx = y\n")
    (tmp_path / "bare-1.0.dist-info").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "none"), ""])
    monkeypatch.setitem(sys.modules, "importlib.metadata", None)
    assert entry_points("nginxopt.rules") == []


def test_an_archive_on_the_path_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What lies in an archive is left to `importlib.metadata`."""
    (tmp_path / "a.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "a.zip"), *sys.path])
    assert entry_points("nginxopt.no_such_group") == []


def test_a_module_or_a_package(site: Callable[..., Catalogue]) -> None:
    """An entry point names a rule, or a package of rules; one that two entry points name is there once."""
    points = "one = acme_single\ntwo = acme_package\nthree = acme_single"
    loaded = site(points, acme_single=GOOD, acme_package="", acme_package__acme_inner=GOOD)
    assert not loaded.errors
    assert {name for name in loaded.rules if name not in catalogue()} == {"acme-single", "acme-inner"}
    assert loaded.rules["acme-inner"].origin == "acme_package/acme_inner.py"
    assert len(found(lint(loaded, "acme-single", "acme-inner"))) == 2


def test_an_installed_rule_that_cannot_be_loaded(site: Callable[..., Catalogue]) -> None:
    """The error has the package, the file and the line."""
    loaded = site("one = acme_single\ntwo = acme_missing", acme_single="x = 1\n1 / 0\n")
    assert set(loaded.errors) == {"acme-single", "acme-missing"}
    assert (
        loaded.errors["acme-single"]
        .render()
        .startswith("acme_single.py:2:1: rule acme-single of the package acme 1.0 cannot be loaded: ZeroDivisionError")
    )
    assert "No module named 'acme_missing'" in loaded.errors["acme-missing"].message
