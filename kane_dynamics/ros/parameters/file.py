"""The parameter file config/dynamics.yaml, as the table of settings gives it.

python -m kane_dynamics.ros.parameters.file > config/dynamics.yaml
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator

from kane_dynamics.ros.parameters.rows import Row
from kane_dynamics.ros.parameters.settings import TABLE

_HEAD = """\
# Parameters of the node kane_dynamics, with their defaults. "ros2 param describe" says the same.
# Those marked * are read at the start; the others can be changed while the node runs.
# An empty list of names is written [""].

/**:
  ros__parameters:
"""
_INDENT = "    "
_WIDTH = 100


def parameter_file() -> str:
    """Text of the file."""
    return _HEAD + "\n\n".join("\n".join(_block(row)) for row in TABLE.values()) + "\n"


def _block(row: Row) -> Iterator[str]:
    """The lines about a parameter."""
    if row.heading:
        yield from _comment(f"---- {row.heading}")
    mark = "* " if row.read_only else ""
    name = "" if row.filed else f"{row.name}, which is not set here. "
    first, *others = row.sentences()
    yield from _comment(mark + name + first)
    for other in others:
        yield from _comment(other)
    if row.filed:
        yield f"{_INDENT}{row.name}: {_value(row)}"


def _comment(text: str) -> list[str]:
    start = f"{_INDENT}# "
    return textwrap.wrap(
        text, _WIDTH, initial_indent=start, subsequent_indent=start, break_on_hyphens=False
    )


def _value(row: Row) -> str:
    """A default in YAML, of which JSON is a part; words stand without quotes."""
    default = row.written()
    return default if default and isinstance(default, str) else json.dumps(default)


if __name__ == "__main__":
    sys.stdout.write(parameter_file())
