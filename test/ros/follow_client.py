"""Goals of ~/follow_joint_trajectory, and a node in the process of the test to serve them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from control_msgs.action import FollowJointTrajectory
from rclpy.node import Node
from rclpy.parameter import Parameter
from robot_graph import Graph

ACTION = "/kane_dynamics/follow_joint_trajectory"


@contextmanager
def node_in(graph: Graph, **parameters: Any) -> Iterator[Node]:
    """A node of the name kane_dynamics that is served whenever the client waits."""
    given = [Parameter(name, value=value) for name, value in parameters.items()]
    context = graph.client.context
    node = Node("kane_dynamics", context=context, parameter_overrides=given)
    graph.client.serve(node)
    yield node
    node.destroy_node()


class Goal:
    """A goal that was sent, and what is heard of it."""

    def __init__(self, graph: Graph, trajectory: Any, **more: Any) -> None:
        self._client = graph.client
        self.feedback: list[Any] = []
        server = self._client.action(FollowJointTrajectory, ACTION)
        sent = server.send_goal_async(
            FollowJointTrajectory.Goal(trajectory=trajectory, **more),
            lambda message: self.feedback.append(message.feedback),
        )
        self._client.until(sent.done, "response to the goal")
        self._handle = sent.result()
        assert self._handle.accepted
        self._result = self._handle.get_result_async()

    @property
    def running(self) -> bool:
        self._client.spin_for(0.1)
        return not self._result.done()

    def wait_for_feedback(self, count: int = 1) -> None:
        self._client.until(lambda: len(self.feedback) >= count, "feedback")

    def cancel(self) -> Any:
        answer = self._handle.cancel_goal_async()
        self._client.until(answer.done, "response to cancel")
        return answer.result()

    def result(self) -> tuple[int, int, str]:
        """Status, code and sentence at the end."""
        self._client.until(self._result.done, "the result")
        answer = self._result.result()
        return answer.status, answer.result.error_code, answer.result.error_string
