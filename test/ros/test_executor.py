"""The executor: one subscription at once, all else as rclpy does, and no error ends it."""

import sys
from collections.abc import Iterator
from threading import Event, Thread
from time import sleep

import pytest
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.task import Future
from robot_graph import PATIENCE
from std_msgs.msg import Float64, String
from std_srvs.srv import SetBool

from kane_dynamics.ros.executor import PromptExecutor

WAIT_SET = rclpy_implementation.WaitSet


class Pair:
    """A node that is served, and a client of it, in one process."""

    def __init__(self, domain: int) -> None:
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain, args=[])
        self.node, self.client = (Node(name, context=self.context) for name in ("node", "client"))
        self.errors: list[Exception] = []
        self.served: list[float] = []
        self.more: list[bool] = []
        self.others: list[str] = []
        prompt = self.node.create_subscription(Float64, "prompt", self._serve, 100)
        self.node.create_subscription(String, "other", self._serve_other, 100)
        self.node.create_service(SetBool, "flag", self._answer)
        self.executor = PromptExecutor(self.node, prompt, self.errors.append)
        self._spinner = SingleThreadedExecutor(context=self.context)
        self._spinner.add_node(self.client)
        self.numbers = self.client.create_publisher(Float64, "prompt", 100)
        self.words = self.client.create_publisher(String, "other", 100)
        self._thread = Thread(target=self.executor.spin)
        self._thread.start()
        self.until(lambda: self.numbers.get_subscription_count() > 0)
        self.until(lambda: self.words.get_subscription_count() > 0)

    def _serve(self, message: Float64, more: bool = False) -> None:
        if message.data < 0:
            raise ValueError("negative")
        self.served.append(message.data)
        self.more.append(more)

    def _serve_other(self, message: String) -> None:
        if message.data == "bad":
            raise KeyError("bad")
        self.others.append(message.data)

    def _answer(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        response.success = request.data
        return response

    def until(self, condition: object) -> None:
        for _ in range(round(PATIENCE / 0.01)):
            if condition():
                return
            self._spinner.spin_once(timeout_sec=0.01)
        raise AssertionError("waited in vain")

    def end(self) -> None:
        rclpy.shutdown(context=self.context)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@pytest.fixture
def pair(domain: int) -> Iterator[Pair]:
    pair = Pair(domain)
    yield pair
    pair.end()


def test_messages_of_all_subscriptions_are_served_in_order(pair: Pair) -> None:
    for k in range(50):
        pair.numbers.publish(Float64(data=float(k)))
        pair.words.publish(String(data=str(k)))
    pair.until(lambda: len(pair.served) == len(pair.others) == 50)
    assert pair.served == [float(k) for k in range(50)]
    assert pair.others == [str(k) for k in range(50)]
    assert not pair.errors


def test_an_error_in_a_callback_is_told_and_ends_nothing(pair: Pair) -> None:
    for number, word in ((-1.0, "bad"), (1.0, "good")):
        pair.numbers.publish(Float64(data=number))
        pair.words.publish(String(data=word))
    pair.until(lambda: pair.served and pair.others)
    assert (pair.served, pair.others) == ([1.0], ["good"])
    assert {type(error) for error in pair.errors} == {ValueError, KeyError}


def test_services_timers_and_guard_conditions_are_served(pair: Pair) -> None:
    client = pair.client.create_client(SetBool, "flag")
    pair.until(client.service_is_ready)
    future = client.call_async(SetBool.Request(data=True))
    pair.until(future.done)
    assert future.result().success
    ticks: list[int] = []
    timer = pair.node.create_timer(0.01, lambda: ticks.append(1))
    pair.until(lambda: len(ticks) > 5)
    pair.executor.create_task(lambda: pair.node.destroy_timer(timer))
    pair.until(lambda: not list(pair.node.timers))
    guarded: list[int] = []
    guard = pair.node.create_guard_condition(lambda: guarded.append(1))
    guard.trigger()
    pair.until(lambda: guarded)


def test_tasks_that_wait_for_something_are_taken_up_again(pair: Pair) -> None:
    future: Future = Future(executor=pair.executor)
    results: list[int] = []

    async def wait() -> None:
        results.append(await future)

    pair.executor.create_task(wait)
    pair.numbers.publish(Float64(data=1.0))
    pair.until(lambda: pair.served)
    assert not results
    future.set_result(7)
    pair.numbers.publish(Float64(data=2.0))
    pair.until(lambda: results == [7])


def test_a_callback_is_told_whether_it_is_behind(pair: Pair) -> None:
    held, go_on = Event(), Event()

    def hold() -> None:
        held.set()
        go_on.wait(PATIENCE)

    pair.executor.create_task(hold)
    assert held.wait(PATIENCE)
    for k in range(5):
        pair.numbers.publish(Float64(data=float(k)))
    pair.words.publish(String(data="later"))
    sleep(0.2)
    go_on.set()
    pair.until(lambda: len(pair.served) == 5 and pair.others)
    assert pair.more == [True] * 4 + [False]


def test_with_an_unknown_version_of_rclpy_everything_takes_its_way(
    domain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rclpy_implementation, "WaitSet", WaitSetOfAnotherVersion)
    pair = Pair(domain)
    for k in range(20):
        pair.numbers.publish(Float64(data=float(k)))
        pair.words.publish(String(data=str(k)))
    pair.until(lambda: len(pair.served) == len(pair.others) == 20)
    pair.end()
    assert not pair.errors


def WaitSetOfAnotherVersion(*sizes: object) -> object:
    """As the executor of this package calls it, it is of another version; as rclpy does, not."""
    if sys._getframe(1).f_globals["__name__"] == "kane_dynamics.ros.executor":
        raise TypeError("the wait set takes other arguments")
    return WAIT_SET(*sizes)
