"""Each test has a domain of its own, in which nobody is left of those before it."""

import socket

import pytest
import rclpy
import ros_domain
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.node import Node
from ros_domain import in_use, own_domain

from kane_dynamics_interfaces.action import Simulate


def participate(domain: int) -> None:
    """Make what keeps itself alive, and leave it."""
    context = Context()
    rclpy.init(context=context, domain_id=domain, args=[])
    node = Node("left", context=context)
    node.action = ActionClient(node, Simulate, "motion")
    node.destroy_node()
    rclpy.shutdown(context=context)


def test_what_a_test_leaves_is_gone_when_the_domain_is_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ros_domain, "DOMAINS", [99])
    with own_domain() as domain:
        participate(domain)
        assert in_use(domain)
    with own_domain() as domain:
        assert not in_use(domain)


def test_a_domain_that_somebody_listens_to_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ros_domain, "DOMAINS", [97, 98])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 7400 + 250 * 97 + 11))
        with own_domain() as domain:
            assert domain == 98
