"""Line that belongs to the directive above, which has no semicolon

Flags an argument that begins a line and is the name of a directive that may stand there, with a number of arguments
that this directive takes, where nginx accepts the whole as one statement. Does not flag statements that nginx refuses,
which other rules do, values in blocks such as `map`, quoted words, and lists over several lines whose words are no
directives with fitting arguments.

## Why it matters
nginx reads up to the next `;`. The line has no effect of its own: below, nothing expires, and for each request
nginx looks for files named `expires` and `=404` first. `nginx -t` says that all is well.

## Bad
```nginx location
try_files $uri =404
expires 1d;
```
```nginx server
index index.html
root /srv/www;
```

## Good
```nginx location
try_files $uri =404;
expires 1d;
```

## Silent
Lists over several lines:
```nginx server
server_name example.com
            index.example.com
            root;
index index.html
      index.htm;
gzip_types
    text/css
    text/javascript;
```
```nginx http
log_format main '$remote_addr'
                "root"
                '$status';
```

## Fix safety
May change: responses.

The line becomes a directive, and the one above loses these arguments: that is what the text looks like, but not what
nginx does today.

## When to ignore it
If the word is meant: quote it.

## References
- `ngx_conf_read_token` in ngx_conf_file.c: a line end separates words as any blank does
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nginxopt.config import Change, Directive, Edit, Scope, Span, Token, layout
from nginxopt.facts import lexicon
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.semantics import commands, refusals


@rule(severity=Severity.WARNING, category="correctness", fix=Safety.UNSAFE)
def check(model: Model) -> Iterator[Finding]:
    """Find arguments that begin a line and look like a directive."""
    found = [*_candidates(model)]
    refused = {each.directive for each in refusals.refusals(model.root, model.target)} if found else set()
    refused |= {directive for directive, _, _ in model.faults} if found else set()  # of fragments, too
    for directive, at, is_enough in found:
        if directive not in refused:
            yield _finding(directive, directive.args[at - 1], directive.args[at], is_enough=is_enough)


def _candidates(model: Model) -> Iterator[tuple[Directive, int, bool]]:
    """Yield directives, the number of the argument that looks like another one, and whether a semicolon is enough."""
    named = model.config.by_name
    known = [place for name in named if name in lexicon.NAMES for place in named[name]]
    for directive, scope in known:
        if len(directive.args) < 2 or directive.block is not None or not _spans_lines(directive):
            continue
        at = _swallowed(model, directive, scope)
        if at:
            stands = _may_stand(model, str(directive.name), at, scope)
            yield directive, at, stands and not _is_second(model, str(directive.args[at]), scope)


def _spans_lines(directive: Directive) -> bool:
    return b"\n" in directive.source.data[directive.name.end : directive.args[-1].start]


def _swallowed(model: Model, directive: Directive, scope: Scope) -> int:
    """Return the number of the first argument that looks like a directive on a line of its own; 0 if none does."""
    args = directive.args
    for at, word in enumerate(args):
        if at and word in lexicon.NAMES and not word.quoted and layout.begins_line(directive, word):
            rest = args[at + 1 :]
            if _may_stand(model, str(word), len(rest), scope) and not _begins_any(directive, rest):
                return at
    return 0


def _begins_any(directive: Directive, words: Sequence[Token]) -> bool:
    """Return whether one of the words begins a line: then each line is a part of a list, and none was swallowed."""
    return any(layout.begins_line(directive, word) for word in words)


def _declared(model: Model, scope: Scope) -> Iterator[commands.Declared]:
    for outer in model.config.candidates or ((),):
        yield commands.declared(commands.place_of(outer + scope.context), model.target)


def _is_second(model: Model, name: str, scope: Scope) -> bool:
    """Return whether nginx would refuse a directive because its block has one."""
    is_there = any(other.name == name for other in scope.directives)
    return is_there and any(here.is_once(name) for here in _declared(model, scope))


def _may_stand(model: Model, name: str, count: int, scope: Scope) -> bool:
    for here in _declared(model, scope):
        declaration = here.declaration(name)
        if declaration is not None and count and not declaration.has_block and declaration.takes(count):
            return True
    return False


def _finding(directive: Directive, before: Token, word: Token, *, is_enough: bool) -> Finding:
    change = Change(directive.source, Edit(Span(before.end, before.end), b";"))
    return Finding(
        directive.source,
        word.span,
        f'"{word}" is an argument of "{directive.name}" here, as the line above has no semicolon',
        Fix("end the line above with a semicolon", (change,), Safety.UNSAFE) if is_enough else None,
        help="" if is_enough else "make two directives of it: with a semicolon alone, nginx would refuse one of them",
    )
