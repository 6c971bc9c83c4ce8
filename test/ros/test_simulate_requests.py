"""Requests for simulations that cannot be served: one sentence each, and the node serves on."""

from threading import Thread
from typing import Any

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import Wrench
from robot_graph import PATIENCE, TWO_LINK, Graph, joint_state, trajectory
from test_simulate import JOINTS, column, efforts, simulate, wrench

from kane_dynamics.ros.middleware.executor import PromptExecutor
from kane_dynamics.ros.node import DynamicsNode
from kane_dynamics.ros.robot.model import load_model
from kane_dynamics.ros.simulate import simulating
from kane_dynamics_interfaces.msg import ExternalWrench
from kane_dynamics_interfaces.srv import Simulate


def wrenches(link: str, times: list[float], *given: Wrench) -> list[ExternalWrench]:
    return [ExternalWrench(link=link, times=times, wrenches=list(given))]


NAN, INF = float("nan"), float("inf")
REST = {"duration": 1.0, "initial_state": joint_state(JOINTS, [0.1, 0.2])}
BAD: list[tuple[dict[str, Any], str]] = [
    ({"duration": 0.0}, "duration is 0 and no trajectory says when to end"),
    ({"duration": -1.0}, "duration is -1 s, expected a positive number"),
    ({"duration": NAN}, "duration is nan"),
    ({"duration": INF}, "duration is inf"),
    ({"duration": 1e300}, "max_simulation_steps"),
    ({"duration": 2.0**31, "step": 1e7, "output_step": 1e7}, "at most 2147483647 s"),
    (
        {"duration": 3e9, "method": "dop853", "output_step": 1e7},
        "duration is 3e+09 s, expected at most 2147483647 s",
    ),
    ({"duration": 20.0}, "are 20000 steps, more than the 10000 of the parameter max_simulation"),
    ({"step": 1e-300}, "max_simulation_steps"),
    ({"step": -1e-3}, "step is -0.001 s, expected a positive number, or 0 for 0.001"),
    ({"step": NAN}, "step is nan"),
    ({"output_step": -1.0}, "output_step is -1 s"),
    (
        {"output_step": 1e-4},
        "10000 points, more than the 1000 of the parameter max_simulation_points",
    ),
    ({"tolerance": -1.0}, "tolerance is -1"),
    ({"tolerance": 1.0}, "tolerance must lie between"),
    ({"method": "euler"}, "method is 'euler', expected one of rk4, semi_implicit_euler"),
    ({"controller": "pid"}, "controller is 'pid', expected one of pd_gravity, computed_torque"),
    ({"hold": "cubic"}, "hold is 'cubic', expected one of zero_order, linear"),
    ({"joint_limits": "bounce"}, "joint_limits is 'bounce', expected one of ignore, stop"),
    ({"initial_state": joint_state(["elbow"], [0.1])}, "initial_state: there is no joint 'elbow'"),
    ({"initial_state": joint_state(["joint1"] * 2, [0.1, 0.1])}, "'joint1' is named twice"),
    ({"initial_state": joint_state(JOINTS, [0.1])}, "initial_state has 1 positions for 2 joints"),
    ({"initial_state": joint_state(JOINTS, [0.1, NAN])}, "positions that are not finite"),
    ({"initial_state": joint_state(JOINTS, [0.1, 0.1], [1.0])}, "1 velocities for 2 joints"),
    ({"effort_trajectory": efforts(["elbow"], [0.0], [[1.0]])}, "there is no joint 'elbow'"),
    (
        {"effort_trajectory": efforts([], [0.0], [[1.0]])},
        "effort_trajectory: point 0 has 1 effort for 2 joints",
    ),
    ({"effort_trajectory": efforts([], [0.0, 1.0], [[1, 1], []])}, "point 1 has no effort"),
    ({"effort_trajectory": efforts([], [0.0], [[1.0, NAN]])}, "effort of joint 'joint2' is nan"),
    (
        {"effort_trajectory": efforts([], [0.2, 0.1], [[1, 1]] * 2)},
        "effort_trajectory: times must increase",
    ),
    ({"effort_trajectory": efforts(["joint1"], [], [])}, "names joints, but has no points"),
    ({"effort_trajectory": efforts([], [-1.0], [[1, 1]])}, "a negative time_from_start"),
    ({"effort_trajectory": efforts([], range(1001), [[1, 1]] * 1001)}, "1001 points are more"),
    (
        {"effort_trajectory": efforts([], [0.0], [[1, 1]]), "controller": "pd_gravity"},
        "cannot both drive the joints: leave one of them empty",
    ),
    ({"reference_trajectory": trajectory(["elbow"], [0.0], [[1.0]])}, "no joint 'elbow'"),
    (
        {"reference_trajectory": trajectory(JOINTS, [0.2, 0.1], [[1, 1]] * 2)},
        "reference_trajectory: point 1: its time 0.1 s does not come after 0.2 s",
    ),
    ({"reference_trajectory": trajectory(JOINTS, [0.0], [[]])}, "point 0 has no positions"),
    ({"position_gains": [1.0]}, "there are gains, but no controller"),
    (
        {"controller": "pd_gravity", "position_gains": [1.0] * 3},
        "position_gains has 3 entries, expected 1 or 2",
    ),
    ({"controller": "pd_gravity", "velocity_gains": [-1.0]}, "finite and not negative"),
    ({"controller": "pd_gravity", "velocity_gains": [NAN]}, "finite and not negative"),
    ({"external_wrenches": wrenches("tool", [], wrench())}, "there is no link 'tool'"),
    ({"external_wrenches": wrenches("B", [])}, "0 wrenches and no times: expected one wrench"),
    ({"external_wrenches": wrenches("B", [0.0, 1.0], wrench())}, "1 wrenches for 2 times"),
    ({"external_wrenches": wrenches("B", [1.0, 1.0], wrench(), wrench())}, "must increase"),
    ({"external_wrenches": wrenches("B", [NAN], wrench())}, "on link 'B': every entry of times"),
    ({"external_wrenches": wrenches("B", [-1.0], wrench())}, "time -1 s lies before the start"),
    ({"external_wrenches": wrenches("B", [], wrench((NAN, 0.0, 0.0)))}, "must be finite"),
]


def test_bad_requests_are_answered_in_one_sentence_and_the_next_good_one_is_served(
    graph: Graph,
) -> None:
    graph.start(
        TWO_LINK,
        max_trajectory_points=1000,
        max_simulation_steps=10_000,
        max_simulation_points=1000,
    )
    for request, sentence in BAD:
        answer = simulate(graph, **{**REST, **request})
        assert not answer.success, request
        assert sentence in answer.message, answer.message
        assert "\n" not in answer.message
        assert not answer.motion.points
    assert simulate(graph, **REST).success
    client = graph.client
    client.until(lambda: client.fault_count("simulation") == len(BAD), "all faults counted")


def test_a_motion_that_diverges_is_answered_up_to_its_last_good_state(graph: Graph) -> None:
    graph.start(TWO_LINK)
    start = joint_state(JOINTS, [0.1, 0.2], [50.0, -80.0])
    method = "semi_implicit_euler"
    answer = simulate(graph, duration=50.0, step=0.5, initial_state=start, method=method)
    assert not answer.success
    assert "a step shorter than 0.5 s may help" in answer.message
    assert answer.motion.points
    assert np.isfinite(column(answer, "positions")).all()
    assert simulate(graph, **REST).success


def test_adaptive_steps_are_bounded_and_what_was_computed_is_answered(graph: Graph) -> None:
    graph.start(TWO_LINK, max_simulation_steps=50)
    start = joint_state(JOINTS, [0.1, 0.2], [1.0, -2.0])
    answer = simulate(graph, duration=500.0, initial_state=start, method="dop853")
    assert not answer.success
    assert answer.message.startswith("50 steps, as many as are allowed, led to t = ")
    assert 0 <= answer.motion.points[-1].time_from_start.sec < 500
    assert len(answer.kinetic_energy) == len(answer.motion.points) > 1


def test_a_call_before_there_is_a_model_is_answered(graph: Graph) -> None:
    graph.start(None, ready=False)
    answer = simulate(graph, duration=1.0)
    assert not answer.success
    assert "no model of the robot yet" in answer.message


def test_a_call_that_computes_for_too_long_is_answered_with_what_there_is(
    domain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulating, "LONGEST_CALL", 0.5)
    rclpy.init(domain_id=domain, args=[])
    try:
        node, client = DynamicsNode(), rclpy.create_node("client")
        node.serve(load_model(TWO_LINK.read_text(), node.parameters.values))
        executor = PromptExecutor(node, node.joint_states, node.failed)
        serving = Thread(target=executor.spin)
        serving.start()
        calls = client.create_client(Simulate, "/kane_dynamics/simulate")
        assert calls.wait_for_service(PATIENCE)
        request = {**REST, "duration": 1e4, "method": "dop853", "output_step": 1.0}
        future = calls.call_async(Simulate.Request(**request))
        rclpy.spin_until_future_complete(client, future, timeout_sec=PATIENCE)
        answer = future.result()
        assert not answer.success
        assert "cancelled at t = " in answer.message
        assert "or for the action ~/simulate_motion" in answer.message
        assert answer.motion.points
    finally:
        rclpy.shutdown()
        serving.join()
        node.destroy_node()
