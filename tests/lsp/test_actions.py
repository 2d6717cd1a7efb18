"""Code actions fix findings, suppress them with a reason, and apply all safe fixes at once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest
from lsprotocol import types

from nginxopt.lsp.actions import actions
from nginxopt.lsp.compiling import Plans
from nginxopt.lsp.document import Document
from nginxopt.lsp.suppressing import REASON
from tests.lsp.editing import MAIN, SITE, Editor, at, edited

_EVERYWHERE = types.Range(types.Position(0, 0), types.Position(10_000, 0))

_SLOW = MAIN.replace(
    "    include conf.d/*.conf;\n",
    "    sendfile on;\n    gzip on;\n    gzip_comp_level 9;\n    tcp_nodelay off;\n" + SITE,
)


def offered(
    editor: Editor, document: Document, range_: types.Range = _EVERYWHERE, only: Sequence[str] | None = None
) -> list[types.CodeAction]:
    """Return the actions that are offered for a range, as an editor asks with its diagnostics."""
    kinds = None if only is None else [*only]
    context = types.CodeActionContext(editor.diagnostics(document), kinds)
    params = types.CodeActionParams(types.TextDocumentIdentifier(document.uri), range_, context)
    return actions(editor.workspace, editor.judges, Plans(), params)


def done(document: Document, action: types.CodeAction) -> str:
    """Return the text of a document after an action that changes no other."""
    assert action.edit is not None
    assert action.edit.changes is not None
    assert list(action.edit.changes) == [document.uri]
    return edited(document.data.decode(), action.edit.changes[document.uri])


def rules(action: types.CodeAction) -> list[str]:
    """Return the rules of the diagnostics that an action is about."""
    return [str(diagnostic.code) for diagnostic in action.diagnostics or ()]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_safe_fix_removes_its_finding(editor: Editor, end: str) -> None:
    """A safe fix is a preferred quick fix of its diagnostic, and its edit is that of `lint --fix`."""
    document = editor.open("nginx.conf", _SLOW.replace("\n", end))
    (action,) = [one for one in offered(editor, document) if rules(one) == ["gzip-level"] and one.is_preferred]
    assert action.kind == types.CodeActionKind.QuickFix
    document = editor.change(document, done(document, action))
    assert "gzip-level" not in editor.codes(document)
    assert "tcp-nodelay-off" in editor.codes(document)


def test_fixes_that_are_not_safe_say_so(editor: Editor) -> None:
    """A fix that is safe under premises names them, an unsafe one says that it is, and neither is preferred."""
    document = editor.open("nginx.conf", _SLOW)
    (pool,) = [
        one
        for one in offered(editor, document)
        if rules(one) == ["upstream-keepalive-missing"] and "uppress" not in one.title
    ]
    assert "safe if" in pool.title
    assert "http11-backends" in pool.title
    assert not pool.is_preferred
    editor.write("nginxopt.toml", 'assume = ["http11-backends", "idle-connections"]\n')
    (pool,) = [one for one in offered(editor, document) if rules(one) == rules(pool) and one.is_preferred]
    assert "safe if" not in pool.title


def test_a_fix_that_depends_on_what_was_not_read_says_so(editor: Editor) -> None:
    """A fix beside an include that finds nothing here names its premise, and is not made with all safe ones."""
    document = editor.open("nginx.conf", _SLOW.replace("http {\n", "http {\n    include none/*.conf;\n"))
    (action,) = [one for one in offered(editor, document) if rules(one) == ["gzip-level"] and "6" in one.title]
    assert action.title == "Set it to 6 (safe if whole-configuration)"
    assert not action.is_preferred
    assert offered(editor, document, only=["source.fixAll"]) == []


def test_only_the_findings_of_the_range_have_actions(editor: Editor) -> None:
    """The actions at a place are those of the findings there."""
    document = editor.open("nginx.conf", _SLOW)
    place = at(_SLOW, "gzip_comp_level", 3)
    here = offered(editor, document, types.Range(place, place))
    assert {rule for action in here for rule in rules(action)} <= {"gzip-level"}
    nowhere = at(_SLOW, "events")
    assert offered(editor, document, types.Range(nowhere, nowhere)) == []


def test_a_finding_is_suppressed_with_a_reason(editor: Editor) -> None:
    """The comment above the line hides the finding there, and has room for the reason."""
    document = editor.open("nginx.conf", _SLOW)
    (action,) = [one for one in offered(editor, document) if one.title == "Suppress gzip-level here"]
    text = done(document, action)
    assert f"    # nginxopt: ignore[gzip-level] {REASON}\n    gzip_comp_level 9;\n" in text
    document = editor.change(document, text)
    assert "gzip-level" not in editor.codes(document)


def test_a_rule_is_suppressed_in_a_file(editor: Editor) -> None:
    """The comment at the start of a file hides all findings of the rule in it."""
    document = editor.open("nginx.conf", _SLOW)
    (action,) = [one for one in offered(editor, document) if one.title == "Suppress tcp-nodelay-off in this file"]
    document = editor.change(document, done(document, action))
    assert document.data.startswith(b"# nginxopt: ignore-file[tcp-nodelay-off]")
    assert "tcp-nodelay-off" not in editor.codes(document)


@pytest.mark.parametrize(
    "text",
    [
        "server { listen 80; lisen 81; }\n",
        "server {\n    listen 80; # a comment\n    lisen 81; # another\n}\n",
        "server {\n    listen\n        80; lisen\n        81;\n}\n",
        "server {\n    return 200 'a\nb'; lisen 81;\n}\n",
        "server {\r\n\tlisten 80;\r\n\tlisen 81;\r\n}\r\n",
        "server {\n    # nginxopt: ignore[tcp-nodelay-off] other\n    lisen 81;\n}\n",
    ],
)
def test_a_suppression_hides_the_finding_wherever_it_is(editor: Editor, text: str) -> None:
    """Before or behind other statements, comments and quotes, a suppression that is offered works."""
    document = editor.open("a.conf", text)
    assert "unknown-directive" in editor.codes(document)
    (action,) = [one for one in offered(editor, document) if one.title == "Suppress unknown-directive here"]
    document = editor.change(document, done(document, action))
    assert document.error is None
    assert "unknown-directive" not in editor.codes(document)


def test_a_broken_text_has_no_actions(editor: Editor) -> None:
    """What is known of another text is not put into this one."""
    document = editor.open("nginx.conf", _SLOW)
    document = editor.change(document, _SLOW[:-3])
    assert offered(editor, document) == []


@pytest.mark.parametrize("only", ["source", "source.fixAll", "source.fixAll.nginxopt"])
def test_all_safe_fixes_are_those_of_the_command(editor: Editor, only: str) -> None:
    """`source.fixAll` makes of a file what `nginxopt lint --fix` makes of it."""
    document = editor.open("nginx.conf", _SLOW)
    (action,) = offered(editor, document, only=[only])
    path = editor.folder / "copy.conf"
    path.write_text(_SLOW)
    options = ("--isolated", "--fix", "--target-version", "1.28.0")
    subprocess.run([sys.executable, "-m", "nginxopt", "lint", str(path), *options], capture_output=True, check=False)
    fixed = path.read_text()
    assert done(document, action) == fixed != _SLOW
    document = editor.change(document, fixed)
    assert offered(editor, document, only=[only]) == []


def test_what_the_baseline_records_is_not_fixed(editor: Editor) -> None:
    """No action changes what the baseline of the settings records, and `source.fixAll` fixes what is new."""
    document = editor.open("nginx.conf", _SLOW)
    command = [sys.executable, "-m", "nginxopt", "lint", "nginx.conf", "--write-baseline", "known.json"]
    options = ["--isolated", "--target-version", "1.28.0"]
    subprocess.run([*command, *options], cwd=editor.folder, capture_output=True, check=True)
    editor.write("nginxopt.toml", 'baseline = "known.json"\n')
    assert offered(editor, document) == []
    assert offered(editor, document, only=["source.fixAll"]) == []
    site = "    server { gzip_comp_level 8; }\n"
    document = editor.change(document, _SLOW.replace("http {\n", f"http {{\n{site}"))
    (action,) = offered(editor, document, only=["source.fixAll"])
    assert done(document, action) == _SLOW.replace("http {\n", f"http {{\n{site.replace('8', '6')}")


def test_all_fixes_are_made_only_if_they_are_asked_for(editor: Editor) -> None:
    """They take a check for each round, which nobody waits for who only looks for quick fixes."""
    document = editor.open("nginx.conf", _SLOW)
    assert {action.kind for action in offered(editor, document)} == {types.CodeActionKind.QuickFix}
    assert offered(editor, document, only=["refactor"]) == []
    assert {action.kind for action in offered(editor, document, only=["quickfix"])} == {types.CodeActionKind.QuickFix}


def test_a_file_of_two_configurations_is_not_fixed(editor: Editor) -> None:
    """A fix might be wrong for the other configuration that includes the file."""
    for name in ("one/nginx.conf", "two/nginx.conf"):
        editor.write(name, MAIN.replace("conf.d/*", "../shared/site"))
    site = editor.open("shared/site.conf", "gzip on;\ngzip_comp_level 9;\n" + SITE)
    assert "gzip-level" in editor.codes(site)
    assert not [one for one in offered(editor, site) if "uppress" not in one.title]
    assert offered(editor, site, only=["source.fixAll"]) == []


def test_a_fix_of_a_file_that_has_changed_is_not_offered(editor: Editor) -> None:
    """A fix that also changes a file of which the editor has another, broken text would change the wrong bytes."""
    site = editor.open("conf.d/site.conf", SITE)
    main = editor.open("nginx.conf", MAIN)
    pool = [one for one in offered(editor, main) if rules(one) == ["upstream-keepalive-missing"]]
    assert any(action.edit and site.uri in (action.edit.changes or {}) for action in pool)
    editor.change(site, "{" + site.data.decode())
    pool = [one for one in offered(editor, main) if rules(one) == ["upstream-keepalive-missing"]]
    assert not any(action.edit and site.uri in (action.edit.changes or {}) for action in pool)
