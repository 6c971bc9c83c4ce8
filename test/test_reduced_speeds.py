"""The column reduction of Maher and Samak on their floating chain, and on robots."""

import itertools
import subprocess
import sys
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest
from oracle import load, random_states, robot_path

import kane_dynamics as kd
from kane_dynamics.codegen import compile_program
from kane_dynamics.kane.speeds import Vanished, column_reduction
from kane_dynamics.kane.tree.singular import generic_configurations
from kane_dynamics.kane.tree.speeds import torques_body_by_body, velocity_matrix
from kane_dynamics.symbolic.evaluate import evaluate
from kane_dynamics.symbolic.graph import Graph
from kane_dynamics.symbolic.program import Input, Program, Signature

EXAMPLE = Path(__file__).parent.parent / "examples" / "floating_chain.py"
CHAIN = kd.load(run_path(str(EXAMPLE))["chain"](), base="floating", backend="numpy")

S1, S2, S3, S4, S5, S6 = [0, 1, 2], [3, 4, 5], [6], [7], [8], [9]
GROUPS = [S1, S2, S3, S4, S5, S6]

EQUATION_7 = """
I . . . . .
. I . . . .
I d u . . .
. I . . . .
I d u . . .
. I . u . .
I d u d . .
. I . u u .
I d u d d u
. I . u u .
"""
"""Rows are velocity and angular velocity of body after body, columns s1 to s6."""

EQUATION_8 = """
I . . . . .
. I . . . .
I d u . . .
. I . . . .
I d u . . .
. I . u . .
I d u d . .
. I . . u .
I d . d d u
. I . . u .
"""


def pattern(text: str) -> np.ndarray:
    return np.array([[entry != "." for entry in line.split()] for line in text.split("\n") if line])


def reduced(arm: kd.Dynamics):
    """The graph with the matrices before and after."""
    equations = arm._functions.equations
    graph = Graph()
    q = graph.inputs("q", arm.nq)
    A = velocity_matrix(graph, equations.framed, q)
    rows = [range(3 * k, 3 * k + 3) for k in range(2 * len(equations.framed))]
    points = [{"q": q} for q in itertools.islice(generic_configurations(arm.tree), 3)]
    return graph, q, A, rows, points


def nonzero(matrix: list, rows: list, graph: Graph) -> np.ndarray:
    return np.array(
        [
            [any(matrix[i][j] is not graph.zero for i in block for j in group) for group in GROUPS]
            for block in rows
        ]
    )


def test_the_chain_of_the_paper_has_its_matrix_its_zeros_and_its_speeds() -> None:
    graph, _, A, rows, points = reduced(CHAIN)
    np.testing.assert_array_equal(nonzero(A, rows, graph), pattern(EQUATION_7))
    B, T, vanished = column_reduction(graph, A, rows, GROUPS, points)
    np.testing.assert_array_equal(nonzero(B, rows, graph), pattern(EQUATION_8))
    # the paper counts from one
    assert sorted((b + 1, c + 1) for b, c in vanished) == [(8, 4), (9, 3), (10, 4)]
    expected = np.eye(10)
    expected[8, 7] = expected[9, 6] = 1.0  # s5* = s4 + s5, s6* = s3 + s6
    np.testing.assert_array_equal(T, expected)


def test_the_report_says_what_the_paper_says() -> None:
    found = CHAIN.reduced_speeds()
    assert found.speeds["q4*"] == {"q3": 1.0, "q4": 1.0}
    assert found.speeds["q5*"] == {"q2": 1.0, "q5": 1.0}
    assert found.speeds["q3*"] == {"q3": 1.0}
    assert set(found.vanished) == {
        Vanished("body4", "angular velocity", "q3"),
        Vanished("body5", "velocity", "q2"),
        Vanished("body5", "angular velocity", "q3"),
    }
    assert found.after.total < found.before.total
    assert "q4* = q3 + q4" in str(found)


@pytest.mark.parametrize("stem", ["chain", "ur5_robot", "panda", "stanford_arm"])
def test_the_matrix_is_b_times_t_and_torques_are_the_same_in_both_sets_of_speeds(
    stem: str,
) -> None:
    arm = CHAIN if stem == "chain" else load(robot_path(stem))
    equations = arm._functions.equations
    graph, q, A, rows, points = reduced(arm)
    found = arm.reduced_speeds()
    groups = GROUPS if stem == "chain" else [[k] for k in range(arm.dof)]
    B, T, _ = column_reduction(graph, A, rows, groups, points)
    np.testing.assert_array_equal(T, found.T)
    states = random_states(arm, 2)
    s, sdot = graph.inputs("s", arm.dof), graph.inputs("sdot", arm.dof)
    torques = torques_body_by_body(
        graph, equations.framed, equations.gravity_vector, q, B, T, s, sdot
    )
    for at, u, udot in zip(states.q, states.u, states.udot):
        before = np.reshape(evaluate([e for row in A for e in row], {"q": at}), (-1, arm.dof))
        after = np.reshape(evaluate([e for row in B for e in row], {"q": at}), (-1, arm.dof))
        np.testing.assert_allclose(after @ T, before, atol=1e-9)
        given = {"q": at, "s": T @ u, "sdot": T @ udot}
        tau = arm.inverse_dynamics(at, u, udot)
        np.testing.assert_allclose(T.T @ np.array(evaluate(torques, given)), tau, atol=1e-8)


def test_the_motion_of_the_chain_is_the_same_in_both_sets_of_speeds() -> None:
    """Runge-Kutta on Kane's equations in the reduced speeds, formed from B, beside `simulate`."""
    n, equations = CHAIN.dof, CHAIN._functions.equations
    T = CHAIN.reduced_speeds().T
    inputs = Input("q", CHAIN.nq), Input("s", n), Input("sdot", n)
    declared = Signature("kane", inputs, (n,), (("q", 3),))

    def make() -> Program:
        graph, q, A, rows, points = reduced(CHAIN)
        B = column_reduction(graph, A, rows, GROUPS, points).B
        s, sdot = graph.inputs("s", n), graph.inputs("sdot", n)
        gravity = equations.gravity_vector
        outputs = torques_body_by_body(graph, equations.framed, gravity, q, B, T, s, sdot)
        return Program(declared, tuple(outputs))

    forces = compile_program("chain", make, declared, "numpy", cache=False)
    rates = CHAIN._functions.function("coordinate_rates")
    trials = np.vstack([np.zeros(n), np.eye(n)])

    def slopes(q: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q = q.copy()
        q[3:7] /= np.linalg.norm(q[3:7])
        rest, *columns = forces(q, s, trials)
        sdot = np.linalg.solve(np.column_stack(columns) - rest[:, None], -rest)
        return rates(q, np.linalg.solve(T, s)), sdot

    start = random_states(CHAIN, 1, seed=3)
    q, s, h = start.q[0], T @ start.u[0], 1e-3
    motion = CHAIN.simulate(0.1, start.q[0], start.u[0], step=h)
    for _ in range(100):
        k1 = slopes(q, s)
        k2 = slopes(q + h / 2 * k1[0], s + h / 2 * k1[1])
        k3 = slopes(q + h / 2 * k2[0], s + h / 2 * k2[1])
        k4 = slopes(q + h * k3[0], s + h * k3[1])
        q, s = (
            x + h / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip((q, s), k1, k2, k3, k4)
        )
    np.testing.assert_allclose(q, motion.q[-1], atol=1e-8)
    np.testing.assert_allclose(np.linalg.solve(T, s), motion.u[-1], atol=1e-7)


def test_the_example_prints_the_speeds_of_the_paper() -> None:
    shown = subprocess.run(
        [sys.executable, EXAMPLE], capture_output=True, text=True, check=True
    ).stdout
    assert "q4* = q3 + q4\nq5* = q2 + q5\n" in shown
    assert "zero: velocity of body5 for q2*" in shown


def test_parallel_axes_of_an_arm_give_the_sum_of_their_speeds() -> None:
    found = load(robot_path("ur5_robot")).reduced_speeds()
    assert found.speeds["elbow_joint*"] == {"shoulder_lift_joint": 1.0, "elbow_joint": 1.0}
    assert "shoulder_lift_joint" not in found.speeds["wrist_2_joint*"]
    assert found.after.total < found.before.total


def test_nothing_is_found_where_nothing_is_parallel() -> None:
    arm = load(robot_path("panda"), locked={"panda_finger_joint1": 0.0})
    found = arm.reduced_speeds()
    np.testing.assert_array_equal(found.T, np.eye(7))
    assert found.vanished == ()
    assert found.before == found.after


def test_a_multiple_is_taken_only_where_more_becomes_zero() -> None:
    graph = Graph()
    (x,) = graph.inputs("x", 1)
    zero, one = graph.zero, graph.one
    points = [{"x": [value]} for value in (0.3, 0.7, 1.9)]
    # The ratio depends on x: no constant makes anything vanish.
    B, T, vanished = column_reduction(graph, [[x, one]], [[0]], [[0], [1]], points)
    assert (T.tolist(), vanished) == (np.eye(2).tolist(), [])
    # One element would vanish, another would arise.
    A = [[x + x, x], [zero, one]]
    _, T, vanished = column_reduction(graph, A, [[0], [1]], [[0], [1]], points)
    assert (T.tolist(), vanished) == (np.eye(2).tolist(), [])
    # Twice the last column is the first, in both rows.
    A = [[x + x, x], [2.0 * one, one]]
    B, T, vanished = column_reduction(graph, A, [[0], [1]], [[0], [1]], points)
    assert T.tolist() == [[1.0, 0.0], [2.0, 1.0]]
    assert B[0][0] is B[1][0] is zero
    assert vanished == [(0, 0), (1, 0)]
