"""Equations written straight as expressions: all that is made of them, and nothing of robots."""

import subprocess
import sys

import numpy as np
import pytest

from kane_dynamics.codegen.functions import Functions
from kane_dynamics.errors import ArgumentError, ModelError
from kane_dynamics.kane.equations import Equations, Given, rated_coordinates
from kane_dynamics.simulation.request import Request
from kane_dynamics.simulation.simulate import simulate
from kane_dynamics.symbolic.graph import Expr

CART, BOB, LENGTH, G = 2.0, 0.5, 0.8, 9.81


class CartPendulum(Equations):
    """A pendulum on a cart; the second speed is the bob's velocity across the rod."""

    name = "cart"
    coordinate_names = ("x", "angle")
    speed_names = ("v", "w")

    def coordinate_rates(self, given: Given) -> list[Expr]:
        (v, w), cos = given["u"], given.graph.cos(given["q"][1])
        return [v, (w - v * cos) / LENGTH]

    def mass_matrix(self, given: Given) -> list[Expr]:
        sin = given.graph.sin(given["q"][1])
        zero = given.graph.zero
        return [CART + BOB * (sin * sin), zero, zero, given.graph.constant(BOB)]

    def bias(self, given: Given) -> list[Expr]:
        v, w = given["u"]
        sin, cos = given.graph.sin(given["q"][1]), given.graph.cos(given["q"][1])
        rate = self.coordinate_rates(given)[1]
        along = rate * (v * cos - w) - G * cos  # the rod; the other one across
        return [BOB * (sin * along), BOB * (G * sin + v * sin * rate)]

    def potential(self, given: Given) -> Expr:
        return -BOB * G * LENGTH * given.graph.cos(given["q"][1])


def reference(q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """udot by way of x and the angle, whose equations every textbook has."""
    x_rate, (_, a) = u[0], q
    sin, cos = np.sin(a), np.cos(a)
    rate = (u[1] - x_rate * cos) / LENGTH
    M = np.array([[CART + BOB, BOB * LENGTH * cos], [BOB * LENGTH * cos, BOB * LENGTH**2]])
    # virtual power: tau . (v, w), with w = x_rate cos + LENGTH rate
    forces = np.array([tau[0] + tau[1] * cos, tau[1] * LENGTH])
    rest = np.array([-BOB * LENGTH * sin * rate**2, BOB * G * LENGTH * sin])
    x, angle = np.linalg.solve(M, forces - rest)
    return np.array([x, x * cos - x_rate * sin * rate + LENGTH * angle])


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_mechanism_written_by_hand_gets_its_functions(backend: str) -> None:
    functions = Functions(CartPendulum(), backend, cache=False)
    random = np.random.default_rng(1)
    q, u, tau = random.normal(size=(3, 20, 2))
    udot = functions.function("forward_dynamics")(q, u, tau)
    expected = [reference(*each) for each in zip(q, u, tau)]
    np.testing.assert_allclose(udot, expected, rtol=1e-12, atol=1e-12)
    back = functions.function("inverse_dynamics")(q, u, udot)
    np.testing.assert_allclose(back, tau, rtol=1e-12, atol=1e-12)


def test_a_mechanism_written_by_hand_can_be_counted_and_printed() -> None:
    functions = Functions(CartPendulum())
    assert functions.operations("mass_matrix").total == 3
    assert "void forward_dynamics" in functions.source("forward_dynamics", "c")
    assert "cart" in functions.source("bias", "python")
    assert r"\dot{u}" in functions.source("forward_dynamics", "latex")
    replacements, outputs = functions.sympy("coordinate_rates")
    assert len(outputs) == 2
    assert replacements is not None


def test_a_speed_that_is_no_rate_has_no_coordinate() -> None:
    assert rated_coordinates(CartPendulum()) == (0, None)


def test_other_numbers_make_another_key() -> None:
    class Longer(CartPendulum):
        def bias(self, given: Given) -> list[Expr]:
            return [2.0 * each for each in super().bias(given)]

    assert CartPendulum().key == CartPendulum().key
    assert CartPendulum().key != Longer().key


def test_programs_that_do_not_fit_are_refused() -> None:
    class TooFew(CartPendulum):
        def mass_matrix(self, given: Given) -> list[Expr]:
            return super().mass_matrix(given)[:3]

    with pytest.raises(ModelError, match="cart: mass_matrix has 3 expressions, expected 2 x 2"):
        Functions(TooFew()).program("mass_matrix")


def test_missing_rates_of_coordinates_are_refused() -> None:
    class NoRate(CartPendulum):
        def coordinate_rates(self, given: Given) -> list[Expr]:
            return [given["u"][0]]

    with pytest.raises(ModelError, match=r"coordinate_rates has 1 expressions.*x, angle"):
        Functions(NoRate()).program("coordinate_rates")


def test_a_program_that_does_not_exist_is_named() -> None:
    with pytest.raises(ArgumentError, match="there is no function 'momentum'"):
        Functions(CartPendulum()).function("momentum")
    with pytest.raises(ArgumentError, match="bias takes no link"):
        Functions(CartPendulum()).function("bias", "bob")


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_a_mechanism_written_by_hand_is_simulated(method: str) -> None:
    request = Request(2.0, [0.0, 1.2], [0.3, -0.5], method=method, tolerance=1e-12)
    motions = [
        simulate(Functions(CartPendulum(), backend, cache=False), request, {})
        for backend in ("c", "numpy")
    ]
    for motion in motions:
        assert motion.completed
        assert motion.checks.relative_energy_error < 1e-9
        assert motion.checks.round_trip_error < 1e-12
        rate = (motion.u[:, 1] - motion.u[:, 0] * np.cos(motion.q[:, 1])) / LENGTH
        slope = np.gradient(motion.q[:, 1], motion.t, edge_order=2)
        np.testing.assert_allclose(slope, rate, atol=1e-4)
    for name in ("q", "u", "udot"):
        ours, other = (getattr(motion, name) for motion in motions)
        np.testing.assert_allclose(ours, other, rtol=1e-10, atol=1e-10)


def test_the_first_speed_of_a_mechanism_written_by_hand_feels_friction_and_stops() -> None:
    class Rough(CartPendulum):
        friction = (3.0, 0.0)

        @property
        def smooth(self) -> Equations:
            return CartPendulum()

    options = {"torque": [20.0, 0.0], "limits": "stop"}
    for backend in ("c", "numpy"):
        functions = Functions(Rough(), backend, cache=False)
        still = simulate(functions, Request(0.5, [0.0, 0.05], [0.0, 0.0]), {})
        assert not still.u[:, 0].any()
        assert still.checks.relative_energy_error < 1e-9
        pushed = Request(5.0, [0.0, 0.0], [0.0, 0.0], **options)
        motion = simulate(functions, pushed, {"v": (-1.0, 0.5)})
        assert motion.message.startswith("'v' reached its upper limit 0.5 at t = ")
        assert motion.q[-1, 0] == pytest.approx(0.5, abs=1e-12)
        assert motion.checks.relative_energy_error < 1e-9


def test_nothing_of_robots_is_imported() -> None:
    text = (
        "import sys, kane_dynamics.codegen.functions, kane_dynamics.simulation.simulate; "
        "print([name for name in sys.modules if name.startswith('kane_dynamics.robot')])"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
