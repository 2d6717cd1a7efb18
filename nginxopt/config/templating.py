"""Detects templates, from which another program generates a configuration; `templates` reads them for `lint`.

A template that does not parse is rejected as a template, at its first tag, instead of at the brace that confuses the
parser. A template that parses is read, with these exceptions, because a finding in an unfinished configuration may be
wrong, which is worse than an error:

- a tag in a word of a directive (`listen <%= port %>;`, `root "{{ root }}";`, `worker_processes @N@;`): the
  value is not known, and a tag without quotes may have swallowed a directive;
- but not in text that nginx hands on in quotes (`return`, `sub_filter` ...) or to Lua: a page may well have
  tags that nginx, or the browser, fills in;
- nor in comments, and not what envsubst puts in place of `${NAME}`: nginx reads it as a variable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config.tokens import Token
from nginxopt.config.tree import Block, Directive, parse
from nginxopt.errors import InputError
from nginxopt.text import Source, Span

_AT = rb"@[A-Z][A-Z0-9_]*@"
_PERCENT = rb"%%[A-Za-z][A-Za-z0-9_]*%%"
_PHP = rb"<\?(?:php\b|=)"
_ENVSUBST_LINE = rb"^[ \t]*\$(?:\{[A-Z][A-Z0-9_]*\}|[A-Z][A-Z0-9_]*)[ \t]*\r?$"

# In a text that does not parse: a tag, or before it what is passed over, comments and quoted words of nginx's length.
_PASSED_OVER = rb"""(?<![^\s;{}])(?:\#.*|"(?:\\[\s\S]|[^"\\]){0,4096}"|'(?:\\[\s\S]|[^'\\]){0,4096}')"""
_ENVSUBST = re.compile(_ENVSUBST_LINE, re.MULTILINE)
_OPENING = b"|".join([rb"\{\{", rb"\{%", rb"\{\#", rb"\{!!", rb"<%", _PHP, _AT, _PERCENT])
_BARE = re.compile(rb"%s|(?P<tag>%s|%s)" % (_PASSED_OVER, _OPENING, _ENVSUBST_LINE), re.MULTILINE)
_ANYWHERE = re.compile(_OPENING)

# In a word of a text that parses: the whole tag, so that a pattern which only looks for an opening is none.
_WHOLE = [rb"\{\{.*?\}\}", rb"\{%.*?%\}", rb"\{!!.*?!!\}", rb"<%.*?%>", rb"<\?(?:php\b|=).*?\?>", _AT, _PERCENT]
_IN_QUOTES = re.compile(b"|".join(_WHOLE), re.DOTALL)
_IN_WORD = re.compile(b"|".join([*_WHOLE, rb"<%", _PHP]), re.DOTALL)  # without quotes, a blank ends the word

# The first that is found anywhere in a text is its kind. Jinja, Mustache and others share `{{ name }}`.
_KINDS = tuple(
    (kind, re.compile(pattern, re.MULTILINE))
    for kind, pattern in {
        "a PHP file": _PHP,
        "a template with ERB tags": rb"<%",
        "a Helm template": rb"\{\{[^\n}]{0,200}\.(?:Values|Release|Chart|Capabilities)\b",
        "a Jinja template": rb"\{%|(?<!\{)\{\#",
        "a Handlebars template": rb"\{\{\{|\{\{[\#^]|\{\{/\w",
        "a Go template": rb'\{\{(?:-|/\*)|\{\{ *(?:[."]|(?:range|if|else|end|with|define|template|printf)\b|\$\w+ *:=)',
        "a Blade template": rb"\{!!|\{\{ *\$",
        "a Jinja or Mustache template": rb"\{\{",
        "a template with placeholders such as @NAME@": _AT,
        "a template with placeholders such as %%NAME%%": _PERCENT,
        "an envsubst template": _ENVSUBST_LINE,
    }.items()
)

_TEXT = {"return", "sub_filter", "add_header", "add_trailer", "log_format", "set", "echo"}


class TemplateError(InputError):
    """A file that is a template."""


def refused(error: InputError) -> InputError:
    """Return an error that names the kind of template if the file is one, otherwise the parse error `error`.

    A text is one if a tag stands outside of comments and quotes: what is in them is no reason not to parse.
    """
    if isinstance(error, TemplateError) or error.source is None or error.span is None:
        return error
    tag = _bare_tag(error.source)
    return error if tag is None else refusal(error.source, tag)


def is_template(source: Source) -> bool:
    """Return whether a text is a template, as `refused` and `refuse_tags` say."""
    if not _ANYWHERE.search(source.data) and not _ENVSUBST.search(source.data):
        return False
    try:
        block = parse(source)
    except InputError:
        return _bare_tag(source) is not None
    return _tag_in_word(block) is not None


def refuse_tags(block: Block) -> None:
    """Raise `InputError` at the first tag in a word of a file that parses, so that a value in it cannot be known.

    Linear in the size of the text; the directives are looked at only where the text has a tag.
    """
    tag = _tag_in_word(block)
    if tag is not None:
        raise refusal(block.source, tag)


def _bare_tag(source: Source) -> Span | None:
    """Return the first tag outside of comments and quotes."""
    tag = next((match for match in _BARE.finditer(source.data) if match["tag"]), None)
    return None if tag is None else Span(*tag.span("tag"))


def _tag_in_word(block: Block) -> Span | None:
    """Return the first tag in a word of a file that parses."""
    data = block.source.data
    if not _ANYWHERE.search(data):
        return None
    for directive in block.walk():
        for word in _known(directive):
            tag = (_IN_QUOTES if word.quoted else _IN_WORD).search(data, word.start, word.end)
            if tag:
                return Span(*tag.span())
    return None


def refuse_template(source: Source) -> None:
    """Raise `InputError` at the first tag of a text that can be parsed, as `refuse_tags`."""
    if _ANYWHERE.search(source.data):
        refuse_tags(parse(source))


def _known(directive: Directive) -> Iterator[Token]:
    """Yield the words of a directive whose value nginx works with."""
    yield directive.name
    is_text = directive.name in _TEXT or "_by_lua" in directive.name
    yield from (word for word in directive.args if not (is_text and word.quoted))


def refusal(source: Source, tag: Span, because: str | None = None) -> TemplateError:
    """Return the error for a template, at one of its tags; `because` says why it cannot be read."""
    return TemplateError(f"this is {kind(source)}: check the rendered file", source=source, span=tag, hint=because)


def kind(source: Source) -> str:
    """Return the kind of a template, such as `a Jinja template`."""
    return next(kind for kind, pattern in _KINDS if pattern.search(source.data))
