"""Definitions and references of names in all files of a configuration."""

from __future__ import annotations

import pytest
from lsprotocol import types

from nginxopt.lsp.document import Document
from nginxopt.lsp.navigation import definition, highlights, references
from tests.lsp.editing import Editor, at, over

MAIN = """\
events {}
http {
    log_format timed '$remote_addr $kind';
    limit_req_zone $binary_remote_addr zone=slow:1m rate=1r/s;
    limit_conn_zone $server_name zone=few:1m;
    proxy_cache_path /var/cache keys_zone=files:1m;
    ssl_session_cache shared:tls:1m;
    map $uri $kind { default a; ~^/(?<id>\\d+)$ $id; }
    upstream App { zone pool 64k; server 192.0.2.1; }
    include sites/*.conf;
}
"""

SITE = """\
server {
    access_log /var/log/a.log timed;
    limit_req zone=slow burst=5;
    limit_conn few 1;
    set $later "${kind}x";
    if ($http_x ~ ^b$) { return 204; }
    location / {
        proxy_cache files;
        proxy_pass http://app/path;
        error_page 502 = @down;
        try_files $uri @down;
        ssl_session_cache shared:tls:1m;
    }
    location ~ ^/(?<tail>.*)$ { grpc_pass grpc://app; add_header X $tail$later; }
    location @down { return 503; }
}
server {
    location / { try_files $uri @down; }
    location @down { fastcgi_pass app; }
    rewrite ^/a$ /b?$KIND last;
}
"""


@pytest.fixture
def files(editor: Editor) -> tuple[Editor, Document, Document]:
    """A main file and a site, both open."""
    return editor, editor.open("nginx.conf", MAIN), editor.open("sites/a.conf", SITE)


def place(document: Document, words: str, within: int = 0) -> types.TextDocumentPositionParams:
    """Return the position of words in a document."""
    return types.TextDocumentPositionParams(
        types.TextDocumentIdentifier(document.uri), at(document.data.decode(), words, within)
    )


def defined(editor: Editor, document: Document, words: str, within: int = 0) -> list[tuple[str, types.Range]]:
    """Return the places that define the name in words."""
    params = place(document, words, within)
    found = definition(editor.workspace, types.DefinitionParams(params.text_document, params.position))
    return [(one.uri, one.range) for one in found]


def used(
    editor: Editor, document: Document, words: str, within: int = 0, *, declared: bool = True
) -> set[tuple[str, int]]:
    """Return the files and lines, from 1, where the name in words is written."""
    params = place(document, words, within)
    context = types.ReferenceContext(include_declaration=declared)
    found = references(editor.workspace, types.ReferenceParams(context, params.text_document, params.position))
    return {(one.uri, one.range.start.line + 1) for one in found}


@pytest.mark.parametrize(
    ("words", "within", "defining", "name"),
    [
        ("http://app", 8, "App", "App"),
        ("grpc://app", 9, "App", "App"),
        ("fastcgi_pass app", 14, "App", "App"),
        ("timed;", 0, "timed", "timed"),
        ("zone=slow burst", 6, "slow:1m", "slow"),
        ("limit_conn few", 12, "few:1m", "few"),
        ("proxy_cache files", 13, "files:1m", "files"),
        ("${kind}", 3, "kind {", "kind"),
        ("$KIND", 1, "kind {", "kind"),
    ],
)
def test_a_name_leads_to_its_definition(
    files: tuple[Editor, Document, Document], words: str, within: int, defining: str, name: str
) -> None:
    """Each kind of name in a site leads to the place in the main file that defines it."""
    editor, main, site = files
    start = at(MAIN, defining)
    end = types.Position(start.line, start.character + len(name))
    assert defined(editor, site, words, within) == [(main.uri, types.Range(start, end))]


def test_a_named_location_is_that_of_its_server(files: tuple[Editor, Document, Document]) -> None:
    """Two servers may have a named location of the same name; each leads to its own."""
    editor, _, site = files
    ((_, first),) = defined(editor, site, "try_files $uri @down", 16)
    assert first.start == at(SITE, "@down { return")
    second = SITE.index("try_files $uri @down; }")
    line = SITE[:second].count("\n")
    params = types.DefinitionParams(types.TextDocumentIdentifier(site.uri), types.Position(line, 35))
    (found,) = definition(editor.workspace, params)
    assert found.range.start == at(SITE, "@down { fastcgi")


def test_variables_of_groups_and_set_have_definitions(files: tuple[Editor, Document, Document]) -> None:
    """A named group and a `set` define variables."""
    editor, main, site = files
    assert defined(editor, site, "$tail$later", 1) == [(site.uri, over(SITE, "tail"))]
    assert defined(editor, site, "$later;", 1)[0][1].start == at(SITE, "later")
    assert defined(editor, main, "$id;", 1) == [(main.uri, types.Range(at(MAIN, "id>"), at(MAIN, "id>", 2)))]


def test_an_include_leads_to_its_files(files: tuple[Editor, Document, Document]) -> None:
    """An include leads to each file that it reads, at its start."""
    editor, main, site = files
    assert [uri for uri, _ in defined(editor, main, "include", 3)] == [site.uri]


def test_references_are_found_in_all_files(files: tuple[Editor, Document, Document]) -> None:
    """The references of a name are all places in all files, upstreams and variables without regard to case."""
    editor, main, site = files
    assert used(editor, main, "App") == {(main.uri, 9), (site.uri, 9), (site.uri, 14), (site.uri, 19)}
    assert used(editor, main, "App", declared=False) == {(site.uri, 9), (site.uri, 14), (site.uri, 19)}
    assert used(editor, main, "$kind {", 2) == {(main.uri, 3), (main.uri, 8), (site.uri, 5), (site.uri, 20)}
    assert used(editor, main, "tls:1m") == {(main.uri, 7), (site.uri, 12)}


def test_the_dollar_of_a_pattern_is_no_variable(files: tuple[Editor, Document, Document]) -> None:
    """In a pattern, `$` is the end of the subject; elsewhere it begins a variable."""
    editor, _, site = files
    assert used(editor, site, "b$)", 1) == set()
    assert used(editor, site, "$http_x", 2) == {(site.uri, 6)}


def test_a_name_in_the_document_is_highlighted(files: tuple[Editor, Document, Document]) -> None:
    """The occurrences of a name in the open document are highlighted, definitions as writing."""
    editor, _, site = files
    params = place(site, "$later;", 2)
    found = highlights(editor.workspace, types.DocumentHighlightParams(params.text_document, params.position))
    assert [(one.range.start.line + 1, one.kind) for one in found] == [
        (5, types.DocumentHighlightKind.Write),
        (14, types.DocumentHighlightKind.Read),
    ]


def test_a_broken_text_is_navigated_too(files: tuple[Editor, Document, Document]) -> None:
    """Names above and below a statement that does not parse lead to their definitions."""
    editor, main, site = files
    site = editor.change(site, SITE.replace("limit_conn few 1;", 'limit_conn "few 1;'))
    assert site.error is not None
    assert [uri for uri, _ in defined(editor, site, "http://app", 8)] == [main.uri]
    assert [uri for uri, _ in defined(editor, site, "zone=slow", 6)] == [main.uri]


def test_nothing_leads_nowhere(files: tuple[Editor, Document, Document]) -> None:
    """A word that is no name has no definition, nor has a place in an unknown document."""
    editor, _, site = files
    assert defined(editor, site, "burst") == []
    params = types.DefinitionParams(types.TextDocumentIdentifier("file:///none"), types.Position(0, 0))
    assert definition(editor.workspace, params) == []


def test_names_in_folded_runs_are_found(editor: Editor) -> None:
    """A run of rewrites that is kept folded uses variables like any other."""
    rules = "".join(f"    rewrite ^/a{number}$ /b?{number}$kind;\n" for number in range(100))
    text = f"events {{}}\nhttp {{\n map $uri $kind {{ default a; }}\n server {{\n{rules} }}\n}}\n"
    document = editor.open("nginx.conf", text)
    assert len(used(editor, document, "$kind", 1)) == 101


def test_names_of_files_are_escaped_in_uris(editor: Editor) -> None:
    """Folders with blanks, percent signs and letters of any alphabet are found, open or not."""
    folder = "a b/100% é/ü"
    editor.write(f"{folder}/nginx.conf", MAIN)
    site = editor.open(f"{folder}/sites/a.conf", SITE)
    ((uri, _),) = defined(editor, site, "http://app", 8)
    assert uri == (editor.folder / folder / "nginx.conf").as_uri()
    main = editor.open(f"{folder}/nginx.conf", MAIN)
    assert main.uri == uri
    assert (site.uri, 9) in used(editor, main, "App")


def test_a_file_under_another_name_keeps_the_uri_of_the_editor(editor: Editor) -> None:
    """A file that is included through a link is shown under the name by which the editor has it open."""
    editor.write("nginx.conf", MAIN.replace("sites/*.conf", "enabled/*"))
    site = editor.open("available/site", SITE)
    (editor.folder / "enabled").mkdir()
    (editor.folder / "enabled/site").symlink_to("../available/site")
    assert defined(editor, site, "$later;", 1)[0][0] == site.uri
