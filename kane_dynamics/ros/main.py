"""The executable dynamics_node: starts the node, and ends it cleanly on SIGINT and SIGTERM."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import Any

_received: list[int] = []

_REMEDIES = {
    "rclpy": "source the setup file of a ROS distribution, or pip install 'kane_dynamics[ros]'",
    "kane_dynamics_interfaces": "build it with colcon build, or python scripts/build_interfaces.py",
}
"""What to do about a package that is not there."""


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal ends it; the exit status.

    What takes its time is imported after signals are taken care of. None is raised as an exception,
    which would end in a traceback wherever it came at a bad moment.
    """
    _on_signals(_leave)
    try:
        return _run(args)
    finally:
        _on_signals(signal.SIG_IGN)  # it is ending


def _on_signals(handler: Any) -> None:
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, handler)


def _leave(_number: int, _frame: FrameType | None) -> None:
    """End at once: nothing has begun yet."""
    os._exit(0)


def _note(number: int, _frame: FrameType | None) -> None:
    _received.append(number)


def _run(args: list[str] | None) -> int:
    try:
        import rclpy

        from kane_dynamics.errors import KaneDynamicsError
        from kane_dynamics.ros.executor import PromptExecutor
        from kane_dynamics.ros.node import DynamicsNode
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        return _fail(f"{error}: {_REMEDIES.get(package, _REMEDIES['rclpy'])}")

    _on_signals(_note)
    try:
        rclpy.init(args=args)  # from here on, signals shut ROS down
    except Exception as error:  # rclpy gives the error about bad arguments no public name
        return _fail(error)
    try:
        if not _received:
            node = DynamicsNode()
            PromptExecutor(node, node.joint_states, node.failed).spin()
    except KaneDynamicsError as error:
        return _fail(error)
    except Exception:
        if rclpy.ok():
            raise  # else it comes of the shutdown
    finally:
        _on_signals(signal.SIG_IGN)
        rclpy.try_shutdown()
    return 0


def _fail(error: Exception | str) -> int:
    """Say in one line why there is no node."""
    sys.stderr.write(f"dynamics_node: {' '.join(str(error).split())}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
