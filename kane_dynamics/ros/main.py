"""The executable dynamics_node: starts the node, and ends it cleanly on SIGINT and SIGTERM."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Callable

ENDINGS = (signal.SIGINT, signal.SIGTERM)

LONGEST_LEAVE = 5.0
"""Seconds that a robot has to come to rest in, before the node ends in any case."""

_REMEDIES = {
    "rclpy": "source the setup file of a ROS distribution, or pip install 'kane_dynamics[ros]'",
    "kane_dynamics_interfaces": "in a workspace, build it with colcon build --base-paths src "
    "src/kane_dynamics/kane_dynamics_interfaces, for colcon does not look inside a package for "
    "another; elsewhere, with python scripts/build_interfaces.py",
}
"""What to do about a package that is not there."""


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal ends it; the exit status."""
    ending = _Ending()
    try:
        return _run(args, ending)
    finally:
        for each in ENDINGS:  # it has ended, and what comes now changes nothing
            signal.signal(each, signal.SIG_IGN)


class _Ending(threading.Thread):
    """Waits for a signal, and then ends ROS; before ROS has begun, the process.

    A robot that is commanded is brought to rest before, and left with a torque that holds it.

    No signal is raised as an exception, which would end in a traceback wherever it came at a bad
    moment.
    """

    def __init__(self) -> None:
        super().__init__(name="ending", daemon=True)
        self._lock = threading.Lock()
        self._begun = False
        self.leave: Callable[[float], None] = lambda seconds: None
        """Brings a robot that is commanded to rest, in at most so many seconds."""
        self._signals, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for each in ENDINGS:
            signal.signal(each, lambda number, frame: None)
        self.start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)  # see _import_rclpy

    def begin(self, args: list[str] | None) -> None:
        """Begin ROS."""
        import rclpy
        from rclpy.signals import SignalHandlerOptions

        from kane_dynamics.ros.middleware.fast_dds import make_room_for_large_answers
        from kane_dynamics.ros.middleware.interpreter import give_memory_back

        give_memory_back()
        make_room_for_large_answers()
        with self._lock:
            rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
            self._begun = True

    def run(self) -> None:
        os.read(self._signals, 1)
        with self._lock:
            if not self._begun:
                os._exit(0)
        import rclpy

        self.leave(LONGEST_LEAVE)
        rclpy.try_shutdown()


def _import_rclpy() -> None:
    """Import rclpy, which may execute Python anew; signals wait until that is ready for them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
    import rclpy  # noqa: F401

    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)


def _run(args: list[str] | None, ending: _Ending) -> int:
    try:  # what takes its time is imported when signals are waited for already
        _import_rclpy()
        import rclpy

        from kane_dynamics.errors import KaneDynamicsError
        from kane_dynamics.ros.middleware.executor import PromptExecutor
        from kane_dynamics.ros.node import DynamicsNode
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        return _fail(f"{error}: {_REMEDIES.get(package, _REMEDIES['rclpy'])}")
    try:
        ending.begin(args)
    except Exception as error:  # rclpy gives the error about bad arguments no public name
        return _fail(error)
    try:
        node = DynamicsNode()
        ending.leave = node.leave
        PromptExecutor(node, node.joint_states, node.failed, node.beside).spin()
    except KaneDynamicsError as error:
        return _fail(error)
    except Exception:
        if rclpy.ok():
            raise  # else it comes of the shutdown
    finally:
        rclpy.try_shutdown()
    return 0


def _fail(error: Exception | str) -> int:
    """Say in one line why there is no node."""
    sentence = re.sub(r", at \S+:\d+", "", " ".join(str(error).split()))  # places in rcl's sources
    sys.stderr.write(f"dynamics_node: {sentence}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
