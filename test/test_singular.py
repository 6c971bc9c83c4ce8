"""Forward dynamics where it has no solution: a link is named, no NaN comes back."""

from pathlib import Path

import numpy as np
import pytest
from formulations import FORMULATIONS, keep_to

import kane_dynamics as kd

URDF = Path(__file__).parent.parent / "urdf"

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
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_massless_tip_is_named(backend, formulation, monkeypatch):
    keep_to(formulation, monkeypatch)
    arm = kd.load(MASSLESS_TIP, backend=backend, cache=False)
    with pytest.raises(kd.SingularError, match=r"link 'boom'.* joint 'lift'"):
        arm.forward_dynamics([0.1, 0.2], [0.0, 0.0], [1.0, 1.0])


@BACKENDS
def test_the_rest_of_a_robot_with_a_massless_tip_works(backend):
    arm = kd.load(MASSLESS_TIP, backend=backend, cache=False)
    assert np.isfinite(arm.inverse_dynamics([0.1, 0.2], [1.0, 1.0], [1.0, 1.0])).all()
    assert np.isfinite(arm.mass_matrix([0.1, 0.2])).all()


@BACKENDS
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("many", [False, True])
def test_a_configuration_without_inertia_about_an_axis_is_named(
    backend, many, formulation, monkeypatch
):
    """The boom points up: nothing resists turning about the vertical."""
    keep_to(formulation, monkeypatch)
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


GIMBAL = """<robot name="gimbal"><link name="ground"/><link name="outer"/><link name="inner"/>
<link name="body"><inertial><origin xyz="0.1 0.05 0.02"/><mass value="1"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.015"/></inertial></link>
<joint name="yaw" type="continuous"><parent link="ground"/><child link="outer"/>
<axis xyz="0 0 1"/></joint>
<joint name="pitch" type="continuous"><parent link="outer"/><child link="inner"/>
<axis xyz="0 1 0"/></joint>
<joint name="roll" type="continuous"><parent link="inner"/><child link="body"/>
<axis xyz="0 0 1"/></joint></robot>"""


@BACKENDS
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("pitch", [0.0, np.pi, -np.pi])
def test_a_locked_gimbal_is_named_though_rounding_leaves_it_some_inertia(
    backend, pitch, formulation, monkeypatch
):
    keep_to(formulation, monkeypatch)
    arm = kd.load(GIMBAL, backend=backend, cache=False)
    rng = np.random.default_rng(0)
    for yaw, roll in rng.normal(size=(20, 2)):
        with pytest.raises(kd.SingularError, match="link 'outer'"):
            arm.forward_dynamics([yaw, pitch, roll], [0.0] * 3, [2.0, 1.0, 1.0])


@BACKENDS
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_gimbal_that_is_not_locked_has_accelerations(backend, formulation, monkeypatch):
    keep_to(formulation, monkeypatch)
    arm = kd.load(GIMBAL, backend=backend, cache=False)
    q, u, tau = np.array([[0.3, 0.5, 0.7], [0.1, -1.0, 0.2], [2.0, 1.0, 1.0]])
    udot = arm.forward_dynamics(q, u, tau)
    np.testing.assert_allclose(arm.inverse_dynamics(q, u, udot), tau, rtol=1e-11)


def test_robots_with_real_links_pay_nothing_for_that():
    arm = kd.load(URDF / "stanford_arm.urdf", cache=False)
    assert "?" not in arm.source("forward_dynamics")


@BACKENDS
@pytest.mark.filterwarnings("error")
def test_a_robot_with_a_doubtful_link_pays_a_product_a_sum_and_a_selection(backend):
    arm = kd.load(GIMBAL, backend=backend, cache=False)
    assert arm.source("forward_dynamics").count("?") == 1
    assert "sqrt" not in arm.source("forward_dynamics")
    names: dict = {}
    exec(arm.source("forward_dynamics", "python"), names)
    q, u, tau = np.array([[0.3, 0.5, 0.7], [0.1, -1.0, 0.2], [2.0, 1.0, 1.0]])
    found = names["forward_dynamics"](np.stack([q, 0 * q]), u, tau)
    np.testing.assert_allclose(found[0], arm.forward_dynamics(q, u, tau), rtol=1e-11)
    assert not np.isfinite(found[1]).all()
