"""Xacro files to URDF text, with the xacro package, which is optional."""

from __future__ import annotations

import logging
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from threading import Lock

from kane_dynamics.errors import ModelError

_logger = logging.getLogger("kane_dynamics")

# the xacro package keeps the files and macros it works on in global variables
_one_at_a_time = Lock()


def expand_xacro(path: str) -> str:
    """Return the URDF text that a xacro file stands for, its arguments at their defaults.

    A xacro file is a program: it reads other files and evaluates expressions. What it says
    goes to the log.

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
    with _one_at_a_time, redirect_stdout(said), redirect_stderr(said):
        try:
            document = xacro.process_file(path)
            text: str = document.toxml()
        except Exception as error:  # whatever an expression in the file raises
            cause = " ".join(str(error).split()) or type(error).__name__
            raise ModelError(f"{path}: xacro cannot expand it: {cause}") from error
    for line in said.getvalue().splitlines():
        _logger.info("%s: xacro: %s", path, line)
    return text
