"""Reading constraints from a YAML file; every message names the file and the line.

.. code-block:: yaml

    left_wheel:            # the name of the constraint
      kind: rolling        # loop, rolling, coupling, lock, weld or contact
      wheel: left_wheel_link
      radius: 0.1
    gear:
      kind: coupling
      factors: {motor: 1.0, arm: -100.0}
      active: false
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from kane_dynamics.errors import ArgumentError, ModelError
from kane_dynamics.names import unknown_name
from kane_dynamics.robot.constraints import KINDS, Constraint, check_pressed

Read = TypeVar("Read")


def read_constraints(path: str | os.PathLike[str]) -> tuple[Constraint, ...]:
    """Return the constraints of a file.

    Raises
    ------
    ModelError
        If the file cannot be read, or says something that is no constraint; with file and line.
    """
    return _read(path, _Reader.constraints)


def blamed_on_file(path: str | os.PathLike[str], error: ArgumentError) -> ModelError:
    """The error about a constraint of a file, or what it is about, with file and line."""
    lines = _read(path, _Reader.lines)
    said = re.match(r"constraint '([^']*)'", str(error))
    line = "" if said is None or said[1] not in lines else f":{lines[said[1]]}"
    return ModelError(f"{os.fspath(path)}{line}: {error}")


def _read(path: str | os.PathLike[str], what: Callable[[_Reader, Any], Read]) -> Read:
    import yaml  # only who gives a file needs it

    try:
        with open(path, encoding="utf-8") as file:
            loader = yaml.SafeLoader(file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{os.fspath(path)}: cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise _malformed(path, error) from error
    try:
        root = loader.get_single_node()
        return what(_Reader(os.fspath(path), loader), root)
    except yaml.YAMLError as error:
        raise _malformed(path, error) from error
    except RecursionError:
        raise ModelError(f"{os.fspath(path)}: lists or mappings are nested too deeply") from None
    finally:
        loader.dispose()


def _malformed(path: str | os.PathLike[str], error: Any) -> ModelError:
    mark = getattr(error, "problem_mark", None)
    line = "" if mark is None else f":{mark.line + 1}"
    said = getattr(error, "problem", None) or str(error).splitlines()[0]
    return ModelError(f"{os.fspath(path)}{line}: no YAML: {said}")


class _Reader:
    """Makes constraints of the nodes of one file, which know their lines."""

    def __init__(self, path: str, loader: Any) -> None:
        self._path, self._loader = path, loader

    def constraints(self, root: Any) -> tuple[Constraint, ...]:
        if root is None:
            return ()
        entries = self._entries(root, "constraints by name")
        found = {name: self._constraint(name, node) for name, (_, node) in entries.items()}
        for name, (_, node) in entries.items():
            try:
                check_pressed(found[name], found)
            except ArgumentError as error:
                raise self._error(self._entries(node, "")["of"][1], str(error)) from error
        return tuple(found.values())

    def lines(self, root: Any) -> dict[str, int]:
        """In which line each constraint begins."""
        entries = self._entries(root, "constraints by name")
        return {name: place.start_mark.line + 1 for name, (place, _) in entries.items()}

    def _constraint(self, name: str, node: Any) -> Constraint:
        entries = self._entries(node, f"the fields of constraint {name!r}")
        if "kind" not in entries:
            raise self._error(node, f"constraint {name!r} has no kind, expected {self._kinds()}")
        kind = self._value(entries.pop("kind")[1])
        if not isinstance(kind, str) or kind not in KINDS:
            raise self._error(
                node, f"constraint {name!r}: kind is {kind!r}, expected {self._kinds()}"
            )
        made = KINDS[kind]
        known = {field.name: field for field in fields(made) if field.name != "name"}
        for key, (place, _) in entries.items():
            if key not in known:
                said = unknown_name(f"field of a {kind}", key, known)
                raise self._error(place, f"constraint {name!r}: {said}")
        for key, field in known.items():
            if field.default is MISSING and key not in entries:
                raise self._error(node, f"constraint {name!r}: {key} is missing")
        given = {key: self._value(value) for key, (_, value) in entries.items()}
        try:
            return made(name, **given)
        except ArgumentError as error:
            blamed = (value for key, (_, value) in entries.items() if f": {key} is" in str(error))
            raise self._error(next(blamed, node), str(error)) from error

    def _entries(self, node: Any, what: str) -> dict[str, tuple[Any, Any]]:
        """The nodes of keys and values of a mapping, by the names of the keys."""
        if node.id != "mapping":
            raise self._error(node, f"expected {what}, got a {node.id}")
        found: dict[str, tuple[Any, Any]] = {}
        for key, value in node.value:
            name = self._value(key)
            if not isinstance(name, str):
                raise self._error(key, f"{name!r} is no name")
            if name in found:
                raise self._error(key, f"{name!r} is there twice, expected once")
            found[name] = (key, value)
        return found

    def _value(self, node: Any) -> Any:
        try:
            return self._loader.construct_object(node, deep=True)
        except (ValueError, AttributeError, TypeError, LookupError, OverflowError) as error:
            kind = node.tag.rpartition(":")[2]  # which PyYAML takes for granted once it is said
            said = f"expected a value of the kind {kind!r}, as YAML writes it"
            raise self._error(node, said) from error

    def _error(self, node: Any, said: str) -> ModelError:
        return ModelError(f"{self._path}:{node.start_mark.line + 1}: {said}")

    @staticmethod
    def _kinds() -> str:
        return f"one of {', '.join(KINDS)}"
