"""What is being done with a robot that is commanded."""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """What is being done."""

    CLOSED = "closed"
    FLOATING = "floating"
    HOLDING = "holding"
    FOLLOWING = "following"
    BRAKING = "braking"
    NOTHING = "nothing"
    """Enabled, but joint states cannot be trusted, and the last command has gone out."""
