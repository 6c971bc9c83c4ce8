"""Joint states in the bytes they come and go in.

From one message of a sender to the next only stamp and numbers change. So the rest is remembered
and compared, and the numbers are read from where they were the last time.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.ros.messages.cdr import BIG_ENDIAN, HEAD, LITTLE_ENDIAN, Reader

PREFIX = HEAD + 8
"""Where, behind the stamp, the part begins that does not change."""

_HEADER = LITTLE_ENDIAN + b"\0\0"
_PLAIN = int.from_bytes(LITTLE_ENDIAN, "little")
_FLOAT = np.dtype("<f8")


@dataclass(frozen=True, eq=False)
class StateLayout:
    """Where little-endian joint states have their numbers, if they begin with the same names.

    Attributes
    ----------
    frame_id : str
    names : tuple of str
    prefix : bytes
        From behind the stamp to the first position.
    velocities, efforts : int
        How many there are: none, or one for each name.
    """

    frame_id: str
    names: tuple[str, ...]
    prefix: bytes
    velocities: int
    efforts: int

    @cached_property
    def _format(self) -> Any:
        parts = [f"<H2xiI{len(self.prefix)}x{len(self.names)}d"]
        place = PREFIX + len(self.prefix) + 8 * len(self.names)
        velocities, efforts = f"{self.velocities}d", f"{8 * self.efforts}x"  # these are not read
        for count, numbers in ((self.velocities, velocities), (self.efforts, efforts)):
            place += 4
            gap = (HEAD - place) % 8 if count else 0
            parts.append(f"I{gap}x{numbers}")
            place += gap + 8 * count
        return struct.Struct("".join(parts)).unpack_from

    def numbers(self, data: bytes) -> tuple[Any, ...] | None:
        """All numbers of a message; None if its bytes are laid out otherwise.

        They are: the kind of CDR, seconds, nanoseconds, positions, how many velocities, these, how
        many efforts.
        """
        if not data.startswith(self.prefix, PREFIX):
            return None
        try:
            found: tuple[Any, ...] = self._format(data)
        except struct.error:
            return None
        if (
            found[0] != _PLAIN
            or found[-1] != self.efforts
            or found[3 + len(self.names)] != self.velocities
        ):
            return None
        return found

    def positions(self, data: bytes) -> Array:
        """Positions of all that is named."""
        return np.frombuffer(data, _FLOAT, len(self.names), PREFIX + len(self.prefix))

    def velocities_in(self, data: bytes) -> Array:
        """Velocities of all that is named, if there are any."""
        place = PREFIX + len(self.prefix) + 8 * len(self.names) + 8
        return np.frombuffer(data, _FLOAT, self.velocities, place)


@dataclass(frozen=True)
class ParsedState:
    """A joint state, its fields as the message has them, whether they fit together or not."""

    stamp: tuple[int, int]
    frame_id: str
    names: tuple[str, ...]
    position: Any
    velocity: Any
    effort: Any
    prefix: bytes

    @property
    def layout(self) -> StateLayout:
        """The layout of messages like this one, which is little-endian, and whose fields fit."""
        return StateLayout(
            self.frame_id, self.names, self.prefix, len(self.velocity), len(self.effort)
        )

    def written(self) -> bytes:
        """The same message, little-endian."""
        return (
            _HEADER
            + struct.pack("<iI", *self.stamp)
            + _written_names(self.frame_id, self.names, self.position, self.velocity, self.effort)
        )


def read_state(data: bytes) -> ParsedState:
    """The joint state in the bytes of a message; Malformed if there is none."""
    reader = Reader(data)
    stamp, frame_id, names = reader.time(), reader.text(), tuple(reader.texts())
    position = reader.numbers()
    end = reader.place - 8 * len(position)  # with what aligns the numbers
    velocity, effort = reader.numbers(), reader.numbers()
    return ParsedState(stamp, frame_id, names, position, velocity, effort, data[PREFIX:end])


def is_big_endian(data: bytes) -> bool:
    """Whether the most significant byte of a number comes first."""
    return data[:2] == BIG_ENDIAN


class EffortMessage:
    """Joint states of efforts alone, always of the same joints, as bytes.

    Parameters
    ----------
    names : sequence of str
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._frame_id = ""
        self._middle = self._written("")

    def written(self, stamp: bytes, frame_id: str, efforts: Array) -> bytes:
        """The message with this header; its stamp as in little-endian bytes."""
        if frame_id != self._frame_id:
            self._frame_id, self._middle = frame_id, self._written(frame_id)
        return _HEADER + stamp + self._middle + efforts.tobytes()

    def _written(self, frame_id: str) -> bytes:
        """All between the stamp and the efforts."""
        efforts = bytes(8 * len(self._names))
        whole = _written_names(frame_id, self._names, b"", b"", efforts)
        return whole[: len(whole) - len(efforts)]


def _written_names(
    frame_id: str, names: tuple[str, ...], position: Any, velocity: Any, effort: Any
) -> bytes:
    """All behind the stamp."""
    body = bytearray(8)  # in place of the stamp, so that what follows is aligned
    _add_text(body, frame_id)
    _add_length(body, len(names))
    for name in names:
        _add_text(body, name)
    for values in (position, velocity, effort):
        numbers = np.frombuffer(values).astype(_FLOAT).tobytes() if len(values) else b""
        _add_length(body, len(numbers) // 8)
        if numbers:
            body.extend(bytes(-len(body) % 8))
            body.extend(numbers)
    return bytes(body[8:])


def _add_length(body: bytearray, length: int) -> None:
    body.extend(bytes(-len(body) % 4))
    body.extend(struct.pack("<I", length))


def _add_text(body: bytearray, text: str) -> None:
    data = text.encode() + b"\0"
    _add_length(body, len(data))
    body.extend(data)
