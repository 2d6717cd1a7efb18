"""Location pattern with a slash before the dot: `/\\.(jpg|css)$` matches `/.jpg`, not `/photo.jpg`

Flags locations whose pattern is meant for extensions or hidden files, but matches only files with exactly these names:

- `/\\.(jpg|css)$` for extensions: no file of a site is called `.jpg`, so the location never applies.
- `/(\\.ht|\\.git)$` in a location that denies: it denies `/.git`, which is a folder, but not `/.git/config`. The rule
  asks the model of `nginxopt trace` whether nginx would send the file.

Does not flag patterns that match such files in another way, or hidden files that another location denies.

## Why it matters
The location has no effect: images are sent without their `expires`, and everybody can read `.htpasswd` or
`.git/config`. Seen on nginx 1.22.1 and 1.31.3.

## Bad
```nginx server
location ~* /\\.(jpg|css)$ {
    expires 30d;
}
```
```nginx server
root /srv/www;
location ~ /(\\.ht|\\.git)$ {
    deny all;
}
```

## Good
```nginx server
location ~* \\.(jpg|css)$ {
    expires 30d;
}
```
```nginx server
root /srv/www;
location ~ /\\.(?:ht|git) {
    deny all;
}
```

## Silent
```nginx server
root /srv/www;
location ~ /\\.(?:ht|git) {
    deny all;
}
location ~ /\\.(git|env)$ {
    deny all;
}
location ~ /[^/]*\\.(png|gif)$ {
    expires 30d;
}
location ~ /\\.(well-known)$ {
    return 204;
}
```

## When to ignore it
If clients do ask for files of these names.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#location
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import encode
from nginxopt.lint import AskedRequest, Finding, Model, Severity, pattern, rule
from nginxopt.lint.queries import access
from nginxopt.semantics import Level, subjects

_DOT_NAMES = pattern(r".*/(?:\\\.\(?(?:\?:)?([\w|?]+)\)?|\((?:\?:)?((?:\\\.\w+\|?)+)\))\$")
"""A pattern that ends in a slash, and in names that begin with a dot."""

_EXTENSIONS = pattern(
    r"(?:7z|avif|bmp|css|docx?|eot|exe|flv|gif|gz|html?|ico|jpe?g|js|jsp|json|map|mov|mp3|mp4|mpe?g|ogg|ogv|otf|pdf|php|png"
    r"|pptx?|rar|svgz?|swf|tar|tgz|tiff?|ttf|txt|wav|webm|webp|woff2?|xlsx?|xml|zip)",
    re.IGNORECASE,
)
_HIDDEN = {"ht": "/.htpasswd", "git": "/.git/config", "svn": "/.svn/entries", "hg": "/.hg/hgrc"}
"""Beginnings of hidden names, with a file that such a pattern is to protect."""


@rule(severity=Severity.WARNING, category="correctness", about=("location",))
def check(model: Model) -> Iterator[Finding]:
    """Find patterns for names that no file has."""
    for level in model.levels("location"):
        match = _DOT_NAMES.fullmatch(level.path) if level.modifier in ("~", "~*") else None
        if match is None or level.opener is None:
            continue
        names = [name.replace("?", "") for name in (match[1] or match[2].replace("\\.", "")).split("|") if name]
        finding = _of_extensions(level, names) or _of_hidden(model, level, names)
        if finding is not None:
            yield finding


def _of_extensions(location: Level, names: list[str]) -> Finding | None:
    """Return the finding about a pattern for extensions; None if it is for others, or matches such files."""
    if location.opener is None or not names or not all(map(_EXTENSIONS.fullmatch, names)):
        return None
    name = names[0]
    if subjects.matches(location.pattern, encode(f"/photo.{name}")) is not False:
        return None
    return Finding(
        location.opener.source,
        location.opener.args[-1].span,
        f"this pattern matches /.{name}, but not /photo.{name}: the name has to begin with the dot",
        help="delete the slash before the dot",
    )


def _of_hidden(model: Model, location: Level, names: list[str]) -> Finding | None:
    """Return the finding about a pattern that denies less than it is for; None if nginx sends nothing more."""
    server = location.around("server")
    if server is None or location.opener is None or not access.denies_others(location):
        return None
    for name in filter(_HIDDEN.get, names):
        target = _HIDDEN[name]
        for answer in model.requests.ask(server, AskedRequest(encode(target))):
            if answer.is_in(location) or answer.is_at not in ("static", "unknown"):
                continue
            if answer.file is not None and answer.file.endswith(target):
                return Finding(
                    location.opener.source,
                    location.opener.args[-1].span,
                    f"this denies /.{name}, but not {target}: $ ends the pattern behind the name",
                    help="delete the $ at the end of the pattern",
                )
    return None
