"""Premises of fixes: conditions under which a fix changes nothing but speed, that no configuration shows.

A fix that needs one is made only if it is declared, by `--assume NAME` or the setting `assume`. docs/premises.md is
made of this module.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nginxopt.errors import UsageError
from nginxopt.suggest import suggestion


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

NO_CLIENT_REVOCATION = Premise(
    "no-client-revocation",
    "no client certificate is revoked while a TLS session of it can be resumed",
    """\
Where no server asks for client certificates (`ssl_verify_client`) it holds. Where one does, it holds only if revoked
clients may come back until their session ends (`ssl_session_timeout`).""",
)

FAST_DISK = Premise(
    "fast-disk",
    "the folders that nginx writes to are on local file systems with room for what it writes there",
    """\
`df -hT DIR` shows the file system of a folder and what is free; tmpfs, overlay, NFS and quotas have less room, or are
slower, than the folder that they take the place of.""",
)

PCRE_LIBRARY = Premise(
    "pcre-library",
    "the PCRE library that nginx runs with is none whose JIT is known to be wrong (10.35 to 10.40, 10.45 to 10.47)",
    """\
`ldd $(command -v nginx) | grep pcre` shows the library, and its package the version: `dpkg -l 'libpcre*'`,
`rpm -q pcre2`. A library that is linked in is named by `nginx -V`.""",
)

PREMISES = {
    premise.name: premise
    for premise in (HTTP11_BACKENDS, IDLE_CONNECTIONS, NO_CLIENT_REVOCATION, FAST_DISK, PCRE_LIBRARY)
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
