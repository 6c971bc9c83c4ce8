"""Wait sets that are kept from one wait to the next."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from operator import add
from typing import Any

from rclpy.exceptions import InvalidHandle
from rclpy.impl.implementation_singleton import rclpy_implementation

KINDS = ("subscription", "guard_condition", "timer", "client", "service")
_SIZES = (*(f"num_{kind}s" for kind in KINDS), "num_events")

# Signals wake a wait set, but not always after their effect: so none waits for longer than this.
LONGEST_WAIT = 250_000_000  # ns


class WaitingFor:
    """Entities of a node in a wait set.

    As long as they are in it they are held, so that no other thread destroys them meanwhile.
    """

    def __init__(self) -> None:
        self._entities: list[list[Any]] = []
        self._waitables: list[Any] = []
        self._held = ExitStack()
        self._additions: list[tuple[Callable[[Any], Any], list[Any]]] = []

    def wait_set(self, entities: list[list[Any]], waitables: list[Any], context: Any) -> Any:
        """A wait set of the entities, a list for each kind, and of the waitables."""
        if entities != self._entities or waitables != self._waitables:
            self._hold(entities, waitables, context)
        self._wait_set.clear_entities()
        for add_one, handles in self._additions:
            for handle in handles:
                add_one(handle)
        for waitable in self._valid_waitables:
            waitable.add_to_wait_set(self._wait_set)
        return self._wait_set

    def close(self) -> None:
        """Let go of all entities."""
        self._entities, self._waitables = [], []
        self._held.close()

    def _hold(self, entities: list[list[Any]], waitables: list[Any], context: Any) -> None:
        self.close()
        self._entities, self._waitables = entities, waitables
        self._held.enter_context(context)
        handles = [self._valid([each.handle for each in kind]) for kind in entities]
        self._valid_waitables = self._valid(waitables)
        inside = [waitable.get_num_entities() for waitable in self._valid_waitables]
        sizes = [sum(getattr(each, size) for each in inside) for size in _SIZES]
        whole = map(add, sizes, [*map(len, handles), 0])
        self._wait_set = rclpy_implementation.WaitSet(*whole, context)
        adders = [getattr(self._wait_set, f"add_{kind}") for kind in KINDS]
        self._additions = list(zip(adders, handles))

    def _valid(self, handles: list[Any]) -> list[Any]:
        """Those that nobody has destroyed, from now on held."""
        valid = []
        for handle in handles:
            try:
                self._held.enter_context(handle)
                valid.append(handle)
            except InvalidHandle:
                pass
        return valid
