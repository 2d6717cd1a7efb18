"""`fastcgi_pass` to PHP without SCRIPT_FILENAME: PHP answers with an empty page

Flags locations for `.php` that pass requests to FastCGI and send neither `SCRIPT_FILENAME` nor
`PATH_TRANSLATED`.

Does not flag locations whose parameters are not all known, such as those with `include fastcgi_params` where the file
was not read, and applications other than PHP, which need no file.

## Why it matters
PHP-FPM runs the file that SCRIPT_FILENAME names. Without the parameter it answers with `Status: 404` and "No input file
specified", or with an empty page and status 200, and writes nothing to its log. nginx's own `fastcgi_params` has no
SCRIPT_FILENAME; its `fastcgi.conf` has.

## Bad
```nginx server
location ~ \\.php$ {
    fastcgi_pass unix:/run/php/php-fpm.sock;
    fastcgi_param QUERY_STRING $query_string;
    fastcgi_param REQUEST_METHOD $request_method;
}
```

## Good
```nginx server
location ~ \\.php$ {
    fastcgi_pass unix:/run/php/php-fpm.sock;
    fastcgi_param QUERY_STRING $query_string;
    fastcgi_param REQUEST_METHOD $request_method;
    fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
}
```

## Silent
```nginx server
fastcgi_param SCRIPT_FILENAME /srv/app/index.php;
location ~ \\.php$ {
    fastcgi_pass unix:/run/php/php-fpm.sock;
}
location /trac {
    fastcgi_pass unix:/run/trac.sock;
    fastcgi_param SCRIPT_NAME /trac;
}
```

## Fix safety
May change: responses, upstream requests.

PHP gets the name of the file and runs it.

## When to ignore it
If the FastCGI server behind the socket is not PHP.

## References
- https://www.nginx.com/resources/wiki/start/topics/examples/phpfcgi/
- https://nginx.org/en/docs/http/ngx_http_fastcgi_module.html#fastcgi_param
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule
from nginxopt.semantics import Pass

_LINE = "fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;"
_FILES = {"SCRIPT_FILENAME", "PATH_TRANSLATED"}
_PURGING = "fastcgi_cache_purge"
"""The directives of ngx_cache_purge. With a zone and a key, nginx answers without PHP."""
_PHP = pattern(r"\bphp", re.IGNORECASE)


@rule(severity=Severity.WARNING, category="correctness", fix=Safety.UNSAFE, about=("fastcgi_pass",))
def check(model: Model) -> Iterator[Finding]:
    """Find passes to PHP without the name of a file."""
    for pass_ in model.passes:
        if pass_.protocol != "fastcgi" or not _is_for_php(pass_) or _PURGING in pass_.level.names:
            continue
        params = pass_.setting("param")
        if not params.known or any(param.args[0].upper() in _FILES for param in params.directives if param.args):
            continue
        own = [
            param
            for param in params.directives
            if params.level is pass_.level and param.source is pass_.directive.source
        ]
        is_added = not params.directives or bool(own)
        anchor = own[-1] if own else pass_.directive
        fix = Fix(f"add `{_LINE}`", (layout.after(anchor, [_LINE]),), Safety.UNSAFE) if is_added else None
        yield Finding(
            pass_.directive.source,
            pass_.directive.name.span,
            'PHP gets no SCRIPT_FILENAME: it answers with an empty page or "No input file specified"',
            fix,
            "" if fix else f"add `{_LINE}` beside the other parameters",
        )


def _is_for_php(pass_: Pass) -> bool:
    """Return whether the name of a location or a socket shows that it is for PHP."""
    location = pass_.level.around("location")
    names = (location.path if location else "", str(pass_.directive.args[0]))
    return any(_PHP.search(name) for name in names)
