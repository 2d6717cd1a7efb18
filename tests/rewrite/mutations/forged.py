"""Rules that nobody may move, each with rules that look as if they did the same."""

from __future__ import annotations

from dataclasses import dataclass, field

from nginxopt.rewrite import Readings
from tests.rewrite.mutations.obligations import Refutation


@dataclass(frozen=True)
class Forgery:
    """What is emitted for rules that look alike, said to be that of others.

    Attributes:
        why: Why the rules may not be moved.
        rules: The rules.
        alike: The rules that look alike.
        refuted_by: What is wrong with it.
        swap: A text of `alike` that stays, and what stands in its place in `rules`.
        readings: The declared differences.
    """

    why: str
    rules: bytes
    alike: bytes
    refuted_by: Refutation
    swap: tuple[bytes, bytes] = (b"", b"")
    readings: Readings = field(default_factory=Readings)


FORGERIES = (
    Forgery(
        "PCRE2 gives up on /aaaaaaaaaaaaaaaaaaaaaaaaabb",
        b'rewrite "^/(?:a?){25}b$" /to permanent;',
        b'rewrite "^/a{0,25}b$" /to permanent;',
        Refutation.GONE_MAY_GIVE_UP,
    ),
    Forgery(
        "PCRE2 gives up within a look-ahead",
        b"rewrite ^/(?=(a+)+$|ab)ab$ /to permanent;",
        b"rewrite ^/ab$ /to permanent;",
        Refutation.GONE_NOT_PORTABLE,
    ),
    Forgery(
        "a map with a regex sets $1 before it is written",
        b"rewrite ^/(aa|b)$ /x/$site/$1 permanent;",
        b"rewrite ^/aa$ /x/$site/aa permanent; rewrite ^/b$ /x/$site/b permanent;",
        Refutation.CANNOT_BE_TOLD,
    ),
    Forgery(
        "the empty URI fires",
        b"rewrite ^(?:/a)?$ /to permanent;",
        b"rewrite ^/a$ /to permanent;",
        Refutation.FIRES_NO_MORE,
    ),
    Forgery(
        "a group sets a variable by name",
        b"rewrite ^/(?<part>a)$ /to permanent;",
        b"rewrite ^/a$ /to permanent;",
        Refutation.GONE_SETS_A_NAME,
    ),
    Forgery(
        "a rule goes on with the new URI",
        b"rewrite ^/a$ /to;",
        b"rewrite ^/a$ /to last;",
        Refutation.STATEMENT_CHANGED,
    ),
    Forgery(
        "a capture is escaped in some requests",
        b'rewrite "^/(a b|c)$" /x/$1 permanent;',
        b'rewrite "^/a b$" "/x/a b" permanent; rewrite ^/c$ /x/c permanent;',
        Refutation.DOES_SOMETHING_ELSE,
    ),
    Forgery(
        "a break within the redirect",
        b"rewrite ^/a$ http://h/a break;",
        b"rewrite ^/a$ http://h/a redirect;",
        Refutation.STATEMENT_CHANGED,
    ),
    Forgery(
        "PCRE2 gives up on /aaaaaaaaaaaaaaaaa",
        rb'rewrite "^/(?:a?){17}\B$" /to permanent;',
        b"rewrite ^/a$ /to permanent;",
        Refutation.GONE_GIVES_UP,
    ),
    Forgery(
        "more strings than can be listed",
        b"rewrite ^/a.*$ /to permanent;",
        b"rewrite ^/a$ /to permanent;",
        Refutation.GONE_MATCHES_TOO_MANY,
    ),
    Forgery(
        "the bytes that are spaces differ between PCREs",
        rb"rewrite ^/a\s?$ /to permanent;",
        b"rewrite ^/a$ /to permanent;",
        Refutation.GONE_HAS_SPACES,
    ),
    Forgery(
        "a pattern that cannot be read as it is declared",
        rb'rewrite "^/\p{L}$" /to permanent;',
        b"rewrite ^/l$ /to permanent;",
        Refutation.GONE_NOT_READ,
        readings=Readings(ignore_case=True),
    ),
    Forgery(
        "a rule before it that PCREs read differently",
        rb'rewrite "^/\p{L}$" /k permanent; rewrite ^/a$ /to permanent;',
        b'rewrite "^/k/(.*)$" /k permanent; rewrite ^/a$ /to permanent;',
        Refutation.EARLIER_RULE_UNKNOWN,
        swap=(b"^/k/(.*)$", rb"^/\p{L}$"),
    ),
    Forgery(
        "a rule before it that matches one of its spellings",
        b"rewrite ^/LONG-(.*)$ /k permanent; rewrite (?i)^/long-enough$ /to permanent;",
        b"rewrite ^/k/(.*)$ /k permanent; rewrite (?i)^/long-enough$ /to permanent;",
        Refutation.EARLIER_RULE_ON_SOME_SPELLING,
        swap=(b"^/k/(.*)$", b"^/LONG-(.*)$"),
    ),
)
