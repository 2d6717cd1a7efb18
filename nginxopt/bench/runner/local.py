"""The runner on this machine, which uses nginx and the load generator on its PATH.

nginx listens on free ports of 127.0.0.1, or of a given address. No process is left running, even if this one is killed:
then the kernel sends SIGTERM (`nginxopt.system.process`), and an nginx that gets SIGTERM ends its workers.
"""

from __future__ import annotations

import contextlib
import re
import resource
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from nginxopt.bench import run_folder
from nginxopt.bench.scenario import Experiment, Node, Target, Tls, Variant
from nginxopt.bench.site import Memory, Status
from nginxopt.errors import InputError, MissingError, RunError
from nginxopt.system import callgrind, nginx, process
from nginxopt.system.confinement import open_to_trials
from nginxopt.system.http import Client, RequestBytes
from nginxopt.system.network import MACHINE, Network, own_network
from nginxopt.system.nginx import permission

LOOPBACK = "127.0.0.1"
PROBE_SECONDS = 10.0

_MAIN = "nginx.conf"
_START_SECONDS = 60.0
_NO_STATUS = 'unknown directive "stub_status"'
_NO_STATUS_HINT = "this nginx is built without ngx_http_stub_status_module: choose one that has it with --nginx"
_NANO = 1e9
_TIME_WAIT = b"06"  # TCP_TIME_WAIT in the kernel's net/tcp_states.h
_KILO = 1024


class Local:
    """Runs the `binary` of nginx, which listens on the address `listen` of this machine.

    If it is `alone`, it has a private network with the settings of that of the machine, if the kernel allows one. Then
    it listens on 127.0.0.1 there, and only commands of `LocalSite.execute` reach it.
    """

    name = "local"

    def __init__(self, binary: nginx.Binary, listen: str = LOOPBACK, *, alone: bool = False) -> None:
        self._binary = binary
        self._alone = alone
        self._listen = listen

    @property
    def is_here(self) -> bool:
        """Whether only processes of this machine can connect to it."""
        return ip_address(self._listen).is_loopback

    @contextlib.contextmanager
    def deploy(self, experiment: Experiment, folder: Path) -> Iterator[LocalSite]:
        """Start every variant; see `nginxopt.bench.site.Runner.deploy`."""
        with contextlib.ExitStack() as running:
            network = running.enter_context(own_network(like_machine=True)) if self._alone else MACHINE
            addresses = running.enter_context(_free(list(run_folder.places(experiment)), network, self._listen))
            open_to_trials(folder)
            site = LocalSite(self._binary, folder, addresses, network)
            site.start(experiment, running)
            yield site

    def provenance(self) -> Mapping[str, str]:
        """Return the path and the version of nginx."""
        return {"nginx": str(self._binary), "path": self._binary.path}


@dataclass(slots=True)
class LocalSite:
    """An experiment that runs on this machine."""

    binary: nginx.Binary
    folder: Path
    addresses: Mapping[tuple[str, str], str]
    network: Network = MACHINE
    nodes: dict[tuple[str, str], nginx.Running] = field(default_factory=dict)
    _workers: dict[tuple[str, str], tuple[int, ...]] = field(default_factory=dict)

    def start(self, experiment: Experiment, running: contextlib.ExitStack) -> None:
        """Start all nodes; they end with `running`."""
        for variant in experiment.variants:
            for node in variant.nodes:
                prefix = self.folder / run_folder.prefix(variant, node.role)
                _prepare(prefix, run_folder.node_files(variant, node, self.addresses))
                permission.hold(prefix / _MAIN, self.binary, _hosts(self.addresses))
                self.nodes[variant.name, node.role] = self._start_node(prefix, variant, node, running)

    def _start_node(self, prefix: Path, variant: Variant, node: Node, running: contextlib.ExitStack) -> nginx.Running:
        command = [*self.binary.command(prefix), "-g", directives()]
        started = nginx.running(
            command, prefix, start_seconds=_START_SECONDS, open_files=node.nofile, network=self.network
        )
        try:
            return running.enter_context(started)
        except InputError as error:
            hint = _NO_STATUS_HINT if _NO_STATUS in str(error) else error.hint
            raise InputError(f"{variant.name}: {node.role}: {error.message}", below=error.below, hint=hint) from None

    def address(self, variant: Variant, role: str) -> str:
        """Return host:port of a node."""
        return self.addresses[variant.name, role]

    def execute(self, command: Sequence[str], *, seconds: float) -> bytes:
        """Run a command of the load generator to its end."""
        return execute(command, self.folder, seconds, self.network)

    def ask(self, variant: Variant, role: str, target: Target) -> bytes:
        """Return the raw answer of a node."""
        return ask(self.address(variant, role), target, network=self.network)

    def status(self, variant: Variant, role: str) -> Status:
        """Return the counters of a node."""
        answer = ask(self.addresses[variant.name, f"{role}/status"], Target("/"), network=self.network)
        return counters(answer, f"{variant.name}: {role}")

    def clock(self, variant: Variant, role: str) -> float:
        """Return the CPU time of the workers of a node in seconds, which is the first number of `schedstat`."""
        return sum(int(_proc(pid, "schedstat").split()[0]) for pid in self.workers(variant, role)) / _NANO

    def memory(self, variant: Variant, role: str) -> Memory:
        """Return the memory of master and workers."""
        rolled = [_proc(pid, "smaps_rollup") for pid in (self.master(variant, role), *self.workers(variant, role))]
        rss, pss = (sum(_kilobytes(text, name) for text in rolled) for name in ("Rss", "Pss"))
        return Memory(rss * _KILO, pss * _KILO)

    def open_files(self, variant: Variant, role: str) -> int:
        """Return the smallest soft limit of open files among the workers of a node."""
        limits = [re.search(r"Max open files +(\d+)", _proc(pid, "limits")) for pid in self.workers(variant, role)]
        return min(int(limit[1]) for limit in limits if limit)

    def time_wait(self, variant: Variant) -> int | None:
        """Return the number of sockets in TIME_WAIT with a node of the variant at one end."""
        mine = [address for (name, _), address in self.addresses.items() if name == variant.name]
        ports = {b"%04X" % int(address.rpartition(":")[2]) for address in mine}
        with Path(f"/proc/{self.master(variant, variant.entry)}/net/tcp").open(
            "rb"
        ) as sockets:  # number, local, remote, state ...
            ends = (line.split(None, 4)[1:4] for line in sockets)
            return sum(state == _TIME_WAIT and not ports.isdisjoint((near[-4:], far[-4:])) for near, far, state in ends)

    def test_seconds(self, variant: Variant, role: str) -> float:
        """Return how long `nginx -t` takes on the configuration of a node, in seconds.

        The node is running meanwhile: a test does not fail if an address is in use (ngx_open_listening_sockets).
        """
        started = time.monotonic()
        self.binary.test_in(self.folder / run_folder.prefix(variant, role), "-g", directives())
        return time.monotonic() - started

    def instructions(self, variant: Variant, targets: Sequence[Target], place: str) -> float:
        """Return the instructions per request, counted on a copy of the entry node. The nodes behind it are the
        running ones. Over TLS they are counted after the handshake."""

        tls = targets[0].tls

        def ask(wrapper: Sequence[str], turns: Sequence[int], dump: Callable[[int], None], written: Path) -> None:
            copy = self._copy(variant, wrapper, place, written)
            with contextlib.ExitStack() as last, copy as (address, pid):
                # Closed after nginx has ended, so that nginx never handles the end of the connection.
                client = last.enter_context(_client(address, callgrind.ANSWER_SECONDS, tls, self.network))
                if tls is not None:
                    _answered(client, variant, address, targets[0])
                    dump(pid)
                for requests in turns:
                    for number in range(requests):  # one after the other, so that nginx reads each separately
                        _answered(client, variant, address, targets[number % len(targets)])
                    dump(pid)

        if tls is not None:
            return callgrind.per_kept_request(ask, turn=len(targets))
        return callgrind.per_request(
            lambda wrapper, many, written: ask(wrapper, [many], lambda _: None, written), turn=len(targets)
        )

    @contextlib.contextmanager
    def _copy(self, variant: Variant, wrapper: Sequence[str], place: str, written: Path) -> Iterator[tuple[str, int]]:
        """Run a single-process copy of the entry node, and yield its address at a place, and its pid.

        Its wrapper writes to `written`.
        """
        node = variant.node(variant.entry)
        places = [place for place in self.addresses if place[0] == variant.name and _is_of(place[1], node.role)]
        prefix = self.folder / "callgrind" / run_folder.slug(variant.name)
        command = [*wrapper, *self.binary.command(prefix), "-g", directives(single=True)]
        with _free(places, self.network) as free:
            _prepare(prefix, run_folder.node_files(variant, node, {**self.addresses, **free}))
            permission.hold(prefix / _MAIN, self.binary, _hosts(self.addresses))
            seconds = callgrind.START_SECONDS
            copy = nginx.running(
                command,
                prefix,
                start_seconds=seconds,
                open_files=node.nofile,
                also=(written,),
                network=self.network,
            )
            with copy as running:
                yield free[variant.name, place], running.pid

    def master(self, variant: Variant, role: str) -> int:
        """Return the pid of the master of a node."""
        return self.nodes[variant.name, role].pid

    def workers(self, variant: Variant, role: str) -> tuple[int, ...]:
        """Return the pids of the workers of a node; they stay, as long as none dies."""
        key = variant.name, role
        if key not in self._workers:
            self._workers[key] = self.nodes[key].wait_for_workers(seconds=PROBE_SECONDS)
        return self._workers[key]


def directives(*, single: bool = False) -> str:
    """Return the directives for nginx's command line; `single`: for a single process without a timer."""
    # Without the timer resolution, each new second costs thousands of instructions for date strings (ngx_time_update).
    process_model = "master_process off; timer_resolution 1d;" if single else ""
    return f"daemon off; pid nginx.pid; {process_model}".strip()


def execute(command: Sequence[str], folder: Path, seconds: float, network: Network = MACHINE) -> bytes:
    """Run a command in a folder and a network to its end and return what it printed; see `nginxopt.bench.site`."""
    try:
        completed = process.run(
            command, cwd=folder, seconds=seconds, open_files=resource.RLIM_INFINITY, network=network
        )
    except OSError as error:
        raise MissingError(
            f"{command[0]} cannot be run: {error.strerror}", hint=f"install {command[0]}, or choose another --load"
        ) from None
    if completed.status:
        last = (completed.errors or completed.output).decode(errors="replace").strip()[-500:]
        raise RunError(": ".join(filter(None, [f"{command[0]} {process.how_it_ended(completed.status)}", last])))
    return completed.output


@contextlib.contextmanager
def _free(
    places: Sequence[tuple[str, str]], network: Network, host: str = LOOPBACK
) -> Iterator[dict[tuple[str, str], str]]:
    """Yield an address of a host in a network for each place, with a free port that is reserved meanwhile."""
    with nginx.reserved_ports(len(places), host=host, network=network) as ports:
        yield {place: f"{host}:{port}" for place, port in zip(places, ports, strict=True)}


def _hosts(addresses: Mapping[tuple[str, str], str]) -> set[str]:
    """Return the hosts of some addresses."""
    return {address.rpartition(":")[0] for address in addresses.values()}


def _is_of(place: str, role: str) -> bool:
    return place == role or place.startswith(f"{role}/")


def _prepare(prefix: Path, files: Mapping[str, bytes]) -> None:
    run_folder.write(prefix, files)
    for name in ("html", "temp"):
        (prefix / name).mkdir(exist_ok=True)


def _proc(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except OSError as error:
        raise RunError(f"a process of nginx is gone: /proc/{pid}/{name}: {error.strerror}") from None


def _kilobytes(rolled: str, name: str) -> int:
    size = re.search(rf"^{name}: +(\d+) kB", rolled, re.MULTILINE)
    return int(size[1]) if size else 0


def ask(address: str, target: Target, *, port: int | None = None, network: Network = MACHINE) -> bytes:
    """Return the raw response of the node at `address` to a target; empty if there is none.

    `port` is the port on 127.0.0.1 to connect to, if it is not the port of the address. Raises `RunError` if the TLS
    handshake fails.
    """
    where = address if port is None else f"{LOOPBACK}:{port}"
    with _client(where, PROBE_SECONDS, target.tls, network) as client:
        try:
            return client.ask([request(address, target, alone=True)])[0]
        except ssl.SSLError as error:
            raise _handshake(target, error) from None
        except OSError:
            return b""


def _answered(client: Client, variant: Variant, address: str, target: Target) -> None:
    """Ask for a target. Raises `RunError` if there is no answer."""
    try:
        answer = client.ask([request(address, target)])[0]
    except ssl.SSLError as error:
        raise _handshake(target, error) from None
    if not answer:
        raise RunError(f"{variant.name}: nginx under callgrind did not answer {target.path}")


def _handshake(target: Target, error: ssl.SSLError) -> RunError:
    """Return the error for a TLS handshake that fails."""
    name = target.tls.server_name if target.tls else None
    reason = (error.reason or str(error)).lower().replace("_", " ")
    return RunError(
        f"the TLS handshake {f'for {name}' if name else 'without a name'} fails: {reason}",
        hint="the certificate of the benchmark is RSA, and a client of today is the other side",
    )


def _client(address: str, seconds: float, tls: Tls | None, network: Network) -> Client:
    host, _, port = address.rpartition(":")
    name = None if tls is None else tls.server_name
    return Client(int(port), host=host, timeout=seconds, tls=tls is not None, server_name=name, network=network)


def request(address: str, target: Target, *, alone: bool = False) -> RequestBytes:
    """Return the request of a target; `alone`: for a separate connection."""
    headers = {"Host": address, **dict(target.headers), **({"Connection": "close"} if alone else {})}
    lines = [f"{target.method} {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return RequestBytes("\r\n".join([*lines, "", ""]).encode(), head=target.method == "HEAD", alone=alone)


def counters(answer: bytes, whose: str) -> Status:
    """Parse a response of stub_status. Raises `RunError` if it has no counters; `whose` names the node."""
    numbers = re.search(rb"requests\n (\d+) \d+ (\d+)", answer)
    if numbers is None:
        raise RunError(f"{whose} serves no status")
    return Status(int(numbers[1]), int(numbers[2]))
