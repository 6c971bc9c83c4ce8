"""The executor: one subscription at once, all else as rclpy does, and no error ends it."""

import sys
from collections.abc import Iterator
from threading import Event, Thread
from time import monotonic, sleep, time_ns

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

from kane_dynamics.ros.middleware.executor import PromptExecutor
from kane_dynamics.ros.middleware.reception import WINDOW, Reception

WAIT_SET = rclpy_implementation.WaitSet


class Pair:
    """A node that is served, and a client of it, in one process."""

    def __init__(self, domain: int) -> None:
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain, args=[])
        self.node, self.client = (Node(name, context=self.context) for name in ("node", "client"))
        self.errors: list[Exception] = []
        self.served: list[float] = []
        self.ages: list[float] = []
        self.more: list[bool] = []
        self.others: list[str] = []
        prompt = self.node.create_subscription(Float64, "prompt", self._serve, 100)
        other = self.node.create_subscription(String, "other", self._serve_other, 100)
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
        # in one process the middleware drops what a reader is given before it knows the writer
        self.until(lambda: prompt.get_publisher_count() > 0 and other.get_publisher_count() > 0)

    def _serve(self, message: Float64, received: float = 0.0, more: bool = False) -> None:
        if message.data < 0:
            raise ValueError("negative")
        self.served.append(message.data)
        self.ages.append(monotonic() - received)
        self.more.append(more)

    def _serve_other(self, message: String) -> None:
        if message.data == "bad":
            raise KeyError("bad")
        self.others.append(message.data)

    def _answer(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        response.success = request.data
        return response

    def until(self, condition: object) -> None:
        end = monotonic() + PATIENCE / 3.0
        while monotonic() < end:
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


def test_tasks_that_tasks_create_are_executed_at_once(pair: Pair) -> None:
    done: list[float] = []

    def go_on(count: int) -> None:
        done.append(monotonic())
        if count:
            pair.executor.create_task(go_on, count - 1)

    began = monotonic()
    pair.executor.create_task(go_on, 20)
    pair.until(lambda: len(done) == 21)
    assert done[-1] - began < 1.0, "which is less than the longest wait for each of them"


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
    assert all(0.15 < age < 5.0 for age in pair.ages), "age counts from when they came"


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
    if sys._getframe(1).f_globals["__name__"] == "kane_dynamics.ros.middleware.waiting":
        raise TypeError("the wait set takes other arguments")
    return WAIT_SET(*sizes)


# ------------------------------------------------------------------------------------- reception


def info(sent: float, received: float, sender: bytes | None = b"a") -> dict[str, object]:
    """What rclpy says about a message of so many seconds ago, by the clocks of both sides."""
    now = time_ns()
    gid = {} if sender is None else {"publisher_gid": {"data": sender}}
    stamps = {
        "source_timestamp": now - int(1e9 * sent),
        "received_timestamp": now - int(1e9 * received),
    }
    return {**stamps, **gid}


def age(reception: Reception, info: object) -> float:
    return monotonic() - reception.time_of(info)


@pytest.mark.parametrize("sender", [b"a", None])
@pytest.mark.parametrize("offset", [0.0, 100.0, -100.0])  # of the clock of the sender
def test_a_message_that_waited_anywhere_is_as_old_as_that(
    offset: float, sender: bytes | None
) -> None:
    reception = Reception()
    assert age(reception, info(offset + 0.001, 0.0, sender)) < 0.01
    assert age(reception, info(offset + 0.301, 0.3, sender)) == pytest.approx(0.3, abs=0.01)
    assert age(reception, info(offset + 0.601, 0.0, sender)) == pytest.approx(0.6, abs=0.01)
    assert age(reception, info(offset + 0.001, 0.0, sender)) < 0.01


def test_senders_may_have_different_clocks() -> None:
    reception = Reception()
    for sender, offset in ((b"a", 3.0), (b"b", -3.0), (b"a", 3.0)):
        assert age(reception, info(offset, 0.0, sender)) < 0.01


def test_a_clock_that_was_set_back_is_trusted_again_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reception, later = Reception(), 0.0
    monkeypatch.setattr(
        "kane_dynamics.ros.middleware.reception.time.monotonic", lambda: monotonic() + later
    )

    def seconds_old(sent: float) -> float:
        return monotonic() + later - reception.time_of(info(sent, 0.0))

    assert seconds_old(0.0) < 0.01
    assert seconds_old(2.0) == pytest.approx(2.0, abs=0.01)
    for _ in range(3):
        later += 1.01 * WINDOW
        seconds_old(2.0)
    assert seconds_old(2.0) < 0.01


def test_messages_that_were_under_way_while_the_clock_was_set_back_make_no_other_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reception, back = Reception(), int(1e9)
    assert age(reception, info(0.001, 0.0)) < 0.01
    under_way, waiting = info(0.051, 0.0), info(0.101, 0.1)
    monkeypatch.setattr(
        "kane_dynamics.ros.middleware.reception.time.time_ns", lambda: time_ns() - back
    )
    under_way["received_timestamp"] -= back
    assert age(reception, under_way) == pytest.approx(0.05, abs=0.01)
    assert age(reception, waiting) == pytest.approx(0.1, abs=0.01)
    sent_since = info(0.001 + 1e-9 * back, 1e-9 * back)
    assert age(reception, sent_since) < 0.01


@pytest.mark.parametrize(
    "nothing",
    [None, {}, {"source_timestamp": 5}, {"source_timestamp": 0, "received_timestamp": 0}],
)
def test_without_times_a_message_came_just_now(nothing: object) -> None:
    assert abs(age(Reception(), nothing)) < 0.01
