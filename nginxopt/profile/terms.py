"""What parts of a request take: the terms of the estimate of nginx's work.

Each was measured alone, as the difference between two configurations, on nginx 1.22.1 with PCRE2's interpreter and on
one shared Xeon: user-space instructions by callgrind, and the processor time of a worker, user and kernel, under load.
Sums of instructions are within 15 % of what whole sites took (18 of 21 requests of six sites that were predicted
before they were measured); sums of time within 30 %, on that machine. On others they are not: see `SPREAD`.
"""

from __future__ import annotations

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
    1: (101_000, 59), 2: (96_000, 66), 3: (91_000, 75), 4: (86_000, 88), 5: (82_000, 100),
    6: (66_000, 111), 7: (60_000, 116), 8: (56_000, 120), 9: (53_000, 122),
}  # fmt: skip
"""The instructions of a response, and of each byte of it; levels 2 to 4, 7 and 8 lie between measured ones."""
_GZIP_NANOSECONDS = 0.13
GZIP_RATIO = 3.0
"""How much text is taken to shrink where the log lacks `$gzip_ratio`."""


def gzip(level: int) -> tuple[Term, Term]:
    """Return what compressing a response takes, and each byte of it."""
    fixed, byte = _GZIP[min(max(level, 1), 9)]
    return of_instructions(fixed, _GZIP_NANOSECONDS), of_instructions(byte, _GZIP_NANOSECONDS)


_SEARCHED, _TRIED = 3, 100
"""Instructions of PCRE for a byte that it searches for the beginning of a match, and to begin one."""


def of_tries(tries: Tries) -> Term:
    """Return what tries of patterns take (`nginxopt.lint.queries.cost`)."""
    of_lengths = tries.short * SHORT + tries.long * REGEX + tries.shared * SHARED
    return of_instructions(of_lengths + tries.searched * _SEARCHED + tries.places * _TRIED)
