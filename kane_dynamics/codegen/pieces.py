"""Long lists of statements in pieces: a compiler's time grows faster than the function it reads."""

from __future__ import annotations

import re
from collections.abc import Sequence

PIECE = 300
"""Statements in one piece."""

_NAME = re.compile(r"\b[A-Za-z_]\w*")
_DEFINITION = re.compile(r"const \w+ (\w+) = ")
_DECLARATION = re.compile(r"(\w+) (\w+), (\w+);")


def in_pieces(statements: Sequence[str], length: int = PIECE) -> tuple[list[list[str]], int]:
    """Statements in pieces that are to be functions of their own, called one after the other.

    A value that a later piece needs is kept in an array: its name becomes ``kept[i]`` wherever it
    stands. A place in the array is used again after the last piece that needs it.

    Returns
    -------
    pieces : list of list of str
    size : int
        Length of the array.
    """
    pieces = [list(statements[i : i + length]) for i in range(0, len(statements), length)]
    if len(pieces) <= 1:
        return pieces, 0
    defined, needed = _lifetimes(pieces)
    places: dict[str, str] = {}
    free: list[int] = []
    leaving: dict[int, list[int]] = {}
    size = 0
    for number in range(len(pieces)):
        free += leaving.pop(number - 1, [])
        for name in defined[number]:
            last = needed[name]
            if last > number:
                if not free:
                    free.append(size)
                    size += 1
                place = free.pop()
                places[name] = f"kept[{place}]"
                leaving.setdefault(last, []).append(place)
    return [[_with_places(line, places) for line in piece] for piece in pieces], size


def _lifetimes(pieces: Sequence[Sequence[str]]) -> tuple[list[list[str]], dict[str, int]]:
    """Names defined in each piece, and for each name the last piece where it stands."""
    defined: list[list[str]] = [[] for _ in pieces]
    last: dict[str, int] = {}
    for number, piece in enumerate(pieces):
        for line in piece:
            definition, declaration = _DEFINITION.match(line), _DECLARATION.fullmatch(line)
            if definition:
                names = [definition[1]]
            else:
                names = [declaration[2], declaration[3]] if declaration else []
            defined[number] += names
            last.update(dict.fromkeys(names, number))
            for name in _NAME.findall(line):
                if name in last:
                    last[name] = number
    return defined, last


def _with_places(line: str, places: dict[str, str]) -> str:
    """A statement with kept values in their places."""
    definition, declaration = _DEFINITION.match(line), _DECLARATION.fullmatch(line)
    if declaration:
        local = [name for name in declaration.groups()[1:] if name not in places]
        return f"{declaration[1]} {', '.join(local)};" if local else ";"
    if definition and definition[1] in places:
        line = f"{definition[1]} = {line[definition.end() :]}"
    return _NAME.sub(lambda found: places.get(found[0], found[0]), line)
