"""`nginxopt rules new`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from nginxopt import lazy
from nginxopt.cli import options
from nginxopt.errors import InputError, UsageError
from nginxopt.text.display import line

_EXAMPLES = """\b
Examples:
  nginxopt rules new acme-no-autoindex
  nginxopt rules new acme-no-autoindex --folder checks

\b
Exit status: 0 success, 2 usage error, 3 the file exists or cannot be written.
"""

FOLDER = "nginx-rules"
"""Where rules are if the settings name no folder."""

_ID = lazy.pattern(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+")

_MODULE = '''\
"""`autoindex on` shows the names of all files

Flags `autoindex on`, in any block.

## Why it matters
A listing shows visitors files that no page links to, such as copies and archives. Replace this rule by one of your own:
the sections of this page stay, and `nginxopt rules test` runs the examples.

## Bad
```nginx server
autoindex on;
```

## Good
```nginx server
autoindex off;
```

## Silent
Nothing is said of a directory that has an index file only.
```nginx server
index index.html;
```

## Fix safety
May change: responses.

A request of a directory without an index file gets status 403 instead of a listing.

## When to ignore it
If visitors are meant to browse the files.

## References
- https://nginx.org/en/docs/http/ngx_http_autoindex_module.html
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule


@rule(severity=Severity.WARNING, category="security", fix=Safety.UNSAFE)
def check(model: Model) -> Iterator[Finding]:
    """Find listings of directories."""
    for directive, _ in model.each("autoindex"):
        if directive.args[:1] == ("on",):
            value = directive.args[0]
            change = layout.replace(directive, value, "off")
            yield Finding(
                directive.source,
                directive.span,
                "autoindex shows the names of all files in a directory",
                Fix("turn it off", (change,), Safety.UNSAFE),
            )
'''


@click.command("new", epilog=_EXAMPLES)
@click.argument("id_", metavar="ID")
@click.option(
    "--folder",
    type=options.DIRECTORY,
    metavar="DIR",
    help=f"Directory of the rule.  [default: the first of the setting rules, or {FOLDER}]",
)
@options.CONFIG
@options.ISOLATED
def command(id_: str, folder: str | None, config: str | None, isolated: bool) -> None:
    """Write a rule of your own, with its page and examples, ready to be tested.

    ID has lower-case words with dashes, such as acme-no-autoindex. Begin it with a name of your own, so that no rule of
    nginxopt has the same id.
    """
    from nginxopt.lint.catalogue import load_rules
    from nginxopt.settings import file as settings
    from nginxopt.system import files

    if not _ID.fullmatch(id_):
        raise UsageError(f'invalid id "{id_}"', hint="use two or more lower-case words with dashes: acme-no-autoindex")
    if id_ in load_rules(config=config, isolated=isolated, run=False).ids:
        raise UsageError(f'there is a rule with the id "{id_}"')
    source = settings.find(config=config, isolated=isolated)
    named = () if source is None else settings.rule_folders(source)
    target = Path(folder or next(iter(named), FOLDER))
    path = target / f"{id_.replace('-', '_')}.py"
    if os.path.exists(path):
        raise InputError("exists already; nothing was written", path=str(path))
    files.folder(str(target), [])
    files.write_all({str(path): _MODULE.encode()})
    click.echo(line(f"wrote {path}"))
    if target.resolve() not in {Path(name).resolve() for name in named}:
        file = settings.FILE if source is None else source.path
        click.echo(line(f'add to {file}: rules = ["{target}"]'))
