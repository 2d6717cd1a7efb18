"""The cost of the parts of a request: the terms from which nginx's work is estimated.

A request costs `base`, and more for each part of it: a byte of a header, a line of a log, a pass to an upstream. Each
term is the difference between two configurations with one feature (`python -m benchmarks.terms`): user-space
instructions counted with callgrind, with PCRE2's interpreter. `_COUNTED` has a column for each build that was counted.
How nginx was compiled matters more than its release: compiled alike, 1.22.1 and 1.31.3 differ by 1 % and in three
terms, while -Os and musl take 1.3 to 1.6 times as much for what nginx does itself.

The processor time, user and kernel, was measured under load on nginx 1.22.1 and one shared Xeon. Sums of time are
within 30 % on that machine, and not on others: see `SPREAD`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import log2
from typing import NamedTuple

from nginxopt import lazy
from nginxopt.profile.sums import Tries
from nginxopt.semantics.cost import REGEX, SHARED, SHORT
from nginxopt.version import Version

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


NOTHING = Term(0, 0)
SAME = Term(1, 1)

BASE_LENGTH, USUAL_LENGTH = 51, 500
"""The bytes of the request of `base`, and those of the headers of a request whose length is not in the log, at most of
one with a body of a length that is not in the log either, as `$request_length` includes that.
"""

FIRST_HEADERS = 85
"""The bytes beyond `BASE_LENGTH` that cost the most, as headers are short, without the value of `User-Agent`."""


class Agent(NamedTuple):
    """A value of `User-Agent`: its bytes, and those that nginx reads to find the names of browsers in it."""

    length: float
    scanned: float


BROWSER = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36"
BROWSER_AGENT = Agent(107, 409)
"""The `User-Agent` that is assumed if the log lacks it, and its cost."""
_SHARE_OF_AGENT = 0.4
"""The share of it in the headers of requests that are too short for that one."""

HTTP2, HTTP2_BYTE = Term(5_000, 600), Term(0.15, 0.02)
"""The additional cost of HTTP/2 compared with HTTP/1.1 for a request and for a byte of its response: 3,600 to 8,400
instructions on nginx 1.22.1, 4,200 to 10,200 on 1.31.3, and 0.15 and 0.18 a byte; their time is not measured.
"""

_COUNTED: Mapping[str, tuple[float, float, float, float]] = {
    # name                  1.22.1     1.31.3     1.31.3-Os   nanoseconds
    "base":                (7_485,     7_455,     11_090,     3_100),
    "header_byte":         (30.1,      29.9,      35.9,      1.3),
    "further_header_byte": (11.6,      11.6,      18.6,      0.6),
    "scanned_byte":        (6.38,      6.39,      8.43,      0.3),
    "connection":          (2_673,     2_616,     3_657,      50_000),
    "handshake":           (8_131_000, 8_822_000, 8_907_000,  600_000),
    "resumed":             (2_500_000, 2_500_000, 2_500_000,  295_000),
    "tls":                 (15_560,    17_860,    17_050,     2_200),
    "tls_byte":            (2.95,      2.88,      4.63,       0.47),
    "tls_further_byte":    (5.01,      5.10,      5.08,       0.47),
    "tls_passed_byte":     (4.09,      4.18,      5.04,       0.47),
    "file":                (3_454,     3_326,     3_506,      2_900),
    "file_byte":           (0,         0,         0,          0.3),
    "try_files":           (688,       666,       825,        1_000),
    "passed":              (9_960,     10_370,    14_010,     6_000),
    "passed_byte":         (0.27,      0.26,      0.30,       0.3),
    "passed_header_byte":  (4.64,      3.08,      4.05,       0),
    "set_header":          (438,       400,       430,       100),
    "fresh":               (1_930,     700,       941,        12_500),
    "fastcgi":             (10_270,    10_990,    14_710,     16_000),
    "fastcgi_header_byte": (4.96,      14.6,      14.6,       0),
    "fastcgi_param":       (495,       488,       505,        0),
    "cached":              (7_334,     7_308,     10_840,     5_600),
    "missed":              (5_533,     4_855,     6_210,     35_000),
    "slice":               (14_050,    14_200,    14_200,     0),
    "log":                 (442,       498,       1_120,     800),
    "log_buffered":        (368,       424,       1_017,     0),
    "log_variable":        (351,       350,       357,       110),
    "unfound":             (3_040,     3_040,     3_245,      800),
    "request_id":          (6_684,     394,       921,        0),
    "limit":               (696,       686,       707,        42),
    "expires":             (1_992,     1_957,     2_011,      0),
    "moved":               (865,       889,       1_042,      0),
    "added_header":        (160,       160,       185,        10),
    "auth_request":        (3_005,     2_923,     5_375,      400),
    "auth_passed":         (7_710,     7_690,     10_060,    5_000),
    "auth_fastcgi":        (7_270,     7_710,     10_040,     15_000),
    "listing_byte":        (23.4,      23.6,      31.0,       4.0),
    "substituted":         (2_700,     1_970,     1_970,     0),
    "substituted_byte":    (2.36,      2.35,      2.35,      0.3),
    "substituted_file":    (50_000,    50_000,    50_000,     200_000),
    "ssi_byte":            (7.08,      7.08,      8.08,       0.65),
    "short":               (SHORT,     SHORT,     431,        0.06 * SHORT),
    "long":                (REGEX,     REGEX,     625,        0.06 * REGEX),
    "shared":              (SHARED,    SHARED,    24,         0.06 * SHARED),
    "sought":              (0.74,      0.74,      6.1,       0.02),
    "searched":            (11.1,      11.1,      12.3,      0.6),
    "place":               (363,       363,       216,       20),
    "way":                 (109,       109,       110,       7),
    "condition":           (166,       166,       195,       10),
    "set":                 (392,       374,       447,       20),
    "lookup":              (560,       557,       631,       30),
    "lookup_byte":         (16.1,      16.1,      13.6,      1.0),
    "password":            (895_000,   895_000,   889_000,   98_000),
    "body":                (1_845,     1_180,     1_340,     0),
    "gzip_window":         (64_000,    64_000,    0,          0),
    "gzip_piece":          (52_000,    52_000,    53_000,    10_500),
    "tls_piece":           (1_900,     3_000,     3_000,     1_600),
    "gzip":                (1,         1,         1.03,       1),
}  # fmt: skip
"""The instructions of each term, by build, and the nanoseconds of processor time (0 where it is not measured, and part
of that of another term). The first two builds have -O2 and glibc, as those of Debian and nginx.org; the last has -Os
and musl, as those of Alpine. Counted with OpenSSL 3.0.19 (3.3 in the last) and zlib 1.2.13 (1.3.2). Not counted again
in each build: `resumed` and `substituted_file`, and in the last `tls_piece`, and `slice`, `substituted` and
`substituted_byte`, whose modules it lacks. The times of `auth_passed`, `auth_fastcgi`, `listing_byte`, `gzip_piece`,
`tls_piece`, `missed`, `set_header` and headers were measured in pairs beside other work, and divided by how much longer
a plain request took then; that of `slice` is not measured.
"""

_COMBINED = Version(1, 23, 0)
"""The release from which nginx searches the headers of a FastCGI request for others of the same name (d8a7c653e)."""
WITH_SIPHASH = Version(1, 31, 2)
"""The release from which `$request_id` is made without OpenSSL (c5f2afd50)."""


class Terms(NamedTuple):
    """The cost of the parts of a request, for a build of nginx.

    Attributes:
        name: The build that they were counted on.
        base: A request on an open connection, with one header, that nginx answers with a text of its own.
        header_byte: A byte of a request beyond `BASE_LENGTH`, up to `FIRST_HEADERS`: nginx reads headers line by line.
        further_header_byte: A further one, and one of the value of `User-Agent`.
        scanned_byte: A byte of `User-Agent` that nginx reads to find the name of a browser. It seeks up to seven names,
            each from the start.
        connection: A new connection.
        handshake: A TLS handshake with an RSA certificate of 2,048 bits, without `connection`. With P-256, it takes 2.9
            million instructions and 370 microseconds.
        resumed: A handshake that resumes a session.
        tls: A response over TLS.
        tls_byte: Each of its bytes up to `TLS_SMALL`.
        tls_further_byte: Each further one, of a file or of nginx.
        tls_passed_byte: Each further one, of an upstream.
        file: A file that nginx opens and sends.
        file_byte: A byte of it.
        try_files: A path that `try_files` tries.
        passed: A request that is passed on, over a connection that is kept.
        passed_byte: A byte of the response of an upstream.
        passed_header_byte: A byte of such a request beyond `BASE_LENGTH`: its headers are written again.
        set_header: A `proxy_set_header` of a header that nginx does not set itself.
        fresh: The additional cost of a new connection to the upstream.
        fastcgi: A request over FastCGI without parameters, over a new connection.
        fastcgi_header_byte: A byte of such a request beyond `BASE_LENGTH`.
        fastcgi_param: A `fastcgi_param`.
        cached: A response from a cache.
        missed: The additional cost of a response that a cache may keep.
        slice: A further part of a response that `slice` asks for in parts, without passing it on.
        log: A log line without its variables, written at once.
        log_buffered: The same with a buffer.
        log_variable: A variable of a log line.
        unfound: A line of the error log about a file that is missing, or an address that is denied.
        request_id: `$request_id`.
        limit: A `limit_req` or `limit_conn`.
        expires: `expires`, which formats a time.
        moved: A redirect.
        added_header: An `add_header`.
        auth_request: A subrequest of `auth_request` that nginx answers itself.
        auth_passed: The additional cost of one that an upstream answers over a connection that is kept.
        auth_fastcgi: The same over FastCGI without parameters, over a new connection.
        listing_byte: A byte of the listing of a folder. Large folders take more, as the names are sorted: one of 150
            files 4 % in the first two builds, 30 % in the last.
        substituted: `sub_filter` for a response.
        substituted_byte: `sub_filter` for a byte.
        substituted_file: Its additional cost for a file of 20 KB that `sendfile` sends: a system call for each match.
        ssi_byte: Searching a byte for commands of SSI.
        short: A pattern that is longer than the text.
        long: A pattern that does not match.
        shared: A further byte that both begin with.
        sought: A byte that is searched for a letter.
        searched: A byte that is searched for one of several with which a match may start.
        place: A place where a match is tried.
        way: A branch that is tried there.
        condition: An `if`.
        set: A `set`.
        lookup: A value that is looked up in a table, such as a map.
        lookup_byte: A byte of it.
        password: A password that `htpasswd` hashed as it does by default (apr1).
        body: A request with a body that comes with its headers.
        gzip_window: The additional cost of compressing a response of unknown length, if it is short: zlib clears a
            large window instead of a small one, which musl does with one instruction.
        gzip_piece: The additional cost of each piece that is compressed alone, where buffering is off.
        tls_piece: The additional cost of each piece that is encrypted alone there.
        gzip: The factor of compression.
    """

    name: str
    base: Term
    header_byte: Term
    further_header_byte: Term
    scanned_byte: Term
    connection: Term
    handshake: Term
    resumed: Term
    tls: Term
    tls_byte: Term
    tls_further_byte: Term
    tls_passed_byte: Term
    file: Term
    file_byte: Term
    try_files: Term
    passed: Term
    passed_byte: Term
    passed_header_byte: Term
    set_header: Term
    fresh: Term
    fastcgi: Term
    fastcgi_header_byte: Term
    fastcgi_param: Term
    cached: Term
    missed: Term
    slice: Term
    log: Term
    log_buffered: Term
    log_variable: Term
    unfound: Term
    request_id: Term
    limit: Term
    expires: Term
    moved: Term
    added_header: Term
    auth_request: Term
    auth_passed: Term
    auth_fastcgi: Term
    listing_byte: Term
    substituted: Term
    substituted_byte: Term
    substituted_file: Term
    ssi_byte: Term
    short: Term
    long: Term
    shared: Term
    sought: Term
    searched: Term
    place: Term
    way: Term
    condition: Term
    set: Term
    lookup: Term
    lookup_byte: Term
    password: Term
    body: Term
    gzip_window: Term
    gzip_piece: Term
    tls_piece: Term
    gzip: Term

    def of_headers(self, length: float, agent: Agent) -> Term:
        """Return the cost of the headers of a request, given the bytes of the request."""
        first = min(max(0.0, length - BASE_LENGTH - agent.length), FIRST_HEADERS)
        further = self.further_header_byte.times(max(0.0, length - BASE_LENGTH - first))
        return self.header_byte.times(first).plus(further).plus(self.scanned_byte.times(agent.scanned))

    def of_tls(self, number: int, sent: float, *, is_passed: bool) -> Term:
        """Return the cost of responses over TLS, given how many they are, and their bytes in all."""
        further = max(0.0, sent - number * TLS_SMALL)
        each = self.tls_passed_byte if is_passed else self.tls_further_byte
        return self.tls.times(number).plus(self.tls_byte.times(sent - further)).plus(each.times(further))

    def of_gzip(self, level: int, raw: float, sent: float, *, has_length: bool) -> Term:
        """Return the cost of compressing a response, given its bytes before and after, and whether nginx knows the
        former beforehand.
        """
        window = 0.0 if has_length else max(0.0, 1 - raw / _GZIP_WINDOW)
        return gzip(level, raw, sent).scaled(self.gzip).plus(self.gzip_window.times(window))

    def of_patterns(self, tries: Tries) -> Term:
        """Return the cost of trying patterns (`nginxopt.semantics.cost`)."""
        lengths = self.short.times(tries.short).plus(self.long.times(tries.long)).plus(self.shared.times(tries.shared))
        searches = self.sought.times(tries.sought).plus(self.searched.times(tries.searched))
        return lengths.plus(searches).plus(self.place.times(tries.places)).plus(self.way.times(tries.ways))

    def of_others(self, tries: Tries) -> Term:
        """Return the cost of the other comparisons: conditions, `set`, tables, passwords."""
        scripts = self.condition.times(tries.conditions).plus(self.set.times(tries.sets))
        tables = self.lookup.times(tries.lookups).plus(self.lookup_byte.times(tries.keyed))
        return scripts.plus(tables).plus(self.password.times(tries.passwords))

    def of_tries(self, tries: Tries) -> Term:
        """Return the cost of all comparisons."""
        return self.of_patterns(tries).plus(self.of_others(tries))


def assumed_agent(length: float) -> Agent:
    """Return the `User-Agent` that a request of so many bytes is assumed to have."""
    size = min(BROWSER_AGENT.length, _SHARE_OF_AGENT * max(0.0, length - BASE_LENGTH))
    return Agent(size, BROWSER_AGENT.scanned * size / BROWSER_AGENT.length)


TLS_SMALL = 5_000
"""The bytes of a response over TLS from which each takes more."""

_RELEASE = lazy.pattern(r"(\d{1,4})\.(\d{1,4})\.(\d{1,4})")
SIZE = "-Os"
"""How the name of an nginx that was compiled for size ends."""


def release(nginx: str) -> Version:
    """Return the release of such an nginx; a recent one if it names none."""
    found = _RELEASE.search(nginx)  # saved profiles may say anything
    return WITH_SIPHASH if found is None else Version.of(map(int, found.groups()))


@cache
def of(nginx: str) -> Terms:
    """Return the terms for an nginx such as `nginx 1.28.0` or `nginx 1.31.3 -Os`: those of the nearest build."""
    if nginx.endswith(SIZE):
        return _column(2, f"nginx 1.31.3, {SIZE}")
    version = release(nginx)
    if version < _COMBINED:
        return _column(0, "nginx 1.22.1, -O2")
    newest = _column(1, "nginx 1.31.3, -O2")
    return newest if version >= WITH_SIPHASH else newest._replace(request_id=_column(0, "").request_id)


def _column(number: int, name: str) -> Terms:
    return Terms(name, **{term: Term(row[number], row[-1]) for term, row in _COUNTED.items()})


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
_GZIP_WINDOW = 16_384
"""The size in bytes from which the window is as large as for a response of unknown length."""
_GZIP_LEAST, _GZIP_LEAST_BYTE = 22_000, 240
"""The instructions for a response of up to 300 bytes, and for a byte of it, at any level."""
HEADERS = 250
"""The approximate size in bytes of response headers, which `$bytes_sent` includes."""
GZIP_RATIO = 3.0
"""How much text is assumed to shrink if the log lacks `$gzip_ratio`."""


def gzip(level: int, raw: float, sent: float) -> Term:
    """Return the cost of compressing a response, given its bytes before and after."""
    fixed, before, after, growth = _GZIP[min(max(level, 1), 9)]
    grown = after + growth * log2(max(raw, _GZIP_SMALL) / _GZIP_SMALL)
    instructions = min(fixed + before * raw + grown * sent, _GZIP_LEAST + _GZIP_LEAST_BYTE * raw)
    return Term(instructions, instructions * _GZIP_NANOSECONDS)
