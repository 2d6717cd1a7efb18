"""The rules about certificates, files and users, on machines that are folders with real files."""

from __future__ import annotations

import ast
import os
import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from nginxopt.config import load
from nginxopt.config.filesystem import Rooted
from nginxopt.config.root_folder import RootFolder
from nginxopt.lint import Diagnostic, Severity
from nginxopt.system.host import Host
from nginxopt.system.machine import Accounts, Machine
from tests.certificates import NOW, Issued, issue, rsa_key
from tests.lintcheck import judge, read
from tests.rows import every_row

ACCOUNTS = Accounts({"root": (0, 0), "web": (50, 60)}.get, {"root": 0, "web": 60}.get, lambda _: frozenset())
SERVER = "server { listen 443 ssl; server_name %s; ssl_certificate %s; ssl_certificate_key key; }"


def machine(root: Path) -> Machine:
    """A machine whose files are in a folder, in which only names in `.invalid` have no address."""

    def lookup(names: Iterable[str]) -> dict[str, bool]:
        return {name: not name.endswith(".invalid") for name in names if not name.endswith(".unanswered")}

    return Machine(RootFolder(str(root)), ACCOUNTS, NOW, lookup)


def found(rule: str, root: Path, http: str, main: str = "", *, of: Machine | None = None) -> tuple[Diagnostic, ...]:
    """What a rule finds in a configuration in `/etc/nginx` of a machine."""
    folder = root / "etc/nginx"
    text = f"{main}\nevents {{}}\nhttp {{\n{http}\n}}\n"
    if not (folder / "nginx.conf").exists() or (folder / "nginx.conf").read_text() != text:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "nginx.conf").write_text(text)
    config = load(folder / "nginx.conf", missing_ok=True, files=Rooted(RootFolder(str(root))))
    return judge(rule, config, "1.28.0", Host(machine=of or machine(root))).diagnostics


def said(diagnostics: Sequence[Diagnostic]) -> list[tuple[str, str]]:
    """The severities and messages."""
    return [(str(diagnostic.severity), diagnostic.message) for diagnostic in diagnostics]


def write(root: Path, **files: bytes) -> None:
    """Write files beside the configuration."""
    (root / "etc/nginx").mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (root / "etc/nginx" / name).write_bytes(data)


MACHINE_RULES = (
    "certificate-chain",
    "certificate-expiry",
    "certificate-names",
    "host-refused",
    "host-unread",
    "password-file",
    "path-unreachable",
)


@every_row("rule", MACHINE_RULES)
@every_row("host", [None, Host()])
def test_without_a_machine_nothing_is_found(rule: str, host: Host | None) -> None:
    """Without `--host` and `--root` the rules are silent, and so they are with limits alone."""
    text = (
        "user nobody-at-all;\nevents {}\nhttp { upstream a { server nope.invalid; }\n"
        f"{SERVER % ('a.example', '/nonexistent')} server {{ root /nonexistent; auth_basic a;"
        " auth_basic_user_file /nonexistent; include /nonexistent; } }"
    )
    assert judge(rule, read(text), host=host).diagnostics == ()


@every_row(
    ("days", "expected"),
    [
        ((-90, 31), []),
        ((-90, 30), []),
        ((-90, 29), [("warning", "the certificate expires in 29 days, on 2026-01-30")]),
        ((-90, 1), [("warning", "the certificate expires in 1 day, on 2026-01-02")]),
        ((-90, -1), [("error", "the certificate expired on 2025-12-31")]),
        ((1, 90), [("error", "the certificate is not valid before 2026-01-02")]),
    ],
)
def test_dates_of_certificates(tmp_path: Path, days: tuple[int, int], expected: list[tuple[str, str]]) -> None:
    """A certificate is reported from 30 days before its end, and before its beginning."""
    issued = issue("a.example", days=days)
    write(tmp_path, cert=issued.pem, key=issued.private)
    assert said(found("certificate-expiry", tmp_path, SERVER % ("a.example", "cert"))) == expected


def test_an_expired_one_in_the_chain(tmp_path: Path) -> None:
    """Those that follow are looked at as well, and named by their subject."""
    authority = issue("Old CA", days=(-900, -2), is_authority=True)
    issued = issue("a.example", by=authority)
    write(tmp_path, cert=issued.pem + authority.pem, key=issued.private)
    messages = said(found("certificate-expiry", tmp_path, SERVER % ("a.example", "cert")))
    assert messages == [("error", "certificate 2 of the file, CN=Old CA, expired on 2025-12-30")]


def test_a_certificate_of_many_servers_is_one_finding(tmp_path: Path) -> None:
    """One cause is one finding, however many servers inherit it."""
    issued = issue("a.example", days=(-90, 3))
    write(tmp_path, cert=issued.pem, key=issued.private)
    servers = "".join(f"server {{ listen 443 ssl; server_name {name}.example; }}\n" for name in "abcd")
    http = f"ssl_certificate cert; ssl_certificate_key key;\n{servers}"
    assert len(found("certificate-expiry", tmp_path, http)) == 1
    (diagnostic,) = found("certificate-names", tmp_path, http)
    assert diagnostic.message == "the certificate does not cover b.example, c.example and 1 other name"
    assert [related.message.split()[0] for related in diagnostic.finding.related] == [
        "b.example",
        "c.example",
        "d.example",
    ]


@every_row(
    ("names", "server_names", "lacking"),
    [
        (["a.example"], "a.example", ""),
        (["a.example"], "A.Example", ""),
        (["*.a.example"], "www.a.example", ""),
        (["*.a.example"], "a.example", "a.example"),
        (["*.a.example"], "x.www.a.example", "x.www.a.example"),
        (["a.example", "*.a.example"], ".a.example", ""),
        (["a.example"], ".a.example", ".a.example"),
        (["*.a.example"], "*.a.example", ""),
        (["www.a.example"], "*.a.example", "*.a.example"),
        (["a.example"], "_", ""),
        (["a.example"], '""', ""),
        (["a.example"], "localhost", ""),
        (["a.example"], "~^b\\.example$", ""),
        (["a.example"], "mail.*", ""),
        (["a.example"], "$hostname", ""),
        (["a.example"], "__DOMAIN__.example", ""),
        (["a.example"], "b.example a.example", "b.example"),
    ],
)
def test_names_that_a_certificate_covers(tmp_path: Path, names: list[str], server_names: str, lacking: str) -> None:
    """A wildcard covers one label; what is no name of clients is not looked for."""
    issued = issue(*names)
    write(tmp_path, cert=issued.pem, key=issued.private)
    messages = said(found("certificate-names", tmp_path, SERVER % (server_names, "cert")))
    assert messages == ([("warning", f"the certificate does not cover {lacking}")] if lacking else [])


def test_the_common_name_counts_without_other_names(tmp_path: Path) -> None:
    """A certificate with alternative names covers them alone, and else its common name."""
    old, new = issue("a.example", alternative=()), issue("a.example", alternative=["b.example"])
    write(tmp_path, old=old.pem, new=new.pem, key=old.private)
    assert found("certificate-names", tmp_path, SERVER % ("a.example", "old")) == ()
    assert len(found("certificate-names", tmp_path, SERVER % ("a.example", "new"))) == 1


def test_each_of_several_certificates_must_cover_the_names(tmp_path: Path) -> None:
    """The client decides which of two kinds it gets."""
    first, second = issue("a.example"), issue("b.example", key=rsa_key())
    write(tmp_path, first=first.pem, one=first.private, second=second.pem, two=second.private)
    http = (
        "server { listen 443 ssl; server_name a.example;\nssl_certificate first; ssl_certificate_key one;\n"
        "ssl_certificate second; ssl_certificate_key two; }"
    )
    (diagnostic,) = found("certificate-names", tmp_path, http)
    assert diagnostic.start.line == 6
    assert found("host-refused", tmp_path, http) == ()


def test_servers_without_tls_present_nothing(tmp_path: Path) -> None:
    """A name that is served without TLS needs no certificate."""
    issued = issue("a.example")
    write(tmp_path, cert=issued.pem, key=issued.private)
    http = "ssl_certificate cert; ssl_certificate_key key; server { listen 80; server_name b.example; }"
    assert found("certificate-names", tmp_path, http) == ()


def _chained() -> tuple[Issued, Issued, Issued]:
    root = issue("Root CA", is_authority=True)
    middle = issue("Middle CA", by=root, is_authority=True)
    return root, middle, issue("a.example", by=middle, says_issuer=True)


def test_chains_in_order(tmp_path: Path) -> None:
    """Each certificate must be issued by the next; one that names its issuer must not be alone."""
    root, middle, leaf = _chained()
    write(
        tmp_path,
        key=leaf.private,
        whole=leaf.pem + middle.pem,
        with_root=leaf.pem + middle.pem + root.pem,
        swapped=leaf.pem + root.pem + middle.pem,
        alone=leaf.pem,
    )
    messages = {
        name: [message for _, message in said(found("certificate-chain", tmp_path, SERVER % ("a.example", name)))]
        for name in ("whole", "with_root", "swapped", "alone")
    }
    assert messages == {
        "whole": [],
        "with_root": [],
        "swapped": ["CN=Root CA did not issue the certificate before it in the file"],
        "alone": ["the certificate of its issuer, CN=Middle CA, is not in the file: some clients refuse it"],
    }


def test_keys_of_no_use(tmp_path: Path) -> None:
    """A key of another kind, which nginx accepts, and a short one."""
    leaf, weak = issue("a.example", key=rsa_key()), issue("a.example", key=rsa_key(bits=1024))
    write(tmp_path, cert=leaf.pem, key=issue("b.example").private, weak=weak.pem, weak_key=weak.private)
    assert said(found("certificate-chain", tmp_path, SERVER % ("a.example", "cert"))) == [
        ("error", "the key is of another kind than the certificate: every handshake fails")
    ]
    http = (SERVER % ("a.example", "weak")).replace("key key", "key weak_key")
    assert said(found("certificate-chain", tmp_path, http)) == [
        ("warning", "the RSA key has 1024 bits: OpenSSL may refuse it, and clients do")
    ]


def test_nothing_of_a_key_is_shown(tmp_path: Path) -> None:
    """A key in the configuration is named by its prefix, and the finding is at the certificate."""
    leaf = issue("a.example")
    key = issue("b.example").private.decode()
    write(tmp_path, cert=leaf.pem)
    http = f'server {{ listen 443 ssl; ssl_certificate cert;\nssl_certificate_key "data:{key}"; }}'
    (diagnostic,) = found("host-refused", tmp_path, http)
    assert diagnostic.message == 'nginx refuses it: SSL_CTX_use_PrivateKey("data:") failed (SSL: key values mismatch)'
    assert diagnostic.start.line == 4
    assert "PRIVATE" not in repr(diagnostic)[: len(diagnostic.message) + 200]


PASSWORDS = {
    "good": (b"anna:$6$salt$hash\nbert:$apr1$x$y\n# note\n\nchris:$2y$05$abc:comment\n", []),
    "plain": (
        b"a:{PLAIN}secret\nb:{PLAIN}secret\n",
        [("warning", "/etc/nginx/users has 2 passwords in the clear")],
    ),
    "sha": (b"a:{SHA}abc=\nb:{SSHA}abc=\n", [("warning", "/etc/nginx/users has 2 passwords as SHA-1")]),
    "des": (
        b"a:abJnggxhB/yWI\n",
        [("warning", "/etc/nginx/users has 1 password as the hash of eight characters (crypt)")],
    ),
    "no hash": (
        b"a:secret\n",
        [("warning", "/etc/nginx/users has 1 password that is no hash: nobody can log in with it")],
    ),
    "empty": (b"# a:b\n", [("error", "/etc/nginx/users has no entry of the form name:hash: nobody can log in")]),
}


@every_row("case", PASSWORDS)
def test_password_files(tmp_path: Path, case: str) -> None:
    """Weak forms are counted; no name and no hash is shown."""
    data, expected = PASSWORDS[case]
    write(tmp_path, users=data)
    http = "server { auth_basic a; auth_basic_user_file users; }"
    diagnostics = found("password-file", tmp_path, http)
    assert said(diagnostics) == expected
    assert not any("secret" in str(diagnostic.finding) for diagnostic in diagnostics)


def test_password_files_that_workers_cannot_read(tmp_path: Path) -> None:
    """A file that is missing gives 403, and one in a closed folder 500; where nothing is asked for, neither matters."""
    write(tmp_path, users=b"a:$6$a$b\n")
    (tmp_path / "etc/nginx/users").chmod(0o600)
    http = "server { auth_basic a; auth_basic_user_file users; location /b { auth_basic off; } }"
    assert said(found("password-file", tmp_path, http, "user web;")) == [
        ("error", "web may not read /etc/nginx/users: requests get 500")
    ]
    assert said(found("password-file", tmp_path, http)) == []
    assert said(found("password-file", tmp_path, http.replace("users", "none"))) == [
        ("error", "/etc/nginx/none is missing: every request gets 403")
    ]
    off = "server { auth_basic off; auth_basic_user_file none; }"
    assert found("password-file", tmp_path, off, "user web;") == ()


def test_folders_that_workers_cannot_enter(tmp_path: Path) -> None:
    """The folder on the way that keeps them out is named."""
    (tmp_path / "home/anna/www").mkdir(parents=True)
    (tmp_path / "home/anna").chmod(0o700)
    (tmp_path / "srv").mkdir()
    http = "server { root /home/anna/www; location /a { alias /srv/; } location /b { root /gone; } }"
    assert said(found("path-unreachable", tmp_path, http, "user web;")) == [
        ("warning", "/home/anna/www is out of reach: web may not enter /home/anna"),
        ("warning", "/gone is not there"),
    ]
    assert said(found("path-unreachable", tmp_path, http, "user root;")) == [("warning", "/gone is not there")]
    assert said(found("path-unreachable", tmp_path, http)) == [("warning", "/gone is not there")]


def test_sockets_of_upstreams(tmp_path: Path) -> None:
    """A socket must be there, be one, and let workers write to it; what a machine makes when it starts is not known."""
    (tmp_path / "srv").mkdir()
    (tmp_path / "srv/file").touch()
    folder = os.open(tmp_path / "srv", os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"/proc/self/fd/{folder}/socket")  # a shorter name, as its length is limited
    os.close(folder)
    (tmp_path / "srv/socket").chmod(0o660)
    http = (
        "upstream a { server unix:/srv/socket; server unix:/srv/file; }\n"
        "server { location / { proxy_pass http://unix:/srv/gone:/uri; } location /b { fastcgi_pass unix:/run/a; } }"
    )
    assert said(found("path-unreachable", tmp_path, http, "user web;")) == [
        ("warning", "/srv/socket is out of reach: web may not write to /srv/socket"),
        ("warning", "/srv/file is not a socket"),
        ("warning", "/srv/gone is not there"),
    ]


def test_a_copy_of_a_machine_has_no_files_of_its_start(tmp_path: Path) -> None:
    """In a folder that stands for `/`, nothing is said of a log in `/run`, and something of one elsewhere."""
    main = "pid /run/nginx/nginx.pid; error_log /var/log/nginx/error.log;"
    assert said(found("host-refused", tmp_path, "", main)) == [
        (
            "error",
            'nginx refuses it: open() "/var/log/nginx/error.log" failed (2: No such file or directory)',
        )
    ]


def test_links_are_those_of_the_machine(tmp_path: Path) -> None:
    """Certificates that are links, as Certbot makes them, are looked for on the machine, and nowhere else."""
    issued = issue("a.example")
    write(tmp_path, real=issued.pem, key=issued.private)
    (tmp_path / "etc/nginx/cert").symlink_to("/etc/nginx/real")
    assert found("host-refused", tmp_path, SERVER % ("a.example", "cert")) == ()
    (tmp_path / "etc/nginx/real").unlink()
    (diagnostic,) = found("host-refused", tmp_path, SERVER % ("a.example", "cert"))
    assert 'cannot load certificate "/etc/nginx/cert": BIO_new_file() failed' in diagnostic.message


def test_users_that_the_machine_has(tmp_path: Path) -> None:
    """The group is that of the user's name unless one is stated; without root, nginx does not look."""
    assert found("host-refused", tmp_path, "", "user web;") == ()
    assert found("host-refused", tmp_path, "", "user root web;") == ()
    assert [diagnostic.message for diagnostic in found("host-refused", tmp_path, "", "user web nogroup;")] == [
        'nginx refuses it: getgrnam("nogroup") failed'
    ]
    here = machine(tmp_path)
    for other in (
        replace(here, starts_as_root=False),
        replace(here, accounts=None),
        replace(here, accounts=replace(ACCOUNTS, is_complete=False)),
    ):
        assert found("host-refused", tmp_path, "", "user nobody;", of=other) == ()


def test_names_are_looked_up_only_where_that_is_allowed(tmp_path: Path) -> None:
    """Without a way to look names up, as with `--root`, nothing is said of them; one without an answer is named."""
    http = (
        "upstream a { server nope.invalid resolve; server slow.unanswered; server [::1]:80; server 10.0.0.1; }\n"
        "server { location / { proxy_pass http://a; } location /b { proxy_pass http://$host; }\n"
        "location /c { proxy_pass http://unix:/nope.invalid; } location /d { proxy_pass http://gone.invalid/x; } }"
    )
    assert [diagnostic.message for diagnostic in found("host-refused", tmp_path, http)] == [
        'nginx refuses it: host not found in upstream "gone.invalid"'
    ]
    assert [diagnostic.message for diagnostic in found("host-unread", tmp_path, http)] == [
        'not checked: "slow.unanswered" could not be looked up: no answer in time, or no name server'
    ]
    offline = replace(machine(tmp_path), lookup=None)
    assert found("host-refused", tmp_path, http, of=offline) == ()
    assert found("host-unread", tmp_path, http, of=offline) == ()


def test_mail(tmp_path: Path) -> None:
    """Servers of mail load certificates as those of http, and look up who answers whether a user may log in."""
    main = (
        "mail { auth_http http://login.invalid:8080/a; ssl_certificate cert; ssl_certificate_key key;"
        " server { listen 993 ssl; protocol imap; } }"
    )
    assert [diagnostic.message for diagnostic in found("host-refused", tmp_path, "", main)] == [
        'nginx refuses it: host not found in auth_http "login.invalid:8080/a"',
        'nginx refuses it: cannot load certificate "/etc/nginx/cert": BIO_new_file() failed',
    ]


def test_a_fragment_has_no_folder(tmp_path: Path) -> None:
    """Relative names of a file whose main file is not known lead nowhere; absolute ones do."""
    (tmp_path / "site").write_text(SERVER % ("a.example", "cert") + SERVER % ("b.example", "/etc/cert"))
    config = load(tmp_path / "site", missing_ok=True, context="http")
    diagnostics = judge("host-refused", config, "1.28.0", Host(machine=machine(tmp_path))).diagnostics
    assert [diagnostic.message for diagnostic in diagnostics] == [
        'nginx refuses it: cannot load certificate "/etc/cert": BIO_new_file() failed'
    ]


def test_severities_are_declared() -> None:
    """An unreadable file is no fault, but nobody should take silence for a result."""
    (diagnostic,) = judge(
        "host-unread",
        read("events {}\nhttp { upstream a { server b.unanswered; } }"),
        host=Host(machine=machine(Path("/"))),
    ).diagnostics
    assert diagnostic.severity is Severity.INFO


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_what_another_user_may_not_read_is_said(tmp_path: Path) -> None:
    """For a user who may read neither key nor folder, both are named, and nothing is said to be missing."""
    issued = issue("a.example")
    write(tmp_path, cert=issued.pem, key=issued.private)
    (tmp_path / "etc/nginx/key").chmod(0o600)
    (tmp_path / "private").mkdir(mode=0o700)
    write(tmp_path, users=b"a:$6$b$c\n")
    (tmp_path / "etc/nginx/users").chmod(0o600)
    http = (SERVER % ("a.example", "cert")) + " server { ssl_trusted_certificate /private/ca; include /private/a;"
    http += "auth_basic a; auth_basic_user_file users; }"
    pairs = [(rule, found(rule, tmp_path, http)) for rule in ("host-refused", "host-unread")]
    assert [len(diagnostics) for _, diagnostics in pairs] == [1, 0]  # root finds that the include is missing
    assert _as_another_user(lambda: [(rule, said(found(rule, tmp_path, http))) for rule, _ in pairs]) == [
        ("host-refused", []),
        (
            "host-unread",
            [
                ("info", "not checked: /etc/nginx/key may not be read by this user"),
                ("info", "not checked: /private/a may not be read by this user"),
                ("info", "not checked: /etc/nginx/users may not be read by this user"),
            ],
        ),
    ]


def _as_another_user(ask: Callable[[], object]) -> object:
    """What a function returns in a process of another user."""
    receiver, sender = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        os.write(sender, repr(ask()).encode())
        os._exit(0)
    os.close(sender)
    with os.fdopen(receiver, "rb") as answer:
        text = answer.read()
    os.waitpid(pid, 0)
    return ast.literal_eval(text.decode())
