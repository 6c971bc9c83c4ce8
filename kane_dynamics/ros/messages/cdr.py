"""Messages in the bytes they come in, read without trusting them.

The middleware's own deserializer believes what a message says about itself, and ends the process
where that is wrong. Here every length is compared with the bytes that are left before it is used.

The bytes are CDR: four that say how numbers are written, then the fields one after the other, each
number at a multiple of its size, in front of every text and every sequence its length.
"""

from __future__ import annotations

import struct
from array import array
from typing import Any

HEAD = 4
"""Bytes before those that count for alignment."""

LITTLE_ENDIAN = b"\x00\x01"
BIG_ENDIAN = b"\x00\x00"

_ORDERS = {LITTLE_ENDIAN: "<", BIG_ENDIAN: ">"}
_SWAPPED = {"<": struct.pack("=H", 1) != b"\x01\x00", ">": struct.pack("=H", 1) == b"\x01\x00"}


class Malformed(Exception):
    """Bytes that are no message of the kind expected; one sentence says why."""


class Reader:
    """Reads the fields of a message one after the other.

    What the two bytes of options in the head say is of no use, and not looked at.

    Raises Malformed if the head is not that of plain CDR; all methods raise it if the bytes end too
    early.

    Attributes
    ----------
    place : int
        Where the next field begins, at the earliest.
    order : str
        How numbers are written: "<" or ">", as `struct` has it.
    """

    def __init__(self, data: bytes) -> None:
        order = _ORDERS.get(data[:2]) if len(data) >= HEAD else None
        if order is None:
            raise Malformed(
                f"the message begins with {data[:HEAD].hex(' ') or 'nothing'}, expected plain CDR"
            )
        self.order = order
        self.place = HEAD
        self._data = data
        self._word = struct.Struct(f"{order}I")
        self._time = struct.Struct(f"{order}iI")

    def length(self, smallest: int) -> int:
        """The length of a sequence whose entries take at least so many bytes each."""
        self._take(4, 4)
        (count,) = self._word.unpack_from(self._data, self.place - 4)
        if count * smallest > len(self._data) - self.place:
            raise Malformed(
                f"{count} entries are announced, but only {len(self._data) - self.place} bytes left"
            )
        return int(count)

    def time(self) -> tuple[int, int]:
        """Seconds and nanoseconds."""
        self._take(8, 4)
        seconds, nanoseconds = self._time.unpack_from(self._data, self.place - 8)
        return seconds, nanoseconds

    def text(self) -> str:
        """A text; what is not UTF-8 in it is replaced."""
        length = self.length(1)
        begin = self.place
        self._take(length, 1)
        if not length:
            return ""  # some senders leave the zero at the end out where there is nothing else
        if self._data[self.place - 1]:
            raise Malformed("a text does not end with a zero")
        return self._data[begin : self.place - 1].decode("utf-8", errors="replace")

    def texts(self) -> list[str]:
        """A sequence of texts."""
        return [self.text() for _ in range(self.length(4))]

    def numbers(self) -> Any:
        """A sequence of float64, as the array that messages hold."""
        count = self.length(8)
        values = array("d")
        if count:
            self._take(8 * count, 8)
            values.frombytes(self._data[self.place - 8 * count : self.place])
            if _SWAPPED[self.order]:
                values.byteswap()
        return values

    def _take(self, size: int, alignment: int) -> None:
        """Go to the end of a field of so many bytes."""
        end = HEAD - (HEAD - self.place) // alignment * alignment + size
        if end > len(self._data):
            raise Malformed(
                f"the message ends after {len(self._data)} bytes, a field of it after {end}"
            )
        self.place = end


def read_string(data: bytes) -> str:
    r"""The text of a std_msgs/String.

    >>> read_string(b"\x00\x01\x00\x00" + b"\x03\x00\x00\x00" + b"ab\x00")
    'ab'
    """
    return Reader(data).text()
