"""A simulated motion as a value: its table, its file, its picture."""

import dataclasses
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from oracle import BUNDLED, robot_path

import kane_dynamics as kd

ROOT = Path(__file__).parent.parent
PENDULUM = BUNDLED / "two_link_arm.urdf"
START = np.array([0.3, -1.1]), np.array([0.5, 1.5])


def python(text: str) -> subprocess.CompletedProcess[str]:
    """A Python process in the checkout."""
    return subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, cwd=ROOT, timeout=60.0
    )


@pytest.fixture(scope="module")
def motion() -> kd.Motion:
    arm = kd.load(PENDULUM)
    return arm.simulate(1.0, *START, lambda t, q, u: [np.sin(9 * t), -u[1]], output_step=0.01)


def test_a_motion_cannot_be_changed(motion: kd.Motion) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        motion.completed = False  # type: ignore[misc]


def test_a_motion_says_what_it_is(motion: kd.Motion) -> None:
    assert repr(motion) == "<Motion of 101 states to t = 1 s, completed>"
    assert len(motion) == 101
    assert motion.q.shape == motion.u.shape == motion.udot.shape == motion.tau.shape == (101, 2)
    assert motion.kinetic.shape == motion.potential.shape == motion.work.shape == (101,)


def test_energies_are_those_of_the_robot(motion: kd.Motion) -> None:
    kinetic, potential = kd.load(PENDULUM).energy(motion.q, motion.u)
    np.testing.assert_array_equal(motion.kinetic, kinetic)
    np.testing.assert_array_equal(motion.potential, potential)


def test_the_work_is_that_of_the_torques(motion: kd.Motion) -> None:
    power = np.einsum("ki,ki->k", motion.tau, motion.u)
    expected = np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2 * 0.01)])
    np.testing.assert_allclose(motion.work, expected, atol=2e-3)
    energy = motion.kinetic + motion.potential
    np.testing.assert_allclose(energy - energy[0], motion.work, atol=1e-7)


def test_the_table_names_its_columns(motion: kd.Motion) -> None:
    table = motion.to_array()
    symbols = ("q", "u", "udot", "tau")
    named = [f"{symbol}_{joint}" for symbol in symbols for joint in ("joint1", "joint2")]
    assert table.dtype.names == ("t", *named, "kinetic", "potential")
    assert table.shape == (101,)
    np.testing.assert_array_equal(table["tau_joint2"], motion.tau[:, 1])
    np.testing.assert_array_equal(table["t"], motion.t)


def test_a_csv_file_keeps_every_digit(motion: kd.Motion, tmp_path: Path) -> None:
    path = tmp_path / "motion.csv"
    motion.to_csv(path)
    table = motion.to_array()
    read = np.genfromtxt(path, delimiter=",", names=True, deletechars="")
    assert read.dtype.names == table.dtype.names
    np.testing.assert_array_equal(read, table)


def test_a_floating_base_has_columns_of_its_own(tmp_path: Path) -> None:
    robot = kd.load(robot_path("ur5_robot"), base="floating")
    q0 = np.array([0.0] * 6 + [1.0] + [0.1] * 6)
    motion = robot.simulate(0.01, q0, np.zeros(12))
    table = motion.to_array()
    assert "q_base.qw" in table.dtype.names
    assert "u_base.wz" in table.dtype.names
    np.testing.assert_array_equal(table["q_base.z"], motion.q[:, 2])


def test_a_plot_is_a_picture(motion: kd.Motion, tmp_path: Path) -> None:
    path = tmp_path / "motion.png"
    motion.plot(path)
    image = path.read_bytes()
    assert image.startswith(b"\x89PNG")
    assert len(image) > 20_000
    motion.plot(tmp_path / "motion.svg")
    text = (tmp_path / "motion.svg").read_text(encoding="utf-8")
    for said in ("joint1", "joint2", "position (rad)", "speed (rad/s)", "torque (N m)", "kinetic"):
        assert f"<!-- {said} -->" in text


@pytest.mark.filterwarnings("error")
def test_a_motion_of_one_state_can_be_plotted(tmp_path: Path) -> None:
    motion = kd.load(PENDULUM).simulate(1.0, *START, [1e300, 0.0])
    assert len(motion) == 1
    motion.plot(tmp_path / "motion.png")
    assert motion.checks.energy_error == 0.0


def test_a_joint_may_be_named_like_a_coordinate_of_the_base() -> None:
    text = robot_path("ur5_robot").read_text(encoding="utf-8").replace("wrist_3_joint", "base.x")
    robot = kd.load(text, base="floating")
    motion = robot.simulate(0.01, [0.0] * 6 + [1.0] + [0.1] * 6, np.zeros(12))
    table = motion.to_array()
    np.testing.assert_array_equal(table["q_base.x"], motion.q[:, 0])
    np.testing.assert_array_equal(table["q_base.x_2"], motion.q[:, -1])


def test_a_long_motion_is_written_in_blocks(tmp_path: Path) -> None:
    motion = kd.load(PENDULUM).simulate(40.0, *START)
    path = tmp_path / "motion.csv"
    tracemalloc.start()
    motion.to_csv(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 5e6
    read = np.loadtxt(path, delimiter=",", skiprows=1)
    np.testing.assert_array_equal(read[:, 1:3], motion.q)
    np.testing.assert_array_equal(read[:, -1], motion.potential)


@pytest.mark.filterwarnings("error")
def test_a_plot_names_joints_with_odd_names(tmp_path: Path) -> None:
    text = PENDULUM.read_text(encoding="utf-8")
    odd = text.replace("joint1", "_hidden").replace("joint2", "a$x^$")
    kd.load(odd).simulate(0.01, *START).plot(tmp_path / "motion.svg")
    drawn = (tmp_path / "motion.svg").read_text(encoding="utf-8")
    assert drawn.count("<!-- _hidden -->") == drawn.count("<!-- a$x^$ -->") == 1


@pytest.mark.filterwarnings("error")
def test_every_curve_of_a_humanoid_has_its_own_look_and_one_name(tmp_path: Path) -> None:
    talos = kd.load(robot_path("talos_full_v2"), base="floating")
    q = np.zeros(talos.nq)
    q[6] = 1.0
    motion = talos.simulate(0.01, q, np.zeros(talos.dof))
    motion.plot(tmp_path / "motion.svg")
    drawn = (tmp_path / "motion.svg").read_text(encoding="utf-8")
    for name in (*talos.joint_names, "base.x, base.vx", "base.qz, base.wz", "base.qw"):
        assert drawn.count(f"<!-- {name} -->") == 1


def test_a_plot_says_that_there_are_more_curves_than_looks(tmp_path: Path) -> None:
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        "</inertial>"
    )
    wheels = "".join(
        f'<link name="wheel{k}">{inertial}</link><joint name="hinge{k}" type="continuous">'
        f'<parent link="axle"/><child link="wheel{k}"/><axis xyz="0 0 1"/></joint>'
        for k in range(36)
    )
    robot = kd.load(f'<robot name="wheels"><link name="axle"/>{wheels}</robot>')
    robot.simulate(0.01, np.zeros(36), np.arange(36)).plot(tmp_path / "motion.svg")
    drawn = (tmp_path / "motion.svg").read_text(encoding="utf-8")
    assert "<!-- 36 curves, too many to be told apart; to_array() names them -->" in drawn
    assert "hinge0" not in drawn


def test_a_plot_says_what_it_needs() -> None:
    text = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import kane_dynamics as kd\n"
        f"motion = kd.load({str(PENDULUM)!r}).simulate(0.01, [0.0, 0.0], [0.0, 0.0])\n"
        "try:\n    motion.plot('motion.png')\n"
        "except kd.KaneDynamicsError as error:\n    print(error)"
    )
    done = python(text)
    assert done.stdout == "plot needs matplotlib; install it with pip install matplotlib\n"


def test_simulating_imports_neither_scipy_nor_matplotlib() -> None:
    text = (
        "import sys, kane_dynamics as kd\n"
        f"kd.load({str(PENDULUM)!r}).simulate(0.01, [0.0, 0.0], [0.0, 0.0]).checks\n"
        "print([name for name in ('scipy', 'sympy', 'matplotlib') if name in sys.modules])"
    )
    done = python(text)
    assert done.stdout == "[]\n", done.stderr
