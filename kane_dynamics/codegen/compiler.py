"""The machine's C compiler: finding it, knowing it again, and running it."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kane_dynamics.codegen.private import replaceable
from kane_dynamics.errors import CompileError

if os.name == "posix":  # elsewhere nothing is compiled
    import fcntl

TIME_LIMIT = 300.0
"""Seconds after which a compilation is given up."""

_FLAGS = (
    "-std=gnu11",
    "-fPIC",
    "-shared",
    "-pipe",
    "-w",
    "-fvisibility=hidden",
    # Whatever the command itself says, rounding is that of the standard; but for products that are
    # rounded once, with the sum they are part of.
    "-fno-fast-math",
    "-fno-unsafe-math-optimizations",
    "-fno-associative-math",
    "-fno-reciprocal-math",
    "-fno-finite-math-only",
    "-fsigned-zeros",
    "-fno-math-errno",
    "-ffp-contract=fast",
)
# Extensions find the interpreter's functions when they are loaded.
_PLATFORM_FLAGS = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()
_NATIVE = "-march=native"
_PREFIX = "kane_dynamics-compiles-"


@dataclass(frozen=True)
class Compiler:
    """A C compiler: the words of its command, the first of them an absolute path."""

    command: tuple[str, ...]

    @property
    def identity(self) -> str:
        """What changes when the compiler changes; found without running it."""
        parts = [repr(self.command)]
        for word in self.command:
            found = shutil.which(word)
            if found:
                path = os.path.realpath(found)
                try:
                    status = os.stat(path)
                except OSError as error:
                    raise CompileError(f"the compiler {path} is not there: {error}") from error
                parts.append(f"{path} {status.st_size} {status.st_mtime_ns}")
        return "\n".join(parts)

    def compile(self, source: str, flags: Sequence[str], name: str) -> bytes:
        """The shared object made from C text.

        Parameters
        ----------
        source : str
            Complete C text.
        flags : sequence of str
            Flags of the compiler, besides those for a shared object of this machine.
        name : str
            What is compiled, for messages.

        Raises
        ------
        CompileError
            If the compiler cannot be run, fails, or takes longer than `TIME_LIMIT` seconds.
        """
        try:
            with _temporary_directory() as directory:
                text = Path(directory, "source.c")
                text.write_text(source, encoding="utf-8")
                result = Path(directory, "result.so")
                command = [*self.command, *_FLAGS, *_PLATFORM_FLAGS, *flags]
                files = ["-o", str(result), str(text), "-lm"]
                failure = _run([*command, _NATIVE, *files], directory)
                if failure is not None and "-march" in failure:
                    failure = _run([*command, *files], directory)
                if failure is not None:
                    raise CompileError(f"{self.command[0]} could not compile {name}: {failure}")
                return result.read_bytes()
        except OSError as error:
            raise CompileError(f"{self.command[0]} could not compile {name}: {error}") from error


def source_text(path: Path) -> str:
    """The text of a C file of this package.

    Raises
    ------
    CompileError
        If it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CompileError(f"{path} cannot be read: {error.strerror or error}") from error


def find_compiler() -> Compiler | None:
    """The compiler named by ``$CC``, else cc, gcc or clang on the path; ``None`` without one."""
    if os.name != "posix":
        return None
    named = os.environ.get("CC", "").strip()
    try:
        choices = [shlex.split(named)] if named else [["cc"], ["gcc"], ["clang"]]
    except ValueError:
        return None
    for words in choices:
        found = shutil.which(words[0])
        if found:
            return Compiler((os.path.abspath(found), *words[1:]))
    return None


def missing_compiler() -> str:
    """Why there is no compiler, and what to do."""
    named = os.environ.get("CC", "").strip()
    if named:
        return f"the C compiler that $CC names, {named!r}, was not found"
    return "no C compiler (cc, gcc or clang) was found on the path; install one, such as gcc"


def python_headers() -> Path | None:
    """The directory of ``Python.h``, ``None`` where it is not installed."""
    directory = Path(sysconfig.get_path("include"))
    return directory if os.path.isfile(directory / "Python.h") else None


@contextlib.contextmanager
def _temporary_directory() -> Iterator[str]:
    """A directory of one's own; those whose owners were killed are removed before."""
    # tempfile.TemporaryDirectory would also be removed by a forked child, when that ends.
    _remove_abandoned_once()
    directory, descriptor = _locked_directory()
    try:
        yield directory
    finally:
        _remove(directory)
        with contextlib.suppress(OSError):
            os.close(descriptor)


def _remove(directory: str | Path) -> None:
    """Remove a directory, also one that a compiler whose owner was killed still writes into."""
    for _ in range(2):
        with contextlib.suppress(OSError):
            shutil.rmtree(directory)


def _locked_directory() -> tuple[str, int]:
    """A new directory, and the descriptor that holds its lock as long as this process lives."""
    while True:
        directory = tempfile.mkdtemp(prefix=_PREFIX)
        try:
            fault = replaceable(Path(directory))
        except OSError:
            os.rmdir(directory)
            raise
        if fault is not None:
            os.rmdir(directory)
            raise CompileError(
                f"the temporary directory {directory} {fault}: make that sticky (chmod +t), or set "
                "TMPDIR to another one"
            )
        try:
            descriptor = os.open(directory, os.O_RDONLY)
        except FileNotFoundError:  # taken for an abandoned one
            continue
        except OSError:
            os.rmdir(directory)
            raise
        with contextlib.suppress(OSError):  # where nothing can be locked, nobody takes it for that
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.path.exists(directory):
            return directory, descriptor
        shutil.rmtree(directory, ignore_errors=True)
        os.close(descriptor)


def remove_abandoned() -> None:
    """Remove directories of compilations whose process is gone, as one is that had to be killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(descriptor).st_uid == os.getuid():
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while it is used
                    _remove(path)
            finally:
                os.close(descriptor)


_remove_abandoned_once = functools.cache(remove_abandoned)
"""At the first compilation of a process."""


def _run(command: Sequence[str], directory: str) -> str | None:
    """Run the compiler; its first message on failure, ``None`` on success."""
    process = subprocess.Popen(
        command,
        cwd=directory,
        env={**os.environ, "LC_ALL": "C", "TMPDIR": directory},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        _, messages = process.communicate(timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        _stop(process)
        return f"it took longer than {TIME_LIMIT:g} s"
    except BaseException:
        _stop(process)
        raise
    return None if process.returncode == 0 else _first_message(messages, process.returncode)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the compiler with the processes it has started, which share its process group."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _first_message(messages: bytes, returncode: int) -> str:
    lines = [line for line in messages.decode(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line]
    return (errors or lines or [f"it ended with status {returncode}"])[0].strip()
