"""Where the text of a robot description comes from: a file, a xacro file, or the caller."""

from __future__ import annotations

import os
from typing import NamedTuple

from kane_dynamics.errors import ArgumentError, ModelError
from kane_dynamics.robot.grammar import ROBOT
from kane_dynamics.robot.xacro import expand_xacro
from kane_dynamics.robot.xml import parse

_LARGEST_FILE = 64 * 2**20


class Description(NamedTuple):
    """XML of a robot; `encoding` is None where the XML declares its own, `name` is for messages."""

    name: str
    data: bytes
    encoding: str | None


def read_description(source: str | bytes | os.PathLike[str]) -> Description:
    """Return the XML that `source` is (bytes, or a string with a "<" in it) or is the path of."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Description("<text>", bytes(source), None)
    if isinstance(source, str) and "<" in source:
        try:
            return Description("<text>", source.encode(), "utf-8")
        except UnicodeEncodeError as error:
            raise ModelError(
                f"<text>: cannot be encoded: {error.reason}, expected Unicode"
            ) from None
    if not isinstance(source, (str, os.PathLike)):
        raise ArgumentError(
            f"source is of type {type(source).__name__}, expected the path of a URDF or its text"
        )
    path = os.fsdecode(source)
    data = _read_file(path)
    if not path.endswith(".xacro"):
        return Description(path, data, None)
    # the xacro package would not name the file and line of a mistake
    parse(data, "robot", ROBOT, path, None, xacro=True)
    return Description(path, expand_xacro(path).encode(), "utf-8")


def _read_file(path: str) -> bytes:
    shown = path if len(path) < 200 else f"{path[:197]}..."
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(
            f"{shown!r} cannot be read: {reason.lower()}, expected a URDF file or URDF text"
        ) from None
    if len(data) > _LARGEST_FILE:
        raise ModelError(f"{shown}: is larger than {_LARGEST_FILE >> 20} MiB, expected a URDF")
    return data
