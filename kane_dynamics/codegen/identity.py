"""What compiled code depends on besides its source: processor, interpreter, this package."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import sys
import sysconfig
from pathlib import Path

import numpy as np

_PACKAGE = Path(__file__).parent.parent
_AFTERWARDS = ("ros",)  # rooms that use equations and cannot change them
_PROCESSOR_FIELDS = ("vendor_id", "model name", "flags", "CPU implementer", "CPU part", "Features")


def digest(*parts: str) -> str:
    """Hexadecimal SHA-256 of texts, each set apart from the next."""
    sha = hashlib.sha256()
    for part in parts:
        content = part.encode()
        sha.update(f"{len(content)}:".encode())
        sha.update(content)
    return sha.hexdigest()


@functools.cache
def package_identity() -> str:
    """Digest of every file of this package, but for those that equations do not depend on."""
    left_out = {os.path.join(_PACKAGE, room) for room in _AFTERWARDS}
    files: list[Path] = []
    for folder, rooms, names in os.walk(_PACKAGE):
        rooms[:] = [
            room
            for room in rooms
            if room != "__pycache__" and os.path.join(folder, room) not in left_out
        ]
        files += [Path(folder, name) for name in names]
    sha = hashlib.sha256()
    for path in sorted(files):
        content = path.read_bytes()
        sha.update(f"{path.relative_to(_PACKAGE)} {len(content)}\n".encode())
        sha.update(content)
    return sha.hexdigest()


@functools.cache
def machine_identity() -> str:
    """Digest of the processor, whose instructions compiled code uses."""
    return digest(sys.platform, platform.machine(), *_processor())


@functools.cache
def interpreter_identity() -> str:
    """Digest of the interpreter's and NumPy's binary interfaces."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX") or ""
    return digest(sys.version, suffix, sys.base_prefix, np.__version__)


def _processor() -> list[str]:
    """The lines of /proc/cpuinfo that tell the first processor from others."""
    lines = []
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if not line.strip():
                    break
                if line.partition(":")[0].strip() in _PROCESSOR_FIELDS:
                    lines.append(line.strip())
    except OSError:
        return [platform.processor()]
    return lines
