"""Upstreams and variables are renamed everywhere, or not at all."""

from __future__ import annotations

import pytest
from lsprotocol import types

from nginxopt.errors import UsageError
from nginxopt.lsp.document import Document
from nginxopt.lsp.renaming import prepare, rename
from tests.lsp.editing import Editor, at, edited, over
from tests.lsp.test_navigation import MAIN, SITE


def renamed(editor: Editor, document: Document, words: str, within: int, name: str) -> dict[str, str]:
    """Return the texts of all documents after a name was renamed."""
    position = at(document.data.decode(), words, within)
    params = types.RenameParams(types.TextDocumentIdentifier(document.uri), position, name)
    edit = rename(editor.workspace, params)
    assert edit is not None
    assert edit.changes is not None
    texts = {uri: document.data.decode() for uri, document in editor.workspace.documents.items()}
    return {uri: edited(texts[uri], edits) for uri, edits in edit.changes.items()}


def test_an_upstream_is_renamed_in_all_files(editor: Editor) -> None:
    """Each pass to an upstream gets its new name, and nothing else changes."""
    main, site = editor.open("nginx.conf", MAIN), editor.open("sites/a.conf", SITE)
    texts = renamed(editor, site, "http://app", 8, "backend-1")
    assert texts == {
        main.uri: MAIN.replace("upstream App", "upstream backend-1"),
        site.uri: SITE.replace("://app", "://backend-1").replace("fastcgi_pass app", "fastcgi_pass backend-1"),
    }


def test_a_variable_is_renamed_in_all_files(editor: Editor) -> None:
    """Each use of a variable gets its new name, in braces or not; a `$` in the new name is not doubled."""
    main, site = editor.open("nginx.conf", MAIN), editor.open("sites/a.conf", SITE)
    texts = renamed(editor, main, "$kind {", 2, "$sort")
    assert texts == {
        main.uri: MAIN.replace("$kind", "$sort"),
        site.uri: SITE.replace("${kind}", "${sort}").replace("$KIND", "$sort"),
    }


def test_a_group_is_renamed_with_its_variable(editor: Editor) -> None:
    """The named group of a pattern is the definition of its variable."""
    editor.open("nginx.conf", MAIN)
    site = editor.open("sites/a.conf", SITE)
    assert renamed(editor, site, "$tail", 2, "rest") == {site.uri: SITE.replace("tail", "rest")}


@pytest.mark.parametrize(
    ("words", "within", "name", "reason"),
    [
        ("http://app", 8, "two words", "is not a name of an upstream"),
        ("http://app", 8, "", "is not a name of an upstream"),
        ("http://app", 8, "a;b", "is not a name of an upstream"),
        ("$later;", 2, "1st-one", "is not a name of a variable"),
        ("$later;", 2, "http_later", "nginx itself defines"),
        ("$later;", 2, "kind", "is used already"),
        ("$later;", 2, "Server_Name", "nginx itself defines"),
        ("$http_x", 2, "other", "only upstreams and variables"),
        ("timed;", 1, "other", "only upstreams and variables"),
    ],
)
def test_invalid_names_are_refused(editor: Editor, words: str, within: int, name: str, reason: str) -> None:
    """A name that nginx would refuse or that is taken, and a thing that cannot be renamed, is an error."""
    editor.open("nginx.conf", MAIN)
    site = editor.open("sites/a.conf", SITE)
    with pytest.raises(UsageError, match=reason):
        renamed(editor, site, words, within, name)


@pytest.mark.parametrize(
    ("extra", "words", "within", "reason"),
    [
        ("include missing.conf;", "$kind {", 2, "missing.conf cannot be read"),
        ("include more/*.conf;", "$kind {", 2, r"more/\*.conf may read other files where it is installed"),
        ("include /dev/null;", "$kind {", 2, "/dev/null may read other files where it is installed"),
        ("init_by_lua_block { x() }", "$kind {", 2, "code may use"),
        ("ssi on;", "$kind {", 2, "code may use"),
        ("server { location ~ (?<kind>a)\\k<kind> { } }", "$kind {", 2, "refers to its group"),
        ("map $uri $to { /a App; } server { location / { proxy_pass http://$to; } }", "App", 1, "may name app"),
        ("server { location / { proxy_pass http://app$host; } }", "App", 1, "may name app"),
    ],
)
def test_a_name_whose_places_are_not_all_known_stays(
    editor: Editor, extra: str, words: str, within: int, reason: str
) -> None:
    """Where code, a missing file or a computed target may use a name, it is not renamed."""
    editor.open("sites/a.conf", SITE)
    main = editor.open("nginx.conf", MAIN.replace("include sites", f"{extra} include sites"))
    with pytest.raises(UsageError, match=reason):
        renamed(editor, main, words, within, "other")


def test_a_file_alone_keeps_its_names(editor: Editor) -> None:
    """What includes a part of a configuration may use the names of it, and was not read."""
    part = editor.open("maps.conf", "map $uri $kind { default a; }\n")
    with pytest.raises(UsageError, match=r"what includes .*maps\.conf was not read, and may use kind"):
        renamed(editor, part, "$kind {", 2, "other")


def test_missing_files_that_come_with_nginx_are_no_obstacle(editor: Editor) -> None:
    """mime.types has no variables."""
    main = editor.open("nginx.conf", MAIN.replace("include sites", "include mime.types; #"))
    assert renamed(editor, main, "$kind {", 2, "sort")


def test_a_broken_file_keeps_the_name(editor: Editor) -> None:
    """In a text that does not parse, some places may not be known."""
    editor.open("nginx.conf", MAIN)
    site = editor.open("sites/a.conf", SITE)
    site = editor.change(site, SITE.replace("limit_conn few 1;", 'limit_conn "few 1;'))
    with pytest.raises(UsageError, match="does not parse"):
        renamed(editor, site, "http://app", 8, "other")


def test_only_what_can_be_renamed_is_offered(editor: Editor) -> None:
    """The editor may ask first; it gets the range of the name."""
    editor.open("nginx.conf", MAIN)
    site = editor.open("sites/a.conf", SITE)

    def asked(words: str, within: int) -> types.Range | None:
        document = types.TextDocumentIdentifier(site.uri)
        return prepare(editor.workspace, types.PrepareRenameParams(document, at(SITE, words, within)))

    assert asked("http://app", 8) == over(SITE, "app")
    assert asked("$http_x", 2) is None
    assert asked("timed;", 1) is None
    assert asked("return", 1) is None


def test_an_upstream_before_a_variable_is_renamed(editor: Editor) -> None:
    """A target that goes on with the URI of the request names the upstream, and a path may have variables."""
    text = SITE.replace("http://app/path", "http://app$request_uri").replace("grpc://app", "grpc://app/$tail")
    editor.open("nginx.conf", MAIN.replace("server 192.0.2.1;", "server app.example;"))
    site = editor.open("sites/a.conf", text.replace("return 204;", "return 200 app;"))
    texts = renamed(editor, site, "http://app", 8, "other")
    assert "http://other$request_uri" in texts[site.uri]
    assert "grpc://other/$tail" in texts[site.uri]
    assert "return 200 app;" in texts[site.uri]
