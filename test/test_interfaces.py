"""The ROS interfaces: what they promise, how they are built, that they cross process borders.

Run as a program, this file is the server of the last tests.
"""

import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from ros_domain import own_domain

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "scripts" / "build_interfaces.py"

rclpy = pytest.importorskip("rclpy", reason="ROS is not installed")
pytest.importorskip(
    "kane_dynamics_interfaces.srv._simulate", reason="the ROS interfaces are not built"
)

from geometry_msgs.msg import Vector3, Wrench  # noqa: E402
from rclpy.action import ActionClient, ActionServer  # noqa: E402
from rclpy.executors import ExternalShutdownException  # noqa: E402
from rclpy.node import Node  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

from kane_dynamics_interfaces.action import Simulate as SimulateMotion  # noqa: E402
from kane_dynamics_interfaces.msg import ExternalWrench  # noqa: E402
from kane_dynamics_interfaces.srv import GetDynamics, InverseDynamics, Simulate  # noqa: E402


def constants(message: type) -> dict[str, str]:
    return {name: getattr(message, name) for name in dir(message) if name.isupper()}


@pytest.mark.parametrize(
    ("of_service", "of_action"),
    [
        (Simulate.Request, SimulateMotion.Goal),
        (Simulate.Response, SimulateMotion.Result),
    ],
)
def test_service_and_action_simulate_the_same(of_service, of_action):
    service, action = (m.get_fields_and_field_types() for m in (of_service, of_action))
    assert list(service.items()) == list(action.items())
    assert constants(of_service) == constants(of_action)


def test_every_answer_says_whether_and_why_not():
    for answer in (
        Simulate.Response,
        SimulateMotion.Result,
        InverseDynamics.Response,
        GetDynamics.Response,
    ):
        fields = answer.get_fields_and_field_types()
        assert fields["success"] == "boolean"
        assert fields["message"] == "string"


def test_a_base_that_is_not_given_is_upright():
    assert Simulate.Request().base_pose.orientation.w == 1.0
    assert GetDynamics.Request().base_pose.orientation.w == 1.0


class TestBuild:
    """The build from Python wheels."""

    @pytest.fixture(autouse=True)
    def from_wheels(self):
        in_use = Path(str(sys.modules[Simulate.__module__].__file__))
        built = Path(sys.prefix) / "share/kane_dynamics_interfaces/built_from"
        if not (built.exists() and in_use.is_relative_to(sys.prefix)):
            pytest.skip("the interfaces in use were not built from Python wheels")

    @pytest.fixture
    def copy(self, tmp_path):
        shutil.copytree(ROOT / "kane_dynamics_interfaces", tmp_path / "kane_dynamics_interfaces")
        (tmp_path / "scripts").mkdir()
        return Path(shutil.copy(SCRIPT, tmp_path / "scripts"))

    def run(self, script, *options, python=sys.executable, **environment):
        return subprocess.run(
            [python, script, *options], capture_output=True, text=True, env=os.environ | environment
        )

    def test_unchanged_interfaces_are_not_built_again(self, copy):
        done = self.run(copy, PATH="")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def test_changed_interfaces_are_built_again_and_need_a_compiler(self, copy):
        with (copy.parent.parent / "kane_dynamics_interfaces/srv/Simulate.srv").open("a") as file:
            file.write("# changed\n")
        done = self.run(copy, PATH="")
        assert done.returncode == 1
        assert done.stderr.startswith("build_interfaces: a C and a C++ compiler are needed")
        assert done.stderr.count("\n") == 1

    def test_a_compiler_that_does_not_exist_is_named(self, copy):
        (copy.parent.parent / "kane_dynamics_interfaces/note.txt").touch()
        done = self.run(copy, CXX="no-such-compiler -O2")
        assert done.returncode == 1
        assert "CXX=no-such-compiler" in done.stderr

    def test_an_option_that_does_not_exist_is_named(self, copy):
        done = self.run(copy, "--without-tests")
        assert done.returncode == 1
        assert done.stderr == (
            "build_interfaces: got --without-tests, expected nothing or --with-tests.\n"
        )

    def test_interfaces_of_tests_are_built_only_when_asked_for(self, copy):
        if not (Path(sys.prefix) / "share/control_msgs/built_from").exists():
            pytest.skip("control_msgs was not built here")
        shutil.copytree(ROOT / "test/interfaces", copy.parent.parent / "test/interfaces")
        (copy.parent.parent / "test/interfaces/control_msgs/note.txt").touch()
        assert self.run(copy, PATH="").returncode == 0
        assert self.run(copy, "--with-tests", PATH="").returncode == 1

    def test_nothing_is_installed_outside_a_virtual_environment(self, copy):
        done = self.run(copy, python=Path(sys.base_prefix, "bin", "python3"))
        assert done.returncode == 1
        assert "virtual environment" in done.stderr

    def test_an_environment_without_ros_is_told_what_to_install(self, copy, tmp_path):
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True
        )
        done = self.run(copy, python=tmp_path / "env/bin/python")
        assert done.returncode == 1
        assert "pip install '.[ros]'" in done.stderr


class Server(Node):
    """Answers with what it was asked."""

    def __init__(self) -> None:
        super().__init__("server")
        self.create_service(InverseDynamics, "inverse_dynamics", self.inverse_dynamics)
        self.create_service(GetDynamics, "get_dynamics", self.get_dynamics)
        self.create_service(Simulate, "simulate", self.simulate)
        self.motion = ActionServer(self, SimulateMotion, "simulate_motion", self.simulate_motion)

    def inverse_dynamics(self, request, answer):
        answer.trajectory = request.trajectory
        answer.success = True
        return answer

    def get_dynamics(self, request, answer):
        answer.state = request.state
        answer.joint_names = request.state.name
        answer.mass_matrix = [1.0, 0.5, 0.5, 2.0]
        return answer

    def simulate(self, request, answer):
        answer.motion = request.effort_trajectory
        answer.kinetic_energy = [w.wrenches[0].force.z for w in request.external_wrenches]
        answer.message = f"{request.duration} {request.method}"
        return answer

    def simulate_motion(self, goal):
        goal.publish_feedback(SimulateMotion.Feedback(progress=0.5, time=goal.request.duration / 2))
        goal.succeed()
        return SimulateMotion.Result(success=True, motion=goal.request.reference_trajectory)


@pytest.fixture(scope="module")
def client():
    with pytest.MonkeyPatch.context() as patch, own_domain() as domain:
        patch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        patch.setenv("ROS_DOMAIN_ID", str(domain))
        with subprocess.Popen([sys.executable, __file__]) as server:
            try:
                rclpy.init(domain_id=domain)
                yield rclpy.create_node("client")
                rclpy.shutdown()
            finally:
                server.kill()  # it is not what is tested, and rclpy does not always wake it


def wait(client, future):
    rclpy.spin_until_future_complete(client, future, timeout_sec=30)
    assert future.done()
    return future.result()


def call(client, service, name, request):
    caller = client.create_client(service, name)
    assert caller.wait_for_service(30)
    return wait(client, caller.call_async(request))


TRAJECTORY = JointTrajectory(
    joint_names=["shoulder", "elbow"],
    points=[
        JointTrajectoryPoint(positions=[0.1 * i, -0.1 * i], effort=[1.0, float(i)])
        for i in range(1000)
    ],
)


def test_a_trajectory_travels_to_inverse_dynamics_and_back(client):
    request = InverseDynamics.Request(trajectory=TRAJECTORY)
    answer = call(client, InverseDynamics, "inverse_dynamics", request)
    assert answer.success
    assert answer.trajectory == TRAJECTORY


def test_a_state_travels_to_get_dynamics_and_a_matrix_back(client):
    state = JointState(name=["shoulder", "elbow"], position=[0.5, -0.5])
    answer = call(client, GetDynamics, "get_dynamics", GetDynamics.Request(state=state))
    assert answer.state == state
    assert answer.joint_names == ["shoulder", "elbow"]
    assert list(answer.mass_matrix) == [1.0, 0.5, 0.5, 2.0]


def test_efforts_and_wrenches_travel_to_simulate_and_a_motion_back(client):
    wrench = ExternalWrench(link="tool", wrenches=[Wrench(force=Vector3(z=-10.0))])
    request = Simulate.Request(
        duration=2.5,
        method=Simulate.Request.METHOD_DOP853,
        effort_trajectory=TRAJECTORY,
        external_wrenches=[wrench],
    )
    answer = call(client, Simulate, "simulate", request)
    assert answer.motion == TRAJECTORY
    assert list(answer.kinetic_energy) == [-10.0]
    assert answer.message == "2.5 dop853"


def test_the_action_gives_feedback_and_a_motion(client):
    caller = ActionClient(client, SimulateMotion, "simulate_motion")
    assert caller.wait_for_server(30)
    feedback = []
    goal = SimulateMotion.Goal(duration=60.0, reference_trajectory=TRAJECTORY)
    accepted = wait(client, caller.send_goal_async(goal, lambda m: feedback.append(m.feedback)))
    answer = wait(client, accepted.get_result_async()).result
    deadline = time.monotonic() + 30
    while not feedback and time.monotonic() < deadline:
        rclpy.spin_once(client, timeout_sec=0.1)
    assert [(f.progress, f.time) for f in feedback] == [(0.5, 30.0)]
    assert answer.success
    assert answer.motion == TRAJECTORY


def serve() -> None:
    rclpy.init()
    with suppress(ExternalShutdownException):
        rclpy.spin(Server())


if __name__ == "__main__":
    serve()
