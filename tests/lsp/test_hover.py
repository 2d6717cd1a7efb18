"""Hovers say what a directive does and what is in force, and explain findings."""

from __future__ import annotations

import pytest
from lsprotocol import types

from nginxopt.facts import known
from nginxopt.facts.table import names
from nginxopt.lsp.facts import Facts, description
from nginxopt.lsp.hover import hover
from nginxopt.version import Version
from tests.lsp.editing import MAIN, SITE, TARGET, Editor, at

_TEXT = """\
events {}
http {
    proxy_read_timeout 30s;
    proxy_set_header Host $host;
    proxy_set_header X-A b;
    map $uri $kind { default a; /b b; }
    upstream app { server 192.0.2.1:8080; }
    server {
        listen 80;
        location / {
            proxy_read_timeout 5s;
            proxy_pass http://app;
            add_header X-Kind $kind;
        }
    }
}
"""


def shown(editor: Editor, text: str, words: str, within: int = 0, name: str = "nginx.conf") -> str:
    """Return the text of the hover over the first occurrence of words, empty for none."""
    document = editor.open(name, text)
    params = types.HoverParams(types.TextDocumentIdentifier(document.uri), at(text, words, within))
    answer = hover(editor.workspace, editor.judges, params)
    if answer is None:
        return ""
    assert isinstance(answer.contents, types.MarkupContent)
    return answer.contents.value


def test_a_directive_has_its_purpose_default_places_and_releases(editor: Editor) -> None:
    """The name of a directive shows what it does and what nginx declares of it."""
    text = shown(editor, _TEXT, "proxy_read_timeout 5s")
    assert text.startswith("**proxy_read_timeout** *time*")
    assert description("proxy_read_timeout") in text
    assert "- Default: `1m`" in text
    assert "- Allowed in http, http/server, http/location" in text


def test_what_a_directive_replaces_is_shown(editor: Editor) -> None:
    """A directive that overrides one of an outer block shows that, with its place."""
    assert "Here instead of `proxy_read_timeout 30s` of http, nginx.conf:3" in shown(
        editor, _TEXT, "proxy_read_timeout 5s"
    )
    assert "instead of" not in shown(editor, _TEXT, "proxy_read_timeout 30s")


def test_a_block_shows_what_it_inherits_and_from_where(editor: Editor) -> None:
    """The settings in force in a block that others state are shown with their blocks and lines."""
    text = shown(editor, _TEXT, "location /")
    assert "- `proxy_set_header Host $host`, `proxy_set_header X-A b` of http, nginx.conf:5" in text
    assert "proxy_read_timeout" not in text.partition("Inherited here")[2], "the location has its own"
    assert "`proxy_read_timeout 30s` of http, nginx.conf:3" in shown(editor, _TEXT, "server {\n")


def test_what_is_inherited_from_another_file_is_shown(editor: Editor) -> None:
    """In an included file, the settings of the file that includes it are in force."""
    editor.write("nginx.conf", MAIN.replace("upstream", "keepalive_timeout 7s; upstream"))
    text = shown(editor, SITE, "location", name="conf.d/site.conf")
    assert "`keepalive_timeout 7s` of http, nginx.conf:4" in text


def test_a_name_shows_its_definition(editor: Editor) -> None:
    """A variable or upstream in an argument shows the directive that defines it."""
    assert "map $uri $kind { default a; /b b; }" in shown(editor, _TEXT, "X-Kind $kind", 8)
    assert "upstream app { server 192.0.2.1:8080; }" in shown(editor, _TEXT, "http://app", 8)
    assert shown(editor, _TEXT, "$host", 1) == "", "nginx's own variables have no definition"


def test_a_finding_shows_the_page_of_its_rule(editor: Editor) -> None:
    """On a finding, the hover has what `nginxopt explain` prints."""
    text = MAIN.replace("    include conf.d/*.conf;\n", "    tcp_nodelay off;\n" + SITE)
    document = editor.open("nginx.conf", text)
    editor.diagnostics(document)
    params = types.HoverParams(types.TextDocumentIdentifier(document.uri), at(text, "off;"))
    answer = hover(editor.workspace, editor.judges, params)
    assert answer is not None
    assert isinstance(answer.contents, types.MarkupContent)
    assert answer.contents.value.startswith("# tcp-nodelay-off\n")
    assert "## Why it matters" in answer.contents.value


@pytest.mark.parametrize("words", ["default a", "/b b", "a;", "}"])
def test_rows_and_values_are_no_directives(editor: Editor, words: str) -> None:
    """A row of a map named like a directive is none."""
    assert shown(editor, _TEXT, words) == ""


def test_a_broken_text_has_hovers_too(editor: Editor) -> None:
    """What can be read of a text that does not parse is explained."""
    broken = _TEXT.replace("listen 80;", 'listen "80;')
    assert "instead of `proxy_read_timeout 30s`" in shown(editor, broken, "proxy_read_timeout 5s")


def test_a_release_without_the_directive_is_named(editor: Editor) -> None:
    """For a directive that the target version does not have, the hover says so."""
    editor.write("nginxopt.toml", 'target-version = "1.10.0"\n')
    text = shown(editor, MAIN.replace("include", "http2 on; #"), "http2 on")
    assert "- nginx 1.28.0 does not have it" not in text
    facts = Facts.at("http2", "http/server", Version(1, 10, 0))
    assert facts is not None
    assert "- nginx 1.10.0 does not have it" in list(facts.lines())
    assert any("1.25.1 and later" in line for line in facts.lines())


def test_each_description_is_a_sentence() -> None:
    """It ends with a full stop, and fits a line."""
    for name in sorted(known()):
        sentence = description(name)
        assert sentence.endswith(".") or not sentence, name
        assert not sentence or sentence[:1].isupper(), name
        assert len(sentence) <= 120, name


def test_every_directive_is_described() -> None:
    """Each directive of the table has a sentence."""
    assert not [name for name in names() if not description(name)]


def test_nothing_is_known_of_other_names() -> None:
    """A directive of another module has no facts."""
    assert Facts.at("more_set_headers", "http/server", TARGET) is None
