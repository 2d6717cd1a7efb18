"""Templates: what they are read as, and what is found in them."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import pytest

from nginxopt.config import inputs
from nginxopt.config.templating import is_template
from nginxopt.lint.catalogue import catalogue
from nginxopt.text import Source
from tests.lintcheck import TARGET, diagnose
from tests.rows import every_row
from tests.template_law import broken, cases, found, judged, read_template

PARTS = 401
"""Of the cases of the law, some of so many parts are tried here; `python -m tests.template_law` tries all."""


def lines(text: str, *rules: str) -> dict[str, list[int]]:
    """The lines of findings in a template, by rule; those of all rules that are on by default, or of some."""
    ids = rules or [rule.id for rule in catalogue().values() if rule.default]
    by_rule: dict[str, list[int]] = {}
    for rule, line, _ in sorted(found(judged(read_template(text.encode()), TARGET, ids))):
        by_rule.setdefault(rule, []).append(line)
    return by_rule


def written(text: str) -> list[str]:
    """What the readings of a template write with their first values, without blank lines, each once."""
    templates = read_template(text.encode()).templates
    assert templates is not None
    texts = [
        reread.files["nginx.conf"].data.decode()
        for reread in templates.readings
        if (reread.reading.scheme, reread.reading.lines) == (0, 0) and not reread.reading.is_veiled
    ]
    return list(dict.fromkeys(" ".join(text.replace(";", "; ").split()) for text in texts))


# --- blocks


@every_row(
    "text",
    [
        "{% if a %}\nroot /a;\n{% elif b %}\nroot /b;\n{% else %}\nroot /c;\n{% endif %}\n",
        "{{ if .A }}\nroot /a;\n{{ else if .B }}\nroot /b;\n{{ else }}\nroot /c;\n{{ end }}\n",
        "{{#if a}}\nroot /a;\n{{else if b}}\nroot /b;\n{{else}}\nroot /c;\n{{/if}}\n",
        "<% if a -%>\nroot /a;\n<% elsif b -%>\nroot /b;\n<% else -%>\nroot /c;\n<% end -%>\n",
        "<% if (a) { %>\nroot /a;\n<% } else if (b) { %>\nroot /b;\n<% } else { %>\nroot /c;\n<% } %>\n",
        '<% if [ "$A" ]; then %>\nroot /a;\n<% elif b; then %>\nroot /b;\n<% else %>\nroot /c;\n<% fi %>\n',
    ],
)
def test_each_branch_is_read(text: str) -> None:
    """A condition is read with each of its branches, in each language of templates."""
    assert written(f"user a;\n{text}") == ["user a; root /a;", "user a; root /b;", "user a; root /c;"]


@every_row(
    "text",
    [
        "{% for x in y %}\nroot /a;\n{% endfor %}\n",
        "{{- range $x := .Y }}\nroot /a;\n{{- end }}\n",
        "{{#each y}}\nroot /a;\n{{/each}}\n",
        "<% y.each do |x| %>\nroot /a;\n<% end %>\n",
        "<% y.each { |x| %>\nroot /a;\n<% } %>\n",
        "<% y.forEach(function (x) { %>\nroot /a;\n<% }) %>\n",
        "<% for x in $Y; do %>\nroot /a;\n<% done %>\n",
    ],
)
def test_loops_are_read_more_than_once(text: str) -> None:
    """What a loop has is read once, twice and not at all."""
    assert written(f"user a;\n{text}") == ["user a; root /a;", "user a; root /a; root /a;", "user a;"]


@every_row(
    ("text", "readings"),
    [
        ("{# a #}<%# b %>{{/* c */}}{{!-- d --}}user a;<% x = 1 %>{% set y = '%}' %}", ["user a;"]),
        ("{% macro m(a) %}root {{ a }};{% endmacro %}user a;{% set x %}root /b;{% endset %}", ["user a;"]),
        ('{{ define "x" }}\nroot /a;\n{{ end }}\n', ["root /a;", ""]),
        ("{% raw %}return 200 '{{ x }}{% if %}';{% endraw %}{{ y }}", ["return 200 '{{ x }}{% if %}';"]),
        ("a\n{{- /* x */ -}}\nb;\nuser a{% if x %}b{% endif %}c;", ["ab; user abc;", "ab; user ac;"]),
        ("{% for a in b %}\nroot /a;\n{% if c %}{% continue %}{% endif %}\nuser b;\n{% endfor %}", None),
        ("{% with a = 1 %}user a;{% endwith %} # {% if x %}\n{% endif %}", ["user a; #"]),
    ],
)
def test_what_is_written(text: str, readings: list[str] | None) -> None:
    """Comments, assignments and definitions write nothing, and what tags trim is gone."""
    texts = written(text)
    if readings is None:
        assert {"root /a; user b;", "root /a;", ""} <= set(texts)
    else:
        assert [part.removesuffix(' include "/unread of a template/anything";') for part in texts] == readings


@every_row(
    ("text", "line", "reason"),
    [
        ("{% if a %}\nserver {\n{% endif %}\n}", 1, "this closes no block"),
        ("user a;\n{% if a %}", 2, "its block is not closed"),
        ("user a;\n{% endif %}", 2, "it does not close the block that is open"),
        ("{% if a %}\n{% for b in c %}\n{% endif %}\n{% endfor %}", 3, "it does not close the block that is open"),
        ("user a;\n{% else %}\nroot a;", 2, "it belongs to no condition"),
        ("user a;\n{% extends 'b' %}", 2, "what it does is not known"),
        ("user a;\n{% filter x %}{% endfilter %}", 2, "what it does is not known"),
        ("user a;\n<% puts 'b' %>", 2, "what it does is not known"),
        ("user a;\n<?php echo 1 ?>", 2, "what it does is not known"),
        ("user a;\nroot {{ b ;", 2, "what it does is not known"),
        ("{{ a }} b {\n}", 1, "it names a block"),
        ("user a;\n<% break %>", 2, "it belongs to no loop"),
        ("http {\n{{ if a }}\n}\n{{ end }}\n", 2, "this block is not closed"),
        ("{# a #}\nhttp {", 1, "this block is not closed"),
    ],
)
def test_other_templates_are_refused(text: str, line: int, reason: str, tmp_path: Path) -> None:
    """A template whose readings are no configurations, or with a tag that is not understood, is refused at that tag."""
    path = tmp_path / "a.conf"
    path.write_text(text)
    read = inputs.read([str(path)], inputs.InputOptions(templates=True))
    assert read.configs == ()
    (error,) = read.errors
    assert error.message.endswith(": check the rendered file")
    assert error.source is not None
    assert error.span is not None
    assert error.source.position(error.span.start).line == line
    assert reason in str(error.hint)


def test_what_only_begins_like_a_tag_is_no_crash(tmp_path: Path) -> None:
    """A text that does not parse and has no tag but the beginning of one is refused at its place."""
    path = tmp_path / "a.conf"
    path.write_text("server{# x\ngzip_d")
    read = inputs.read([str(path)], inputs.InputOptions(templates=True))
    assert [error.message for error in read.errors] == ["this is a Jinja template: check the rendered file"]


# --- values


@every_row(
    "value",
    [
        "{{ x }}",
        "{{ x | default('a;b{}') }}",
        "a{{- x }}",
        "{{{ x }}}",
        "<%= x %>",
        "{!! $x !!}",
        "%%X%%",
        "@X@",
        '"{{ x }}"',
        "a{{ x }}b",
        "'a {{ x }};'",
        '{{ x["a"] }}',
        """${X-"a"}""",
        "${X-'a'}",
        "{{ {'a': {'b': 1}}['a'] }}",
    ],
)
def test_a_value_is_a_word(value: str) -> None:
    """A tag in a word is a value, whatever is in it; the rest of the file is judged."""
    text = f"events {{}}\nhttp {{\nserver {{\nserver_name {value};\ngzip on;\n}}\n}}\n"
    assert lines(text, "gzip-types-default") == {"gzip-types-default": [5]}


def test_a_shell_takes_the_backslash_from_a_variable() -> None:
    """`\\$name` is a variable in a file that a shell fills in, and text where nothing else shows that one does."""
    table = "map $host \\$kind { default 1; }\n"
    assert not lines(table + 'server { listen ${PORT-"80"}; }\n', "refused")
    assert not is_template(Source("a.conf", table.encode()))
    assert [finding.start.line for finding in diagnose("refused", table, context="http")]


def test_a_line_of_tags_may_be_anything() -> None:
    """A tag in the place of directives may be any of them, so that nothing is known to be missing beside it."""
    text = "events {{}}\nhttp {{\nserver {{\n{0}\ngzip on;\n}}\n}}\n"
    assert lines(text.format("# {{ x }}"), "gzip-types-default") == {"gzip-types-default": [5]}
    assert lines(text.format("# {{ x }}\nuser {{ y }};"), "gzip-types-default") == {"gzip-types-default": [6]}
    for tags in ("{{ x }}", "  {{ x }}  # y", "{{ x }};", "{{ x }} y;", "{% if y %}{{ x }}{% endif %}", "${X}", "@X@"):
        assert lines(text.format(tags), "gzip-types-default") == {}, tags
    assert lines(text.format("{{ ansible_managed | comment }}"), "gzip-types-default") == {"gzip-types-default": [5]}
    around = "events {{}}\nhttp {{\n{0}\nserver {{\ngzip on;\n}}\n}}\n"
    assert lines(around.format(""), "gzip-types-default") == {"gzip-types-default": [5]}
    for tag in ("{{ x }}", "${X}", "$X", "  ${X};"):
        assert lines(around.format(tag), "gzip-types-default") == {}, tag


def test_a_setting_of_a_tag_is_unknown() -> None:
    """What a directive with a tag sets is neither missing nor wrong."""
    text = (
        "events {{}}\nhttp {{\nupstream app {{\nserver {{{{ host }}}}:{{{{ port }}}};\n{0}\n}}\n"
        "server {{ location / {{ proxy_pass http://app; }} }}\n}}\n"
    )
    rule = "upstream-keepalive-missing"
    assert lines(text.format(""), rule) == {rule: [3]}
    assert lines(text.format("keepalive {{ n }};"), rule) == {}
    assert lines(text.format("{% if a %}keepalive 32;{% endif %}"), rule) == {}
    assert lines(text.format("{{ more }}"), rule) == {}


def test_what_holds_in_some_readings_only_is_not_reported() -> None:
    """A finding is reported if every branch has it, and one about a branch if it does not depend on others."""
    text = "events {{}}\nhttp {{\nserver {{\n{0}\nlocation / {{\nproxy_pass http://10.0.0.1;\n{1}\n}}\n}}\n}}\n"
    rule = "proxy-buffering-off"
    assert lines(text.format("", "proxy_buffering off; # {{ a }}\nroot {{ x }};"), rule) == {rule: [7]}
    assert lines(text.format("", "{% if a %}\nproxy_buffering off;\n{% endif %}"), rule) == {rule: [8]}
    assert lines(text.format("", "proxy_buffering {{ x }};"), rule) == {}
    assert lines(text.format("proxy_buffering {% if a %}on{% else %}off{% endif %};", ""), rule) == {rule: [4]}
    rule = "proxy-http-version"
    pool = "}\nupstream a { server 10.0.0.1; keepalive 8; }\nserver {\nlocation /a { proxy_pass http://a; }\n"
    assert lines(text.format(pool, ""), rule) == lines(text.format(pool, "") + "# {{ x }}", rule) == {rule: [7]}
    assert lines(text.format(pool + "{% if a %}proxy_http_version 1.1;{% endif %}", ""), rule) == {}


_SLOW = """uwsgi_connect_timeout 300s;
upstream {name} {{
    server {server}:3031;
}}
server {{
    location / {{
        {passes}
    }}
}}
"""


@pytest.mark.parametrize(
    ("name", "server", "passes", "is_found"),
    [
        ("app", "10.0.0.1", "uwsgi_pass app;", True),
        ("{{ x }}", "10.0.0.1", "uwsgi_pass app;", True),
        ("{{ x }}", "127.0.0.1", "uwsgi_pass app;", False),
        ("app", "{{ x }}.1", "uwsgi_pass app;", False),
        ("app", "127.0.0.1", "\n{{ x }}\n", False),
    ],
)
def test_a_tag_may_name_this_machine(name: str, server: str, passes: str, is_found: bool) -> None:
    """As the upstream that is passed to, as its server, or by a directive that passes to it, whatever its protocol."""
    text = _SLOW.format(name=name, server=server, passes=passes)
    assert lines(text, "connect-timeout-long") == ({"connect-timeout-long": [1]} if is_found else {})


@pytest.mark.parametrize(("before", "is_found"), [("ex", True), ("{{ x }}", False), ("b{{ x }}", True)])
def test_the_beginning_of_a_name_may_make_it_a_pattern(before: str, is_found: bool) -> None:
    """Only then may it have captures."""
    server = f"server {{ server_name a {before}ample.com; location /a {{\nreturn 301 /$1;\n}} }}"
    found = lines(f"events {{}} http {{ {server} }}\n", "capture-missing")
    assert found == ({"capture-missing": [2]} if is_found else {})


def test_line_numbers_are_those_of_the_template() -> None:
    """Messages name lines of the template, whatever a reading leaves out before."""
    text = (
        "server {\n{% if a %}\n\nroot b;\n{% else %}\n\n{% endif %}\nrewrite ^/a /b last;\nrewrite ^/ab /c last;\n}\n"
    )
    (diagnostic,) = judged(read_template(text.encode()), TARGET, ["rewrite-shadowed"])
    assert diagnostic.start.line == 9
    assert "the rewrite in line 8 takes all" in diagnostic.message


def test_a_witness_at_a_host_that_nobody_knows() -> None:
    """The request that shows a finding is at HOST if the name or port of the server is a tag."""
    text = (
        "events {}\nhttp {\nserver {\nlisten {{ port }};\nserver_name {{ name }};\n"
        "location /i { alias /srv/i/; }\n}\n}\n"
    )
    (diagnostic,) = judged(read_template(text.encode()), TARGET, ["alias-traversal"])
    assert diagnostic.finding.witness is not None
    assert diagnostic.finding.witness.url == "http://HOST/i../secret"


# --- the law


@pytest.mark.extended
@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("number", range(3))
def test_what_is_found_holds_in_every_file(number: int) -> None:
    """What is found in a template is found in every file that it may become, for examples of all rules."""
    tried = [case for case in cases() if crc32(case.title.encode()) % PARTS == number]
    assert len(tried) > 25
    assert [fault for case in tried for fault in broken(case, [case.rule])] == []
