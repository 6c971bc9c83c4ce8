"""Compilers that relax floating point: told not to, refused, or found out."""

import logging
import stat
from pathlib import Path

import numpy as np
import pytest
from oracle import BUNDLED
from random_programs import random_program

import kane_dynamics as kd
from kane_dynamics.codegen import notice
from kane_dynamics.codegen.body_c import body
from kane_dynamics.codegen.trial import try_out, with_trial

ARM = BUNDLED / "stanford_arm.urdf"
RELAXED = (
    "-ffast-math",
    "-Ofast",
    "-funsafe-math-optimizations",
    "-fassociative-math -fno-signed-zeros -fno-trapping-math",
    "-freciprocal-math",
    "-ffinite-math-only",
)
STATE = np.linspace(0.1, 0.6, 6)

DISGUISE = "\n".join(
    f"-U{name}"
    for name in (
        "__FAST_MATH__",
        "__ASSOCIATIVE_MATH__",
        "__RECIPROCAL_MATH__",
        "__FINITE_MATH_ONLY__",
    )
)


def torques(many: bool) -> np.ndarray:
    arm = kd.load(ARM, cache=False)
    return arm.inverse_dynamics(np.tile(STATE, (5, 1)) if many else STATE, STATE, STATE)


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    return kd.load(ARM, backend="numpy", cache=False).inverse_dynamics(STATE, STATE, STATE)


@pytest.fixture
def secretly_relaxed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler that relaxes floating point whatever it is told, and does not say so."""
    compiler = tmp_path / "cc"
    compiler.write_text(
        "#!/bin/bash\nkept=()\n"
        'for word in "$@"; do case $word in\n'
        "-fno-fast-math | -fno-unsafe* | -fno-associative* | -fno-finite* | -fsigned-zeros) ;;\n"
        '*) kept+=("$word") ;;\nesac; done\n'
        f'exec cc "${{kept[@]}}" -ffast-math {" ".join(DISGUISE.split())}\n'
    )
    compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setattr(notice, "_given", set())
    return compiler


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("flags", RELAXED)
def test_flags_that_relax_floating_point_do_nothing(
    flags: str, many: bool, expected: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", f"cc {flags}")
    assert np.abs(torques(many) - expected).max() < 1e-12


@pytest.mark.parametrize("many", [False, True])
def test_code_that_computes_something_else_is_not_used(
    many: bool,
    expected: np.ndarray,
    secretly_relaxed: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        assert np.abs(torques(many) - expected).max() < 1e-12
    assert "the compiler makes inverse_dynamics give" in caplog.text
    assert "NumPy is used instead" in caplog.text


def test_loading_such_code_does_not_change_how_others_compute(secretly_relaxed: Path) -> None:
    torques(many=False)
    assert np.finfo(np.float64).tiny / 2.0 > 0.0
    assert np.nextafter(0.0, 1.0) * 1.0 > 0.0


def test_a_robot_whose_compiler_computes_something_else_is_not_compiled(
    secretly_relaxed: Path,
) -> None:
    assert not kd.load(ARM, cache=False).compiled


def test_code_that_computes_something_else_is_an_error_where_c_is_asked_for(
    secretly_relaxed: Path,
) -> None:
    with pytest.raises(kd.CompileError, match="-ffast-math"):
        kd.load(ARM, backend="c", cache=False).inverse_dynamics(STATE, STATE, STATE)


def test_code_that_computes_something_else_is_not_kept(
    secretly_relaxed: Path, tmp_path: Path
) -> None:
    arm = kd.load(ARM, cache=tmp_path / "cache")
    arm.inverse_dynamics(STATE, STATE, STATE)
    kept = [path.read_bytes() for path in (tmp_path / "cache").glob("*.entry")]
    assert not any(b"kane_state" in entry and b"\x7fELF" in entry for entry in kept)


def test_text_without_a_trial_is_not_trusted() -> None:
    program = random_program(1)
    with pytest.raises(kd.CompileError, match="has no trial"):
        try_out(body(program), program.signature, "state", 0)
    assert with_trial(body(program), program).startswith(body(program))
