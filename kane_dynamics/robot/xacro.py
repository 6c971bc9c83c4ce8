"""Xacro files to URDF text, with the xacro package, which is optional."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from threading import Lock
from typing import Any
from xml.dom.expatbuilder import ExpatBuilderNS

from kane_dynamics.errors import ModelError

_logger = logging.getLogger("kane_dynamics")

# the xacro package keeps the files and macros it works on in global variables
_one_at_a_time = Lock()


def expand_xacro(path: str) -> str:
    """Return the URDF text that a xacro file stands for, its arguments at their defaults.

    A xacro file is a program: it reads other files and evaluates expressions. What it says
    goes to the log. Document types are refused, in the files it includes, too.

    Raises
    ------
    ModelError
        If the xacro package is missing, or the file cannot be expanded.
    """
    try:
        import xacro  # type: ignore[import-untyped]
    except ImportError:
        raise ModelError(
            f"{path}: is a xacro file, expected the Python package xacro to be installed"
            " (pip install xacro, or the ROS package xacro)"
        ) from None
    said = StringIO()
    with _one_at_a_time, redirect_stdout(said), redirect_stderr(said), _no_doctype(xacro):
        try:
            document = xacro.process_file(path)
            text: str = document.toxml()
        except ModelError:
            raise
        except Exception as error:  # whatever an expression in the file raises
            cause = " ".join(str(error).split()) or type(error).__name__
            raise ModelError(f"{path}: xacro cannot expand it: {cause}") from error
    for line in said.getvalue().splitlines():
        _logger.info("%s: xacro: %s", path, line)
    return text


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
