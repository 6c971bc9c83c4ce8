"""The executable dynamics_node: starts the node, and ends it cleanly on SIGINT and SIGTERM."""

from __future__ import annotations

import signal
import sys
from types import FrameType

_received: list[int] = []


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal ends it; the exit status.

    What takes its time is imported after signals are taken care of. They are noted, not raised as
    exceptions, which would end in a traceback wherever they came at a bad moment.
    """
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, _note)
    return _run(args)


def _note(number: int, _frame: FrameType | None) -> None:
    _received.append(number)


def _run(args: list[str] | None) -> int:
    import rclpy

    from kane_dynamics.errors import KaneDynamicsError
    from kane_dynamics.ros.executor import PromptExecutor
    from kane_dynamics.ros.node import DynamicsNode

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
        rclpy.try_shutdown()
    return 0


def _fail(error: Exception) -> int:
    """Say in one line why there is no node."""
    sys.stderr.write(f"dynamics_node: {' '.join(str(error).split())}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
