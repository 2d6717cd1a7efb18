"""What the sites of `benchmarks.blind` are made of: their form, texts, and parts of configurations."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.sites.clients import BROWSER


def text_of(pattern: str) -> bytes:
    """Return the text of files of this repository."""
    return b"\n".join(path.read_bytes() for path in sorted(Path(__file__).parents[2].glob(pattern)))


def encoded(digest: bytes) -> str:
    """Return a digest as `secure_link` reads it."""
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


TEXT = text_of("docs/guide/*.md")


@dataclass(frozen=True)
class Kind:
    """Requests of a kind.

    Attributes:
        target: With `@N@` for a number, and `@U@` for one that no other request has.
        headers: Those besides `Host`.
        size: The bytes of the body that an upstream sends; smallest and largest.
        is_new: Whether each has a connection of its own.
        body: The bytes of the body that the client sends.
    """

    weight: int
    target: str
    headers: str = BROWSER
    method: str = "GET"
    size: tuple[int, int] = (2_000, 12_000)
    is_new: bool = False
    body: int = 0


@dataclass(frozen=True)
class Site:
    """A site: what its http block and server have, its files with their sizes, and its requests.

    `text` is what its files and upstreams have.
    """

    http: str
    server: str
    kinds: dict[str, Kind]
    files: dict[str, int] = field(default_factory=dict)
    tls: bool = False
    text: bytes = TEXT


USERS = b"u:$apr1$c4Vq8sXw$IVJK3gQvgIXMCl.TOYJ060\n"
POOL = "upstream app { server 127.0.0.1:@BACK@; keepalive 8; }\n"
KEPT = 'proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host;'
SECURITY = "".join(
    f'add_header X-Policy-{number} "max-age=31536000; includeSubDomains" always;\n' for number in range(4)
)
PARAMS = "".join(
    f"fastcgi_param {name} {value};\n"
    for name, value in (
        ("SCRIPT_FILENAME", "$document_root$fastcgi_script_name"), ("QUERY_STRING", "$query_string"),
        ("REQUEST_METHOD", "$request_method"), ("CONTENT_TYPE", "$content_type"), ("CONTENT_LENGTH", "$content_length"),
        ("SCRIPT_NAME", "$fastcgi_script_name"), ("REQUEST_URI", "$request_uri"), ("DOCUMENT_URI", "$document_uri"),
        ("DOCUMENT_ROOT", "$document_root"), ("SERVER_PROTOCOL", "$server_protocol"), ("REQUEST_SCHEME", "$scheme"),
        ("GATEWAY_INTERFACE", "CGI/1.1"), ("SERVER_SOFTWARE", "nginx"), ("REMOTE_ADDR", "$remote_addr"),
        ("REMOTE_PORT", "$remote_port"), ("SERVER_ADDR", "$server_addr"), ("SERVER_NAME", "$server_name"),
    )
)  # fmt: skip
API = text_of("nginxopt/schemas/*.json")
CODE = text_of("nginxopt/lint/queries/*.py")
RULES = text_of("docs/rules/*.md")
TESTS = text_of("tests/profile/*.py")
FORWARDED = (
    KEPT + "proxy_set_header X-Real-IP $remote_addr; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; "
    "proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-Host $http_host; "
)
UWSGI = "".join(
    f"uwsgi_param {name} {value};\n"
    for name, value in (
        ("QUERY_STRING", "$query_string"), ("REQUEST_METHOD", "$request_method"), ("CONTENT_TYPE", "$content_type"),
        ("CONTENT_LENGTH", "$content_length"), ("REQUEST_URI", "$request_uri"), ("PATH_INFO", "$document_uri"),
        ("DOCUMENT_ROOT", "$document_root"), ("SERVER_PROTOCOL", "$server_protocol"), ("REQUEST_SCHEME", "$scheme"),
        ("HTTPS", "$https if_not_empty"), ("REMOTE_ADDR", "$remote_addr"), ("REMOTE_PORT", "$remote_port"),
        ("SERVER_PORT", "$server_port"), ("SERVER_NAME", "$server_name"),
    )
)  # fmt: skip
