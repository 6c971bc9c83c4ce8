"""Equations as text: C that compiles anywhere, Python that stands alone, LaTeX, and SymPy."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import sympy
from oracle import States, load, random_states, robot_path

import kane_dynamics as kd

CARTESIAN = """<robot name="cartesian"><link name="base"/>
<link name="x"><inertial><mass value="2"/></inertial></link>
<link name="y"><inertial><mass value="1"/></inertial></link>
<joint name="jx" type="prismatic"><parent link="base"/><child link="x"/><axis xyz="1 0 0"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/><dynamics damping="0.5" friction="0.2"/>
</joint><joint name="jy" type="prismatic"><parent link="x"/><child link="y"/><axis xyz="0 1 1"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""
"""A robot whose mass matrix and weights are the same everywhere."""

ROBOTS = {
    "two_link_arm": {},
    "stanford_arm": {},
    "ur5_robot": {"gravity": (1.0, 2.0, -9.0)},
    "panda": {},
    "solo12": {"base": "floating"},
    "cartesian": {},
}
FUNCTIONS = {
    "inverse_dynamics": ("q", "u", "udot"),
    "gravity": ("q",),
    "bias": ("q", "u"),
    "mass_matrix": ("q",),
    "forward_dynamics": ("q", "u", "udot"),
    "energy": ("q", "u"),
    "momentum": ("q", "u"),
    "pose": ("q",),
    "jacobian": ("q",),
}
every_robot = pytest.mark.parametrize("stem", ROBOTS)


def robot(stem: str) -> kd.Dynamics:
    """With friction, where the file has it."""
    source = CARTESIAN if stem == "cartesian" else robot_path(stem)
    return load(source, joint_friction=True, **ROBOTS[stem])


def link_for(arm: kd.Dynamics, name: str) -> str | None:
    return arm.link_names[-1] if name in ("pose", "jacobian") else None


def arguments(name: str, states: States) -> list[np.ndarray]:
    return [getattr(states, each) for each in FUNCTIONS[name]]


def result(arm: kd.Dynamics, name: str, given: list[np.ndarray]) -> np.ndarray:
    """What the robot itself computes, as one array."""
    link = link_for(arm, name)
    value = getattr(arm, name)(*([link] if link else []), *given)
    if name == "energy":
        return np.stack(value, axis=-1)
    return np.concatenate(value, axis=-1) if name == "momentum" else value


def assert_same(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * (np.abs(expected).max() or 1))


# -------------------------------------------------------------------------------------------- C
def compiled(arm: kd.Dynamics, directory: Path) -> ctypes.CDLL:
    """All functions of a robot, each a file of its own, by a compiler that forgives nothing."""
    files = []
    for name in FUNCTIONS:
        files.append(directory / f"{name}.c")
        files[-1].write_text(arm.source(name, "c", link_for(arm, name)))
    library = directory / "robot.so"
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wshadow", "-Wconversion"]
    command = ["cc", *strict, "-fPIC", "-shared", "-o", str(library), *map(str, files), "-lm"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr[:2000]
    return ctypes.CDLL(str(library))


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@every_robot
def test_c_source_compiles_without_a_warning_and_gives_the_same(stem: str, tmp_path: Path) -> None:
    arm = robot(stem)
    library = compiled(arm, tmp_path)
    states = random_states(arm, count=1)
    for name in FUNCTIONS:
        given = [each[0] for each in arguments(name, states)]
        expected = result(arm, name, given)
        out = np.full(expected.shape, np.nan)
        pointers = [each.ctypes.data_as(ctypes.c_void_p) for each in [*given, out]]
        getattr(library, name)(*pointers)
        assert_same(out, expected)


@every_robot
def test_c_source_has_no_state_and_asks_for_no_memory(stem: str) -> None:
    text = robot(stem).source("forward_dynamics", "c")
    assert not re.search(r"\b(malloc|calloc|free|printf)\b", text)
    assert not re.search(r"^static double \w+( =|;)", text, re.MULTILINE)
    assert set(re.findall(r"#include (\S+)", text)) <= {"<math.h>"}


def test_c_source_says_what_it_is() -> None:
    arm = robot("panda")
    heading = arm.source("inverse_dynamics", "c").partition("*/")[0]
    count = arm.operations("inverse_dynamics")
    for word in ["panda", *arm.joint_names, f"{count.multiplications} multiplications"]:
        assert word in heading


HOSTILE = """<robot name="{name}"><link name="base"/><link name="rod"><inertial>
<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{joint}" type="continuous"><parent link="base"/><child link="rod"/></joint></robot>"""


QUOTES = "&quot;&quot;&quot;"


@pytest.mark.parametrize(
    "name", ["*/ #error out */", f"{QUOTES}; raise SystemExit; {QUOTES}", r"\N{no} \x", "/*"]
)
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_name_in_the_robot_is_only_a_name(name: str, tmp_path: Path) -> None:
    arm = load(HOSTILE.format(name=name, joint=f"j{name}"), cache=False)
    namespace: dict = {}
    exec(arm.source("mass_matrix", "python"), namespace)
    assert namespace["mass_matrix"]([0.3]) == pytest.approx(np.array([[1.0]]))
    file = tmp_path / "named.c"
    file.write_text(arm.source("mass_matrix", "c"))
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    command = ["cc", *strict, "-c", "-o", str(tmp_path / "named.o"), str(file)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr[:2000]


# --------------------------------------------------------------------------------------- Python
@every_robot
@pytest.mark.parametrize("name", FUNCTIONS)
def test_python_source_stands_alone_and_gives_the_same(stem: str, name: str) -> None:
    arm = robot(stem)
    text = arm.source(name, "python", link_for(arm, name))
    assert re.findall(r"^(?:import|from) .*$", text, re.MULTILINE) == ["import numpy as np"]
    namespace: dict = {}
    exec(compile(text, f"{name}.py", "exec"), namespace)
    function = namespace[name]
    states = random_states(arm, count=7)
    batch = arguments(name, states)
    one = [each[0] for each in batch]
    assert_same(function(*one), result(arm, name, one))
    assert_same(function(*batch), result(arm, name, batch))
    assert_same(function(*(each.tolist() for each in one)), result(arm, name, one))
    mixed = [batch[0], *one[1:]]
    assert_same(function(*mixed), result(arm, name, mixed))


# ---------------------------------------------------------------------------------------- LaTeX
@every_robot
@pytest.mark.parametrize("name", FUNCTIONS)
def test_latex_is_balanced_and_defines_every_quantity_before_it_is_used(
    stem: str, name: str
) -> None:
    arm = robot(stem)
    text = arm.source(name, "latex", link_for(arm, name))
    lines = text.strip().splitlines()
    assert (lines[0], lines[-1]) == (r"\begin{align*}", r"\end{align*}")
    known: set[str] = set()
    for line in lines[1:-1]:
        left, equals, right = line.removesuffix(r"\\").partition("&=")
        assert equals
        assert right.strip()
        for opening, closing in ("{}", "()"):
            assert right.count(opening) == right.count(closing)
        assert "--" not in right.replace(" ", "").replace("+-", "")
        assert set(re.findall(r"\b([Zsc]_\{\d+\})", right)) <= known
        known.add(left.strip())
    size = result(arm, name, [each[0] for each in arguments(name, random_states(arm, 1))]).size
    assert len(known) == len(lines) - 2 >= size


def test_latex_introduces_the_quantities_z_of_the_papers() -> None:
    text = robot("stanford_arm").source("inverse_dynamics", "latex")
    assert r"Z_{1} &=" in text
    assert r"\dot{u}_{6}" in text
    assert r"\tau_{6} &=" in text


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no LaTeX")
def test_latex_compiles(tmp_path: Path) -> None:
    body = robot("stanford_arm").source("inverse_dynamics", "latex")
    document = "\\documentclass{article}\\usepackage{amsmath}\\allowdisplaybreaks\\begin{document}"
    (tmp_path / "arm.tex").write_text(f"{document}\n{body}\n\\end{{document}}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "arm.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)


# ---------------------------------------------------------------------------------------- SymPy
@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("two_link_arm", "forward_dynamics"),
        ("stanford_arm", "inverse_dynamics"),
        ("ur5_robot", "mass_matrix"),
        ("panda", "bias"),
        ("panda", "jacobian"),
        ("solo12", "momentum"),
        ("cartesian", "gravity"),
    ],
)
def test_sympy_equations_have_the_same_value(stem: str, name: str) -> None:
    arm = robot(stem)
    definitions, outputs = arm.equations(name, link_for(arm, name))
    given = [each[0] for each in arguments(name, random_states(arm, count=1))]
    names = ["tau" if (name, n) == ("forward_dynamics", "udot") else n for n in FUNCTIONS[name]]
    values = {
        sympy.Symbol(f"{symbol}{k + 1}", real=True): sympy.Float(number, 17)
        for symbol, numbers in zip(names, given, strict=True)
        for k, number in enumerate(numbers)
    }
    for quantity, definition in definitions:
        values[quantity] = definition.xreplace(values).evalf(17)
    found = np.array([float(output.xreplace(values)) for output in outputs])
    expected = result(arm, name, given)
    assert_same(found.reshape(expected.shape), expected)


# --------------------------------------------------------------------------------------- errors
def test_unknown_names_and_languages_are_refused() -> None:
    arm = robot("ur5_robot")
    for call in (arm.source, arm.operations, arm.equations):
        with pytest.raises(kd.ArgumentError, match="inverse_dynamics"):
            call("inverse_dynamic")
        with pytest.raises(kd.ArgumentError, match="wrench_forces"):
            call("wrench_forces")
        with pytest.raises(kd.ArgumentError, match="pose is about one link"):
            call("pose")
        with pytest.raises(kd.ArgumentError, match="gravity takes no link"):
            call("gravity", link="wrist_1_link")
        with pytest.raises(kd.ArgumentError, match="wrist_1_link"):
            call("jacobian", link="wrist_1")
    for language in ("fortran", "C", "", None):
        with pytest.raises(kd.ArgumentError, match="language must be"):
            arm.source("gravity", language)
