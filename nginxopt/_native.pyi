"""The native core, as Python sees it. Logic and reasons stand in the crate under `rust/`."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal, NoReturn, Protocol, Self, TypeAlias

# The value nginx works with (UTF-8 with surrogateescape), the byte span as written, the line from 1, whether
# it is quoted.
Word: TypeAlias = tuple[str, int, int, int, bool]

# kind, start, end, line from 1, count, words. The kinds: ";" a statement, "{" the head of a block, "}" its
# end, "#" a comment (one word, the `#` included), "*" a folded run of `count` rewrites (no words). A comment
# between the words of a statement comes before that statement.
Event: TypeAlias = tuple[str, int, int, int, int, list[Word]]

class LexError(Exception):
    """A file cannot be read.

    `args` are the kind (`LexErrorKind::name` of the crate), nginx's message, the offset, the line nginx
    names, and the offset of what is unfinished (a statement, a quoted word, a block) or None.
    """

    args: tuple[str, str, int, int, int | None]

class Events:
    """An iterator over the events of `bytes`, in batches; `LexError` where nginx would refuse to read on.

    Runs of at least `fold` rewrites are folded (0: none). `start`, `end` and `line` choose a part of the file
    that begins and ends between two statements of one block.
    """

    def __new__(cls, bytes: bytes, *, fold: int = 0, start: int = 0, end: int | None = None, line: int = 1) -> Self: ...
    def __iter__(self) -> Iterator[list[Event]]: ...
    def __next__(self) -> list[Event]: ...

def statement_spans(bytes: bytes, start: int, end: int) -> bytes:
    """Return start and end of each statement of a folded run, for an `array("Q")`.

    Raises `ValueError` for a span that is not within `bytes`, as everything does that takes spans.
    """

class Entering:
    """Which rules may stand in an `if` that certainly ends the script.

    `ALL_BUT_BREAK`: the location has `try_files`, which an `if` does not inherit.
    """

    NOTHING: ClassVar[Self]
    ALL_BUT_BREAK: ClassVar[Self]
    ALL: ClassVar[Self]

class _Reruns(Protocol):
    @property
    def uris(self) -> list[bytes]: ...
    @property
    def names(self) -> list[bytes]: ...
    @property
    def changes(self) -> bool: ...

class _Readings(Protocol):
    @property
    def ignore_case(self) -> bool: ...
    @property
    def literal_dots(self) -> bool: ...
    @property
    def literal_ends(self) -> bool: ...
    @property
    def drop_newline_twins(self) -> bool: ...

class PatternError(Exception):
    """PCRE2 does not compile a pattern; `args` are the start and the end of the rule, and PCRE2's message."""

    args: tuple[int, int, str]

class RefusedError(Exception):
    """nginx refuses a rewrite; `args` are the start and the end of the rule, and what nginx says."""

    args: tuple[int, int, str]

class _Names(Protocol):
    @property
    def stem(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def tree(self) -> str: ...

class CompiledRun:
    """A run of rules, planned and written; offsets are those of the bytes given to `compile_rewrites`."""

    keys: int
    moved: int
    grouped: int
    filtered: int
    tried: tuple[int, int, int]
    listing: int
    changed: list[int]
    declared: list[tuple[int, int, bytes]]
    is_partial: bool
    """Whether only its first rules were examined, for a remark, as all take too much work."""
    sample: list[bytes]
    def __len__(self) -> int: ...
    def kept(self) -> list[tuple[int, int, str]]: ...
    def reasons(self) -> list[tuple[str, int]]: ...
    def alone(self) -> list[tuple[str, int]]:
        """Return the number of rules that are tried one by one, by reason: `reasons` without those behind filters."""

    def dead(self) -> list[tuple[int, int, tuple[int, int] | None, bytes | None]]: ...
    def dead_kept(self) -> list[tuple[int, int, tuple[int, int] | None, bytes | None]]:
        """As `dead`, of the rules that stay: some 50 us for each."""

    def witnesses(self, limit: int) -> list[bytes]: ...
    def duplicates(self) -> list[tuple[int, int, tuple[int, int]]]: ...
    def spans(self) -> list[tuple[int, int]]: ...
    def first(self) -> tuple[int, int]: ...
    def stands_before(self) -> tuple[int, int]:
        """Return where the rule stands that the compiled form has to stand before."""

    def removed(self, bytes: bytes) -> list[tuple[int, int]]: ...
    def variables(self, names: _Names) -> list[str]:
        """Return all variables that the text may define, but for those of the trees."""

    def statements(self, names: _Names) -> bytes:
        """Return the statements that stand in place of the rules that are gone."""

    def trees(self, names: _Names) -> bytes:
        """Return the maps that tell which group of rules a URI belongs to; empty without groups."""

class Compilation:
    """What the sections of a file compile to; a barrier is a rule that ends no script (start, end, reason)."""

    runs: list[CompiledRun]
    barriers: list[tuple[int, int, str]]

def compile_rewrites(
    bytes: bytes,
    sections: list[tuple[list[tuple[int, int]], bool, bool]],
    *,
    phase: Literal["server", "location"],
    captures_matter: bool,
    reruns: _Reruns | None,
    readings: _Readings,
    bound: int,
    entering: Entering,
    for_remark: bool = False,
    share: float = 1.0,
) -> Compilation:
    """Plan and write the rewrites of sections.

    A section is a list of byte ranges, whether an `if` that an earlier compilation may have written stands before, and
    whether it is the last of the script of a server.

    `entering` says which rules may stand in an `if`, and `reruns` which URIs may run the rules again in one request.

    A run that takes more work than a list of its size may take stays as it is. `share` is a share of that bound, or
    a multiple of it. The bound is less `for_remark`, and of a run that exceeds it the beginning is planned.
    """

def maps_text(header: bytes, runs: Sequence[tuple[CompiledRun, _Names]]) -> bytes:
    """Return `header` and the maps of runs behind it."""

class CompiledMap:
    """The maps that take over the patterns of a `map` block.

    `maps` are new blocks, to stand anywhere in the same http block. In the original block the rows with patterns
    go, and `default` (a token) becomes its default; but if there is a `guard`, there are no new maps, the rows
    stay, and the guard (a row) is put before them. `variables` are the names that `maps` define, `keys` those of
    each table.

    `rows` is the number of rows with patterns, of which `exact` have a table, `in_tree` stand in the `leaves` of
    the tree, which has so many `buckets` with a row, and `floating` are tried one after the other behind guards.
    `before` and `after` are the numbers of patterns tried for a subject that no row matches: far, near, worst.
    """

    maps: bytes
    default: bytes
    guard: bytes | None
    variables: list[str]
    keys: list[list[bytes]]
    rows: int
    exact: int
    in_tree: int
    floating: int
    buckets: int
    leaves: int
    maps_written: int
    before: tuple[int, int, int]
    after: tuple[int, int, int]

class StayingMap:
    """A `map` block that stays as it is.

    The reasons are those of `map_reasons`; `row` is the number of the row, from 0, if a single one is the reason.
    """

    reason: str
    row: int | None

class RefusedRow(Exception):  # noqa: N818 - what nginx does, not a failure
    """nginx refuses a row of a map.

    `args` are whether it is a pattern, its place among these or among the exact rows, and what PCRE2 or nginx says.
    """

    args: tuple[bool, int, str]

class TooMuchWork(Exception):  # noqa: N818 - what the proof takes, not a failure
    """A proof took more steps or memory than an input of its size may take."""

def work_done() -> tuple[int, int]:
    """Return the steps of planning and proving since the last call, and the most bytes that one piece of it held."""

def map_reasons() -> list[tuple[str, str]]:
    """Return the codes of the reasons why a map stays, each with its sentence."""

def compile_map(
    block: bytes,
    *,
    stem: str,
    keeps_captures: bool = False,
    keeps_patterns: bool = False,
    as_large: bool = False,
    for_remark: bool = False,
    share: float = 1.0,
) -> CompiledMap | StayingMap:
    """Plan and write the maps that take over the patterns of a block, whose includes are inlined.

    The names of the new variables start with `stem`: small letters, digits and underscores, at most 24. With
    `keeps_captures`, an evaluation leaves captures as one of the block does. With `keeps_patterns`, what is read of the
    patterns, some 6 kB a row, is kept for `prove_map`.
    `as_large`: a small list gets the forms of large ones, for tests. `for_remark`, less work may be done; `share` is a
    share of what may be done, or a multiple of it.
    `ValueError` for anything but one block, and `RefusedRow` for a row that nginx refuses. Some 10 us a row.
    """

def map_sizes(
    runs: list[CompiledRun],
    tables: list[list[bytes]],
    others: list[list[bytes]],
    max: int,
    bucket: int,
    *,
    as_is: bool,
) -> tuple[int, int] | None:
    """Return map_hash_max_size and map_hash_bucket_size, the given ones or more, for all runs and tables of keys.

    `others` are the keys of maps that have to fit as well. `as_is`: the given sizes are returned if they do.
    """

def variable_sizes(
    names: Sequence[bytes], max: int, bucket: int, may_be: Sequence[bytes] = ()
) -> tuple[int, int] | None:
    """Return variables_hash_max_size and variables_hash_bucket_size for these names and nginx's own.

    Of those that `may_be` variables, the ones that such a table has no room for are none.
    """

def pattern_error(pattern: bytes) -> str | None:
    """Return what PCRE2 says of a pattern that it does not compile; None for one that some PCRE compiles."""

def pattern_facts(pattern: bytes) -> tuple[bool, int, bool] | None:
    """Return whether every PCRE answers on each subject, the number of groups, and whether one has a name.

    None for a pattern that is not read.
    """

def exact_union(patterns: Sequence[bytes]) -> bytes | None:
    """Return a pattern without groups that matches what one of `patterns` does and nothing else.

    None if PCRE may give up on one of them, or no such pattern is known that nginx reads.
    """

class UnionFault:
    """Why a pattern does not match exactly what one of others does.

    `SETS_A_NAME`: it has a named group. `UNKNOWN`: what it matches is not known exactly, or PCRE may give up.
    `TURNS_AWAY`: it does not match what one of them may. `TOO_WIDE`: it may match more, or PCRE may give up on one of
    them.
    """

    SETS_A_NAME: ClassVar[Self]
    UNKNOWN: ClassVar[Self]
    TURNS_AWAY: ClassVar[Self]
    TOO_WIDE: ClassVar[Self]

def not_the_union(union: bytes, patterns: Sequence[bytes]) -> tuple[UnionFault | None, bytes | None]:
    """Return why `union` does not match exactly what one of `patterns` does, or None, and a subject, if known."""

class Patterns:
    """Patterns of which the first that matches is asked for; `ValueError` where PCRE2 gives up, or PCREs differ.

    With references, those to groups (`\\1`) are read as well, which a plan or a proof cannot judge.
    """

    def __new__(cls, patterns: Sequence[bytes], *, to_match: bool = False) -> Self: ...
    def first(self, subject: bytes) -> int | None: ...

def common_subject(inside: Sequence[bytes], outside: Sequence[bytes], is_uri: bool) -> tuple[bool, bytes | None, int]:
    """Return whether certainly no subject is matched by all of `inside` and none of `outside`, and else one that seems
    to be, the shortest; None if the search was given up. The steps that it took are last. The empty string is not
    tried.
    """

def gives_up(pattern: bytes, subject: bytes) -> bool | None:
    """Return whether PCRE2 reaches a limit of its own, such as the match limit, on a subject: nginx answers 500.

    None for a pattern that it does not compile. Up to a second.
    """

def captures(pattern: bytes, subject: bytes) -> tuple[list[bytes | None], list[tuple[bytes, bytes]]] | None:
    """Return what a pattern, in PCRE's syntax, captures: the whole match and the groups, and the groups by name.

    None if it does not match, or that is not known.
    """

class Never:
    """Why no ordinary request matches a pattern.

    `IMPOSSIBLE`: no URI matches. `PERCENT`: only one with `%XX` after decoding does. `QUERY`: only one with an encoded
    `?` and text behind it that looks like arguments.
    """

    IMPOSSIBLE: ClassVar[Self]
    PERCENT: ClassVar[Self]
    QUERY: ClassVar[Self]

def never(pattern: bytes, merge_slashes: bool) -> tuple[Never | None, int]:
    """Return why no ordinary request matches, None if one may or if that takes long to know, and the steps it took."""

def without_captures(pattern: bytes) -> bytes:
    """Return the pattern with `(?:...)` for `(...)`; `ValueError` with what it has where that may not be the same."""

def suspicious_rewrites(bytes: bytes, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the rewrites in `spans` whose pattern is worth a closer look."""

class MapVerdict:
    """What nginx does with a map: it fits, nginx warns of it, refuses it, or takes long to find a size for it."""

    FITS: ClassVar[Self]
    WARNS: ClassVar[Self]
    REFUSED: ClassVar[Self]
    SLOW: ClassVar[Self]

def map_verdict(keys: Sequence[bytes], max: int, bucket: int) -> MapVerdict:
    """Return what nginx does with a map of these keys under these sizes."""

def reasons() -> list[tuple[str, str]]:
    """Return the codes of the reasons why a rule stays, each with its sentence."""

def map_blocks(text: bytes) -> list[tuple[bytes, int, int, list[bytes]]]:
    """Return the maps of a text: variable without `$`, start, end, plain keys; `ValueError` if it has anything else."""

def map_evaluations(text: bytes) -> list[tuple[bytes, bool, bytes, list[bytes]]]:
    """Return for each `map` of a text: the name of its variable, whether it is volatile, its source, and its values
    with a `$`, each once.

    Raises `ValueError` like `map_blocks`.
    """

def map_spans(text: bytes) -> list[tuple[int, int]]:
    """Return the starts and ends of the maps of a text; `ValueError` if it has anything else."""

class Refuted(Exception):  # noqa: N818 - a verdict, not a failure
    """An obligation of the proof does not hold; `args` are what it is, and a URI on which the texts differ."""

    args: tuple[str, bytes | None]

class _Pair(Protocol):
    @property
    def before(self) -> bytes: ...
    @property
    def after(self) -> bytes: ...
    @property
    def in_location(self) -> bool: ...
    @property
    def in_http(self) -> bool: ...
    @property
    def holds_rows(self) -> bool: ...
    @property
    def takes_rules(self) -> bool: ...

def prove_rewrites(
    pairs: Sequence[_Pair],
    others: list[tuple[bytes, bool]],
    maps: bytes,
    trees: bytes,
    *,
    readings: _Readings,
    transparent: list[str],
    harmless: list[str],
    rerunning: list[str],
    inherited: list[str],
    quiet: list[str],
    is_complete: bool,
    include: list[bytes] | None,
    may_set_sizes: set[bytes] | None,
    compiled: list[CompiledRun],
    share: float = 1.0,
) -> tuple[int, int, int, int]:
    """Return rules, rules gone, strings and strings that stand for all their spellings; or raise `Refuted`.

    Of `compiled` it takes over what was read of patterns, for those that it finds in the texts. Raises `TooMuchWork`
    beyond `share`, a share or a multiple, of what texts of this length may take.
    """

class MapProof:
    """The verdict on the maps that are to stand for one.

    `obligations` counts what was checked, by name; it is empty if the proof fails. Then `obligation` is the name of
    what does not hold, `refutation` says it, and `counterexample` is a subject that the texts answer differently, if
    one was found.
    """

    holds: bool
    refutation: str | None
    obligation: str | None
    counterexample: bytes | None
    obligations: dict[str, int]

def prove_map(
    original: bytes,
    emitted: bytes,
    *,
    compiled: CompiledMap | None = None,
    keeps_captures: bool = False,
    share: float = 1.0,
) -> MapProof:
    """Prove that the variable of `original`, one map block with its includes inline, keeps its value for every subject.

    `emitted` has the block of that variable and all maps that it reads, in any order. With `keeps_captures`, the proof
    is also that an evaluation leaves captures as one of `original` does. Patterns that `compiled` has kept are not
    read again if they are those of `original`. Raises `TooMuchWork` beyond `share` of what it may take.
    """

class PanicException(BaseException):
    """The native core has a bug: it panicked. The message says what does not hold."""

def panic_place() -> str | None:
    """Return where the native core panicked first since the last call, such as `src/maps/chunk.rs:46`."""

def watch_signals() -> int:
    """Start a thread that ends the process soon after SIGINT or SIGTERM, however long Python takes to run a handler.

    Its status is 128 + the number of the signal. The thread waits for blocks that must end in order. Return the
    descriptor for `signal.set_wakeup_fd`.
    """

def count_orderly(blocks: int) -> None:
    """Count a block that must end in order: 1 where it begins, -1 where it ends."""

def reserve_memory() -> None:
    """Take a reserve against a lack of memory, if there is none, and forget that memory was lacking."""

def release_memory() -> None:
    """Give the reserve back, so that there is memory to say that it is lacking."""

def end_lacking() -> NoReturn:
    """End this process with a message and status 3, which takes no memory."""

def interrupt(thread: int, exception: type[BaseException], is_wanted: list[bool]) -> bool:
    """Raise an exception in a thread of Python soon, if the list has an item.

    Native work that looks for signals is left, too. Return whether there is such a thread.
    """

def work_forever(panics: str | None = None) -> None:
    """Work until an exception or the end of the process, or panic with a message: for tests."""

def request_settings() -> list[str]:
    """Return the directives that the model of requests reads from the settings of a level."""

class SiteRefusedError(Exception):
    """nginx does not start with a site; the arguments are the number of the directive and nginx's message."""

# The fields of `request.judgement.Answer` but `branches`, with `headers` last; then whether it has branches.
AnsweredForm: TypeAlias = tuple[
    str, int | None, str | None, str, str | None, int | None, bool, tuple[tuple[str, str], ...], bool
]

def plain_rows(
    data: bytes,
    at: tuple[int, int],
    delimiter: int,
    columns: tuple[int, int, int | None],
    special: Sequence[int],
    width: int,
) -> tuple[list[tuple[int, int, str, bytes, str, str]], int, int]:
    """Return a batch of the plain rows of a table, in which each value means what is written there.

    `at` are the offset and the number of the first line. `columns` are the numbers of `from`, `to` and `status`; in
    those of `special` a plain row has nothing. Of each row: the offset and the number of its line, the site and the
    target of its URL, `to`, and the status. The offset and the number of the line behind them follow, which is that of
    a row that is not plain, or of the next batch.
    """

class RequestModel:
    """The model of a site: what becomes of requests. It is made once and asked from any thread."""

    def __init__(self, site: str, texts: Sequence[bytes]) -> None:
        """Read a site: its `SiteForm` as JSON, and the texts of its folded runs. Raises `SiteRefusedError`."""

    def trace(self, request: str, world: str) -> str:
        """Return what becomes of a request, with the steps that lead there.

        `request` is a `Request` of `rust/src/request/world.rs` as JSON, `world` a `World`. The result is an object with
        `outcome` and `steps` of `rust/src/request/outcome.rs`. Raises `ValueError` for other JSON.
        """

    def branches(self, request: str, world: str) -> str:
        """Return the branches of a request whose outcome depends on files or events (`rust/src/request/branches.rs`).

        A list as JSON, which is empty for other outcomes.
        """

    def answers(self, requests: Sequence[str], world: str) -> list[str]:
        """Return the outcomes of requests, in their order."""

    def answered(
        self, request: str, targets: Sequence[tuple[bytes, int]], world: str
    ) -> tuple[list[AnsweredForm], list[tuple[int, int]]]:
        """Return the answers to requests that are like `request` but for their target, in their order, and by directive
        the number of requests that it took part in.

        Each target comes with the number of its requests.
        """

    def redirecting(self) -> list[int]:
        """Return the servers with statements that redirect, or that end with `last` in a location."""

    def starts(self, server: int, request: str, world: str, site: bytes) -> list[tuple[int, bytes, bool]]:
        """Return those of a server at which chains of redirects may begin.

        Of each: its number, a path that it answers, and whether it leads all that it answers to the same path. `site`
        is how the URLs of the request begin.
        """

    def of_targets(
        self, request: str, targets: Sequence[bytes], world: str
    ) -> list[tuple[int | None, int | None, int | None, int | None, bytes | None]]:
        """Return what becomes of requests that are like `request` but for their target, in their order.

        Of each: the numbers of the server, the level and the directive that decides, the status, and the `Location`.
        """

    def tally(
        self, request: str, targets: Sequence[tuple[bytes, int]], world: str, status: int | None = None
    ) -> RequestTally:
        """Count what becomes of requests that are like `request` but for their target.

        Each target comes with the number of its requests.
        """

class LineFormat:
    """How to read the lines of a log.

    `first` is the text in front of the first variable of the format, `texts` are those behind each; `group` are the
    variables that may decide besides the request, and `wrapped` is for lines inside of JSON. Equal ones read the same.
    """

    def __init__(
        self,
        first: bytes,
        variables: Sequence[str],
        texts: Sequence[bytes],
        escape: str,
        group: Sequence[str],
        *,
        wrapped: bool = False,
    ) -> None: ...

class LogRequests:
    """The different requests of a log."""

    def __init__(self, format: LineFormat) -> None: ...
    def read(self, piece: bytes) -> None:
        """Read a piece of the log, an empty one at its end."""

    def groups(self) -> list[tuple[list[bytes], dict[bytes, int]]]:
        """Return the fields of requests that agree in these, and how often each target was requested.

        The fields are method and version of `$request`, and the variables, as the log has them; all is in the order of
        the first lines.
        """

    @property
    def lines(self) -> tuple[int, int, int]:
        """The numbers of lines, of those of another format, and of those without an HTTP request."""

    @property
    def broken_lines(self) -> list[int]:
        """The first lines of another format, from 1."""

class LogDigest:
    """What the requests of a log took, added up by how they end."""

    def __init__(self, format: LineFormat) -> None: ...
    def read(self, piece: bytes) -> list[list[bytes]]:
        """Read a piece of the log, an empty one at its end.

        Return the fields of the new groups: method and version of `$request`, the variables.
        """

    def place(self, places: Sequence[tuple[Sequence[str], str]]) -> None:
        """Be told the requests of the new groups, in their order, or why there are none."""

    def settle(self, model: RequestModel, world: str) -> None:
        """Ask a model about the requests that were read, and add them up. Each group must have a place."""

    @property
    def broken_lines(self) -> list[int]:
        """The first lines of another format."""

    @property
    def lines(self) -> tuple[int, int, int, int, int]:
        """The numbers of all lines, of those that are not empty, of another format, without a request, and with a time
        that is none."""

    @property
    def agents(self) -> list[bytes]:
        """The different values of `$http_user_agent`, as they are logged, as far as they are remembered."""

    def sums(self) -> str:
        """Return the sums as JSON: `classes`, `uses`, `clients`, `robots`, `minutes`, and the rest of the clients."""

class RequestTally:
    """What became of requests.

    Attributes:
        nodes: The directives that took part, by number, each with its requests.
        ends: How the requests end: kind, status, server, level, directive, why it is not known, the number of requests,
            and the place of one of them in the targets.
    """

    nodes: list[tuple[int, int]]
    ends: list[tuple[str, int | None, int | None, int | None, int | None, str | None, int, int]]
