"""Real-time scheduling of the threads that carry joint states to commands."""

from __future__ import annotations

import os
from pathlib import Path

from rclpy.node import Node

REFUSED = (
    "The node runs without real-time priority, which the system does not allow ({}): on a busy "
    "machine commands come late. To allow it, give the user rtprio in /etc/security/limits.conf."
)


def run_in_real_time(node: Node, priority: int) -> None:
    """Let the threads that there are run before those of other programs; 0: as others do.

    Those are the threads of the middleware and the one that executes callbacks. Threads and
    processes that are started later run as usual.
    """
    if not priority:
        return
    policy = os.SCHED_RR | os.SCHED_RESET_ON_FORK
    try:
        for task in Path("/proc/self/task").iterdir():
            os.sched_setscheduler(int(task.name), policy, os.sched_param(priority))
    except (OSError, AttributeError) as error:
        node.get_logger().info(REFUSED.format(error))
