"""The data of a benchmark: variants of a configuration, their load, and conditions on the responses.

A scenario builds an `Experiment`. All its variants run at the same time, each as one or several nginx (`Node`), but
only one of them is attacked at a time. An `Attack` is one load on one variant; attacks of the same `case` on different
variants are compared. Nothing here has side effects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Literal

from nginxopt.config import Config
from nginxopt.records import record

Figure = Literal["accepts", "requests"]
Metric = Literal["latency", "throughput", "cpu", "instructions"]
Scheme = Literal["http", "https"]

NO_FILES: Mapping[str, bytes] = {}


@record(eq=True)
class Node:
    """One nginx of a variant.

    Attributes:
        role: Its name in the variant: `edge` (which usually takes the load), `app`, `app2` ...
        config: The complete text of its nginx.conf, without `daemon`, `master_process`, `pid` and `user`, which are
            set on the command line. In `listen` and in upstreams, the placeholder `@ROLE@` stands for the address
            (host:port) of a node of the same variant, and `@ROLE/status@` for the address where it serves
            `stub_status`. Paths are relative to its prefix, which has the directories `html` and `temp`.
        files: The other files in its prefix, which may have the same placeholders.
        nofile: Its soft limit of open files; None to leave the limit unchanged.
        status: Whether the configuration serves `stub_status` at `@ROLE/status@` (see `nginxopt.bench.nodes`).
        says: A sentence that describes it, for example the service time of an origin.
        ports: Further places that it listens on, without the `@` of their placeholders: `edge/p1` for `@edge/p1@`.
    """

    role: str
    config: bytes
    files: Mapping[str, bytes] = field(default_factory=dict)
    nofile: int | None = None
    status: bool = True
    says: str = ""
    ports: tuple[str, ...] = ()


@record(eq=True)
class ExpectedResponse:
    """The expected response: its status, its exact `Location`, a part of its body, and a header with its exact value.

    None means that the part is not checked. `@ROLE@` in `location` stands for the address of that node.
    """

    status: int = 200
    location: str | None = None
    body: str | None = None
    header: tuple[str, str] | None = None


@record(eq=True)
class Tls:
    """TLS of a request: `server_name` is the name in its handshake (SNI); None for none. Any certificate will do."""

    server_name: str | None = None


@record(eq=True)
class Target:
    """A request and its expected response.

    Attributes:
        path: The request target as sent. `@round@` stands for the number of the round, which makes the page a new one.
        expected: The expected response; None for any with the same status and Location in all variants of the case.
        method: The method.
        headers: Additional headers. `Host` is the address of the node unless it is one of them.
        tls: Its TLS; None for plain HTTP.
        site: The site of its URL as written, `https://www.example.com:8443`; empty if it is only a path.
    """

    path: str
    expected: ExpectedResponse | None = ExpectedResponse()
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    tls: Tls | None = None
    site: str = ""


@record(eq=True)
class OpenLoop:
    """Requests at a constant rate, independent of response times.

    Attributes:
        rate: Requests a second; None for a `share` of the capacity of the slowest variant of the case, which is
            measured first.
        seconds: The duration.
        share: The share of the capacity.
        keepalive: Whether connections are reused.
        fixed: Whether the case depends on this rate, so that the user cannot change it.
        connections: The connections of the closed loop that replaces this load if the generator has no constant rate.
    """

    rate: float | None
    seconds: float
    share: float = 0.5
    keepalive: bool = True
    fixed: bool = False
    connections: int = 10

    def closed(self) -> ClosedLoop:
        """Return the closed loop that replaces this load."""
        return ClosedLoop(self.connections, self.seconds, keepalive=self.keepalive)


@record(eq=True)
class ClosedLoop:
    """Requests as fast as possible on a number of connections: each sends its next request after a response.

    The load ends after `seconds`, or after a total of `requests` (vegeta only; wrk ignores this).
    """

    connections: int
    seconds: float
    requests: int | None = None
    keepalive: bool = True


Load = OpenLoop | ClosedLoop


@record(eq=True)
class Count:
    """A condition on a counter of a node after an attack: `figure` per request of the load is from `least` to `most`.

    The figure is `accepts`, the connections that the node accepted, or `requests`, those it received (stub_status).
    """

    figure: Figure
    role: str
    least: float = 0.0
    most: float = float("inf")


@record(eq=True)
class Asks:
    """A probe: of `times` consecutive requests to `role`, the last one gets the expected response of the target.

    The role may also be a further address of a node.
    """

    role: str
    target: Target
    times: int = 1


@record(eq=True)
class OpenFiles:
    """A probe: the workers of `role` may open `limit` files (the soft limit in /proc/PID/limits)."""

    role: str
    limit: int


Probe = Asks | OpenFiles


@record(eq=True)
class Variant:
    """A variant of the configuration.

    Attributes:
        name: A short name, unique in the experiment: `819 rewrites`.
        says: A sentence that describes it.
        nodes: Its nodes in the order in which they must start: upstreams first.
        entry: The role that takes the load.
        probes: The conditions that are checked before the first attack, in addition to the responses to targets.
        series: The line of a growth curve that it belongs to.
        size: Its place on the x axis of the growth curve (the number of rules).
    """

    name: str
    says: str
    nodes: tuple[Node, ...]
    entry: str = "edge"
    probes: tuple[Probe, ...] = ()
    series: str = ""
    size: int | None = None

    def place(self, attack: Attack) -> str:
        """Return the place that an attack is sent to: a role, or a further address of a node."""
        return attack.place or self.entry

    def node(self, role: str) -> Node:
        """Return the node of that role. Raises `KeyError` if there is none."""
        return {node.role: node for node in self.nodes}[role]


@record(eq=True)
class Measured:
    """What an attack on a configuration of the user measures.

    Attributes:
        scheme: `http` or `https`.
        host: The host of its requests; None for the address to which they are sent.
        address: The address of the `listen` in the configuration, for which a private one stands: `*:443`.
        http2: Whether the server offers HTTP/2 there.
        server: The place of the server that answers: `conf.d/shop.conf:12`.
    """

    scheme: Scheme
    host: str | None
    address: str
    http2: bool
    server: str


@record(eq=True)
class Attack:
    """A load on a variant.

    Attributes:
        variant: The name of the variant.
        case: A name for the kind of requests or clients: `far miss`, `keep-alive clients`. Attacks of a case are
            compared.
        targets: The requests, which are sent in turn. Either all use TLS with the same name, or none does.
        load: The load.
        counts: Conditions on the counters of nodes after the attack.
        may_fail: Whether errors and unexpected responses are part of the result; otherwise they end the run.
        place: The further address of the entry node that it is sent to, such as `edge/p1`; empty for that of its role.
        measured: What it measures, if that is a configuration of the user.
    """

    variant: str
    case: str
    targets: tuple[Target, ...]
    load: Load
    counts: tuple[Count, ...] = ()
    may_fail: bool = False
    place: str = ""
    measured: Measured | None = None

    @property
    def tls(self) -> Tls | None:
        """The TLS of all its requests; None for plain HTTP."""
        return self.targets[0].tls


@record(eq=True)
class Published:
    """A figure of a published report: its values as text with a unit, and the ratio of after to before if it has both.

    `figure` and `compares` (the variants before and after) are the corresponding measurement here; empty if there is
    none.
    """

    what: str
    before: str | None
    after: str
    ratio: float | None
    figure: str = ""
    compares: tuple[str, ...] = ()


@record(eq=True)
class VariantPair:
    """The names of two variants that are compared in every case in which both are attacked."""

    before: str
    after: str


@record(eq=True)
class Experiment:
    """A scenario with concrete values. Raises `ValueError` for duplicate names of variants, and for unknown ones.

    Attributes:
        scenario: The name of the scenario.
        title: A title: `Rewrites and what they compile to`.
        expects: A sentence that describes the expected result.
        variants: The variants in the order of reports.
        attacks: The attacks. Each round makes each of them once, in this order.
        comparisons: The comparisons.
        metric: The figure that the table shows first.
        published: The figures of the published report that it reproduces.
        baseline: The variant for gates with `x none`, if there is one.
        figures: Further figures for the table, as named in `nginxopt.bench.measure.FIGURES`.
        notes: Information for readers of the result: how the origin works, what was changed in a configuration.
    """

    scenario: str
    title: str
    expects: str
    variants: tuple[Variant, ...]
    attacks: tuple[Attack, ...]
    comparisons: tuple[VariantPair, ...]
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


@record(eq=True)
class ScenarioSettings:
    """The settings of scenarios, of which each uses those that concern it.

    `rules` is a file of rewrites to be included in a server. `counts` are the numbers of rules to generate without a
    file.
    """

    rules: Config | None = None
    counts: tuple[int, ...] = (0, 819, 10_000)


@record(eq=True)
class Scenario:
    """A scenario: its name, its help, and the function that builds its experiment."""

    name: str
    help: str
    build: Callable[[ScenarioSettings], Experiment]
