"""Bytes made of other bytes: changed, cut, doubled, spliced, salted with words of a language."""

from __future__ import annotations

import random
from collections.abc import Sequence

NUMBERS = (
    b"0 -0 1 -1 1e-310 1e308 -1e308 1e400 nan inf -inf 0x10 1_0 1e 2147483648 4294967296 .5 5. +3"
).split()
_LENGTHS = (0, 1, 2, 7, 255, 2**16, 2**29, 2**31 - 1, 2**31, 2**32 - 1)


class Mutation:
    """Makes inputs of a growing collection of them.

    Parameters
    ----------
    seeds : sequence of bytes
        Good inputs.
    words : sequence of bytes
        What the language of the inputs has words for.
    seed : int
    longest : int
        Bytes of an input.
    """

    def __init__(
        self, seeds: Sequence[bytes], words: Sequence[bytes], seed: int, longest: int
    ) -> None:
        self.random, self.pool, self._longest = random.Random(seed), list(seeds), longest
        self._words = [*words, *NUMBERS]
        ways = [self._flip, self._cut, self._erase, self._double, self._splice, self._number]
        self._ways = ways + ([self._word] * 4 if words else [self._length] * 4)

    def next(self) -> bytes:
        data = bytearray(self.random.choice(self.pool))
        for _ in range(self.random.choice((1, 1, 1, 2, 4))):
            self.random.choice(self._ways)(data)
        return bytes(data[: self._longest])

    def keep(self, data: bytes) -> None:
        """Mutate this one further, too."""
        self.pool.append(data)

    def _below(self, end: int) -> int:
        return int(self.random.random() * end)

    def _part(self, data: bytearray) -> slice:
        begin = self._below(len(data) + 1)
        return slice(begin, begin + self._below(min(64, len(data)) + 1))

    def _flip(self, data: bytearray) -> None:
        if data:
            data[self._below(len(data))] ^= 1 << self._below(8)

    def _cut(self, data: bytearray) -> None:
        del data[self._below(len(data) + 1) :]

    def _erase(self, data: bytearray) -> None:
        del data[self._part(data)]

    def _double(self, data: bytearray) -> None:
        part = self._part(data)
        times = 300 if self.random.random() < 0.01 else self.random.choice((1, 1, 2))
        data[part.start : part.start] = data[part] * times

    def _splice(self, data: bytearray) -> None:
        other = self.random.choice(self.pool)
        data[self._part(data)] = other[self._part(bytearray(other))]

    def _number(self, data: bytearray) -> None:
        """Another number in the place of one, where there is one."""
        digits = [k for k, byte in enumerate(data) if 48 <= byte <= 57]
        if digits:
            begin = end = self.random.choice(digits)
            while end < len(data) and chr(data[end]) in "0123456789.eE+-":
                end += 1
            data[begin:end] = self.random.choice(NUMBERS)

    def _word(self, data: bytearray) -> None:
        place = self._below(len(data) + 1)
        end = place + self.random.choice((0, 0, self._below(12)))
        data[place:end] = self.random.choice(self._words)

    def _length(self, data: bytearray) -> None:
        """A length that is another, where lengths stand in messages."""
        place = 4 + 4 * self._below(max(1, len(data) // 4 - 1))
        data[place : place + 4] = self.random.choice(_LENGTHS).to_bytes(4, "little")
