"""A service and an action whose answers are ready some time after their callbacks returned.

In rclpy a callback may be a coroutine that waits for its answer, but an executor then asks it
again and again whether it goes on, as fast as it can. Here nothing waits in the executor, and
answers are sent in the thread that has them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node

from kane_dynamics.ros.middleware.beside import Beside, run
from kane_dynamics.ros.middleware.interpreter import free

Answer = Callable[[Any], None]
Conclude = Callable[[Any, bool], None]

RESULT_TIMEOUT = 10
"""Seconds for which the result of a goal is kept for clients that ask for it."""


class LateService:
    """A service that is answered later.

    `receive` takes a request, and a function that sends the response, whichever thread calls it.
    """

    def __init__(
        self, beside: Beside, kind: Any, name: str, receive: Callable[[Any, Answer], None]
    ) -> None:
        # An executor passes what the callback returns on to send_response, with the header of the
        # request. The callback returns the request, so both come together, and sending can wait.
        service = beside.create_service(kind, name, lambda request, _: request)
        send = service.send_response

        def take(request: Any, header: Any) -> None:
            receive(request, lambda response: send(response, header))

        service.send_response = take


class LateActionServer(ActionServer):
    """An action whose goals are served elsewhere; all of them can be cancelled.

    Parameters
    ----------
    welcome : callable
        Whether a goal is accepted.
    receive : callable
        Takes the handle of an accepted goal, which is being executed from now on, and a function
        that ends the goal, whichever thread calls it: with a result, and whether it has succeeded.
    cancel : callable, optional
        Told the handle of a goal that a client wants to be cancelled.
    beside : Beside, optional
        Serves it; by default the executor does.
    """

    def __init__(
        self,
        node: Node,
        kind: Any,
        name: str,
        welcome: Callable[[Any], bool],
        receive: Callable[[Any, Conclude], None],
        cancel: Callable[[Any], None] = lambda handle: None,
        beside: Beside | None = None,
    ) -> None:
        self._receive, self._cancel = receive, cancel
        super().__init__(
            node,
            kind,
            name,
            execute_callback=lambda handle: kind.Result(),
            goal_callback=lambda goal: (
                GoalResponse.ACCEPT if welcome(goal) else GoalResponse.REJECT
            ),
            cancel_callback=self._cancel_wanted,
            result_timeout=RESULT_TIMEOUT,
        )
        if beside is not None:
            beside.adopt(self)

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Begin to serve a goal; what rclpy calls its execution comes when there is a result."""

        def conclude(result: Any, succeeded: bool) -> None:
            def end(handle: Any) -> Any:
                return _ended(handle, result, succeeded)

            if hasattr(self, "_execute_goal"):
                run(self._execute_goal(end, goal_handle))
            else:  # another version of rclpy: then the executor sends the result
                ActionServer.notify_execute(self, goal_handle, end)

        self._receive(goal_handle, conclude)

    def _cancel_wanted(self, handle: Any) -> CancelResponse:
        # the goal counts as being cancelled only after this has returned
        executor = self._node.executor
        if executor is not None:
            executor.create_task(self._cancel, handle)
        return CancelResponse.ACCEPT

    async def _execute_expire_goals(self, expired_goals: Any) -> None:
        """Forget goals whose results were kept for long enough, as rclpy does, but in pieces."""
        futures = [self._result_futures.get(bytes(goal.goal_id.uuid)) for goal in expired_goals]
        await super()._execute_expire_goals(expired_goals)
        for future in futures:
            if future is not None and future.done():
                free(future.result().result)


def _ended(handle: Any, result: Any, succeeded: bool) -> Any:
    if succeeded:
        handle.succeed()
    elif handle.is_cancel_requested:
        handle.canceled()
    else:
        handle.abort()
    return result
