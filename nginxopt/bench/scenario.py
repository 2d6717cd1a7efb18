"""The data of a benchmark: variants of a configuration, their load, and conditions on the responses.

A scenario makes an `Experiment`. All its variants run at the same time, each of one or several nginx (`Node`), idle but
for the one that is attacked. An `Attack` is one load on one variant; attacks of the same `case` on different variants
are compared. Nothing here has an effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from nginxopt.config import Config

Figure = Literal["accepts", "requests"]
Metric = Literal["latency", "throughput", "cpu", "instructions"]

NO_FILES: Mapping[str, bytes] = {}


@dataclass(frozen=True, slots=True)
class Node:
    """One nginx of a variant.

    Attributes:
        role: What it is in the variant: `edge` (takes the load, as a rule), `app`, `app2` ...
        config: The complete text of its nginx.conf, without `daemon`, `master_process`, `pid` and `user`, which are
            given on the command line. `@ROLE@` stands for the address (host:port) of a node of the same variant, in
            `listen` and in upstreams alike, and `@ROLE/status@` for the address where it serves `stub_status`. Paths
            are relative to its prefix, where `html` and `temp` are directories.
        files: What lies in its prefix beside nginx.conf; the same placeholders stand for the same addresses.
        nofile: The soft limit of open files with which it is started; None: as the runner finds it.
        status: Whether the configuration serves `stub_status` at `@ROLE/status@` (see `nginxopt.bench.nodes`).
        says: What it is, in a sentence, such as the service time of an origin.
        ports: Further addresses it listens at, each with its placeholder: `edge/p1` for `@edge/p1@`.
    """

    role: str
    config: bytes
    files: Mapping[str, bytes] = field(default_factory=dict)
    nofile: int | None = None
    status: bool = True
    says: str = ""
    ports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expected:
    """What a response must be: its status, the exact `Location` (None: not looked at), a part of its body, and a header
    with its exact value.

    `@ROLE@` in `location` stands for the address of that node.
    """

    status: int = 200
    location: str | None = None
    body: str | None = None
    header: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A request and the answer to it.

    `path` is a request target as sent, in which `@round@` stands for the number of the round: a page nobody has asked
    for before. `expected` None: whatever it is, but the same status and Location in all variants of the case. `headers`
    are sent beside `Host`, which is the address asked unless it is given.
    """

    path: str
    expected: Expected | None = Expected()
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class OpenLoop:
    """Requests at a constant rate, whatever the answers take.

    Attributes:
        rate: Requests a second; None: `share` of the capacity that is found first, of the slowest variant of the case.
        keepalive: Whether the connections of clients are used again.
        fixed: Whether the rate is what the case is about, so that nobody may ask for another.
        connections: What stands in for the rate where a generator knows none: a closed loop on so many.
    """

    rate: float | None
    seconds: float
    share: float = 0.5
    keepalive: bool = True
    fixed: bool = False
    connections: int = 10

    def closed(self) -> ClosedLoop:
        """Return the closed loop that stands in for it."""
        return ClosedLoop(self.connections, self.seconds, keepalive=self.keepalive)


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """As fast as it goes on so many connections: each asks again when it has its answer.

    It ends after `seconds`, or after `requests` in all, where the load generator can (vegeta; wrk only knows seconds).
    """

    connections: int
    seconds: float
    requests: int | None = None
    keepalive: bool = True


Load = OpenLoop | ClosedLoop


@dataclass(frozen=True, slots=True)
class Count:
    """What must be true of a counter of a node after an attack: `figure` for each request of the load lies between
    `least` and `most`.

    `accepts` are the connections the node accepted, `requests` those it received (stub_status).
    """

    figure: Figure
    role: str
    least: float = 0.0
    most: float = float("inf")


@dataclass(frozen=True, slots=True)
class Asks:
    """A probe: `role` gives the target's answer, when it is asked `times` times in a row, as the last of them."""

    role: str
    target: Target
    times: int = 1


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """A probe: the workers of `role` may open so many files (the soft limit in /proc/PID/limits)."""

    role: str
    limit: int


Probe = Asks | OpenFiles


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant of the configuration.

    Attributes:
        name: Short and unique in the experiment: `819 rewrites`.
        says: What it is, in a sentence.
        nodes: Its nginx, in the order in which they must start: what is behind comes first.
        entry: The role that takes the load.
        probes: What must hold before the first attack, beside the answers to the targets of its attacks.
        series: Of a growth curve, the line it belongs to, and `size` its place on the x axis (the number of rules).
    """

    name: str
    says: str
    nodes: tuple[Node, ...]
    entry: str = "edge"
    probes: tuple[Probe, ...] = ()
    series: str = ""
    size: int | None = None

    def node(self, role: str) -> Node:
        """Return the node of that role. Raises `KeyError` if there is none."""
        return {node.role: node for node in self.nodes}[role]


@dataclass(frozen=True, slots=True)
class Attack:
    """A load on a variant.

    Attributes:
        variant: The name of the variant.
        case: What is asked or how, the same for all variants that are compared: `far miss`, `keep-alive clients`.
        targets: What is asked, in turn.
        load: How.
        counts: What must be true of the counters of the nodes afterwards.
        may_fail: Whether errors and other answers than the targets' are what is to be seen; else they end the run.
    """

    variant: str
    case: str
    targets: tuple[Target, ...]
    load: Load
    counts: tuple[Count, ...] = ()
    may_fail: bool = False


@dataclass(frozen=True, slots=True)
class Published:
    """A figure of a published report, as text with its unit, and the ratio of after to before if it has both.

    `figure` and `compares`, variants before and after, are what it is here; empty where nothing here is the same.
    """

    what: str
    before: str | None
    after: str
    ratio: float | None
    figure: str = ""
    compares: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two variants, by name, that are compared in every case both are attacked in."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Experiment:
    """A concrete scenario. Raises `ValueError` for names that lead nowhere.

    Attributes:
        scenario: The name of the scenario.
        title: A line: `Rewrites and what they compile to`.
        expects: What it expects to see, in a sentence.
        variants: All of them, in the order they are shown.
        attacks: All of them; a round makes each once, in this order.
        comparisons: What is compared with what.
        metric: What the table shows first.
        published: The figures of the report behind it.
        baseline: The variant that gates mean by `x none`, if there is one.
        figures: What else the table shows, by the names of `nginxopt.bench.measure.FIGURES`.
        notes: What whoever reads the result must know: how the origin works, what was changed in a configuration.
    """

    scenario: str
    title: str
    expects: str
    variants: tuple[Variant, ...]
    attacks: tuple[Attack, ...]
    comparisons: tuple[Comparison, ...]
    metric: Metric
    published: tuple[Published, ...] = ()
    baseline: str | None = None
    figures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [variant.name for variant in self.variants]
        used = {attack.variant for attack in self.attacks}
        used |= {name for comparison in self.comparisons for name in (comparison.before, comparison.after)}
        used |= {self.baseline} if self.baseline is not None else set()
        if len(set(names)) < len(names) or not used <= set(names):
            raise ValueError(f"variants {names}, of which {sorted(map(str, used))} are used")

    def variant(self, name: str) -> Variant:
        """Return the variant of that name. Raises `KeyError` if there is none."""
        return {variant.name: variant for variant in self.variants}[name]

    @property
    def cases(self) -> tuple[str, ...]:
        """The cases, in the order of the attacks."""
        return tuple(dict.fromkeys(attack.case for attack in self.attacks))

    def with_loads(self, change: Callable[[Load], Load]) -> Experiment:
        """Return the experiment with every load changed."""
        attacks = tuple(replace(attack, load=change(attack.load)) for attack in self.attacks)
        return replace(self, attacks=attacks)


@dataclass(frozen=True, slots=True)
class ScenarioSettings:
    """The settings of all scenarios; each uses those that concern it.

    `rules`: a file of rewrites as included in a server; `counts`: numbers of made rules, where there is no file.
    """

    rules: Config | None = None
    counts: tuple[int, ...] = (0, 819, 10_000)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario: its name, its help, and the function that builds its experiment."""

    name: str
    help: str
    build: Callable[[ScenarioSettings], Experiment]
