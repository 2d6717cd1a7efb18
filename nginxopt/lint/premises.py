"""Premises of fixes: conditions under which a fix changes nothing but speed, that no configuration shows.

A fix that needs one is made only if it is declared, by `--assume NAME` or the setting `assume`. docs/premises.md is
made of this module.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nginxopt.errors import UsageError
from nginxopt.text import suggestion


@dataclass(frozen=True, slots=True, order=True)
class Premise:
    """A condition that an operator can know and a configuration does not show.

    Attributes:
        name: What it is declared by.
        sentence: What is so where it holds, without a full stop.
        check: How an operator finds out, as Markdown.
    """

    name: str
    sentence: str
    check: str


HTTP11_BACKENDS = Premise(
    "http11-backends",
    "the upstream servers speak HTTP/1.1 and answer it as they answer HTTP/1.0",
    """\
`nginxopt probe URL` asks a server the same over both: it shows a status, header, body or `Content-Encoding` that
differs, an interim response (103), an `Upgrade` that nobody asked for, and chunks that are not marked.""",
)

IDLE_CONNECTIONS = Premise(
    "idle-connections",
    "the upstream servers and this nginx have connections to spare for idle ones; the servers authenticate requests, "
    "not connections, and do not close a connection that a request may still come over",
    """\
- `nginxopt probe URL` shows whether a server keeps a connection, for how long, and whether an idle one keeps others
  from being served, as in a server with one thread or a PHP-FPM with few children.
- A server has room if it can hold `keepalive` times `worker_processes` idle connections of every nginx in front of it.
- NTLM and Negotiate authenticate connections: `curl -sI URL | grep -i www-authenticate` names them.
- It must keep idle connections longer than nginx does (`keepalive_timeout` of the upstream, 60s by default).""",
)

WHOLE_CONFIGURATION = Premise(
    "whole-configuration",
    "nothing that was not read, such as an include that is not there, passes requests to the upstreams that were read, "
    "or states anything for their passes",
    """\
Lint the whole nginx.conf where it is installed, with all its includes: then no fix asks for this. Otherwise
`nginx -T | grep -n _pass` shows all that is passed on.""",
)

NO_CLIENT_REVOCATION = Premise(
    "no-client-revocation",
    "no client certificate expires, or is revoked or distrusted, while a TLS session of it can be resumed",
    """\
nginx reads `ssl_crl`, asks OCSP and looks at dates only in a full handshake. A client that is no longer accepted comes
back until its session ends (`ssl_session_timeout`, 5 minutes by default): where that must not be, it does not hold.""",
)

SESSIONS_BY_NAME = Premise(
    "sessions-by-name",
    "no client resumes a TLS session of one server name under another",
    """\
Browsers and curl resume a session under its own name only. An nginx in front may take another: it has one session for
each server of its upstream, whatever `proxy_ssl_name` says, unless `proxy_ssl_session_reuse` is off. In TLS 1.2 nginx
then goes by the name of the session. With `ssl_protocols TLSv1.3` the fix does not need it.""",
)

FAST_DISK = Premise(
    "fast-disk",
    "the folders of caches are on local file systems with room for every response that is being received, beside what "
    "the cache keeps",
    """\
`df -hT DIR` shows the file system of a folder and what is free; tmpfs, overlay, NFS and quotas have less room, or are
slower, than the folder of temporary files that they take the place of. A response that does not fit is cut off.""",
)

PCRE_LIBRARY = Premise(
    "pcre-library",
    "the PCRE library that nginx runs with is none whose JIT is known to be wrong (10.35 to 10.40, 10.45 to 10.47)",
    """\
`ldd $(command -v nginx) | grep pcre` shows the library, and its package the version: `dpkg -l 'libpcre*'`,
`rpm -q pcre2`. A library that is linked in is named by `nginx -V`.""",
)

LOCAL_FILES = Premise(
    "local-files",
    "the files that nginx sends, those of caches and temporary ones included, are on local file systems and change by "
    "renaming only",
    """\
`df -hT DIR` shows the file system of a folder: ext4, xfs, btrfs, zfs and tmpfs are local; vboxsf, 9p, FUSE, CIFS and
NFS are not. `rsync` and package managers rename; `cp` and `rsync --inplace` write into the file that is sent.""",
)

PLAIN_COMMAND_LINE = Premise(
    "plain-command-line",
    "no directive on nginx's command line (`-g`) states what the fix adds",
    """\
`ps -o args= -C nginx`, the `ExecStart` of `systemctl cat nginx` and the command of a container show them. nginx refuses
a directive that stands there and in the file: `"worker_processes" directive is duplicate`.""",
)

ENOUGH_DESCRIPTORS = Premise(
    "enough-descriptors",
    "the limit of open files that workers have suffices for the connections that the fix adds, and the servers behind "
    "nginx for the requests on them",
    """\
`grep 'open files' /proc/$(pgrep -of 'nginx: worker')/limits` shows the limit. Each connection takes a descriptor, a
request that is buffered on disk one more, and caches of open files as many as they may hold (`max=`).""",
)

RAISES_THE_LIMIT = Premise(
    "raises-the-limit",
    "the limit of open files that nginx starts with is smaller than what the fix sets, and nginx may raise it: root "
    "starts it, or its hard limit is as large",
    """\
`grep 'open files' /proc/$(pgrep -o nginx)/limits` shows the soft and the hard limit of the nginx that runs:
`worker_rlimit_nofile` sets both for the workers, also if it lowers them. A master that is not root's cannot exceed
the hard limit, and then nginx sets none.""",
)

SEVERAL_WORKERS = Premise(
    "several-workers",
    "the machine and the upstream servers have room for a worker for each processor, and nothing counts on one worker",
    """\
Workers multiply memory, idle connections to upstreams (`keepalive`), and what each counts for itself: failures and
turns in an upstream without `zone`, `max_conns`, and what Lua or njs keep in variables. In a container compare `nproc`
with the processors that it was given.""",
)

PREMISES = {
    premise.name: premise
    for premise in (
        HTTP11_BACKENDS,
        IDLE_CONNECTIONS,
        WHOLE_CONFIGURATION,
        NO_CLIENT_REVOCATION,
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
"""Every premise by its name."""


def named(names: Iterable[str]) -> frozenset[Premise]:
    """Return the premises of these names. `UsageError` for a name that there is not."""
    found = set()
    for name in names:
        if name not in PREMISES:
            raise UsageError(f'unknown premise "{name}"', hint=suggestion(name, PREMISES) or _all())
        found.add(PREMISES[name])
    return frozenset(found)


def listed(premises: Iterable[Premise]) -> str:
    """Return the names of premises as `--assume` takes them, in alphabetical order."""
    return ",".join(premise.name for premise in sorted(premises))


def _all() -> str:
    names = list(PREMISES)
    return f"the premises are {', '.join(names[:-1])} and {names[-1]}"
