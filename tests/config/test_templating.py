"""Templates are recognised, with their kind and first tag; text that nginx itself accepts is not one."""

from __future__ import annotations

import pytest

from nginxopt.config import load_text
from nginxopt.config.templating import refuse_tags, refused
from nginxopt.errors import InputError
from tests.rows import every_row

pytestmark = pytest.mark.no_cover

JINJA = "a Jinja template"
EITHER = "a Jinja or Mustache template"
ERB = "a template with ERB tags"
GO = "a Go template"

# A template that does not parse, its kind, and its first tag as the line and column of its error.
TEMPLATES = {
    "server {\n  listen {{ port }};\n}": (EITHER, "2:10"),
    "{% if tls %}\nlisten 443 ssl;\n{% endif %}": (JINJA, "1:1"),
    "# {{ ansible_managed }}\nroot '{{ a }}';\nuser {{ user }};\n{% for a in b %}": (JINJA, "3:6"),
    "{# a remark #}\nuser a;": (JINJA, "1:1"),
    "{{- if .Values.tls }}\nlisten 443;\n{{- end }}": ("a Helm template", "1:1"),
    "{{ range $host := . }}server { }{{ end }}": (GO, "1:1"),
    "{{/* made by hand */}}\nserver { listen {{ $port }}; }": (GO, "1:1"),
    "{{ $a := .Env.A }}": (GO, "1:1"),
    "user {{{user}}};": ("a Handlebars template", "1:6"),
    "{{#if a}}\nuser b;\n{{/if}}": ("a Handlebars template", "1:1"),
    "root {{ $site->path }};": ("a Blade template", "1:6"),
    "<% if a -%>\nserver {\n<% end -%>": (ERB, "1:1"),
    "<?php foreach ($a as $b) { ?>\nserver {": ("a PHP file", "1:1"),
    "@SERVERS@\nserver { location / { }": ("a template with placeholders such as @NAME@", "1:1"),
    "%%SERVERS%%\nserver { location / { }": ("a template with placeholders such as %%NAME%%", "1:1"),
    "access_log /var/log/%{host}.log;\nserver {": ("a template with placeholders such as %{name}", "1:21"),
    "error_log /var/log/{HOST}.log;\nserver {": ("a template with placeholders such as {NAME}", "1:20"),
    "user a;\n  ${EVENTS}\nhttp { }\n}": ("an envsubst template", "2:1"),
}


def error_of(text: str) -> InputError:
    """The error of a text that does not parse."""
    with pytest.raises(InputError) as caught:
        load_text(text.encode(), "f")
    return caught.value


@every_row("text", TEMPLATES)
def test_templates_that_do_not_parse(text: str) -> None:
    """A template is called one, with its kind and the place of its first tag outside of comments and quotes."""
    kind, place = TEMPLATES[text]
    shown = refused(error_of(text)).render().split("\n")
    assert shown[0] == f"f:{place}: this is {kind}: check the rendered file"


@every_row(
    "text",
    [
        "user a",
        "# {{ ansible_managed }}\nuser a",
        "sub_filter '{{ nonce }}' $request_id;\nuser a",
        'return 200 "a\n \'{{ b }}\' \\" {% c %}";\nuser a',
        "server { listen ${PORT}; location / { proxy_pass http://${BACKEND}; }",
        "location ~ ^/a{2}$ { }",
        "http { server { }",
        "location @NAME { return 404; }\n}",
    ],
)
def test_faults_that_are_no_template(text: str) -> None:
    """A configuration with a fault keeps the error that names it, whatever its comments and texts hold."""
    error = error_of(text)
    assert refused(error) is error


def test_an_error_without_a_place() -> None:
    """A file that cannot be read is no template."""
    error = InputError("cannot be read", path="{{ a }}")
    assert refused(error) is error


@every_row(
    ("text", "place", "kind"),
    [
        ("listen <%= port %>;", "1:8", ERB),
        ("proxy_pass http://<%= host %>:80;", "1:19", ERB),
        ("<% if a %>\nlisten 80;", "1:1", ERB),
        ('\nroot "{{ root }}/a";', "2:7", EITHER),
        ("root '{% if a %}b{% endif %}';", "1:7", JINJA),
        ("worker_processes @N@;", "1:18", "a template with placeholders such as @NAME@"),
        ("http { server_name %%HOST%%; }", "1:20", "a template with placeholders such as %%NAME%%"),
        ('return 301 <%= a %>; # "b"', "1:12", ERB),
        ("root '<?php echo $a ?>';", "1:7", "a PHP file"),
        ("http {\n  ${MORE}\n  server { }\n}", "2:3", "an envsubst template"),
        ("$MORE ;\nserver { }", "1:1", "an envsubst template"),
        ("rewrite ^/a$ /b;\n" * 100 + "rewrite ^/@A@$ /b;", "101:11", "a template with placeholders such as @NAME@"),
    ],
)
def test_templates_that_parse(text: str, place: str, kind: str) -> None:
    """A tag in a word of a text that parses makes it a template: the value is not known."""
    with pytest.raises(InputError) as caught:
        refuse_tags(load_text(text.encode(), "f").main.block)
    assert caught.value.render().split("\n")[0] == f"f:{place}: this is {kind}: check the rendered file"


@every_row(
    "text",
    [
        "# {{ ansible_managed }} <% @A@\nuser a;",
        "sub_filter '{{ nonce }}' $request_id;",
        "sub_filter '<%= a %>' b;",
        "return 200 '<b>{{ a }}</b>';",
        "add_header A '{% b %}';",
        "content_by_lua_block { local a = {{ 1 }} }",
        "content_by_lua 'local a = {{ 1 }}';",
        "listen ${PORT};",
        "log_format a '$uri'\n    $HOST\n    ${REQUEST};",
        "proxy_pass http://$BACKEND;",
        "if ($args ~* '<%|%3C|{{') { return 403; }",
        "location @a { }\nlocation @B { }",
        "auth_basic_user_file a@b@c;",
    ],
)
def test_tags_in_configurations(text: str) -> None:
    """Comments, texts for a client, Lua, variables and patterns that look for tags make no template."""
    config = load_text(text.encode())
    refuse_tags(config.main.block)
    assert config.files == (config.main,)


@every_row("part", ["{{ ", " '", ' "\\', "<% ", "@A", "# {{\n", "\t ", "\n ", "{{{.}"])
def test_long_texts_are_told_at_once(part: str) -> None:
    """No text is looked through again and again: a megabyte of any part of a tag is told at once."""
    text = part * (1_000_000 // len(part)) + "\n}"
    error = error_of(text)
    assert refused(error).source is error.source


@every_row("placeholder", ["@DOMAIN@", "%%DOMAIN%%", "%domain%", "__DOMAIN__", "${DOMAIN}", "${DOMAIN:-a.test}"])
def test_a_placeholder_of_each_form_is_named(placeholder: str) -> None:
    """What makes a file a template also says of which kind it is."""
    config = load_text(f"http {{ server {{ server_name {placeholder}; }} }}".encode(), "f")
    with pytest.raises(InputError, match=r"this is an? (envsubst )?template"):
        refuse_tags(config.main.block, names=True)
