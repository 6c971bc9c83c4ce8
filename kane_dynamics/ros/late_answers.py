"""A service and an action whose answers are ready some time after their callbacks returned.

In rclpy a callback may be a coroutine that waits for its answer, but an executor then asks it
again and again whether it goes on, as fast as it can. Here nothing waits in the executor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node

Answer = Callable[[Any], None]

RESULT_TIMEOUT = 10
"""Seconds for which the result of a goal is kept for clients that ask for it."""


class LateService:
    """A service that is answered later.

    Parameters
    ----------
    node : Node
    kind : type
        Of the service.
    name : str
    receive : callable
        Takes a request, and a function that sends the response when it is called in the executor.
    """

    def __init__(
        self, node: Node, kind: Any, name: str, receive: Callable[[Any, Answer], None]
    ) -> None:
        # An executor passes what the callback returns on to send_response, with the header of the
        # request. The callback returns the request, so both come together, and sending can wait.
        service = node.create_service(kind, name, lambda request, _: request)
        send = service.send_response

        def take(request: Any, header: Any) -> None:
            receive(request, lambda response: send(response, header))

        service.send_response = take


class LateActionServer(ActionServer):
    """An action whose goals are served elsewhere; all of them can be cancelled.

    Parameters
    ----------
    node : Node
    kind : type
        Of the action.
    name : str
    welcome : callable
        Whether a goal is accepted.
    receive : callable
        Takes the handle of an accepted goal, which is being executed from now on, and a function
        that ends the goal with a result when it is called in the executor.
    """

    def __init__(
        self,
        node: Node,
        kind: Any,
        name: str,
        welcome: Callable[[Any], bool],
        receive: Callable[[Any, Answer], None],
    ) -> None:
        self._receive = receive
        super().__init__(
            node,
            kind,
            name,
            execute_callback=lambda handle: kind.Result(),
            goal_callback=lambda goal: (
                GoalResponse.ACCEPT if welcome(goal) else GoalResponse.REJECT
            ),
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
            result_timeout=RESULT_TIMEOUT,
        )

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Begin to serve a goal; what rclpy calls its execution comes when there is a result."""

        def conclude(result: Any) -> None:
            ActionServer.notify_execute(self, goal_handle, lambda handle: _ended(handle, result))

        self._receive(goal_handle, conclude)


def _ended(handle: Any, result: Any) -> Any:
    if result.success:
        handle.succeed()
    elif handle.is_cancel_requested:
        handle.canceled()
    else:
        handle.abort()
    return result
