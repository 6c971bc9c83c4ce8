"""The start of a node: from a new process to the answer to a joint state."""

from __future__ import annotations

from contextlib import AbstractContextManager

from benchmarks.robots import PANDA
from benchmarks.ros_peer import Peer, bare_node, dynamics_node, state

DOMAIN = 96


def of_our_node() -> float:
    return _seconds(dynamics_node(DOMAIN, robot_description=PANDA.path.read_text()))


def of_bare_node() -> float:
    return _seconds(bare_node(DOMAIN))


def _seconds(node: AbstractContextManager[Peer]) -> float:
    with node as peer:
        peer.wait_for_answer(state())
        return peer.answered - peer.begun
