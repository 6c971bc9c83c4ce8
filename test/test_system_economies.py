"""What makes equations of SymPy models short: bodies taken together, points that are held."""

import numpy as np
import pytest
from mechanisms import carrier, four_bar, rolling_disk, sympy_rates

import kane_dynamics as kd


def bodies_with_mass(system: kd.System) -> set[int]:
    """How many nodes have a mass of their own, in each way the equations are written."""
    ways = system._equations.formulations
    return {sum(node.mass is not None for node in way.nodes) for way in ways}


@pytest.mark.parametrize("tilt", [0.0, 0.05])
def test_what_a_body_carries_is_taken_together_with_it(tilt: float) -> None:
    mechanism = carrier(tilt)
    system = mechanism.system(backend="numpy")
    x = np.array([0.3, 0.5, -0.4, 0.7, -0.2, 2.0])
    np.testing.assert_allclose(
        system.rhs(0.0, x, [0.8]), sympy_rates(mechanism, 0.0, x, [0.8]), rtol=1e-11
    )
    # an unbalanced wheel turns with a mass of its own
    assert min(bodies_with_mass(system)) == (1 if tilt == 0.0 else 2)


def test_taken_together_or_not_momentum_and_energy_are_the_same() -> None:
    system = carrier().system(backend="numpy")
    state = {"q": [0.3, 0.5, -0.4], "u": [0.7, -0.2, 2.0]}
    from kane_dynamics.symbolic.evaluate import evaluations

    kinetic = [way.kinetic for way in system._equations.formulations]
    (values,) = evaluations(kinetic, [state])
    np.testing.assert_allclose(values, values[0], rtol=1e-13)
    x = np.concatenate([state["q"], state["u"]])
    assert system.energy(0.0, x, [0.0]).kinetic == pytest.approx(values[0])


def test_the_point_that_closes_a_loop_is_found() -> None:
    closed, disk = four_bar().system(backend="numpy"), rolling_disk().system(backend="numpy")
    held = [each._reading.closure for each in (closed, disk)]
    assert [str(each.point) for each in held] == ["P2", "contact"]
    assert [each.kept for each in held] == [(), ()]
