"""`autoindex on` shows visitors the names of the files in a directory

Flags `autoindex on` where nothing restricts access.

Does not flag internal locations, servers that listen on loopback addresses only, and levels with a login or a list of
addresses.

## Why it matters
A listing shows files that no page links to, such as backups and archives. nginx serves them without a listing, too, but
then nobody knows their names. A listing leaves out names that begin with a dot, but nginx serves those files as well:
see `dotfiles-served`.

## Bad
```nginx server
root /srv/www;
location /downloads/ {
    autoindex on;
}
```

## Good
```nginx server
root /srv/www;
location /downloads/ {
    autoindex off;
}
```

## Silent
```nginx server
root /srv/www;
location /drafts/ {
    allow 10.0.0.0/8;
    deny all;
    autoindex on;
}
```

## Fix safety
May change: responses.

A directory without an index file is answered with status 403.

## When to ignore it
If visitors are meant to browse the files.

## References
- https://nginx.org/en/docs/http/ngx_http_autoindex_module.html
- https://cwe.mitre.org/data/definitions/548.html
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.lint.queries import access
from nginxopt.semantics import Level


@rule(severity=Severity.INFO, category="hardening", default=False, fix=Safety.UNSAFE)
def check(model: Model) -> Iterator[Finding]:
    """Find listings of directories that everybody gets."""
    for directive, level in model.each("autoindex"):
        if directive.args[:1] == ("on",) and _is_open(level):
            fix = Fix("turn it off", (layout.replace(directive, directive.args[0], "off"),), Safety.UNSAFE)
            yield Finding(
                directive.source, directive.span, "autoindex shows everybody the names of the files here", fix
            )


def _is_open(level: Level) -> bool:
    """Return whether nothing restricts access to a level."""
    is_restricted = access.rules(level) or access.logins(level) or level.own("internal")
    return access.is_public(level) and access.are_known(level) and not is_restricted
