"""Files whose name begins with a dot are served: `/.git/config`, `/.env`

Flags servers that would send `/.git/config` or `/.env` if their root has them. The rule asks the model of
`nginxopt trace` what becomes of both.

Does not flag servers where a location denies them, those that pass everything on, and `/.well-known/`.

## Why it matters
A deployment with `git clone` leaves `.git` in the root, from which anybody can restore the source, and `.env` holds
passwords. Scanners request both first. The configuration does not show whether the root has such files.

## Bad
```nginx server
root /srv/www;
location / {
    try_files $uri $uri/ =404;
}
```

## Good
```nginx server
root /srv/www;
location / {
    try_files $uri $uri/ =404;
}
location ~ /\\.(?!well-known/) {
    deny all;
}
```

## Silent
```nginx server
location / {
    proxy_pass http://127.0.0.1:8080;
}
```

## When to ignore it
If the root has only files from a list, as in a container image.

## References
- https://owasp.org/www-project-web-security-testing-guide/latest/4-Web_Application_Security_Testing/02-Configuration_and_Deployment_Management_Testing/04-Review_Old_Backup_and_Unreferenced_Files_for_Sensitive_Information
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import AskedRequest, Finding, Model, ModelAnswer, Severity, rule
from nginxopt.semantics import Level

_TARGETS = (b"/.git/config", b"/.env")


@rule(severity=Severity.WARNING, category="hardening", default=False, witness=True)
def check(model: Model) -> Iterator[Finding]:
    """Find servers that would send files with a dot."""
    for server in model.levels("server"):
        answer = _answer(model, server)
        if answer is not None and server.source is not None:
            yield Finding(
                server.source,
                server.span,
                f"{answer.asked.target.decode()} is served if it exists",
                help=_help(answer),
                witness=answer.witness(f"nginx sends {answer.file}, if it exists"),
            )


def _help(answer: ModelAnswer) -> str:
    """Return where a location has to be added for nginx to choose it: before other patterns, and inside a `^~`."""
    location = answer.level.around("location") if answer.level else None
    modifier = location.modifier if location else ""
    place = f" inside location {' '.join(location.args)}" if location and modifier == "^~" else ""
    return f"add location ~ /\\.(?!well-known/) {{ deny all; }}{place}, before other patterns"


def _answer(model: Model, server: Level) -> ModelAnswer | None:
    """Return an answer with a file of the root, where it is stated."""
    for target in _TARGETS:
        for answer in model.requests.ask(server, AskedRequest(target)):
            file, level = answer.file, answer.level
            if level is None or file is None or answer.is_at not in ("static", "unknown"):
                continue
            has_root = level.setting("root").is_set or level.setting("alias").is_set
            if has_root and file.endswith(target.decode()):
                return answer
    return None
