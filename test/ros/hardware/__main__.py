"""The process of hardware: settings from a file, orders as lines of JSON, answers likewise.

An order is {"do": name, …} on the standard input, with a name out of `ORDERS`; it is answered by
{} or {"error": sentence} on the standard output, once it has been carried out. The end of the
input, or a signal, ends the process.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import rclpy
from rclpy.signals import SignalHandlerOptions

from hardware.robot import Robot, claim_the_machine
from hardware.settings import Settings

ORDERS = ("push", "brake", "carry", "disturb", "write", "wait_for_commander", "end")


def main() -> None:
    settings = Settings.read(Path(sys.argv[1]))
    claim_the_machine()
    rclpy.init(args=sys.argv[2:], signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("hardware", start_parameter_services=False, enable_rosout=False)
    robot = Robot(node, settings)
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, lambda number, frame: robot.end())
    threading.Thread(target=obey, args=(robot,), daemon=True).start()
    robot.run(answer)
    if settings.record:
        robot.recorder.write(Path(settings.record))
    node.destroy_node()
    rclpy.shutdown()


def obey(robot: Robot) -> None:
    """Carry out orders until there are no more."""
    for line in sys.stdin:
        try:
            carry_out(robot, **json.loads(line))
        except Exception as error:
            answer(error=f"{type(error).__name__}: {error}")
        else:
            answer()
    robot.end()


def carry_out(robot: Robot, do: str, **arguments: Any) -> None:
    if do not in ORDERS:
        raise ValueError(f"there is no order {do!r}, expected one of {', '.join(ORDERS)}")
    if do == "write":
        robot.recorder.write(Path(arguments["path"]))
    else:
        getattr(robot, do)(**arguments)


def answer(**contents: str) -> None:
    sys.stdout.write(json.dumps(contents) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
