"""The same torques whichever compiler makes them, and no fault that a sanitizer sees.

scripts/compilers tries all compilers, levels and relaxed flags; here it is some of them.
"""

import os
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WHOLE = "COMPILERS" in os.environ
LEVELS = ("-O0", "-O1", "-O2", "-O3")
RELAXED = (
    "-ffast-math",
    "-Ofast",
    "-funsafe-math-optimizations",
    "-fassociative-math -fno-signed-zeros -fno-trapping-math",
    "-freciprocal-math",
    "-ffinite-math-only",
    "-ffp-contract=off",
)
EVERY_DAY = {("gcc", "-O0"), ("clang", "-O2"), ("clang", "-ffast-math")}
ALL = list(product(("gcc", "clang"), (*LEVELS, *RELAXED)))
SANITIZERS = [("gcc", "address,undefined"), ("clang", "undefined")]

# Torques, accelerations, a batch and a motion, in a process that has nothing in its cache.
SCRIPT = """
import sys
import numpy as np
import kane_dynamics as kd

x = np.linspace(0.1, 0.6, 6)
found = []
for backend in ("c", "numpy"):
    arm = kd.load("urdf/stanford_arm.urdf", backend=backend, cache=False)
    tau = arm.inverse_dynamics(x, x, x)
    motion = arm.simulate(0.02, x, x, torque=tau, limits="ignore")
    many = np.linspace(0.0, 1.0, 7)[:, None] * x + 1.0
    found.append([tau, arm.forward_dynamics(x, x, tau), arm.mass_matrix(x),
                  arm.gravity(many), arm.inverse_dynamics(many, x, x), motion.q, motion.tau])
    assert arm.compiled == (backend == "c"), backend
    for wrong in ([np.nan] * 6, [1e400] * 6, [1.0] * 5, None):
        try:
            arm.gravity(wrong)
        except kd.ArgumentError:
            pass
        else:
            raise AssertionError(f"{wrong} is taken")
for a, b in zip(*found):
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
print("agree")
"""


def command(compiler: str, flags: str) -> str:
    found = shutil.which(compiler)
    if found is None:
        pytest.skip(f"{compiler} is not installed")
    return f"{found} {flags}"


def run(cc: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env={**os.environ, "CC": cc, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
    )


def with_level(tmp_path: Path, cc: str, level: str) -> str:
    """A compiler whose level is this one, whatever it is told."""
    path = tmp_path / "cc"
    path.write_text(
        "#!/bin/bash\nkept=()\nfor word; do "
        'case $word in -O?) ;; *) kept+=("$word") ;; esac; done\n'
        f'exec {cc} "${{kept[@]}}" {level}\n'
    )
    path.chmod(0o700)
    return str(path)


@pytest.mark.parametrize(
    ("compiler", "flags"), ALL if WHOLE else [each for each in ALL if each in EVERY_DAY]
)
def test_torques_do_not_depend_on_the_compiler(compiler: str, flags: str, tmp_path: Path) -> None:
    cc = command(compiler, "" if flags in LEVELS else flags)
    done = run(with_level(tmp_path, cc, flags) if flags in LEVELS else cc)
    assert (done.stdout, done.returncode) == ("agree\n", 0), done.stderr


def runtime(compiler: str, sanitizers: str) -> str:
    """The library of a sanitizer, which must be there before everything else."""
    if compiler != "gcc" or "address" not in sanitizers:
        return ""
    names = ("libasan.so", "libubsan.so")
    found = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in names
    ]
    return " ".join(found)


@pytest.mark.skipif(not WHOLE, reason="takes long: scripts/compilers")
@pytest.mark.parametrize(("compiler", "sanitizers"), SANITIZERS)
def test_sanitizers_find_nothing(compiler: str, sanitizers: str) -> None:
    flags = f"-fsanitize={sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1"
    if compiler == "clang":
        flags += " -fsanitize-trap=undefined"
    done = run(
        command(compiler, flags),
        LD_PRELOAD=runtime(compiler, sanitizers),
        ASAN_OPTIONS="detect_leaks=0",
        PYTHONMALLOC="malloc",
    )
    assert (done.stdout, done.returncode) == ("agree\n", 0), done.stderr[-3000:]


@pytest.mark.skipif(not WHOLE, reason="takes long: scripts/compilers")
def test_the_sanitizer_of_addresses_sees_what_compiled_code_does_wrong() -> None:
    """So that it would have been seen: a kernel whose inputs are too short."""
    done = subprocess.run(
        [sys.executable, "-c", SHORT],
        cwd=ROOT,
        env={
            **os.environ,
            "CC": command("gcc", "-fsanitize=address -fno-omit-frame-pointer -g1"),
            "LD_PRELOAD": runtime("gcc", "address"),
            "ASAN_OPTIONS": "detect_leaks=0",
            "PYTHONMALLOC": "malloc",
        },
        capture_output=True,
        text=True,
    )
    assert "AddressSanitizer" in done.stderr


SHORT = """
import ctypes
import numpy as np
from kane_dynamics.codegen.compiler import find_compiler
from kane_dynamics.codegen.shared_object import load_function

text = '__attribute__((visibility("default"))) double last(const double *x) { return x[4]; }'
place = load_function(find_compiler().compile(text, ["-O1"], "last"), "last")
short = np.zeros(4)
ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)(place)(short.ctypes.data)
"""
