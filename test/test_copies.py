"""Dynamics in other processes and in containers: pickled, copied."""

import copy
import pickle
from pathlib import Path

import numpy as np

import kane_dynamics as kd

URDF = Path(__file__).parent.parent / "urdf"


def test_a_pickled_or_copied_robot_computes_the_same():
    arm = kd.load(URDF / "stanford_arm.urdf", gravity=(0.0, 1.0, -9.0), joint_friction=False)
    q = np.linspace(0.1, 0.6, 6)
    expected = arm.gravity(q)
    for other in (pickle.loads(pickle.dumps(arm)), copy.deepcopy(arm)):
        assert other.joint_names == arm.joint_names
        np.testing.assert_array_equal(other.gravity(q), expected)
