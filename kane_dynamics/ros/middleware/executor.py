"""An executor that serves one subscription at once, and everything else as rclpy does.

rclpy's executors spend more time on finding out what is ready, once for each message, than the
node spends on gravity torques. Here a wait set tells whether the one subscription has something;
then its callback is called without further ado. All else is left to rclpy's own executor, one
callback at a time, so that none makes the one subscription wait for another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.executors import ShutdownException, SingleThreadedExecutor, TimeoutException
from rclpy.node import Node
from rclpy.subscription import Subscription

from kane_dynamics.ros.middleware.beside import Beside
from kane_dynamics.ros.middleware.reception import Reception
from kane_dynamics.ros.middleware.waiting import KINDS, LONGEST_WAIT, WaitingFor

# So many messages of the one subscription are served before something else has its turn.
_MOST_AT_ONCE = 100


class PromptExecutor(SingleThreadedExecutor):
    """Runs the callbacks of one node in one thread, but for those that another thread runs.

    Parameters
    ----------
    subscription : Subscription
        The one that is served at once. Its callback takes a message, when that was received in s
        of `time.monotonic`, and whether another one is waiting already.
    failed : callable
        Told an exception that a callback raised; it ends nothing.
    beside : Beside, optional
        Serves what has large messages, as long as this executor spins.
    """

    def __init__(
        self,
        node: Node,
        subscription: Subscription,
        failed: Callable[[Exception], None],
        beside: Beside | None = None,
    ) -> None:
        super().__init__(context=node.context)
        self.add_node(node)
        self._node, self._subscription, self._failed = node, subscription, failed
        self._beside = beside
        self._waiting = WaitingFor()
        self._reception = Reception()
        self._prompt = True
        self._new_tasks = False

    def spin(self) -> None:
        """Execute callbacks until shutdown."""
        more = True
        if self._beside is not None:
            self._beside.start(self)
        try:
            while self._context.ok() and not self._is_shutdown:
                if self._prompt:
                    more = self._serve_ready(0 if more else LONGEST_WAIT)
                else:
                    self._serve_other(LONGEST_WAIT * 1e-9)
        except Exception:
            if self._context.ok():
                raise  # else it comes of the shutdown
        finally:
            self._waiting.close()
            if self._beside is not None:
                self._beside.close()

    def create_task(self, callback: Any, *args: Any, **kwargs: Any) -> Any:
        """Execute a function as soon as others have had their turn; rclpy's task for it."""
        task = super().create_task(callback, *args, **kwargs)
        self._new_tasks = True
        return task

    def can_execute(self, entity: Any) -> bool:
        """Whether rclpy's executor may look after an entity."""
        mine = self._prompt and entity is self._subscription
        return not mine and not self._is_beside(entity) and bool(super().can_execute(entity))

    def _is_beside(self, entity: Any) -> bool:
        """Whether another thread looks after an entity."""
        return self._beside is not None and self._beside.serves(entity)

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
        taken, served = self._take(), 0
        while taken is not None:
            served += 1
            full = served == _MOST_AT_ONCE
            message, info = taken
            received = self._reception.time_of(info)
            following = None if full else self._take()
            try:
                self._subscription.callback(message, received, full or following is not None)
            except Exception as error:
                self._tell(error)
            taken = following

    def _take(self) -> Any:
        """The next message of the one subscription and its info, None if there is none."""
        subscription = self._subscription
        try:
            return subscription.handle.take_message(subscription.msg_type, subscription.raw)
        except Exception as error:  # what came could not be read
            self._tell(error)
            return None

    def _tell(self, error: Exception) -> None:
        if self._context.ok():  # else it comes of the shutdown
            self._failed(error)

    def _serve_other(self, timeout: float) -> bool:
        """Let rclpy serve something that is ready; whether there may be more."""
        try:
            handler, _, _ = self.wait_for_ready_callbacks(timeout_sec=timeout)
        except TimeoutException:
            # rclpy went on where it was, and did not see tasks that have been created since
            new_tasks, self._new_tasks = self._new_tasks, False
            return new_tasks
        except ShutdownException:
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
            [each for each in node.services if not self._is_beside(each)],
        ]
        waitables = [each for each in node.waitables if not self._is_beside(each)]
        wait_set = self._waiting.wait_set(entities, waitables, self._context.handle)
        wait_set.wait(timeout)
        used_up = wait_set.get_ready_entities("guard_condition")
        for guard in node.guards:
            if guard.handle.pointer in used_up:
                guard.trigger()
        return [pointer for kind in KINDS for pointer in wait_set.get_ready_entities(kind)]
