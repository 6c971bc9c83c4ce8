"""Directories in which nobody but the user can put, change or replace anything."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

if os.name == "posix":
    import fcntl

_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)


def fault_of(directory: Path) -> str | None:
    """Why a directory is not private, in words that follow its name; None if it is.

    Whoever may write in a directory above it could put another one in its place, unless that one
    is sticky, like ``/tmp``.
    """
    status = directory.stat()
    if not stat.S_ISDIR(status.st_mode):
        return "is not a directory"
    # A link is as good as its target, unless somebody else has laid it.
    if not (_is_own(status) and _is_own(directory.lstat())):
        return "belongs to another user"
    if others_may_write(status):
        return "can be written by other users (chmod go-w mends that)"
    return replaceable(directory)


def replaceable(path: Path) -> str | None:
    """Why others could put something else in the place of a path, in words that follow its name."""
    for each in (path, Path(os.path.realpath(path))):
        for above in each.parents:
            if _others_may_replace(above.stat()):
                return f"could be replaced by other users, who may write in {above}"
    return None


def is_own_file(status: os.stat_result) -> bool:
    """Whether it is a file of the user's that nobody else may write."""
    return stat.S_ISREG(status.st_mode) and _is_own(status) and not others_may_write(status)


def others_may_write(status: os.stat_result) -> bool:
    return os.name == "posix" and bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


@contextlib.contextmanager
def opened(directory: Path) -> Iterator[int]:
    """A descriptor of a private directory: what is done relative to it is done in that one.

    Raises
    ------
    OSError
        If it cannot be opened, or is not the user's own any more.
    """
    descriptor = os.open(directory, _DIRECTORY)
    try:
        status = os.fstat(descriptor)
        if not _is_own(status) or others_may_write(status):
            raise PermissionError(f"{directory} is no longer private")
        yield descriptor
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> bool:
    """Whether a file is locked from now on, as long as it is open here; not if it is elsewhere."""
    if os.name != "posix":
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_own(status: os.stat_result) -> bool:
    return os.name != "posix" or status.st_uid == os.getuid()


def _others_may_replace(status: os.stat_result) -> bool:
    """Whether another user may rename what is in a directory; the superuser may anyway."""
    if os.name != "posix":
        return False
    foreign = status.st_uid not in (0, os.getuid())
    return foreign or (others_may_write(status) and not status.st_mode & stat.S_ISVTX)
