"""Dynamics in other processes and in containers: pickled, copied."""

import copy
import pickle
from pathlib import Path

import numpy as np
import sympy as sm
from mechanisms import four_bar, swinging_on_a_driven_pivot

import kane_dynamics as kd

URDF = Path(__file__).parent.parent / "urdf"


def test_a_pickled_or_copied_robot_computes_the_same():
    arm = kd.load(URDF / "stanford_arm.urdf", gravity=(0.0, 1.0, -9.0), joint_friction=False)
    q = np.linspace(0.1, 0.6, 6)
    expected = arm.gravity(q)
    for other in (pickle.loads(pickle.dumps(arm)), copy.deepcopy(arm)):
        assert other.joint_names == arm.joint_names
        np.testing.assert_array_equal(other.gravity(q), expected)


def test_systems_that_are_copied_or_pickled_say_the_same():
    for mechanism in (swinging_on_a_driven_pivot(), four_bar()):
        late = list(mechanism.constants)[:1]
        system = mechanism.system(backend="numpy", adjustable=late)
        for symbol in late:
            system.constants[symbol] = 3.5
        x = np.linspace(0.2, 1.2, system.nq + system.dof)
        fed = [0.5] * len(system.input_names)
        for other in (copy.deepcopy(system), pickle.loads(pickle.dumps(system))):
            np.testing.assert_array_equal(other.rhs(0.3, x, fed), system.rhs(0.3, x, fed))
    assert other.speed_names == system.speed_names


def test_constants_of_a_copy_are_its_own():
    system = swinging_on_a_driven_pivot().system(backend="numpy", adjustable=sm.symbols("m k"))
    other = pickle.loads(pickle.dumps(system))
    before, x = system.rhs(0.3, [0.2, 0.9, 0.1, 0.0]), [0.2, 0.9, 0.1, 0.0]
    other.constants[sm.Symbol("k")] = 50.0
    np.testing.assert_array_equal(system.rhs(0.3, x), before)
    assert (other.rhs(0.3, x) != before).any()
