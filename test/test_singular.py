"""Forward dynamics where it has no solution: a link is named, no NaN comes back."""

import numpy as np
import pytest

import kane_dynamics as kd

POINT_MASSES = """<robot name="r"><link name="base"/>
<link name="post"><inertial><origin xyz="0 0 1"/><mass value="1"/>
<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
<link name="boom"><inertial><origin xyz="1 0 0"/><mass value="1"/>
<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
<joint name="turn" type="continuous"><parent link="base"/><child link="post"/>
<axis xyz="0 0 1"/></joint>
<joint name="lift" type="continuous"><parent link="post"/><child link="boom"/>
<axis xyz="0 1 0"/></joint></robot>"""

MASSLESS_TIP = POINT_MASSES.replace('<link name="boom"><inertial>', '<link name="boom">').replace(
    """<origin xyz="1 0 0"/><mass value="1"/>
<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>""",
    "</link>",
)

BACKENDS = pytest.mark.parametrize("backend", ["auto", "numpy"])


@BACKENDS
def test_a_massless_tip_is_named(backend):
    arm = kd.load(MASSLESS_TIP, backend=backend, cache=False)
    with pytest.raises(kd.SingularError, match=r"link 'boom'.* joint 'lift'"):
        arm.forward_dynamics([0.1, 0.2], [0.0, 0.0], [1.0, 1.0])


@BACKENDS
def test_the_rest_of_a_robot_with_a_massless_tip_works(backend):
    arm = kd.load(MASSLESS_TIP, backend=backend, cache=False)
    assert np.isfinite(arm.inverse_dynamics([0.1, 0.2], [1.0, 1.0], [1.0, 1.0])).all()
    assert np.isfinite(arm.mass_matrix([0.1, 0.2])).all()


@BACKENDS
@pytest.mark.parametrize("many", [False, True])
def test_a_configuration_without_inertia_about_an_axis_is_named(backend, many):
    """The boom points up: nothing resists turning about the vertical."""
    arm = kd.load(POINT_MASSES, backend=backend, cache=False, gravity=(0, 0, 0))
    up = np.array([0.3, -np.pi / 2])
    states = np.array([[0.3, 0.0], up]) if many else up
    rest, push = np.zeros_like(states), np.ones_like(states)
    with pytest.raises(kd.SingularError, match=r"in this configuration: link 'post'"):
        arm.forward_dynamics(states, rest, push)


@BACKENDS
def test_arguments_that_overflow_are_refused(backend):
    arm = kd.load(POINT_MASSES, backend=backend, cache=False)
    with pytest.raises(kd.ArgumentError, match=r"not finite; .* up to 1e\+300"):
        arm.inverse_dynamics([0.3, 0.2], [1e300, 1e300], [0.0, 0.0])
