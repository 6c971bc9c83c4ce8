"""A parameter file of a user, looked at before a node is started with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.parameters.rows import NUMBERS
from kane_dynamics.ros.parameters.settings import TABLE, checked

_NAMES = ("kane_dynamics", "*", "**")


def check_parameter_file(path: str) -> None:
    """Raise ArgumentError if there is no such file, or what it gives to the node is wrong.

    The node would say so, too. But launch starts it without a file that is not there, and with one
    that is wrong again and again.
    """
    if not Path(path).is_file():
        raise ArgumentError(f"config: {path!r} is no file, expected the path of a parameter file")
    try:
        for name, value in _given("", yaml.safe_load(Path(path).read_bytes())):
            checked(name, value)
    except ArgumentError as error:
        raise ArgumentError(f"config: {path}: {error}") from None
    except (OSError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())
        raise ArgumentError(f"config: {path} cannot be read: {said}") from None


def _given(node: str, document: Any) -> Iterator[tuple[str, Any]]:
    """Parameters of this node, by its name or by a wildcard, in whatever namespace."""
    if not isinstance(document, (dict, type(None))):
        where = f"of {node}" if node else "there"
        raise ArgumentError(f"{document!r} is no parameter {where}, expected ros__parameters")
    for key, value in (document or {}).items():
        if key != "ros__parameters":
            yield from _given(str(key), value)
        elif node.rpartition("/")[2] in _NAMES and isinstance(value, dict):
            yield from ((name, _read(name, value[name])) for name in TABLE if name in value)


def _read(name: str, value: Any) -> Any:
    """A value as ROS reads it: 1e3 is a number, which PyYAML takes for text."""
    if isinstance(value, list):
        return [_read(name, each) for each in value]
    try:
        numbers = TABLE[name].kind in (float, int, NUMBERS)
        return float(value) if numbers and isinstance(value, str) else value
    except ValueError:
        return value
