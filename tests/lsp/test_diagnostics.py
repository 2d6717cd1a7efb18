"""Diagnostics of unsaved texts, judged in the configurations that include them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lsprotocol.types import ClientCapabilities, Diagnostic, DiagnosticSeverity, DiagnosticTag, InitializeParams
from pygls.workspace import Workspace

from nginxopt.config.filesystem import Disk
from nginxopt.errors import UsageError
from nginxopt.lint import catalogue
from nginxopt.lsp import roots
from nginxopt.lsp.diagnostics import SupersededError
from nginxopt.lsp.preferences import Preferences
from nginxopt.lsp.server import make
from tests.lsp.editing import MAIN, SITE, Editor, at, over
from tests.lsp.foreign import FOREIGN

_MISSING = "upstream-keepalive-missing"


def of(diagnostics: list[Diagnostic], rule: str) -> Diagnostic:
    """Return the one diagnostic of a rule."""
    (diagnostic,) = [diagnostic for diagnostic in diagnostics if diagnostic.code == rule]
    return diagnostic


def test_a_finding_has_its_place_severity_page_and_source(editor: Editor) -> None:
    """A finding of `lint` is a diagnostic at the same place."""
    text = MAIN.replace("include", "gzip on; # include") + "\n"
    document = editor.open("nginx.conf", text + "http { upstream app { server 192.0.2.1; } }")
    missing = editor.open("other.conf", MAIN.replace("    include conf.d/*.conf;\n", SITE))
    assert editor.diagnostics(document)
    diagnostic = of(editor.diagnostics(missing), _MISSING)
    assert diagnostic.range == over(MAIN, "upstream")
    assert diagnostic.severity == DiagnosticSeverity.Warning
    assert diagnostic.source == "nginxopt"
    assert diagnostic.code_description is not None
    assert diagnostic.code_description.href.endswith(f"{_MISSING}.md")


def test_the_nginx_of_a_file_is_recognised(editor: Editor) -> None:
    """Without a stated target version, a file is judged for a release that has what it uses."""
    location = "location / { early_hints $http2; proxy_pass http://192.0.2.1; }"
    document = editor.open("nginx.conf", f"events {{}}\nhttp {{\n    server {{ listen 81; {location} }}\n}}\n")
    assert "newer-directive" in editor.codes(document)
    editor.workspace.preferences.target_version = None
    editor.workspace.preferences.forget()
    assert "newer-directive" not in editor.codes(document)


def test_a_fragment_is_judged_in_the_configuration_that_includes_it(editor: Editor) -> None:
    """The upstream of another file is known in a site, and what the site passes to it is known there."""
    editor.write("conf.d/site.conf", SITE)
    main = editor.open("nginx.conf", MAIN)
    assert _MISSING in editor.codes(main)
    site = editor.open("conf.d/site.conf", SITE)
    assert _MISSING not in editor.codes(site)
    editor.change(site, SITE.replace("proxy_pass http://app;", "return 204;"))
    assert _MISSING not in editor.codes(main), "nothing passes to it any more, though the disk still says so"


def test_unsaved_includes_count(editor: Editor) -> None:
    """What a main file includes is read from its unsaved text."""
    main = editor.open("nginx.conf", MAIN.replace("include", "#"))
    site = editor.open("sites/site.conf", SITE)
    assert _MISSING not in editor.codes(main)
    editor.change(main, MAIN.replace("conf.d", "sites"))
    assert _MISSING in editor.codes(main)
    assert "implicit-upstream" not in editor.codes(site)


def test_a_main_file_of_another_name_is_found_in_the_workspace(editor: Editor) -> None:
    """Main files are found by what they include, not by name or folder."""
    editor.write("servers/edge.conf", MAIN.replace("conf.d/*", "../snippets/a"))
    site = editor.open("snippets/a.conf", SITE)
    reading = editor.workspace.judged(site)
    assert reading is not None
    assert not reading.is_alone
    assert reading.config.main.path.endswith("servers/edge.conf")


def test_a_file_of_two_configurations_is_judged_in_both(editor: Editor) -> None:
    """No fix changes a file that two main files include."""
    for name in ("one/nginx.conf", "two/nginx.conf"):
        editor.write(name, MAIN.replace("conf.d/*", "../shared/site"))
    site = editor.open("shared/site.conf", SITE)
    reading = editor.workspace.judged(site)
    assert reading is not None
    assert len(reading.configs) == 2


def test_links_are_followed(editor: Editor) -> None:
    """A site that is linked into the folder of the enabled ones is judged where the link is included."""
    editor.write("nginx.conf", MAIN.replace("conf.d/*.conf", "sites-enabled/*"))
    site = editor.open("sites-available/site", SITE)
    (editor.folder / "sites-enabled").mkdir()
    (editor.folder / "sites-enabled/site").symlink_to("../sites-available/site")
    reading = editor.workspace.judged(site)
    assert reading is not None
    assert not reading.is_alone
    editor.change(site, SITE.replace("listen 80;", "listen 80; lisen 81;"))
    assert "unknown-directive" in editor.codes(site)


@pytest.mark.parametrize("name", list(FOREIGN))
def test_files_of_other_programs_have_no_diagnostics(editor: Editor, name: str) -> None:
    """Nothing is said about a file that is not nginx's, whole or while it is typed."""
    document = editor.open("other.conf", FOREIGN[name])
    assert editor.diagnostics(document) == []
    document = editor.change(document, FOREIGN[name][:-3])
    assert editor.diagnostics(document) == []


def test_a_syntax_error_is_one_diagnostic(editor: Editor) -> None:
    """A text that does not parse has one error, at its place, with what is expected."""
    text = SITE + "}\n"
    document = editor.open("a.conf", text)
    (diagnostic,) = editor.diagnostics(document)
    assert diagnostic.code == "syntax-error"
    assert diagnostic.severity == DiagnosticSeverity.Error
    assert diagnostic.range.start.line == text.count("\n") - 1
    assert "closes no block" in diagnostic.message
    assert "expected" in diagnostic.message


def test_findings_stay_in_place_while_the_text_is_broken(editor: Editor) -> None:
    """Findings above and below a broken line stay, those of it go, and all are right again once it parses."""
    whole = MAIN.replace("    include conf.d/*.conf;\n", "    gzip on;\n" + SITE + "    tcp_nodelay off;\n")
    document = editor.open("nginx.conf", whole)
    before = editor.diagnostics(document)
    assert {_MISSING, "tcp-nodelay-off"} <= {str(one.code) for one in before}
    broken = whole.replace("gzip on;", 'gzip "on;\n# a line more')
    document = editor.change(document, broken)
    now = editor.diagnostics(document)
    assert of(now, "syntax-error")
    assert of(now, _MISSING).range == over(broken, "upstream")
    assert of(now, "tcp-nodelay-off").range == over(broken, "off")
    assert "gzip-types-default" not in {one.code for one in now}, "the line that is being changed"
    document = editor.change(document, whole)
    assert editor.diagnostics(document) == before


def test_a_broken_file_leaves_the_others_as_they_were(editor: Editor) -> None:
    """While an included file is broken, the main file is judged with its last text that parsed."""
    main = editor.open("nginx.conf", MAIN)
    site = editor.open("conf.d/site.conf", SITE)
    assert _MISSING in editor.codes(main)
    editor.change(site, SITE.replace("listen 80;", 'listen "80;'))
    assert _MISSING in editor.codes(main)
    assert "syntax-error" in editor.codes(site)


def test_a_file_that_is_broken_on_the_disk_is_judged_by_itself(editor: Editor) -> None:
    """If what a site is included with cannot be read, the site is judged as a fragment."""
    editor.write("nginx.conf", MAIN + "}")
    site = editor.open("conf.d/site.conf", SITE)
    reading = editor.workspace.judged(site)
    assert reading is not None
    assert reading.is_alone
    assert "syntax-error" not in editor.codes(site)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_columns_are_in_the_units_of_the_encoding(encoding: str, editor: Editor) -> None:
    """Behind characters of four bytes, a column is in units of the negotiated encoding."""
    editor = Editor(editor.folder, encoding)
    document = editor.open("a.conf", 'server { listen 80; set $a "😀é"; lisen 80; }\n')
    start = of(editor.diagnostics(document), "unknown-directive").range.start.character
    assert start == 31 + {"utf-8": 6, "utf-16": 3, "utf-32": 2}[encoding]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_of_windows_change_nothing(editor: Editor, end: str) -> None:
    """A text with CRLF has the same diagnostics at the same lines and columns."""
    text = SITE.replace("listen 80;", "listen 80;\n    lisen 81;")
    document = editor.open("a.conf", text.replace("\n", end))
    assert of(editor.diagnostics(document), "unknown-directive").range == over(text, "lisen")


def test_a_byte_order_mark_that_the_editor_hides_is_seen(editor: Editor) -> None:
    """nginx refuses a file that begins with a byte order mark, which editors do not show."""
    uri = editor.write("a.conf", b"\xef\xbb\xbf" + SITE.encode())
    document = editor.workspace.open(uri, SITE, 1)
    (diagnostic,) = editor.diagnostics(document)
    assert "byte order mark" in diagnostic.message
    assert diagnostic.range.start == diagnostic.range.end == at(SITE, "server")
    editor.write("a.conf", SITE)
    document = editor.workspace.open(uri, SITE, 2)
    assert "syntax-error" not in editor.codes(document)


def test_a_file_in_another_encoding_is_judged_as_the_editor_shows_it(editor: Editor) -> None:
    """What the editor reads of a file that is not UTF-8 has its diagnostics at the places that it shows."""
    uri = editor.write("a.conf", "server { listen 80; # caf\xe9\n lisen 80; }\n".encode("latin-1"))
    document = editor.workspace.open(uri, "server { listen 80; # caf\ufffd\n lisen 80; }\n", 1)
    assert of(editor.diagnostics(document), "unknown-directive").range.start.character == 1


def test_half_a_surrogate_pair_does_no_harm(editor: Editor) -> None:
    """A text in which an editor sends half a character is read with U+FFFD in its place."""
    document = editor.open("a.conf", "", unsaved=True)
    document = editor.change(document, 'server { set $a "\ud83d"; lisen 80; }')
    assert of(editor.diagnostics(document), "unknown-directive").range.start.character == 21


def test_settings_are_those_of_lint(editor: Editor) -> None:
    """The nearest settings file above a document says which rules run, and what is excluded."""
    document = editor.open("sites/nginx.conf", MAIN.replace("    include conf.d/*.conf;\n", SITE))
    assert _MISSING in editor.codes(document)
    editor.write("pyproject.toml", f'[tool.nginxopt]\nignore = ["{_MISSING}"]\n')
    assert _MISSING not in editor.codes(document)
    editor.write("sites/nginxopt.toml", f'[severity]\n"{_MISSING}" = "error"\n')
    assert of(editor.diagnostics(document), _MISSING).severity == DiagnosticSeverity.Error
    editor.write("sites/nginxopt.toml", 'exclude = ["*.conf"]\n')
    assert editor.diagnostics(document) == []


def test_the_baseline_of_the_settings_hides_findings(editor: Editor) -> None:
    """What the baseline of `lint` records has no diagnostic, and what is new has one."""
    text = MAIN.replace("    include conf.d/*.conf;\n", SITE)
    document = editor.open("nginx.conf", text)
    command = [sys.executable, "-m", "nginxopt", "lint", "nginx.conf", "--write-baseline", "known.json"]
    options = ["--isolated", "--target-version", "1.28.0"]
    subprocess.run([*command, *options], cwd=editor.folder, capture_output=True, check=True)
    assert _MISSING in editor.codes(document)
    editor.write("nginxopt.toml", 'baseline = "known.json"\n')
    assert editor.diagnostics(document) == []
    editor.change(document, text.replace("http {", "http {\n    gzip on; gzip_types text/css; gzip_comp_level 9;"))
    assert editor.codes(document) == {"gzip-level"}


def test_a_baseline_that_cannot_be_read_is_reported(editor: Editor) -> None:
    """Without the baseline that the settings name, no finding is shown that it might hide."""
    editor.write("nginxopt.toml", 'baseline = "none.json"\n')
    document = editor.open("nginx.conf", MAIN)
    (diagnostic,) = editor.diagnostics(document)
    assert diagnostic.code == "settings"
    assert "none.json: cannot be read" in diagnostic.message


def test_broken_settings_are_reported_and_nothing_is_guessed(editor: Editor) -> None:
    """With settings that cannot be read, no finding is shown that they might hide."""
    editor.write("nginxopt.toml", "ignore = [\n")
    document = editor.open("nginx.conf", MAIN)
    (diagnostic,) = editor.diagnostics(document)
    assert diagnostic.code == "settings"
    assert "nginxopt.toml" in diagnostic.message


def test_settings_that_name_a_missing_main_file_are_an_error(editor: Editor) -> None:
    """What the settings name and is not there is an error of the settings, not of the file."""
    editor.write("nginxopt.toml", 'main = "fragment.conf"\n')
    editor.write("fragment.conf", "listen 80;\n")
    document = editor.open("a.conf", SITE)
    with pytest.raises(UsageError, match="has no http block"):
        editor.diagnostics(document)


def test_a_template_is_checked_as_lint_does(editor: Editor) -> None:
    """The findings of a template are those that hold whatever its tags are; it is no faulty text."""
    text = "{% if tls %}\nserver {\n    listen {{ port }};\n    root /a;\n    root /b;\n}\n{% endif %}\n"
    document = editor.open("site.conf.j2", text)
    (diagnostic,) = editor.diagnostics(document)
    assert (diagnostic.code, diagnostic.range.start.line) == ("duplicate-directive", 4)
    assert editor.diagnostics(editor.open("b.conf", SITE.replace("80", "{{ port }}"))) == []
    assert editor.diagnostics(editor.open("values.yml.j2", "a: {{ b }}\nserver: x\n")) == []


def test_a_template_that_cannot_be_read_is_named(editor: Editor) -> None:
    """A template that looks like nginx, whose readings are no configurations, is named as one, without alarm."""
    document = editor.open("a.conf", SITE.replace("80;", "{{ port }} '"))
    (diagnostic,) = editor.diagnostics(document)
    assert diagnostic.severity == DiagnosticSeverity.Information
    assert "template" in diagnostic.message


def test_text_without_effect_is_marked(editor: Editor) -> None:
    """What could be deleted has the tag by which editors fade it out."""
    document = editor.open("a.conf", SITE.replace("listen 80;", "listen 80;  # nginxopt: ignore[gzip-level] why"))
    editor.open("nginx.conf", MAIN.replace("conf.d/*", "a"))
    diagnostic = of(editor.diagnostics(document), "unused-suppression")
    assert diagnostic.tags == [DiagnosticTag.Unnecessary]


def test_other_places_of_a_finding_are_linked(editor: Editor) -> None:
    """The places that a finding refers to have their files and ranges."""
    text = "server { listen 80; root /a; root /b; }\n"
    document = editor.open("a.conf", text)
    diagnostic = of(editor.diagnostics(document), "duplicate-directive")
    assert diagnostic.related_information
    related = diagnostic.related_information[0]
    assert related.location.uri == document.uri
    assert related.location.range.start == at(text, "root")


def test_each_place_of_a_cause_is_shown_with_the_others(editor: Editor) -> None:
    """A cause that a report names once has a diagnostic at each place, which names the others."""
    text = (
        "location /a { gzip_comp_level 9; }\nlocation /b { gzip_comp_level 9; }\nlocation /c { gzip_comp_level 9; }\n"
    )
    document = editor.open("a.conf", f"server {{\n{text}}}\n")
    shown = [each for each in editor.diagnostics(document) if each.code == "gzip-level"]
    assert [each.range.start.line for each in shown] == [1, 2, 3]
    lines = [[other.location.range.start.line for other in each.related_information or ()] for each in shown]
    assert lines == [[2, 3], [1, 3], [1, 2]]


def test_a_text_in_no_file_is_judged_as_a_fragment(editor: Editor) -> None:
    """A new text has diagnostics; what it includes cannot be read."""
    document = editor.workspace.open("untitled:Untitled-1", SITE.replace("listen 80;", "lisen 80; include x;"), 1)
    assert "unknown-directive" in editor.codes(document)


def test_the_same_text_is_not_checked_twice(editor: Editor) -> None:
    """Only a change makes a check: an answer for the same texts is at hand."""
    document = editor.open("nginx.conf", MAIN)
    judgement = editor.judges.judgement(document)
    again = editor.judges.judgement(document)
    assert judgement is not None
    assert again is not None
    assert judgement.checked is again.checked


def test_a_check_ends_for_a_newer_text(editor: Editor) -> None:
    """Before each rule, a check looks for a newer text."""
    document = editor.open("nginx.conf", MAIN)
    answers = iter([True, True, False])
    with pytest.raises(SupersededError):
        editor.judges.diagnostics(document, lambda: next(answers))
    assert next(answers, None) is None


_RULE = '''"""A title

What it flags.
"""
from nginxopt.lint import Finding, Severity, rule

@rule(severity=Severity.WARNING, category="config")
def check(model):
    for directive, _ in model.each("gzip"):
        yield Finding(directive.source, directive.span, "gzip is there")
'''


def test_rules_of_ones_own_are_run(editor: Editor) -> None:
    """A rule in a folder that the settings name runs like others; one that fails is reported at the top."""
    editor.write("nginxopt.toml", 'rules = ["checks"]\nselect = ["acme-gzip", "acme-failing", "acme-broken"]\n')
    editor.write("checks/acme_gzip.py", _RULE)
    editor.write("checks/acme_failing.py", _RULE.replace("each", "etch"))
    editor.write("checks/acme_broken.py", "1 / 0\n")
    text = MAIN.replace("include", "gzip on; # include")
    diagnostics = editor.diagnostics(editor.open("nginx.conf", text))
    found = of(diagnostics, "acme-gzip")
    assert found.range == over(text, "gzip on;")
    assert found.code_description is None
    broken, failing = sorted(diagnostic.message for diagnostic in diagnostics if diagnostic.code == "rules")
    assert "checks/acme_broken.py:1:1: rule acme-broken of " in broken
    assert "checks/acme_failing.py:9:5: rule acme-failing failed: AttributeError" in failing


def test_rules_of_ones_own_need_trust(editor: Editor) -> None:
    """In a workspace that the user does not trust, rules that its settings name are not run, and that is said."""
    editor.workspace.preferences.run = False
    editor.write("nginxopt.toml", 'rules = ["checks"]\n')
    editor.write("checks/acme_gzip.py", _RULE + "\nraise SystemExit('it runs')\n")
    diagnostics = editor.diagnostics(editor.open("nginx.conf", MAIN.replace("include", "gzip on; # include")))
    (note,) = [diagnostic for diagnostic in diagnostics if diagnostic.code == "rules"]
    assert note.severity == DiagnosticSeverity.Information
    assert note.message.startswith("1 rule in ")
    assert "--rules" in note.message


@pytest.mark.parametrize(
    ("options", "is_trusted"), [({"trusted": True}, True), ({"trusted": "yes"}, False), ({}, False), (None, False)]
)
def test_the_editor_says_what_is_trusted(
    options: object, is_trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the initialization option `trusted: true` makes rules run."""
    preferences = Preferences()
    server = make(preferences)
    monkeypatch.setattr(type(server), "workspace", Workspace(None))
    server.start(InitializeParams(ClientCapabilities(), root_uri=tmp_path.as_uri(), initialization_options=options))
    assert preferences.run == is_trusted


def test_settings_may_be_forgotten_while_they_are_read(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is saved during a check makes the server read settings and main files anew, and ends no check."""
    document = editor.open("conf.d/site.conf", SITE)
    editor.write("nginx.conf", MAIN)
    load, mains = catalogue.load, roots.mains

    def forgetting_load(**options: Any) -> Any:
        editor.workspace.forget()
        return load(**options)

    def forgetting_mains(*folders: Any) -> list[str]:
        editor.workspace.forget()
        return mains(*folders)

    monkeypatch.setattr(catalogue, "load", forgetting_load)
    monkeypatch.setattr(roots, "mains", forgetting_mains)
    reading = editor.workspace.judged(document)
    assert reading is not None
    assert not reading.is_alone
    assert "passthrough-hop" not in editor.codes(document)


def test_folders_of_the_workspace_come_and_go(editor: Editor) -> None:
    """A main file beside the folder of a file is found as long as the editor has its folder open."""
    editor.write("main/edge.conf", MAIN.replace("conf.d/*", "../sites/a"))
    site = editor.open("sites/a.conf", SITE)
    editor.workspace.change_folders([str(editor.folder / "sites")], [str(editor.folder)])
    alone = editor.workspace.judged(site)
    editor.workspace.change_folders([str(editor.folder / "main")], [])
    within = editor.workspace.judged(site)
    assert alone is not None
    assert alone.is_alone
    assert within is not None
    assert not within.is_alone


def test_places_beside_are_looked_for_once(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is resolved once, and not for each of the places that thousands of findings in it name."""
    asked: list[str] = []
    identity = Disk.identity

    def counted(disk: Disk, path: str) -> str:
        asked.append(path)
        return identity(disk, path)

    monkeypatch.setattr(Disk, "identity", counted)
    counts = []
    for number in (20, 200):
        servers = "    server { listen 80; server_name a.test; }\n" * number
        document = editor.open(f"{number}.conf", f"events {{}}\nhttp {{\n{servers}}}\n")
        asked.clear()
        found = editor.diagnostics(document)
        assert sum(len(diagnostic.related_information or ()) for diagnostic in found) > number
        counts.append(len(asked))
    assert counts[1] < counts[0] + 20, counts


def test_an_open_file_has_all_its_names(editor: Editor) -> None:
    """A link leads to the open file, also while many others are open, and not once it is closed."""
    for number in range(30):
        editor.open(f"{number}.conf", SITE)
    document = editor.open("main.conf", MAIN)
    link = Path(document.path).with_name("link.conf")
    link.symlink_to(document.path)
    assert editor.workspace.document(str(link)) is editor.workspace.documents[document.uri]
    editor.workspace.close(document.uri)
    assert editor.workspace.document(str(link)) is None
