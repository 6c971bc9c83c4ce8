"""ROS domain ids for tests that run side by side."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DOMAINS = range(1, 100)  # those above use ports that the system may have given to others


@contextmanager
def own_domain() -> Iterator[int]:
    """A domain id that no other test on this machine uses."""
    for number in DOMAINS:
        path = Path(tempfile.gettempdir()) / f"kane-dynamics-test-domain-{number}-{os.getuid()}"
        with path.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield number
            return
    raise RuntimeError("all domain ids are in use")
