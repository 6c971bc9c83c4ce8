"""Hardware as tests see it: a process that is started, given orders, and asked for its record."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from python_path import python_path

from hardware.record import Record
from hardware.settings import Payload, Settings

HERE = Path(__file__).parents[1]
PATIENCE = 60.0  # s


class Hardware:
    """A robot in a process of its own, in the ROS domain of the environment.

    Parameters
    ----------
    place : Path
        A folder for its files, which is made.
    urdf : Path or str
        A file, or text.
    joints : sequence of str
        Joints that move, in the order of states and commands.
    payload : Payload, optional
    **settings
        As in `hardware.settings.Settings`.

    Examples
    --------
    with Hardware(tmp_path / "hardware", *panda(), dry=0.5) as hardware:
        hardware.push("panda_hand", (20.0, 0.0, 0.0), seconds=0.2)
        assert hardware.record().fastest().max() < 2.0
    """

    def __init__(
        self, place: Path, urdf: Path | str, joints: Sequence[str], **settings: Any
    ) -> None:
        place.mkdir(parents=True)
        self._place = place
        self._log = place / "output.txt"
        self._last = place / "last.npz"
        text = urdf.read_text() if isinstance(urdf, Path) else urdf
        file = place / "settings.json"
        Settings(urdf=text, joints=list(joints), record=str(self._last), **settings).write(file)
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "hardware", str(file)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "ROS_HOME": str(place), "PYTHONPATH": python_path(HERE)},
            )
        self._ready = False

    @property
    def log(self) -> str:
        return self._log.read_text()

    def __enter__(self) -> Hardware:
        try:
            return self.ready()
        except BaseException:
            self.process.kill()
            raise

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def has_answered(self) -> bool:
        """Whether there is something to read of it, so that nobody waits who reads it."""
        return bool(select.select([self.process.stdout], [], [], 0.0)[0])

    def ready(self) -> Hardware:
        """Wait until its joint states flow."""
        if not self._ready:
            self._answer()
            self._ready = True
        return self

    def connected(self) -> Hardware:
        """Wait until it has found somebody who commands it: what is sent before may come late."""
        self._order("wait_for_commander")
        return self

    def ask_to_end(self) -> None:
        """Have the process end, which it does when its record is written."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self) -> Record:
        """End the process; the record of all it did."""
        if self.process.poll() is None:
            self.ask_to_end()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                raise
        assert self.process.returncode == 0, self.log
        return Record.read(self._last)

    def record(self) -> Record:
        """The record until now."""
        path = self._place / "record.npz"
        self._order("write", path=str(path))
        return Record.read(path)

    # ---------------------------------------------------------------------------------- orders
    def push(
        self,
        link: str,
        force: Sequence[float],
        seconds: float,
        offset: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        """Push a link at a point of its frame by a force in N, in the world's axes."""
        self._order("push", link=link, force=list(force), seconds=seconds, offset=list(offset))

    def brake(self, on: bool = True) -> None:
        """Put the brakes on, until they are taken off by a second call."""
        self._order("brake", on=on)

    def carry(self, payload: Payload) -> None:
        """Carry a payload, instead of the one before."""
        self._order("carry", **vars(payload))

    def disturb(self, messages: int = 0, seconds: float = 0.0, **fault: Any) -> None:
        """Have a fault of joint states, see `hardware.joint_states.StateFault`.

        For a number of messages, for a time, or until the next call; without a fault, none.
        """
        self._order("disturb", messages=messages, seconds=seconds, **fault)

    def _order(self, do: str, **arguments: Any) -> None:
        self.ready()
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self.process.stdin.flush()
        answer = self._answer()
        if "error" in answer:
            raise ValueError(answer["error"])

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        select.select([self.process.stdout], [], [], PATIENCE)
        line = self.process.stdout.readline() if self.process.poll() is None else ""
        assert line, f"hardware does not answer: {self.log}"
        answer: dict[str, Any] = json.loads(line)
        return answer
