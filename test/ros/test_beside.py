"""Services beside the executor: neither waits for the other, whatever version rclpy is of."""

import gc
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from threading import Event, Thread, current_thread

import pytest
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from robot_graph import PATIENCE
from std_msgs.msg import Float64
from std_srvs.srv import SetBool

from kane_dynamics.ros.middleware import beside as beside_module
from kane_dynamics.ros.middleware.beside import Beside
from kane_dynamics.ros.middleware.executor import PromptExecutor
from kane_dynamics.ros.middleware.late_answers import LateService
from kane_dynamics.ros.middleware.waiting import LONGEST_WAIT

WAIT_SET = rclpy_implementation.WaitSet
BESIDE = "large messages"


class Pair:
    """A node with a service beside its executor, and a client of it, in one process."""

    def __init__(self, domain: int) -> None:
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain, args=[])
        self.node, self.client = (Node(name, context=self.context) for name in ("node", "client"))
        self.errors: list[Exception] = []
        self.served: list[float] = []
        self.threads: list[str] = []
        self.go_on = Event()
        self.go_on.set()
        self.beside = Beside(self.node, self.errors.append)
        self.beside.create_service(SetBool, "flag", self._answer)
        LateService(self.beside, SetBool, "late", self._answer_later)
        prompt = self.node.create_subscription(Float64, "prompt", self._serve, 100)
        self.executor = PromptExecutor(self.node, prompt, self.errors.append, self.beside)
        self._spinner = SingleThreadedExecutor(context=self.context)
        self._spinner.add_node(self.client)
        self.numbers = self.client.create_publisher(Float64, "prompt", 100)
        self.flag, self.late = (self.client.create_client(SetBool, s) for s in ("flag", "late"))
        self._thread = Thread(target=self.executor.spin, name="executor")
        self._thread.start()
        self.until(lambda: self.numbers.get_subscription_count() > 0)
        self.until(self.flag.service_is_ready)
        self.until(self.late.service_is_ready)

    def _serve(self, message: Float64, received: float = 0.0, more: bool = False) -> None:
        self.served.append(message.data)

    def _answer(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self.threads.append(current_thread().name)
        assert self.go_on.wait(PATIENCE)
        if not request.data:
            raise ValueError("no")
        response.success = request.data
        return response

    def _answer_later(self, request: SetBool.Request, answer: object) -> None:
        response = SetBool.Response(success=request.data, message="later")
        Thread(target=answer, args=(response,)).start()

    def call(self, client: object, data: bool = True) -> SetBool.Response:
        future = client.call_async(SetBool.Request(data=data))
        self.until(future.done)
        return future.result()

    def until(self, condition: object) -> None:
        for _ in range(round(PATIENCE / 0.01)):
            if condition():
                return
            self._spinner.spin_once(timeout_sec=0.01)
        raise AssertionError("waited in vain")

    def end(self) -> None:
        self.go_on.set()
        rclpy.shutdown(context=self.context)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        assert self.beside._thread is None or not self.beside._thread.is_alive()


@pytest.fixture
def pair(domain: int) -> Iterator[Pair]:
    pair = Pair(domain)
    yield pair
    pair.end()


def test_requests_are_answered_while_the_executor_is_busy(pair: Pair) -> None:
    held, go_on = Event(), Event()

    def hold() -> None:
        held.set()
        assert go_on.wait(PATIENCE)

    pair.executor.create_task(hold)
    assert held.wait(PATIENCE)
    assert pair.call(pair.flag).success
    assert pair.call(pair.late).message == "later"
    go_on.set()
    assert pair.threads == [BESIDE]


def test_the_executor_serves_on_while_a_request_is_being_answered(pair: Pair) -> None:
    pair.go_on.clear()
    future = pair.flag.call_async(SetBool.Request(data=True))
    pair.until(lambda: pair.threads)
    for k in range(20):
        pair.numbers.publish(Float64(data=float(k)))
    pair.until(lambda: len(pair.served) == 20)
    assert not future.done()
    pair.go_on.set()
    pair.until(future.done)
    assert future.result().success


def test_an_error_is_told_in_the_executor_and_the_next_request_is_answered(pair: Pair) -> None:
    pair.flag.call_async(SetBool.Request(data=False))
    pair.until(lambda: pair.errors)
    assert isinstance(pair.errors[0], ValueError)
    assert pair.call(pair.flag).success


def test_nothing_is_collected_while_nothing_is_asked(pair: Pair) -> None:
    collections: list[str] = []

    def note(phase: str, _: object) -> None:
        collections.append(f"{phase} in {current_thread().name}")

    pair.call(pair.flag)
    time.sleep(0.1)  # until the answer is freed
    gc.callbacks.append(note)
    time.sleep(3e-9 * LONGEST_WAIT)  # it wakes meanwhile
    gc.callbacks.remove(note)
    assert not [each for each in collections if each.endswith(BESIDE)]


def test_many_requests_are_answered_each_once(pair: Pair) -> None:
    for _ in range(20):  # not more at a time than the queues of a service hold
        futures = [pair.late.call_async(SetBool.Request(data=bool(k % 2))) for k in range(5)]
        pair.until(lambda them=futures: all(future.done() for future in them))
        assert [future.result().success for future in futures] == [bool(k % 2) for k in range(5)]
    assert not pair.errors


def test_where_the_c_interface_is_another_rclpy_takes_and_sends(
    domain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside_module, "unlocked", lambda service: None)
    pair = Pair(domain)
    assert pair.call(pair.flag).success
    assert pair.call(pair.late).success
    pair.end()
    assert pair.threads == [BESIDE]
    assert not pair.errors


def test_with_an_unknown_version_of_rclpy_the_executor_serves_everything(
    domain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rclpy_implementation, "WaitSet", wait_set_of_another_version)
    pair = Pair(domain)
    assert pair.call(pair.flag).success
    assert pair.call(pair.late).success
    pair.numbers.publish(Float64(data=1.0))
    pair.until(lambda: pair.served == [1.0])
    pair.end()
    assert pair.threads == ["executor"]
    assert not pair.errors


def wait_set_of_another_version(*sizes: object) -> object:
    """As this package calls it, it is of another version; as rclpy does, not."""
    if sys._getframe(1).f_globals["__name__"] == "kane_dynamics.ros.middleware.waiting":
        raise TypeError("the wait set takes other arguments")
    return WAIT_SET(*sizes)


ARENAS = """
import re, sys
from kane_dynamics.ros.middleware.interpreter import large_messages

def serve():
    with large_messages():
        message = [[(k, k + 1.0), [k], {"k": k}] for k in range(100_000)]
        while message:
            del message[-200:]

sys._debugmallocstats()
serve()
sys._debugmallocstats()
"""


def test_what_python_keeps_for_later_keeps_no_memory_of_large_messages() -> None:
    said = subprocess.run(
        [sys.executable, "-c", ARENAS], capture_output=True, text=True, check=True
    )
    before, after = re.findall(r"# arenas allocated current += +(\d+)", said.stderr)
    assert int(after) <= int(before) + 1
