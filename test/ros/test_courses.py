"""The efforts of a trajectory, at its points and between them, and what limits make of them."""

from typing import Any

import numpy as np
import pytest
from robot_graph import STANFORD, TWO_LINK, limited_arm

from kane_dynamics.ros.faults import Fault
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.model import Model, load_model
from kane_dynamics.ros.trajectories.efforts import Course, course_of
from kane_dynamics.ros.trajectories.plans import Plan, plan_for
from kane_dynamics.ros.trajectories.points import Points
from kane_dynamics.simulation.trajectory import Sample

POLICIES = pytest.mark.parametrize("limits", ["warn", "clamp", "reject"])


@pytest.fixture(scope="module")
def arm() -> Model:
    return load_model(TWO_LINK.read_text(), Settings(backend="numpy"))


@pytest.fixture(scope="module")
def stanford() -> Model:
    return load_model(STANFORD.read_text(), Settings(backend="numpy"))


class Nobody:
    trips = True

    def state(self, *_: object) -> None:
        """See nothing."""

    def over(self, sentence: str = "") -> None:
        """Hear nothing."""


def planned(model: Model, start: Any, times: Any, positions: Any, *more: Any) -> Plan:
    points = Points(
        model.joint_names,
        np.arange(len(model.joint_names)),
        np.array(times, dtype=float),
        np.array(positions, dtype=float),
        *(more or (None, None)),
    )
    rest = np.zeros(len(model.joint_names))
    begin = 1000 * SECOND
    return plan_for(points, begin, begin, model, Sample(np.array(start), rest, rest), Nobody())


def course(plan: Plan, model: Model, **settings: Any) -> Course:
    return course_of(plan, model, Settings(**settings))


# ------------------------------------------------------------------------------- points between
@pytest.mark.parametrize("spacing", [0.02, 0.1, 0.3])
def test_points_are_added_on_the_same_curve_none_farther_apart_than_the_spacing(
    arm: Model, spacing: float
) -> None:
    plan = planned(arm, [0.0, 0.0], [0.5, 1.3, 2.0], [[0.1, 0.1], [0.4, 0.0], [0.2, 0.2]])
    made = course(plan, arm, point_spacing=spacing)
    assert np.diff(made.times).max() <= spacing + 1e-12
    assert {0.0, 0.5, 1.3, 2.0} <= set(made.times)
    inner = made.times <= 2.0
    for values, wanted in zip(made.states, plan.motion.sample(made.times[inner])):
        np.testing.assert_allclose(values[inner], wanted, atol=1e-9)
    np.testing.assert_allclose(made.efforts, arm.efforts(*made.states), atol=1e-9)


def test_given_points_stay_exactly_as_they_are(arm: Model) -> None:
    random = np.random.default_rng(3)
    times, values = [0.0, 0.31, 0.77, 1.0], random.normal(size=(3, 4, 2))
    made = course(planned(arm, [0.0, 0.0], times, *values), arm)
    rows = np.searchsorted(made.times, times)
    np.testing.assert_array_equal(made.times[rows], times)
    for state, given in zip(made.states, values):
        np.testing.assert_array_equal(state[rows], given)


def test_without_spacing_nothing_is_added_between(arm: Model) -> None:
    plan = planned(arm, [0.0, 0.0], [1.0, 2.0], [[0.1, 0.1], [0.2, 0.2]])
    np.testing.assert_allclose(course(plan, arm, point_spacing=0.0).times, [0.0, 1.0, 2.0, 2.001])


def test_a_long_trajectory_has_no_more_points_than_are_served(arm: Model) -> None:
    plan = planned(arm, [0.0, 0.0], [1.0, 3600.0], [[0.1, 0.1], [0.2, 0.2]])
    assert len(course(plan, arm, max_trajectory_points=1000).times) <= 1003


def test_a_last_point_that_decelerates_is_followed_by_one_at_rest_that_holds(arm: Model) -> None:
    plan = planned(arm, [0.0, 0.0], [1.0], [[0.5, 0.5]])
    made = course(plan, arm)
    np.testing.assert_allclose(made.times[-2:], [1.0, 1.001])
    assert made.states.accelerations[-2].any()
    assert not made.states.accelerations[-1].any()
    np.testing.assert_array_equal(made.states.positions[-1], [0.5, 0.5])
    np.testing.assert_allclose(made.efforts[-1], arm.gravity(np.array([0.5, 0.5])), rtol=1e-12)
    assert np.abs(made.efforts[-2] - made.efforts[-1]).max() > 1.0


def test_a_last_velocity_that_is_zero_but_for_rounding_is_at_rest(arm: Model) -> None:
    ends = np.array([[1e-16, 0.0]]), np.array([[-3.0, 0.0]])
    made = course(planned(arm, [0.0, 0.0], [1.0], [[0.5, 0.5]], *ends), arm)
    np.testing.assert_allclose(made.efforts[-1], arm.gravity(np.array([0.5, 0.5])), rtol=1e-12)


@pytest.mark.parametrize("ends", [([[0.0, 0.0]], [[0.0, 0.0]]), ([[0.3, -0.4]], [[1.0, 0.0]])])
def test_nothing_follows_a_last_point_at_rest_or_in_motion(arm: Model, ends: Any) -> None:
    plan = planned(arm, [0.0, 0.0], [1.0], [[0.5, 0.5]], *map(np.array, ends))
    made = course(plan, arm)
    assert made.times[-1] == 1.0
    assert not made.unfit
    assert made.restless == (
        "joint 'joint2' is to move at -0.4 at the last point, at 1 s, expected a trajectory that "
        "ends at rest"
        if np.any(ends[0])
        else ""
    )


def test_efforts_for_a_robot_that_compensates_gravity_come_without_it(arm: Model) -> None:
    plan = planned(arm, [0.0, 0.0], [1.0], [[0.5, 0.5]])
    made, bare = course(plan, arm), course(plan, arm, robot_compensates_gravity=True)
    difference = made.efforts - bare.efforts
    np.testing.assert_allclose(difference, arm.gravity(made.states.positions), atol=1e-9)
    np.testing.assert_allclose(bare.efforts[-1], [0.0, 0.0], atol=1e-9)


# --------------------------------------------------------------------------------------- limits
HOME = [0.3, 1.2, 0.2, 0.6, 0.1, 0.1]


def slid(to: float, seconds: float, model: Model) -> Plan:
    """The sixth joint of the Stanford arm slides: within 0.5 m, at 1 m/s."""
    return planned(model, HOME, [seconds], [[*HOME[:5], to]])


def fault_or_course(plan: Plan, model: Model, limits: str) -> tuple[str, Course | None]:
    try:
        return "", course(plan, model, limits=limits)
    except Fault as fault:
        return fault.sentence, None


@POLICIES
def test_positions_beyond_a_stop_are_never_commanded(stanford: Model, limits: str) -> None:
    sentence, made = fault_or_course(slid(0.6, 4.0, stanford), stanford, limits)
    assert (made is None) is (limits == "reject")
    words = sentence if made is None else made.unfit
    assert words.startswith("joint 'joint6' is to be at 0.50")
    assert words.endswith(" s, its limits are -0.5 and 0.5")
    when = float(words.partition(" at ")[2].partition(" at ")[2].split()[0])
    assert 2.0 < when < 4.0, "when it passes the stop"


@POLICIES
def test_speeds_beyond_the_limit_are_never_commanded(stanford: Model, limits: str) -> None:
    sentence, made = fault_or_course(slid(0.44, 0.4, stanford), stanford, limits)
    assert (made is None) is (limits == "reject")
    words = sentence if made is None else made.unfit
    assert words == "joint 'joint6' is to move at 1.275 at 0.2 s, its velocity limit is 1"


@POLICIES
def test_within_its_limits_nothing_is_said(stanford: Model, limits: str) -> None:
    sentence, made = fault_or_course(slid(0.45, 1.0, stanford), stanford, limits)
    assert sentence == ""
    assert (made.beyond, made.unfit) == ("", "")


def raised(effort: float) -> tuple[Model, Plan]:
    """An arm that is to hold itself level, for which it needs 14.7 N m."""
    model = load_model(limited_arm(effort=effort), Settings(backend="numpy"))
    still = np.zeros((2, 2))
    return model, planned(model, [0.0, 0.0], [0.0, 0.4], still, still, still)


@POLICIES
def test_efforts_beyond_the_limit_are_cut_or_rejected(limits: str) -> None:
    model, plan = raised(10.0)
    sentence, made = fault_or_course(plan, model, limits)
    needs = "joint 'joint1' needs 14.71 at 0 s, beyond its effort limit of 10"
    if limits == "reject":
        assert (sentence, made) == (needs, None)
        return
    assert (made.beyond, made.unfit) == (needs, "")
    assert made.efforts[:, 0].tolist() == [10.0] * len(made.times)


@POLICIES
def test_more_than_twice_the_effort_limit_is_not_commanded(limits: str) -> None:
    model, plan = raised(7.0)
    sentence, made = fault_or_course(plan, model, limits)
    needs = "joint 'joint1' needs 14.71 at 0 s, beyond its effort limit of 7"
    if limits == "clamp":
        assert made.unfit == needs
        assert made.efforts[:, 0].max() == 7.0
    else:
        assert sentence == needs + (": give the motion more time" if limits == "warn" else "")


@POLICIES
def test_a_joint_that_is_beyond_its_stop_may_come_back(stanford: Model, limits: str) -> None:
    away = [*HOME[:5], 0.55]
    sentence, made = fault_or_course(
        planned(stanford, away, [2.0], [[*HOME[:5], 0.3]]), stanford, limits
    )
    assert sentence == ""
    assert made.unfit == ""
    sentence, made = fault_or_course(
        planned(stanford, away, [2.0], [[*HOME[:5], 0.57]]), stanford, limits
    )
    assert "joint 'joint6' is to be at" in (sentence or made.unfit)
