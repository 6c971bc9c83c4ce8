"""An executor that serves one subscription at once, and everything else as rclpy does.

rclpy's executors spend more time on finding out what is ready, once for each message, than the
node spends on gravity torques. Here a wait set tells whether the one subscription has something;
then its callback is called without further ado. All else is left to rclpy's own executor, one
callback at a time, so that none makes the one subscription wait for another.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from operator import add
from typing import Any

from rclpy.exceptions import InvalidHandle
from rclpy.executors import ShutdownException, SingleThreadedExecutor, TimeoutException
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.subscription import Subscription

_KINDS = ("subscription", "guard_condition", "timer", "client", "service")
_SIZES = (*(f"num_{kind}s" for kind in _KINDS), "num_events")

# Signals wake the wait set, but not always after their effect: so none waits for longer than this.
_LONGEST_WAIT = 250_000_000  # ns

# So many messages of the one subscription are served before something else has its turn.
_MOST_AT_ONCE = 100


class PromptExecutor(SingleThreadedExecutor):
    """Runs all callbacks of one node in one thread.

    Parameters
    ----------
    node : Node
    subscription : Subscription
        The one that is served at once. Its callback takes a message, and whether another one is
        waiting already.
    failed : callable
        Told an exception that a callback raised; it ends nothing.
    """

    def __init__(
        self, node: Node, subscription: Subscription, failed: Callable[[Exception], None]
    ) -> None:
        super().__init__(context=node.context)
        self.add_node(node)
        self._node, self._subscription, self._failed = node, subscription, failed
        self._waiting = _WaitingFor()
        self._prompt = True

    def spin(self) -> None:
        """Execute callbacks until shutdown."""
        more = True
        try:
            while self._context.ok() and not self._is_shutdown:
                if self._prompt:
                    more = self._serve_ready(0 if more else _LONGEST_WAIT)
                else:
                    self._serve_other(_LONGEST_WAIT * 1e-9)
        except Exception:
            if self._context.ok():
                raise  # else it comes of the shutdown
        finally:
            self._waiting.close()

    def can_execute(self, entity: Any) -> bool:
        """Whether rclpy's executor may look after an entity."""
        mine = self._prompt and entity is self._subscription
        return not mine and bool(super().can_execute(entity))

    def _serve_ready(self, timeout: int) -> bool:
        """Wait and serve what is ready; whether there may be more of it."""
        try:
            ready = self._wait(timeout)
        except (AttributeError, TypeError) as error:
            self._do_without(error)
            return True
        prompt = self._subscription.handle.pointer
        if prompt in ready:
            self._serve_prompt()
        # What wakes the wait set may have no pointer, and tasks are not in it at all.
        return (timeout == 0 or ready != [prompt]) and self._serve_other(0)

    def _do_without(self, error: Exception) -> None:
        """Leave everything to rclpy, which is not of a version whose insides are known here."""
        if not self._context.ok():
            return  # the error comes of the shutdown
        self._prompt = False
        self._waiting.close()
        self._node.get_logger().warning(
            f"Joint states take the slow way through rclpy's executor: {error}."
        )

    def _serve_prompt(self) -> None:
        message, served = self._take(), 0
        while message is not None:
            served += 1
            full = served == _MOST_AT_ONCE
            following = None if full else self._take()
            try:
                self._subscription.callback(message, full or following is not None)
            except Exception as error:
                self._tell(error)
            message = following

    def _take(self) -> Any:
        """The next message of the one subscription, None if there is none."""
        subscription = self._subscription
        try:
            taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
        except Exception as error:  # what came could not be read
            self._tell(error)
            return None
        return None if taken is None else taken[0]

    def _tell(self, error: Exception) -> None:
        if self._context.ok():  # else it comes of the shutdown
            self._failed(error)

    def _serve_other(self, timeout: float) -> bool:
        """Let rclpy serve something that is ready; whether there was anything."""
        try:
            handler, _, _ = self.wait_for_ready_callbacks(timeout_sec=timeout)
        except (TimeoutException, ShutdownException):
            return False
        except Exception as error:  # what came could not be read
            self._tell(error)
            return True
        handler()
        raised = handler.exception()
        if raised is not None:
            self._tell(raised)
        return True

    def _wait(self, timeout: int) -> list[int]:
        """Wait, for at most so many ns, until something is ready; pointers to what is."""
        node = self._node
        entities = [
            [*node.subscriptions],
            [*node.guards, self._guard, self._sigint_gc],
            [*node.timers],
            [*node.clients],
            [*node.services],
        ]
        wait_set = self._waiting.wait_set(entities, [*node.waitables], self._context.handle)
        wait_set.wait(timeout)
        used_up = wait_set.get_ready_entities("guard_condition")
        for guard in node.guards:
            if guard.handle.pointer in used_up:
                guard.trigger()
        return [pointer for kind in _KINDS for pointer in wait_set.get_ready_entities(kind)]


class _WaitingFor:
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
        adders = [getattr(self._wait_set, f"add_{kind}") for kind in _KINDS]
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
