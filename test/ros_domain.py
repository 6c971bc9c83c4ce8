"""ROS domain ids for tests that run side by side."""

import fcntl
import gc
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DOMAINS = range(1, 100)  # those above use ports that the system may have given to others
_FIRST_PORT, _PORTS = 7400, 250  # of domain 0, and of each


@contextmanager
def own_domain() -> Iterator[int]:
    """A domain id that nobody else on this machine uses.

    Beyond 32 participants of a domain new ones are not found any more, and the tests of a process
    would leave more: rclpy keeps what it has made in cycles.
    """
    for number in DOMAINS:
        path = Path(tempfile.gettempdir()) / f"kane-dynamics-test-domain-{number}-{os.getuid()}"
        with path.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if in_use(number):
                gc.collect()
            if in_use(number):  # by what a killed run of tests has left behind
                continue
            yield number
            return
    raise RuntimeError("all domain ids are in use")


def in_use(domain: int) -> bool:
    """Whether somebody on this machine listens to a port of a domain."""
    first = _FIRST_PORT + _PORTS * domain
    table = Path("/proc/net/udp").read_text().splitlines()[1:]
    open_ports = (int(line.split()[1].partition(":")[2], 16) for line in table)
    return any(first <= port < first + _PORTS for port in open_ports)
