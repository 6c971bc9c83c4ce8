"""Services and actions with large messages, served in a thread beside the executor.

rclpy turns messages into Python objects and back, 2 to 4 ms for 1000 points of a trajectory. In the
executor all joint states would wait for that; beside it, other threads run in between.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from typing import Any

from rclpy.action import ActionServer
from rclpy.executors import Executor
from rclpy.guard_condition import GuardCondition
from rclpy.node import Node
from rclpy.service import Service

from kane_dynamics.ros.middleware.interpreter import free, large_messages, short_waits
from kane_dynamics.ros.middleware.realtime import beside_the_executor
from kane_dynamics.ros.middleware.unlocked import UnlockedService, unlocked
from kane_dynamics.ros.middleware.waiting import LONGEST_WAIT, WaitingFor

LAST_MOMENT = 1.0
"""Seconds that an answer under way has when the node ends."""


class Beside:
    """Serves some services and actions of a node in a thread of its own.

    Until it is started, and where rclpy's insides are not those that are known here, they are left
    to the executor. Their callbacks may be called in either thread, but never in both at once.

    `failed` is told, in the executor, an exception that a callback raised; it ends nothing.

    Attributes
    ----------
    swapping : lock
        Held while the node goes over to another model, so that nobody sees half of that.
    """

    def __init__(self, node: Node, failed: Callable[[Exception], None]) -> None:
        self._node, self._failed = node, failed
        self._executor: Executor | None = None
        self._services: list[Service] = []
        self._ways: dict[Service, UnlockedService] = {}
        self._actions: list[ActionServer] = []
        self._served: frozenset[int] = frozenset()
        self._thread: threading.Thread | None = None
        self._over = False
        self._waiting = WaitingFor()
        self.swapping = threading.Lock()

    def create_service(self, kind: Any, name: str, callback: Callable[..., Any]) -> Service:
        """A service of the node; its callback is as in `Node.create_service`, but no coroutine."""
        service = self._node.create_service(kind, name, callback)
        self._services.append(service)
        way = unlocked(service)
        if way is not None:
            self._ways[service] = way
            service.send_response = way.send
        return service

    def adopt(self, action: ActionServer) -> None:
        """Serve an action; none of its callbacks is a coroutine."""
        self._actions.append(action)

    def serves(self, entity: Any) -> bool:
        """Whether the executor has to leave an entity to this thread."""
        return id(entity) in self._served

    def start(self, executor: Executor) -> None:
        """Serve from now on, beside an executor."""
        self._executor, self._over = executor, False
        self._wake = GuardCondition(None, None, context=self._node.context)
        self._served = frozenset(id(each) for each in (*self._services, *self._actions))
        self._thread = threading.Thread(target=self._work, name="large messages", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; what it was about to answer may remain without answer."""
        if self._thread is not None:
            self._over = True
            self._wake.trigger()
            self._thread.join(LAST_MOMENT)

    # ------------------------------------------------------------------------ in the thread
    def _work(self) -> None:
        try:
            with beside_the_executor():
                while self._node.context.ok() and not self._over:
                    self._wait_and_serve()
        except (AttributeError, TypeError) as error:
            self._do_without(error)
        except Exception as error:
            self._tell(error)
            self._do_without(error)
        finally:
            self._waiting.close()

    def _do_without(self, error: Exception) -> None:
        """Leave everything to the executor, which knows the insides of its version of rclpy."""
        if not self._node.context.ok() or self._over:
            return  # the error comes of the shutdown
        self._served = frozenset()
        self._node.get_logger().warning(
            f"Large requests and answers are served between joint states: {error}."
        )
        if self._executor is not None:
            self._executor.wake()

    def _wait_and_serve(self) -> None:
        entities = [[], [self._wake], [], [], self._services]
        context = self._node.context
        wait_set = self._waiting.wait_set(entities, self._actions, context.handle)
        wait_set.wait(LONGEST_WAIT)
        if not context.ok() or self._over:
            return
        pointers = wait_set.get_ready_entities("service")
        services = [each for each in self._services if each.handle.pointer in pointers]
        actions = [each for each in self._actions if each.is_ready(wait_set)]
        if services or actions:
            with short_waits(), large_messages():
                self._serve(services, actions)

    def _serve(self, services: list[Service], actions: list[ActionServer]) -> None:
        for service in services:
            self._answer(service)
        for action in actions:
            self._serve_action(action)

    def _answer(self, service: Service) -> None:
        kind: Any = service.srv_type

        def take() -> Any:
            if service in self._ways:
                return self._ways[service].take()
            with service.handle:
                return service.handle.service_take_request(kind.Request)

        request, header = self._taken(take) or (None, None)
        if header is None:
            return
        try:
            response = service.callback(request, kind.Response())
            service.send_response(response, header)
        except Exception as error:  # whatever a request provokes, the thread goes on
            self._tell(error)
            return
        if response is not request:  # else it is answered later
            free(response)
            free(request)

    def _serve_action(self, action: ActionServer) -> None:
        data = self._taken(action.take_data)
        try:
            if data:
                run(action.execute(data))
        except Exception as error:
            self._tell(error)

    def _taken(self, take: Callable[[], Any]) -> Any:
        """What came; None if it could not be read."""
        try:
            return take()
        except (AttributeError, TypeError):
            raise  # it is not taken like this in this version of rclpy
        except Exception as error:
            self._tell(error)
            return None

    def _tell(self, error: Exception) -> None:
        if self._node.context.ok() and self._executor is not None:  # else it comes of the shutdown
            self._executor.create_task(self._failed, error)


def run(coroutine: Coroutine[Any, Any, Any]) -> None:
    """Run a coroutine that waits for nothing to its end."""
    try:
        while True:
            coroutine.send(None)
    except StopIteration:
        return
