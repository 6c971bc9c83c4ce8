"""The cache on disk: what is trusted, what is not, and that it never stands in the way."""

import errno
import fcntl
import logging
import os
import resource
import shutil
import stat
import subprocess
from pathlib import Path

import numpy as np
import pytest
from random_programs import random_program

from kane_dynamics.codegen import cache as cache_module
from kane_dynamics.codegen import compile_program, notice
from kane_dynamics.codegen.cache import Cache, open_cache
from kane_dynamics.errors import ArgumentError

KEY, OTHER = "a" * 64, "b" * 64
CONTENT = bytes(range(256)) * 3

as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")


@pytest.fixture
def warnings(monkeypatch, caplog):
    """Warnings of this test, as if none had been given before."""
    monkeypatch.setattr(notice, "_given", set())
    caplog.set_level(logging.WARNING, "kane_dynamics")
    return caplog


@pytest.fixture
def kept(tmp_path):
    """A cache with one entry."""
    kept = open_cache(tmp_path / "cache")
    kept.write(KEY, CONTENT)
    assert kept.read(KEY) == CONTENT
    return kept


def entry(kept: Cache, key=KEY) -> Path:
    return kept.directory / f"{key}.entry"


def works(cache) -> bool:
    """Whether a function comes out right, both forms of it."""
    program = random_program(0)
    arguments = [np.linspace(0.1, 0.9, each.size) for each in program.inputs]
    make = lambda: program  # noqa: E731
    expected = compile_program("", make, program.signature, "numpy", False)(*arguments)
    function = compile_program("", make, program.signature, "c", cache)
    many = function(*(np.stack([x, x]) for x in arguments))
    return np.allclose(function(*arguments), expected) and np.allclose(many, [expected] * 2)


# ------------------------------------------------------------------------------------- entries
def test_other_keys_hold_nothing(kept):
    assert kept.read(OTHER) is None


def test_the_last_content_written_is_read(kept):
    for content in (b"", b"\n", b"new"):
        kept.write(KEY, content)
        assert kept.read(KEY) == content


def test_an_altered_byte_is_noticed_wherever_it_is(kept):
    path = entry(kept)
    whole = path.read_bytes()
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        assert kept.read(KEY) is None
    path.write_bytes(whole)
    assert kept.read(KEY) == CONTENT


def test_a_truncated_or_extended_entry_is_noticed(kept):
    path = entry(kept)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert kept.read(KEY) is None
    path.write_bytes(whole + b"\0")
    assert kept.read(KEY) is None


@pytest.mark.parametrize("first", [b"[]", b"null", b"[" * 100_000, b"\xff", b'{"format": 1}'])
def test_a_foreign_header_is_noticed(kept, first):
    entry(kept).write_bytes(first + b"\n" + CONTENT)
    assert kept.read(KEY) is None


def test_an_entry_under_another_name_is_not_taken(kept):
    shutil.copy(entry(kept), entry(kept, OTHER))
    assert kept.read(OTHER) is None


def test_an_entry_of_another_format_is_not_taken(kept, monkeypatch):
    monkeypatch.setattr(cache_module, "FORMAT", "kane_dynamics cache 2")
    assert kept.read(KEY) is None


def test_a_link_is_neither_followed_nor_written_through(kept, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    entry(kept).rename(elsewhere)
    entry(kept).symlink_to(elsewhere)
    assert kept.read(KEY) is None
    before = elsewhere.read_bytes()
    kept.write(KEY, b"new")
    assert elsewhere.read_bytes() == before
    assert not entry(kept).is_symlink()
    assert kept.read(KEY) == b"new"


def test_things_that_are_no_files_are_not_read(kept, warnings):
    entry(kept).unlink()
    os.mkfifo(entry(kept))
    assert kept.read(KEY) is None
    entry(kept).unlink()
    entry(kept).mkdir()
    assert kept.read(KEY) is None
    kept.write(KEY, CONTENT)
    assert "cannot be written" in warnings.text
    assert kept.read(KEY) is None


def test_an_entry_that_others_can_write_is_not_taken(kept):
    for mode in (0o620, 0o602):
        entry(kept).chmod(mode)
        assert kept.read(KEY) is None
    entry(kept).chmod(0o644)
    assert kept.read(KEY) == CONTENT


@as_root
def test_an_entry_of_another_user_is_not_taken(kept):
    os.chown(entry(kept), 12345, -1)
    assert kept.read(KEY) is None


def test_entries_are_private(kept):
    assert stat.S_IMODE(entry(kept).stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.directory.stat().st_mode) == 0o700


# ----------------------------------------------------------------------------------- directories
def test_the_standard_directory_follows_xdg(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert open_cache(True).directory == tmp_path / "xdg" / "kane_dynamics"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for ignored in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert open_cache(True).directory == tmp_path / "home" / ".cache" / "kane_dynamics"


def test_without_a_cache_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert works(False)
    assert list(tmp_path.iterdir()) == []


class Named:
    def __init__(self, name):
        self.name = name

    def __fspath__(self):
        return self.name


@pytest.mark.parametrize(
    "choice",
    [None, 1, "", b"bytes", "a\0b", "lone \ud800", Path("a\0b"), Named(b"bytes"), Named(1)],
    ids=lambda choice: type(choice).__name__,
)
def test_what_is_no_directory_name_is_refused(choice):
    with pytest.raises(ArgumentError, match="cache must be True, False or a directory"):
        open_cache(choice)


def test_a_link_to_a_directory_of_ones_own_is_taken(tmp_path):
    (tmp_path / "disk").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    assert open_cache(tmp_path / "link").directory == tmp_path / "link"


def unusable(tmp_path: Path, how: str) -> Path:
    path = tmp_path / "cache"
    if how in ("file", "beneath a file"):
        path.write_text("not a directory")
        return path / "deeper" if how == "beneath a file" else path
    if how == "dangling link":
        path.symlink_to(tmp_path / "nowhere")
        return path
    if how == "in a directory open to all":
        (tmp_path / "above" / "cache").mkdir(mode=0o700, parents=True)
        (tmp_path / "above").chmod(0o777)
        return tmp_path / "above" / "cache"
    path.mkdir(mode=0o700)
    if how == "open to all":
        path.chmod(0o777)
    elif how == "open to a group":
        path.chmod(0o770)
    elif how == "of another user":
        os.chown(path, 12345, -1)
    else:
        (tmp_path / "link").symlink_to(path)
        os.chown(tmp_path / "link", 12345, -1, follow_symlinks=False)
        return tmp_path / "link"
    return path


@pytest.mark.parametrize(
    "how",
    [
        "file",
        "beneath a file",
        "dangling link",
        "open to all",
        "open to a group",
        "in a directory open to all",
        pytest.param("of another user", marks=as_root),
        pytest.param("behind a link of another user", marks=as_root),
    ],
)
def test_an_unusable_directory_costs_one_warning_and_nothing_else(tmp_path, warnings, how):
    path = unusable(tmp_path, how)
    before = sorted(tmp_path.rglob("*"))
    assert works(path)
    assert works(path)
    (record,) = warnings.records
    assert "compiled functions are not kept" in record.message
    assert sorted(tmp_path.rglob("*")) == before


def test_a_directory_in_one_where_only_owners_may_rename_is_taken(tmp_path):
    (tmp_path / "above" / "cache").mkdir(mode=0o700, parents=True)
    (tmp_path / "above").chmod(0o1777)  # as /tmp
    assert open_cache(tmp_path / "above" / "cache").directory is not None


def test_a_directory_that_others_have_opened_since_is_not_read(kept):
    kept.directory.chmod(0o777)
    assert kept.read(KEY) is None
    kept.directory.chmod(0o700)
    assert kept.read(KEY) == CONTENT


@as_root
def test_a_directory_that_was_replaced_by_another_users_is_not_read(kept):
    os.chown(kept.directory, 12345, -1)
    assert kept.read(KEY) is None


# ------------------------------------------------------------------------------- trouble on disk
def test_a_full_disk_costs_one_warning(tmp_path, warnings, monkeypatch):
    real = os.open

    def full(path, flags, *rest, **more):
        if flags & os.O_CREAT and "dir_fd" in more:  # as only the cache does
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", full)
    assert works(tmp_path)
    (record,) = warnings.records
    assert "No space left on device" in record.message


def test_a_disk_that_fills_up_while_writing_leaves_the_entry_as_it_was(kept, warnings):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        kept.write(KEY, b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "cannot be written" in warnings.text
    assert kept.read(KEY) == CONTENT
    assert [path.name for path in kept.directory.iterdir()] == [f"{KEY}.entry"]


@pytest.fixture
def read_only(tmp_path):
    """A directory that nobody, not even root, can write."""
    path = tmp_path / "read-only"
    path.mkdir(mode=0o700)
    if os.getuid() != 0:
        path.chmod(0o500)
        yield path
        path.chmod(0o700)
        return
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "ro,mode=700,size=1m", "tmpfs", path], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("root can write everywhere, and cannot mount here")
    yield path
    subprocess.run(["umount", path], check=True)


def test_a_read_only_directory_costs_one_warning(read_only, warnings):
    assert works(read_only)
    assert len(warnings.records) == 1


# ---------------------------------------------------------------------------------------- growth
def test_entries_unused_for_longest_go_first(tmp_path, monkeypatch):
    kept = open_cache(tmp_path)
    keys = [f"{number:064x}" for number in range(6)]
    for age, key in enumerate(reversed(keys[:5]), 1):
        kept.write(key, b"x" * 1000)
        os.utime(entry(kept, key), (1e9 - age, 1e9 - age))
    assert kept.read(keys[0]) is not None  # which makes it the last used
    monkeypatch.setattr(cache_module, "BUDGET", 4 * entry(kept, keys[0]).stat().st_size)
    kept.write(keys[5], b"x" * 1000)
    assert [key for key in keys if kept.read(key)] == [keys[0], keys[3], keys[4], keys[5]]


def test_files_of_others_in_the_directory_are_left_alone(tmp_path, monkeypatch):
    strange = [tmp_path / name for name in ("notes.txt", "x.entry", f"{KEY}.entry.bak", ".hidden")]
    for path in strange:
        path.write_text("mine")
        os.utime(path, (0, 0))
    monkeypatch.setattr(cache_module, "BUDGET", 1)
    open_cache(tmp_path).write(KEY, CONTENT)
    assert all(path.read_text() == "mine" for path in strange)


def test_what_a_killed_process_left_is_removed_by_the_next(kept):
    old, new = kept.directory / ".unfinished-old", kept.directory / ".unfinished-new"
    for path in (old, new):
        path.write_bytes(b"half an ent")
    with new.open("rb") as writing:
        fcntl.flock(writing, fcntl.LOCK_EX)  # as who is still at it does
        kept.write(OTHER, CONTENT)
        assert not old.exists()
        assert new.exists()
    kept.write(OTHER, CONTENT)
    assert not new.exists()
