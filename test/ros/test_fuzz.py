"""Random and mutated messages to one node: it lives, does not grow, and stays right.

scripts/fuzz_messages sends as many as are wanted.
"""

import os
import random
import time
from array import array
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Vector3, Wrench
from rclpy.serialization import serialize_message
from robot_graph import LATCHED, STANFORD, Graph, arm_of, efforts_of, joint_state, trajectory
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from kane_dynamics_interfaces.msg import ExternalWrench
from kane_dynamics_interfaces.srv import GetDynamics, InverseDynamics, Simulate

ROUNDS = int(os.environ.get("FUZZ_MESSAGES", "40000")) // 100
STATES, TRAJECTORIES, REQUESTS = 93, 6, 1  # a round: 100 messages
ROUNDS_BETWEEN_DESCRIPTIONS, ROUNDS_BETWEEN_COMMANDS = 8, 20
POOL = 2000  # different messages of a kind
GROWTH = max(8e-3 * ROUNDS, 4.0)  # MB; a tenth of a kilobyte lost with each message
WORK = 0.01  # s; the node is busy for longer, and listening to it meanwhile would slow it down
SIMULATIONS = 0.15  # of the requests
SEED = 1983

NUMBERS = (0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, 1e300, -1e300, 1e18, 5e-324)
TIMES = (0, 1, -1, 5, 86_400, 86_401, 2**31 - 1, -(2**31))
ARM = arm_of(STANFORD)
NAMES = list(ARM.joint_names)
WRONG_NAMES = ("", "no_such_joint", NAMES[0], NAMES[-1], "Ω" * 50, " " + NAMES[1])
COUNTED = (
    "joint_states",
    "joint_states not finite",
    "joint_trajectory",
    "robot_description",
)


class Mutations:
    """Random messages: good ones, of which some parts are then changed."""

    def __init__(self) -> None:
        self.random = random.Random(SEED)

    def numbers(self, count: int) -> Any:
        return array("d", (self.random.uniform(-2.0, 2.0) for _ in range(count)))

    def _names(self, names: list[str]) -> list[str]:
        names = list(names)
        choice = self.random.randrange(5)
        if choice == 0:
            return self.random.sample(names, len(names))
        if choice == 1:
            return names[: self.random.randrange(len(names) + 1)]
        if choice == 2:
            return [*names, self.random.choice(WRONG_NAMES)]
        if choice == 3 and names:
            names[self.random.randrange(len(names))] = self.random.choice(WRONG_NAMES)
            return names
        return [self.random.choice(WRONG_NAMES) for _ in range(self.random.randrange(4))]

    def _values(self, values: Any) -> Any:
        choice = self.random.randrange(4)
        if choice == 0 or not values:
            return self.numbers(self.random.choice((0, 1, len(NAMES), 40)))
        if choice == 1:
            return values[: self.random.randrange(len(values) + 1)]
        changed = array("d", values)
        for _ in range(self.random.choice((1, 1, len(values)))):
            changed[self.random.randrange(len(values))] = self.random.choice(NUMBERS)
        return changed

    def _mutate(self, message: Any, names: str, fields: tuple[str, ...]) -> None:
        """Change the names, or one of the fields of numbers."""
        field = self.random.choice((names, *fields))
        value = getattr(message, field)
        setattr(message, field, self._names(value) if field == names else self._values(value))

    def _times(self) -> int:
        """How many changes a message gets: none, for one in three."""
        return self.random.choice((0, 1, 2))

    def state(self) -> JointState:
        message = joint_state(NAMES, self.numbers(len(NAMES)), self.numbers(len(NAMES)))
        if self.random.random() < 0.2:
            message.header.stamp.sec = self.random.choice(TIMES)
        for _ in range(self._times()):
            self._mutate(message, "name", ("position", "velocity", "effort"))
        return message

    def trajectory(self) -> JointTrajectory:
        count = self.random.choice((0, 1, 1, 2, 3, 8))
        message = trajectory(NAMES, 0.02 * np.arange(count), [self.numbers(6)] * count)
        for point in message.points:
            self._fill(point)
        for _ in range(self._times()):
            self._mutate_trajectory(message)
        return message

    def _fill(self, point: JointTrajectoryPoint) -> None:
        point.positions = self.numbers(len(NAMES))
        if self.random.random() < 0.5:
            point.velocities = self.numbers(len(NAMES))
        if self.random.random() < 0.5:
            point.accelerations = self.numbers(len(NAMES))

    def _mutate_trajectory(self, message: JointTrajectory) -> None:
        choice = self.random.randrange(4)
        if choice == 0 or not message.points:
            message.joint_names = self._names(message.joint_names)
        elif choice == 1:
            message.header.stamp.sec = self.random.choice(TIMES)
        elif choice == 2:
            seconds, parts = self.random.choice(TIMES), self.random.choice((0, 1, 2**32 - 1))
            point = self.random.choice(message.points)
            point.time_from_start = Duration(sec=seconds, nanosec=parts)
        else:
            point = self.random.choice(message.points)
            field = self.random.choice(("positions", "velocities", "accelerations", "effort"))
            setattr(point, field, self._values(getattr(point, field)))

    def description(self) -> str:
        """A text that is no robot."""
        text = STANFORD.read_text()
        place = self.random.randrange(len(text) // 10, 9 * len(text) // 10)
        return self.random.choice(
            (
                text[:place],
                text.replace("</robot>", "<link/></robot>"),
                text.replace("<mass value=", "<mass value=NaN", 1),
                text.replace('<parent link="', f'<parent link="{place}', 1),
                f"{place}",
                " " * place,
                f"<robot name='{place}'/>",
            )
        )

    def simulation(self) -> Simulate.Request:
        """A short simulation from a random state, of which some fields are then changed."""
        request = Simulate.Request(duration=0.02, initial_state=self.state())
        choose = self.random.choice
        if self.random.random() < 0.3:
            request.effort_trajectory = self.trajectory()
        if self.random.random() < 0.3:
            request.reference_trajectory = self.trajectory()
        if self.random.random() < 0.3:
            wrench = Wrench(force=Vector3(x=choose(NUMBERS), z=1.0))
            link, times = choose(("F", "", "tool")), choose(([], [0.0], [0.1, 0.0]))
            request.external_wrenches = [ExternalWrench(link=link, times=times, wrenches=[wrench])]
        words = ("", "rk4", "dop853", "radau", "stop", "compliant", "pd_gravity", "linear", "Ω")
        for _ in range(self._times()):
            field = choose(("method", "joint_limits", "controller", "hold"))
            setattr(request, field, choose(words))
            field = choose(("step", "output_step", "tolerance"))
            setattr(request, field, choose((*NUMBERS, 0.01, 0.005)))
            field = choose(("position_gains", "velocity_gains"))
            setattr(request, field, choose(([], [1.0], [np.nan], self.numbers(6))))
        return request

    def request(self) -> Any:
        if self.random.random() < SIMULATIONS:
            return self.simulation()
        choice = self.random.randrange(3)
        if choice == 0:
            return SetBool.Request(data=self.random.random() < 0.8)
        if choice == 1:
            return InverseDynamics.Request(trajectory=self.trajectory())
        return GetDynamics.Request(state=self.state())


SERVICES = {
    SetBool.Request: (SetBool, "enable_effort_commands"),
    InverseDynamics.Request: (InverseDynamics, "inverse_dynamics"),
    GetDynamics.Request: (GetDynamics, "get_dynamics"),
    Simulate.Request: (Simulate, "simulate"),
}


class Fuzz:
    """What is sent to the node and heard from it."""

    def __init__(self, graph: Graph) -> None:
        self.client, self.make = graph.client, Mutations()
        client, hear = graph.client, self._hear
        self.states = client.speak(JointState, "/joint_states")
        self.commands = client.speak(JointTrajectory, "/joint_trajectory")
        self.descriptions = client.speak(String, "/robot_description", LATCHED)
        self.heard = {"gravity_torques": hear(JointState, "gravity_torques")}
        self.heard["torques"] = hear(JointState, "torques")
        self.heard["torque_trajectory"] = hear(JointTrajectory, "torque_trajectory")
        self.heard["effort_commands"] = hear(Float64MultiArray, "effort_commands")
        self.services = {
            request: client.create_client(kind, f"/kane_dynamics/{name}")
            for request, (kind, name) in SERVICES.items()
        }
        self.state_pool = [serialize_message(self.make.state()) for _ in range(POOL)]
        self.trajectory_pool = [serialize_message(self.make.trajectory()) for _ in range(POOL)]
        self.checked = dict.fromkeys(self.heard, 0)
        self.refused = self.simulated = self.described = 0

    def _hear(self, kind: type, name: str) -> list[Any]:
        """Messages as they come, all that wait at once: a flood is faster than an executor."""
        messages: list[Any] = []

        def take(message: Any) -> None:
            messages.append(message)
            while (taken := heard.handle.take_message(kind, False)) is not None:
                messages.append(taken[0])

        heard = self.client.create_subscription(kind, f"/kane_dynamics/{name}", take, 10_000)
        return messages

    def round(self, number: int) -> None:
        """Send a hundred random messages, then good ones, and look at what comes back."""
        if number % ROUNDS_BETWEEN_COMMANDS == 1:
            self._open_gate()
        choose = self.make.random.choice
        for _ in range(STATES):
            self.states.publish(choose(self.state_pool))
        for _ in range(TRAJECTORIES):
            self.commands.publish(choose(self.trajectory_pool))
        if number % ROUNDS_BETWEEN_DESCRIPTIONS == 0:
            self.descriptions.publish(String(data=self.make.description()))
            self.described += 1
        requests = [self.make.request() for _ in range(REQUESTS)]
        futures = [self.services[type(each)].call_async(each) for each in requests]
        time.sleep(WORK)
        self._check_good_messages(f"good {number}")
        self.client.until(lambda: all(each.done() for each in futures), "responses")
        for request, future in zip(requests, futures):
            self._check_response(request, future.result())
        # one that comes while another is looked at would take its place
        refused = self.client.fault_count
        self.client.until(lambda: refused("robot_description") == self.described, "the refusal")
        self._check_torques()

    def _open_gate(self) -> None:
        """Have efforts commanded, until what is sent next forbids it."""
        still, commands = np.zeros(len(NAMES)), self.heard["effort_commands"]
        state = joint_state(NAMES, still, still)

        def publish() -> None:
            self.states.publish(state)

        self.client.until(lambda: self.heard["gravity_torques"], "torques", publish)
        # states before these may have left velocities with which nothing is enabled
        self.client.until(lambda: self.client.enable(meanwhile=publish).success, "to be enabled")
        self.client.until(lambda: commands, "effort commands", publish)

    def _check_good_messages(self, mark: str) -> None:
        """What was sent before on the same topics has been taken when these are answered."""
        q, u, udot = (np.array(self.make.numbers(len(NAMES))) for _ in range(3))
        state = joint_state(NAMES, q, u)
        command = trajectory(NAMES, [0.001], [q], [u], [udot])
        state.header.frame_id = command.header.frame_id = mark
        asked = ((self.states, state), (self.commands, command))
        answers = (self.heard["gravity_torques"], self.heard["torque_trajectory"])

        def answered() -> bool:
            return all(heard and heard[-1].header.frame_id == mark for heard in answers)

        def ask() -> None:
            for publisher, message in asked:
                publisher.publish(message)

        self.client.until(answered, f"answers to {mark}", meanwhile=ask, period=1.0)
        gravity = answers[0][-1].effort
        (efforts,) = (  # other points lie before it and after it
            point.effort
            for point in answers[1][-1].points
            if point.time_from_start.nanosec == 1_000_000
        )
        np.testing.assert_allclose(gravity, ARM.gravity(q), rtol=1e-12, atol=1e-12)
        expected = ARM.inverse_dynamics(q, u, udot)
        np.testing.assert_allclose(efforts, expected, rtol=1e-12, atol=1e-12)

    def _check_response(self, request: Any, response: Any) -> None:
        if not response.success:
            assert response.message
            self.refused += 1
        elif isinstance(request, InverseDynamics.Request):
            assert np.isfinite(efforts_of(response.trajectory)).all()
        elif isinstance(request, Simulate.Request):
            self.simulated += 1
            for field in ("positions", "velocities", "accelerations", "effort"):
                assert np.isfinite([getattr(each, field) for each in response.motion.points]).all()
        elif isinstance(request, GetDynamics.Request):
            for values in (response.mass_matrix, response.bias, response.gravity):
                assert np.isfinite(values).all()

    def _check_torques(self) -> None:
        for topic, messages in self.heard.items():
            for message in messages:
                assert np.isfinite(torques_in(message)).all(), f"{topic}: {message}"
            self.checked[topic] += len(messages)
            messages.clear()

    def count_seen(self) -> int:
        """Messages that the node counts as served or as faults."""
        model = self.client.diagnosis("model")
        served = {entry.key: entry.value for entry in model.values}
        answered = [served[f"{name} served"] for name in ("gravity_torques", "torque_trajectory")]
        return sum(map(int, answered)) + sum(map(self.client.fault_count, COUNTED))


def torques_in(message: Any) -> Any:
    if isinstance(message, JointTrajectory):
        return efforts_of(message)
    return message.data if isinstance(message, Float64MultiArray) else message.effort


def test_a_node_stands_random_and_mutated_messages(graph: Graph) -> None:
    # trajectories replace each other within milliseconds: some torques are due at that rate
    node = graph.start(None, ready=False, max_trajectory_points=7, state_timeout=5.0, rate=1000.0)
    fuzz = Fuzz(graph)
    fuzz.descriptions.publish(String(data=STANFORD.read_text()))
    graph.wait_until_serving()
    memory = {}
    for number in range(ROUNDS):
        fuzz.round(number)
        memory[number] = node.memory
    graph.client.spin_for(2.5)  # until the last faults are reported

    sent = ROUNDS * (STATES + TRAJECTORIES)
    assert fuzz.count_seen() > 0.9 * sent
    counts = {cause: graph.client.fault_count(cause) for cause in COUNTED}
    assert all(count >= ROUNDS // 10 for count in counts.values()), counts
    assert all(count >= ROUNDS // 20 for count in fuzz.checked.values()), fuzz.checked
    assert fuzz.simulated >= ROUNDS // 200
    assert 0 < fuzz.refused < ROUNDS * REQUESTS
    assert memory[ROUNDS - 1] - memory[ROUNDS // 5] < GROWTH, memory
    assert graph.end(node) == 0
    assert "Traceback" not in node.log
    assert "internal error" not in node.log, node.log
