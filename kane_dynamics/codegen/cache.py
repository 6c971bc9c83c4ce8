"""The cache on disk: checked bytes under a key, and never a reason to fail.

An entry is one file: a line of JSON that says what follows, then the content. It appears under its
name whole or not at all, and what does not match its own first line is as good as absent. That line
proves that an entry is whole, not where it comes from: what is trusted is that nobody but the user
can write in the directory (`private`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Union

from kane_dynamics.codegen.notice import warn_once
from kane_dynamics.codegen.private import fault_of, is_own_file, lock, opened
from kane_dynamics.errors import ArgumentError

FORMAT = "kane_dynamics cache 1"

BUDGET = 512 * 2**20
"""Bytes that all entries may take; beyond, those unused for longest are removed."""

CacheChoice = Union[bool, str, "os.PathLike[str]"]

_ENTRY = re.compile(r"[0-9a-f]{64}\.entry")
_UNFINISHED = ".unfinished-"
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True)
class Cache:
    """Entries in a directory; without a directory nothing is kept.

    Attributes
    ----------
    directory : Path or None
        A directory that belongs to the user and that nobody else can write.
    """

    directory: Path | None

    @property
    def writable(self) -> bool:
        """Whether something can be stored."""
        return self.directory is not None and os.access(self.directory, os.W_OK | os.X_OK)

    def read(self, key: str) -> bytes | None:
        """The content stored under a key; ``None`` when there is none that can be trusted."""
        if self.directory is None:
            return None
        try:
            with opened(self.directory) as place:
                return _read_entry(place, key)
        except OSError:
            return None

    def write(self, key: str, content: bytes) -> None:
        """Store content under a key; where that fails, one warning is all that happens."""
        if self.directory is None:
            return
        first = json.dumps(_header(key, content)).encode()
        try:
            with opened(self.directory) as place:
                entry = first + b"\n" + content
                try:
                    _write_whole(place, f"{key}.entry", entry)
                except FileNotFoundError:  # taken for an abandoned one before it was locked
                    _write_whole(place, f"{key}.entry", entry)
                _prune(place)
        except OSError as error:
            warn_once(
                f"cache {self.directory}",
                f"the cache {self.directory} cannot be written: {error.strerror or error}; "
                "compiled functions are not kept",
            )


def open_cache(choice: CacheChoice) -> Cache:
    """The cache a user asks for.

    Parameters
    ----------
    choice : bool or path
        True for ``kane_dynamics`` in ``$XDG_CACHE_HOME`` or ``~/.cache``; a directory, made when
        it does not exist; False to keep nothing.

    Returns
    -------
    Cache
        Without a directory if the one asked for cannot be made or is not safe; the reason is
        logged once.

    Raises
    ------
    ArgumentError
        If `choice` is neither.
    """
    check_choice(choice)
    if choice is False:
        return Cache(None)
    try:
        named = _standard_directory() if isinstance(choice, bool) else Path(choice)
        directory = named.expanduser().absolute()
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=0o700, parents=True)
        fault = fault_of(directory)
        if fault is None:
            return Cache(directory)
        fault = f"the cache {directory} {fault}"
    except (OSError, RuntimeError) as error:
        fault = f"the cache cannot be used: {error}"
    warn_once(f"cache {choice}", f"{fault}; compiled functions are not kept")
    return Cache(None)


def check_choice(choice: CacheChoice) -> None:
    """Raise ArgumentError if `choice` is nothing that `open_cache` takes."""
    if not (isinstance(choice, bool) or _names_a_file(choice)):
        raise ArgumentError(f"cache must be True, False or a directory, got {choice!r}")


def _names_a_file(choice: object) -> bool:
    """Whether it is text, or stands for text, that can be the name of a file."""
    if not isinstance(choice, (str, os.PathLike)):
        return False
    try:
        name = os.fspath(choice)
        return isinstance(name, str) and name != "" and b"\0" not in os.fsencode(name)
    except (TypeError, UnicodeEncodeError):
        return False


def _standard_directory() -> Path:
    """``kane_dynamics`` in the user's cache directory; a relative one is to be ignored (XDG)."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".cache") / "kane_dynamics"


def _header(key: str, content: bytes) -> dict[str, str]:
    return {"format": FORMAT, "key": key, "sha256": hashlib.sha256(content).hexdigest()}


def _read_entry(place: int, key: str) -> bytes | None:
    """The content of an entry that is the user's own and matches its header."""
    with open(os.open(f"{key}.entry", _READ, dir_fd=place), "rb") as file:
        status = os.fstat(file.fileno())
        if not is_own_file(status) or status.st_size > BUDGET:
            return None
        first, _, content = file.read().partition(b"\n")
        try:
            genuine = json.loads(first) == _header(key, content)
        except (ValueError, RecursionError):
            genuine = False
        if not genuine:
            return None
        with contextlib.suppress(OSError):
            os.utime(f"{key}.entry", dir_fd=place, follow_symlinks=False)
        return content


def _write_whole(place: int, name: str, entry: bytes) -> None:
    """Write under another name, then rename: readers see all of it or nothing.

    A lock says that somebody is at it, and ends with the process, however that ends.
    """
    unfinished = f"{_UNFINISHED}{secrets.token_hex(8)}"
    descriptor = os.open(unfinished, _WRITE, 0o600, dir_fd=place)
    try:
        with open(descriptor, "wb") as file:
            lock(descriptor)
            file.write(entry)
            file.flush()
            os.replace(unfinished, name, src_dir_fd=place, dst_dir_fd=place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(unfinished, dir_fd=place)
        raise


def _remove_abandoned(place: int, name: str) -> None:
    """Remove an unfinished entry that nobody is writing any more."""
    with contextlib.suppress(OSError):
        descriptor = os.open(name, _READ, dir_fd=place)
        try:
            if lock(descriptor):
                os.unlink(name, dir_fd=place)
        finally:
            os.close(descriptor)


def _prune(place: int) -> None:
    """Remove abandoned files, and the entries unused for longest beyond the budget."""
    entries: list[tuple[float, int, str]] = []
    with os.scandir(place) as files:
        for file in files:
            with contextlib.suppress(FileNotFoundError):
                status = file.stat(follow_symlinks=False)
                if _ENTRY.fullmatch(file.name):
                    age = time.time() - status.st_mtime
                    entries.append((age, status.st_size, file.name))
                elif file.name.startswith(_UNFINISHED):
                    _remove_abandoned(place, file.name)
    excess = sum(size for _, size, _ in entries) - BUDGET
    for _, size, name in sorted(entries, reverse=True):
        if excess <= 0:
            break
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=place)
        excess -= size
