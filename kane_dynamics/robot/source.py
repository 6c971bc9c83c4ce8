"""Where the text of a robot description comes from: a file, a xacro file, or the caller."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple, TypeGuard

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


def read_description(
    source: str | bytes | os.PathLike[str] | Description,
    xacro_arguments: Mapping[str, str] | None = None,
) -> Description:
    """Return the XML that `source` is, or is the path of.

    Parameters
    ----------
    source : str, bytes, path or Description
        Path of a .urdf or .xacro file; or URDF text, which is bytes or a string with a "<" in it;
        or what this function returned.
    xacro_arguments : mapping of str to str, optional
        Values of arguments of a xacro file, by name.

    Raises
    ------
    ModelError
        If a file cannot be read or expanded.
    ArgumentError
        If there are arguments that the source does not take.
    """
    if isinstance(source, Description):
        return source
    if _is_path(source) and os.fsdecode(source).endswith(".xacro"):
        return _expand(os.fsdecode(source), xacro_arguments)
    description = _read(source)
    if xacro_arguments:
        raise ArgumentError(
            f"{description.name}: takes no xacro arguments, expected a file named .xacro"
        )
    return description


def _is_path(source: object) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(source, os.PathLike) or (isinstance(source, str) and "<" not in source)


def _read(source: str | bytes | os.PathLike[str]) -> Description:
    if _is_path(source):
        path = os.fsdecode(source)
        return Description(path, _read_file(path), None)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Description("<text>", bytes(source), None)
    if not isinstance(source, str):
        raise ArgumentError(
            f"source is of type {type(source).__name__}, expected the path of a URDF or its text"
        )
    try:
        return Description("<text>", source.encode(), "utf-8")
    except UnicodeEncodeError as error:
        raise ModelError(f"<text>: cannot be encoded: {error.reason}, expected Unicode") from None


def _expand(path: str, arguments: Mapping[str, str] | None) -> Description:
    # the xacro package would not name the file and line of a mistake
    parse(_read_file(path), "robot", ROBOT, path, None, xacro=True)
    return Description(path, expand_xacro(path, arguments).encode(), "utf-8")


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
