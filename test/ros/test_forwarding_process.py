"""The node in a process of its own, which passes goals on to a controller in another."""

from action_msgs.msg import GoalStatus
from follow_client import Goal
from robot_graph import TWO_LINK, Graph, joint_state, trajectory
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from test_forwarding import CONTROLLER, controlling
from trajectory_msgs.msg import JointTrajectory

JOINTS = ["joint1", "joint2"]
HERE = [0.3, 0.4]


def followed(graph: Graph, motion: JointTrajectory) -> Goal:
    """A goal that a controller follows, once the node has seen the controller."""
    while True:
        goal = Goal(graph, motion)
        graph.client.until(lambda goal=goal: goal.feedback or not goal.running, "feedback")
        if goal.feedback:
            return goal
        assert "not there" in goal.result()[2]


def test_while_a_controller_follows_a_goal_no_other_trajectory_is_sent(graph: Graph) -> None:
    graph.start(TWO_LINK, forward_to=CONTROLLER)
    client = graph.client
    states = client.speak(JointState, "/joint_states")
    commands = client.speak(JointTrajectory, "/joint_trajectory")
    answers = client.hear(JointTrajectory, "/kane_dynamics/torque_trajectory")
    gravity = client.hear(JointState, "/kane_dynamics/gravity_torques")
    motion = trajectory(JOINTS, [0.0, 60.0], [HERE, [0.5, 0.5]])
    with controlling(graph):
        client.until(lambda: gravity, "torques", lambda: states.publish(joint_state(JOINTS, HERE)))
        goal = followed(graph, motion)
        assert len(goal.feedback[-1].desired.effort) == 2
        commands.publish(motion)
        client.until(lambda: client.fault_count("joint_trajectory") == 1, "the fault")
        refused = client.call(Trigger, "/kane_dynamics/hold", Trigger.Request())
        assert not refused.success
        assert "a controller follows a goal" in refused.message
        assert goal.running
        assert not answers
        goal.cancel()
        assert goal.result()[0] == GoalStatus.STATUS_CANCELED
        commands.publish(motion)
        client.until(lambda: answers, "the answer when the goal is over")
