"""Xacro files to URDF text, with the xacro package, which is optional."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from threading import Lock
from typing import Any
from xml.dom.expatbuilder import ExpatBuilderNS

from kane_dynamics.errors import ArgumentError, ModelError

_logger = logging.getLogger("kane_dynamics")

# the xacro package keeps the files and macros it works on in global variables
_one_at_a_time = Lock()


def read_arguments(text: str) -> dict[str, str]:
    """Return the arguments, by name, that are written as on the command line of xacro.

    Raises
    ------
    ArgumentError
        If a word is not of the form name:=value, or a name is there twice.

    Examples
    --------
    >>> read_arguments("mass:=2.0 side:='upper left'")
    {'mass': '2.0', 'side': 'upper left'}
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ArgumentError(f"xacro_args: {text!r} has {str(error).lower()}") from None
    arguments: dict[str, str] = {}
    for word in words:
        name, assigned, value = word.partition(":=")
        if not (name and assigned):
            raise ArgumentError(f"xacro_args: {word!r} is no argument, expected name:=value")
        if name in arguments:
            raise ArgumentError(f"xacro_args: {name!r} is given twice, expected one value")
        arguments[name] = value
    return arguments


def expand_xacro(path: str, given: Mapping[str, str] | None = None) -> str:
    """Return the URDF text that a xacro file stands for.

    A xacro file is a program: it reads other files and evaluates expressions. What it says
    goes to the log. Document types are refused, in the files it includes, too.

    Parameters
    ----------
    path : str
    given : mapping of str to str, optional
        Values of its arguments by name; the others have their defaults.

    Raises
    ------
    ModelError
        If the xacro package is missing, or the file cannot be expanded.
    ArgumentError
        If an argument is given that the file does not ask for.
    """
    try:
        import xacro  # type: ignore[import-untyped]
    except ImportError:
        raise ModelError(
            f"{path}: is a xacro file, expected the Python package xacro to be installed"
            " (pip install xacro, or the ROS package xacro)"
        ) from None
    arguments, said = _Arguments(given or {}), StringIO()
    with _one_at_a_time, redirect_stdout(said), redirect_stderr(said), _no_doctype(xacro):
        try:
            document = xacro.process_file(path, mappings=arguments)
            text: str = document.toxml()
        except ModelError:
            raise
        except Exception as error:  # whatever an expression in the file raises
            cause = " ".join(str(error).split()) or type(error).__name__
            raise ModelError(f"{path}: xacro cannot expand it: {cause}") from error
    for line in said.getvalue().splitlines():
        _logger.info("%s: xacro: %s", path, line)
    for name in given or {}:
        if name not in arguments.asked_for:
            known = ", ".join(map(repr, arguments.asked_for))
            expected = f"some of {known}" if known else "none"
            raise ArgumentError(f"{path}: takes no argument {name!r}, expected {expected}")
    return text


class _Arguments(dict[str, str]):
    """Values of arguments, and the names of those that a xacro file asked for."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self.asked_for: dict[object, None] = {}

    def __contains__(self, name: object) -> bool:
        self.asked_for[name] = None
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.asked_for[name] = None
        return super().__getitem__(name)


@contextmanager
def _no_doctype(xacro: Any) -> Iterator[None]:
    """Have the xacro package, which cannot be told to, refuse document types in all files."""
    original = xacro.parse

    def parse(inp: Any, filename: str | None = None) -> Any:
        if inp is not None or filename is None:
            return original(inp, filename)
        path = os.path.join(xacro.root_dir, filename)
        try:
            file = open(path)  # noqa: SIM115
        except OSError:
            return original(inp, filename)  # it says so in its own way
        with file:
            return _Builder(path).parseFile(file)

    xacro.parse = parse
    try:
        yield
    finally:
        xacro.parse = original


class _Builder(ExpatBuilderNS):
    """Builds the document that the xacro package works on."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def start_doctype_decl_handler(self, name: str, *_: object) -> None:
        raise ModelError(
            f"{self.path}: declares the document type {name!r}, expected no <!DOCTYPE> in a xacro"
        )
