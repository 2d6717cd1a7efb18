"""The words by which rules describe themselves and settings choose: categories, severities, and premises of fixes.

A premise is a condition that the configuration does not show, under which a fix changes nothing but speed. A fix that
needs one is applied only if it is declared, with `--assume NAME` or the setting `assume`. docs/guide/premises.md is
generated from this module.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import total_ordering

from nginxopt.errors import UsageError
from nginxopt.records import record
from nginxopt.text import suggestion

CATEGORIES = {
    "refused": "what nginx refuses: it does not start",
    "proxy": "upstreams and proxied requests",
    "cache": "cached responses",
    "rewrite": "rewrites, redirects, locations, conditions and maps",
    "process": "workers, connections, descriptors, the machine",
    "log": "access and error logs",
    "static": "static files",
    "client": "client connections and compression",
    "tls": "TLS and HTTP/2",
    "config": "errors, ignored directives and suppressions",
    "security": "what clients can reach, read or inject, and protections without effect",
    "correctness": "directives, locations and servers that do not do what they seem to",
    "hardening": "defense in depth, off by default",
}
"""The categories of rules, each with its subject."""


@total_ordering
class Severity(Enum):
    """The severity of a finding; `ERROR` is the highest."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    def __lt__(self, other: Severity) -> bool:
        return _GRADES[self] < _GRADES[other]

    def __str__(self) -> str:
        return self.value


_GRADES = {severity: grade for grade, severity in enumerate(Severity)}


@record(eq=True, order=True)
class Premise:
    """A condition that an operator can know but the configuration does not show.

    Attributes:
        name: The name that declares it.
        sentence: The condition, as a sentence without a full stop.
        check: How an operator can verify it, as Markdown.
    """

    name: str
    sentence: str
    check: str


HTTP11_BACKENDS = Premise(
    "http11-backends",
    "the upstream servers speak HTTP/1.1 and answer it as they answer HTTP/1.0",
    """\
`nginxopt probe URL` sends the same request over both versions and reports any difference in status, headers, body or
`Content-Encoding`, interim responses (103), an unsolicited `Upgrade` header, and chunked bodies without the header.""",
)

IDLE_CONNECTIONS = Premise(
    "idle-connections",
    "the upstream servers and this nginx have room for idle connections; the servers authenticate requests, not "
    "connections, and keep idle connections open longer than nginx does",
    """\
- `nginxopt probe URL` shows whether the server keeps connections open, for how long, and whether an idle connection
  blocks other clients, as it does with a single thread or too few PHP-FPM children.
- Each server must be able to hold `keepalive` times `worker_processes` idle connections of every nginx in front.
- NTLM and Negotiate authenticate connections: check with `curl -sI URL | grep -i www-authenticate`.
- The server's keep-alive timeout must exceed nginx's (`keepalive_timeout` of the upstream, 60s by default).""",
)

WHOLE_CONFIGURATION = Premise(
    "whole-configuration",
    "nothing else is in the configuration where it is installed: no directive, block, variable or zone that was not "
    "read",
    """\
Something else may be there if

- an include cannot be read, or has a wildcard that matches nothing (`include conf.d/*.conf;`);
- an absolute include leads out of the tree of the main file (`/srv/sites/*.conf` for a file in a repository): the files
  of that path on this machine are read, but other machines have others. So does a wildcard with `..`;
- the file is a fragment, which other files surround;
- a tag of a template stands for directives.

nginx may then refuse what a fix adds (`directive is duplicate`, `already declared for a different use`), and a change
may reach levels that inherit it. Lint nginx.conf where it is installed (`/etc/nginx`), or the output of `nginx -T`, and
no fix needs this premise: then everything was read. With the premise, includes are taken to read nothing else than
here.""",
)

NO_CLIENT_REVOCATION = Premise(
    "no-client-revocation",
    "no client certificate expires, or is revoked or distrusted, while a TLS session of it can be resumed",
    """\
nginx checks `ssl_crl`, OCSP and dates only in a full handshake. A revoked client can still resume a session until it
expires (`ssl_session_timeout`, 5 minutes by default). If that is not acceptable, the premise does not hold.""",
)

NO_CIPHER_REMOVAL = Premise(
    "no-cipher-removal",
    "no cipher or curve is removed while a TLS 1.2 session that was negotiated with it can be resumed",
    """\
A resumed session of TLS 1.2 keeps its cipher, and needs no curve. A client that supports nothing else is refused once
`ssl_ciphers` or `ssl_ecdh_curve` is changed and nginx reloaded, but goes on resuming its session until that expires
(`ssl_session_timeout`, 5 minutes by default). Restart nginx after such a change, or wait, and the premise holds. With
`ssl_protocols TLSv1.3`, the fix does not need it.""",
)

SESSIONS_BY_NAME = Premise(
    "sessions-by-name",
    "no client resumes a TLS session of one server name under another",
    """\
Browsers and curl resume a session only under its own name. An nginx in front may not: it keeps one session for each
upstream server, regardless of `proxy_ssl_name`, unless `proxy_ssl_session_reuse` is off. With TLS 1.2, nginx then uses
the name stored in the session. With `ssl_protocols TLSv1.3`, the fix does not need this premise.""",
)

FAST_DISK = Premise(
    "fast-disk",
    "cache directories are on local file systems with room for the responses being received in addition to the cache",
    """\
`df -hT DIR` shows the file system and its free space. A tmpfs, overlay, NFS or quota may be smaller or slower than the
temporary directory it replaces. A response that does not fit is truncated.""",
)

PCRE_LIBRARY = Premise(
    "pcre-library",
    "nginx's PCRE library has no known JIT bugs (not 10.35 to 10.40, nor 10.45 to 10.47)",
    """\
`ldd $(command -v nginx) | grep pcre` shows the library; its package shows the version: `dpkg -l 'libpcre*'` or
`rpm -q pcre2`. For a statically linked library, see `nginx -V`.""",
)

LOCAL_FILES = Premise(
    "local-files",
    "the files that nginx sends, including cached and temporary files, are on local file systems and are replaced by "
    "renaming, never edited in place",
    """\
`df -hT DIR` shows the file system: ext4, xfs, btrfs, zfs and tmpfs are local; vboxsf, 9p, FUSE, CIFS and NFS are not.
`rsync` and package managers rename; `cp` and `rsync --inplace` overwrite the file while it may be sent.""",
)

PLAIN_COMMAND_LINE = Premise(
    "plain-command-line",
    "nginx is not started with `-g` and the directive that the fix adds",
    """\
See `ps -o args= -C nginx`, `ExecStart` in `systemctl cat nginx`, and the command of the container. nginx does not start
if a directive is in both places: `"worker_processes" directive is duplicate`.""",
)

ENOUGH_DESCRIPTORS = Premise(
    "enough-descriptors",
    "the open file limit of the workers is high enough for the additional connections, and the upstream servers can "
    "handle the additional requests",
    """\
`grep 'open files' /proc/$(pgrep -of 'nginx: worker')/limits` shows the limit. Each connection uses a descriptor, a
request buffered on disk uses another, and `open_file_cache` uses up to `max=`.""",
)

RAISES_THE_LIMIT = Premise(
    "raises-the-limit",
    "nginx starts with a lower open file limit than the fix sets, and may raise it: it is started by root, or its hard "
    "limit is high enough",
    """\
`grep 'open files' /proc/$(pgrep -o nginx)/limits` shows the soft and hard limits of the running nginx.
`worker_rlimit_nofile` sets both for the workers, even if that lowers them. Without root, a value above the hard limit
fails, and the limits stay as they were.""",
)

SEVERAL_WORKERS = Premise(
    "several-workers",
    "the machine and the upstream servers can handle one worker per processor, and nothing relies on a single worker",
    """\
Each worker has its own memory, idle upstream connections (`keepalive`), Lua and njs variables and, in an upstream
without `zone`, its own failure counts, round-robin state and `max_conns`. In a container, compare `nproc` with its CPU
quota.""",
)

PREMISES = {
    premise.name: premise
    for premise in (
        HTTP11_BACKENDS,
        IDLE_CONNECTIONS,
        WHOLE_CONFIGURATION,
        NO_CLIENT_REVOCATION,
        NO_CIPHER_REMOVAL,
        SESSIONS_BY_NAME,
        FAST_DISK,
        LOCAL_FILES,
        PCRE_LIBRARY,
        PLAIN_COMMAND_LINE,
        ENOUGH_DESCRIPTORS,
        RAISES_THE_LIMIT,
        SEVERAL_WORKERS,
    )
}
"""The premises by name."""


def named(names: Iterable[str]) -> frozenset[Premise]:
    """Return the premises of these names. Raise `UsageError` for an unknown name."""
    premises = set()
    for name in names:
        if name not in PREMISES:
            raise UsageError(f'unknown premise "{name}"', hint=suggestion(name, PREMISES) or _all())
        premises.add(PREMISES[name])
    return frozenset(premises)


def listed(premises: Iterable[Premise]) -> str:
    """Return the names of premises as `--assume` takes them, in alphabetical order."""
    return ",".join(premise.name for premise in sorted(premises))


def _all() -> str:
    names = list(PREMISES)
    return f"use {', '.join(names[:-1])} or {names[-1]}"
