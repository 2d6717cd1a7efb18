"""The cost of the parts of a request: the terms from which nginx's work is estimated.

A request costs `BASE`, and more for each part of it: a byte of a header, a line of a log, a pass to an upstream. Each
term was measured as the difference between two configurations, on nginx 1.22.1 with PCRE2's interpreter and on one
shared Xeon: user-space instructions with callgrind, and the processor time of a worker, user and kernel, under load.
Of the 33 kinds of requests of `python -m benchmarks.blind`, 32 take what the sum of instructions says, to 15 %. Sums of
time are within 30 % on that machine, and not on others: see `SPREAD`.
"""

from __future__ import annotations

from math import log2
from typing import NamedTuple

from nginxopt.lint.queries.cost import PER_MICROSECOND, REGEX, SHARED, SHORT
from nginxopt.profile.sums import Tries

SPREAD = 2.0
"""The factor by which the time on another machine and build may be shorter or longer than the estimate."""

MEASURED_SPREAD = 1.25
"""The same factor for times that were measured: on a busy machine, rounds differ by 20 %."""


class Term(NamedTuple):
    """The cost of a part of a request: user-space instructions, and nanoseconds of processor time."""

    instructions: float
    nanoseconds: float

    def times(self, number: float) -> Term:
        """Return the cost of several such parts."""
        return Term(self.instructions * number, self.nanoseconds * number)

    def scaled(self, factor: Term) -> Term:
        """Return the cost with instructions and time multiplied by a factor each."""
        return Term(self.instructions * factor.instructions, self.nanoseconds * factor.nanoseconds)

    def plus(self, other: Term) -> Term:
        """Return the sum of two costs."""
        return Term(self.instructions + other.instructions, self.nanoseconds + other.nanoseconds)


def of_instructions(number: float, nanoseconds: float = 1000 / PER_MICROSECOND) -> Term:
    """Return the cost of work in user space, with a fixed time per instruction."""
    return Term(number, number * nanoseconds)


NOTHING = Term(0, 0)
SAME = Term(1, 1)
BASE = Term(7_279, 3_100)
"""A request on an open connection, with one header, that nginx answers with a text of its own."""

HEADER_BYTE = Term(20.4, 1.7)
"""A byte of a request beyond `BASE_LENGTH`: headers are read line by line."""

BASE_LENGTH, USUAL_LENGTH = 60, 500
"""The bytes of the request of `BASE`, and the bytes that are assumed for a request if the log lacks its length."""

CONNECTION = Term(2_725, 50_000)
HANDSHAKE, RESUMED = Term(8_900_000, 600_000), Term(2_500_000, 295_000)
"""A TLS handshake with an RSA certificate of 2,048 bits, and one that resumes a session; without `CONNECTION`. With
P-256, the first takes 2.9 million instructions and 370 microseconds.
"""

HTTP2, HTTP2_BYTE = Term(5_000, 600), Term(0.15, 0.02)
"""The additional cost of HTTP/2 compared with HTTP/1.1 for a request and for a byte of its response: 3,600 to 8,400
instructions on nginx 1.22.1, 4,200 to 10,200 on 1.31.3, and 0.15 and 0.18 a byte; their time is not measured.
"""

TLS, TLS_BYTE, TLS_FURTHER_BYTE = Term(16_200, 2_200), Term(2.9, 0.47), Term(5.2, 0.47)
TLS_SMALL = 6_000
"""A response over TLS, each of its bytes up to `TLS_SMALL`, and each further one."""

FILE, FILE_BYTE = Term(3_633, 2_900), Term(0, 0.3)
TRY_FILES = Term(682, 1_000)
PASSED, PASSED_BYTE = Term(10_600, 6_000), Term(0.3, 0.3)
"""A request that is passed on, over a connection that is kept."""

NEW_UPSTREAM = Term(1_055, 12_500)
"""The additional cost of a new connection to the upstream."""

FASTCGI = Term(21_500, 16_000)
"""A request over FastCGI with 22 parameters, over a new connection; its time is not measured."""

CACHED = Term(7_600, 5_600)
LOG, LOG_BUFFERED, LOG_VARIABLE = Term(500, 800), Term(420, 0), Term(370, 110)
"""A log line without its variables, written at once or buffered, and each variable."""

LIMIT, ADDED_HEADER, SET = of_instructions(700), of_instructions(168), of_instructions(393)
AUTH_REQUEST = Term(2_884, 400)
SUBSTITUTED_BYTE, SUBSTITUTED_FILE = Term(2.0, 0.3), Term(50_000, 200_000)
"""`sub_filter` for a byte, and its additional cost for a file of 20 KB that `sendfile` sends: a system call for each
match.
"""

SSI_BYTE = Term(7.5, 0.65)


def tls(number: int, sent: float) -> Term:
    """Return the cost of responses over TLS, given how many they are, and their bytes in all."""
    further = max(0.0, sent - number * TLS_SMALL)
    return TLS.times(number).plus(TLS_BYTE.times(sent - further)).plus(TLS_FURTHER_BYTE.times(further))


_GZIP = {
    1: (60_000, 7, 152, 0), 2: (50_000, 7, 160, 0), 3: (50_000, 7, 164, 5),
    4: (49_000, 33, 153, 6), 5: (43_000, 34, 176, 17), 6: (44_000, 35, 175, 35),
    7: (48_000, 38, 167, 47), 8: (49_000, 43, 154, 58), 9: (49_000, 44, 153, 57),
}  # fmt: skip
"""The instructions for a response, for a byte before compression, and for one after it, by level. The last figure is
what the cost of a byte after compression grows by when the size doubles.

Fitted to `deflate` of zlib 1.2.13 by callgrind (`python -m benchmarks.gzip_terms`) on 24 texts of 1 to 200 kB: pages,
scripts, style sheets, JSON, prose. For texts that the fit has not seen, the median error is 4 to 9 %, and 82 to 89 %
are within 15 % up to level 6, 62 % at level 9: there a text that repeats without end takes up to 8 times as much.
"""
_GZIP_SMALL = 4_000
"""The size in bytes up to which that cost does not grow."""
_GZIP_NANOSECONDS = 0.13
HEADERS = 250
"""The approximate size in bytes of response headers, which `$bytes_sent` includes."""
GZIP_RATIO = 3.0
"""How much text is assumed to shrink if the log lacks `$gzip_ratio`."""


def gzip(level: int, raw: float, sent: float) -> Term:
    """Return the cost of compressing a response, given its bytes before and after."""
    fixed, before, after, growth = _GZIP[min(max(level, 1), 9)]
    grown = after + growth * log2(max(raw, _GZIP_SMALL) / _GZIP_SMALL)
    return of_instructions(fixed + before * raw + grown * sent, _GZIP_NANOSECONDS)


_SEARCHED, _TRIED = 3, 100
"""PCRE's instructions to search a byte for the start of a match, and to try a match there."""


def of_tries(tries: Tries) -> Term:
    """Return the cost of trying patterns (`nginxopt.lint.queries.cost`)."""
    of_lengths = tries.short * SHORT + tries.long * REGEX + tries.shared * SHARED
    return of_instructions(of_lengths + tries.searched * _SEARCHED + tries.places * _TRIED)
