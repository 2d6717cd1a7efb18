"""TLS protocols and ciphers that are broken

Flags `ssl_protocols` with SSLv2, SSLv3, TLSv1 or TLSv1.1, and `ssl_ciphers` that list ciphers without encryption or
authentication, export ciphers, RC4, DES, 3DES or MD5, in `stream` and `mail` as well, or only suites without forward
secrecy or with CBC (`AES256-SHA:AES128-SHA`), which HTTP/2 prohibits (RFC 9113, appendix A). Before nginx 1.23.4,
`ssl_protocols` includes TLSv1 and TLSv1.1 by default: flags servers of `http` with TLS that do not set it, if the
version is stated (`--target-version`, the settings, an image beside the file).

The severity of listed ciphers is info: OpenSSL 1.1.0 and later is built without RC4, DES, 3DES and export ciphers
unless asked to, and accepts ciphers without encryption or authentication, and MD5, at security level 0 only. With
`@SECLEVEL=0`, the severity is warning.

Does not flag lists that exclude such ciphers (`!RC4`), servers that reject handshakes, and directives with a comment
that says that old clients need them. Nor does it flag an `ssl_protocols` of the `http` block that no server takes: all
that have TLS state their own, or none has TLS, not even in `sites-available`, and the line is the one that comes with
Debian and Ubuntu. A file named for old clients (`tls-legacy.conf`) says that they need it, too.

## Why it matters
TLSv1 and TLSv1.1 are deprecated (RFC 8996), and only clients from before 2014 need them. RC4 is prohibited (RFC 7465),
3DES has blocks of 64 bits (Sweet32, CVE-2016-2183), and export ciphers are broken within hours (FREAK). Whether nginx
really speaks them depends on its TLS library. Tested with nginx 1.22.1 (OpenSSL 3.0) and 1.31.3 (OpenSSL 3.3): TLSv1
and TLSv1.1 work at security level 0 only, nginx does not start with `ssl_ciphers RC4-SHA:DES-CBC3-SHA`, and
`aNULL:eNULL` finds a cipher at security level 0 only. Another library, or an older one, accepts more.

## Bad
```nginx http
ssl_protocols TLSv1 TLSv1.1 TLSv1.2 TLSv1.3;
```
```nginx http
ssl_ciphers HIGH:RC4-SHA:DES-CBC3-SHA;
```
```nginx http
ssl_ciphers AES256-SHA:AES128-SHA:ECDHE-RSA-AES128-SHA;
```
```nginx http
ssl_ciphers ALL:@SECLEVEL=0;
```
```nginx http 1.22.1
server {
    listen 443 ssl;
    ssl_certificate a.pem;
    ssl_certificate_key a.key;
}
```

```nginx
events {
}
stream {
    server {
        listen 8883 ssl;
        ssl_certificate a.pem;
        ssl_certificate_key a.key;
        ssl_protocols TLSv1.1;
        proxy_pass 127.0.0.1:1883;
    }
}
```

## Good
```nginx http
ssl_protocols TLSv1.2 TLSv1.3;
```

## Silent
```nginx http
ssl_protocols TLSv1.2 TLSv1.3;
ssl_ciphers ALL:!aNULL:!eNULL:!EXPORT:!RC4:!DES:!3DES:!MD5;
server {
    listen 443 ssl;
    ssl_reject_handshake on;
    # the terminals of the warehouse are from 2009
    ssl_protocols TLSv1 TLSv1.2;
    ssl_ciphers HIGH:DES-CBC3-SHA;
}
```

The server states its own protocols:
```nginx http
ssl_protocols TLSv1 TLSv1.1 TLSv1.2;
ssl_certificate a.pem;
ssl_certificate_key a.key;
server {
    listen 443 ssl;
    include /etc/letsencrypt/options-ssl-nginx.conf;
}
server {
    listen 8443 ssl;
    ssl_protocols TLSv1.3;
}
```
The line comes with the package, and there is no TLS:
```nginx http
ssl_protocols TLSv1 TLSv1.1 TLSv1.2; # Dropping SSLv3, ref: POODLE
server {
    listen 80;
}
```

## Fix safety
May change: responses.

Clients that support nothing newer can no longer connect.

## When to ignore it
If such clients remain, in a server of their own.

## References
- https://www.rfc-editor.org/rfc/rfc8996
- https://wiki.mozilla.org/Security/Server_Side_TLS
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from nginxopt.config import Directive, decode, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, Version, pattern, rule
from nginxopt.lint.queries import tls
from nginxopt.semantics import Level

_OLD = ("SSLv2", "SSLv3", "TLSv1", "TLSv1.1")
_NEW = ("TLSv1.2", "TLSv1.3")
_WITH_1_3 = Version(1, 13, 0)
"""The first version with TLSv1.3 (CHANGES 1.13.0); earlier ones refuse the word."""
_WITHOUT_OLD = Version(1, 23, 4)
"""The first version whose default is TLSv1.2 and TLSv1.3 (CHANGES 1.23.4)."""

_WEAK = {
    "NULL": ("eNULL", "NULL"), "anonymous key exchange": ("aNULL", "ADH", "AECDH"),
    "export ciphers": ("EXP", "EXPORT", "EXPORT40", "EXPORT56"), "RC4": ("RC4",), "DES": ("DES", "LOW"),
    "3DES": ("3DES",), "MD5": ("MD5",),
}  # fmt: skip
_IN_NAMES = {
    "NULL": "NULL", "ADH": "anonymous key exchange", "AECDH": "anonymous key exchange", "EXP": "export ciphers",
    "RC4": "RC4", "CBC3": "3DES", "3DES": "3DES", "MD5": "MD5",
}  # fmt: skip
"""Parts of the names of ciphers, such as `ECDHE-RSA-RC4-SHA`."""
_AT_LEVEL_0 = {"NULL", "anonymous key exchange", "MD5"}
"""What OpenSSL accepts only at security level 0 (ssl_security_default_callback in ssl_cert.c)."""

_LEVEL_0 = "@SECLEVEL=0"
_ADVICE = "use the list of Mozilla's SSL configuration generator, or the default: HIGH:!aNULL:!MD5"
_EVERYTHING = {"ALL", "COMPLEMENTOFALL"}
_FOR_OLD_CLIENTS = pattern(r"\bold|legacy|java|android|\bIE ?\d*\b|\bXP\b|20[01]\d|compatib", re.IGNORECASE)

_ABOVE = pattern(rb"((?:^[ \t]*#[^\n]*\n)+)(?:[ \t]*ssl_[^;{}#]*;(?:[ \t]*#[^\n]*)?\n?)*[ \t]*\Z", re.MULTILINE)
"""Comments on lines of their own, and the statements of TLS between them and the end."""
_LONGEST_REMARK = 4096  # bytes before a directive in which its comments are looked for

_NAME_OF_OLD = pattern(r"(?:^|[._-])(?:deprecated|legacy|old)[._-]", re.IGNORECASE)


@rule(severity=Severity.INFO, highest=Severity.WARNING, category="security", fix=Safety.UNSAFE)
def check(model: Model) -> Iterator[Finding]:
    """Find protocols and ciphers that are broken."""
    for directive, level in model.everywhere("ssl_protocols"):
        old = [str(word) for word in directive.args if word in _OLD]
        if old and not _is_meant(directive, level) and _is_taken(model, directive, level):
            yield _protocols(directive, old, _new(model.target))
    for directive, level in model.everywhere("ssl_ciphers"):
        if not directive.args or _is_for_new(level) or _is_meant(directive, level):
            continue
        if weak := _weak(str(directive.args[0])):
            yield _ciphers(directive, weak)
        elif _has_only_dated(str(directive.args[0])):
            message = "all suites of this list lack forward secrecy or have CBC, which HTTP/2 prohibits with TLS 1.2"
            yield Finding(directive.source, directive.args[0].span, message, help=_ADVICE, severity=Severity.WARNING)
    yield from _defaults(model)


def _has_only_dated(text: str) -> bool:
    suites = [word for word in _words(text) if word[0] not in "!-+@"]
    return bool(suites) and all(map(tls.dated, suites))


def _is_taken(model: Model, directive: Directive, level: Level) -> bool:
    """Return whether a server takes the protocols of its http block, or one that was not read may well do."""
    if level.kind != "http":
        return True
    servers = [server for server in level.levels if server.kind == "server" and _speaks_tls(server)]
    if servers:
        settings = (server.setting("ssl_protocols") for server in servers)
        return any(setting.known and setting.directive is directive for setting in settings)
    return not any("POODLE" in remark for remark in layout.remarks(directive)) or _is_taken_beside(model)


def _is_taken_beside(model: Model) -> bool:
    """Return whether a fragment of the same tree, such as one of `sites-available`, has TLS without protocols."""
    speaking = {listen.source.path for listen in model.beside("listen") if "ssl" in listen.args}
    stating = {
        directive.source.path
        for directive in model.beside("ssl_protocols", "include")
        if directive.name == "ssl_protocols" or any("ssl" in word for word in directive.args)
    }
    return not speaking <= stating


def _speaks_tls(server: Level) -> bool:
    return any("ssl" in listen.args for listen in server.own("listen")) or server.setting("ssl").value == "on"


def _new(target: Version) -> tuple[str, ...]:
    """Return the protocols to enable in a version."""
    return _NEW if target >= _WITH_1_3 else _NEW[:1]


def _protocols(directive: Directive, old: list[str], new: tuple[str, ...]) -> Finding:
    kept = [str(word) for word in directive.args if word not in _OLD] or new
    line = f"ssl_protocols {' '.join(kept)};"
    fix = Fix(f"set `{line}`", (layout.rewrite(directive, line),), Safety.UNSAFE)
    verb = "is" if len(old) == 1 else "are"
    message = f"{_listed(old)} {verb} broken or deprecated"
    return Finding(directive.source, directive.name.span, message, fix, severity=Severity.WARNING)


def _ciphers(directive: Directive, weak: list[str]) -> Finding:
    text = str(directive.args[0])
    taken = [family for family in weak if family in _AT_LEVEL_0] if _LEVEL_0 in _words(text) else []
    if taken:
        severity, message = Severity.WARNING, f"this list accepts {', '.join(taken)} at security level 0"
    else:
        severity, message = Severity.INFO, f"this list has {', '.join(weak)}, which some TLS libraries still accept"
    return Finding(directive.source, directive.args[0].span, message, help=_ADVICE, severity=severity)


def _defaults(model: Model) -> Iterator[Finding]:
    """Yield the servers with TLS whose protocols are those of an old version."""
    if model.target >= _WITHOUT_OLD or model.is_guess:
        return
    for server in dict.fromkeys(endpoint.default for endpoint in tls.endpoints(model)):
        if server.setting("ssl_protocols").is_unset and server.source and not _rejects(server):
            yield Finding(
                server.source,
                server.span,
                f"ssl_protocols is not set: nginx {model.target} enables TLSv1 and TLSv1.1 by default",
                help=f"add `ssl_protocols {' '.join(_new(model.target))};`",
                severity=Severity.INFO,
            )


def _weak(text: str) -> list[str]:
    """Return the weak families that a list of ciphers accepts, as OpenSSL reads it (openssl-ciphers(1))."""
    words = _words(text)
    excluded = {word[1:] for word in words if word[0] in "!-"}
    if "@SECLEVEL=2" in words:
        return []
    weak: dict[str, None] = {}
    for word in words:
        if word[0] in "!-+@":
            continue
        for family in _families(word):
            if not excluded.intersection(_WEAK[family]):
                weak[family] = None
    return list(weak)


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[:, ]+|(?=@)", text) if word]


def _families(word: str) -> Iterator[str]:
    if word in _EVERYTHING:
        yield "anonymous key exchange"
    parts = word.split("+")
    yield from (family for family, names in _WEAK.items() if any(part in names for part in parts))
    if "-" in word:
        yield from (family for part, family in _IN_NAMES.items() if part in word.split("-"))


def _is_for_new(level: Level) -> bool:
    protocols = level.setting("ssl_protocols").directive
    return protocols is not None and set(protocols.args) == {"TLSv1.3"}


def _rejects(server: Level) -> bool:
    return server.setting("ssl_reject_handshake").value == "on"


def _is_meant(directive: Directive, level: Level) -> bool:
    """Return whether the server rejects handshakes, or a comment above or behind names old clients."""
    remarks = (*_above(directive), *layout.remarks(directive))
    is_named = _NAME_OF_OLD.search(PurePath(directive.source.path).name) is not None
    return is_named or _rejects(level) or any(_FOR_OLD_CLIENTS.search(remark) for remark in remarks)


def _above(directive: Directive) -> Iterator[str]:
    """Yield the comments on the lines right above a directive, or above those of TLS right above it."""
    start = directive.span.start
    found = _ABOVE.search(directive.source.data, max(0, start - _LONGEST_REMARK), start)
    yield from () if found is None else decode(found[1]).splitlines()


def _listed(words: list[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last
