"""Pattern of a location that matches anywhere in the URI: `\\.php` also takes `/upload/a.php.jpg`

Flags locations with a pattern that pass requests on, where the pattern need not begin at the beginning of the URI nor
end at its end. The rule finds a URI with text on both sides that the pattern matches.

Does not flag patterns that are anchored in one place at least, in all of their alternatives, and locations that send
files.

## Why it matters
The URIs that reach an application are more than those that the pattern shows: `\\.php` also matches the image that a
visitor uploads as `a.php.jpg`, which PHP-FPM runs if `security.limit_extensions` does not forbid it, and `/v1/` also
takes `/static/v1/x`.

## Bad
```nginx server
location ~ \\.php {
    fastcgi_pass unix:/run/php/php-fpm.sock;
    include fastcgi.conf;
}
```

## Good
```nginx server
location ~ \\.php$ {
    fastcgi_pass unix:/run/php/php-fpm.sock;
    include fastcgi.conf;
}
```

## Silent
```nginx server
location ~ ^/v1/ {
    proxy_pass http://127.0.0.1:8080;
}
location ~ \\.php(?:/|$) {
    root /srv/www;
}
location ~ (?:^/a|/b$) {
    proxy_pass http://127.0.0.1:8080;
}
```

## When to ignore it
If the application is meant to get all of these URIs.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#location
- https://nealpoole.com/blog/2011/04/setting-up-php-fastcgi-and-nginx-dont-trust-the-tutorials-check-your-configuration/
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.semantics import Level, subjects

_AROUND = (rb"^/~", rb"~\n\n\z")
"""Text around a match that no pattern of a site mentions; only a pattern without an end matches beyond a line end."""


@rule(severity=Severity.INFO, category="hardening", default=False)
def check(model: Model) -> Iterator[Finding]:
    """Find patterns that match in the middle of URIs."""
    for level in dict.fromkeys(pass_.level for pass_ in model.passes):
        if level.kind != "location" or level.modifier not in ("~", "~*") or level.opener is None:
            continue
        uri = _inside(level)
        if uri is not None:
            yield Finding(
                level.opener.source,
                level.opener.args[-1].span,
                f"this pattern matches anywhere in the URI: it also takes {uri}",
                help="begin it with ^ or end it with $",
            )


def _inside(location: Level) -> str | None:
    """Return a URI that a pattern matches though there is other text on both sides; None if there is none."""
    uri = subjects.shortest((location.pattern, *_AROUND))
    return None if uri is None else uri.strip().decode("ascii", errors="backslashreplace")
