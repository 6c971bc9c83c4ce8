"""The path on which processes of tests find what they import."""

import os
from pathlib import Path


def python_path(*places: Path | str) -> str:
    """Places before those of the environment, where a sourced workspace has its packages."""
    present = os.environ.get("PYTHONPATH")
    return os.pathsep.join([*map(str, places), *([present] if present else [])])
