"""Detects and refuses templates, from which another program generates a configuration.

Only `lint` reads templates (`nginxopt.config.templates`). Other commands refuse them, because a conclusion from an
unfinished configuration may be wrong, which is worse than an error:

- A template that does not parse is refused at its first tag, instead of at the brace that confuses the parser.
- A template that parses is refused if a word of a directive contains a tag (`listen <%= port %>;`,
  `root "{{ root }}";`, `worker_processes @N@;`): the value is unknown, and a tag without quotes may hide directives.
  So is one with a line `${NAME}` in place of directives, which would be the name of the directive in the next line.

Tags are allowed in comments, in Lua, and in quoted text that nginx passes on (`return`, `sub_filter` ...): a page may
have tags for the browser. So are `${NAME}` and `__NAME__` in a word: nginx may have that variable, or that
name. `lint` takes them for tags, as it can do without a value.

Placeholders are names that another program replaces by a value before nginx reads the file. `${name}` is not one: nginx
has a variable in braces if all that stands between them is `[A-Za-z0-9_]`, in any case (`ngx_http_script_compile` in
ngx_http_script.c), and refuses `${name:-x}` and `${a.b}` wherever it evaluates variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from nginxopt import lazy
from nginxopt.budget import ExceededError
from nginxopt.config.tree import Block, Directive, Token, parse
from nginxopt.errors import InputError
from nginxopt.facts import fact, group
from nginxopt.text import Source, Span, encode

AT = rb"@[A-Z][A-Z0-9_]*@"
"""Of Autoconf, CMake and Meson."""

PERCENT = rb"%%[A-Za-z][A-Za-z0-9_]*%%"

PERCENT_BRACES = rb"%\{[a-z_][a-z0-9_]*\}"
"""`%{name}`, as in templates of Modoboa. `%{HTTP_HOST}`, in capitals, is a variable of Apache."""

BRACES = rb"""\$\{[A-Za-z_][A-Za-z0-9_]*[^A-Za-z0-9_{}\s;"'\\](?:[^{}\n;"'\\]|"[^{}\n;"\\]*"|'[^{}\n;'\\]*')*\}"""
"""A name in braces with what no variable of nginx has: `${X:-off}`, `${X-"off"}` (shells), `${a.b}` (Maven, Gradle)."""

UNDERSCORES = rb"__[A-Z](?:[A-Z0-9]|_(?!_))*__"
"""`__NAME__`, as in packages of YunoHost. It may be a part of a name or a path for nginx."""

ENVIRONMENT = rb"\$\{[A-Z][A-Z0-9_]*\}"
"""`${NAME}`, as for envsubst. nginx has such a variable if something sets it: it ignores the case of names."""

PERCENTS = rb"%[a-z]*[g-z_][a-z0-9_]*%"
"""`%name%`, as in templates of HestiaCP. It has a letter that is not a hexadecimal digit, unlike escapes in URLs."""

ANGLES = rb"<(?<![?P]<)[A-Z][A-Z0-9_]+>"
"""`<NAME>`, as for sed. In a pattern, `(?<NAME>` names a group.

Where each alternative begins with a letter of its own, `re` looks for these letters first, which is ten times as fast:
so what may not stand before the text comes behind its first letter.
"""

CURLY = rb"\{(?<![$%{\\]\{)(?<!\\[A-Za-z]\{)[A-Z][A-Z0-9_]+\}(?!\})"
"""`{NAME}`. In a pattern, `\\x{AB}` is a character. Without quotes, nginx would open a block."""

ESCAPED = rb"""\\(?<![^\s"(]\\)\$[a-z][a-z0-9_]*"""
"""`\\$name` at the beginning of a word, of which a shell (`cat <<EOF`) makes a variable of nginx.

It is a tag of a file that has others; alone it is a mistake, as nginx takes the backslash for text.
"""

CERTAIN = (AT, PERCENT, PERCENT_BRACES, BRACES)
"""The patterns of the placeholders that nginx certainly does not take as values."""

LIKELY = (UNDERSCORES, PERCENTS, ENVIRONMENT, ANGLES, CURLY)
"""Those that nginx may take as they stand. `lint` alone takes them for placeholders, as it can do without a value."""

_OF_SHELL = rb"\$[A-Z_][A-Z0-9_]+(?![a-z0-9])"
"""`$NAME`, which envsubst replaces as well. It may be a variable of nginx where nginx takes one."""

_LOWER_ANGLES = rb"\A[^<>\s]*(?<![?P])<[a-z][a-z0-9_-]*>[^<>\s]*\Z"
"""`<name>`, once in a word: HTML has more tags, or text with blanks."""

_LOWER_UNDERSCORES = rb"(?<![\w/.-])__[a-z](?:[a-z0-9]|_(?!_))*__(?![\w/.-])"
"""`__name__`, which is no part of a path or of a longer name."""

_FOR_DOLLAR = rb"\A%[a-z]*[g-z_][a-z0-9_]*\Z"
"""`%name` in place of `$name`, in templates of which envsubst replaces the rest. It is no escape of a URL, as `%20`."""

_ANY = lazy.pattern(b"|".join([*CERTAIN, *LIKELY, _OF_SHELL, _LOWER_ANGLES, _LOWER_UNDERSCORES, _FOR_DOLLAR]))


@lru_cache(maxsize=1 << 12)
def has_placeholder(word: str) -> bool:
    """Return whether a word has a placeholder, so that its value is not known."""
    return _ANY.search(encode(word)) is not None


_PHP = rb"<\?(?:php\b|=)"
_ENVSUBST_LINE = rb"^[ \t]*\$(?:\{[A-Z][A-Z0-9_]*\}|[A-Z][A-Z0-9_]*)[ \t]*;?[ \t]*\r?$"

# In a text that does not parse: a tag, or comments and quoted words (of at most nginx's length), which are skipped.
_PASSED_OVER = rb"""(?<![^\s;{}])(?:\#.*|"(?:\\[\s\S]|[^"\\]){0,4096}"|'(?:\\[\s\S]|[^'\\]){0,4096}')"""
_ENVSUBST = lazy.pattern(_ENVSUBST_LINE, re.MULTILINE)
_OPENING = b"|".join([rb"\{\{", rb"\{%", rb"\{\#", rb"\{!!", rb"<%", _PHP, *CERTAIN])
_BARE = lazy.pattern(rb"%s|(?P<tag>%s|%s|%s)" % (_PASSED_OVER, _OPENING, CURLY, _ENVSUBST_LINE), re.MULTILINE)
_ANYWHERE = lazy.pattern(_OPENING)

# In a word of a text that parses: a whole tag. A regular expression may contain the opening of a tag alone.
_WHOLE = [rb"\{\{.*?\}\}", rb"\{%.*?%\}", rb"\{!!.*?!!\}", rb"<%.*?%>", rb"<\?(?:php\b|=).*?\?>", *CERTAIN]
_IN_QUOTES = lazy.pattern(b"|".join(_WHOLE), re.DOTALL)
_IN_WORD = lazy.pattern(b"|".join([*_WHOLE, rb"<%", _PHP]), re.DOTALL)  # without quotes, a blank ends the word

# The first pattern that matches anywhere in a text gives its kind. Jinja, Mustache and others share `{{ name }}`.
_KINDS = tuple(
    (kind, lazy.pattern(pattern, re.MULTILINE))
    for kind, pattern in {
        "a PHP file": _PHP,
        "a template with ERB tags": rb"<%",
        "a Helm template": rb"\{\{[^\n}]{0,200}\.(?:Values|Release|Chart|Capabilities)\b",
        "a Jinja template": rb"\{%|(?<!\{)\{\#",
        "a Handlebars template": rb"\{\{\{|\{\{[\#^]|\{\{/\w",
        "a Go template": rb'\{\{(?:-|/\*)|\{\{ *(?:[."]|(?:range|if|else|end|with|define|template|printf)\b|\$\w+ *:=)',
        "a Blade template": rb"\{!!|\{\{ *\$",
        "a Jinja or Mustache template": rb"\{\{",
        "a template with placeholders such as @NAME@": AT,
        "a template with placeholders such as %%NAME%%": PERCENT,
        "a template with placeholders such as %{name}": PERCENT_BRACES,
        "a template with placeholders such as ${NAME:-value}": BRACES,
        "an envsubst template": rb"%s|%s" % (_ENVSUBST_LINE, ENVIRONMENT),
        "a template with placeholders such as __NAME__": UNDERSCORES,
        "a template with placeholders such as %name%": PERCENTS,
        "a template with placeholders such as <NAME>": ANGLES,
        "a template with placeholders such as {NAME}": CURLY,
    }.items()
)

_LIKELY = lazy.pattern(b"|".join(LIKELY))
_VARIABLE = lazy.pattern(ENVIRONMENT)
_LITERAL = lazy.pattern(b"|".join((ENVIRONMENT, UNDERSCORES)))

_TEXT = group("text")


class TemplateError(InputError):
    """The error for a file that is a template."""


def refused(error: InputError) -> InputError:
    """Return an error that names the kind of template if the file is one, otherwise the parse error `error`.

    A file that does not parse is a template if it has a tag outside comments and quotes; tags in them do not prevent
    parsing.
    """
    if isinstance(error, TemplateError | ExceededError) or error.source is None or error.span is None:
        return error
    tag = _bare_tag(error.source)
    return error if tag is None else refusal(error.source, tag)


def is_template(source: Source) -> bool:
    """Return whether a text is a template, by the criteria of `refused` and of `refuse_tags` with `names`."""
    if not any(tag.search(source.data) for tag in (_ANYWHERE, _ENVSUBST, _LIKELY)):
        return False
    try:
        block = parse(source)
    except InputError:
        return _bare_tag(source) is not None
    return _tag_in_word(block) is not None or _name_in_word(block) is not None


def refuse_tags(block: Block, *, names: bool = False) -> None:
    """Raise `InputError` at the first tag in a word of a file that parses: the value of the word is unknown.

    With `names`, `__NAME__` and `${NAME}` are tags, too. Linear in the size of the text; the directives are searched
    only if the text contains a tag.
    """
    tag = _tag_in_word(block) or (_name_in_word(block) if names else None)
    if tag is not None:
        raise refusal(block.source, tag)


def _bare_tag(source: Source) -> Span | None:
    """Return the first tag outside of comments and quotes."""
    tag = next((match for match in _BARE.finditer(source.data) if match["tag"]), None)
    return None if tag is None else Span(*tag.span("tag"))


def _tag_in_word(block: Block) -> Span | None:
    """Return the first tag in a word of a file that parses.

    A line `${NAME}` counts if nginx would take it for the name of a directive whose arguments are in the lines below.
    """
    data = block.source.data
    starts = {match.end() - len(match[0].lstrip()) for match in _ENVSUBST.finditer(data)}
    if not starts and not _ANYWHERE.search(data):
        return None
    for directive in block.walk():
        if directive.name.start in starts:
            return directive.name.span
        for word in _known(directive):
            tag = (_IN_QUOTES if word.quoted else _IN_WORD).search(data, word.start, word.end)
            if tag:
                return Span(*tag.span())
    return None


def _name_in_word(block: Block) -> Span | None:
    """Return the first likely placeholder in a word that nginx interprets.

    In text such as that of `sub_filter`, only `${NAME}` is one: nginx looks for variables there, too.
    """
    data = block.source.data
    if not _LIKELY.search(data):
        return None
    for directive in block.walk():
        is_text = directive.name in _TEXT
        likely = _VARIABLE if is_text else _LIKELY
        for word in directive.args if is_text else _known(directive):
            name = likely.search(data, word.start, word.end)
            if name:
                return Span(*name.span())
    return None


def refuse_literal_names(blocks: Iterable[Block], only: str | None = None) -> None:
    """Raise `TemplateError` at the first `${NAME}` or `__NAME__` where nginx looks for no variable, as in a `location`.

    nginx takes it as it stands there, but its author means a value, on which answers depend. Where nginx does look for
    a variable, the text is one whose value is not known. `only` directives of a name are looked at.
    """
    for block in blocks:
        data = block.source.data
        if not _LITERAL.search(data):
            continue
        for directive in block.walk():
            for word in _taken_as_they_stand(directive) if only in (None, directive.name) else ():
                name = _LITERAL.search(data, word.start, word.end)
                if name:
                    raise refusal(block.source, Span(*name.span()), "nginx would take this text as it stands")


def _taken_as_they_stand(directive: Directive) -> Iterable[Token]:
    """Return the words of a directive in which nginx looks for no variables; none for an unknown directive."""
    known = fact(directive.name)
    if known is None:
        return ()
    return {"": tuple(_known(directive)), "later": directive.args[:1]}.get(known.variables, ())


def refuse_template(source: Source) -> None:
    """Parse a text and raise `InputError` at its first tag, like `refuse_tags`."""
    if _ANYWHERE.search(source.data) or _ENVSUBST.search(source.data):
        refuse_tags(parse(source))


def _known(directive: Directive) -> Iterator[Token]:
    """Yield the words of a directive that nginx interprets, without text that it passes on."""
    yield directive.name
    is_text = directive.name in _TEXT or "_by_lua" in directive.name
    yield from (word for word in directive.args if not (is_text and word.quoted))


def refusal(source: Source, tag: Span, because: str | None = None) -> TemplateError:
    """Return the error for a template, at one of its tags; `because` says why it cannot be read."""
    return TemplateError(f"this is {kind(source)}: check the rendered file", source=source, span=tag, hint=because)


def kind(source: Source) -> str:
    """Return the kind of a template, such as `a Jinja template`."""
    return next(kind for kind, pattern in _KINDS if pattern.search(source.data))


# Includes of a path that does not exist stand for unknown directives of a template: rules treat them like any other
# include whose file cannot be read.

_FOLDER = "/unread of a template/"
_ANYTHING = "anything"


def unread(name: str | None = None) -> bytes:
    """Return a placeholder for an unknown directive `name`, or without a name for any number of any directives."""
    return f'include "{_FOLDER}{name or _ANYTHING}";'.encode()


def is_unread(path: str) -> bool:
    """Return whether a path is that of a placeholder."""
    return path.startswith(_FOLDER)


def unread_names(include: Directive) -> tuple[str, ...]:
    """Return the directives that a placeholder may stand for; empty if these may be any, or for any other include."""
    path = str(include.args[0])
    name = path.removeprefix(_FOLDER)
    return (name,) if is_unread(path) and name != _ANYTHING else ()
