"""What parts of a request take: the terms of the estimate of nginx's work.

Each was measured alone, as the difference between two configurations, on nginx 1.22.1 with PCRE2's interpreter and on
one shared Xeon: user-space instructions by callgrind, and the processor time of a worker, user and kernel, under load.
Sums of instructions are within 15 % of what whole sites took (18 of 21 requests of six sites that were predicted
before they were measured); sums of time within 30 %, on that machine. On others they are not: see `SPREAD`.
"""

from __future__ import annotations

from math import log2
from typing import NamedTuple

from nginxopt.lint.queries.cost import PER_MICROSECOND, REGEX, SHARED, SHORT
from nginxopt.profile.sums import Tries

SPREAD = 2.0
"""The factor by which the time of another machine and build may be shorter or longer than the estimate."""

MEASURED_SPREAD = 1.25
"""The factor by which time that was measured may be: on a machine that is busy, rounds differ by 20 %."""


class Term(NamedTuple):
    """What a part of a request takes: user-space instructions, and nanoseconds of processor time."""

    instructions: float
    nanoseconds: float

    def times(self, number: float) -> Term:
        """Return what it takes several times."""
        return Term(self.instructions * number, self.nanoseconds * number)

    def scaled(self, factor: Term) -> Term:
        """Return what it takes if instructions and time are other ones by a factor each."""
        return Term(self.instructions * factor.instructions, self.nanoseconds * factor.nanoseconds)

    def plus(self, other: Term) -> Term:
        """Return what both take."""
        return Term(self.instructions + other.instructions, self.nanoseconds + other.nanoseconds)


def of_instructions(number: float, nanoseconds: float = 1000 / PER_MICROSECOND) -> Term:
    """Return a term of work in user space, which takes so many nanoseconds an instruction."""
    return Term(number, number * nanoseconds)


NOTHING = Term(0, 0)
SAME = Term(1, 1)
BASE = Term(7_279, 3_100)
"""A request on a connection that is open, with one header, that nginx answers with a text of its own."""

HEADER_BYTE = Term(20.4, 1.7)
"""A byte of a request beyond `BASE_LENGTH`: headers are read line by line."""

BASE_LENGTH, USUAL_LENGTH = 60, 500
"""The bytes of the request of `BASE`, and those that a request is taken to have if the log lacks its length."""

CONNECTION = Term(2_725, 50_000)
HANDSHAKE, RESUMED = Term(8_900_000, 600_000), Term(2_500_000, 295_000)
"""A handshake of TLS with a certificate for RSA of 2,048 bits, and one that resumes a session; without `CONNECTION`.
With P-256, the first takes 2.9 million instructions and 370 microseconds."""

HTTP2, HTTP2_BYTE = Term(5_000, 600), Term(0.15, 0.02)
"""What a request over HTTP/2 and a byte of its response take more than over HTTP/1.1: 3,600 to 8,400 instructions on
nginx 1.22.1, 4,200 to 10,200 on 1.31.3, and 0.15 and 0.18 a byte; their time is not measured."""

TLS, TLS_BYTE = Term(18_469, 2_200), Term(4.6, 0.47)
FILE, FILE_BYTE = Term(3_633, 2_900), Term(0, 0.3)
TRY_FILES = Term(682, 1_000)
PASSED, PASSED_BYTE = Term(19_451, 6_000), Term(0.3, 0.3)
"""A request that is passed on, over a connection that is kept."""

NEW_UPSTREAM = Term(1_055, 12_500)
"""What a new connection to the upstream adds."""

FASTCGI = Term(41_576, 16_000)
"""A request over FastCGI with 22 parameters, over a new connection; its time is not measured."""

CACHED = Term(14_860, 5_600)
LOG, LOG_BUFFERED, LOG_VARIABLE = Term(500, 800), Term(420, 0), Term(620, 110)
"""A line of a log without its variables, as it is written at once or to a buffer, and each variable."""

LIMIT, ADDED_HEADER, SET = of_instructions(700), of_instructions(168), of_instructions(393)
AUTH_REQUEST = Term(2_884, 400)
SUBSTITUTED_BYTE, SUBSTITUTED_FILE = Term(2.0, 0.3), Term(50_000, 200_000)
"""`sub_filter`, and what it adds for a file of 20 KB that `sendfile` sends: a system call for each match."""

SSI_BYTE = Term(7.5, 0.65)

_GZIP = {
    1: (60_000, 7, 152, 0), 2: (50_000, 7, 160, 0), 3: (50_000, 7, 164, 5),
    4: (49_000, 33, 153, 6), 5: (43_000, 34, 176, 17), 6: (44_000, 35, 175, 35),
    7: (48_000, 38, 167, 47), 8: (49_000, 43, 154, 58), 9: (49_000, 44, 153, 57),
}  # fmt: skip
"""The instructions of a response, of a byte before compression, and of one after; these grow with the size.

Fitted to `deflate` of zlib 1.2.13 by callgrind (`python -m benchmarks.gzip_terms`) on 24 texts of 1 to 200 kB: pages,
scripts, style sheets, JSON, prose. Of texts that the fit has not seen, the median error is 4 to 9 %, and 82 to 89 % are
within 15 % up to level 6, 62 % at level 9: there a text that repeats without end takes up to 8 times as much.
"""
_GZIP_SMALL = 4_000
"""Bytes up to which a byte after compression takes the same; with twice as many, it takes the last figure more."""
_GZIP_NANOSECONDS = 0.13
HEADERS = 250
"""The bytes of the headers of a response, about, which `$bytes_sent` has in it."""
GZIP_RATIO = 3.0
"""How much text is taken to shrink where the log lacks `$gzip_ratio`."""


def gzip(level: int, raw: float, sent: float) -> Term:
    """Return what compressing a response takes, of so many bytes before and after."""
    fixed, before, after, growth = _GZIP[min(max(level, 1), 9)]
    grown = after + growth * log2(max(raw, _GZIP_SMALL) / _GZIP_SMALL)
    return of_instructions(fixed + before * raw + grown * sent, _GZIP_NANOSECONDS)


_SEARCHED, _TRIED = 3, 100
"""Instructions of PCRE for a byte that it searches for the beginning of a match, and to begin one."""


def of_tries(tries: Tries) -> Term:
    """Return what tries of patterns take (`nginxopt.lint.queries.cost`)."""
    of_lengths = tries.short * SHORT + tries.long * REGEX + tries.shared * SHARED
    return of_instructions(of_lengths + tries.searched * _SEARCHED + tries.places * _TRIED)
