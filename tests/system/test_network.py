"""A network of its own: what is in it reaches nothing outside, and this process reaches what is in it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nginxopt.system import network as networks
from nginxopt.system import process
from nginxopt.system.confinement import Confinement
from nginxopt.system.echo import Echo
from nginxopt.system.exchange import exchange
from nginxopt.system.network import MACHINE, Network, own_network
from tests.support import PATIENCE, ROOT

NEW_NETWORK = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
HERE = Path("/proc/self/ns/net")


@pytest.fixture
def network() -> Iterator[Network]:
    """A network of its own."""
    with own_network() as network:
        if not network.is_own:
            pytest.skip("no namespaces")
        yield network


def space(made: socket.socket) -> int:
    """The network of a socket, by its cookie (SO_NETNS_COOKIE in socket(7))."""
    return int.from_bytes(made.getsockopt(socket.SOL_SOCKET, 71, 8), "little")


def test_sockets_are_of_the_network(network: Network) -> None:
    """All sockets are of one network, which is not this one; more than are made at once, by several threads."""
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda _: network.tcp(), range(3 * networks._SOCKETS)))
    with socket.socket() as ours:
        assert {space(each) for each in made} - {space(ours)} == {space(made[0])}
    for each in made:
        each.close()


def test_this_process_stays(network: Network, tmp_path: Path) -> None:
    """Neither this process nor what it sees changes."""

    def state() -> tuple[object, ...]:
        settings = [Path(path).read_bytes() for path, _ in networks._ANY_ADDRESS if Path(path).exists()]
        return HERE.readlink(), Path.cwd(), threading.active_count(), Path("/etc/hosts").read_bytes(), settings

    before = state()
    network.tcp().close()
    with own_network(networks.hosts_file(tmp_path, ["app.example"]), like_machine=True):
        assert state() == before


def test_nothing_outside_is_reached(network: Network) -> None:
    """No listener of this machine is reached, by any of its addresses, nor another machine."""
    with socket.create_server(("0.0.0.0", 0)) as outside:
        port = outside.getsockname()[1]
        for host in ("127.0.0.1", *addresses(), "192.0.2.1", "169.254.169.254"):
            with network.tcp() as client, pytest.raises(OSError, match=r"refused|unreachable"):
                client.connect((host, port))


def test_nothing_outside_reaches_it(network: Network) -> None:
    """What listens in it is reached from there alone."""
    with Echo(network) as echo:
        request = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
        answer = exchange(request, echo.port, network=network)
        assert answer is not None
        assert answer.body == b"echo"
        with pytest.raises(OSError, match="refused"):
            exchange(request, echo.port)
        with own_network() as other, pytest.raises(OSError, match="refused"):
            exchange(request, echo.port, network=other)


def test_a_process_is_in_it(network: Network, tmp_path: Path) -> None:
    """A confined process is in the network that it is given, in its folder, and in that of this process without one."""
    for where in (network, MACHINE):
        confinement = Confinement(tmp_path, network=where)
        command = ["readlink", str(HERE), f"/proc/self/cwd{os.sep}".rstrip(os.sep)]
        done = process.run(command, cwd=tmp_path, seconds=PATIENCE, confinement=confinement)
        space_of, folder = done.output.decode().split()
        assert (Path(space_of) == HERE.readlink()) == (where is MACHINE)
        assert Path(folder) == tmp_path.resolve()


def test_no_process_runs_outside_of_its_network(tmp_path: Path) -> None:
    """A process that cannot enter its network does not start."""
    with own_network() as network:
        if not network.is_own:
            pytest.skip("no namespaces")
    broken = networks._OwnNetwork([os.open(tmp_path, os.O_RDONLY)])  # no namespace
    try:
        with pytest.raises(subprocess.SubprocessError):
            process.run(
                ["touch", "x"], cwd=tmp_path, seconds=PATIENCE, confinement=Confinement(tmp_path, network=broken)
            )
        with pytest.raises(OSError, match="no socket"):
            broken.tcp()
    finally:
        broken.close()
    assert not (tmp_path / "x").exists()


def test_settings_of_the_machine() -> None:
    """A network that is like the machine has its settings, as far as they are of a network."""
    setting = Path("/proc/sys/net/ipv4/tcp_fin_timeout")
    with own_network() as outer:
        if not outer.is_own:
            pytest.skip("no namespaces")
    code = (
        "import sys; from pathlib import Path; from nginxopt.system import process, confinement, network;"
        f"setting = Path('{setting}'); setting.write_text('47');"
        "run = lambda made: process.run(['cat', setting], cwd='/', seconds=100, network=made.__enter__()).output;"
        "made = [network.own_network(like_machine=like) for like in (True, False)];"
        "print(*(run(each).decode().strip() for each in made))"
    )
    done = process.run([*NEW_NETWORK, sys.executable, "-c", code], cwd=ROOT, seconds=PATIENCE)
    if done.status:
        pytest.skip(done.last())  # unshare(1), or to write the setting, is not permitted
    like, other = done.output.split()
    assert like == b"47" != other


def test_descriptors_are_closed() -> None:
    """Networks leave neither descriptors nor processes."""
    before = descriptors(), children()
    for _ in range(3):
        with own_network() as network:
            network.tcp().close()
    assert (descriptors(), children()) == before


@pytest.mark.parametrize("fault", ["unshare", "loopback"])
def test_without_namespaces(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """Where the kernel makes none, or none with 127.0.0.1, the network is that of this machine."""

    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(networks, {"unshare": "_unshare", "loopback": "_start_loopback"}[fault], refused)
    with own_network() as network, network.listening() as listening:
        assert network is MACHINE
        socket.create_connection(listening.getsockname()).close()
        network.enter()


def descriptors() -> int:
    """The number of descriptors of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


def children() -> str:
    """The children of this process."""
    return "".join(path.read_text() for path in sorted(Path("/proc/self/task").glob("*/children")))


def addresses() -> list[str]:
    """The addresses of this machine that others reach, as far as its name or a route tells."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return []
        return [str(probe.getsockname()[0])]
