"""What the sites of `benchmarks.blind` are made of: their form, clients, texts, and parts of configurations."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from pathlib import Path


def text_of(pattern: str) -> bytes:
    """Return the text of files of this repository."""
    return b"\n".join(path.read_bytes() for path in sorted(Path(__file__).parents[2].glob(pattern)))


def encoded(digest: bytes) -> str:
    """Return a digest as `secure_link` reads it."""
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


TEXT = text_of("docs/guide/*.md")
BROWSER = (
    "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0 "
    "Safari/537.36\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8\r\n"
    "Accept-Language: en-GB,en;q=0.9\r\nAccept-Encoding: gzip, deflate, br\r\nSec-Fetch-Dest: document\r\n"
    "Cookie: session=8f14e45fceea167a5a36dedd4bea2543; consent=1\r\nUpgrade-Insecure-Requests: 1\r\n"
)
PLAIN = "User-Agent: api-client/2.1\r\nAccept: application/json\r\n"


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


SIGNED = "Authorization: Basic dTpw\r\n"
"""The header of the only user in the file `users`."""
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
PHONE = (
    "User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/18.5 Mobile/15E148 Safari/604.1\r\nAccept: */*\r\nAccept-Language: fr-FR,fr;q=0.9\r\n"
    "Accept-Encoding: gzip, deflate, br\r\nReferer: https://site.example/latest\r\nConnection: keep-alive\r\n"
)
CURL = "User-Agent: curl/8.14.1\r\nAccept: */*\r\n"
ROBOT = (
    "User-Agent: Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)\r\nAccept-Encoding: gzip\r\n"
)
FIREFOX = (
    "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:143.0) Gecko/20100101 Firefox/143.0\r\nAccept: */*\r\n"
    "Accept-Language: pl,en-US;q=0.7,en;q=0.3\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nConnection: keep-alive\r\n"
    "Referer: https://site.example/women/jackets.html\r\nCookie: PHPSESSID=0a1b2c3d4e5f60718293a4b5c6; store=pl; "
    "form_key=Xb3kQz9LmN2pRt7V\r\nSec-Fetch-Dest: empty\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Site: same-origin\r\n"
)
GO = "User-Agent: Go-http-client/1.1\r\nAccept-Encoding: gzip\r\n"
EDGE = (
    "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 "
    'Safari/537.36 Edg/142.0.0.0\r\nsec-ch-ua-mobile: ?0\r\nsec-ch-ua-platform: "Windows"\r\nAccept: text/html,*/*\r\n'
    "Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: it-IT,it;q=0.9,en;q=0.8\r\nDNT: 1\r\n"
)
SIGNED_IN = EDGE + "Referer: https://site.example/courses\r\nCookie: MoodleSession=" + "k9m2p4r7t1v3x5z8" * 2 + "\r\n"
SAFARI = (
    "User-Agent: Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 "
    "Safari/605.1.15\r\nAccept: text/html,application/xhtml+xml,*/*;q=0.8\r\nAccept-Language: nl-NL,nl;q=0.9\r\n"
    "Accept-Encoding: gzip, deflate, br\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: navigate\r\n"
)
FORM = "Content-Type: application/x-www-form-urlencoded\r\n"
SESSION = "Cookie: csrftoken=" + "Qm9yZGVyQ29sbGll" * 2 + "; sessionid=" + "x7k2m9p4q1w8" * 3 + "\r\n"
SPIDER = "User-Agent: Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)\r\nAccept-Encoding: gzip\r\n"
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
