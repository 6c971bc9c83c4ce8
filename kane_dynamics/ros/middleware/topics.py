"""Publishers and subscriptions whose quality of service a user may override by parameters.

Such as ``qos_overrides./joint_states.subscription.reliability``: each policy of each topic that the
node publishes or subscribes is a parameter, read at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSPolicyKind, QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.subscription import Subscription

from kane_dynamics.errors import ArgumentError

POLICIES = (
    QoSPolicyKind.HISTORY,
    QoSPolicyKind.DEPTH,
    QoSPolicyKind.RELIABILITY,
    QoSPolicyKind.DURABILITY,
    QoSPolicyKind.DEADLINE,
    QoSPolicyKind.LIFESPAN,
    QoSPolicyKind.LIVELINESS,
    QoSPolicyKind.LIVELINESS_LEASE_DURATION,
)
"""What can be overridden; subscriptions have no lifespan."""


def publish(node: Node, kind: type, topic: str, profile: QoSProfile | int) -> Publisher:
    """A publisher on a topic; its quality of service is the profile, or what parameters say.

    Raises ArgumentError if a parameter says what cannot be.
    """
    with _about(node, topic):
        return node.create_publisher(
            kind, topic, _copy(profile), qos_overriding_options=QoSOverridingOptions(POLICIES)
        )


def subscribe(
    node: Node,
    kind: type,
    topic: str,
    callback: Callable[[bytes], None] | Callable[[bytes, float, bool], None],
    profile: QoSProfile | int,
) -> Subscription:
    """A subscription of a topic, whose callback takes bytes; else as `publish`."""
    options = QoSOverridingOptions(POLICIES)
    with _about(node, topic):
        return node.create_subscription(
            kind, topic, callback, _copy(profile), qos_overriding_options=options, raw=True
        )


def _copy(profile: QoSProfile | int) -> QoSProfile:
    """A profile of its own for each topic: rclpy writes into it what parameters say."""
    if isinstance(profile, int):
        return QoSProfile(depth=profile)
    return QoSProfile(**{slot.lstrip("_"): getattr(profile, slot) for slot in profile.__slots__})


@contextmanager
def _about(node: Node, topic: str) -> Iterator[None]:
    try:
        yield
    except (AttributeError, ParameterException, RuntimeError, TypeError, ValueError) as error:
        name = node.resolve_topic_name(topic)
        raise ArgumentError(f"qos_overrides.{name}: {error}") from None
