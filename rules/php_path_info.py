"""PHP gets the name of a file that may not exist: `/avatar.png/x.php`

Flags locations that pass requests to PHP by FastCGI with a `SCRIPT_FILENAME` made of the URI, although nothing checks
that the file exists. The rule asks the model of `nginxopt trace` what becomes of `/avatar.png/x.php` without such a
file.

Does not flag locations with `try_files` or an `if` that tests for the file, with a fixed script, or with
`security.limit_extensions`.

## Why it matters
With `cgi.fix_pathinfo=1`, the default of PHP, PHP looks for the longest part of the name that is a file, and runs
`avatar.png` as PHP. Anybody who can upload a picture can run code. PHP-FPM runs only `.php` and `.phar` unless
`security.limit_extensions` is empty; other servers for PHP, and old versions, run what they find.

## Bad
```nginx server
root /srv/www;
location ~ \\.php$ {
    fastcgi_pass unix:/run/php.sock;
    fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
}
```

## Good
```nginx server
root /srv/www;
location ~ \\.php$ {
    try_files $fastcgi_script_name =404;
    fastcgi_pass unix:/run/php.sock;
    fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
}
```

## Silent
```nginx server
root /srv/www;
location = /index.php {
    fastcgi_pass unix:/run/php.sock;
    fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
}
location /app/ {
    fastcgi_pass unix:/run/php.sock;
    fastcgi_param SCRIPT_FILENAME /srv/app/front.php;
}
location ~ \\.php$ {
    if (!-f $document_root$fastcgi_script_name) {
        return 404;
    }
    fastcgi_pass unix:/run/php.sock;
    fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
}
```

## Fix safety
May change: responses.

nginx answers 404 where it finds no file. If PHP runs on another machine or below another root, that is everywhere.

## When to ignore it
If PHP-FPM has its default `security.limit_extensions`, or `cgi.fix_pathinfo=0`.

## References
- https://www.php.net/manual/en/ini.core.php#ini.cgi.fix-pathinfo
- https://www.php.net/manual/en/install.fpm.configuration.php#security-limit-extensions
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import AskedRequest, Finding, Fix, Model, ModelAnswer, Safety, Severity, pattern, rule
from nginxopt.lint.queries import reaching
from nginxopt.semantics import Level, Pass

_PICTURE = b"/avatar.png/x.php"
_OF_URI = pattern(r"\$\{?(?:fastcgi_script_name|uri|document_uri|request_filename|\d)\b")
_LIMITED = "limit_extensions"


@rule(severity=Severity.INFO, category="security", default=False, fix=Safety.UNSAFE, witness=True)
def check(model: Model) -> Iterator[Finding]:
    """Find passes of files that need not exist to PHP."""
    for pass_ in model.passes:
        if pass_.protocol != "fastcgi" or pass_.level.kind != "location" or not _names_files(pass_):
            continue
        answer = next(_answers(model, pass_), None)
        if answer is not None:
            yield _finding(pass_, answer)


def _names_files(pass_: Pass) -> bool:
    """Return whether PHP gets a file name made of the URI, and nothing limits which."""
    params = pass_.setting("param").directives
    names = [param.args[1] for param in params if len(param.args) > 1 and param.args[0] == "SCRIPT_FILENAME"]
    is_limited = any(_LIMITED in word for param in params for word in param.args)
    return bool(names) and bool(_OF_URI.search(names[-1])) and not is_limited


def _answers(model: Model, pass_: Pass) -> Iterator[ModelAnswer]:
    """Yield answers of PHP to requests for files that do not exist."""
    for target in _targets(pass_.level):
        for answer in model.requests.all(pass_.level, AskedRequest(target)):
            if answer.directive is pass_.directive and not answer.asked.existing:
                yield answer


def _targets(level: Level) -> Iterator[bytes]:
    if level.modifier in ("~", "~*"):
        yield _PICTURE
        yield from reaching.also(level, rb"^/[a-z/]*avatar\.png/x\.php$")


def _finding(pass_: Pass, answer: ModelAnswer) -> Finding:
    stated = pass_.level.own("try_files") or pass_.level.own("fastcgi_split_path_info")
    line = "try_files $fastcgi_script_name =404;"
    fix = None
    if not stated:
        fix = Fix(f"add `{line}`", (layout.before(pass_.directive, [line]),), Safety.UNSAFE)
    return Finding(
        pass_.directive.source,
        pass_.directive.name.span,
        "nothing checks that the script exists: for /avatar.png/x.php, PHP may run avatar.png",
        fix,
        "" if fix else "check that the file exists: try_files $fastcgi_script_name =404",
        witness=answer.witness("PHP is asked to run it"),
    )
